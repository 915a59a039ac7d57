"""Render the page of `adhere rules`: rules as rows, sessions as columns, evidence one click away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adhere.report.page import render
from adhere.report.rules.text import TOLD_HEADINGS, rate_words, told_rows
from adhere.rules.checks.judge import RuleVerdict
from adhere.rules.checks.spec import Rule
from adhere.rules.examine import Examination, SessionInfo, tokens_about
from adhere.rules.rates import Rate
from adhere.rules.session.secrets import redact
from adhere.rules.tasks import WORDS

MOST_COLUMNS = 24
MARKS = {"kept": "✓", "broken": "✗", "untriggered": "·", "undecided": "?"}


class Column(NamedTuple):
    """Holds a session as a column: its number, a short name and its facts."""

    number: int
    name: str
    info: SessionInfo


class Row(NamedTuple):
    """Shows a rule: its rate and its verdicts, in the order of the columns; None: the session has no verdict on it.

    `tokens` is about what the rule costs in every request; `shown` are the verdicts that are not `untriggered`, with
    the numbers of their columns, breaches first.
    """

    rule: Rule
    tokens: int
    rate: Rate | None
    cells: tuple[RuleVerdict | None, ...]
    shown: tuple[tuple[int, RuleVerdict], ...]


def rules_html(examination: Examination) -> str:
    """Return one self-contained page."""
    sessions = examination.sessions[:MOST_COLUMNS]
    rates = {rate.name: rate for rate in examination.by_rule()}
    return render(
        "rules/rules.html.jinja",
        style="rules/rules.css",
        examination=examination,
        lead=rate_words(examination.overall),
        total=examination.overall,
        columns=[Column(number, _short(session.session), session) for number, session in enumerate(sessions, start=1)],
        left_out=len(examination.sessions) - len(sessions),
        rows=[
            _row(rule, rates.get(rule.id), sessions, examination.verdicts) for rule in examination.rules if rule.check
        ],
        open_rules=[(rule, redact(rule.quote)) for rule in examination.rules if not rule.check],
        conflicts=examination.conflicts(),
        silent=examination.never_fired(),
        groups=[(field, group) for field in ("agent", "model", "version") if len(group := examination.by(field)) > 1],
        pairs=examination.pairs(),
        told_headings=TOLD_HEADINGS,
        told_rows=told_rows(examination),
        tasks_by=WORDS[examination.tasks_by],
        solved=rate_words(examination.of_solved) if examination.of_solved is not None else "",
        marks=MARKS,
    )


def _row(rule: Rule, rate: Rate | None, sessions: Sequence[SessionInfo], verdicts: Sequence[RuleVerdict]) -> Row:
    verdict_by_session = {verdict.session: verdict for verdict in verdicts if verdict.rule == rule.id}
    cells = tuple(verdict_by_session.get(session.session) for session in sessions)
    notable_cells = [
        (number, cell)
        for number, cell in enumerate(cells, start=1)
        if cell is not None and cell.outcome != "untriggered"
    ]
    order = {"broken": 0, "undecided": 1, "kept": 2, "untriggered": 3}
    return Row(
        rule, tokens_about(rule), rate, cells, tuple(sorted(notable_cells, key=lambda pair: order[pair[1].outcome]))
    )


def _short(name: str) -> str:
    file, mark, rest = name.replace("\\", "/").rpartition("/")[2].partition("#")
    return f"{file[:28]}{mark}{rest[:24]}"
