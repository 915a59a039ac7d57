"""`adhere sweep BASE_URL_OR_PROVIDER --suite S…`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.endpoint import endpoint_options
from adhere.cli.engine import emit_array, parts_options
from adhere.cli.options import FILE, PATH, Asking, Number, asking_options, flag, option
from adhere.errors import Incomplete, OutOfCredit, UsageError
from adhere.progress import Silent, for_terminal
from adhere.schema import encode
from adhere.terminal import columns, one_line, show

if TYPE_CHECKING:
    from adhere.models.http.options import EndpointOptions
    from adhere.sweep.board import Leaderboard
    from adhere.sweep.record import Sweep


SHOWN = 10
TIMEOUT_S = 10.0
"""Seconds for a whole answer, if none are given: the limit of the published sweep."""


@click.command("sweep")
@click.argument("where", metavar="BASE_URL_OR_PROVIDER")
@option(
    "--models",
    "globs",
    multiple=True,
    help="Only models that match, e.g. 'qwen/*'; '!*:free' leaves out. May be repeated.",
)
@option("--max-price", type=Number(0), help="Only models up to so many USD a million completion tokens.")
@option("--min-context", type=click.IntRange(1), help="Only models that read so many tokens.")
@option("--modality", default="text", help="Only models that put this out.")
@asking_options(suite="diagnostic")
@option("--items-per-template", type=click.IntRange(1), help="Of the diagnostic suite: items of each of its templates.")
@option("-o", "--out", type=PATH, default=Path("sweeps"), help="Where sweeps are stored.")
@option("--shard", metavar="I/N",
    help="Measure only part I (from 1) of N of the models; the parts may run at once, in one --out.")  # fmt: skip
@parts_options
@endpoint_options
@flag("--yes", help="Spend what was estimated without asking.")
@flag("--recheck", help="Ask models that are dead for good, and requests that failed for good, once more.")
@option(
    "--progress",
    "form",
    type=click.Choice(["auto", "lines", "jsonl", "none"]),
    default="auto",
    help="A live table on a terminal, lines elsewhere, or one JSON object a line.",
)
@option("--html", type=FILE, help="Write the leaderboard as one HTML page.")
@option("--xlsx", type=FILE, help="Write the workbook.")
@option("--user", hidden=True, help="Of adhere eval; here it is refused with the reason.")
@flag("--json", "as_json", help="Print the leaderboard as one JSON object.")
def command(
    where: str, globs: tuple[str, ...], max_price: float | None, min_context: int | None, modality: str, asking: Asking,
    items_per_template: int | None, out: Path, shard: str | None, emit: str | None, parts: int | None,
    endpoint: EndpointOptions,
    yes: bool, recheck: bool, form: str, html: Path | None, xlsx: Path | None, user: str | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Measure every model of an endpoint: list them, see who answers, ask all of them the same, rank what was measured.

    BASE_URL_OR_PROVIDER is a URL such as http://127.0.0.1:8000/v1, or openrouter, or openai; keys come from the
    environment. Safe to interrupt: the same command resumes, and asks nothing twice.
    """
    import sys
    from dataclasses import replace

    from adhere.cli.live import watching
    from adhere.lines.workers import parse_shard
    from adhere.report.pages import StoredSweep
    from adhere.sweep.leaderboard import leaderboard
    from adhere.sweep.run import SweepRequest, run_sweep
    from adhere.sweep.spec import Filter

    if emit_array("sweep", emit, parts):
        return
    if user is not None:
        raise UsageError(
            "In a sweep scripts play the users: it ranks models, and a model that plays says other words to each of "
            "them, some of which no program recognises. To ask several models all the same: adhere eval URL#MODEL "
            f"URL#MODEL --suite … --user {user}"
        )
    for path in (html, xlsx):
        if path is not None:
            insist_writable(path)
    names = tuple(_with_items(name, items_per_template) for name in asking.suites)
    with watching(form, sys.stderr) as watcher:
        sweep = run_sweep(
            SweepRequest(
                where=where,
                suites=names,
                seed=asking.seed,
                wanted=Filter(globs, max_price, min_context, modality or None),
                max_new_tokens=asking.max_new_tokens,
                temperature=asking.temperature,
                top_p=asking.top_p,
                draws=asking.draws,
                limit=asking.limit,
                mode=asking.mode,
                options=endpoint if endpoint.timeout_s is not None else replace(endpoint, timeout_s=TIMEOUT_S),
                recheck=recheck,
                out=out,
                shard=parse_shard(shard),
            ),
            watcher=watcher,
            progress=Silent() if form in {"jsonl", "none"} else for_terminal(),
            agree=lambda question: yes or (sys.stdin.isatty() and click.confirm(question, err=True)),
        )
    board = leaderboard(sweep)
    stored_sweep = StoredSweep(sweep, board)
    show(stored_sweep.json() if as_json else stored_sweep.text(columns(otherwise=120)))
    lines = [f"Sweep: {sweep.directory}", *stored_sweep.write(html=html, xlsx=xlsx)]
    if form == "jsonl":
        show(encode({"stage": "stored", "sweep": str(sweep.directory), "stopped": sweep.stopped}), err=True)
    else:
        show("\n".join(lines), err=True)
    raise_if_incomplete(sweep, board, asking.min_coverage)


def raise_if_incomplete(sweep: Sweep, board: Leaderboard, min_coverage: float) -> None:
    """Raise the error whose exit code says why something is missing; its message says what to do.

    Raises:
        KeyboardInterrupt: The sweep was interrupted.
        OutOfCredit: The endpoint has no credit left.
        Incomplete: Models were set aside, or too few of their answers were measured.
    """
    if sweep.stopped_for == "interrupted":
        raise KeyboardInterrupt
    if sweep.stopped_for == "credit":
        raise OutOfCredit(f"{sweep.stopped}. What was answered is stored; run the same command again to resume")
    problems = [one_line(sweep.stopped)] if sweep.stopped else []
    if not sweep.stopped:
        problems = [f"{one_line(name)}: {one_line(reason)}" for name, reason in list(sweep.set_aside.items())[:SHOWN]]
    set_aside = set(sweep.set_aside)
    lacking = sorted({row.model for row in board.rows if row.coverage < min_coverage} - set_aside)
    if lacking:
        more = f" and {len(lacking) - SHOWN} more" if len(lacking) > SHOWN else ""
        problems.append(f"coverage below {min_coverage:.0%}: {', '.join(map(one_line, lacking[:SHOWN]))}{more}")
    if not problems:
        return
    advice = "Run the same command again to ask what is missing; --recheck also asks what failed for good"
    if sweep.stopped_for == "cost":
        advice = "Raise --max-cost and run the same command again to resume"
    elif sweep.stopped_for in {"key", "address", "request"}:
        advice = "Mend that, and run the same command again to resume"
    raise Incomplete("Incomplete: " + "; ".join(problems) + f". {advice}")


def insist_writable(path: Path) -> None:
    """Make sure before hours of asking that a report can be written.

    Raises:
        UsageError: The report cannot be written.
    """
    import tempfile

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(21, "it is a directory")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}. Nothing was done") from error


def _with_items(name: str, items: int | None) -> str:
    """Return `diagnostic` with `items` items of each template; other suites' names stay as they are."""
    prefix, colon, _ = name.partition(":")
    return f"diagnostic:x{items}" if items is not None and prefix == "diagnostic" and not colon else name
