"""Shared parts of the published suites: kinds and fixes, text features, patterns, published language tools."""
