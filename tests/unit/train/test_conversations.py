"""Rows in TRL's shapes, of one turn and of many, from the file to the tokens that are learned."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.build.transforms.base import Settings, transform  # noqa: E402
from adhere.errors import IntegrityError, SpecError, UsageError  # noqa: E402
from adhere.models.chat import render  # noqa: E402
from adhere.schema import Message, PairRow, RlRow, SftRow, encode  # noqa: E402
from adhere.train.methods.sft import SftSettings, token_rows  # noqa: E402
from adhere.train.packed.rows import pair_rows, sft_rows  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.data import load_rows, row_of  # noqa: E402
from adhere.train.recipe.run import run_recipe  # noqa: E402

SYSTEM = {"role": "system", "content": "Answer in one word."}
USER, AGAIN = {"role": "user", "content": "A colour?"}, {"role": "user", "content": "Another?"}
RED, BLUE, NO = ({"role": "assistant", "content": text} for text in ("Red.", "Blue.", "I would rather not."))
TALK = [SYSTEM, USER, RED, AGAIN]
RULE = {"instruction_id_list": ["case:lower"], "kwargs": [{"other": None}]}

SHAPES: list[tuple[type[Any], dict[str, Any], int]] = [  # kind, row, turns before the answer (0: one user turn)
    (SftRow, {"prompt": "A colour?", "completion": "Red."}, 0),
    (SftRow, {"prompt": [USER], "completion": [RED]}, 0),
    (SftRow, {"messages": [USER, RED]}, 0),
    (SftRow, {"messages": [*TALK, BLUE], "source": "somebody's"}, 4),
    (SftRow, {"prompt": [SYSTEM, USER], "completion": [RED, AGAIN, BLUE]}, 4),
    (PairRow, {"prompt": "A colour?", "chosen": "Red.", "rejected": "I would rather not."}, 0),
    (PairRow, {"prompt": TALK, "chosen": [BLUE], "rejected": [NO]}, 4),
    (PairRow, {"chosen": [*TALK, BLUE], "rejected": [*TALK, NO]}, 4),
    (RlRow, {"prompt": "A colour?", **RULE}, 0),
    (RlRow, {"prompt": TALK, **RULE}, 4),
    (RlRow, {"messages": TALK, **RULE}, 4),
]


@pytest.mark.parametrize(("kind", "found", "turns"), SHAPES)
def test_a_row_in_one_of_trls_shapes_is_read(kind: type[Any], found: dict[str, Any], turns: int) -> None:
    row = row_of(found, kind)
    assert len(row.turns) == turns
    assert row.prompt == ("Answer in one word.\n\nA colour?\n\nRed.\n\nAnother?" if turns else "A colour?")
    if turns:
        assert [turn.role for turn in row.turns] == ["system", "user", "assistant", "user"]
    assert row.prompt_id == row_of({**found, "source": "x"}, kind).prompt_id
    assert kind is not RlRow or row.kwargs == ({},)
    again = json.loads(encode(row))
    assert row_of(again, kind) == row


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"prompt": [USER, RED], "completion": "Blue."}, "ends with a user's turn"),
        ({"completion": "Blue."}, "ends with a user's turn"),
        ({"prompt": "A colour?"}, "completion must be"),
        ({"prompt": "A colour?", "completion": [USER]}, "completion must be"),
        ({"prompt": 3, "completion": "Blue."}, "a text or a list of messages"),
        ({"prompt": [{"role": "user", "content": [{"type": "image"}]}], "completion": "x"}, "a part of type .image."),
        ({"messages": [USER, RED], "tools": [{"name": "search"}]}, "'tools' cannot be trained on"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_its_line(tmp_path: Path, found: dict[str, Any], said: str) -> None:
    (tmp_path / "sft.jsonl").write_text(json.dumps({"prompt": "a", "completion": "b"}) + "\n" + json.dumps(found))
    with pytest.raises(IntegrityError, match=f"sft.jsonl:2: .*{said}"):
        load_rows(tmp_path, ["sft"])


def test_two_prompts_of_one_name_are_refused(tmp_path: Path) -> None:
    """Both would be scored by the rules of the last one."""
    rows = [{"prompt": f"Write {i}.", "prompt_id": "p", "instruction_id_list": [], "kwargs": []} for i in range(2)]
    (tmp_path / "rl.jsonl").write_text("\n".join(map(json.dumps, [rows[0], rows[0]])))
    assert len(load_rows(tmp_path, ["rl"]).rl) == 2, "the same prompt may stand there twice"
    (tmp_path / "rl.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(SpecError, match="two different prompts have the prompt_id 'p'"):
        load_rows(tmp_path, ["rl"])


def test_a_conversation_is_put_through_the_template_with_all_its_turns(tiny: tuple[Any, Any]) -> None:
    _, tokenizer = tiny
    turns = [Message(one["role"], one["content"]) for one in TALK]  # type: ignore[arg-type]
    (row,) = sft_rows(tokenizer, [row_of({"messages": [*TALK, BLUE]}, SftRow)])
    assert list(row.prompt) == render(tokenizer, turns)
    (pair,) = pair_rows(tokenizer, [row_of({"prompt": TALK, "chosen": [BLUE], "rejected": [NO]}, PairRow)])
    assert pair.chosen == row
    assert pair.rejected.prompt == row.prompt


def test_all_answers_or_the_last_are_learned(tiny: tuple[Any, Any]) -> None:
    _, tokenizer = tiny
    rows = [row_of({"messages": [*TALK, BLUE]}, SftRow)]
    (last,) = token_rows(tokenizer, rows, SftSettings())
    first, second = token_rows(tokenizer, rows, SftSettings(answers="all"))
    assert second == last
    assert tokenizer.decode(first.completion[:-1]) == "Red."
    assert list(first.prompt) == render(
        tokenizer, [Message("system", SYSTEM["content"]), Message("user", USER["content"])]
    )
    assert first.prompt == second.prompt[: len(first.prompt)], "the tree computes what they share once"
    greeted = [row_of({"messages": [RED, USER, BLUE]}, SftRow)]
    assert len(token_rows(tokenizer, greeted, SftSettings(answers="all"))) == 1, "a greeting answers nothing"


def test_what_build_makes_of_rows_is_read(tmp_path: Path) -> None:
    """Transforms that move a constraint into the system message leave rows of messages."""
    rule = {"instruction_id_list": ["case:lower", "punctuation:no_commas"], "kwargs": [{}, {}]}
    prompt = "Write about the sea. " + " ".join(_sentence(one) for one in rule["instruction_id_list"])
    rows = [{"prompt_id": "p", "prompt": prompt, "completion": "the sea is wide", "origin": "sampled", **rule}]
    made = transform("role_rules", rows, "sft", Settings()).rows
    assert made
    for one in made:
        row = row_of(json.loads(json.dumps(one)), SftRow)
        assert row.turns
        assert row.completion


def _sentence(kind: str) -> str:
    from adhere.constraints.base import from_ref
    from adhere.schema import ConstraintRef

    return from_ref(ConstraintRef(kind, {})).describe()


@pytest.mark.parametrize("stage", ["sft", "dpo"])
def test_a_row_longer_than_the_models_positions_is_refused(tmp_path: Path, stage: str) -> None:
    """A row of 6,015 tokens was trained on a model of 1,024 positions without a word."""
    long = " ".join(["word"] * 1200)
    row = {"prompt": "q", "completion": long} if stage == "sft" else {"prompt": "q", "chosen": "a", "rejected": long}
    short = {"prompt": "r", "completion": "b", "chosen": "c", "rejected": "d"}
    rows = json.dumps(short) + "\n" + json.dumps({**row, "prompt_id": "long one"})
    (tmp_path / f"{'sft' if stage == 'sft' else 'pairs'}.jsonl").write_text(rows)

    def run(**settings: Any) -> Any:
        recipe = Recipe(
            "r", (StageSpec(stage, settings),), start="random/2m", data=str(tmp_path), precision="fp32", guards="warn"
        )
        return run_recipe(recipe, tmp_path / f"out-{len(settings)}", base=Path())

    with pytest.raises(UsageError, match=r"row 'long one' has \d,\d+ tokens, and the model has 1,024 positions"):
        run(epochs=1)
    if stage == "sft":
        (done,) = run(epochs=1, longest=1024)
        assert done.log[0]["rows_left_out"] == 1


@pytest.mark.parametrize("system", [False, True])
def test_one_line_files_in_trls_shapes_train(tmp_path: Path, system: bool) -> None:
    asked = TALK if system else [USER]
    files = {
        "sft": {"messages": [*asked, BLUE]},
        "pairs": {"prompt": asked, "chosen": [BLUE], "rejected": [NO]},
        "rl": {"prompt": asked, "instruction_id_list": ["case:lower"], "kwargs": [{}]},
    }
    for name, row in files.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    online = {"steps": 1, "prompts_per_step": 1, "answers_per_prompt": 2, "max_new_tokens": 4}
    stages = (
        StageSpec("sft", {"answers": "all", "epochs": 1}),
        StageSpec("dpo"),
        StageSpec("grpo", online),
    )
    recipe = Recipe("r", stages, start="random/2m", data=str(tmp_path), precision="fp32", guards="warn")
    done = run_recipe(recipe, tmp_path / "out", base=Path())
    assert [one.stage for one in done] == ["sft", "dpo", "grpo"]
    assert all(row["loss"] is None or row["loss"] > 0 for one in done for row in one.log)
