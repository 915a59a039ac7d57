"""Helpers of several families: edits, finding words, JSON shapes, closeness, normalisers."""
