"""The reward of an answer that was cut at its token limit or could not be judged is what an evaluation makes of it."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from adhere.build.filter import judge_draws
from adhere.constraints.base import Constraint, Finding, registry
from adhere.environments.environment import judge_episode
from adhere.errors import UsageError
from adhere.integrations.openrlhf.reward import reward_func
from adhere.integrations.verifiers.reward import judge_binary, judge_dense
from adhere.integrations.verl.reward import compute_score, compute_score_batch
from adhere.pipeline.check import check
from adhere.pipeline.judge import Judge, judge_of
from adhere.pipeline.reward import reward, reward_of
from adhere.rewards import judge_reward, verifiers_reward
from adhere.rewards.ends import end_tokens_of
from adhere.rewards.judge import AllCut, CutsUnseen
from adhere.rewards.rows import is_cut_by
from adhere.schema import ConstraintRef, Prompt, Response, RlRow, Turn
from adhere.train.stage.scoring import scorer

END = 7
TRUTH = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
REFS = (ConstraintRef("punctuation:no_comma"),)
LANGUAGE = {"instruction_id_list": ["language:response_language"], "kwargs": [{"language": "de"}]}
LANGUAGE_REFS = (ConstraintRef("language:response_language", {"language": "de"}),)
UNDECIDABLE = ConstraintRef("keywords:letter_frequency", {"letter": "#"})


def columns(n: int) -> dict[str, Any]:
    return {name: [value] * n for name, value in TRUTH.items()}


def test_trl_completion_ids_without_the_end_token_were_cut() -> None:
    texts, tokens = ["good", "good", "good", ""], [[1, 2, END], [1, 2, 3], [END, 1], []]
    passed = judge_reward(end_tokens=END)(completions=texts, completion_ids=tokens, **columns(4))
    assert passed == [1.0, 0.0, 0.0, 0.0]
    assert judge_reward(end_tokens=[END, 3])(completions=texts, completion_ids=tokens, **columns(4))[1] == 1.0
    judged = judge_reward(end_tokens=END, cut_answers="judge")(completions=texts, completion_ids=tokens, **columns(4))
    assert judged == [1.0, 1.0, 1.0, 0.0]


def test_every_end_token_of_a_model_ends_an_answer(tiny_llama_dir: Path) -> None:
    """TRL and vLLM stop at each of the generation config's list; 8 of 32 answers of a trial ended by the second."""
    texts, tokens = ["good", "good", "good"], [[1, 2], [1, 5], [1, 9]]
    listed = SimpleNamespace(eos_token_id=[2, 5], pad_token_id=0)
    model = SimpleNamespace(generation_config=listed, config=SimpleNamespace(eos_token_id=2))
    for source in (model, listed, [2, 5], [SimpleNamespace(eos_token_id=2), listed]):
        found = judge_reward(end_tokens=source)(completions=texts, completion_ids=tokens, **columns(3))
        assert found == [1.0, 1.0, 0.0]
    assert end_tokens_of(model) == {0, 2, 5}
    assert end_tokens_of(None) == frozenset()
    with pytest.raises(UsageError, match="token ids, a model, a generation config or a tokenizer, got float"):
        judge_reward(end_tokens=0.5)
    tokenizer = _tokenizer(tiny_llama_dir)
    assert end_tokens_of(str(tiny_llama_dir)) >= end_tokens_of(tokenizer)
    with pytest.raises(UsageError, match="is no model whose tokenizer can be read"):
        judge_reward(end_tokens=str(tiny_llama_dir / "elsewhere"))
    assert tokenizer.eos_token_id in end_tokens_of(tokenizer)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|turn_end|>"]})
    tokenizer.chat_template = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}<|turn_end|>\n{% endfor %}"
    assert tokenizer.convert_tokens_to_ids("<|turn_end|>") in end_tokens_of(tokenizer), "what the template writes"


def _tokenizer(directory: Path) -> Any:
    return pytest.importorskip("transformers").AutoTokenizer.from_pretrained(directory)


