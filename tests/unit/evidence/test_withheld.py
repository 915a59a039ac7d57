"""No claim is made where the labels in the place of models name none: the numbers are listed as unread, with why."""

from __future__ import annotations

import pytest
from tests.markdown import table

from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Findings
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.pdf.page import PageTable, Rule, Word, to_lines
from adhere.evidence.read.pdf.tables import find_tables


def found(text: str) -> Findings:
    return findings_of(gather([parse_document(text.encode(), name="a")]))


def read(text: str) -> list[tuple[str, str, str]]:
    return [(claim.model, claim.benchmark, claim.variant) for claim in found(text).claims]


@pytest.mark.parametrize(
    ("head", "rows"),
    [
        ("Model | Flores | MMLU", ("20 | 61.2 | 70.1", "40 | 62.2 | 71.1", "60 | 63.2 | 72.1")),  # the ticks of a plot
        ("Model | MMLU | GSM8K", ("F1 | 61.2 | 70.1", "Recall | 62.2 | 71.1")),
        ("Model | 2.23 | 37.84", ("Qwen2.5-7B | 1.19 | 22.1", "Llama-3-8B | 1.44 | 25.2")),  # a row as the header
    ],
)
def test_numbers_and_measures_in_the_place_of_names_make_no_claims(head: str, rows: tuple[str, ...]) -> None:
    result = found(table(head, *rows))
    assert not result.claims
    assert any("numbers, measures or sentences" in unread.message for unread in result.unread)


def test_one_odd_name_among_models_withholds_nothing() -> None:
    text = table("Model | MMLU", "Qwen2.5-7B | 61.2", "Llama-3-8B | 62.1", "42 | 60.1")
    assert len(read(text)) == 3
    assert [model for model, *_ in read(table("Step | 1.7B | 4B", "surface | 0.91 | 0.92", "deep | 0.81 | 0.82"))] == [
        *["1.7B", "4B"] * 2  # sizes of a model are its names
    ]


def page(rules: list[Rule]) -> PageTable:
    words = []
    for at, cells in enumerate((("Model", "MMLU", "GSM8K"), ("Qwen2.5-7B", "61.2", "70.1"), ("Yi-6B", "62.2", "71.1"))):
        top = 100.0 + 20 * at
        words += [
            Word(t, x, x + 5 * len(t), top, top + 10, 10, bold=False)
            for t, x in zip(cells, (10, 120, 170), strict=True)
        ]
    (only,) = find_tables(to_lines(words), rules)
    return only


def test_three_rules_make_a_table_of_a_page_whole_or_in_pieces_and_the_frame_of_a_plot_does_not() -> None:
    whole = [Rule(5, 210, top) for top in (95, 115, 155)]
    pieces = [Rule(left, left + 65, top) for top in (95, 115, 155) for left in (5, 75, 145)]
    assert page(whole).is_ruled
    assert page(pieces).is_ruled
    assert not page([Rule(5, 210, top) for top in (95, 97, 155)]).is_ruled  # a double rule is one
    assert not page([Rule(5, 60, top) for top in (95, 115, 135, 155)]).is_ruled
    assert not page([]).is_ruled


def test_what_the_rows_have_an_average_of_is_no_model() -> None:
    text = table("Question Type | Top-1 | Top-3", "Number | 0.31 | 0.63", "Yes/No | 0.64 | 1", "All | 0.45 | 0.71")
    assert read(text) == []
    assert {
        model for model, *_ in read(table("Rule | Top-1 | Top-3", "Greedy | 0.31 | 0.63", "Beam | 0.64 | 0.9"))
    } == {
        "Greedy",
        "Beam",
    }


def test_whole_numbers_beside_percentages_count_unless_they_name_a_measure() -> None:
    rows = [
        f"{name} | {n} | {n - 1} | {share}%" for name, n, share in (("A-7B", 20, 95), ("B-7B", 10, 90), ("C-7B", 8, 88))
    ]
    assert {name for _, name, _ in read(table("Модель | Попыток | Успешно | Точность", *rows))} == {"Точность"}
    assert {name for _, name, _ in read(table("Model | Elo rating | MMLU | Honesty", *rows))} == {
        "Elo",
        "MMLU",
        "Honesty",
    }
