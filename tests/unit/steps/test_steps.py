"""Steps decide as the one-process commands do, wherever they are built, and whatever a batch is."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from adhere.build.decontaminate.files import decontaminate_file
from adhere.build.decontaminate.rows import Settings
from adhere.build.decontaminate.rows import TestItem as Item
from adhere.errors import SpecError, UsageError
from adhere.lines.step import Step
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.steps import Decontaminate, Draw, Judge, Score, Transform
from adhere.steps.kinds import DrawSpec, ScoreSpec, TransformSpec, prompt_of
from adhere.suites.base import Suite
from adhere.verify.rows import Settings as JudgeSettings

LONG = "please explain to a new colleague in plain words how the old printer in the hall really works"
ITEMS = (Item("mine", 7, LONG),)
TEXTS = ["Sing.", f"so {LONG}", "Say something nice.", LONG.upper(), ""]
ROWS = [{"text": text, "n": n} for n, text in enumerate(TEXTS)]
UPPER = ConstraintRef("case:upper")


def sent(step: Step) -> Step:
    """What arrives in another process."""
    return pickle.loads(pickle.dumps(step))


@pytest.mark.parametrize("rule", ["lcs", "ngram"])
def test_decontaminate_decides_as_the_command(tmp_path: Path, rule: str) -> None:
    train = tmp_path / "t.jsonl"
    train.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    decontaminate_file(train, ITEMS, out=tmp_path / "k.jsonl", drops=tmp_path / "d.jsonl", rule=rule)
    step = sent(Decontaminate(Settings(ITEMS, ("text",), rule)))
    assert step(ROWS) == [json.loads(line) for line in (tmp_path / "k.jsonl").read_text().splitlines()]
    assert [row["n"] for row in step(ROWS)] == [0, 2, 4]
    assert (step.counts.read, step.counts.kept, step.counts.dropped, step.counts.broken) == (10, 6, 4, 0)


def test_an_arrow_table_loses_its_dropped_rows_and_nothing_else() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table({"text": TEXTS, "n": pyarrow.array(range(5), pyarrow.int16())})
    made = Decontaminate(Settings(ITEMS, ("text",)))(table)
    assert made.schema == table.schema
    assert made.column("n").to_pylist() == [0, 2, 4]


def test_rows_that_are_lost_lie_beside_with_their_reason(tmp_path: Path) -> None:
    step = sent(Decontaminate(Settings(ITEMS, ("text",), bad_rows="skip"), str(tmp_path)))
    rows = [*ROWS, {"txt": "a"}]
    assert len(step(rows)) == 3
    assert step(rows)  # the same batch again, as an engine does after a failure: the same file
    step(
        [
            {**row, "text": f"{row['text']} " if n == 0 else row["text"]} if "text" in row else row
            for n, row in enumerate(rows)
        ]
    )
    file, other = (
        tmp_path.iterdir()
    )  # another batch that loses the same lines for the same reasons has a file of its own
    assert file.read_bytes() == other.read_bytes()
    lost = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["line"], row.get("item"), "no column 'text'" in row.get("reason", "")) for row in lost] == [
        (2, 7, False),
        (4, 7, False),
        (6, None, True),
    ]
    assert step.counts.read == step.counts.kept + step.counts.dropped + step.counts.broken == 18
    with pytest.raises(SpecError, match="no column 'text'"):
        Decontaminate(Settings(ITEMS, ("text",)))([{"txt": "a"}])


def test_judge_makes_a_verdict_a_constraint() -> None:
    prompts = (Prompt("a", (Turn("Shout.", (UPPER,)),)), Prompt("b", (Turn("Shout again.", (UPPER,)),)))
    step = sent(Judge(Suite("mine", "1", prompts), JudgeSettings(bad_rows="skip", wants_rows=True)))
    made = step([{"key": "a", "response": "HELLO"}, {"key": "b", "response": "hello"}, {"key": "c", "response": ""}])
    assert [(row["key"], row["strict"]) for row in made] == [("a", "pass"), ("b", "fail")]
    assert (step.counts.kept, step.counts.broken) == (2, 1)


def test_transform_draws_by_the_row_and_refuses_what_needs_all_rows() -> None:
    rows = [{"prompt": "Sing.", "completion": f"The bird number {n} sings well."} for n in range(5)]
    whole = sent(Transform(TransformSpec("chain", "sft", seed=3)))(rows)
    assert len(whole) == 5
    assert [row["prompt"] for row in whole] != [rows[0]["prompt"]] * 5
    step = Transform(TransformSpec("chain", "sft"))
    step([{"prompt": "Sing.", "completion": "No."}, {"prompt": "Sing."}])
    assert (step.counts.dropped, step.counts.broken) == (1, 1)
    with pytest.raises(UsageError, match="all rows together"):
        Transform(TransformSpec("mixture", "sft"))
    with pytest.raises(UsageError, match="takes"):
        Transform(TransformSpec("chain", "pairs"))


def test_score_is_the_reward() -> None:
    row = {"completion": "HELLO", "instruction_id_list": ["case:upper"], "kwargs": [{}]}
    step = sent(Score(ScoreSpec()))
    made = step(
        [row, {**row, "completion": "hello"}, {**row, "instruction_id_list": [], "kwargs": []}, {"completion": "x"}]
    )
    assert [one["score"] for one in made] == [1.0, 0.0]
    assert (step.counts.kept, step.counts.dropped, step.counts.broken) == (2, 1, 1)


def test_draw_asks_a_model() -> None:
    step = sent(Draw(DrawSpec("scripted/echo", draws=2)))
    made = step([{"key": 5, "prompt": "Hello."}, {"prompt": []}, {"prompt": [{"role": "user", "content": "Bye."}]}])
    assert [(row["key"], row["draw"], row["response"]) for row in made] == [
        ("5", 0, "Hello."),
        ("5", 1, "Hello."),
        ("line-3", 0, "Bye."),
        ("line-3", 1, "Bye."),
    ]
    assert (step.counts.read, step.counts.broken, step.counts.made) == (3, 1, 4)


def test_a_prompt_may_be_a_conversation() -> None:
    said = [("system", "Be kind."), ("user", "Hello."), ("assistant", "Hi."), ("user", "Sing.")]
    prompt = prompt_of({"id": "x", "prompt": [{"role": role, "content": text} for role, text in said]}, 1)
    assert [(one.role, one.content) for one in prompt.messages()] == said
    for bad in (None, "", [{"role": "assistant", "content": "Hi."}], [{"role": "king", "content": "Hi."}]):
        with pytest.raises(SpecError, match="no `prompt`"):
            prompt_of({"prompt": bad}, 1)
