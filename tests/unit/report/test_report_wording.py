from __future__ import annotations

from types import SimpleNamespace

import pytest

from adhere.report.pieces.text_table import text_table
from adhere.report.pieces.wording import effect, level, not_measured, sentence


def test_a_stage_that_does_not_help_is_said_so_plainly(factory: SimpleNamespace) -> None:
    found = effect(factory.contrast("dpo", "sft", -0.02, 0.044))
    assert found.direction == "unclear"
    assert found.sentence == "dpo over sft: +1.2 points, interval −2.0…+4.4: no effect shown."


@pytest.mark.parametrize(
    ("low", "high", "p", "holm", "direction", "words"),
    [
        (0.02, 0.10, 0.004, 0.02, "more", "more prompts pass."),
        (-0.10, -0.02, 0.004, 0.02, "fewer", "fewer prompts pass."),
        (0.02, 0.10, 0.03, 0.09, "unclear", "no effect shown (the interval excludes zero, but Holm's p is 0.090)."),
        (0.02, 0.10, 0.06, None, "unclear", "no effect shown (the interval excludes zero, but p is 0.060)."),
        (-0.001, 0.10, 0.04, 0.04, "unclear", "no effect shown (Holm's p is 0.040, but the interval includes zero)."),
        (0.02, 0.10, 0.05, None, "more", "more prompts pass."),
        (0.02, 0.10, None, None, "more", "more prompts pass."),
        (-0.02, 0.10, None, None, "unclear", "no effect shown."),
        (0.0, 0.10, None, None, "unclear", "no effect shown."),
    ],
)
def test_an_effect_needs_interval_and_p_value(
    factory: SimpleNamespace, low: float, high: float, p: float | None, holm: float | None, direction: str, words: str
) -> None:
    found = effect(factory.contrast("a", "b", low, high, p_value=p, p_adjusted=holm))
    assert found.direction == direction
    assert found.sentence.endswith(words)


def test_not_measured_says_why(factory: SimpleNamespace) -> None:
    nothing = factory.changed(
        factory.contrast("a", "b", 0, 0), difference=None, low=None, high=None, reason="no common prompt"
    )
    assert effect(nothing).sentence == "a over b: not measured (no common prompt)."
    silent = factory.changed(nothing, reason="")
    assert "gives no reason" in effect(silent).sentence


def test_a_difference_without_an_interval_claims_nothing(factory: SimpleNamespace) -> None:
    found = effect(factory.changed(factory.contrast("a", "b", 0.1, 0.2), low=None, high=None, reason="one query"))
    assert found.direction == "open"
    assert found.sentence == "a over b: +15.0 points, without an interval (one query)."


@pytest.mark.parametrize(("text", "wanted"), [("the interval", "The interval."), ("Done.", "Done."), ("", "")])
def test_sentence_starts_and_ends_like_one(text: str, wanted: str) -> None:
    assert sentence(text) == wanted


def test_level_is_the_contrasts_own(factory: SimpleNamespace) -> None:
    assert level(factory.contrast("a", "b", 0, 1)) == "95\u00a0%"
    assert level(factory.contrast("a", "b", 0, 1, confidence=0.995)) == "99.5\u00a0%"


def test_what_was_not_measured_depends_on_the_study(factory: SimpleNamespace) -> None:
    one, three = not_measured(factory.study()), not_measured(factory.study(seeds=3))
    assert any("between training seeds" in note for note in one)
    assert not any("between training seeds" in note for note in three)
    assert any("before any arm was measured" in note for note in not_measured(factory.empty_study()))


@pytest.mark.parametrize("width", [60, 80, 100])
def test_a_table_fits_the_terminal_and_says_what_it_leaves_out(width: int) -> None:
    rows = [["model", *(f"column{n}" for n in range(12))], ["local/smollm2-135m", *["10.6…29.9"] * 12]]
    lines = text_table(rows, width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].split() == ["model", *rows[0][1 : len(lines[0].split())]]
    assert " ".join(lines[2:]).split(": ")[1].replace(",", "").split() == rows[0][len(lines[0].split()) :]
    assert "Left out" not in text_table(rows, width=200)


def test_a_study_of_sound_answers_says_what_it_counts(factory: SimpleNamespace) -> None:
    found = effect(factory.contrast("a", "b", 0.02, 0.10, p_value=0.01, p_adjusted=None), verb="pass soundly")
    assert found.sentence.endswith("more prompts pass soundly.")
    assert found.short == "▲ more pass soundly"
