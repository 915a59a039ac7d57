"""What tells tables and rows apart where their labels alone do not: headings, groups, dates, captions in any language."""

from __future__ import annotations

import pytest
from tests.markdown import table

from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Claim
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.text import _CAPTION


def claims(text: str) -> list[Claim]:
    return list(findings_of(gather([parse_document(text.encode(), name="a")])).claims)


def test_tables_of_the_same_measures_are_of_what_their_headings_say() -> None:
    one = table("model | macro-f1 | weighted-f1 | acc.", "A-7B | 0.81 | 0.82 | 0.83", "B-7B | 0.71 | 0.72 | 0.73")
    read = claims(f"# Results\n\n### sentiment\n\n{one}\n### entailment\n\n{one.replace('0.', '0.1')}")
    assert [(c.benchmark, c.variant) for c in read[:3]] == [
        ("sentiment", "macro-f1"),
        ("sentiment", "weighted-f1"),
        ("sentiment", ""),
    ]
    assert {c.benchmark for c in read} == {"sentiment", "entailment"}
    (first, *_) = claims(f"# Results\n\n### sentiment\n\n{one}")
    assert first.benchmark != "sentiment"  # a heading over one table need not name a set


def test_parts_of_a_set_that_only_the_headings_name() -> None:
    one = table("Model | hedging | context_seeking", "A-7B | 0.81 | 0.82", "B-7B | 0.71 | 0.72")
    read = claims(f"# R\n\n## HealthBench 数据集\n\n{one}\n## HealthBench_hard 数据集\n\n{one.replace('0.', '0.1')}")
    assert (read[0].benchmark, read[0].variant) == ("HealthBench", "hedging")
    assert {c.benchmark for c in read} == {"HealthBench", "HealthBench_hard"}


def test_a_group_that_some_rows_need_belongs_to_all() -> None:
    rows = (
        "absolute | plain | 0.27",
        "| batchnorm | 0.34",
        "| selu | 0.41",
        "concatenate | batchnorm | 0.52",
        "| gelu | 0.6",
    )
    assert [(c.model, c.setting) for c in claims(table("fusion | normalization | VIPeR accuracy", *rows))] == [
        ("plain", "absolute"),
        ("batchnorm", "absolute"),
        ("selu", "absolute"),
        ("batchnorm", "concatenate"),
        ("gelu", "concatenate"),
    ]


def test_a_column_of_dates_names_no_rows_whatever_it_is_called() -> None:
    rows = ("2022/12 | whisper-small-eu | 18.95", "2023/07 | whisper-small-eu | 18.77")
    assert {c.model for c in claims(table("Data | Eredua | WER", *rows))} == {"whisper-small-eu"}


def test_across_from_known_sets_stand_models_also_below_measures() -> None:
    rows = ("| C-S | PoFL | C-S | PoFL", "EMNIST | 0.91 | 0.92 | 0.93 | 0.94", "CIFAR-10 | 0.81 | 0.82 | 0.83 | 0.84")
    text = "\\begin{tabular}{lrrrr}\n& \\multicolumn{2}{c}{accuracy} & \\multicolumn{2}{c}{recall} \\\\ \\hline\n"
    text += " \\\\\n".join(row.replace("|", "&") for row in rows) + " \\\\\n\\end{tabular}\n"
    document = parse_document(text.encode(), name="a", suffix=".tex")
    read = list(findings_of(gather([document])).claims)
    assert [(c.model, c.benchmark) for c in read[:2]] == [("C-S", "EMNIST"), ("PoFL", "EMNIST")]


def test_two_measures_before_a_name_are_those_of_its_cells() -> None:
    head = "Question Type | EM/F1 plain | EM/F1 augmented"
    read = claims(table(head, "Which | 77.38 / 80.34 | 76.27 / 79.26", "When | 77.36 / 79.10 | 75.40 / 77.32"))
    assert [(c.model, c.metric) for c in read[:4]] == [
        ("plain", "EM"),
        ("plain", "F1"),
        ("augmented", "EM"),
        ("augmented", "F1"),
    ]


@pytest.mark.parametrize(
    "caption", ["Таблица 6: x", "Tabela 2 - x", "Tableau 3.1. x", "Bảng 2: x", "表 3：x", "Table 4", "Tabelle 12: x"]
)
def test_captions_begin_with_the_word_of_their_language(caption: str) -> None:
    assert _CAPTION.match(caption)
    assert not _CAPTION.match("Tables 4 and 5 show")


def test_a_label_on_a_line_of_its_own_begins_a_caption() -> None:
    text = "Table 2\nOfficial scores of the systems\n\n" + table("Model | MMLU", "Qwen2.5-7B | 61.2", "Yi-6B | 62.2")
    assert {c.table for c in claims(text)} == {"Table 2"}


def test_one_of_the_rows_that_a_group_tells_apart_is_the_row_of_another_table() -> None:
    head = "model | data | QuizA | QuizB | QuizC"
    alone = table("model | QuizA | QuizB | QuizC", "Finch-7B | 60.1 | 61.1 | 62.1", "Wren-7B | 50.1 | 51.1 | 52.1")
    both = table(head, "Finch-7B | single | 60.1 | 61.1 | 62.1", "Finch-7B | mixed | 70.1 | 71.1 | 72.1")
    found = findings_of(gather([parse_document(f"## A\n\n{alone}\n## B\n\n{both}".encode(), name="a")]))
    assert [c.message for c in found.conflicts if c.severity == "error"] == []
    wrong = both.replace("60.1 | 61.1 | 62.1", "60.1 | 61.1 | 62.7")
    found = findings_of(gather([parse_document(f"## A\n\n{alone}\n## B\n\n{wrong}".encode(), name="a")]))
    assert any("62.7" in c.message for c in found.conflicts)  # what is compared no less
