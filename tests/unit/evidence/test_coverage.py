"""Nothing of a table is lost silently: rows and cells of every writing are read, or listed as unread."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere.cli.claims import command
from adhere.evidence.read.latex_text import Macro, latex_text


def scores(checked, text: str) -> list[tuple[str, str, str, float]]:
    return [(claim.model, claim.benchmark, claim.variant, claim.value) for claim in checked(text).claims]


def test_rows_without_a_leading_bar_are_rows(checked) -> None:
    text = (
        "# RULER\n\n|Models|4K|8K|16K|Avg.|\n|---|---|---|---|---|\n|A-7B|1.5|2.5|3.5|2.5|\n"
        "B-7B|4.5|5.5 **(1st)**|6.5|5.5|\nC-7B|7.5|8.5|9.5|8.5\n"
    )
    assert [value for *_, value in scores(checked, text)] == [
        1.5,
        2.5,
        3.5,
        2.5,
        4.5,
        5.5,
        6.5,
        5.5,
        7.5,
        8.5,
        9.5,
        8.5,
    ]


def test_benchmarks_that_line_breaks_set_apart_are_rows_of_their_own(checked) -> None:
    text = (
        "# T\n\n| Topic | Benchmark | A-7B | B-7B |\n|---|---|---|---|\n"
        "| Maths | AIME<br>MATH | 74.3<br>96.4 | 79.8<br/>94.9 |\n"
    )
    found = scores(checked, text)
    assert found == [
        ("A-7B", "AIME", "", 74.3),
        ("B-7B", "AIME", "", 79.8),
        ("A-7B", "MATH", "", 96.4),
        ("B-7B", "MATH", "", 94.9),
    ]


def test_a_score_in_parentheses_is_a_second_score_and_a_count_is_a_remark(checked) -> None:
    text = "# T\n\n| Model | MMLU | MATH |\n|---|---|---|\n| A-7B | 65.5 (64.4) / 84.5 (84.0) | 31.2% (164) |\n"
    found = checked(text).claims
    assert [(c.value, c.setting) for c in found] == [
        (65.5, "first of two"),
        (64.4, "first of two in parentheses"),
        (84.5, "second of two"),
        (84.0, "second of two in parentheses"),
        (31.2, ""),
    ]


def test_a_part_of_a_set_is_named_by_the_heading(checked) -> None:
    text = (
        "# T\n\n### 阅读理解：CMRC 2018\n\n| 模型 | 开发集 | 测试集 |\n|---|---|---|\n| A-7B | 65.5 | 70.0 |\n\n### DRCD\n\n"
        "| 模型 | 开发集 | 测试集 |\n|---|---|---|\n| A-7B | 83.1 | 82.2 |\n"
    )
    found = checked(text)
    assert [(c.benchmark, c.variant) for c in found.claims] == [
        ("CMRC", "开发集"),
        ("CMRC", "测试集"),
        ("DRCD", "开发集"),
        ("DRCD", "测试集"),
    ]
    assert found.conflicts == ()


def test_what_stands_below_the_line_belongs_to_the_name(checked) -> None:
    text = (
        "# T\n\n| Model | AP<sup>test</sup> | AP<sub>50</sub><sup>test</sup> | speed |\n|---|---|---|---|\n"
        "| A-7B<sup>1</sup> | 51.4% | 69.7% | 2.8 *ms* |\n"
    )
    assert [(model, name) for model, name, *_ in scores(checked, text)] == [("A-7B", "AP test"), ("A-7B", "AP50 test")]


def test_few_shot_learning_is_a_benchmark_and_a_learning_rate_is_none(checked) -> None:
    text = "# T\n\n| Model | Few-shot Learning | Learning rate | β |\n|---|---|---|---|\n| A-7B | 67.1 | 3e-5 | 2.0 |\n"
    assert [value for *_, value in scores(checked, text)] == [67.1]


def test_cells_that_were_not_read_are_listed_and_make_exit_3(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "# T\n\n| Model | MMLU | MATH |\n|---|---|---|\n| A-7B | 65.5 | 64 of 90 |\n| B-7B | 66.5 | 2/30 |\n"
    )
    done = CliRunner().invoke(command, [str(path), "--json"])
    assert done.exit_code == 3
    found = json.loads(done.stdout)
    assert found["documents"][0]["partly_read"] == ["table at line 3 (2 of 4 cells)"]
    assert (
        "2 of 4 cells were not read as numbers: “64 of 90” (line 5), “2/30” (line 6)" in found["unread"][0]["message"]
    )
    assert "Less than 90 % of a table was read" in CliRunner().invoke(command, [str(path)]).stdout


def test_a_row_that_stands_in_no_table_is_listed(checked) -> None:
    unread = checked("# T\n\n| A-7B | 1.5 | 2.5 | 3.5 |\n\nText.\n").unread
    assert [item.message for item in unread] == [
        "this line looks like a row of a table but stands in none: its numbers were not read"
    ]


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\textbf{\fontsize{8}{8}\selectfont 82.3}$_{\pm 0.4}$", "**82.3** ±0.4"),
        (r"\metric{AIME 2024}", "AIME 2024"),
        (r"\olmothree 32B", "olmothree 32B"),
        (r"\ours-XXL", "Foo-XXL"),
        (r"\res{81.0}{0.3}", "81.0 ± 0.3"),
        (r"\cellcolor{grey}\textcolor{red}{\underline{5.1}}", "<u>5.1</u>"),
        (r"\textbf{R\textsubscript{1}}", "**R1**"),
        (r"Foo-27B$^\dagger$~\citep{foo}", "Foo-27B"),
        (r"$-$0.002", "-0.002"),
        (r"a} b \% {\bf 7}", "a b % **7**"),
    ],
)
def test_latex_shows_what_stands_on_the_page(source: str, shown: str) -> None:
    assert latex_text(source, {"ours": Macro(0, "Foo"), "res": Macro(2, r"#1 $\pm$ #2")}) == shown


def test_code_in_a_line_opens_no_block_and_rows_in_no_table_are_no_success(checked, tmp_path: Path) -> None:
    rows = "| Model | MMLU |\n|---|---|\n| Qwen2.5-7B | 61.2 |\n| Yi-6B | 62.2 |\n"
    assert len(scores(checked, f"```name``` is a family.\n\n{rows}")) == 2
    file = tmp_path / "a.md"
    wide = "| Qwen2.5-7B | 61.2 | 70.1 |\n| Yi-6B | 62.2 | 71.1 |\n"
    file.write_text(f"# A\n\n| Model | MMLU |\n|---|---|\n| Yi-9B | 60.2 |\n\n```\n{wide}", encoding="utf-8")
    result = CliRunner().invoke(command, [str(file)])
    assert result.exit_code == 3
    assert "2 rows from line 8 on, which stand in no table" in result.output


def test_numbers_before_the_names_are_listed_where_nothing_else_is_read(checked) -> None:
    text = "| test CER | Unit | Paper |\n|---|---|---|\n| 4.18 | char | WNARS |\n| 4.5 | char | CAT |\n"
    (unread,) = checked(text).unread
    assert "2 numbers make no claims: they stand in the first column" in unread.message
    dates = "| Version | Unit | Paper |\n|---|---|---|\n| 1 | char | WNARS |\n| 2 | char | CAT |\n"
    assert not checked(dates).unread


def test_words_that_begin_with_a_number_are_no_scores_that_are_missing(checked) -> None:
    text = "| Model | MMLU | LM |\n|---|---|---|\n| Yi-6B | 61.2 | 4-gram |\n| Yi-9B | 62.1 | 5-gram |\n"
    assert checked(text).partly_read == ()
    assert not checked(text).unread


def test_a_blank_within_a_number_is_none_in_a_formula_and_no_footnote_elsewhere(checked) -> None:
    text = "| Model | MMLU | IFEval |\n|---|---|---|\n| Yi-6B | {} | 51.2 |\n| Yi-9B | 0.61 | 52.1 |\n"
    assert next(c.value for c in checked(text.format("$\\boldsymbol{\\color{red}0.98 39}$")).claims) == 0.9839
    assert next(c.value for c in checked(text.format("$0.9 800$")).claims) == 0.98
    found = checked(text.format("0.9 800"))
    assert len(found.claims) == 3
    assert "“0.9 800” (line 3)" in found.unread[0].message
    assert next(c.value for c in checked(text.format("0.98 1")).claims) == 0.98  # a footnote
