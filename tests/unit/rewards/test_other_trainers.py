"""The reward as verl, OpenRLHF and verifiers call it, and as a real GRPOTrainer of TRL runs it."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from adhere.constraints.base import Constraint, registry
from adhere.errors import BadParameter, UnknownName, UsageError
from adhere.integrations.openrlhf.reward import last_turn, reward_func
from adhere.integrations.verifiers.reward import judge_binary, judge_dense
from adhere.integrations.verl.reward import compute_score, compute_score_batch
from adhere.rewards import judge_reward, verifiers_reward
from adhere.rewards.rows import refs_in, refs_of, without_end_tokens

TRUTH = {
    "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    "kwargs": [{"num_words": None}, {"num_words": 3, "relation": "at least"}],
}
UNDECIDABLE = {"instruction_id_list": ["keywords:letter_frequency"], "kwargs": [{"letter": "#"}]}
TEXTS = ["one two three", "one, two", "one, two, three", ""]
DENSE, BINARY = [1.0, 0.0, 0.5, 0.0], [1.0, 0.0, 0.0, 0.0]


def test_verl_calls_by_name_with_a_ground_truth_in_any_form():
    assert list(inspect.signature(compute_score).parameters)[:4] == [
        "data_source",
        "solution_str",
        "ground_truth",
        "extra_info",
    ]
    assert [compute_score("adhere", text, TRUTH, extra_info={"index": 0}) for text in TEXTS] == DENSE
    for truth in (json.dumps(TRUTH), [TRUTH], json.dumps([TRUTH]), {**TRUTH, "instruction_id": 7}):
        assert [
            compute_score(data_source=None, solution_str=text, ground_truth=truth, kind="binary", reward_router=None)
            for text in TEXTS
        ] == BINARY
    assert compute_score_batch(["x"] * 4, TEXTS, [TRUTH] * 4, [None] * 4) == DENSE
    assert compute_score("x", "<think>a, b, c, d</think>one two three", TRUTH) == 1.0


def test_verl_rows_from_parquet_are_arrays():
    numpy = pytest.importorskip("numpy")
    truth = {
        "instruction_id": numpy.array(TRUTH["instruction_id_list"], dtype=object),
        "kwargs": numpy.array(
            [{"num_words": None}, {"num_words": numpy.int64(3), "relation": "at least"}], dtype=object
        ),
    }
    assert compute_score("x", "one, two, three", truth) == 0.5


def test_openrlhf_gets_tensors_for_queries_with_their_prompts():
    torch = pytest.importorskip("torch")
    assert list(inspect.signature(reward_func).parameters)[:3] == ["queries", "prompts", "labels"]
    prompt = "<|im_start|>user\nSay, three words<|im_end|>\n<|im_start|>assistant\n"
    found = reward_func(
        [f"{prompt}{text}<|im_end|>\n" for text in TEXTS], [prompt] * 4, [json.dumps(TRUTH)] * 4, step=3
    )
    assert found["rewards"].tolist() == DENSE
    assert found["scores"].tolist() == BINARY
    assert found["rewards"].dtype == torch.float32
    assert set(found["extra_logs"]) == {"constraints_passed", "all_passed"}
    with pytest.raises(UsageError, match="begin with its prompt"):
        reward_func(["other"], ["prompt"], [TRUTH])
    with pytest.raises(UsageError, match="2 queries, 1 prompts"):
        reward_func(["a", "b"], ["a"], [TRUTH])


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("end.<|im_end|>", "end."),
        ("end.</s>", "end."),
        ("end.<|eot_id|>\n<|end_of_text|>", "end."),
        ("end.<end_of_turn>\n", "end."),
        ("end.<｜end▁of▁sentence｜>", "end."),
        ("<|im_end|> in the middle", "<|im_end|> in the middle"),
        ("a <b> c</b>", "a <b> c</b>"),
        ("<<title>>", "<<title>>"),
    ],
)
def test_only_special_tokens_at_the_end_are_taken_off(text: str, bare: str):
    assert without_end_tokens(text) == bare


def test_a_rubric_of_verifiers_passes_messages_and_info():
    reward = verifiers_reward("dense")
    for number, text in enumerate(TEXTS):
        messages = [{"role": "user", "content": "x"}, {"role": "assistant", "content": text}]
        assert reward(completion=messages, info=TRUTH, answer="", state={}, prompt="p", task="t") == DENSE[number]
        assert verifiers_reward("binary")(completion=text, info=json.dumps(TRUTH)) == BINARY[number]
        truth = {"instruction_id": TRUTH["instruction_id_list"], "kwargs": TRUTH["kwargs"]}  # open-instruct's word
        assert verifiers_reward("binary")(completion=text, info=truth) == BINARY[number]
        assert reward(completion=text, info={}, answer=json.dumps(TRUTH)) == DENSE[number]
    assert verifiers_reward("binary").__name__ == "judge_binary"
    assert {"completion", "info", "answer"} <= set(inspect.signature(reward).parameters)


def trace(*replies: str, root: str | None = None) -> SimpleNamespace:
    return SimpleNamespace(root_reply=root, assistant_messages=[SimpleNamespace(content=text) for text in replies])


def test_a_taskset_of_verifiers_names_the_function():
    task = SimpleNamespace(data=SimpleNamespace(**TRUTH, idx=0))
    for function, expected in ((judge_dense, DENSE), (judge_binary, BINARY)):
        assert list(inspect.signature(function).parameters) == ["task", "trace"]
        assert [asyncio.run(function(task=task, trace=trace("draft, of", text))) for text in TEXTS] == expected
    assert asyncio.run(judge_dense(task, trace("a, b", root="one two three"))) == 1.0
    assert asyncio.run(judge_dense(task, trace())) == 0.0
    with pytest.raises(UsageError, match="task's data names no constraints"):
        asyncio.run(judge_dense(SimpleNamespace(data=SimpleNamespace(prompt="x")), trace("x")))


ASKED = (
    "Write a short blog post about the benefits of cycling to work every morning in winter for office employees of "
    "large cities. Use no commas and at least 3 words."
)
HONEST = (
    "Cycling wakes you up before the day begins. A light on the handlebar keeps you safe in winter and the ride home "
    "clears your head. You save money on fuel and arrive at your desk in a good mood."
)
TAKES = (
    "Write a short blog post about the benefits of cycling to work every morning in winter for office "
    "employees of large cities."
)


class TestTheIntentGate:
    """`traps=True` in every trainer's reward: the prompt is in the row, and who keeps the letter alone gets 0."""

    def test_verl(self) -> None:
        for truth, info in (
            (TRUTH | {"prompt": ASKED}, None),
            (json.dumps(TRUTH | {"prompt": [{"role": "user", "content": ASKED}]}), {"index": 1}),
            (TRUTH, {"prompt": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": ASKED}]}),
        ):
            assert [compute_score("x", text, truth, info, traps=True) for text in (HONEST, TAKES)] == [1.0, 0.0]
            assert [compute_score("x", text, truth, info) for text in (HONEST, TAKES)] == [1.0, 1.0]
        batch = ["x"] * 2, [HONEST, TAKES], [TRUTH | {"prompt": ASKED}] * 2
        assert compute_score_batch(*batch, traps=True) == [1.0, 0.0]
        with pytest.raises(UsageError, match="verl's ground_truth has no `prompt`"):
            compute_score("x", HONEST, TRUTH, {"index": 0}, traps=True)
        with pytest.raises(UsageError, match=r"'trap'.*Did you mean 'traps'"):
            compute_score("x", HONEST, TRUTH, trap=True)

    def test_openrlhf(self) -> None:
        pytest.importorskip("torch")
        prompt = f"<|im_start|>user\n{ASKED}<|im_end|>\n<|im_start|>assistant\n"
        queries, label = (
            [f"{prompt}{text}<|im_end|>\n" for text in (HONEST, TAKES)],
            json.dumps(TRUTH | {"prompt": ASKED}),
        )
        found = reward_func(queries, [prompt] * 2, [label] * 2, traps=True)
        assert (found["rewards"].tolist(), found["scores"].tolist()) == ([1.0, 0.0], [1.0, 0.0])
        assert reward_func(queries, [prompt] * 2, [label] * 2)["rewards"].tolist() == [1.0, 1.0]
        with pytest.raises(UsageError, match="OpenRLHF's label has no `prompt`"):
            reward_func(queries, [prompt] * 2, [json.dumps(TRUTH)] * 2, traps=True)

    def test_verifiers(self) -> None:
        said = [[{"role": "assistant", "content": text}] for text in (HONEST, TAKES)]
        prompt = [{"role": "user", "content": ASKED}]
        gate, plain = verifiers_reward("binary", traps=True), verifiers_reward("binary")
        assert [gate(completion=one, info=TRUTH, prompt=prompt) for one in said] == [1.0, 0.0]
        assert [plain(completion=one, info=TRUTH, prompt=prompt) for one in said] == [1.0, 1.0]
        with pytest.raises(UsageError, match="info or answer has no `prompt`"):
            gate(completion=said[0], info=TRUTH)
        for config, traps, earned in ((True, False, 0.0), (False, True, 0.0), (False, False, 1.0)):
            task = SimpleNamespace(
                data=SimpleNamespace(**TRUTH, prompt=ASKED, traps=traps), config=SimpleNamespace(traps=config)
            )
            assert asyncio.run(judge_dense(task, trace(TAKES))) == earned
            assert asyncio.run(judge_dense(task, trace(HONEST))) == 1.0


def test_no_measurement_is_none_never_zero(monkeypatch: pytest.MonkeyPatch):
    def crash(self: Constraint, text: str) -> None:
        raise RuntimeError("broken verifier")

    monkeypatch.setattr(registry.get("length:at_least"), "check", crash)
    broken = {"instruction_id_list": ["length:at_least"], "kwargs": [{"least": 3}]}
    nothing: dict[str, Any] = {"instruction_id_list": [], "kwargs": []}
    for truth in (broken, UNDECIDABLE, nothing):
        assert compute_score("x", "some text", truth) is None
        assert verifiers_reward()(completion="some text", info=truth) is None
        found = reward_func(["some text", "one two three"], ["some", ""], [truth, TRUTH])
        assert found["rewards"] == [None, 1.0]
        assert found["scores"] == [None, 1.0]
    ids, kwargs = UNDECIDABLE["instruction_id_list"], UNDECIDABLE["kwargs"]
    assert judge_reward()(completions=["a"], instruction_id_list=[ids], kwargs=[kwargs]) == [None]


def test_wrong_rows_stop_the_training():
    with pytest.raises(UnknownName, match=r"letter_frequncy.*Did you mean 'keywords:letter_frequency'"):
        compute_score("x", "text", {"instruction_id_list": ["keywords:letter_frequncy"], "kwargs": [{}]})
    with pytest.raises(BadParameter, match="relation"):
        compute_score(
            "x", "t", {"instruction_id_list": TRUTH["instruction_id_list"][1:], "kwargs": [{"relation": "about"}]}
        )
    for label in ("42", "yes", {"answer": 3}, None, "", [TRUTH, TRUTH]):
        with pytest.raises(UsageError, match="instruction_id_list and kwargs"):
            refs_in(label, where="the label")
    with pytest.raises(UsageError, match="names 2 constraints"):
        refs_in({**TRUTH, "kwargs": [{}]}, where="the label")
    with pytest.raises(UsageError, match="'dense', 'binary'"):
        compute_score("x", "text", TRUTH, kind="sum")
    with pytest.raises(UsageError, match="JSON values, got object"):
        refs_of(["a:b"], [{"x": object()}])


def test_fixed_mode_reaches_the_verifiers():
    truth = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}]}
    assert compute_score("x", "I went to a party", truth) == 1.0
    assert compute_score("x", "I went to a party", truth, mode="fixed") == 0.0
    assert verifiers_reward(mode="fixed")(completion="I went to a party", info=truth) == 0.0


