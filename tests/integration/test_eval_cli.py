"""`adhere eval` from outside, against the fake endpoint: what two of them do, what resumes, how it leaves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.store.run import Run
from command_line import run_here


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "adhere", "eval", *map(str, arguments)]


def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = run_here("eval", *arguments)
    assert done.returncode == code, done.stderr
    return done


def only(out: Path) -> Path:
    (directory,) = out.iterdir()
    return directory


def test_two_of_one_run_never_ask_twice(tmp_path: Path) -> None:
    with FakeEndpoint({"m": FakeModel(latency_s=0.3)}) as endpoint:
        asked = command(f"{endpoint.url}#m", "--limit", 20, "--out", tmp_path)
        both = [subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        ended = [process.communicate(timeout=120) for process in both]
        assert [process.returncode for process in both] == [0, 0], ended
        assert endpoint.served["m"] == 20
        assert ended[0][0] == ended[1][0]
    assert Run.load(only(tmp_path)).summary().accounting.ok == 20


def ifeval(folder: Path, *rows: tuple[str, str, dict[str, object]]) -> str:
    file = folder / "input_data.jsonl"
    file.write_text(
        "".join(
            json.dumps({"key": 1000 + number, "prompt": prompt, "instruction_id_list": [kind], "kwargs": [kwargs]})
            + "\n"
            for number, (prompt, kind, kwargs) in enumerate(rows)
        )
    )
    return f"ifeval:{file}"


def test_the_suite_says_how_it_is_asked_and_options_change_it(tmp_path: Path) -> None:
    suite = ifeval(tmp_path, ("Write without commas.", "punctuation:no_comma", {}))
    with FakeEndpoint({"m": FakeModel()}) as endpoint:
        own = run(f"{endpoint.url}#m", "--suite", suite, "--out", tmp_path / "own")
        assert "greedy, at most 1,280 tokens, 1 draw, seed 0 (the suite's own setting)" in own.stderr
        assert endpoint.seen[-1]["max_tokens"] == 1280
        changed = run(
            f"{endpoint.url}#m",
            "--suite",
            suite,
            "--out",
            tmp_path / "other",
            "--max-new-tokens",
            77,
            "--temperature",
            0.5,
            "--top-p",
            0.9,
            "--reasoning-effort",
            "low",
        )
        assert "(the suite's own: tokens 1280, temperature 0, top-p 1)" in changed.stderr
        assert {
            name: endpoint.seen[-1][name] for name in ("max_tokens", "temperature", "top_p", "reasoning_effort")
        } == {"max_tokens": 77, "temperature": 0.5, "top_p": 0.9, "reasoning_effort": "low"}
    spec = Run.load(only(tmp_path / "other")).spec
    assert (spec.sampling.max_new_tokens, spec.sampling.temperature, spec.sampling.top_p) == (77, 0.5, 0.9)
    core = run("scripted/echo", "--limit", 2, "--out", tmp_path / "core")
    assert "core: 2 prompts, greedy, at most 64 tokens" in core.stderr


def test_a_finished_run_asks_nobody(tmp_path: Path) -> None:
    with FakeEndpoint({"m": FakeModel()}) as endpoint:
        first = run(f"{endpoint.url}#m", "--limit", 3, "--out", tmp_path)
        name = f"{endpoint.url}#m"
    again = run(name, "--limit", 3, "--out", tmp_path, "--timeout", 5)  # the server is gone
    assert again.stdout == first.stdout


def test_a_wrong_name_says_what_is_wrong_and_prints_no_empty_tables(tmp_path: Path) -> None:
    with FakeEndpoint({"m": FakeModel(faults=("404",))}) as endpoint:
        done = run(f"{endpoint.url}#m", "--limit", 3, "--out", tmp_path, code=3)
    assert "calls failed: HTTP 404" in done.stdout
    assert "GET BASE_URL/models lists its models" in done.stdout
    assert "No answer was judged, so there is no rate." in done.stdout
    assert "prompts passed" not in done.stdout
    assert "–" not in done.stdout


def test_what_cannot_be_decided_is_told_apart_from_what_is_missing(tmp_path: Path) -> None:
    suite = ifeval(
        tmp_path,
        ("Write without commas.", "punctuation:no_comma", {}),
        ("Use # twice.", "keywords:letter_frequency", {"letter": "#", "let_relation": "at least", "let_frequency": 2}),
    )
    done = run("scripted/echo", "--suite", suite, "--out", tmp_path / "a", code=3)
    assert "--random-in-reference SEED" in done.stderr
    assert "run the same command again" not in done.stderr
    assert "1 verdict undecided: keywords:letter_frequency" in done.stdout
    run("scripted/echo", "--suite", suite, "--out", tmp_path / "b", "--random-in-reference", 1)
    run("scripted/echo", "--suite", suite, "--out", tmp_path / "a", "--min-coverage", 0.5)


def test_what_a_model_has_to_judge_says_so(tmp_path: Path) -> None:
    row = {"conversation_id": "c", "task": "Plan a day.", "decomposition": ["short", "kind"]}
    (tmp_path / "w.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    done = run("scripted/echo", "--suite", f"wildifeval:{tmp_path / 'w.jsonl'}", "--out", tmp_path / "a", code=3)
    assert "2 statements are for a model to judge: adhere judge RUN --by MODEL" in done.stderr
    assert "--random-in-reference" not in done.stderr


def test_kinds_are_printed_when_asked_for(tmp_path: Path) -> None:
    short = run("scripted/echo", "--limit", 30, "--out", tmp_path)
    long = run("scripted/echo", "--limit", 30, "--out", tmp_path, "--details")
    assert len(short.stdout.splitlines()) <= 26 < len(long.stdout.splitlines())
    assert "checked" in long.stdout
    assert "checked" not in short.stdout


def test_endpoint_options_are_refused_for_models_on_this_machine(tmp_path: Path) -> None:
    done = run("scripted/echo", "--limit", 3, "--out", tmp_path, "--rpm", 5, code=2)
    assert "endpoint options do not apply" in done.stderr


def test_trackers_have_the_main_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for one: `tests/unit/train/test_recipe_run.py` reads those of others back."""
    from adhere.train.recipe import tracking

    told: list[tuple[str, dict[str, float]]] = []

    class Told:
        def log(self, stage: str, row: dict[str, float]) -> None:
            told.append((stage, row))

        def close(self) -> None:
            told.append(("closed", {}))

    monkeypatch.setitem(tracking.TRACKERS, "told", lambda name, directory: Told())
    done = run_here("eval", "scripted/echo", "--suite", "core", "--limit", "4", "--out", tmp_path, "--track", "told")
    assert done.returncode == 0, done.stderr
    (model, numbers), last = told
    assert (model, last[0]) == ("scripted/echo", "closed")
    assert {"core/prompts_passed", "core/prompts_passed_low", "core/coverage"} <= set(numbers)
    assert all(0 <= number <= 1 for number in numbers.values())
    refused = run_here("eval", "scripted/echo", "--suite", "core", "--limit", "4", "--out", tmp_path, "--track", "tole")
    assert (refused.returncode, "There are trackio" in refused.stderr) == (2, True)


def test_a_failed_connection_leaves_no_empty_run(tmp_path: Path) -> None:
    """One that was begun before stays, with its answers."""
    with FakeEndpoint({"m": FakeModel()}) as endpoint:
        name, port = f"{endpoint.url}#m", endpoint.port
        done = run_here("eval", name, "--suite", "core", "--limit", "2", "--out", tmp_path)
        assert done.returncode == 0, done.stderr
    (kept,) = tmp_path.iterdir()
    for limit in ("2", "3"):
        run_here(
            "eval",
            f"http://127.0.0.1:{port}/v1#m",
            "--suite",
            "core",
            "--limit",
            limit,
            "--out",
            tmp_path,
            "--wait",
            "0",
        )
    assert list(tmp_path.iterdir()) == [kept]
    assert Run.load(kept).is_sealed
