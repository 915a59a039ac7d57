"""The judge: constraints that a program can check. Importing this room registers every kind of the package.

Families that may be trained on: length, keywords, case, punctuation, startend, structure. Held out: format, letters.
"""

from adhere.constraints import case, format, keywords, length, letters, punctuation, start_end, structure  # noqa: A004
from adhere.constraints.base import (
    Choice,
    Constraint,
    Domain,
    Finding,
    ListOf,
    Whole,
    Words,
    conflict,
    from_ref,
    kind,
    make,
    param,
    registry,
)  # fmt: skip
from adhere.constraints.repair import passes_all, repair_all

__all__ = [
    "Choice", "Constraint", "Domain", "Finding", "ListOf", "Whole", "Words", "case", "conflict", "format", "from_ref",
    "keywords", "kind", "length", "letters", "make", "param", "passes_all", "punctuation", "registry", "repair_all",
    "start_end", "structure",
]  # fmt: skip
