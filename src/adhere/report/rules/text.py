"""Write what sessions did with rules as terminal text."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.report.pieces.numbers import DASH, percent, percent_interval, plural, points, points_interval
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.rules.checks.judge import RuleVerdict
from adhere.rules.checks.spec import Rule
from adhere.rules.examine import Examination, tokens_about
from adhere.rules.rates import Rate
from adhere.rules.tasks import WORDS
from adhere.terminal import one_line

MOST_PLACES = 12
LONGEST_QUOTE = 46


def rules_text(examination: Examination, *, width: int) -> str:
    """Return rates, where rules were broken and why, undecided cases, and rules that no program decides."""
    total = examination.overall
    with_check = sum(rule.check is not None for rule in examination.rules)
    head = (
        f"{plural(len(examination.rules), 'rule')}, {with_check} with a check, "
        f"against {plural(len(examination.sessions), 'session')}: "
        f"{rate_words(total)}"
    )
    parts = [heading("Rules that agents are told"), paragraph(head, width=width, indent=0)]
    if (of_solved := examination.of_solved) is not None:
        parts.append(
            paragraph(f"Of the sessions that solved their task: {rate_words(of_solved)}", width=width, indent=0)
        )
    parts += ["", _table(examination, width)]
    parts += _tell_groups(examination, width)
    parts += _places(examination.verdicts, "broken", "Broken, and where", width)
    parts += _places(examination.verdicts, "undecided", "Undecided, because the log does not show it", width)
    parts += _notes(examination, width)
    parts += _pairs(examination, width)
    return "\n".join(parts)


def rate_words(rate: Rate) -> str:
    """Describe a rate in a sentence."""
    if rate.rate is None:
        return f"no rate, because {rate.reason}"
    interval = percent_interval(rate.low, rate.high)
    return f"{percent(rate.rate)} kept ({interval}), {rate.kept} of {rate.kept + rate.broken} that were triggered"


def _table(examination: Examination, width: int) -> str:
    quotes = {rule.id: rule.quote for rule in examination.rules}
    rows = [["rule", "kept", "broken", "untriggered", "undecided", "rate", "95 % interval"]]
    for rate in examination.by_rule():
        quote = one_line(quotes[rate.name])
        cut_quote = quote if len(quote) <= LONGEST_QUOTE else f"{quote[: LONGEST_QUOTE - 1]}…"
        rows.append([cut_quote, *_cells(rate)])
    for field in ("agent", "model", "version"):
        groups = examination.by(field)
        rows += [[f"{field} {rate.name}", *_cells(rate)] for rate in groups if len(groups) > 1]
    return text_table(rows, width=width)


def told_rows(examination: Examination) -> list[list[str]]:
    """Return a row for each number of rules that sessions were told; empty if all were told the same number."""
    groups = examination.by_told()
    if len(groups) < 2:
        return []
    return [
        [
            str(group.told), str(group.rate.sessions), percent(group.rate.rate),
            percent_interval(group.rate.low, group.rate.high),
            f"{group.solved} of {group.known}" if group.known else DASH,
        ]
        for group in groups
    ]  # fmt: skip


TOLD_HEADINGS = ["rules told", "sessions", "kept", "95 % interval", "tasks solved"]


def _tell_groups(examination: Examination, width: int) -> list[str]:
    rows = told_rows(examination)
    table = text_table([TOLD_HEADINGS, *rows], width=width)
    return ["", heading("By the number of rules that were told"), table] if rows else []


def _cells(rate: Rate) -> list[str]:
    counts = [str(number) for number in (rate.kept, rate.broken, rate.untriggered, rate.undecided)]
    return [*counts, percent(rate.rate), percent_interval(rate.low, rate.high)]


def _places(verdicts: Sequence[RuleVerdict], outcome: str, title: str, width: int) -> list[str]:
    chosen = [verdict for verdict in verdicts if verdict.outcome == outcome]
    if not chosen:
        return []
    lines = ["", heading(title)]
    for verdict in chosen[:MOST_PLACES]:
        lines.append(paragraph(f"{verdict.rule}: {verdict.reason}", width=width))
        lines += [
            paragraph(f"{verdict.session}:{row.line}  {row.quote[:200]}", width=width, indent=6)
            for row in verdict.evidence[:2]
        ]
    if len(chosen) > MOST_PLACES:
        lines.append(f"  and {len(chosen) - MOST_PLACES} more (--json has all)")
    return lines


def _notes(examination: Examination, width: int) -> list[str]:
    lines: list[str] = []
    if conflicts := examination.conflicts():
        lines += ["", heading("Rules that contradict each other")]
        lines += [paragraph(f"{pair.first} and {pair.second}: {pair.reason}", width=width) for pair in conflicts]
    if silent := examination.never_fired():
        lines += ["", paragraph(f"Never triggered: {', '.join(silent)}", width=width, indent=0)]
    if unread := [session for session in examination.sessions if session.unread]:
        unread_lines = "; ".join(f"{session.session}: {plural(session.unread, 'line')}" for session in unread[:5])
        lines += ["", paragraph(f"Could not be read, so nothing is kept there: {unread_lines}", width=width, indent=0)]
    open_rules = [rule for rule in examination.rules if rule.check is None]
    if open_rules:
        lines += ["", heading("No program decides")]
        lines += [paragraph(f"{rule.file}:{rule.line}  {rule.quote}", width=width) for rule in open_rules[:MOST_PLACES]]
        if len(open_rules) > MOST_PLACES:
            lines.append(f"  and {len(open_rules) - MOST_PLACES} more")
    return lines


def _pairs(examination: Examination, width: int) -> list[str]:
    if not examination.against:
        return []
    rows = [["paired by task", "tasks", "difference", "95 % interval"]]
    rows += [
        [pair.name, str(pair.tasks), points(pair.difference), points_interval(pair.low, pair.high)]
        for pair in examination.pairs()
    ]
    return [
        "",
        heading("Beside the other sessions: kept here less kept there, in points"),
        paragraph(f"A session is of the same task by {WORDS[examination.tasks_by]}.", width=width),
        text_table(rows, width=width),
    ]


def rule_list(rules: Sequence[Rule], *, width: int) -> str:
    """List rules, one a line: place, approximate tokens, and kind of check."""
    rows = [["rule", "kind", "tokens, about", "where"]]
    rows += [[rule.id, kind_of(rule), str(tokens_about(rule)), f"{rule.file}:{rule.line}"] for rule in rules]
    total = sum(map(tokens_about, rules))
    total_line = f"{plural(len(rules), 'rule')}, about {plural(total, 'token')} in every request"
    return f"{text_table(rows, width=width, left=2)}\n  {total_line}"


def kind_of(rule: Rule) -> str:
    """Return the kind of a rule's check; a dash if it has none."""
    return DASH if rule.check is None else str(rule.check.__struct_config__.tag)
