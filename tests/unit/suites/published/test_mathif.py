"""MathIF: its files, its prompt, its hard and soft accuracy."""

import pytest
from tests.unit.suites.published.files import lines

from adhere.constraints.published.mathif.table import IDS, answer_of
from adhere.constraints.published.shared.registry import ids
from adhere.constraints.resolve import resolve
from adhere.errors import BadParameter, SpecError, UnknownName, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load

COMMA = ("punctuation:no_comma", None, "No commas.")
WORDS = ("length_constraint_checkers:number_words", {"num_words": 5, "relation": "less than"}, "Fewer than 5 words.")


def row(name, question, *constraints, **more):
    ids_, args, said = map(list, zip(*constraints, strict=True))
    return {
        "source": "invented",
        "id": name,
        "question": question,
        "answer": "4",
        "constraint_desc": said,
        "constraint_name": ids_,
        "constraint_args": args,
        **more,
    }


@pytest.fixture
def folder(tmp_path):
    lines(tmp_path / "f" / "gsm8k_single.jsonl", [row("s-0", "2+2?", COMMA), row("s-1", "1+3?", WORDS)])
    lines(tmp_path / "f" / "aime_double.jsonl", [row("d-0", "8/2?", COMMA, WORDS)])
    return tmp_path / "f"


def test_the_prompt_is_put_together_as_published(folder):
    suite = load(f"mathif:{folder}")
    assert [prompt.id for prompt in suite.prompts] == ["aime_double-d-0", "gsm8k_single-s-0", "gsm8k_single-s-1"]
    assert suite.prompts[0].text == (
        "8/2?Let's think step by step and output the final answer within \\boxed{}.No commas. Fewer than 5 words."
    )
    assert suite.settings["note"] == "3 prompts, 4 constraints: differs from the published file, which has 420 prompts"
    assert len(load(f"mathif:{folder / 'gsm8k_single.jsonl'}").prompts) == 2


def test_hard_and_soft_accuracy(folder, tmp_path):
    suite = load(f"mathif:{folder}")
    answers = {
        "8/2?": "it is 4 and nothing, else",
        "2+2?": "<think>a, b</think>four",
        "1+3?": "<answer>4</answer> since one and three make four",
    }
    run = evaluate_sync(
        ScriptedModel(lambda request: answers[request.messages[-1].content[:4]]), suite, tmp_path / "run"
    )
    overall = run.summary().overall
    assert overall.prompt_strict.of_all == pytest.approx(2 / 3)  # HAcc
    assert overall.instruction_macro == pytest.approx((1 + 1 + 0) / 3)  # SAcc
    found = {(one.name, one.scope): one.value for one in run.summary().measures}
    assert found == {
        ("HAcc", ""): pytest.approx(2 / 3),
        ("HAcc", "single"): 1.0,
        ("HAcc", "double"): 0.0,
        ("SAcc", ""): pytest.approx(2 / 3),
        ("SAcc", "single"): 1.0,
        ("SAcc", "double"): 0.0,
    }


def test_rows_of_two_files_may_have_the_same_id(tmp_path):
    """All rows of the published `gsm8k_double` bear ids of `gsm8k_single`."""
    lines(tmp_path / "gsm8k_single.jsonl", [row("level0-single-0", "2+2?", COMMA)])
    lines(tmp_path / "gsm8k_double.jsonl", [row("level0-single-0", "2+2?", COMMA, WORDS)])
    assert len(load(f"mathif:{tmp_path}").prompts) == 2


def theirs(hypothesis):
    """The published extraction of the answer, from one that begins with reasoning."""
    hypothesis = "<think>r</think>" + hypothesis
    hypothesis = hypothesis.split("<think>")[1]
    hypothesis = hypothesis.split("</think>")[1]
    if "<answer>" in hypothesis:
        hypothesis = hypothesis.split("<answer>")[1]
    if "</answer>" in hypothesis:
        hypothesis = hypothesis.split("</answer>")[0]
    return hypothesis


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "x<answer>b</answer>c",
        "<answer>b",
        "b</answer>c",
        "<answer>a<answer>b</answer>",
        "</answer>a<answer>b",
        "a</think>b",
        "a<think>b</think>c",
        "<answer>a</think>b</answer>",
    ],
)
def test_what_stands_between_the_tags_is_judged(text):
    assert answer_of(text) == theirs(text)


def test_a_blank_between_the_tags_fails_everything():
    assert (
        resolve(ConstraintRef("punctuation:no_comma"), profile="mathif").check("a <answer> </answer>").outcome == "fail"
    )
    assert (
        resolve(ConstraintRef("punctuation:no_comma"), profile="mathif").check("a, <answer>b</answer>").outcome
        == "pass"
    )
    assert resolve(ConstraintRef("punctuation:no_comma")).check("a, <answer>b</answer>").outcome == "fail"


def test_there_are_fifteen_kinds():
    assert set(ids("mathif")) == set(IDS)
    assert len(IDS) == 15


def test_what_is_false_counts_as_absent():
    kind = ConstraintRef("keywords:frequency", {"keyword": "a", "frequency": 0, "relation": "at least"})
    assert resolve(kind, profile="mathif").check("a").outcome == "undecided"
    assert resolve(kind).check("a").outcome == "pass"


def test_other_versions_are_refused(tmp_path):
    good = row("s-0", "2+2?", COMMA)
    cases = (
        ({"constraint_args": []}, SpecError, "as many"),
        ({"constraint_name": "x"}, SpecError, "constraint_name is 'x', but must be a list"),
        ({"constraint_name": ["length_constraints:number_words"]}, UnknownName,
            "x.jsonl:1: .*Did you mean 'length_constraint_checkers:number_words'"),
        ({"constraint_name": ["detectable_format:title"]}, UnknownName, "none of MathIF's 15 kinds"),
        ({"constraint_name": ["keywords:frequency"],
            "constraint_args": [{"keyword": "a", "frequency": 0, "relation": "at least"}]},
         BadParameter, "missing parameter frequency"),
    )  # fmt: skip
    for change, error, message in cases:
        with pytest.raises(error, match=message):
            load(f"mathif:{lines(tmp_path / 'x.jsonl', [{**good, **change}])}")
    with pytest.raises(SpecError, match="question is missing"):
        load(
            f"mathif:{lines(tmp_path / 'x.jsonl', [{key: value for key, value in good.items() if key != 'question'}])}"
        )
    with pytest.raises(UsageError, match="no SOURCE_LEVEL"):
        load(f"mathif:{(tmp_path / 'empty').mkdir() or tmp_path / 'empty'}")
