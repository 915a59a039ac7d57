"""The reward as TRL calls it.

Keyword columns, texts or messages, padded parameters, None where nothing was measured.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from adhere.constraints import Constraint, registry
from adhere.errors import BadParameter, UnknownName, UsageError
from adhere.pipeline.judge import judge_text
from adhere.pipeline.reward import reward
from adhere.rewards import judge_reward
from adhere.schema import ConstraintRef

IDS = ["punctuation:no_commas", "length:at_least"]
PADDED = [{"least": None, "count": None}, {"least": 3, "count": None}]  # as Arrow fills them


def _call(
    completions: list[Any], ids: list[Any] | None = None, kwargs: list[Any] | None = None, kind: str = "dense"
) -> Any:
    n = len(completions)
    return judge_reward(kind, end_tokens=2)(
        prompts=["Do it."] * n,
        completions=completions,
        completion_ids=[[1, 2]] * n,
        trainer_state=None,
        instruction_id_list=ids or [IDS] * n,
        kwargs=kwargs or [PADDED] * n,
        prompt_id=["p"] * n,
    )


def test_texts_and_messages_get_the_same_reward():
    texts = ["one two three", "one, two", "one, two, three", ""]
    assert _call(texts) == [1.0, 0.0, 0.5, 0.0]
    assert _call(texts, kind="binary") == [1.0, 0.0, 0.0, 0.0]
    assert _call([[{"role": "assistant", "content": text}] for text in texts]) == [1.0, 0.0, 0.5, 0.0]


def test_it_is_the_evaluations_own_verdict():
    refs = [ConstraintRef(IDS[0]), ConstraintRef(IDS[1], {"least": 3})]
    for text in ("a b c", "a, b c", "a,"):
        assert _call([text]) == [reward(judge_text(text, refs), kind="dense")]


def test_reasoning_is_not_rewarded():
    assert _call(["<think>well, well, well</think>one two three", "<think>never, ever closed"]) == [1.0, 0.0]


def test_no_measurement_is_none_never_zero(monkeypatch: pytest.MonkeyPatch):
    def crash(self: Constraint, text: str) -> None:
        raise RuntimeError("broken verifier")

    monkeypatch.setattr(registry.get("length:at_least"), "check", crash)
    assert _call(["one two three", "x"], ids=[IDS, IDS[:1]], kwargs=[PADDED, [{}]]) == [None, 1.0]
    assert _call(["x", "y"], ids=[[], None], kwargs=[[], None]) == [None, None]


def test_wrong_rows_stop_the_training():
    with pytest.raises(UnknownName, match="length:atleast"):
        _call(["x"], ids=[["length:atleast"]], kwargs=[[{}]])
    with pytest.raises(BadParameter, match="missing parameter least"):
        _call(["x"], ids=[["length:at_least"]], kwargs=[[{"least": None}]])
    with pytest.raises(UsageError, match=r"names 2 constraints.*kwargs 1"):
        _call(["x"], ids=[IDS], kwargs=[[{}]])
    with pytest.raises(UsageError, match=r"'kwargs'.*remove_unused_columns=False"):
        judge_reward()(prompts=["p"], completions=["x"], instruction_id_list=[IDS])
    with pytest.raises(UsageError, match="2 rows for 1 completions"):
        _call(["x"], ids=[IDS, IDS])
    with pytest.raises(UsageError, match="without completions"):
        judge_reward()(instruction_id_list=[], kwargs=[])


@pytest.mark.parametrize(
    "completion", [7, ["text"], [{"content": "whose?"}], [{"role": "judge"}], [{"role": "assistant", "content": 3}]]
)
def test_what_is_no_completion_is_refused(completion: Any):
    with pytest.raises(UsageError, match="completion"):
        _call([completion])


def test_names_and_kinds():
    assert judge_reward("binary").__name__ == "judge_binary"
    with pytest.raises(UsageError, match="'dense', 'binary'"):
        judge_reward("sum")


def test_it_needs_no_training_stack():
    code = "import sys, adhere.rewards; sys.exit(any(name in sys.modules for name in ('trl', 'torch', 'transformers')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
