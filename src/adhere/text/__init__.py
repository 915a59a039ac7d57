"""The judge's knowledge of text: words, sentences, paragraphs, lines, views, reasoning.

Every function is linear in time.
"""
