"""`adhere claims DOC…`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhere.cli.offer import model_names
from adhere.cli.options import FILE, FOLDER, PATH, flag, option, spreading
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.schema import encode, write_atomic
from adhere.terminal import columns, show


@click.command("claims", cls=spreading("--sources"))
@click.argument("documents", type=PATH, nargs=-1, metavar="[DOC]...")
@flag("--json", "as_json", help="Print one JSON object: claims, conflicts, what agrees.")
@option("--html", type=FILE, help="Write a page: each conflict, or each statement, beside its lines.")
@option("--tsv", type=FILE, help="Write every claim, or every statement, tab-separated.")
@option(
    "--sources",
    type=PATH,
    multiple=True,
    metavar="DOC...",
    help="Hold each statement of the DOCs against these documents.",
)
@option("--statements", type=FILE, help="Hold the statements of this file against --sources.")
@option(
    "--extract",
    metavar="MODEL",
    shell_complete=model_names,
    help="With --sources: a model splits compound sentences; every part is a quotation or a marked paraphrase.",
)
@option("--corrections", type=FILE, help="A TOML file that says how tables are to be read that were misread.")
@option("--question", type=FILE, help="A TOML file that names a contrast; answer it as far as the numbers reach.")
@option("--markdown", type=FILE, help="Write the answer to --question, or the statements, as a page.")
@option("--runs", type=FOLDER, help="Test claims against the Runs stored in or below DIR.")
@option(
    "--reviewers",
    multiple=True,
    metavar="MODEL",
    shell_complete=model_names,
    help="Ask a model about each conflict, or with --sources each statement (repeatable). Off by default.",
)
def command(
    documents: tuple[Path, ...], as_json: bool, html: Path | None, tsv: Path | None, corrections: Path | None,
    question: Path | None, markdown: Path | None, runs: Path | None, reviewers: tuple[str, ...],
    sources: tuple[Path, ...], statements: Path | None, extract: str | None,
) -> None:  # fmt: skip
    """Read documents, extract every number about a model on a benchmark, and say what cannot all be right.

    Markdown, HTML, LaTeX, plain text and PDF are read; - is standard input. Exit code 1 where a conflict of severity
    `error` is found, 3 where a document has tables of numbers but not one claim could be read, or where less than 90 %
    of a table of scores was read (what is missing is listed), else 0.

    With --sources each sentence that asserts something is held against them: supported, denied, partly, not found, or
    cannot tell. Exit code 1 where a source denies one, or the DOCs contradict themselves.
    """
    if sources or statements is not None:
        if question or runs or corrections:
            raise UsageError(
                "--sources reads sentences; --question, --runs and --corrections belong to a call without it"
            )
        _statements(
            documents, sources, statements, reviewers, extract, as_json=as_json, html=html, tsv=tsv, markdown=markdown
        )
        return
    if extract is not None:
        raise UsageError("--extract splits the sentences that are held against --sources; name the sources, too")
    if not documents:
        raise click.UsageError("Missing argument '[DOC]...': name the documents to read.")
    if markdown is not None and question is None:
        raise UsageError("--markdown writes the answer to a question; name it with --question FILE.toml")
    _tables(documents, question, runs, reviewers, corrections, as_json=as_json, html=html, tsv=tsv, markdown=markdown)


def _tables(
    documents: tuple[Path, ...],
    question: Path | None,
    runs: Path | None,
    reviewers: tuple[str, ...],
    corrections: Path | None,
    *,
    as_json: bool,
    html: Path | None,
    tsv: Path | None,
    markdown: Path | None,
) -> None:
    """Check the numbers of tables; print and write the findings."""
    from adhere.evidence.examine import examine
    from adhere.report.claims.answer import answer_markdown, answer_text, panel_text, runs_text
    from adhere.report.claims.html import claims_html
    from adhere.report.claims.text import claims_text, claims_tsv

    examination = examine(documents, question=question, runs=runs, reviewers=reviewers, corrections=corrections)
    pages: list[tuple[Path, str]] = []
    if tsv is not None:
        pages.append((tsv, claims_tsv(examination.findings.claims)))
    if html is not None:
        pages.append((html, claims_html(examination)))
    if markdown is not None and examination.answer is not None:
        pages.append((markdown, answer_markdown(examination.answer, _command_line(documents, question))))
    for path, text in pages:
        write_atomic(path, text.encode("utf-8", "replace"))
        for_terminal().say(f"Written: {path}")
    if as_json:
        show(examination.encoded())
    else:
        parts = [claims_text(examination.findings, width=columns())]
        parts += [runs_text(examination.tested, width=columns())] if examination.tested is not None else []
        parts += [panel_text(examination.panel, width=columns())] if examination.panel else []
        parts += [answer_text(examination.answer, width=columns())] if examination.answer else []
        show("\n\n".join(parts))
    if examination.findings.errors:
        sys.exit(1)
    if examination.findings.unclaimed:
        for_terminal().say(f"No claim could be read in: {', '.join(examination.findings.unclaimed)}")
    if examination.findings.partly_read:
        for_terminal().say(f"Less than 90 % of a table was read: {'; '.join(examination.findings.partly_read)}")
    if examination.findings.unclaimed or examination.findings.partly_read:
        sys.exit(3)


def _statements(
    documents: tuple[Path, ...],
    sources: tuple[Path, ...],
    statements_file: Path | None,
    reviewers: tuple[str, ...],
    splitter: str | None,
    *,
    as_json: bool,
    html: Path | None,
    tsv: Path | None,
    markdown: Path | None,
) -> None:
    """Compare statements with sources; print and write the findings."""
    from adhere.evidence.examine import examine
    from adhere.evidence.statements.examine import examine_statements
    from adhere.report.claims.statements import statements_html, statements_markdown, statements_text, statements_tsv

    statements = examine_statements(
        documents, sources, statements_file=statements_file, reviewers=reviewers, splitter=splitter
    )
    names = " ".join(path.name for path in (*documents, Path("--sources"), *sources))
    names += f" --statements {statements_file.name}" if statements_file else ""
    pages = ((tsv, statements_tsv), (html, statements_html))
    files = [(path, make(statements)) for path, make in pages if path is not None]
    if markdown is not None:
        files.append((markdown, statements_markdown(statements, f"adhere claims {names}")))
    for path, text in files:
        write_atomic(path, text.encode("utf-8", "replace"))
        for_terminal().say(f"Written: {path}")
    examination = examine(documents) if documents else None
    tables = examination.as_json() if examination and as_json else {}
    show(encode(tables | statements.as_json()) if as_json else statements_text(statements, width=columns()))
    if statements.denied or statements.contradictions or (examination and examination.findings.errors):
        sys.exit(1)


def _command_line(documents: tuple[Path, ...], question: Path | None) -> str:
    names = " ".join(path.name for path in documents)
    return f"adhere claims {names} --question {question.name if question else ''} --markdown …"
