"""All of `adhere build checks`: ask, examine, translate back, write. A killed run asks nothing twice.

On disk:

    draws/, back/, same/    what the model answered, stored Runs
    checks.toml             the checks that survived
    drops.jsonl             everything that was left out, each with its stage and reason
    report.json             the counts by stage
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from adhere.build.checks import ask
from adhere.build.checks.examine import DroppedPart, Survivor, examine
from adhere.build.checks.file import Check, write_checks
from adhere.build.checks.spec import PRESETS, ChecksSpec, check_spec, instructions_of
from adhere.build.draws import Ledger, draw_answers
from adhere.errors import UsageError
from adhere.models.base import Model
from adhere.progress import Progress, Silent
from adhere.sandbox import backend
from adhere.schema import Prompt, Record, Response, Sampling, Turn, derive_seed, encode, write_atomic, write_rows
from adhere.text.words import words


class StageYield(Record, frozen=True):
    """Counts what entered and left one stage, with the most frequent reasons for leaving something out."""

    stage: str
    unit: str
    entered: int
    left: int
    reasons: dict[str, int]


class ChecksReport(Record, frozen=True):
    """Holds the result of a run; `backend` names what isolated the code."""

    model: str
    preset: str
    backend: str
    instructions: int
    checks: int
    stages: tuple[StageYield, ...]
    ledger: Ledger


def build_checks(spec: ChecksSpec, model: Model, directory: Path, *, progress: Progress | None = None) -> ChecksReport:
    """Make checks and write `checks.toml`, `drops.jsonl` and `report.json` into a directory.

    Raises:
        SpecError: A setting is out of range, or no instruction is given.
        UsageError: Nothing on this machine isolates code.
        RunMismatch: The directory holds the answers to another spec.
        Incomplete: Calls failed; the same run again tries those once more.
    """
    spec, progress = check_spec(spec), progress or Silent()
    isolation = backend()
    if isolation.startswith("none"):
        raise UsageError(
            f"Model-written functions run in a sandbox only, and there is none here ({isolation}). Run: adhere doctor"
        )
    instructions = instructions_of(spec)
    sampling = msgspec.structs.replace(spec.sampling, seed=spec.seed)
    prompts = [
        Prompt(f"{kind}-{number}-{call}", (Turn(request(instruction)),))
        for number, instruction in enumerate(instructions, start=1)
        for kind, request, calls in (
            ("function", ask.function_request, spec.functions),
            ("cases", ask.cases_request, spec.cases),
        )
        for call in range(1, calls + 1)
    ]
    draws = draw_answers(model, prompts, draws=1, sampling=sampling, directory=directory / "draws", progress=progress)
    drops: list[DroppedPart] = []
    survivors: dict[str, Survivor] = {}
    counts: Counter[str] = Counter()
    with progress.step("cross-validate in the sandbox", len(instructions), "instructions") as step:
        for number, instruction in enumerate(instructions, start=1):
            answers = {
                kind: [draws.by_prompt[f"{kind}-{number}-{call}"][0] for call in range(1, calls + 1)]
                for kind, calls in (("function", spec.functions), ("cases", spec.cases))
            }
            survivor, left_out = _examine_answers(spec, instruction, answers, counts)
            drops += left_out
            if survivor is not None:
                survivors[instruction] = survivor
            step.advance(1, f"{len(survivors)} kept")
    counts["cross-validated"] = len(survivors)
    meanings, unlike = _translated_back(spec, model, survivors, directory, progress)
    drops += unlike
    checks = [
        Check(
            instruction,
            tuple(function.source for function in survivor.functions),
            survivor.good,
            survivor.bad,
            meanings[instruction],
            survivor.evidence,
        )
        for instruction, survivor in survivors.items()
        if instruction in meanings
    ]
    write_checks(directory / "checks.toml", model.name, checks)
    write_rows(directory / "drops.jsonl", drops)
    report = ChecksReport(
        model.name,
        spec.preset,
        isolation,
        len(instructions),
        len(checks),
        _stages(spec, len(instructions), counts, drops, checks),
        draws.ledger,
    )
    write_atomic(directory / "report.json", encode(report) + b"\n")
    return report


def _examine_answers(
    spec: ChecksSpec, instruction: str, answers: dict[str, list[Response]], counts: Counter[str]
) -> tuple[Survivor | None, list[DroppedPart]]:
    drops: list[DroppedPart] = []
    functions: dict[str, ask.Function] = {}
    for answer in answers["function"]:
        counts["function answers"] += 1
        function = ask.read_function(answer.text)
        if isinstance(function, str):
            drops.append(DroppedPart(instruction, "function", "read", function, answer.text[:400]))
        elif function.shape in functions:
            drops.append(DroppedPart(instruction, "function", "read", "the same as another one", function.source[:400]))
        else:
            functions[function.shape] = function
    counts["functions"] += len(functions)
    cases: list[ask.Case] = []
    held_out: list[ask.Case] = []
    first_held_out = len(answers["cases"]) - max(1, round(spec.held_out * len(answers["cases"])))
    for call, answer in enumerate(answers["cases"]):
        counts["case answers"] += 1
        found_cases, problems = ask.read_cases(answer.text)
        counts["case answers read"] += bool(found_cases)
        drops += [DroppedPart(instruction, "case", "read", problem, answer.text[:400]) for problem in problems]
        (held_out if call >= first_held_out else cases).extend(found_cases)
    counts["cases"] += len(cases) + len(held_out)
    survivor, more = examine(
        instruction,
        list(functions.values()),
        cases,
        held_out,
        thresholds=PRESETS[spec.preset],
        keep=spec.keep,
        seed=spec.seed,
        echo=spec.echo,
    )
    return survivor, [*drops, *more]


def _translated_back(
    spec: ChecksSpec, model: Model, survivors: dict[str, Survivor], directory: Path, progress: Progress
) -> tuple[dict[str, str], list[DroppedPart]]:
    """Return instruction -> what the model says its best function checks, and the instructions that were dropped.

    An instruction is dropped if the two do not mean the same. With `back_translation = "off"` nothing is asked or
    dropped.
    """
    if spec.back_translation == "off" or not survivors:
        return dict.fromkeys(survivors, ""), []
    sampling = Sampling(max_new_tokens=80, temperature=0.0, seed=derive_seed(spec.seed, "back"))
    meanings = _ask(
        model,
        directory / "back",
        sampling,
        progress,
        {text: ask.meaning_request(survivor.functions[0]) for text, survivor in survivors.items()},
    )
    if spec.back_translation == "model":
        same = _ask(
            model,
            directory / "same",
            sampling,
            progress,
            {text: ask.same_request(text, meanings[text]) for text in survivors},
        )
        verdicts = {text: ask.read_same(answer) for text, answer in same.items()}
    else:
        verdicts = {text: _shares_words(text, meanings[text]) for text in survivors}
    alike, drops = {}, []
    for text, verdict in verdicts.items():
        if verdict:
            alike[text] = meanings[text]
            continue
        why = "means something else" if verdict is False else "the comparison was answered with neither YES nor NO"
        drops.append(DroppedPart(text, "instruction", "back-translation", why, meanings[text][:400]))
    return alike, drops


def _ask(
    model: Model, directory: Path, sampling: Sampling, progress: Progress, requests: dict[str, str]
) -> dict[str, str]:
    prompts = [Prompt(f"p-{number}", (Turn(request),)) for number, request in enumerate(requests.values(), start=1)]
    draws = draw_answers(model, prompts, draws=1, sampling=sampling, directory=directory / "draws", progress=progress)
    return {text: draws.by_prompt[prompt.id][0].text.strip() for text, prompt in zip(requests, prompts, strict=True)}


def _shares_words(instruction: str, meaning: str) -> bool:
    """Tell whether half of the instruction's longer words and numbers are in `meaning`."""
    key_words = {word.lower() for word in words(instruction) if len(word) > 4 or re.search(r"\d", word)}
    return bool(key_words) and 2 * len(key_words & {word.lower() for word in words(meaning)}) >= len(key_words)