def test_a_batch_in_which_every_answer_seems_cut_is_told_once() -> None:
    one = judge_reward(end_tokens=END)
    with pytest.warns(AllCut, match=r"none ends in one of the tokens \[7\]. Their last tokens are 8, 9"):
        assert one(completions=["good"] * 2, completion_ids=[[1, 8], [9]], **columns(2)) == [0.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one(completions=["good"] * 2, completion_ids=[[1, 8], [9]], **columns(2))


def test_a_numpy_column_of_flags_is_seen() -> None:
    numpy = pytest.importorskip("numpy")
    flags = numpy.array([True, False])
    assert judge_reward()(completions=["good"] * 2, is_truncated=flags, **columns(2)) == [0.0, 1.0]


def test_trl_without_end_tokens_says_so_and_only_then() -> None:
    with pytest.warns(CutsUnseen, match="end_tokens=model"):
        assert judge_reward()(completions=["good"], completion_ids=[[1]], **columns(1)) == [1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judge_reward()(completions=["good"], **columns(1))
        judge_reward(cut_answers="judge")(completions=["good"], completion_ids=[[1]], **columns(1))
        found = judge_reward()(completions=["good"], completion_ids=[[1]], is_truncated=[True], **columns(1))
    assert found == [0.0]


@pytest.mark.parametrize(
    ("row", "is_cut"),
    [
        ({"finish_reason": "length"}, True),
        ({"stop_reason": "max_tokens"}, True),
        ({"status": "truncated"}, True),
        ({"is_truncated": True}, True),
        ({"truncated": False, "finish_reason": "length"}, False),
        ({"finish_reason": "stop"}, False),
        ({"finish_reason": None}, None),
        ({"finish_reason": {"type": "length", "length": 64}}, True),
        ({"is_truncated": 1}, True),
        ({"is_truncated": "false"}, False),
        ({"is_truncated": float("nan")}, None),
        ({"is_truncated": "None", "finish_reason": "nan"}, None),  # a CSV's
        ({"is_truncated": SimpleNamespace(as_py=lambda: True)}, True),  # Arrow's scalar
        ({"is_truncated": [True]}, True),
        ({"finish_reason": ["length"]}, True),
        ({"finish_reason": "FinishReason.LENGTH"}, True),
        ({"finish_reason": "max_new_tokens"}, True),
        ({"status": "incomplete"}, True),  # OpenAI's responses
        ({"index": 3}, None),
        ({}, None),
    ],
)
def test_what_a_row_says(row: dict[str, Any], is_cut: bool | None) -> None:
    assert is_cut_by(row) is is_cut


def test_what_says_nothing_of_each_answer_is_refused() -> None:
    for column in (True, "length", [True, False, True]):
        with pytest.raises(UsageError, match="so it is a list of 2, one a completion"):
            judge_reward()(completions=["good"] * 2, is_truncated=column, **columns(2))
    with pytest.raises(UsageError, match=r"true or false, got \(True, False\)"):
        is_cut_by({"is_truncated": (True, False)})
    assert judge_reward()(completions=["good"] * 2, status="running", **columns(2)) == [1.0, 1.0]


def test_pandas_columns_are_read_by_place_and_its_na_says_nothing() -> None:
    pandas = pytest.importorskip("pandas")
    flags = pandas.Series([True, pandas.NA], index=[7, 8], dtype="boolean")
    assert judge_reward()(completions=["good"] * 2, is_truncated=flags, **columns(2)) == [0.0, 1.0]


def test_verl_says_it_in_extra_info() -> None:
    assert compute_score("x", "good", TRUTH, {"finish_reason": "length"}) == 0.0
    assert compute_score("x", "good", TRUTH, {"finish_reason": "length"}, cut_answers="judge") == 1.0
    assert compute_score("x", "good", TRUTH, {"index": 1}) == 1.0
    infos = [{"is_truncated": True}, {"is_truncated": False}]
    assert compute_score_batch(["x"] * 2, ["good"] * 2, [TRUTH] * 2, infos) == [0.0, 1.0]


def test_openrlhf_decodes_the_end_token() -> None:
    pytest.importorskip("torch")
    queries, prompts, labels = ["say: good<|im_end|>", "say: good"], ["say: "] * 2, [TRUTH] * 2
    assert reward_func(queries, prompts, labels)["rewards"].tolist() == [1.0, 0.0]
    assert reward_func(queries, prompts, labels)["scores"].tolist() == [1.0, 0.0]
    assert reward_func(queries, prompts, labels, cut_answers="judge")["rewards"].tolist() == [1.0, 1.0]
    assert reward_func(queries[1:], prompts[1:], labels[1:])["rewards"].tolist() == [1.0]  # nothing says it was cut


def test_openrlhf_judges_each_text_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    judged: list[str] = []
    findings = Judge.findings
    monkeypatch.setattr(Judge, "findings", lambda self, text, **how: judged.append(text) or findings(self, text, **how))
    reward_func(["say: good", "say: a, b"], ["say: "] * 2, [TRUTH] * 2)
    assert judged == ["good", "a, b"]


def test_verifiers_says_it_in_the_state() -> None:
    one = verifiers_reward()
    assert one(completion="good", info=TRUTH, state={"is_truncated": True}) == 0.0
    assert (
        one(completion="good", info=TRUTH, state={"trajectory": [{"is_truncated": False}, {"is_truncated": True}]})
        == 0.0
    )
    assert one(completion="good", info=TRUTH, state={"trajectory": []}) == 1.0
    task = SimpleNamespace(data=SimpleNamespace(**TRUTH))
    for is_truncated, expected in ((True, 0.0), (False, 1.0)):
        trace = SimpleNamespace(root_reply="good", assistant_messages=[], is_truncated=is_truncated)
        assert asyncio.run(judge_dense(task, trace)) == asyncio.run(judge_binary(task, trace)) == expected


@pytest.mark.parametrize("kind", ["dense", "binary"])
@pytest.mark.parametrize(
    ("text", "is_cut"),
    [("so good", False), ("so good", True), ("a, b", False), ("", True), ("", False), ("12 34", False)],
)
def test_the_study_the_trainers_the_data_and_an_evaluation_agree(kind: Any, text: str, is_cut: bool) -> None:
    prompt = Prompt("p", (Turn("Say.", (*REFS, ConstraintRef("length:at_least", {"least": 2}))),))
    status: Any = "truncated" if is_cut else "ok" if text else "empty"
    response = Response("p", 0, 0, text, status)
    evaluated = reward(check(prompt, response, cut_answers="fail"), kind=kind)
    [studied] = scorer([_row(prompt)], kind)("p", [_answer(text, is_cut)])
    [built] = judge_draws(prompt, [response], kind=kind)
    ids, kwargs = [ref.id for ref in prompt.constraints], [ref.params for ref in prompt.constraints]
    [trained] = judge_reward(kind)(
        completions=[text], instruction_id_list=[ids], kwargs=[kwargs], is_truncated=[is_cut]
    )
    assert evaluated == studied == built.score == trained


def _row(prompt: Prompt) -> RlRow:
    ids, kwargs = tuple(ref.id for ref in prompt.constraints), tuple(ref.params for ref in prompt.constraints)
    return RlRow(prompt.id, prompt.text, 2, 0.5, 0.1, ids, kwargs, prompt.tags.get("profile"))


def _answer(text: str, is_cut: bool) -> Any:
    return SimpleNamespace(text=text, truncated=is_cut)


class TestUndecided:
    """A policy gains nothing by writing what cannot be judged."""

    def test_what_only_this_answer_leaves_undecided_earns_nothing(self) -> None:
        strict, _ = judge_of(LANGUAGE_REFS, mode="fixed").findings("12 34")[0]
        if strict.outcome != "undecided":
            pytest.fail("digits have no language: take another undecided answer for this test")
        for kind in ("dense", "binary"):
            assert reward_of("12 34", LANGUAGE_REFS, kind=kind, mode="fixed") == 0.0
        assert judge_reward(mode="fixed")(
            completions=["12 34"], instruction_id_list=[LANGUAGE["instruction_id_list"]], kwargs=[LANGUAGE["kwargs"]]
        ) == [0.0]

    def test_what_no_answer_decides_is_no_measurement(self) -> None:
        assert judge_of((UNDECIDABLE, *REFS)).undecidable == {0}
        assert reward_of("good", (UNDECIDABLE, *REFS), kind="dense") is None
        assert reward_of("a, b", (UNDECIDABLE, *REFS), kind="binary") == 0.0  # one has failed, so the prompt has
        assert reward_of("a, b", (UNDECIDABLE, *REFS), kind="dense") == 0.0

    def test_in_a_failed_prompt_it_counts_as_not_passed(self) -> None:
        refs = (ConstraintRef("length:at_least", {"least": 2}), *LANGUAGE_REFS, *REFS)
        assert reward_of("12, 34", refs, kind="dense", mode="fixed") == pytest.approx(1 / 3)

    def test_a_verifier_that_breaks_on_one_answer_is_no_measurement(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """NVIDIA-NeMo/Gym#2552: 1,172 of 1,280 rollouts failed and entered training as 0."""

        def check(self: Constraint, text: str) -> Finding:
            if "break" in text:
                raise RuntimeError("broken by this answer")
            return Finding("fail", "looked")

        monkeypatch.setattr(registry.get("length:at_most"), "check", check)
        refs = (ConstraintRef("length:at_most", {"limit": 77}),)
        [verdict] = judge_of(refs).verdicts("break it", ("strict",))
        assert (verdict.outcome, verdict.fault) == ("undecided", True)
        for kind in ("dense", "binary"):
            assert reward_of("an answer", refs, kind=kind) == 0.0
            assert reward_of("break it", refs, kind=kind) is None
        assert reward_of("break it, too", (*refs, *REFS), kind="dense") is None  # the share of what passes is not known
        assert reward_of("break it, too", (*refs, *REFS), kind="binary") == 0.0  # and not all pass, whatever it is


SWAHILI = ConstraintRef("language:response_language", {"language": "sw"})


@pytest.mark.parametrize("text", ["12345", "1 + 1 = 2\n\n3", "42"])
@pytest.mark.parametrize("traps", [False, True])
@pytest.mark.parametrize(
    "ref",
    [
        SWAHILI,
        ConstraintRef("compose:any_of", {"of": [msgspec.to_builtins(SWAHILI), {"id": "length:at_least", "params": {"least": 90}}]}),
        ConstraintRef("compose:all_of", {"of": [msgspec.to_builtins(SWAHILI), {"id": "punctuation:no_commas", "params": {}}]}),
    ],
    ids=lambda ref: ref.id,
)  # fmt: skip
def test_a_text_without_letters_earns_nothing_under_a_language_rule(text: str, traps: bool, ref: ConstraintRef) -> None:
    """The published code passes it in any language, and so does an evaluation in reference mode."""
    assert judge_of((ref,)).verdicts(text, ("strict",))[0].outcome == "pass"
    row = {"instruction_id_list": [[ref.id]], "kwargs": [[ref.params]]}
    for kind in ("dense", "binary"):
        assert judge_reward(kind, traps=traps)(prompts=["Say it."], completions=[text], **row) == [0.0]
    prompt = Prompt("p", (Turn("Say it.", (ref,)),))
    judged = judge_episode(prompt, text)
    assert judged.score == 0.0
    assert judged.metrics["prompt_strict"] == 1.0, "what is measured stays the published code's"


def test_a_text_in_the_language_still_earns() -> None:
    text = "Habari za asubuhi, rafiki yangu. Leo ni siku nzuri sana ya kwenda sokoni na kununua matunda mengi."
    assert reward_of(text, (SWAHILI,), kind="binary") == 1.0
