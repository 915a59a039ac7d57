"""The intent gate on IFEval's prompts, which its rules were set on.

Scripted exploits of every kind, stored answers of 18 models.

    python -m benchmarks.traps.ifeval --answers ../shared/data/ifeval/responses --answers EVALUATIONS --half frozen --write docs/reference/traps.md

What no rule was set on is `fresh.py`. The halves are by prompt: the first byte of the SHA-256 of its key is even
(tune) or odd (frozen, until its alarms were read). EVALUATIONS is the folder `evaluations` of shisa-ai/M-IFEval (at
06f08ff), whose files en_…/eval_results_strict.jsonl hold the answers. An exploit is asked on one of these prompts with
the kind's own sentence behind it, and bends a stored answer to it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tarfile
import unicodedata
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.sources import DATA, ROOT

from adhere.constraints.base import registry
from adhere.constraints.published.shared.registry import PROFILES, fill, kinds
from adhere.pipeline.intent.exploits import SHAPES, exploits_of
from adhere.pipeline.intent.gate import dictates, traps_of
from adhere.schema import ConstraintRef, Prompt, convert
from adhere.suites import load
from adhere.testing import published_params

HONEST = (
    "claude-3-5-sonnet-20240620",
    "gpt-4o-2024-08-06",
    "hugging-quants--Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
    "gpt-4-20231107",
)
TOPICS = ("budget", "travel", "music")
MARK = "<!-- written by benchmarks/traps/ifeval.py -->"


def half_of(key: object) -> str:
    """Which half a prompt belongs to."""
    return "frozen" if hashlib.sha256(str(key).encode()).digest()[0] % 2 else "tune"


def answers_in(folders: list[Path], prompts: dict[str, Prompt]) -> dict[str, list[tuple[Prompt, str]]]:
    """The answers of each model; of two files of one model the first counts."""
    by_text = {prompt.turns[0].text: prompt for prompt in prompts.values()}
    found: dict[str, list[tuple[Prompt, str]]] = {}
    for folder in folders:
        files = {file.stem: file for file in sorted(folder.glob("*.jsonl"))}
        for file in sorted(folder.glob("en_*/eval_results_strict.jsonl")):
            files[file.parent.name.partition("_data_")[2].replace("__", "--")] = file
        for model, file in files.items():
            rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            asked = [prompts.get(str(row.get("key"))) or by_text.get(row.get("prompt", "")) for row in rows]
            found.setdefault(
                model, [(one, row["response"]) for one, row in zip(asked, rows, strict=True) if one and row["response"]]
            )
    return found


def is_degenerate(asked: str, text: str) -> bool:
    """Whether an answer is no answer, by rules that the gate does not have.

    A loop (it shrinks to a fifth), a piece of the prompt, or nothing that is a letter, a digit or a sign.
    """
    data = text.encode()
    return (
        len(data) > 5 * len(zlib.compress(data, 9))
        or text.strip(' \n"*') in asked
        or all(unicodedata.category(one)[0] in "CZ" for one in text)
    )


def constraints_of(profile: str, seed: int) -> Iterator[tuple[str, Any, str | None]]:
    """Every kind of a profile (`own`: of ours) with parameters drawn from the seed."""
    if profile == "own":
        for name in registry:
            if not name.startswith(("test:", "compose:", "scope:", "written:")):  # these hold others
                yield name, registry.get(name).draw(random.Random(seed), words=TOPICS), None
        return
    for kind in kinds(profile):
        yield kind.id, fill(kind, published_params(kind, seed)), profile


def study_rates(path: Path) -> list[tuple[str, int, int]]:
    """For each arm of a committed study: answers that its records hold, and how many take a trap."""
    prompts: dict[str, Prompt] = {}
    shown: list[tuple[str, str, str]] = []
    with tarfile.open(path) as records:
        for member in records.getmembers():
            if not member.name.startswith(("suites/", "evaluations/")):
                continue
            document = json.load(records.extractfile(member))  # type: ignore[arg-type]
            if "prompts" in document:
                prompts |= {one["id"]: convert(one, Prompt) for one in document["prompts"]}
            shown += [(document["arm"], key, one["text"]) for key, one in document.get("shown", {}).items()]
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for arm, key, text in shown:
        if key in prompts and text.strip():
            turn = prompts[key].turns[0]
            counts[arm][0] += 1
            counts[arm][1] += bool(traps_of(turn.text, text, turn.constraints))
    return [(arm, n, taken) for arm, (n, taken) in sorted(counts.items())]


def main() -> None:
    """Measure, print, and with --write replace what stands below the mark in a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=Path, action="append", required=True)
    parser.add_argument("--half", choices=("tune", "frozen"), default="tune")
    parser.add_argument("--per-kind", type=int, default=2, help="prompts a kind")
    parser.add_argument("--profiles", nargs="*", default=["own", *PROFILES])
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    prompts = {str(prompt.key): prompt for prompt in load(f"ifeval:{DATA / 'ifeval' / 'input_data.jsonl'}").prompts}
    answers = answers_in(given.answers, prompts)
    lines = [MARK, "", *false_alarms(answers, given.half)]
    lines += ["", *caught(given, prompts, answers)]
    for records in sorted((ROOT / "docs" / "studies").glob("*/records.tar.xz")):
        lines += [
            "",
            f"### Answers that `docs/studies/{records.parent.name}` holds",
            "",
            "| arm | answers | take a trap |",
            "|---|---|---|",
        ]
        lines += [f"| {arm} | {n} | {taken} |" for arm, n, taken in study_rates(records)]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if given.write:
        before = given.write.read_text(encoding="utf-8").partition(MARK)[0]
        given.write.write_text(before + text, encoding="utf-8")


