"""What LaTeX tables say by their form: captions of parts, ticks, values of a parameter, sets that only a heading names."""

from __future__ import annotations

from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Claim
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.latex_text import latex_text


def claims(text: str, suffix: str = ".tex") -> list[Claim]:
    return [*findings_of(gather([parse_document(text.encode(), name="a", suffix=suffix)])).claims]


def tabular(*rows: str, columns: str = "lcc") -> str:
    return "\\begin{tabular}{%s}\n%s\n\\end{tabular}" % (columns, " \\\\\n".join(rows))  # noqa: UP031 -- braces


SCORES = tabular("Model & EM & F1", "Zeta-7B & 50.1 & 60.2", "Eta-7B & 51.1 & 61.2")


def test_tabulars_that_float_together_have_a_caption_each_and_one_for_all() -> None:
    parts = [
        f"\\begin{{subtable}}{{0.5\\textwidth}}\n{SCORES}\n\\caption{{Results on the {name} set}}\n\\end{{subtable}}"
        for name in ("TestQA", "OtherQA")
    ]
    text = "\\begin{table}\n" + "\n".join(parts) + "\n\\caption{All results of our models.}\n\\end{table}"
    assert [c.benchmark for c in claims(text)] == ["TestQA"] * 4 + ["OtherQA"] * 4
    above = text.replace("\\begin{table}\n", "\\begin{table}\n\\caption{All results of our models.}\n").replace(
        "\n\\caption{All results of our models.}\n\\end{table}", "\n\\end{table}"
    )
    assert [c.benchmark for c in claims(above)] == ["TestQA"] * 4 + ["OtherQA"] * 4
    alone = "\\begin{table}\n" + SCORES + "\n\\caption{Results on the TestQA set}\n\\end{table}"
    assert [c.benchmark for c in claims(alone)] == ["TestQA"] * 4


def test_a_lowered_difference_is_no_part_of_the_number_and_a_power_is_none() -> None:
    assert latex_text("$83.1_{+0.4}$", {}) == "83.1 (+0.4)"
    assert latex_text("$83.1^{-0.4}$", {}) == "83.1 (-0.4)"
    assert latex_text("$10^{-3}$", {}) == "10 -3"
    assert latex_text("a $\\leftrightarrow$ b 5\\percent", {}) == "a ↔ b 5%"
    rows = tabular("Model & QuizA & MMLU", "Zeta-7B & $83.1_{+0.4}$ & 60.2", "Eta-7B & $82.1_{-0.6}$ & 61.2")
    assert [c.value for c in claims(rows)] == [83.1, 60.2, 82.1, 61.2]


def test_ticks_name_the_parts_of_a_method_that_a_row_uses() -> None:
    rows = ("\\checkmark & & 50.1", " & \\checkmark & 51.2", "\\checkmark & \\checkmark & 52.3", "& & 49.1")
    table = tabular("RM & KL & MMLU", *rows, columns="ccc")
    assert [c.model for c in claims(table)] == ["RM", "KL", "RM + KL", "w/o RM, w/o KL"]
    crosses = table.replace("& & 49", "$\\times$ & $\\times$ & 49")
    assert [c.model for c in claims(crosses)] == ["RM", "KL", "RM + KL", "w/o RM, w/o KL"]


def test_different_numbers_below_a_name_are_its_values() -> None:
    rows = tabular("$\\lambda$ & MMLU & GSM8K", "0.1 & 50.1 & 60.2", "0.5 & 51.1 & 61.2")
    assert [c.model for c in claims(rows)] == ["λ = 0.1"] * 2 + ["λ = 0.5"] * 2


def test_columns_that_tables_of_several_sets_share_say_how_it_was_measured() -> None:
    rows = tabular("Model & Reported F1 & Our F1", "LSTM + CRF & 90.94 & 91.28", "BERT + CRF & 92.4 & 92.6")
    text = f"\\subsection{{CoNLL 2003}}\n{rows}\n\\subsection{{OntoNotes 5}}\n{rows}\n"
    assert [(c.benchmark, c.variant, c.metric) for c in claims(text)][:2] == [
        ("CoNLL 2003", "Reported", "F1"),
        ("CoNLL 2003", "Our", "F1"),
    ]
    assert {c.model for c in claims(text)} == {"LSTM + CRF", "BERT + CRF"}


def test_parts_of_sets_are_no_models_and_languages_have_arrows() -> None:
    split = tabular("Language & Train & Test", "German & 50.5 & 40.5", "French & 60.5 & 30.5")
    assert claims(split) == []
    arrows = "| Model | en→de | de→en |\n|---|---|---|\n| Zeta-7B | 30.1 | 31.2 |\n| Eta-7B | 32.1 | 33.2 |\n"
    assert {c.benchmark for c in claims(arrows, ".md")} == {"en→de", "de→en"}
    marks = "| Model | MMLU ↑ | GSM8K ↑ |\n|---|---|---|\n| Zeta-7B | 30.1 | 31.2 |\n| Eta-7B | 32.1 | 33.2 |\n"
    assert {c.benchmark for c in claims(marks, ".md")} == {"MMLU", "GSM8K"}


def test_raised_numbers_inside_names_and_cells_that_are_citations() -> None:
    assert latex_text("P$^3$IV", {}) == "P3IV"
    assert latex_text("$x^-3$", {}) == "x -3"
    assert latex_text("\\citet{fu2018style}", {}) == "fu2018style"
    assert latex_text("{\\citep[see][]{foo2020}}", {}) == "foo2020"
    assert latex_text("Nye~\\shortcite{nye2018}", {}) == "Nye"
    rows = tabular("Model & MMLU & GSM8K", "\\citet{fu2018} & 50.1 & 60.2", "\\citet{li2019} & 51.1 & 61.2")
    assert [c.model for c in claims(rows)] == ["fu2018"] * 2 + ["li2019"] * 2


def test_a_label_that_is_broken_over_two_rows_of_a_header() -> None:
    rows = tabular(
        "Model & Counter- & Precise- \\\\\n & factual & Wiki \\\\\n\\midrule\nZeta-7B & 50.1 & 60.2",
        "Eta-7B & 51.1 & 61.2",
    )
    assert [c.benchmark for c in claims(rows)][:2] == ["Counterfactual", "Precise-Wiki"]
