"""A made-up leaderboard over real stored Runs. Names, prompts, answers and reasons try to break out of the page."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec

from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Usage, Verdict
from adhere.store.run import Run, RunSpec
from adhere.sweep.board import Dead, Leaderboard
from adhere.sweep.leaderboard import leaderboard_of_runs

HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "<a href=\"javascript:document.title='owned'\">x</a>&lt;b&gt; {{7*7}} {% raw %} <!-- ]]> \u202egnp.exe\u2066 "
    "\x1b[31mred\x1b[0m \u2028line\u2029 \u0085 \U000e0041 'quoted' \"double\" `tick` ${7*7}"
)
TESTS = ("reverse a word", "sum of a list", "csv to json", "<b>bold test</b>")
SLICES = ("strings", "numbers", "formats", "constraints")


def prompts(count: int = 40, *, hostile: str = HOSTILE) -> list[Prompt]:
    made = []
    for index in range(count):
        place = index % len(TESTS)
        refs = (ConstraintRef("exact:text"), ConstraintRef("length:at_most"))
        tags = {"slice": SLICES[place], "test": TESTS[place], "difficulty": "typical"}
        made.append(Prompt(f"p{index:03d}", (Turn(f"Item {index}: {hostile}", refs),), tags=tags))
    return made


def store(
    directory: Path,
    model: str,
    ability: float,
    asked: list[Prompt],
    *,
    cost: float | None,
    lost: float = 0.0,
    hostile: str = HOSTILE,
) -> Path:
    """A sealed Run whose answers are right with a probability that falls with the test's place in TESTS."""
    rng = random.Random(model)
    spec = RunSpec(
        model,
        EngineInfo("endpoint", "aiohttp 3", "unknown", None, {"base_url": "http://x/v1", "total_s": 10.0}),
        "diagnostic",
        "1",
        "cd" * 32,
        Sampling(max_new_tokens=1024),
        slices=SLICES,
    )
    folder = directory / spec.id
    with Run.open(folder, spec, asked) as run:
        for number, prompt in enumerate(asked):
            usage = Usage(100, 20, None, cost)
            if rng.random() < lost:
                run.append_response(
                    Response(
                        prompt.id,
                        0,
                        0,
                        "",
                        "error",
                        error=f"timeout: no answer {hostile}",
                        evidence="timeout",
                        latency_s=10.0,
                    )
                )
                continue
            status = "truncated" if number % 17 == 3 else "ok"
            run.append_response(
                Response(
                    prompt.id,
                    0,
                    0,
                    f"Answer {number}\n{hostile}",
                    status,
                    usage=usage,
                    latency_s=rng.random() * 3,
                    provider="P&Q",
                )
            )
            chance = ability * (1 - 0.2 * TESTS.index(prompt.tags["test"]))
            run.append_verdicts(_verdicts(prompt, rng, chance, hostile))
        run.flush()
        run.seal(summarize(asked, 1, run.responses(), run.verdicts(), SLICES))
    return folder


def _verdicts(prompt: Prompt, rng: random.Random, chance: float, hostile: str) -> list[Verdict]:
    verdicts = []
    for index, ref in enumerate(prompt.constraints):
        score = rng.random()
        outcome = "pass" if score < chance ** (index + 1) else "fail"
        for view in ("strict", "loose"):
            reason = f"wanted {hostile}"
            verdicts.append(
                Verdict(
                    prompt.id,
                    0,
                    0,
                    index,
                    ref.id,
                    view,
                    outcome,
                    reason,
                    score=1.0 if outcome == "pass" else 0.5,
                    verifier_version="1",
                )
            )
    return verdicts


def board(directory: Path, *, models: int = 6, count: int = 40, hostile: str = HOSTILE) -> Leaderboard:
    """Models that answer ever better; the third is free, the fourth dear, the last lost a third of its answers."""
    asked = prompts(count, hostile=hostile)
    folders = []
    for number in range(models):
        name = f"vendor/model-{number}" + (f" {hostile}" if number == 1 else "")
        cost = None if number == 0 else 0.0 if number == 2 else 1e-5 * 3**number
        lost = 0.33 if number == models - 1 else 0.0
        folders.append(
            store(directory, name, 0.35 + 0.6 * number / models, asked, cost=cost, lost=lost, hostile=hostile)
        )
    found = leaderboard_of_runs(folders)
    return msgspec.structs.replace(
        found,
        base_url="http://127.0.0.1:9/v1",
        snapshot="2026-11-21T20:00:00+00:00",
        listed=models + 5,
        wanted=models + 2,
        alive=models,
        dead=(Dead(f"dead/one {hostile}", f"HTTP 404 {hostile}"), Dead("dead/two", "timeout: no answer within 10 s")),
        left_out={"puts out no text": 3},
        stopped="",
    )