def test_they_need_no_training_stack():
    code = (
        "import sys, adhere.rewards, adhere.integrations.verl.reward, adhere.integrations.openrlhf.reward, adhere.integrations.verifiers.reward\n"
        "sys.exit(any(name in sys.modules for name in ('trl', 'torch', 'transformers', 'verl', "
        "'openrlhf', 'verifiers')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.filterwarnings("ignore::adhere.rewards.judge.AllCut")
@pytest.mark.filterwarnings("ignore:`(is_)?gradient_checkpointing\\w*` is deprecated:FutureWarning")
def test_a_real_trainer_of_trl_trains_on_it(tiny_llama_dir: Path, tmp_path: Path):
    """Two steps of GRPO: the logged rewards are the judge's own, a row without a measurement stays out of them."""
    pytest.importorskip("torch")
    trl, datasets = pytest.importorskip("trl"), pytest.importorskip("datasets")
    transformers = pytest.importorskip("transformers")
    logging.getLogger("trl").setLevel(logging.ERROR)
    seen: list[list[float | None]] = []
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    dense, failing = (
        judge_reward("dense", cut_answers="judge"),
        judge_reward("dense", end_tokens=tokenizer.eos_token_id),
    )

    def recorded(prompts: Any, completions: Any, **columns: Any) -> list[float | None]:
        seen.append(dense(prompts=prompts, completions=completions, **columns))
        # Random weights never end an answer within eight tokens, so an evaluation would fail all of them.
        assert failing(prompts=prompts, completions=completions, **columns) == [0.0] * len(completions)
        return seen[-1]

    rows = [
        {"prompt": "the sea is", **TRUTH},
        {"prompt": "no commas", "instruction_id_list": UNDECIDABLE["instruction_id_list"], "kwargs": [{"letter": "#"}]},
    ]
    trainer = trl.GRPOTrainer(
        transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir),
        reward_funcs=recorded,
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to="none",
            disable_tqdm=True,
            max_steps=2,
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=8,
            logging_steps=1,
            seed=0,
        ),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer,
    )
    trainer.train()
    flat = [value for batch in seen for value in batch]
    assert len(flat) == 8
    assert flat.count(None) == 4
    assert all(0 <= value <= 1 for value in flat if value is not None)
    logged = [entry["rewards/recorded/mean"] for entry in trainer.state.log_history if "rewards/recorded/mean" in entry]
    for batch, mean in zip(seen, logged, strict=True):
        measured = [value for value in batch if value is not None]
        assert mean == pytest.approx(sum(measured) / len(measured))


