from __future__ import annotations

import math
from pathlib import Path

import pytest

from adhere.errors import SpecError
from adhere.evidence.check import Evidence, gather
from adhere.evidence.question import Answer, answer, load_question
from adhere.evidence.read.documents import parse_document
from adhere.report.claims.answer import answer_markdown, answer_text

SHIPPED = Path(__file__).parents[3] / "examples" / "question.toml"
FILE = """
version = 1
title = "T"
question = "Does it help?"
design = ["One base, one pool."]
[contrast]
treatment = "Qwen2.5"
control = "Qwen2"
[[measure]]
benchmark = "IFEval"
metric = "strict-prompt"
primary = true
[[measure]]
benchmark = "MT-Bench"
[cause]
asked = "the method"
held_fixed = "the data"
ablation = ['ablat']
[[confounder]]
name = "the data"
patterns = ['7 trillion .{0,20}18 trillion']
[[confounder]]
name = "the weather"
patterns = ['snow']
"""
DOCUMENT = """# R

Qwen2.5 was trained on more data: from 7 trillion to 18 trillion tokens. {more}

**Table 1: Instruct models.**

| Datasets | Qwen2-7B | Qwen2.5-7B | Qwen2.5-3B |
|---|---|---|---|
| IFEval strict-prompt | 54.7 | 71.2 | 58.2 |
| MT-Bench | 8.26 | 8.75 | 8.00 |
"""
OTHER = (
    "# S\n\n**Table 2: Instruct models.**\n\n| Model | IFEval strict-prompt |\n|---|---|\n"
    "| Qwen2-7B-Instruct | 50.7 |\n"
)


def evidence(*texts: str) -> Evidence:
    return gather([parse_document(text.encode(), name=f"{'ab'[i]}.md") for i, text in enumerate(texts)])


@pytest.fixture
def question(tmp_path: Path) -> Path:
    path = tmp_path / "q.toml"
    path.write_text(FILE)
    return path


def answered(question: Path, *texts: str) -> Answer:
    return answer(load_question(question), evidence(*texts))


def test_the_effect_has_the_interval_of_two_independent_evaluations(question: Path) -> None:
    found = answered(question, DOCUMENT.format(more=""))
    effect = found.effects[0]
    reach = 100 * 1.959964 * math.sqrt((0.712 * 0.288 + 0.547 * 0.453) / 541)
    assert (effect.size, effect.low_effect, effect.high_effect) == ("7B", 16.5, 16.5)
    assert effect.low == pytest.approx(16.5 - reach, abs=1e-3)
    assert effect.high == pytest.approx(16.5 + reach, abs=1e-3)
    assert effect.finds == "higher"
    assert [e.size for e in found.effects] == ["7B", "7B"]


def test_a_score_that_is_no_proportion_has_no_interval_and_says_why(question: Path) -> None:
    effect = answered(question, DOCUMENT.format(more="")).effects[1]
    assert effect.low_effect == pytest.approx(0.49)
    assert (effect.low, effect.high, effect.finds) == (None, None, "")
    assert "no proportion" in effect.reason


def test_where_documents_differ_both_ends_are_given(question: Path) -> None:
    effect = answered(question, DOCUMENT.format(more=""), OTHER).effects[0]
    assert (effect.low_effect, effect.high_effect) == (16.5, 20.5)
    assert effect.low < 16.5 < 20.5 < effect.high


def test_no_cause_is_given_and_what_changed_together_is_quoted(question: Path) -> None:
    found = answered(question, DOCUMENT.format(more=""))
    assert found.refused.startswith(
        "No causal verdict. The numbers compare finished models; no table holds the data fixed and varies the method"
    )
    assert [(c.name, [line.line for line in c.lines]) for c in found.confounders] == [
        ("the data", [3]),
        ("the weather", []),
    ]


def test_a_reported_ablation_is_quoted_instead_of_judged(question: Path) -> None:
    found = answered(question, DOCUMENT.format(more="We ablate the method of Qwen2.5 on equal data."))
    assert [line.line for line in found.ablations] == [3]
    assert "for a reader of those comparisons to judge" in found.refused


def test_the_answer_is_printed_and_written_with_every_part(question: Path) -> None:
    found = answered(question, DOCUMENT.format(more=""), OTHER)
    text = answer_text(found)
    assert "+16.5 … +20.5" in text
    assert "No causal verdict" in text
    page = answer_markdown(found, "adhere claims a.md")
    assert "| IFEval (strict-prompt) | 7B | 71.2 | 54.7 / 50.7 | +16.5 … +20.5 |" in page
    assert "1. One base, one pool." in page


def test_quoted_text_cannot_put_markup_into_the_page(question: Path) -> None:
    found = answered(question, DOCUMENT.format(more="From 7 trillion to 18 trillion <script>[x] [y]</script>."))
    page = answer_markdown(found, "c")
    assert "<script>" not in page
    assert "\\[x\\] \\[y\\]" in page


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("version = 1", "version = 2", "reads version 1"),
        ("benchmark = ", "bench = ", "unknown key 'bench'"),
        ("'ablat'", "'abl('", "no regular expression"),
        ("treatment", "treatmint", "Did you mean 'treatment'"),
    ],
)
def test_a_wrong_question_file_is_refused(question: Path, old: str, new: str, says: str) -> None:
    question.write_text(FILE.replace(old, new, 1))
    with pytest.raises(SpecError, match=says.replace("(", r"\(")):
        load_question(question)


def test_the_shipped_question_is_read() -> None:
    shipped = load_question(SHIPPED)
    assert shipped.contrast.treatment == "Qwen2.5"
    assert [measure.primary for measure in shipped.measure].count(True) == 1
    assert len(shipped.confounder) == 4


BARE = """
version = 1
title = "T"
question = "Does it help?"
[contrast]
treatment = "Qwen2.5"
control = "Qwen2"
[[measure]]
benchmark = "MATH"
"""


def test_what_is_not_there_is_not_compared_and_said(tmp_path: Path) -> None:
    path = tmp_path / "q.toml"
    path.write_text(BARE)
    # A category row called "Math" is no MATH score, and MATH with another variant is another measure.
    table = (
        "# R\n\n### Instruct models\n\n"
        "<table><tr><td>Category</td><td>Benchmark</td><td>Qwen2-7B</td><td>Qwen2.5-7B</td></tr><tr><td>Math</td><td>GSM8K</td><td>80.0</td><td>85.0</td></tr><tr><td>Math</td><td>MATH "
        "(CoT)</td><td>50.0</td><td>70.0</td></tr></table>\n"
    )
    found = answered(path, table)
    assert found.effects == ()
    assert found.said == ()
    assert found.missing[0].startswith(
        "MATH: no claim of an instruct model Qwen2.5-… on MATH (printed are: Qwen2.5-7B-Instruct on MATH (CoT))"
    )
    assert "no claim of an instruct model Qwen2-…" in found.missing[0]
    assert "not compared: MATH" in answer_text(found)
    assert "No comparison is possible." in answer_text(found)
    assert (
        found.refused
        == "No causal verdict: the question names no [cause], and printed numbers compare finished models."
    )


def test_an_error_in_a_question_shows_how_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "q.toml"
    path.write_text("version = 1\n")
    with pytest.raises(SpecError, match=r"(?s)missing required field.*\[contrast\]\ntreatment = "):
        load_question(path)
