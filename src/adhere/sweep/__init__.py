"""Measure every model of an endpoint: list, see which answer, ask, judge, count (`stages`), rank (`leaderboard`)."""
