"""Write a leaderboard as a workbook: models × tests, a sheet of answers for each test, totals by model, settings.

`pieces/workbook.py` writes the cells.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from adhere import __version__
from adhere.report.leaderboard.text import caveats, rank_range
from adhere.report.pieces.workbook import Sheet, SheetNames, formats_of, write_workbook
from adhere.schema import ConstraintRef, Json, encode
from adhere.store.files import inside
from adhere.store.tables.readout import Readout, RunReader
from adhere.sweep.board import Cell, Leaderboard, Row, SuiteFacts
from adhere.sweep.board_run import noun_of, test_of, tests_of

if TYPE_CHECKING:  # a report never needs what talks to endpoints
    from adhere.sweep.record import Sweep

MOST_ROWS = 5_000
_DETAIL = (
    ("model", 34), ("prompt id", 16), ("prompt", 50), ("constraint", 24), ("expected", 24), ("answer", 50),
    ("status", 10), ("verdict", 12), ("reason", 40), ("partial", 8), ("latency s", 10), ("prompt tokens", 9),
    ("completion tokens", 9),
)  # fmt: skip
_SUMMARY = (
    "model", "suite", "rank", "rank range", "success rate", "low", "high", "passed", "measured", "coverage",
    "rate if the rest failed", "rate if the rest passed", "of finished answers", "loose",
    "constraints passed (strict)", "constraints passed (loose)", "constraints macro", "mean of four",
    "partial (mean)", "mean response time s", "median s", "90 % s", "99 % s", "first token, median s",
    "prompt tokens", "completion tokens", "of these reasoning",
    "total tokens", "cost USD", "USD per correct", "about the cost", "answers asked", "ok", "truncated", "empty",
    "refused", "timed out", "other errors", "missing", "why no rank", "stored in", "floor", "floor's answerer",
)  # fmt: skip

_COLOURS = {"pass": "#b7e1cd", "partial": "#fce8b2", "fail": "#f4c7c3"}


def write_leaderboard_xlsx(sweep: Sweep | None, board: Leaderboard, path: Path, *, most_rows: int = MOST_ROWS) -> None:
    """Write the workbook; whoever reads `path` sees the old file or the whole new one.

    Args:
        sweep: The sweep with the Runs and settings; None for a board of single Runs.
        board: Its leaderboard.
        path: The file.
        most_rows: Most rows of each test's sheet, an even share for each model. The sheet says if answers are left out.

    Raises:
        ResourceError: The file cannot be written.
        UsageError, IntegrityError: A Run cannot be read.
    """
    write_workbook(path, lambda workbook: _Workbook(workbook, sweep, board, most_rows).fill())


class _Workbook:
    def __init__(self, workbook: Any, sweep: Sweep | None, board: Leaderboard, most_rows: int) -> None:
        self.workbook, self.sweep, self.board, self.most_rows = workbook, sweep, board, most_rows
        self.names = SheetNames()
        self.formats = formats_of(workbook)
        self.colours = {
            name: workbook.add_format({"bg_color": colour, "font_color": "#202020"})
            for name, colour in _COLOURS.items()
        }

    def fill(self) -> None:
        """Fill every sheet. Sheets of answers are filled together, so that each Run is read once."""
        alone = len(self.board.suites) == 1
        for suite in self.board.suites:
            self._overview(suite, "Overview" if alone else f"Overview {suite.name}")
        self._summary()
        self._settings()
        for suite in self.board.suites:
            self._answers(suite, prefix="" if alone else f"{suite.name} ")
        if not self.board.suites:
            self._sheet("Overview").add(["No model was measured."])

    def _sheet(self, name: str) -> Sheet:
        return Sheet(self.workbook.add_worksheet(self.names.take(name)), self.formats)

    def _overview(self, suite: SuiteFacts, name: str) -> None:
        sheet, rows = self._sheet(name), self._rows(suite)
        tests = [test.test for test in suite.tests]
        single = all(cell.n <= 1 for row in rows for cell in row.cells)
        sheet.head(["model", "rank", "passed", *tests], [40, 12, 10, *[12] * len(tests)])
        start, last = sheet.row, sheet.row + max(1, len(rows)) - 1
        looks = {2: "percent"} | ({} if single else dict.fromkeys(range(3, 3 + len(tests)), "percent"))
        for row in rows:
            cells = {cell.test: cell for cell in row.cells}
            outcomes = [_outcome(cells[test]) if single else cells[test].rate for test in tests]
            sheet.add([row.model, rank_range(row), row.prompt_strict.of_all, *outcomes], looks)
        sheet.filter()
        if tests:
            self._colour(sheet.sheet, (start, 3, last, 2 + len(tests)), single=single)
        sheet.add(
            ["all models", "", "", *(test.rate for test in suite.tests)],
            dict.fromkeys(range(3, 3 + len(tests)), "percent"),
        )
        for note in caveats(self.board, suite):
            sheet.add([note], default="note")
        for dead in self.board.dead:
            sheet.add([dead.model, "dead", dead.reason])

    def _colour(self, sheet: Any, area: tuple[int, int, int, int], *, single: bool) -> None:
        if single:
            for word, look in self.colours.items():
                sheet.conditional_format(
                    *area, {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": look}
                )
            return
        scale: dict[str, object] = {"type": "3_color_scale"}
        for end, value, look in (("min", 0, "fail"), ("mid", 0.5, "partial"), ("max", 1, "pass")):
            scale |= {f"{end}_type": "num", f"{end}_value": value, f"{end}_color": _COLOURS[look]}
        sheet.conditional_format(*area, scale)

    def _summary(self) -> None:
        sheet = self._sheet("Model Summary")
        sheet.head(_SUMMARY, [40, 16, *[11] * (len(_SUMMARY) - 4), 40, 40])
        share = {4, 5, 6, 9, 10, 11, 12, 13, 14, 15, 16, 17}
        counts = {7, 8, *range(24, 28), *range(31, 39)}
        looks = dict.fromkeys(share | {41}, "percent") | dict.fromkeys(range(18, 24), "seconds")
        looks |= {28: "usd", 29: "usd"} | dict.fromkeys(counts, "count")
        for row in self.board.rows:
            sheet.add(_totals(row), looks)
        sheet.filter()

    def _settings(self) -> None:
        sheet = self._sheet("Run settings")
        sheet.head(["setting", "value"], [40, 80])
        for name, value in _settings(self.sweep, self.board):
            sheet.add([name, value], {1: "wrap"})
        sheet.filter()

    def _rows(self, suite: SuiteFacts) -> list[Row]:
        return [row for row in self.board.rows if row.suite == suite.name]

    def _answers(self, suite: SuiteFacts, *, prefix: str) -> None:
        rows = self._rows(suite)
        sheets = {test.test: self._sheet(prefix + test.test) for test in suite.tests}
        for sheet in sheets.values():
            sheet.head([name for name, _ in _DETAIL], [width for _, width in _DETAIL])
        share = max(1, self.most_rows // max(1, len(rows)))
        left_out = dict.fromkeys(sheets, 0)
        reader = RunReader()
        for row in rows:
            run = reader.read(inside(self.sweep.directory, row.run) if self.sweep is not None else Path(row.run))
            for test, values in groupby(_details(run, row.model), key=lambda detail: detail[0]):
                for number, (_, detail) in enumerate(values):
                    if number < share:
                        sheets[test].add(detail, {9: "seconds", 10: "seconds", 11: "count", 12: "count"})
                    else:
                        left_out[test] += 1
        for test, number in left_out.items():
            sheets[test].filter()
            if number:
                more = f"{number:,} more answers are in the store (adhere report SWEEP)"
                sheets[test].add([f"{more}: this sheet shows {share:,} of each model"], default="note")


def _details(run: Readout, model: str) -> list[tuple[str, list[object]]]:
    """Return (test, cells under `_DETAIL`) for every constraint of every answer, judged or not, sorted by test."""
    noun = noun_of(run.prompts)
    details = []
    for prompt in run.prompts:
        for draw in range(run.summary.draws):
            for turn, prompt_turn in enumerate(prompt.turns):
                answer = run.responses.get((prompt.id, turn, draw))
                usage = answer.usage if answer is not None else None
                for index, ref in enumerate(prompt_turn.constraints):
                    mark = run.strict.get((prompt.id, turn, draw, index))
                    why = (answer.error or answer.evidence or "") if answer is not None else "it was not answered"
                    detail: list[object] = [
                        model, prompt.id, prompt.shown(turn), ref.id, _expected_answer(ref),
                        answer.said if answer is not None else "",
                        answer.status if answer is not None else "missing", mark.outcome if mark else "not measured",
                        mark.reason if mark else why, mark.score if mark else None,
                        answer.latency_s if answer is not None else None,
                        usage.prompt_tokens if usage else None, usage.completion_tokens if usage else None,
                    ]  # fmt: skip
                    details.append((test_of(prompt, ref.id, noun), detail))
    place = {test: number for number, test in enumerate(tests_of(run.prompts, noun))}
    details.sort(key=lambda row: place[row[0]])
    return details


def _expected_answer(ref: ConstraintRef) -> str:
    """Return the answer that the constraint's parameters expect; empty if there is none."""
    value: Json = ref.params.get("expected", ref.params.get("answer", ""))
    return value if isinstance(value, str) else encode(value).decode()


