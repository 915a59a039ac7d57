"""What people report about readers of tables: legends, percentages, longtables, footnotes, decimal commas."""

from __future__ import annotations

import pytest

from adhere.evidence.claims.coverage import coverage_of, is_claim
from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.claims.values import Sheet
from adhere.evidence.read.documents import parse_document


def sheet_of(text: str, suffix: str = ".md") -> Sheet:
    (sheet,) = sheets_of(parse_document(text.encode(), name="t", suffix=suffix))
    return sheet


def claims_of(sheet: Sheet) -> dict[tuple[str, str], float]:
    found = {}
    for value in sheet.values():
        if is_claim(value):
            assert value.model is not None
            assert value.benchmark is not None
            found[value.model.name, value.benchmark.name] = value.printed.value
    return found


def directions(caption: str, *headers: str) -> list[str]:
    rows = [
        f"| Foo-7B | {' | '.join('61.2' for _ in headers)} |",
        f"| Bar-7B | {' | '.join('42.9' for _ in headers)} |",
    ]
    head = [f"| Model | {' | '.join(headers)} |", "|---" * (len(headers) + 1) + "|"]
    sheet = sheet_of("\n".join([f"Table 1: {caption}", "", *head, *rows, ""]))
    return [value.direction for value in sheet.values() if value.row == 0]


@pytest.mark.parametrize(
    "legend",
    [
        "Results (↑ higher is better, ↓ lower is better).",
        "Lower is better for ↓, higher is better for ↑.",
        "↓: smaller is better.",
        "↓ means that lower is better.",
    ],
)
def test_a_columns_own_arrow_wins_over_a_legend(legend: str) -> None:
    assert directions(legend, "GSM8K ↑", "MATH ↑", "Toxicity ↓") == ["higher", "higher", "lower"]


def test_a_legend_that_names_both_says_nothing_of_any_one() -> None:
    assert directions("Higher is better but for WER, where lower is better.", "GSM8K", "WER") == ["higher", "lower"]


def test_a_caption_that_names_one_direction_is_of_all_columns() -> None:
    assert directions("Refusals, lower is better.", "XSTest", "OR-Bench") == ["lower", "lower"]


@pytest.mark.parametrize(
    ("caption", "headers", "wanted"),
    [
        ("Lower is better for FID only.", ["GSM8K", "FID"], "hl"),
        ("For FID, lower is better.", ["GSM8K", "FID"], "hl"),
        ("XSTest: lower is better.", ["GSM8K", "XSTest"], "hl"),
        ("Higher is better except for FID.", ["GSM8K", "FID"], "hl"),
        ("Lower is better for XSTest and OR-Bench.", ["GSM8K", "XSTest", "OR-Bench"], "hll"),
        ("Refusals, lower is better for all models.", ["XSTest", "OR-Bench"], "ll"),
        ("Lower scores indicate better safety.", ["XSTest", "OR-Bench"], "ll"),
        ("Lower = better.", ["XSTest", "OR-Bench"], "ll"),
        ("拒绝率，越低越好。", ["XSTest", "OR-Bench"], "ll"),
        ("A lower learning rate; better results in bold.", ["XSTest", "OR-Bench"], "hh"),
        ("▲ higher is better, ▼ lower is better.", ["GSM8K ▲", "XSTest ▼"], "hl"),
        ("Results.", ["GSM8K ⇑", "XSTest ⇓"], "hl"),
        ("Results.", [r"GSM8K $\uparrow$", r"XSTest $\downarrow$"], "hl"),
        ("Results.", [r"GSM8K \(\uparrow\)", r"XSTest \(\downarrow\)"], "hl"),
    ],
)
def test_a_legend_speaks_of_the_columns_that_it_names(caption: str, headers: list[str], wanted: str) -> None:
    assert "".join(one[0] for one in directions(caption, *headers)) == wanted


def test_a_mark_before_a_models_name_is_no_direction() -> None:
    sheet = sheet_of("| Model | GSM8K |\n|---|---|\n| ▲ Foo-7B | 61.2 |\n| ▼ Bar-7B | 42.9 |\n| ↓ Baz-7B | 41.9 |\n")
    assert {value.direction for value in sheet.values()} == {"higher"}


