"""Hold a session against rules: kept, broken, untriggered or undecided, with the reason and the place.

One breach makes a rule broken; a rule is kept only if the whole log shows so. A line that could not be read may hold
anything, so no rule is kept in a session with such a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from adhere.rules.checks import order
from adhere.rules.checks.order import Occasion
from adhere.rules.checks.spec import After, AsksBefore, AtMost, Before, Between, Check, Does, Instead, Never, Rule, Text
from adhere.rules.checks.texts import texts
from adhere.rules.session.acts import Act
from adhere.rules.session.model import Session
from adhere.rules.session.paths import path_matches
from adhere.rules.session.secrets import redact
from adhere.schema import Record

VerdictOutcome = Literal["kept", "broken", "untriggered", "undecided"]
CHECKS_VERSION = "2"
"""Goes up when a check may come to another verdict on the same session."""
CONDITIONAL = "the rule says more than its check, so a person has to read it"
MOST_EVIDENCE = 5
LONGEST_QUOTE = 300


class Evidence(Record, frozen=True):
    """Quotes a line of a session's log."""

    line: int
    quote: str


class RuleVerdict(Record, frozen=True):
    """Says what a session did with a rule.

    `occasions` is how often the rule applied and the log shows what came of it; `kept` is how often it was kept then.
    """

    rule: str
    session: str
    outcome: VerdictOutcome
    reason: str
    evidence: tuple[Evidence, ...] = ()
    occasions: int = 0
    kept: int = 0


def judge_rule(rule: Rule, session: Session, acts: Sequence[Act]) -> RuleVerdict | None:
    """Return the verdict of one rule on one session; None if the rule has no check."""
    if rule.check is None:
        return None
    if rule.scope:
        acts = _in_scope(rule.scope, acts)
    occasions = _occasions(rule.check, acts)
    decided_occasions = [occasion for occasion in occasions if occasion.kept is not None]
    n_kept = sum(occasion.kept is True for occasion in decided_occasions)
    outcome, reason, evidence = _outcome(occasions, session)
    return RuleVerdict(
        rule.id, session.name, outcome, redact(reason), _evidence(evidence), len(decided_occasions), n_kept
    )


def _in_scope(scope: tuple[str, ...], acts: Sequence[Act]) -> Sequence[Act]:
    """Return the acts without edits of files out of scope; empty if no file in scope is edited."""
    if not any(act.kind == "edit" and act.ran and path_matches(act.path, scope) for act in acts):
        return []
    return [act for act in acts if act.kind != "edit" or path_matches(act.path, scope)]


_READERS: dict[type, Callable[[Any, Sequence[Act]], Iterator[Occasion]]] = {
    Never: order.never, Does: order.does, Before: order.before, After: order.after, Between: order.between,
    Instead: order.instead, AsksBefore: order.asks_before, AtMost: order.at_most, Text: texts,
}  # fmt: skip


def _occasions(check: Check, acts: Sequence[Act]) -> list[Occasion]:
    """Return the places where a check applied; if the check is `conditional`, breaches are left open for a person."""
    occasions = list(_READERS[type(check)](check, acts))
    if not getattr(check, "conditional", False):
        return occasions
    return [
        occasion._replace(kept=None, reason=f"{occasion.reason}; {CONDITIONAL}") if occasion.kept is False else occasion
        for occasion in occasions
    ]


def _outcome(occasions: Sequence[Occasion], session: Session) -> tuple[VerdictOutcome, str, Sequence[Occasion]]:
    breaches = [occasion for occasion in occasions if occasion.kept is False]
    if breaches:
        more = f" ({len(breaches)} times)" if len(breaches) > 1 else ""
        return "broken", breaches[0].reason + more, breaches
    unsure = [occasion for occasion in occasions if occasion.kept is None]
    if unsure:
        return "undecided", unsure[0].reason, unsure
    if session.gaps:
        line, why = session.gaps[0]
        return "undecided", f"line {line} of the log cannot be read ({why})", ()
    if not occasions:
        return "untriggered", "nothing in the session asked for it", ()
    return "kept", occasions[-1].reason, occasions[-1:]


def _evidence(occasions: Sequence[Occasion]) -> tuple[Evidence, ...]:
    rows = dict.fromkeys(Evidence(act.line, quote_of(act)) for occasion in occasions for act in occasion.acts)
    return tuple(rows)[:MOST_EVIDENCE]


def quote_of(act: Act) -> str:
    """Return an act as the log has it, on one line, cut to `LONGEST_QUOTE` characters, without secrets."""
    if act.kind == "edit":
        text = act.text or f"{act.how} {act.path}" + (f": {act.added}" if act.added else "")
    elif act.kind == "read":
        text = f"read {act.path}"
    elif act.kind == "call":
        text = f"{act.tool} {dict(act.arguments)}"
    else:
        text = act.text or ""
    line = " ".join(redact(text[: 4 * LONGEST_QUOTE]).split())
    return line if len(line) <= LONGEST_QUOTE else f"{line[: LONGEST_QUOTE - 1]}…"