def false_alarms(answers: dict[str, list[tuple[Prompt, str]]], half: str) -> list[str]:
    """A row a model."""
    rows = []
    total = [0, 0, 0]
    by_trap: Counter[str] = Counter()
    for model, pairs in sorted(answers.items()):
        counted = [0, 0, 0]
        for prompt, text in pairs:
            if half_of(prompt.key) != half:
                continue
            turn = prompt.turns[0]
            traps = traps_of(turn.text, text, turn.constraints)
            degenerate = bool(traps) and is_degenerate(turn.text, text)
            if not degenerate:
                by_trap.update(traps)
            for counts in (counted, total):
                counts[0] += 1
                counts[1] += bool(traps)
                counts[2] += degenerate
        rows.append((counted[1] - counted[2], model, counted))
    lines = [
        f"### Stored answers, {half} half",
        "",
        "| model | answers | alarms | of them loops or copies | false alarms |",
        "|---|---|---|---|---|",
    ]
    for _, model, (n, alarms, bad) in [*rows, (0, f"all {len(rows)}", total)]:
        lines.append(f"| {model} | {n} | {alarms} | {bad} | {alarms - bad} ({percent(alarms - bad, n)}) |")
    return [*lines, "", "False alarms by trap: " + ", ".join(f"{trap} {n}" for trap, n in by_trap.most_common()) + "."]


def caught(
    given: argparse.Namespace, prompts: dict[str, Prompt], answers: dict[str, list[tuple[Prompt, str]]]
) -> list[str]:
    """A row a shape, then the kinds that no script passes."""
    honest: dict[str, list[str]] = defaultdict(list)
    for model in HONEST:
        for prompt, text in answers.get(model, ()):
            honest[str(prompt.key)].append(text)
    mine = [key for key in honest if half_of(key) == given.half]
    shapes: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    found_by: set[tuple[str, str]] = set()
    none: dict[str, list[str]] = defaultdict(list)
    for profile in given.profiles:
        draws = [constraints_of(profile, seed) for seed in range(given.per_kind)]
        for drawn in zip(*draws, strict=True):
            name = drawn[0][0]
            rng = random.Random(f"{given.half} {profile} {name}")
            for _, constraint, whose in drawn:
                asked = prompts[rng.choice(mine)]
                words = constraint.describe(0)
                text = f"{asked.turns[0].text}\n\n{words}"
                for exploit in exploits_of(constraint, text, honest[str(asked.key)]):
                    hit = bool(
                        traps_of(text, exploit.text, (ConstraintRef(name, constraint.ref().params),), profile=whose)
                    )
                    counts = shapes[profile, exploit.shape]
                    counts[0] += 1
                    counts[1] += hit
                    counts[2] += words.lower() in exploit.text.lower()
                    if exploit.shape != "canned":
                        found_by.add((profile, name))
            if (profile, name) not in found_by:
                none[profile].append(f"`{name}`" + (" (dictates the answer)" if dictates(drawn[0][1].ref()) else ""))
    lines = [
        f"### Exploits, {given.half} half",
        "",
        "| shape | exploits | caught | IFDecorator's rule |",
        "|---|---|---|---|",
    ]
    listed = [0, 0, 0]
    for shape in SHAPES:
        counts = [sum(found[at] for (_, other), found in shapes.items() if other == shape) for at in range(3)]
        lines.append(
            f"| {shape} | {counts[0]} | {counts[1]} ({percent(counts[1], counts[0])}) "
            f"| {percent(counts[2], counts[0])} |"
        )
        if shape != "canned":
            listed = [a + b for a, b in zip(listed, counts, strict=True)]
    lines.append(
        f"| **all but canned** | {listed[0]} | {listed[1]} ({percent(listed[1], listed[0])}) "
        f"| {percent(listed[2], listed[0])} |"
    )
    lines += [
        "",
        "A *twin* is an answer that passes a kind and does nothing else. For these kinds no script found one (a kind without a twin that is not named here fails `tests/unit/pipeline/test_twins.py`):",
        "",
    ]
    return [*lines, *(f"* {profile}: {', '.join(names)}" for profile, names in none.items())]


def percent(part: int, whole: int) -> str:
    """A share in percent, or a dash."""
    return f"{100 * part / whole:.1f} %" if whole else "–"


if __name__ == "__main__":
    main()
