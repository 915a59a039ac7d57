"""TRL: rows with a reward function, and an `environment` factory for several turns."""
