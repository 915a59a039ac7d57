"""Say in words what a contrast shows.

Nothing is computed: stored intervals and p-values are compared with their level.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from adhere.report.pieces.numbers import p_value, percent, points, points_interval
from adhere.study.outcome.result import Contrast, StudyResult

Direction = Literal["more", "fewer", "unclear", "unmeasured", "open"]

_SHORT: dict[Direction, str] = {
    "more": "▲ more {}",
    "fewer": "▼ fewer {}",
    "unclear": "○ no effect shown",
    "unmeasured": "– not measured",
    "open": "– no interval",
}

_QUALITY = (
    "Quality beyond the constraints: whether an answer is true, helpful or well written was not judged. The guard "
    "numbers only show whether answers became short, repetitive or left the topic."
)


class Effect(NamedTuple):
    """Holds a contrast in words: `short` for a table cell, `sentence` for text; `direction` chooses mark and colour."""

    direction: Direction
    short: str
    sentence: str


def is_of_rules(result: StudyResult) -> bool:
    """Tell whether a study is about rules that agents were told, and counts rules in tasks instead of prompts."""
    return result.suite.startswith("rules:")


def noun_of(result: StudyResult) -> str:
    """Return the plural noun for what a study counts."""
    return "rules in tasks" if is_of_rules(result) else "prompts"


def verb_of(result: StudyResult) -> str:
    """Return the verb for what a study counts: its prompts `pass`, `pass soundly`, or `pass and respond`.

    The rules of a study of sessions `are kept`.
    """
    if is_of_rules(result):
        return "are kept"
    rule = result.spec.get("verdict")
    counts = rule.get("counts") if isinstance(rule, dict) else None
    return {"sound": "pass soundly", "responsive": "pass and respond"}.get(str(counts), "pass")


def effect(contrast: Contrast, *, verb: str = "pass", noun: str = "prompts") -> Effect:
    """Say what the contrast shows; `noun` names what is counted, `verb` what it does.

    An effect is claimed only when the interval excludes zero and the p-value, if there is one (Holm's if the contrast
    was adjusted), is at or below the same level.
    """
    head = f"{contrast.treatment} over {contrast.control}"
    if contrast.difference is None:
        return Effect("unmeasured", _SHORT["unmeasured"], f"{head}: not measured ({reason_of(contrast)}).")
    if contrast.low is None or contrast.high is None:
        size = points(contrast.difference)
        return Effect("open", _SHORT["open"], f"{head}: {size} points, without an interval ({reason_of(contrast)}).")
    finding = f"{head}: {points(contrast.difference)} points, interval {points_interval(contrast.low, contrast.high)}"
    direction = _direction(contrast)
    if direction in {"more", "fewer"}:
        return Effect(direction, _SHORT[direction].format(verb), f"{finding}: {direction} {noun} {verb}.")
    return Effect(direction, _SHORT[direction], f"{finding}: no effect shown{_but(contrast)}.")


def reason_of(contrast: Contrast) -> str:
    """Return why a number of the contrast is None."""
    return contrast.reason or "the record gives no reason"


def sentence(text: str) -> str:
    """Give the text a capital letter at its start and a full stop at its end."""
    plain = text.strip()
    if not plain:
        return ""
    return plain[0].upper() + plain[1:] + ("" if plain.endswith((".", "!", "?", ":")) else ".")


def level(contrast: Contrast) -> str:
    """Format the contrast's confidence as `95 %`."""
    whole = round(100 * contrast.confidence, 6) == round(100 * contrast.confidence)
    return percent(contrast.confidence, digits=0 if whole else 1)


def not_measured(result: StudyResult) -> list[str]:
    """List what a reader might conclude from this report although it was not measured."""
    suite_names = ", ".join(suite.name for suite in result.suites)
    notes = [
        "Whether code is good, and whether a rule was sensible: programs read commands, files and replies."
        if is_of_rules(result)
        else _QUALITY,
        f"Other tasks and rules: every rate is on {result.suite} in these sessions."
        if is_of_rules(result)
        else f"Other prompts: of published benchmarks only {suite_names} were asked."
        if suite_names
        else f"Other prompts: every rate is on the suite {result.suite} and says nothing about published benchmarks.",
        f"Other start models and sizes: every arm starts from {result.start_model}."
        if not result.alike
        else "Other agents and models: the sessions are those of whoever made them."
        if is_of_rules(result)
        else "Other models and sizes: the arms were trained elsewhere, and nobody noted here from what.",
    ]
    if len(result.seeds) == 1:
        notes.append("The spread between training seeds: each stage was trained once, with one seed.")
    if not result.scores:
        notes.append("Pass rates: the study ended before any arm was measured.")
    notes += [
        f"{contrast.name}: {reason_of(contrast)}." for contrast in result.contrasts if contrast.difference is None
    ]
    return notes


def _direction(contrast: Contrast) -> Direction:
    if not _excludes_zero(contrast) or not _is_below_level(contrast):
        return "unclear"
    return "more" if (contrast.difference or 0) > 0 else "fewer"


def _excludes_zero(contrast: Contrast) -> bool:
    return contrast.low is not None and contrast.high is not None and (contrast.low > 0 or contrast.high < 0)


def _is_below_level(contrast: Contrast) -> bool:
    p = contrast.p_adjusted if contrast.p_adjusted is not None else contrast.p_value
    return p is None or p <= round(1 - contrast.confidence, 9)


def _but(contrast: Contrast) -> str:
    """Say why an interval and a p-value that disagree are not called an effect; empty if they agree."""
    is_adjusted = contrast.p_adjusted is not None
    name = "Holm's p" if is_adjusted else "p"
    p = p_value(contrast.p_adjusted if is_adjusted else contrast.p_value)
    if _excludes_zero(contrast):
        return f" (the interval excludes zero, but {name} is {p})"
    if contrast.p_value is not None and _is_below_level(contrast):
        return f" ({name} is {p}, but the interval includes zero)"
    return ""
