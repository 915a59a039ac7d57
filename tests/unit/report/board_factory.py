"""A stored sweep without an endpoint: hostile names and answers, time-outs, partial scores, dead models."""

from __future__ import annotations

import random
from pathlib import Path

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
    encode,
    write_atomic,
)
from adhere.store.run import Run, RunSpec
from adhere.sweep.record import Sweep
from adhere.sweep.rows import Liveness, Snapshot
from adhere.sweep.spec import Filter, SweepSpec

HOSTILE = (
    '=cmd|"/c calc"!A0', "+1", "-2+3", "@x", "{=1}", "http://evil.example/", "mailto:a@evil.example", "\ud800 alone",
    "NUL \x00 and \x1b[2J",
    "[/bold]", "L" * 40_000, "'quoted", "_x0041_", "\u202egnp.exe", "007", "1e5", "\ufffe", " spaces ", "a\r\nb\tc\x0b",
)  # fmt: skip
EVIL = "evil/[bold]=1+1\x1b]8;;http://evil.example\x07"
URL = "http://127.0.0.1:1/v1"
ENGINE = EngineInfo("endpoint", "aiohttp 3", "unknown")


def prompts(templates: int = 4, items: int = 5) -> list[Prompt]:
    return [
        Prompt(
            f"t{template}-{item}",
            (
                Turn(
                    f"Do {template}.{item}.",
                    (ConstraintRef("length:at_most", {"limit": item + 1, "expected": f"={item}"}),),
                ),
            ),
            tags={"slice": f"s{template % 2}", "test": f"=t{template}: [a/b]*?"},
        )
        for template in range(templates)
        for item in range(items)
    ]


def store_run(directory: Path, model: str, asked: list[Prompt], share: float, *, errors: int = 0) -> RunSpec:
    rng = random.Random(model)
    spec = RunSpec(f"{URL}#{model}", ENGINE, "diagnostic", "1", "ab" * 32, Sampling(), slices=("s0", "s1"))
    with Run.open(directory / spec.id, spec, asked) as run:
        for number, prompt in enumerate(asked):
            if number < errors:
                error = "timeout: no answer within 10 s"
                run.append_response(Response(prompt.id, 0, 0, "", "error", error=error, evidence="timeout"))
                continue
            text = HOSTILE[number % len(HOSTILE)]
            usage = Usage(10, 20, None, 0.0001)
            run.append_response(Response(prompt.id, 0, 0, text, "ok", usage=usage, latency_s=0.5 + number))
        run.flush()
        for response in run.responses():  # as stored: a lone surrogate cannot be
            if response.status == "error":
                continue
            outcome = "pass" if rng.random() < share else "fail"
            score = 0.5 if outcome == "fail" and rng.random() < 0.5 else None
            run.append_verdicts(
                Verdict(*response.key, 0, "length:at_most", view, outcome, f"=reason {response.text[:50]}", score=score)  # type: ignore[arg-type]
                for view in ("strict", "loose")
            )
        run.flush()
        run.seal(summarize(asked, 1, run.responses(), run.verdicts(), spec.slices))
    return spec


def store_sweep(directory: Path, *, items: int = 5) -> Sweep:
    asked = prompts(items=items)
    models = {"good": (1.0, 0), "poor": (0.2, 0), EVIL: (0.6, 0), "slow": (0.9, 3)}
    spec = SweepSpec(URL, ENGINE, Filter(), (("diagnostic", "1", "ab" * 32),), Sampling())
    names = (*models, "=dead", "gone")
    snapshot = Snapshot(
        0.0, URL, "generic", tuple({"id": name} for name in (*names, "image")), names, {"image": "puts out images"}
    )
    sweep = Sweep(directory, spec, snapshot)
    write_atomic(directory / "sweep.json", encode(spec) + b"\n")
    write_atomic(directory / "models.json", encode(snapshot) + b"\n")
    for name in names:
        reason = "" if name in models else "HTTP 404: \x1b[31mnothing here"
        answer = Response("liveness", 0, 0, "Paris", "ok")
        sweep.liveness[name] = Liveness(name, not reason, reason, answer)
    for name, (share, errors) in models.items():
        run_spec = store_run(directory / "runs", name, asked, share, errors=errors)
        sweep.runs[name, 0] = directory / "runs" / run_spec.id
    return sweep
