"""Find rules that cannot be kept together, as far as their checks tell."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from adhere.constraints.base import Constraint, conflict
from adhere.constraints.resolve import resolve
from adhere.rules.checks.spec import MUST_FIELDS, AtMost, Check, Event, Instead, Never, Rule, Text
from adhere.rules.session.paths import path_matches
from adhere.rules.shell.patterns import patterns_of
from adhere.schema import Record


class Conflict(Record, frozen=True):
    """Names two rules by their ids, and why both cannot be kept."""

    first: str
    second: str
    reason: str


def conflicts_of(rules: Sequence[Rule]) -> list[Conflict]:
    """Return every pair of rules that contradict each other."""
    pairs = itertools.combinations([rule for rule in rules if rule.check is not None], 2)
    return [Conflict(left.id, right.id, reason) for left, right in pairs if (reason := _reason(left, right))]


def _reason(left: Rule, right: Rule) -> str:
    if isinstance(left.check, Text) and isinstance(right.check, Text):
        return _of_texts(left.check, right.check)
    for barring, wanting in ((left.check, right.check), (right.check, left.check)):
        for event in _wants(wanting):
            for barred_event in _bars(barring):
                if _covers(barred_event, event):
                    return f"one wants {_name_of(event)}, the other bars it"
    return ""


def _wants(check: Check | None) -> Iterator[Event]:
    if name := MUST_FIELDS.get(type(check), "use" if isinstance(check, Instead) else ""):
        yield getattr(check, name)


def _bars(check: Check | None) -> Iterator[Event]:
    if isinstance(check, Instead):
        yield check.avoid
    is_bar = isinstance(check, Never) and check.when is None and check.unless is None and not check.conditional
    if is_bar or (isinstance(check, AtMost) and not check.limit):
        yield check.event  # type: ignore[union-attr]


def _covers(barred_event: Event, wanted_event: Event) -> bool:
    """Tell whether `barred_event` forbids everything that would be `wanted_event`."""
    if barred_event.command and wanted_event.command and not barred_event.on:
        bars = [bar for text in barred_event.command for bar in patterns_of(text)]
        wants = [want for text in wanted_event.command for want in patterns_of(text)]
        return all(any(want[: len(bar)] == bar for bar in bars) for want in wants)
    if barred_event.edits and wanted_event.edits and barred_event.how in {"any", wanted_event.how}:
        plain = [path for path in wanted_event.edits if "*" not in path and not path.startswith("!")]
        return bool(plain) and all(path_matches(path, barred_event.edits) for path in plain)
    return bool(barred_event.tool and wanted_event.tool and set(wanted_event.tool) <= set(barred_event.tool))


def _of_texts(left: Text, right: Text) -> str:
    if left.of != right.of and not {left.of, right.of} <= {"replies", "final"}:
        return ""
    pairs = [(a, b) for a in left.begins for b in right.begins]
    if pairs and not any(a.startswith(b) or b.startswith(a) for a, b in pairs):
        return "both say how the text begins, and otherwise"
    if left.constraint is not None and right.constraint is not None and left.must == right.must == "pass":
        first, second = resolve(left.constraint), resolve(right.constraint)
        if (
            isinstance(first, Constraint)
            and isinstance(second, Constraint)
            and first.id != second.id
            and conflict(first, second)
        ):
            return f"no text passes both {first.id} and {second.id}"
        if left.constraint.id == right.constraint.id == "language:answer_in" and left.constraint != right.constraint:
            return "they want different languages"
    wanted_texts = {text.lower() for check in (left, right) for text in (*check.begins, *check.ends, check.has) if text}
    barred_texts = {text.lower() for check in (left, right) for text in check.without}
    both = wanted_texts & barred_texts
    return f"one wants {min(both)!r} in the text, the other bars it" if both else ""


def _name_of(event: Event) -> str:
    return ", ".join(f"`{name}`" for name in (*event.command, *event.edits, *event.tool)[:3])