@pytest.mark.parametrize(
    "sign", [r"\textdownarrow", r"$\shortdownarrow$", r"$\blacktriangledown$", r"\ensuremath{\downarrow}"]
)
def test_arrows_of_latex_are_no_part_of_a_name(sign: str) -> None:
    sheet = sheet_of(
        rf"\begin{{tabular}}{{lc}} Model & XSTest {sign} \\ \hline Foo-7B & 61.2 \\ Bar-7B & 42.9 \\ \end{{tabular}}",
        ".tex",
    )
    assert {(value.direction, value.benchmark and value.benchmark.name) for value in sheet.values()} == {
        ("lower", "XSTest")
    }


def test_a_row_in_percent_is_read_as_the_others() -> None:
    for name in ("Mistral-7B", "Ours"):
        sheet = sheet_of(
            f"| Model | HumanEval | MBPP |\n|---|---|---|\n| Llama-3-8B | 62.2 | 67.1 |\n| {name} | 60.5% | 57.5% |\n"
            "| Gemma-2-9B | 40.2 | 50.1 |\n"
        )
        assert len(claims_of(sheet)) == 6, name


def test_a_row_of_what_was_saved_is_no_score_and_is_named() -> None:
    sheet = sheet_of(
        "| Model | HumanEval | MBPP |\n|---|---|---|\n| Llama-3-8B | 62.2 | 67.1 |\n| Gemma-2-9B | 40.2 | 50.1 |\n"
        "| Saved | +3.5% | +2.5% |\n"
    )
    assert len(claims_of(sheet)) == 4
    assert "'Saved' (line 5)" in coverage_of(sheet).message


LONG = r"""\begin{longtable}{lcc}
%s
Llama-3-8B & 79.6 & 68.4 \\
Mistral-7B & 52.1 & 60.1 \\
\end{longtable}
"""
HEADS = {
    "caption": r"\caption{Accuracy.}\label{tab:x}\\ \hline Model & GSM8K & MMLU \\ \hline \endhead",
    "first head": r"""\caption{Accuracy of \textbf{all}.} \\ \toprule Model & GSM8K & MMLU \\ \midrule \endfirsthead
\multicolumn{3}{c}{Table 1 continued} \\ Model & GSM8K & MMLU \\ \midrule \endhead
\midrule \multicolumn{3}{r}{Continued on the next page} \\ \endfoot
\bottomrule \endlastfoot""",
    "tabularnewline": r"""\caption{Accuracy.}\tabularnewline \toprule Model & GSM8K & MMLU \tabularnewline \endfirsthead
Model & GSM8K & MMLU \tabularnewline \endhead""",
    "last foot": r"""\toprule Model & GSM8K & MMLU \\ \midrule \endhead
\bottomrule \endfoot \bottomrule \\ \caption{Accuracy of Qwen2.5-7B and others.} \endlastfoot""",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("kind", ["longtable", "longtabu", "longtblr"])
def test_a_longtable_keeps_its_header_and_its_feet_are_no_rows(head: str, kind: str) -> None:
    sheet = sheet_of((LONG % head).replace("longtable", kind), ".tex")
    assert claims_of(sheet) == {
        ("Llama-3-8B", "GSM8K"): 79.6, ("Llama-3-8B", "MMLU"): 68.4,
        ("Mistral-7B", "GSM8K"): 52.1, ("Mistral-7B", "MMLU"): 60.1,
    }  # fmt: skip
    assert "Accuracy" in sheet.table.caption


@pytest.mark.parametrize("kind", ["tabu", "talltblr", "supertabular", "xtabular"])
def test_tables_of_other_packages_are_read(kind: str) -> None:
    head = r"Model & GSM8K & MMLU \\ \hline"
    sheet = sheet_of((LONG % head).replace("longtable", kind), ".tex")
    assert claims_of(sheet)["Mistral-7B", "MMLU"] == 60.1


NOTES = {
    "LaTeXML": (
        '<sup class="ltx_note_mark">2</sup><span class="ltx_note ltx_role_footnote"><span class="ltx_note_outer">'
        '<span class="ltx_note_content">Run 3 times with 74.2 seeds.</span></span></span>'
    ),
    "pandoc": '<a class="footnote-ref" href="#fn1"><span>1</span></a>',
    "role": '<span role="doc-noteref">3</span>',
    "a link": '<a href="#fn1">[1]</a>',
    "letters of their own": "\u1d43,\u1d47",
    "digits of their own": "\u00b9",
    "for screen readers": '<span class="sr-only">see note 3</span>',
    "hidden": '<span style="display: none">9 runs</span>',
}


@pytest.mark.parametrize("note", NOTES.values(), ids=NOTES)
def test_footnotes_are_no_part_of_names_and_numbers(note: str) -> None:
    sheet = sheet_of(
        f"<html><body><table><tr><th>Model</th><th>GSM8K</th></tr><tr><td>Llama-3-8B{note}</td><td>79.6</td></tr>"
        f"<tr><td>Mistral-7B</td><td>52.1{note}</td></tr></table></body></html>",
        ".html",
    )
    assert claims_of(sheet) == {("Llama-3-8B", "GSM8K"): 79.6, ("Mistral-7B", "GSM8K"): 52.1}


def test_footnotes_of_pandoc_are_no_part_of_names_and_numbers() -> None:
    sheet = sheet_of("| Model | GSM8K |\n|---|---|\n| Llama-3-8B^a^ | 79.6^b^ |\n| Mistral-7B | 52.1^1^ |\n")
    assert claims_of(sheet) == {("Llama-3-8B", "GSM8K"): 79.6, ("Mistral-7B", "GSM8K"): 52.1}


def test_a_power_of_ten_is_no_ten_with_a_footnote() -> None:
    sheet = sheet_of(
        "| Model | GSM8K | R\u00b2 |\n|---|---|---|\n| Foo-7B | 79.6 | 10\u00b3 |\n| Bar-7B | 1.2 | 5.3 |\n"
    )
    assert [value.printed.value for value in sheet.values()] == [79.6, 1.2, 5.3]


KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><mrow><mn>79.6</mn></mrow>'
    '<annotation encoding="application/x-tex">79.6</annotation></semantics></math></span>'
    '<span class="katex-html" aria-hidden="true">79.6</span></span>'
)