def _stages(
    spec: ChecksSpec, instructions: int, counts: Counter[str], drops: Sequence[DroppedPart], checks: Sequence[Check]
) -> tuple[StageYield, ...]:
    def reasons(kind: str, *stages: str) -> dict[str, int]:
        by_reason = Counter(
            f"{drop.stage}: {_kind_of(drop.reason)}"
            for drop in drops
            if drop.what == kind and (not stages or drop.stage in stages)
        )
        return dict(by_reason.most_common(12))

    later = [drop for drop in drops if drop.what == "function" and drop.stage != "read"]
    return (
        StageYield(
            "functions that can be read",
            "answers",
            counts["function answers"],
            counts["functions"],
            reasons("function", "read"),
        ),
        StageYield(
            "functions that are right",
            "functions",
            counts["functions"],
            counts["functions"] - len(later),
            reasons("function", *sorted({drop.stage for drop in later})) if later else {},
        ),
        StageYield(
            "answers with cases",
            "answers",
            counts["case answers"],
            counts["case answers read"],
            reasons("case", "read"),
        ),
        StageYield(
            "cases that stay",
            "cases",
            counts["cases"],
            counts["cases"] - sum(drop.what == "case" and drop.stage != "read" for drop in drops),
            reasons("case", "cases", "cross-validation"),
        ),
        StageYield(
            "instructions that survive cross-validation, held-out cases, probes and mutants",
            "instructions",
            instructions,
            counts["cross-validated"],
            {key: count for key, count in reasons("instruction").items() if not key.startswith("back-")},
        ),
        StageYield(
            f"instructions that survive back-translation ({spec.back_translation})",
            "instructions",
            counts["cross-validated"],
            len(checks),
            reasons("instruction", "back-translation"),
        ),
    )


def _kind_of(reason: str) -> str:
    """Return a reason with its numbers masked, so that alike reasons are counted together."""
    return re.sub(r"\d+%?", "N", reason)[:70]


def checks_text(report: ChecksReport) -> str:
    """Return the yield of each stage as a Markdown table."""
    lines = [
        f"{report.checks} checks from {report.instructions} instructions (preset {report.preset}, {report.backend})",
        "",
        "| stage | in | out | most frequent reasons |",
        "|---|---:|---:|---|",
    ]
    for stage in report.stages:
        why = "; ".join(f"{count} {reason}" for reason, count in list(stage.reasons.items())[:3]) or "–"
        lines.append(f"| {stage.stage} ({stage.unit}) | {stage.entered} | {stage.left} | {why} |")
    return "\n".join(lines)
