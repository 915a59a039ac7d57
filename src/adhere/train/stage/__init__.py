"""One stage, trained and stored: its settings and rewards, its guards, what it costs. Recipes and studies share it."""
