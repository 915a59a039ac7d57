"""The size beyond which an answer is cut, before anything looks at it.

The longest answers of today's models have a few hundred thousand characters. What is longer was not meant to be read,
and judging it would only take time and memory.
"""

from __future__ import annotations

MOST_CHARACTERS = 1_000_000


def is_too_long(text: str) -> bool:
    """Whether the text has more characters than are judged."""
    return len(text) > MOST_CHARACTERS


def cut_note(text: str) -> str:
    """Return the note on a text that was too long to be judged whole."""
    return f"only the first {MOST_CHARACTERS:,} of {len(text):,} characters were judged"
