"""Shared by houses: files that are read and written, one conversation judged, recipes as configs of trainers."""