@pytest.mark.parametrize("formula", [KATEX, r"\(79.6_{\pm 0.4}\)", r"$\mathbf{79.6}$", r"$79.6\%$"])
def test_formulas_of_pages_are_read_once(formula: str) -> None:
    sheet = sheet_of(
        f"<table><tr><th>Model</th><th>GSM8K</th></tr><tr><td>Llama-3-8B</td><td>{formula}</td></tr>"
        "<tr><td>Mistral-7B</td><td>52.1</td></tr></table>",
        ".html",
    )
    assert claims_of(sheet)["Llama-3-8B", "GSM8K"] == 79.6


@pytest.mark.parametrize("thousands", ["1 234.5", "1\u2009234.5", "1'234.5", "1\u2019234.5", "1,234.5"])
def test_thousands_before_a_decimal_point(thousands: str) -> None:
    sheet = sheet_of(
        f"| Model | GSM8K | Elo |\n|---|---|---|\n| Foo-7B | 79.6 | {thousands} |\n| Bar-7B | 85.4 | 912.5 |\n"
    )
    assert claims_of(sheet)["Foo-7B", "Elo"] == 1234.5


@pytest.mark.parametrize("thousands", ["1.234,5", "1\u00a0234,5", "1 234,5", "1'234,5", "1\u2019234,5"])
def test_thousands_before_a_decimal_comma(thousands: str) -> None:
    sheet = sheet_of(
        f"| Model | GSM8K | MMLU |\n|---|---|---|\n| Foo-7B | 79,6 | {thousands} |\n| Bar-7B | 85,4 | 12,5 |\n"
    )
    assert claims_of(sheet)["Foo-7B", "MMLU"] == 1234.5


def test_thousands_with_a_comma_stay_thousands() -> None:
    sheet = sheet_of("| Model | MMLU | Elo |\n|---|---|---|\n| Foo-7B | 80.8 | 1,234 |\n| Bar-7B | 79.1 | 1,199 |\n")
    assert claims_of(sheet)["Foo-7B", "Elo"] == 1234


def test_no_table_of_numbers_vanishes_without_a_line() -> None:
    sheet = sheet_of(
        "| Model | GSM8K | MMLU |\n|---|---|---|\n| Foo-7B | 1.2.3 | 4.5.6 |\n| Bar-7B | 7.8.9 | 1.1.1 |\n"
    )
    assert claims_of(sheet) == {}
    assert "no cell was read as a number, though 4 begin like one" in coverage_of(sheet).message
    sheet = sheet_of(
        "| Model | GSM8K | MMLU |\n|---|---|---|\n| Foo-7B | 70\u201380 | 60-65 |\n| Bar-7B | 8 - 9 | 5~6 |\n"
    )
    assert "though 4 begin like one: “70-80”" in coverage_of(sheet).message
    sheet = sheet_of("| Work | Years |\n|---|---|\n| A | 2019-2021 |\n| B | 2020-2022 |\n")
    assert coverage_of(sheet).message == ""
