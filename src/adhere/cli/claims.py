"""`adhere claims DOC…`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhere.cli.offer import model_names
from adhere.progress import for_terminal
from adhere.terminal import columns, show

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("claims")
@click.argument("documents", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="DOC...")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: claims, conflicts, what agrees.")
@click.option("--html", type=_FILE, help="Write a page: each conflict beside its lines.")
@click.option("--tsv", type=_FILE, help="Write every claim, tab-separated.")
@click.option("--corrections", type=_FILE, help="A TOML file that says how tables are to be read that were misread.")
@click.option(
    "--question", type=_FILE, help="A TOML file that names a contrast; answer it as far as the numbers reach."
)
@click.option("--markdown", type=_FILE, help="Write the answer to --question as a page.")
@click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    help="Test claims against the Runs stored in or below DIR.",
)
@click.option(
    "--reviewers",
    multiple=True,
    metavar="MODEL",
    shell_complete=model_names,
    help="Ask a model whether each conflict is one (repeatable). Off by default.",
)
def command(
    documents: tuple[Path, ...],
    as_json: bool,
    html: Path | None,
    tsv: Path | None,
    corrections: Path | None,
    question: Path | None,
    markdown: Path | None,
    runs: Path | None,
    reviewers: tuple[str, ...],
) -> None:
    """Read documents, extract every number about a model on a benchmark, and say what cannot all be right.

    Markdown, HTML, LaTeX, plain text and PDF are read; - is standard input. Exit code 1 where a conflict of severity
    `error` is found, 3 where a document has tables of numbers but not one claim could be read, or where less than 90 %
    of a table of scores was read (what is missing is listed), else 0.
    """
    from adhere.errors import UsageError
    from adhere.evidence.examine import examine
    from adhere.report.claims.answer import answer_markdown, answer_text, panel_text, runs_text
    from adhere.report.claims.html import claims_html
    from adhere.report.claims.text import claims_text, claims_tsv
    from adhere.schema import write_atomic

    if markdown is not None and question is None:
        raise UsageError("--markdown writes the answer to a question; name it with --question FILE.toml")
    examined = examine(documents, question=question, runs=runs, reviewers=reviewers, corrections=corrections)
    written: list[tuple[Path, str]] = []
    if tsv is not None:
        written.append((tsv, claims_tsv(examined.findings.claims)))
    if html is not None:
        written.append((html, claims_html(examined)))
    if markdown is not None and examined.answer is not None:
        written.append((markdown, answer_markdown(examined.answer, _command_line(documents, question))))
    for path, text in written:
        write_atomic(path, text.encode("utf-8", "replace"))
        for_terminal().say(f"Written: {path}")
    if as_json:
        show(examined.encoded())
    else:
        parts = [claims_text(examined.findings, width=columns())]
        parts += [runs_text(examined.tested, width=columns())] if examined.tested is not None else []
        parts += [panel_text(examined.panel, width=columns())] if examined.panel else []
        parts += [answer_text(examined.answer, width=columns())] if examined.answer else []
        show("\n\n".join(parts))
    if examined.findings.errors:
        sys.exit(1)
    if examined.findings.unclaimed:
        for_terminal().say(f"No claim could be read in: {', '.join(examined.findings.unclaimed)}")
    if examined.findings.partly_read:
        for_terminal().say(f"Less than 90 % of a table was read: {'; '.join(examined.findings.partly_read)}")
    if examined.findings.unclaimed or examined.findings.partly_read:
        sys.exit(3)


def _command_line(documents: tuple[Path, ...], question: Path | None) -> str:
    names = " ".join(path.name for path in documents)
    return f"adhere claims {names} --question {question.name if question else ''} --markdown …"
