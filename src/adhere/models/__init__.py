"""Everything that answers prompts: endpoints (`http/`), engines on this machine (`local/`), fakes (`fake/`)."""
