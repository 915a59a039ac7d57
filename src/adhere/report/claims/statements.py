"""Show a report's statements and what its sources say of them: terminal text, Markdown, tab-separated table, page."""

from __future__ import annotations

from collections import Counter

from adhere.evidence.statements.assessments import VERDICTS, Assessment, Statements
from adhere.report.claims.text import tsv_cell
from adhere.report.page import render
from adhere.report.pieces.numbers import plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.terminal import one_line

SIGNS = {"supported": "✓", "denied": "✗", "partly": "◐", "not found": "∅", "cannot tell": "?"}
WORST = ("denied", "not found", "partly")  # in this order the page's first statements are chosen
MOST_WORST = 6
CUT = 300
MEANINGS = {
    "supported": "its numbers and names stand together in a passage or a table",
    "denied": "a source prints another number, name or order in their place",
    "partly": "one part stands in the sources, another nowhere",
    "not found": "a name or number stands in no source, or no passage speaks of it; it may be true",
    "cannot tell": "a passage shares its words; only a reader can compare the two",
}


def worst(statements: Statements) -> list[Assessment]:
    """Return at most six statements to look at first: denied ones, then those not found, then partly supported ones."""
    chosen = [item for verdict in WORST for item in statements.assessments if item.verdict == verdict]
    return chosen[:MOST_WORST]


def counts_line(statements: Statements) -> str:
    """Return the counts of all verdicts in one line."""
    counts = ", ".join(f"{statements.quality.verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    return f"{plural(statements.quality.statements, 'statement')}: {counts}."


def notes(statements: Statements) -> list[str]:
    """Return what is to be told besides the verdicts, a sentence each.

    That is: what was left out, sources that are unused or absent, and what models did.
    """
    quality, reviews = statements.quality, statements.reviews
    left_out_count = sum(quality.left_out.values())
    unused_files = [use.file for use in quality.sources if use.is_cited and not use.used]
    sentences = []
    if left_out_count:
        why = ", ".join(f"{n} {reason}" for reason, n in sorted(quality.left_out.items(), key=lambda item: -item[1]))
        sentences.append(f"{plural(left_out_count, 'sentence')} make no statement that can be compared ({why}).")
    if unused_files:
        sentences.append(f"Cited, but no verdict rests on it: {', '.join(unused_files)}.")
    if quality.absent_sources:
        sentences.append(f"Cited, but not among the sources: {', '.join(quality.absent_sources)}.")
    if statements.splitting:
        splitting = statements.splitting
        refusals = "; ".join(f"{reason} ({n})" for reason, n in splitting.refused.items())
        sentences.append(
            f"{splitting.model} split {splitting.split} of {plural(splitting.asked, 'sentence')}"
            + (f"; a reply did not count and the sentence stayed whole: {refusals}." if refusals else ".")
        )
    if reviews:
        kappa = "no kappa (fewer than two answered, or chance alone agrees)" if reviews.kappa is None else ""
        kappa = kappa or f"Cohen's kappa {reviews.kappa:.2f} over {plural(reviews.pairs, 'pair')}"
        sentences.append(f"Reviewers: {reviews.valid} of {reviews.asked} answers count; {kappa}.")
    return sentences


def statements_text(statements: Statements, *, width: int = 100) -> str:
    """Return each statement with its verdict and passage, then contradictions, and counts."""
    lines = [heading("Statements")]
    for item in statements.assessments:
        lines.append(paragraph(item.statement.text, width=width, label=SIGNS[item.verdict], hang=2))
        lines.append(
            paragraph(
                f"{_place(item)}{_part(item)}: {item.verdict}: {item.reason}{_often(item)}", width=width, indent=4
            )
        )
        lines += [paragraph(f"{q.file}:{q.line}: “{_cut(q.quote)}”", width=width, indent=6) for q in item.evidence[:1]]
    if statements.contradictions:
        lines += ["", heading("Contradictions in the report itself")]
        for clash in statements.contradictions:
            lines.append(paragraph(f"“{_cut(clash.statement.text)}”", width=width, label="✗", hang=2))
            reason = f"{clash.statement.file}:{clash.statement.line}: {clash.reason} (line {clash.place.line})"
            lines.append(paragraph(reason, width=width, indent=4))
    rows = [["verdict", "statements"], *([verdict, str(statements.quality.verdicts[verdict])] for verdict in VERDICTS)]
    lines += ["", heading("Counts"), text_table(rows, width=width)]
    lines += [paragraph(note, width=width) for note in notes(statements)]
    return "\n".join([*lines, "", counts_line(statements)])


def statements_markdown(statements: Statements, command: str) -> str:
    """Return the table of statements in Markdown, each with the passages of its verdict."""
    lines = ["# Statements and their sources", "", f"`{command}`", "", counts_line(statements), ""]
    lines += [f"* {note}" for note in notes(statements)] + [""]
    lines += ["| line | statement | verdict | right, of such | because | source |", "|---|---|---|---|---|---|"]
    for item in statements.assessments:
        quotes = "<br>".join(f"{q.file}:{q.line} “{_cut(q.quote)}”" for q in item.evidence[:2])
        often = "–" if item.confidence is None else f"{100 * item.confidence:.0f} of 100"
        cells = (str(item.statement.line), item.statement.text + _part(item), item.verdict, often, item.reason, quotes)
        lines.append("| " + " | ".join(_cell(cell) for cell in cells) + " |")
    if statements.contradictions:
        lines += ["", "## Contradictions in the report itself", ""]
        lines += [
            f"* {_cell(clash.statement.file)}:{clash.statement.line}: “{_cell(clash.statement.text)}” "
            f"{_cell(clash.reason)} (line {clash.place.line})."
            for clash in statements.contradictions
        ]
    return "\n".join(lines) + "\n"


def statements_tsv(statements: Statements) -> str:
    """Return every statement on one tab-separated line, after a line of headings."""
    rows = [["statement", "file", "line", "verdict", "kind", "confidence", "reason", "source", "source_line", "quote"]]
    for item in statements.assessments:
        first = item.evidence[0] if item.evidence else None
        source = ["", "", ""] if first is None else [first.file, first.line, first.quote]
        own = item.statement
        rows.append([own.text, own.file, own.line, item.verdict, item.kind, item.confidence, item.reason, *source])  # type: ignore[list-item]
    return "\n".join("\t".join(map(tsv_cell, row)) for row in rows) + "\n"


def statements_html(statements: Statements) -> str:
    """Return one self-contained page: the six worst statements first, then each with its passage."""
    return render(
        "claims/statements.html.jinja",
        style="claims/claims.css",
        statements=statements,
        worst=worst(statements),
        notes=notes(statements),
        signs=SIGNS,
        meanings=MEANINGS,
        verdicts=[(verdict, statements.quality.verdicts[verdict]) for verdict in VERDICTS],
        files=Counter(item.statement.file for item in statements.assessments),
    )


def _place(item: Assessment) -> str:
    return f"{item.statement.file}:{item.statement.line}"


def _part(item: Assessment) -> str:
    return f" ({item.statement.part} of a sentence)" if item.statement.part else ""


def _often(item: Assessment) -> str:
    return "" if item.confidence is None else f" (of verdicts like this {100 * item.confidence:.0f} of 100 were right)"


def _cut(text: str, most: int = CUT) -> str:
    text = one_line(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def _cell(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("&lt;br>", "<br>")
