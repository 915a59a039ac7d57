"""Small stored Runs for tests of reports: real directories and a real summary, hostile answers, one failed call."""

from __future__ import annotations

import random
from pathlib import Path

from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Verdict
from adhere.store.run import Run, RunSpec

KINDS = {"in-family": ("length:at_most", "case:lower"), "new-family": ("format:sections",)}
HOSTILE = (
    "<script>document.title='owned'</script>\u202e\x1b[31mred\x1b[0m \x1b]8;;http://evil.example/\x07x\x1b]8;;\x07"
)


def prompts(count: int = 24) -> list[Prompt]:
    made = []
    for index in range(count):
        part = "in-family" if index % 3 else "new-family"
        refs = tuple(ConstraintRef(kind) for kind in KINDS[part])
        made.append(
            Prompt(f"p{index:02d}", (Turn(f"Say something about {index}. {HOSTILE}", refs),), tags={"slice": part})
        )
    return made


def store(directory: Path, model: str, share: float, *, precision: str = "int8", count: int = 24) -> Run:
    """A sealed Run whose constraints pass with probability `share`.

    Its second answer is undecided, its last call failed.
    """
    asked, rng = prompts(count), random.Random(model)
    spec = RunSpec(
        model, EngineInfo("scripted", "1", precision), "core", "1", "ab" * 32, Sampling(), slices=tuple(KINDS)
    )
    with Run.open(directory, spec, asked) as run:
        for number, prompt in enumerate(asked):
            if number == count - 1:
                run.append_response(Response(prompt.id, 0, 0, "", "error", error=f"timed out {HOSTILE}"))
                continue
            run.append_response(
                Response(prompt.id, 0, 0, f"Answer {number}\n{HOSTILE}", "truncated" if number % 7 == 3 else "ok")
            )
            run.append_verdicts(_verdicts(prompt, number, rng, share))
        run.flush()
        run.seal(summarize(asked, 1, run.responses(), run.verdicts(), tuple(KINDS)))
    return run


def _verdicts(prompt: Prompt, number: int, rng: random.Random, share: float) -> list[Verdict]:
    verdicts = []
    for index, ref in enumerate(prompt.constraints):
        outcome = "undecided" if number == 1 else "pass" if rng.random() < share else "fail"
        for view in ("strict", "loose"):
            reason = f"verifier said {HOSTILE}" if outcome == "undecided" else f"found {number} words {HOSTILE}"
            verdicts.append(Verdict(prompt.id, 0, 0, index, ref.id, view, outcome, reason, verifier_version="1"))
    return verdicts