def _outcome(cell: Cell) -> str | None:
    """Return the outcome of one answer to one test: pass, fail, or `partial` for a near miss; None: not measured."""
    if not cell.n:
        return None
    return "pass" if cell.passed == cell.n else "partial" if cell.partial else "fail"


def _totals(row: Row) -> list[object]:
    rate, account, latency, tokens = row.prompt_strict, row.accounting, row.latency, row.tokens
    token_counts = [number for number in (tokens.prompt, tokens.completion) if number is not None]
    return [
        row.model, row.suite, row.rank, rank_range(row), rate.of_all, rate.low, rate.high, rate.passed, rate.n,
        row.coverage,
        row.bound_low, row.bound_high, rate.of_completed, row.prompt_loose.of_all, row.instruction_strict.of_all,
        row.instruction_loose.of_all, row.instruction_macro, row.mean_of_four, row.partial, latency.mean, latency.p50,
        latency.p90, latency.p99, row.first_token.p50, tokens.prompt, tokens.completion, tokens.reasoning,
        sum(token_counts) if token_counts else None, row.cost.total_usd, row.cost.per_correct_usd, row.cost.reason,
        account.n, account.ok, account.truncated, account.empty, account.refused, row.timeouts,
        account.error - row.timeouts, account.missing,
        row.unranked, row.run, row.floor and row.floor.rate, row.floor and row.floor.answerer,
    ]  # fmt: skip


