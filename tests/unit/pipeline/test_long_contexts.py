"""Many long prompts.

What is in memory does not grow with their texts, and nothing else can tell that they are packed.
"""

from __future__ import annotations

import gc
import json
import pickle
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from adhere.errors import RunMismatch
from adhere.integrations.shared.scoring import columns, prompt_of
from adhere.models.fake.scripted import open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import (
    LONG_TEXT,
    ConstraintRef,
    LongMessage,
    LongTurn,
    Message,
    Prompt,
    Turn,
    content_hash,
    encode,
    packed,
    read_prompts,
    read_rows,
    user_message,
    write_rows,
)
from adhere.store.run import Run
from adhere.suites import load

ODD = "A long text, 😀 \ud83d\n\u2028 and so on. "
LONG = Prompt(
    "p", (Turn(ODD * 1000, (ConstraintRef("length:words", {"at_most": 5}),)), Turn("And now?")), tags={"slice": "x"}
)


def traced_peak(work: Callable[[], object]) -> int:
    """The most bytes that Python objects had at once while `work` ran, beyond those before it."""
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def long_rows(path: Path, prompts: int) -> str:
    """The name of a suite of so many prompts of 20,000 characters, in few words because the guard looks at each."""
    rows = (
        {
            "key": number,
            "prompt": f"{number} {'abcdefgh' * 500} " * 5,
            "instruction_id_list": ["punctuation:no_comma"],
            "kwargs": [{}],
        }
        for number in range(prompts)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"ifeval:{path}"


def test_an_eval_never_holds_its_texts(tmp_path: Path) -> None:
    """Some 100 prompts are under way at once, with their texts; beyond these, more prompts take hardly more memory."""
    model = open_scripted("scripted/fixed:Seven")
    evaluate_sync(
        model, load(long_rows(tmp_path / "few.jsonl", 2)), tmp_path / "warm"
    )  # what is imported and made once

    def peaks_of(count: int, runs: int) -> list[int]:
        name, run = long_rows(tmp_path / f"{count}.jsonl", count), tmp_path / str(count)
        peaks = [traced_peak(lambda: evaluate_sync(model, load(name), run)) for _ in range(runs)]
        assert len(Run.load(run).responses()) == count
        return peaks

    (few,) = peaks_of(100, 1)
    measured, resumed = peaks_of(160, 2)
    texts = 60 * 20_000
    assert max(measured, resumed) - few < texts / 2, f"{texts=:,} {few=:,} {measured=:,} {resumed=:,}"


def test_a_generated_suite_never_holds_its_texts() -> None:
    load("long:8k+x1")
    texts = sum(len(prompt.text) for prompt in load("long:8k+x8").prompts)
    peak = traced_peak(lambda: load("long:8k+x8"))
    assert texts > 2_500_000
    assert peak < texts / 2, f"{texts=:,} {peak=:,}"


MEASURE = """
import resource, sys
from pathlib import Path
from adhere.models.fake.scripted import open_scripted
from adhere.pipeline.evaluate import evaluate_sync
from adhere.suites import load
evaluate_sync(open_scripted("scripted/fixed:7"), load(sys.argv[1]), Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


@pytest.mark.slow
def test_the_process_does_not_grow_by_its_texts(tmp_path: Path) -> None:
    """What Python gave back may still be the process's: holes between what stays. Only the system can tell."""
    peaks = {}
    for groups in (2, 18):
        command = [sys.executable, "-c", MEASURE, f"long:128k+x{groups}", tmp_path / str(groups)]
        peaks[groups] = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert peaks[18] - peaks[2] < 16 * 11 * 512_000 / 2, peaks


def test_a_packed_prompt_is_the_prompt() -> None:
    small = packed(LONG)
    assert [type(turn) for turn in small.turns] == [LongTurn, Turn]
    assert small == LONG
    whole = LONG
    assert whole == small
    assert small != msgspec.structs.replace(LONG, turns=LONG.turns[:1])
    assert small.text == LONG.text
    assert (encode(small), content_hash(small)) == (encode(LONG), content_hash(LONG))
    assert repr(small).replace("LongTurn", "Turn") == repr(LONG)
    assert packed(small) is small
    assert packed(again := Prompt("q", (Turn("x" * (LONG_TEXT - 1)),))) is again
    copy = pickle.loads(pickle.dumps(small))
    assert (copy, type(copy.turns[0])) == (LONG, LongTurn)
    assert msgspec.structs.replace(small.turns[0], constraints=()).text == LONG.text


def test_other_harnesses_get_the_text() -> None:
    plain = packed(Prompt("p", (Turn("Read this. " * 2000),)))
    assert columns(plain) == columns(Prompt("p", (Turn("Read this. " * 2000),)))
    assert prompt_of(columns(plain)) == plain


def test_a_message_of_a_long_turn_stays_packed() -> None:
    message, plain = user_message(packed(LONG).turns[0]), Message("user", LONG.text)
    assert isinstance(message, LongMessage)
    assert message == plain
    assert [plain] == [message]
    assert message != Message("assistant", LONG.text)
    assert hash(message) == hash(plain)
    assert encode(message) == encode(plain)
    assert message.content == LONG.text
    assert type(user_message(LONG.turns[1])) is Message
    turn = Turn("x" * LONG_TEXT)
    assert hash(packed(Prompt("p", (turn,))).turns[0]) == hash(turn)


def test_what_cannot_be_stored_is_still_refused() -> None:
    with pytest.raises(TypeError, match="Encoding objects of type object is unsupported"):
        encode([object()])


def test_stored_prompts_are_packed_as_they_are_read(tmp_path: Path) -> None:
    stored = Prompt("p", (Turn("Read this. " * 2000),))
    write_rows(tmp_path / "plain.jsonl", [stored])
    write_rows(tmp_path / "packed.jsonl", [packed(stored)])
    assert (tmp_path / "plain.jsonl").read_bytes() == (tmp_path / "packed.jsonl").read_bytes()
    (found,) = read_prompts(tmp_path / "packed.jsonl")
    assert isinstance(found.turns[0], LongTurn)
    assert [found] == read_rows(tmp_path / "plain.jsonl", Prompt)


def test_a_run_with_another_long_text_is_refused(tmp_path: Path) -> None:
    model, suite = open_scripted("scripted/fixed:7"), load("long:8k+x1")
    run = evaluate_sync(model, suite, tmp_path)
    first, *others = suite.prompts
    other = msgspec.structs.replace(first, turns=(Turn(first.text + ".", first.constraints),))
    with pytest.raises(RunMismatch, match=r"prompts: stored 11, asked 11, with other ids or texts"):
        Run.open(tmp_path, run.spec, (other, *others))
