"""A study as Markdown and as a workbook: complete, and texts of others stay texts."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace

import openpyxl

from adhere.report.study.markdown import study_markdown
from adhere.report.study.threats import threats
from adhere.report.study.xlsx import sheets, write_study_xlsx


def test_markdown_has_answer_rates_contrasts_and_threats(factory: SimpleNamespace) -> None:
    text = study_markdown(factory.study(seeds=3))
    for shown in (
        "INCONCLUSIVE",
        "## Pass rates",
        "new-topic/single",
        "## Contrasts",
        "sft+dpo+grpo − sft+dpo+online-dpo",
        "seed 2 +7.0",
        "## Given up for it?",
        "violated",
        "equal within 10 %",
        "## Cost",
        "## Threats to validity",
    ):
        assert shown in text, shown
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables}) <= 5
    assert "None" not in text


def test_markdown_cannot_be_injected(factory: SimpleNamespace) -> None:
    text = study_markdown(factory.hostile_study())
    assert "<script" not in text.replace("\\<", "")
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_an_interrupted_study_has_exports(factory: SimpleNamespace, tmp_path: Path) -> None:
    assert "Nothing was measured." in study_markdown(factory.empty_study())
    write_study_xlsx(factory.empty_study(), tmp_path / "empty.xlsx")


def test_workbook_holds_numbers_as_numbers_and_no_formula(factory: SimpleNamespace, tmp_path: Path) -> None:
    result = factory.study(seeds=3)
    path = tmp_path / "study.xlsx"
    write_study_xlsx(result, path)
    with zipfile.ZipFile(path) as book:
        xml = "".join(book.read(name).decode() for name in book.namelist() if name.startswith("xl/worksheets/"))
    assert "<f>" not in xml
    assert f"<v>{result.contrasts[0].low}</v>" in xml
    write_study_xlsx(factory.hostile_study(), path)
    rows = sheets(result)
    assert len(rows["seeds"]) == 1 + sum(len(one.by_seed) for one in result.contrasts) > 3
    assert {len(row) for row in rows["pass rates"]} == {17}
    assert list(tmp_path.iterdir()) == [path]


def test_every_sheet_filters_and_says_its_units(factory: SimpleNamespace, tmp_path: Path) -> None:
    write_study_xlsx(factory.study(seeds=3), tmp_path / "study.xlsx")
    book = openpyxl.load_workbook(tmp_path / "study.xlsx")
    for sheet in book:
        assert sheet.freeze_panes == "B2", sheet.title
        assert sheet.auto_filter.ref == sheet.dimensions, sheet.title
    contrasts = {cell.value: below.number_format for cell, below in zip(*list(book["contrasts"])[:2], strict=True)}
    assert (contrasts["rate_treatment"], contrasts["difference"], contrasts["n_prompts"]) == (
        "0.0%", "+0.0%;-0.0%;0.0%", "#,##0",
    )  # fmt: skip
    assert book["answer"].column_dimensions["B"].width > 50
    assert book["answer"].column_dimensions["A"].width < 30


def test_threats_follow_the_record(factory: SimpleNamespace) -> None:
    one, three = threats(factory.study()), threats(factory.study(seeds=3))
    assert any("One training seed" in text for text in one)
    assert any("3 training seeds" in text for text in three)
    assert any("repetition got worse" in text for text in one)
    changed = threats(factory.hostile_study())
    assert any("changed after results were there" in text for text in changed)
