from __future__ import annotations

import re
import unicodedata
from types import SimpleNamespace

import pytest

from adhere.report.pieces.text_table import paragraph, text_table
from adhere.report.study.text import study_text


@pytest.mark.parametrize("seeds", [1, 3])
def test_text_holds_verdict_rates_contrasts_and_ledger(factory: SimpleNamespace, seeds: int) -> None:
    result = factory.study(seeds=seeds)
    text = study_text(result)
    assert (
        text.index("INCONCLUSIVE") < text.index("Pass rates") < text.index("What each step bought") < text.index("Cost")
    )
    for shown in (
        "+5.0 points",
        "−1.8…+11.8",
        "7.1 points",
        "sft+dpo over sft: +1.2 points",
        "19.4 minutes",
        "131,204",
    ):
        assert shown in text
    assert text.count("seed 1") == (
        3 * 4 + 2 if seeds == 3 else 0
    )  # rates; the primary contrast and the matched compute


def test_names_of_arms_are_whole_beside_their_rates(factory: SimpleNamespace) -> None:
    text = study_text(factory.study(seeds=3), width=110)
    rates = text[text.index("Pass rates") : text.index("What each step bought")]
    for arm in factory.ARMS:
        assert re.search(rf"^  {re.escape(arm)} ", rates, re.MULTILINE), arm


def test_text_stays_within_the_width(factory: SimpleNamespace) -> None:
    assert max(len(line) for line in study_text(factory.study(seeds=3), width=100).splitlines()) <= 100


def test_text_cannot_act_on_a_terminal(factory: SimpleNamespace) -> None:
    text = study_text(factory.hostile_study())
    assert all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in text)
    assert "[31m" not in text
    assert "evil.example" not in text


def test_interrupted_study_says_what_is_missing(factory: SimpleNamespace) -> None:
    text = study_text(factory.empty_study())
    for shown in ("– points, no arm was evaluated", "No pass rate was measured", "No arm was trained", "not measured"):
        assert shown in text
    assert "None" not in text


def test_same_record_same_text(factory: SimpleNamespace) -> None:
    assert study_text(factory.study(seeds=3)) == study_text(factory.study(seeds=3))


def test_columns_line_up_under_wide_characters() -> None:
    table = text_table([["arm", "n"], ["漢字", "10"], ["ab", "2"]], width=40)
    assert table == "  arm    n\n  漢字  10\n  ab     2"


def test_a_long_name_is_cut_and_numbers_are_not() -> None:
    """In the middle: the end of a name tells it from its neighbours."""
    table = text_table([["arm", "rate"], ["a" * 80 + "end", "12.5 %"]], width=30)
    assert max(map(len, table.splitlines())) <= 30
    assert table.endswith("aend 12.5 %")
    assert "a…a" in table


@pytest.mark.parametrize("width", [60, 80])
def test_nothing_is_wrapped_inside_a_word(width: int) -> None:
    text = "hf/Qwen2.5-0.5B-Instruct over local/smollm2-135m: no effect shown. [in-family] " * 3
    shown = paragraph(text, width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert shown.split() == text.split()
