"""IFEval++, IFBench's two-turn set and Nemotron's rows, on rows of our own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.suites.published.files import lines

from adhere.errors import BadParameter, SpecError, UnknownName
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.check import judge_text
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef, Message, Response
from adhere.suites import load

VARIANTS = ("original", *(f"{kind}:{n}" for kind in ("rephrasing", "distractor", "ct_alteration") for n in (2, 3, 7)))
LOWER = {"instruction_id_list": ["change_case:english_lowercase"], "kwargs": [{}]}


def variants(*groups: int) -> list[dict[str, Any]]:
    return [{"key": f"{group}:{key}", "prompt": f"Say {key} {group}.", **LOWER} for group in groups for key in VARIANTS]


def test_reliable_at_ten_is_the_worst_case(tmp_path: Path) -> None:
    suite = load(f"ifeval-pp:{lines(tmp_path / 'rows.jsonl', variants(1, 2, 3, 4))}")
    assert suite.prompts[2].tags == {
        "profile": "ifevalpp", "key": "str", "group": "1", "variant": "rephrasing 2",
    }  # fmt: skip
    assert len({prompt.tags["variant"] for prompt in suite.prompts}) == 10
    fails = {"2:distractor:7", "3:original", "3:ct_alteration:2"}  # one of ten, two of ten: both groups are lost

    def script(call):
        text = "NO, NOT THIS TIME" if call.prompt_id in fails else "yes, we do it the way you like"
        return Response(call.prompt_id, call.turn, call.draw, text, "ok")

    summary = evaluate_sync(ScriptedModel(script), suite, tmp_path / "run").summary()
    found = {one.name: one.value for one in summary.measures if one.scope == ""}
    assert found["worst case"] == 0.5
    assert summary.overall.prompt_strict.of_all == 37 / 40
    assert {one.n for one in summary.measures if one.name == "variant"} == {4}


@pytest.mark.parametrize(
    "key",
    [
        "1000",
        "1000:orignal",
        "1000:original:1",
        "1000:original:a",
        "1000:rephrasing:1:2",
        "1000:rephrasing",
        "1000:rephrasing:a",
    ],
)
def test_a_key_that_names_no_variant_is_an_error(tmp_path: Path, key: str) -> None:
    with pytest.raises(SpecError, match=r"none of 1000:original, 1000:rephrasing:1"):
        load(f"ifeval-pp:{lines(tmp_path / 'rows.jsonl', [{'key': key, 'prompt': 'Say.', **LOWER}])}")


CASES = [
    ("keywords:existence", {"keywords": ["art"]}, "a party", False, True),
    ("keywords:existence", {"keywords": ["C++", "e.g."]}, "C++x, e.g.x", True, None),
    ("keywords:frequency", {"keyword": "war", "frequency": 1, "relation": "at least"}, "forward", False, True),
    ("keywords:letter_frequency", {"letter": "#", "let_frequency": 2, "let_relation": "at least"}, "# #", True, None),
    ("keywords:letter_frequency", {"letter": "ab", "let_frequency": 1, "let_relation": "less than"}, "ab", True, None),
    ("detectable_format:multiple_sections", {"section_spliter": "Part", "num_sections": 2}, "Part A\nPart B", True,
        False),
    ("detectable_format:title", {}, "<<<a>>", True, True),
    ("detectable_format:title", {}, "<<a>b>>", False, True),
    ("combination:two_responses", {}, "a\n*******\nb", False, True),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Say, \"hi\"!"}, "say hi. Hi", True, False),
    ("language:response_language", {"language": "en"}, "1 2 3", False, True),
    ("length_constraints:nth_paragraph_first_word", {"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "Hi"},
        "Hi you", False, True),
]  # fmt: skip


@pytest.mark.parametrize(("name", "params", "text", "theirs", "ifeval"), CASES)
def test_where_its_checkers_differ_from_ifeval_s(
    name: str, params: dict[str, Any], text: str, theirs: bool, ifeval: bool | None
) -> None:
    ref = ConstraintRef(name, params)
    assert judge_text(text, [ref], ("strict",), profile="ifevalpp")[0].outcome == ("pass" if theirs else "fail")
    if ifeval is not None:
        assert judge_text(text, [ref], ("strict",), profile="ifeval")[0].outcome == ("pass" if ifeval else "fail")


COUNTS = [
    ("length_constraints:number_words", "num_words", "relation", 25, {}, "w "),
    ("length_constraints:number_sentences", "num_sentences", "relation", 2, {}, "It is so. "),
    ("change_case:capital_word_frequency", "capital_frequency", "capital_relation", 5, {}, "NO "),
    ("keywords:frequency", "frequency", "relation", 5, {"keyword": " so "}, "It is So. "),
    ("keywords:letter_frequency", "let_frequency", "let_relation", 5, {"letter": "W"}, "w "),
]


@pytest.mark.parametrize(("name", "number", "relation", "within", "more", "unit"), COUNTS)
def test_counts_have_four_relations(
    name: str, number: str, relation: str, within: int, more: dict[str, Any], unit: str
) -> None:
    def passes(asked: str, count: int) -> bool:
        ref = ConstraintRef(name, {number: 40, relation: asked, **more})
        return judge_text(unit * count, [ref], ("strict",), profile="ifevalpp")[0].outcome == "pass"

    allowed = {"at most": range(41), "at least": range(40, 90), "less than": range(40)}
    for asked, counts in (allowed | {"around": range(40 - within, 41 + within)}).items():
        for count in (39 - within, 40 - within, 39, 40, 41, 40 + within, 41 + within):
            assert passes(asked, count) == (count in counts), (asked, count)
    with pytest.raises(BadParameter, match="must be one of 'at most', 'at least', 'around', 'less than'"):
        passes("exactly", 40)


TURNS = {
    "key": 5, "prompt": "Tell me of cats. No comma.", "instruction_id_list": ["punctuation:no_comma"],
    "kwargs": [{"N": None}],
    "messages": [
        {"role": "user", "content": "Tell me of cats."}, {"role": "assistant", "content": "Cats, they sleep."},
        {"role": "user", "content": "Now without commas."},
    ],
}  # fmt: skip


def test_two_turns_are_given_and_the_last_is_asked(tmp_path: Path) -> None:
    again = TURNS | {"instruction_id_list": ["count:conjunctions"], "kwargs": [{"small_n": 3}]}
    suite = load(f"ifbench-two-turn:{lines(tmp_path / 'rows.jsonl', [TURNS, again, TURNS | {'key': 'a'}])}")
    assert [(prompt.id, prompt.key) for prompt in suite.prompts] == [("5", 5), ("5 (2)", "5 (2)"), ("a", "a")]
    first = suite.prompts[0]
    assert first.messages() == (
        Message("user", "Tell me of cats."), Message("assistant", "Cats, they sleep."),
        Message("user", "Now without commas."),
    )  # fmt: skip
    assert first.constraints == (ConstraintRef("punctuation:no_comma", {}),)
    assert {prompt.tags["profile"] for prompt in suite.prompts} == {"ifbench-2026"}
    assert suite.settings["note"] == "3 prompts"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"messages": TURNS["messages"][:2]}, "the last message must be the user's"),
        ({"messages": None}, "messages is None, but must be a list"),
        ({"key": None}, "key is None"),
        ({"kwargs": []}, "1 ids in instruction_id_list, but 0 entries in kwargs"),
        ({"instruction_id_list": ["count:conjunctons"]}, "Did you mean"),
    ],
)
def test_a_two_turn_row_that_cannot_be_used_is_named(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises((SpecError, UnknownName), match=rf"rows\.jsonl:1: .*{message}"):
        load(f"ifbench-two-turn:{lines(tmp_path / 'rows.jsonl', [TURNS | change])}")


def test_nemotron_s_rows_have_an_id_and_kinds_of_both_sets(tmp_path: Path) -> None:
    row = {
        "id": 86, "prompt": "How?", "instruction_id_list": ["paragraphs:paragraphs", "detectable_format:title"],
        "kwargs": [{}, None], "responses_create_params": {"input": [{"role": "user", "content": "How?"}]},
        "grading_mode": "binary",
    }  # fmt: skip
    path = lines(tmp_path / "rows.jsonl", [row])
    (prompt,) = load(f"nemotron-rl:{path}").prompts
    assert (prompt.id, prompt.key, prompt.text, prompt.tags["profile"]) == ("86", 86, "How?", "iftrain")
    verdicts = judge_text("<<One>>\n***\ntwo", prompt.constraints, ("strict",), profile="iftrain")
    assert [verdict.outcome for verdict in verdicts] == ["pass", "pass"]
    (tmp_path / "list.json").write_text(json.dumps([row]))
    assert load(f"nemotron-rl:{tmp_path / 'list.json'}").prompts == (prompt,)
    with pytest.raises(SpecError, match=r"rows\.jsonl:1: .*id"):
        load(f"nemotron-rl:{lines(path, [{'key': 86, 'prompt': 'How?', **LOWER}])}")
    with pytest.raises(SpecError, match="Columns: prompt, instruction_id_list, kwargs, media, id"):
        load(f"nemotron-rl:{tmp_path / 'bad.json'}" if (tmp_path / "bad.json").write_text('[{"id": 1}]') else "")