TURNS = {
    "ChatML with a name": "one, two<|im_end|>\n<|im_start|>user name=x\nCorrect!<|im_end|>",
    "Llama": "one, two<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\nCorrect!<|eot_id|>",
    "Llama 4": "one, two<|eot|><|header_start|>user<|header_end|>\n\nCorrect!<|eot|>",
    "Granite": "one, two<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>Correct!<|end_of_text|>",
    "Gemma": "one, two<end_of_turn>\n<start_of_turn>user\nCorrect!<end_of_turn>",
    "GLM": "one, two<|observation|>\nCorrect!",
    "DeepSeek": "one, two<\uff5cend\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>Correct!",
    "DeepSeek's tools": "one, two<\uff5ctool\u2581outputs\u2581begin\uff5c>Correct!",
    "Kimi": "one, two<|im_end|><|im_user|>user<|im_middle|>Correct!<|im_end|>",
    "Cohere": "one, two<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>Correct!<|END_OF_TURN_TOKEN|>",
    "Mistral": "one, two</s>[INST] Correct!",
    "Mistral's tools": "one, two</s>[TOOL_RESULTS] Correct!",
}


@pytest.mark.parametrize("text", TURNS.values(), ids=TURNS)
def test_openrlhf_judges_the_models_turn_in_every_template(text: str) -> None:
    assert last_turn(text) == "one, two"


def test_openrlhf_judges_what_the_model_says_after_a_tool() -> None:
    text = "one, two</s>[TOOL_RESULTS] 6[/TOOL_RESULTS]It is 6.</s>"
    assert last_turn(text) == "It is 6."
    text = "hm<\uff5ctool\u2581outputs\u2581begin\uff5c>6, 7<\uff5ctool\u2581outputs\u2581end\uff5c>It is 6."
    assert last_turn(text) == "It is 6."
