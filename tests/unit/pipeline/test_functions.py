"""A plain function is measured like any model: sync or async, several calls at once, failures as failed calls."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import adhere
from adhere.errors import UsageError
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites import Suite

RULE = ConstraintRef("case:lower", {})
SUITE = Suite("mine", "1", tuple(Prompt(f"p{at}", (Turn(f"Say {at}.", (RULE,)),)) for at in range(12)))


def small(prompt: str) -> str:
    return f"cats sleep after {prompt.lower()}"


async def small_later(prompt: str) -> str:
    await asyncio.sleep(0)
    return small(prompt)


class Caller:
    def __init__(self) -> None:
        self.most = self.now = 0
        self.lock = threading.Lock()

    def __call__(self, prompt: str) -> str:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.05)
        with self.lock:
            self.now -= 1
        return "cats sleep"


@pytest.mark.parametrize("function", [small, small_later, lambda prompt: "cats sleep"])
def test_sync_and_async_functions_are_measured(function: Any, tmp_path: Path) -> None:
    run = adhere.evaluate(function, SUITE, tmp_path, concurrency=3)
    assert run.summary().overall.prompt_strict.passed == 12
    assert run.spec.model.startswith("python/")


def test_so_many_calls_at_once_and_no_more(tmp_path: Path) -> None:
    one, four = Caller(), Caller()
    adhere.evaluate(one, SUITE, tmp_path / "one")
    adhere.evaluate(four, SUITE, tmp_path / "four", concurrency=4)
    assert one.most == 1
    assert 1 < four.most <= 4


def test_what_it_raises_or_returns_otherwise_is_a_failed_call(tmp_path: Path) -> None:
    def odd(prompt: str) -> Any:
        if "3" in prompt:
            raise ConnectionError("no route")
        return None if "4" in prompt else "" if "5" in prompt else "cats sleep"

    run = adhere.evaluate(odd, SUITE, tmp_path)
    said = {one.prompt_id: (one.status, one.error) for one in run.responses()}
    assert said["p3"] == ("error", "ConnectionError: no route")
    assert said["p4"][0] == "error"
    assert "returned NoneType, wanted a text" in str(said["p4"][1])
    assert said["p5"] == ("empty", None)
    assert run.summary().accounting.error == 2


def test_messages_and_sampling_are_given_by_name(tmp_path: Path) -> None:
    prompt = Prompt("s", (Turn("Hi", (RULE,)), Turn("Again", (RULE,))), system="Be brief.")
    suite = Suite("mine", "1", (prompt,))
    seen: list[Any] = []

    def chat(messages: list[dict[str, str]], max_new_tokens: int, seed: int = 0) -> str:
        seen.append(([one["role"] for one in messages], max_new_tokens, seed))
        return "cats sleep"

    adhere.evaluate(chat, suite, tmp_path, max_new_tokens=9)
    assert [one[0] for one in seen] == [["system", "user"], ["system", "user", "assistant", "user"]]
    assert {one[1] for one in seen} == {9}
    assert len({one[2] for one in seen}) == 2
    with pytest.raises(UsageError, match="first parameter `messages`"):
        adhere.evaluate(small, suite, tmp_path)


def test_other_code_is_another_run_and_the_same_resumes(tmp_path: Path) -> None:
    calls: list[str] = []

    def first(prompt: str) -> str:
        calls.append(prompt)
        return "cats"

    one = adhere.evaluate(first, SUITE, tmp_path, name="mine")
    again = adhere.evaluate(first, SUITE, tmp_path, name="mine")
    assert one.directory == again.directory
    assert len(calls) == 12

    def first(prompt: str) -> str:  # type: ignore[no-redef]
        return "other code"

    assert adhere.evaluate(first, SUITE, tmp_path, name="mine").directory != one.directory
    bound = [partial(lambda prompt, tone: f"{tone} cats", tone=tone) for tone in ("calm", "loud")]
    assert len({adhere.evaluate(one, SUITE, tmp_path).directory for one in bound}) == 2


def test_what_cannot_be_called_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="also needs tone"):
        adhere.evaluate(lambda prompt, tone: "", SUITE, tmp_path)
    with pytest.raises(UsageError, match="at least 1"):
        adhere.evaluate(small, SUITE, tmp_path, concurrency=-1)
    with pytest.raises(UsageError, match="runs here"):
        adhere.evaluate("scripted/echo", SUITE, tmp_path, concurrency=2)
    with pytest.raises(UsageError, match="a name, a function or a Model, got int"):
        adhere.evaluate(7, SUITE, tmp_path)  # type: ignore[arg-type]