def _settings(sweep: Sweep | None, board: Leaderboard) -> list[tuple[str, object]]:
    settings: list[tuple[str, object]] = [("adhere", __version__)]
    if board.listed is not None:
        settings += [
            ("endpoint", board.base_url),
            ("list of models fetched", board.snapshot),
            ("models listed", board.listed),
            ("models wanted", board.wanted),
            ("models alive", board.alive),
            ("models dead", len(board.dead)),
            *((f"left out: {reason}", number) for reason, number in board.left_out.items()),
            ("models set aside", "; ".join(f"{row.model}: {row.reason}" for row in board.set_aside) or "none"),
            ("asking ended early", board.stopped or "no"),
        ]
    settings += [("coverage that a rank takes", board.min_coverage), ("confidence of intervals", board.confidence)]
    for suite in board.suites:
        facts = {
            "version": suite.version, "sha256": suite.sha256, "prompts": suite.n_prompts, "draws": suite.draws,
            "limit": suite.limit, "mode": suite.mode, "sampling": msgspec.to_builtins(suite.sampling),
            "easiest": suite.easiest, "median": suite.median, "hardest": suite.hardest,
            "resolvable difference": suite.resolvable,
        }  # fmt: skip
        settings += _leaves(f"suite {suite.name}", facts)
    for engine in {encode(row.engine): row.engine for row in board.rows}.values():
        settings += _leaves("engine", msgspec.to_builtins(engine))
    if sweep is not None:
        settings += [("spec sha256", sweep.spec.sha256), *_leaves("spec", msgspec.to_builtins(sweep.spec))]
    return settings


def _leaves(name: str, value: object) -> list[tuple[str, object]]:
    """Return a nested setting as rows named like `spec.sampling.temperature`."""
    if isinstance(value, dict) and value:
        return [leaf for key, item in value.items() for leaf in _leaves(f"{name}.{key}", item)]
    if isinstance(value, list | tuple) and value:
        return [leaf for place, item in enumerate(value) for leaf in _leaves(f"{name}[{place}]", item)]
    return [(name, "none" if value is None else str(value) if isinstance(value, bool | dict | list | tuple) else value)]
