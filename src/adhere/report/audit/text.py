"""Write the result of an audit of a reward as terminal text."""

from __future__ import annotations

from adhere.report.pieces.numbers import plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.rewards.audit import Audit, AuditedScript
from adhere.terminal import one_line


def verdict_of(audit: Audit) -> str:
    """Say in a sentence whether a scripted answer earns more than honest answers, and which."""
    if audit.holds:
        return "No answer that nobody wrote for the prompt earns more than honest ones."
    names = ", ".join(winner.name for winner in audit.winners[:4])
    return f"{plural(len(audit.winners), 'script')} earn more than honest answers: {names}."


def rows_of(audit: Audit) -> list[list[str]]:
    """Return the cells under HEADINGS: a row for the honest answers, then one for each script, in the audit's order."""
    return [
        ["honest answers", "", _number(audit.honest["mean"]), "", str(audit.honest["n"]), ""],
        *(
            [row.name, row.group, _number(row.mean), str(row.beats_honest), str(row.n), str(row.unmeasured)]
            for row in audit.scripts
        ),
    ]


HEADINGS = ["answer", "group", "earns", "beats honest", "prompts", "unmeasured"]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def audit_text(audit: Audit, *, width: int = 100) -> str:
    """Return the verdict, what each script earns, the winners' witnesses, and pairs that mean the same."""
    parts = [
        heading(one_line(f"{audit.reward} ({audit.kind}): what it pays")),
        paragraph(f"{verdict_of(audit)} {plural(audit.rows, 'prompt')}.", width=width),
        text_table([HEADINGS, *rows_of(audit)], width=width, left=2),
    ]
    parts += [line for winner in audit.winners[:3] for line in _witness(winner, width)]
    if audit.pairs:
        parts.append(paragraph(f"Means the same, earns otherwise: {plural(len(audit.pairs), 'pair')}", width=width))
        pair_lines = [
            f"{pair.change}: {pair.reward:.3f}, then {pair.changed:.3f}, {pair.answer[:60]!r}"
            for pair in audit.pairs[:5]
        ]
        parts += [paragraph(one_line(line), width=width, indent=2) for line in pair_lines]
    if audit.troubles:
        parts.append(paragraph("Not measured, because:", width=width))
        parts += [paragraph(one_line(why), width=width, indent=2) for why in audit.troubles[:5]]
    return "\n".join(parts)


def _witness(script: AuditedScript, width: int) -> list[str]:
    if script.witness is None:
        return []
    witness = script.witness
    text = (
        f"{script.name} earns {witness.reward:.3f} where honest answers earn at most {witness.honest:.3f}: "
        f"{witness.answer[:120]!r}, to {witness.prompt[:80]!r}"
    )
    return [paragraph(one_line(text), width=width)]
