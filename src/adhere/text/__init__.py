"""Measure text for the judge: words, sentences, paragraphs, lines, views, reasoning.

Every function is linear in time.
"""
