"""A reward as several: named components, None where one was not measured, as each trainer takes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adhere.constraints.base import Constraint, registry
from adhere.errors import UsageError
from adhere.rewards import judge_reward
from adhere.rewards.verl import compute_score

ROWS = [
    {"prompt": "Say it.", "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
     "kwargs": [{}, {"num_words": 3, "relation": "at least"}]},
    {"prompt": "Say more.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
]  # fmt: skip
COLUMNS = {name: [row[name] for row in ROWS] for name in ("instruction_id_list", "kwargs")}
PROMPTS = [str(row["prompt"]) for row in ROWS]


def measured(parts: Any, answers: list[Any], **more: Any) -> dict[str, list[float | None]]:
    rewards = judge_reward("dense", parts=parts, rows=ROWS)
    found = rewards(prompts=PROMPTS, completions=answers, **COLUMNS, **more)
    assert list(found) == list(rewards.names)
    assert [one(prompts=PROMPTS, completions=answers, **COLUMNS, **more) for one in rewards] == list(found.values())
    assert [one.__name__ for one in rewards] == list(found)
    return found


def test_each_constraint_is_a_column() -> None:
    found = measured("constraint", ["one, two, three", "one"])
    assert found == {"constraint_1": [0.0, 1.0], "constraint_2": [1.0, None]}


def test_each_kind_is_a_column() -> None:
    found = measured("kind", ["one, two", "one"])
    assert found == {"length_constraints:number_words": [0.0, None], "punctuation:no_comma": [0.0, 1.0]}


def test_the_gate_is_a_column_of_its_own() -> None:
    asked = "Write a short blog post about the benefits of cycling to work every morning in winter for employees."
    rewards = judge_reward("binary", parts="trap")
    rows = {name: [column[1]] for name, column in COLUMNS.items()}
    assert rewards(prompts=[asked], completions=[asked], **rows) == {"constraints": [1.0], "no_trap": [0.0]}


def test_cut_unmeasured_and_missing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert measured("kind", ["one", "one"], is_truncated=[True, False])["punctuation:no_comma"] == [0.0, 1.0]
    assert measured("kind", [None, [{"role": "assistant", "content": None}]])["punctuation:no_comma"] == [None, 0.0]

    def crash(self: Constraint, text: str) -> None:
        raise RuntimeError("broken verifier")

    monkeypatch.setattr(registry.get("length:at_least"), "check", crash)
    row = {"instruction_id_list": [["length:at_least", "punctuation:no_comma"]], "kwargs": [[{"least": 3}, {}]]}
    rewards = judge_reward(parts="constraint", rows=[{name: column[0] for name, column in row.items()}])
    assert rewards(completions=["one"], **row) == {"constraint_1": [None], "constraint_2": [1.0]}


def test_what_cannot_be_parted_is_refused() -> None:
    with pytest.raises(UsageError, match="needs rows=dataset"):
        judge_reward(parts="kind")
    with pytest.raises(UsageError, match="Take parts='trap'"):
        judge_reward(parts="kind", rows=ROWS, traps=True)
    with pytest.raises(UsageError, match="'constraint', 'kind', 'trap'"):
        judge_reward(parts="rule", rows=ROWS)  # type: ignore[call-overload]


def test_a_batch_is_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from adhere.rewards import judge

    calls: list[str] = []
    real = judge.parts_of
    monkeypatch.setattr(judge, "parts_of", lambda text, *rest, **how: calls.append(text) or real(text, *rest, **how))
    measured("kind", ["one", "two"])
    assert calls == ["one", "two"]


def test_nemo_gym_gives_components_beside_the_reward() -> None:
    from adhere.environments.nemo_gym import verify

    judging = {"mode": "reference", "reward": "dense", "cut_answers": "fail", "parts": "kind"}
    response = {"output": [{"type": "message", "role": "assistant", "content": "one, two"}], "status": "completed"}
    found = verify({"id": "p", **ROWS[0], "response": response, "adhere": judging})
    assert found["parts"] == {"punctuation:no_comma": 0.0, "length_constraints:number_words": 0.0}
    assert found["part/punctuation:no_comma"] == 0.0


def test_verl_gets_a_mapping_with_the_same_keys_for_every_row() -> None:
    names = judge_reward(parts="kind", rows=ROWS).names
    found = [compute_score("x", "one", json.dumps(row), parts="kind", part_names=names) for row in ROWS]
    assert found == [
        {"score": 0.5, "length_constraints:number_words": 0.0, "punctuation:no_comma": 1.0},
        {"score": 1.0, "length_constraints:number_words": 0.0, "punctuation:no_comma": 1.0},
    ]
    with pytest.raises(UsageError, match="part_names lacks punctuation:no_comma"):
        compute_score("x", "one", json.dumps(ROWS[1]), parts="kind")
    gate = compute_score("x", "one", json.dumps(ROWS[1]), parts="trap")
    assert set(gate) == {"score", "constraints", "no_trap"}
