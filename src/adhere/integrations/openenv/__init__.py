"""OpenEnv: an Environment and its `server`."""
