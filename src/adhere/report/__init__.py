"""Draws what was stored: pages and terminal texts that are pure functions of Runs, Studies and Claims."""
