"""Set the size beyond which an answer is cut before it is judged.

The longest answers of today's models have a few hundred thousand characters. Longer texts were not meant to be read,
and judging them would only take time and memory.
"""

from __future__ import annotations

MOST_CHARACTERS = 1_000_000


def is_too_long(text: str) -> bool:
    """Tell whether the text has more characters than are judged."""
    return len(text) > MOST_CHARACTERS


def cut_note(text: str) -> str:
    """Return the note that says how much of a too long text was judged."""
    return f"only the first {MOST_CHARACTERS:,} of {len(text):,} characters were judged"
