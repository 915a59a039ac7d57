"""Read many Runs at once: where their rows lie, the Parquet that holds them, and counts and answers from it."""
