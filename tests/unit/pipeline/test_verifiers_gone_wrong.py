"""What a plug-in's verifier may answer instead of a Finding, answers that are too long, and calls that failed."""

from __future__ import annotations

import dataclasses
import json
import random
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

import adhere
from adhere.constraints import Constraint, Finding
from adhere.models.base import Request
from adhere.models.http.wire import Reply, read
from adhere.pipeline.check import check
from adhere.pipeline.guard import guard
from adhere.pipeline.judge import Judge
from adhere.pipeline.respond import settle
from adhere.pipeline.reward import reward_of
from adhere.schema import STOP_REASONS, ConstraintRef, Message, Prompt, Response, Turn, encode
from adhere.suites import Suite
from adhere.text.size import MOST_CHARACTERS
from adhere.verify.answers import verify

NO_COMMAS = ConstraintRef("punctuation:no_commas")
PROMPT = Prompt("p", (Turn("Say.", (NO_COMMAS,)),))


@dataclasses.dataclass(frozen=True)
class Odd(Constraint):
    """Answers whatever a test wants."""

    id: ClassVar[str] = "test:odd"
    phrasings: ClassVar[tuple[str, ...]] = ("Be odd.", "Be strange.")
    answer: ClassVar[Any] = None

    def check(self, text: str) -> Finding:
        return self.answer

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls()

    def witness(self) -> str:
        return "x"

    def counter_witness(self) -> str:
        return "y"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (True, "returned True, which is no Finding"),
        (None, "returned None, which is no Finding"),
        (("pass", "looked"), "which is no Finding"),
        (Finding("ok", "looked"), "found 'ok', which is none of pass, fail, undecided"),  # type: ignore[arg-type]
        (Finding(True, "looked"), "found True, which is none of"),  # type: ignore[arg-type]
        (Finding(["pass"], "looked"), "which is none of"),  # type: ignore[arg-type]
        (Finding("pass", None), "cannot be stored"),  # type: ignore[arg-type]
        (Finding("pass", "looked", measured={1, 2}), "cannot be stored"),  # type: ignore[arg-type]
        (Finding("pass", "looked", score=float("nan")), "cannot be stored"),
        (Finding("pass", "looked", span=(1, 2, 3)), "cannot be stored"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_finding_is_undecided_and_names_the_plug_in(
    answer: Any, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Odd, "answer", answer)
    verdicts = Judge.of([Odd(), adhere.constraint(NO_COMMAS.id)]).verdicts("some text")
    assert [verdict.outcome for verdict in verdicts] == ["undecided", "undecided", "pass", "pass"]
    assert said in verdicts[0].reason
    assert "test_verifiers_gone_wrong.Odd" in verdicts[0].reason
    encode(verdicts)


def test_a_sound_finding_of_a_plug_in_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("fail", "looked", measured=[1, {"a": None}], needed=2.5, span=(0, 1), score=0.5)
    monkeypatch.setattr(Odd, "answer", finding)
    assert Judge.of([Odd()]).findings("text")[0][0] is finding


def test_an_answer_beyond_the_size_is_cut_and_every_door_says_so(tmp_path: Path) -> None:
    text = "a word " * (MOST_CHARACTERS // 7) + "and then, a comma" * 100_000
    strict, loose = adhere.judge(PROMPT, text)
    assert strict.outcome == loose.outcome == "pass"  # the comma stands behind what is judged
    for verdict in (strict, loose, *adhere.check(text, [NO_COMMAS])):
        assert f"only the first 1,000,000 of {len(text):,} characters were judged" in verdict.reason
    assert [v.outcome for v in check(PROMPT, Response("p", 0, 0, text, "ok"), cut_answers="fail")] == ["fail", "fail"]
    assert (
        "more than 1,000,000 characters" in check(PROMPT, Response("p", 0, 0, text, "ok"), cut_answers="fail")[0].reason
    )
    assert reward_of(text, [NO_COMMAS], kind="dense") == 0.0
    assert reward_of(text, [NO_COMMAS], kind="dense", cut_answers="judge") == 1.0
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"key": "p", "response": text}) + "\n", encoding="utf-8")
    found = verify(Suite("own", "1", (PROMPT,)), rows)
    assert (found.accounting.responses.truncated, found.accounting.responses.ok) == (1, 0)


def test_an_answer_of_a_model_is_cut_before_it_is_stored() -> None:
    kept = settle(Response("p", 0, 0, "x" * (MOST_CHARACTERS + 5), "ok"))
    assert (len(kept.text), kept.status) == (MOST_CHARACTERS, "truncated")
    assert kept.evidence == "the answer has 1,000,005 characters; kept are the first 1,000,000"
    whole = Response("p", 0, 0, "x" * MOST_CHARACTERS, "ok")
    assert settle(whole) == whole


def test_twenty_megabytes_take_the_memory_of_one() -> None:
    text = "some words, and more of them.\n" * 700_000
    tracemalloc.start()
    guard(PROMPT, text)
    adhere.judge(PROMPT, text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6


@pytest.mark.parametrize("reason", [reason for reason, status in STOP_REASONS.items() if status == "error"])
@pytest.mark.parametrize("text", ["", "half an answ", None])
@pytest.mark.parametrize("column", ["finish_reason", "stop_reason"])
def test_a_failed_call_is_never_a_failed_answer(tmp_path: Path, reason: str, text: str | None, column: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"key": "p", "response": text, column: reason}) + "\n", encoding="utf-8")
    found = verify(Suite("own", "1", (PROMPT,)), rows)
    assert (found.accounting.responses.error, found.accounting.instructions.checked) == (1, 0)
    assert found.prompt_strict is None


@pytest.mark.parametrize(("reason", "status"), STOP_REASONS.items())
def test_an_endpoint_and_a_file_of_answers_read_stop_reasons_alike(tmp_path: Path, reason: str, status: str) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"key": "p", "response": "text", "finish_reason": reason}) + "\n", encoding="utf-8")
    found = verify(Suite("own", "1", (PROMPT,)), rows)
    assert getattr(found.accounting.responses, status) == 1
    body = {"choices": [{"finish_reason": reason, "message": {"content": "text"}}]}
    request = Request("p", 0, 0, (Message("user", "Say."),), 0)
    attempt = read(Reply(200, {}, json.dumps(body).encode(), 0.1), request)
    assert attempt.response.status == status
