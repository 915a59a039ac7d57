"""suites/published."""
