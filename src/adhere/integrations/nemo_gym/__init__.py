"""NeMo Gym: a resources `server` and its rows."""
