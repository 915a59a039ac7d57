"""The workbook, read back: text stays text whatever it says, numbers agree with the board, nothing is half written."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from adhere.errors import ResourceError
from adhere.report.leaderboard.xlsx import write_leaderboard_xlsx
from adhere.report.pieces.workbook import LONGEST_CELL, SheetNames, cell_text
from adhere.sweep.board import Leaderboard
from adhere.sweep.leaderboard import leaderboard
from adhere.sweep.record import Sweep

factory = runpy.run_path(str(Path(__file__).with_name("board_factory.py")))
Table = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    found: Sweep = factory["store_sweep"](tmp_path_factory.mktemp("sweep"))
    return found


@pytest.fixture(scope="module")
def board(sweep: Sweep) -> Leaderboard:
    return leaderboard(sweep)


@pytest.fixture(scope="module")
def file(sweep: Sweep, board: Leaderboard, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("book") / "board.xlsx"
    write_leaderboard_xlsx(sweep, board, path)
    return path


def table(sheet: Any) -> Table:
    head, *rows = [[cell.value for cell in row] for row in sheet.iter_rows()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_no_cell_is_a_formula_or_a_link(file: Path) -> None:
    book = openpyxl.load_workbook(file)
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None}
    assert kinds == {"s", "n"} or kinds == {"inlineStr", "n"}
    assert not any(cell.hyperlink for sheet in book for row in sheet.iter_rows() for cell in row)
    with zipfile.ZipFile(file) as packed:
        for name in packed.namelist():
            content = packed.read(name)
            assert b"<f>" not in content
            assert b"<hyperlink" not in content
            content.decode("utf-8")


def test_the_sheets(file: Path) -> None:
    names = openpyxl.load_workbook(file).sheetnames
    assert names == ["Overview", "Model Summary", "Run settings", *[f"=t{number}- -a-b---" for number in range(4)]]


def test_every_sheet_has_a_heading_that_stays_and_filters(file: Path, board: Leaderboard) -> None:
    for sheet in openpyxl.load_workbook(file):
        assert sheet.freeze_panes == "B2", sheet.title
        assert sheet.auto_filter.ref.startswith("A1:"), sheet.title
        assert max(one.width for one in sheet.column_dimensions.values()) > 12, sheet.title
    overview, summary = (openpyxl.load_workbook(file)[name] for name in ("Overview", "Model Summary"))
    assert overview.auto_filter.ref.endswith(str(1 + len(board.rows))), "the rows of models, not what is noted below"
    looks = {cell.value: below.number_format for cell, below in zip(summary[1], summary[2], strict=True)}
    assert (looks["success rate"], looks["measured"], looks["median s"], looks["cost USD"], looks["floor"]) == (
        "0.0%", "#,##0", "0.00", "0.000000", "0.0%",
    )  # fmt: skip


def test_hostile_answers_survive_as_text(file: Path) -> None:
    book = openpyxl.load_workbook(file)
    details = [row for name in book.sheetnames[3:] for row in table(book[name])]
    found = {row["answer"] for row in details}
    for text in (
        '=cmd|"/c calc"!A0',
        "+1",
        "-2+3",
        "@x",
        "{=1}",
        "http://evil.example/",
        "[/bold]",
        "'quoted",
        "007",
        "1e5",
    ):
        assert text in found
    assert " spaces " in found
    assert "NUL ⟨U+0000⟩ and ⟨U+001B⟩[2J" in found
    assert "⟨U+202E⟩gnp.exe" in found
    assert "a\nb\tc⟨U+000B⟩" in found
    (long,) = {text for text in found if text and text.startswith("LLL")}
    assert long == "L" * LONGEST_CELL + " […cut: 40,000 characters in all; the whole text is in the store]"
    assert len(long) < 32_767
    assert {row["expected"] for row in details} == {f"={number}" for number in range(5)}
    assert all(str(row["reason"]).startswith("=reason") for row in details if row["verdict"] != "not measured")


def test_numbers_agree_with_the_board(file: Path, board: Leaderboard) -> None:
    book = openpyxl.load_workbook(file)
    details = [row for name in book.sheetnames[3:] for row in table(book[name])]
    totals = {row["model"]: row for row in table(book["Model Summary"])}
    overview = {row["model"]: row for row in table(book["Overview"])}
    assert len(details) == 4 * 20
    assert len(board.rows) == 4
    for row in board.rows:
        shown = next(name for name in totals if name.startswith(row.model[:4]))
        mine = [detail for detail in details if detail["model"] == shown]
        assert (
            sum(detail["verdict"] == "pass" for detail in mine) == row.prompt_strict.passed == totals[shown]["passed"]
        )
        assert sum(detail["verdict"] == "not measured" for detail in mine) == row.timeouts == totals[shown]["timed out"]
        assert sum(detail["completion tokens"] for detail in mine if detail["status"] == "ok") == row.tokens.completion
        assert totals[shown]["total tokens"] == (row.tokens.prompt or 0) + (row.tokens.completion or 0)
        assert totals[shown]["success rate"] == pytest.approx(row.prompt_strict.of_all)
        assert totals[shown]["cost USD"] == pytest.approx(row.cost.total_usd)
        assert totals[shown]["mean response time s"] == pytest.approx(row.latency.mean)
        assert totals[shown]["rank"] == (row.rank if row.rank is not None else "–")
        for cell in row.cells:
            assert overview[shown][cell.test] == pytest.approx(cell.rate)
    assert overview["=dead"]["rank"] == "dead"


def test_settings_hold_the_whole_spec(file: Path, sweep: Sweep) -> None:
    settings = {row["setting"]: row["value"] for row in table(openpyxl.load_workbook(file)["Run settings"])}
    assert settings["spec.sampling.temperature"] == 0
    assert settings["spec.base_url"] == "http://127.0.0.1:1/v1"
    assert settings["spec sha256"] == sweep.spec.sha256
    assert (settings["models listed"], settings["models wanted"], settings["models alive"]) == (7, 6, 4)
    assert settings["list of models fetched"] == "1970-01-01T00:00:00+00:00"


def test_single_items_are_words_with_partial_apart(tmp_path: Path) -> None:
    sweep = factory["store_sweep"](tmp_path / "sweep", items=1)
    write_leaderboard_xlsx(sweep, leaderboard(sweep), tmp_path / "x.xlsx")
    rows = table(openpyxl.load_workbook(tmp_path / "x.xlsx")["Overview"])
    words = [row[f"=t{number}: [a/b]*?"] for row in rows[:4] for number in range(4)]
    assert set(words) == {"pass", "fail", "partial", "–"}


def test_more_answers_than_rows_leave_a_note(sweep: Sweep, board: Leaderboard, tmp_path: Path) -> None:
    write_leaderboard_xlsx(sweep, board, tmp_path / "x.xlsx", most_rows=8)
    rows = table(openpyxl.load_workbook(tmp_path / "x.xlsx").worksheets[3])
    assert len(rows) == 8 + 1
    assert len({row["model"] for row in rows[:-1]}) == 4
    assert rows[-1]["model"].startswith("12 more answers are in the store")


def test_a_failure_leaves_the_old_file_and_no_other(
    sweep: Sweep, board: Leaderboard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.xlsx"
    path.write_bytes(b"old")
    monkeypatch.setattr("adhere.report.leaderboard.xlsx._settings", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_leaderboard_xlsx(sweep, board, path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["x.xlsx"]
    with pytest.raises(ResourceError, match="Cannot write the workbook"):
        write_leaderboard_xlsx(sweep, board, path / "below" / "a.xlsx")


def test_an_empty_board_is_a_workbook_too(tmp_path: Path) -> None:
    write_leaderboard_xlsx(None, Leaderboard((), ()), tmp_path / "x.xlsx")
    assert openpyxl.load_workbook(tmp_path / "x.xlsx")["Overview"]["A1"].value == "No model was measured."


def test_sheet_names_are_legal_and_unique() -> None:
    names = SheetNames()
    long = "a very long name of a test that goes on"
    assert names.take("format:json[0]") == "format-json-0-"
    assert names.take("FORMAT:JSON[0]") == "FORMAT-JSON-0- (2)"
    assert names.take(long) == long[:31].strip()
    assert names.take(long) == "a very long name of a test (2)"
    assert names.take("''") == "sheet"
    assert names.take("History") == "History (2)"
    assert len(names.take("😀" * 31).encode("utf-16-le")) <= 62
    assert "\x00" not in names.take("a\x00b")


def test_cells_are_cut_in_the_units_that_excel_counts() -> None:
    assert cell_text("x" * LONGEST_CELL) == "x" * LONGEST_CELL
    cut = cell_text("😀" * 20_000)
    assert cut.startswith("😀" * 16_000 + " […cut: 20,000 characters")
    assert cell_text("\ud800") == "⟨U+D800⟩"
