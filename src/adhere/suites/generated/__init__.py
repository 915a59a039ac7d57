"""suites/generated."""
