"""Show the guard numbers beside every pass rate: they reveal a rate that was bought with shorter or emptier answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from adhere.report.pieces.numbers import DASH, percent
from adhere.store.summary import Floor, GuardMeans

NO_GUARD = "no answer had a text to measure, or no prompt names topic words"


class GuardColumn(NamedTuple):
    """Describes the column of one guard, a number that shows at what cost answers pass (shorter, emptier, cut).

    `field` is its field of `GuardMeans`; `is_share` tells whether it is printed in percent.
    """

    field: str
    heading: str
    meaning: str
    is_share: bool = True


GUARDS = (
    GuardColumn(
        "sound_share", "sound", "share of prompts that pass by an answer which is none of: form alone, repetitive, echo"
    ),
    GuardColumn(
        "responsive_share",
        "responds",
        "share of prompts that pass by an answer that responds to its request, as far as words tell",
    ),
    GuardColumn("mean_words", "words", "mean words of an answer", is_share=False),
    GuardColumn("form_share", "form alone", "share of answers with hardly a word that the prompt does not have"),
    GuardColumn("repetition_share", "repetitive", "share of answers that repeat themselves"),
    GuardColumn("echo_share", "echo", "share of answers that mostly repeat the prompt"),
    GuardColumn("truncated_share", "cut", "share of answers cut at the limit of tokens, or of an episode"),
    GuardColumn(
        "style_leak_share", "style leak", "share of answers in one case, in quotes or in bullets without being asked"
    ),
    GuardColumn("distinct_2", "distinct-2", "share of different word pairs; low means repetitive"),
    GuardColumn("content_share", "content", "share of the request's topic words that the answer uses"),
)

_UNDEFINED = {
    "content_share": "no prompt names topic words",
    "distinct_2": "no answer has two words",
    "style_leak_share": "stored before the style of answers was counted",
    "responsive_share": "stored before responding answers were counted, or no request can be read",
    "sound_share": "stored before sound answers were counted, or no prompt that asks for words was decided",
}
"""Why a guard number of answers with text may be None, by its field."""


def floor_cell(floor: Floor | None) -> str:
    """Format a floor as `25.3 % (first line)`: the rate of the best answerer without a model, and its name."""
    return DASH if floor is None else f"{percent(floor.rate)} ({floor.answerer})"


def floor_line(floor: Floor | None) -> str:
    """Describe a floor in a sentence; empty if there is none."""
    if floor is None:
        return ""
    return f"{percent(floor.rate)}: so many prompts pass with the answerer “{floor.answerer}”, which has no model"


def guard_cells(guard: GuardMeans) -> list[tuple[GuardColumn, float | None]]:
    """Return the guard numbers with their columns, in order."""
    return [(column, getattr(guard, column.field)) for column in GUARDS]


def guard_reasons(guards: Iterable[GuardMeans]) -> list[str]:
    """Return why guard numbers are undefined, each reason once; empty if all are defined."""
    all_guards = list(guards)
    with_text = [guard for guard in all_guards if guard.n]
    reasons = ["no answer had a text to measure"] if len(with_text) < len(all_guards) else []
    return reasons + [
        reason for field, reason in _UNDEFINED.items() if any(getattr(guard, field) is None for guard in with_text)
    ]
