"""Leaderboards of stored Runs: ranks only where enough was measured, every answer accounted for, numbers that agree."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from adhere.errors import IntegrityError, UsageError
from adhere.pipeline.summarize import summarize
from adhere.schema import (
    ConstraintRef,
    EngineInfo,
    Prompt,
    Response,
    Sampling,
    Turn,
    Usage,
    Verdict,
    decode,
    encode,
)
from adhere.store.run import Run, RunSpec
from adhere.store.tables.readout import RunReader
from adhere.sweep.board import Leaderboard, Row
from adhere.sweep.leaderboard import leaderboard_of_runs

ENGINE = EngineInfo("endpoint", "1", "unknown")
REF = ConstraintRef("length:at_most", {"limit": 5, "unit": "words"})


def prompts(count: int, **tags: str) -> list[Prompt]:
    """Prompts of four templates in turn."""
    return [
        Prompt(f"p{number:03d}", (Turn(f"Say {number}.", (REF,)),), tags={"test": f"t{number % 4}", **tags})
        for number in range(count)
    ]


def verdicts(response: Response, outcome: str, *, loose: str = "", score: float | None = None) -> list[Verdict]:
    return [
        Verdict(*response.key, 0, REF.id, view, found, f"{found}, as the test says", score=score, verifier_version="1")  # type: ignore[arg-type]
        for view, found in (("strict", outcome), ("loose", loose or outcome))
    ]


def store(directory: Path, model: str, asked: list[Prompt], answers: dict[int, tuple[Response, list[Verdict]]]) -> Path:
    spec = RunSpec(model, ENGINE, "diagnostic", "1", "ab" * 32, Sampling())
    with Run.open(directory, spec, asked) as run:
        for response, found in answers.values():
            run.append_response(response)
            run.append_verdicts(found)
        run.flush()
        run.seal(summarize(asked, 1, run.responses(), run.verdicts()))
    return directory


def answered(asked: list[Prompt], passes: list[bool], **more: object) -> dict[int, tuple[Response, list[Verdict]]]:
    found = {}
    for number, (prompt, is_pass) in enumerate(zip(asked, passes, strict=False)):
        usage = Usage(10, 20, 5, 0.001)
        response = Response(prompt.id, 0, 0, f"answer {number}", "ok", usage=usage, latency_s=1.0 + number, **more)  # type: ignore[arg-type]
        found[number] = (response, verdicts(response, "pass" if is_pass else "fail"))
    return found


def rows_of(board: Leaderboard) -> dict[str, Row]:
    return {row.model: row for row in board.rows}


def test_ranks_cells_costs_and_latencies(tmp_path: Path) -> None:
    asked = prompts(40)
    good = store(tmp_path / "good", "good", asked, answered(asked, [True] * 36 + [False] * 4))
    poor = store(tmp_path / "poor", "poor", asked, answered(asked, [True] * 10 + [False] * 30))
    board = leaderboard_of_runs([poor, good])
    assert decode(encode(board), Leaderboard) == board
    assert [(row.model, row.rank, row.rank_low, row.rank_high) for row in board.rows] == [
        ("good", 1, 1, 1),
        ("poor", 2, 2, 2),
    ]
    row = board.rows[0]
    assert (row.prompt_strict.passed, row.prompt_strict.n, row.bound_low, row.bound_high) == (36, 40, 0.9, 0.9)
    assert row.cost.total_usd == pytest.approx(0.04)
    assert row.cost.per_correct_usd == pytest.approx(0.04 / 36)
    assert (row.latency.n, row.latency.p50, row.latency.mean) == (40, 20.5, 20.5)
    assert row.latency.p90 == pytest.approx(36.1)
    assert row.first_token.n == 0
    assert row.first_token.p50 is None
    assert (row.tokens.prompt, row.tokens.completion, row.tokens.reasoning) == (400, 800, 200)
    assert [(cell.test, cell.passed, cell.n) for cell in row.cells] == [(f"t{number}", 9, 10) for number in range(4)]
    suite = board.suites[0]
    assert (suite.noun, suite.n_ranked, suite.n_prompts) == ("test", 2, 40)
    # the poor one passes prompts 0…9: three of t0 and t1, two of the others
    assert [(test.test, test.passed, test.n, test.n_models) for test in suite.tests] == [
        ("t0", 12, 20, 2),
        ("t1", 12, 20, 2),
        ("t2", 11, 20, 2),
        ("t3", 11, 20, 2),
    ]
    assert (suite.easiest, suite.hardest) == ("t0", "t3")
    assert suite.tests[0].low is not None
    assert suite.tests[0].low < 0.6 < (suite.tests[0].high or 0)


def test_what_was_not_measured_is_no_score_and_no_rank(tmp_path: Path) -> None:
    asked = prompts(20)
    answers = answered(asked, [True] * 20)
    special = {
        2: Response("p002", 0, 0, "cut", "truncated"),
        3: Response("p003", 0, 0, "", "empty"),
        4: Response("p004", 0, 0, "no", "refused"),
        5: Response("p005", 0, 0, "", "error", error="timeout: no answer within 10 s", evidence="timeout"),
        6: Response("p006", 0, 0, "", "error", error="HTTP 503: request 123456789 died"),
        7: Response("p007", 0, 0, "", "error", error="HTTP 503: request 987654321 died"),
    }
    for number, response in special.items():
        answers[number] = (response, [] if response.status == "error" else verdicts(response, "fail"))
    del answers[8]
    board = leaderboard_of_runs(
        [
            store(tmp_path / "lame", "lame", asked, answers),
            store(tmp_path / "whole", "whole", asked, answered(asked, [False] * 20)),
        ]
    )
    assert [row.model for row in board.rows] == ["whole", "lame"]  # ranked first, however bad
    row = rows_of(board)["lame"]
    account = row.accounting
    assert (account.n, account.ok, account.truncated, account.empty) == (20, 13, 1, 1)
    assert (account.refused, account.error, account.missing, row.timeouts) == (1, 3, 1, 1)
    assert (row.rank, row.rank_low, row.rank_high) == (None, None, None)
    assert row.unranked == "80.0% of its answers were measured, below 98%"
    assert (row.prompt_strict.passed, row.prompt_strict.n, row.prompt_strict.n_completed) == (13, 16, 13)
    assert (row.bound_low, row.bound_high) == (13 / 20, 17 / 20)
    failures = {(failure.mode, failure.name): failure for failure in row.failures}
    assert failures["error", "HTTP 503: request … died"].count == 2
    assert failures["timeout", ""].count == failures["refused", ""].count == failures["truncated", ""].count == 1
    assert failures["timeout", ""].of == 20
    assert failures["timeout", ""].examples[0].reason == "timeout: no answer within 10 s"
    assert board.suites[0].n_ranked == 1
    assert board.suites[0].resolvable is None


def test_failures_name_the_worst_tests_with_real_answers(tmp_path: Path) -> None:
    asked = prompts(16)
    answers = answered(asked, [number % 4 != 1 for number in range(16)])
    wrapped, _ = answers[2]
    answers[2] = (wrapped, verdicts(wrapped, "fail", loose="pass"))
    long = Response("p005", 0, 0, "word " * 1000, "ok")
    answers[5] = (long, verdicts(long, "fail", score=0.5))
    row = leaderboard_of_runs([store(tmp_path / "run", "m", asked, answers)]).rows[0]
    worst, second, wrapping = row.failures
    assert (worst.mode, worst.name, worst.count, worst.of) == ("test", "t1", 4, 4)
    assert [example.prompt_id for example in worst.examples] == ["p001", "p005", "p009"]
    example = worst.examples[1]
    assert example.prompt == "Say 5."
    assert example.reason == "fail, as the test says"
    assert example.answer.endswith("[…cut, 5,000 characters in all]")
    assert len(example.answer) < 1_100
    assert (second.name, second.count) == ("t2", 1)
    assert (wrapping.mode, wrapping.count, wrapping.of) == ("format wrapping", 1, 5)
    assert (row.n_partial, row.partial) == (1, 0.5)
    assert [(cell.n_partial, cell.partial) for cell in row.cells] == [(0, None), (1, 0.5), (0, None), (0, None)]
    assert (row.prompt_strict.passed, row.prompt_loose.passed) == (11, 12)


def test_no_cost_has_a_reason(tmp_path: Path) -> None:
    asked = prompts(4)
    silent = {number: (Response(prompt.id, 0, 0, "x", "ok"), []) for number, prompt in enumerate(asked)}
    silent = {number: (response, verdicts(response, "pass")) for number, (response, _) in silent.items()}
    row = leaderboard_of_runs([store(tmp_path / "silent", "m", asked, silent)]).rows[0]
    assert (row.cost.total_usd, row.cost.per_correct_usd) == (None, None)
    assert "what answers cost" in row.cost.reason
    assert row.tokens.completion is None
    row = leaderboard_of_runs([store(tmp_path / "poor", "m", asked, answered(asked, [False] * 4))]).rows[0]
    assert row.cost.total_usd == pytest.approx(0.004)
    assert (row.cost.per_correct_usd, row.cost.reason) == (None, "no answer was correct")


def test_a_failed_call_with_a_cost_hides_no_silent_answer(tmp_path: Path) -> None:
    asked = prompts(4)
    answers = answered(asked, [True] * 4)
    ok, judged = answers[0]
    answers[0] = (msgspec.structs.replace(ok, usage=Usage()), judged)
    failed = msgspec.structs.replace(answers[1][0], status="error", text="", error="x", usage=Usage(cost_usd=0.001))
    answers[1] = (failed, [])
    cost = leaderboard_of_runs([store(tmp_path / "m", "m", asked, answers)]).rows[0].cost
    assert cost.total_usd == pytest.approx(0.003)
    assert cost.reason.startswith("1 answers do not say what they cost")


def test_columns_are_families_where_no_test_is_named(tmp_path: Path) -> None:
    refs = (REF, ConstraintRef("case:lower"))
    asked = [Prompt(f"p{number}", (Turn("Say.", refs),), tags={"slice": "s"}) for number in range(3)]
    answers = {}
    for number, prompt in enumerate(asked):
        response = Response(prompt.id, 0, 0, "x", "ok")
        found = [
            Verdict(prompt.id, 0, 0, index, ref.id, view, "pass" if index or number else "fail", "why")  # type: ignore[arg-type]
            for index, ref in enumerate(refs)
            for view in ("strict", "loose")
        ]
        answers[number] = (response, found)
    board = leaderboard_of_runs([store(tmp_path / "run", "m", asked, answers)])
    assert board.suites[0].noun == "family"
    assert [(cell.test, cell.passed, cell.n) for cell in board.rows[0].cells] == [("length", 2, 3), ("case", 3, 3)]
    assert board.rows[0].failures[0].mode == "constraint"


def test_runs_on_other_prompts_are_other_suites_and_twins_are_told_apart(tmp_path: Path) -> None:
    few, many = prompts(4), prompts(8)
    directories = [
        store(tmp_path / "one", "m", few, answered(few, [True] * 4)),
        store(tmp_path / "two", "m", many, answered(many, [True] * 8)),
        store(tmp_path / "three", "m", few, answered(few, [True] * 4)),
    ]
    board = leaderboard_of_runs(directories)
    assert [(suite.name, suite.n_prompts) for suite in board.suites] == [("diagnostic", 4), ("diagnostic (2)", 8)]
    assert [(row.model, row.suite) for row in board.rows] == [
        ("m", "diagnostic"),
        ("m [three]", "diagnostic"),
        ("m", "diagnostic (2)"),
    ]


def test_unfinished_missing_and_changed_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no Run"):
        leaderboard_of_runs([tmp_path])
    asked = prompts(4)
    directory = store(tmp_path / "run", "m", asked, answered(asked, [True] * 4))
    (directory / "prompts.jsonl").write_text("{}\n")
    with pytest.raises(IntegrityError, match="not what this Run asked"):
        leaderboard_of_runs([directory])
    (directory / "summary.json").unlink()
    with pytest.raises(UsageError, match="unfinished"):
        leaderboard_of_runs([directory])
    assert leaderboard_of_runs([]) == Leaderboard((), ())


def test_a_readout_holds_what_the_run_holds_even_if_damaged(tmp_path: Path) -> None:
    """Answers that came twice, failed calls in between, verdicts about replaced answers, torn and corrupt lines."""
    asked, rng = prompts(30), random.Random(5)
    spec = RunSpec("m", ENGINE, "diagnostic", "1", "ab" * 32, Sampling())
    directory = tmp_path / "run"
    for _ in range(3):
        with Run.open(directory, spec, asked) as run:
            for prompt in asked:
                status = rng.choice(["ok", "error", "truncated"])
                response = Response(prompt.id, 0, 0, f"{rng.random()}" * (status != "error"), status)  # type: ignore[arg-type]
                if rng.random() < 0.7:
                    before = {one.key: one for one in run.responses()}.get(response.key)
                    run.append_response(response)
                    if status != "error":
                        run.append_verdicts(verdicts(response, rng.choice(["pass", "fail"])))
                    elif before is not None and before.status != "error":
                        run.append_verdicts(verdicts(before, "undecided"))
    for folder, rest in (("responses", b'{"prompt_id": "torn'), ("verdicts", b"corrupt\n")):
        segment = sorted((directory / folder).glob("*.jsonl"))[1]
        segment.write_bytes(segment.read_bytes() + rest)
    run = Run.load(directory)
    run.seal(summarize(asked, 1, run.responses(), run.verdicts(), damage=run.damage.rows))
    assert run.damage.rows == 2
    assert run.damage.stale > 0
    readout = RunReader().read(directory)
    assert [readout.responses[key] for key in sorted(readout.responses)] == run.responses()
    kept = {(one.prompt_id, one.view): (one.outcome, one.reason) for one in run.verdicts()}
    found = {(mark.prompt_id, mark.view): (mark.outcome, mark.reason) for marks in (readout.strict,
        readout.loose) for mark in marks.values()}  # fmt: skip
    assert found == kept
    assert leaderboard_of_runs([directory]).rows[0].coverage == run.summary().coverage
