"""The intent gate on answers and exploits that no rule was set on.

Other models, other prompts, other scripts than `ifeval.py` has.

    python -m benchmarks.traps.fresh FOLDER --freeze                                # writes fresh.json: whose answers, their hashes
    python -m benchmarks.traps.fresh FOLDER --part dev --scripts first --missed     # to tune on
    python -m benchmarks.traps.fresh FOLDER --part held --scripts second            # once
    python -m benchmarks.traps.fresh FOLDER --part last --scripts third             # once
    python -m benchmarks.traps.fresh FOLDER --part final --scripts fourth           # once
    python -m benchmarks.traps.fresh FOLDER --part fifth --scripts fifth            # once
    python -m benchmarks.traps.fresh FOLDER --part frozen --write docs/reference/traps-by-kind.md

FOLDER holds `alpaca/MODEL.json` (results/MODEL/model_outputs.json of tatsu-lab/alpaca_eval), `ext_in_MODEL.jsonl` and
`ext_out_MODEL.jsonl` (data/input_*.jsonl and data/input_response_*.jsonl of Kovbo/IFEval-extended), `gio.jsonl`
(responses.jsonl of gio-usp/ifeval), `flask/MODEL.jsonl` (model_output/outputs of kaistAI/FLASK) and
`flask/questions.jsonl` (its input_data/flask_evaluation_raw.jsonl); commits and hashes stand in fresh.json, and a file that differs is an error.

Frozen and held is by model and by prompt at once: MODELS below, and of AlpacaEval's instructions those whose SHA-256
begins with an odd byte. IFEval-extended's prompts are other ones for each model. An AlpacaEval answer counts twice: as
it is, and with up to two rules of ours or of a suite that it keeps without knowing of them, so that every kind has
honest answers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from benchmarks.sources import DATA
from benchmarks.traps.fifth import FIFTH
from benchmarks.traps.fourth import FOURTH
from benchmarks.traps.ifeval import constraints_of, is_degenerate, percent
from benchmarks.traps.scripts import FIRST, SECOND, exploits_by
from benchmarks.traps.written import THIRD

from adhere.constraints.base import registry
from adhere.constraints.published.shared.registry import PROFILES, fill, kinds
from adhere.pipeline.intent.exploits import exploits_of
from adhere.pipeline.intent.gate import dictates, traps_of
from adhere.schema import ConstraintRef
from adhere.stats.proportions import wilson_clustered
from adhere.testing import published_params
from adhere.text.words import words

Part = Literal["dev", "frozen", "held", "tune", "last", "flask", "final", "fifth"]
# AlpacaEval's models in the order of the SHA-256 of their names, without those that ifeval.py has, without gamed ones,
# mixtures of agents, best-of-n and the same model asked to be brief or wordy: the first twelve are frozen, the next
# twelve are to tune on, the third twelve were added when the frozen ones had been measured once, before the gate was
# changed again. Then half of the prompts of the frozen and held ones were taken to tune on, and a fourth twelve set
# aside, on the other half. `final` was frozen with the fourth set of scripts, before the gate was changed for the last
# time: twelve further models on the prompts of `last`, and eight of the fifteen models of FLASK on half of its prompts
# (short questions of many benchmarks, which are answered in few words; without the sources that AlpacaEval has too).
# The others on the other half, `flask`, are to tune on. `fifth` was frozen with the fifth set of scripts: twelve
# further models on the same prompts, which nothing was tuned on.
MODELS: dict[Part, dict[str, tuple[str, ...]]] = {
    "frozen": {
        "alpaca": (
            "pairrm-tulu-2-70b", "phi-2-sft", "ultralm-13b-v2.0", "humpback-llama-65b", "gpt4_0613",
            "Mixtral-8x7B-Instruct-v0.1", "gemma-7b-it", "openchat-v3.1-13b", "nous-hermes-13b",
            "openbuddy-llama-65b-v8", "Infinity-Instruct-3M-0625-Qwen2-7B", "higgs-llama-3-70b-v2",
        ),
        "extended": ("gpt4o", "llama_3_8b", "llama_3_70b"),
        "ifeval": ("gio",),
    },
    "dev": {
        "alpaca": (
            "deita-7b-v1.0", "Nanbeige2-16B-Chat", "oasst-sft-pythia-12b", "gpt-3.5-turbo-0613",
            "REBEL-Llama-3-8B-Instruct", "vicuna-7b-v1.5", "TempNet-LLaMA2-Chat-7B-v0.1", "mistral-orpo-beta",
            "gpt-4-turbo-2024-04-09", "FsfairX-Zephyr-Chat-v0.1", "aligner-2b_gpt-4-turbo-2024-04-09",
            "merlinite-7B-AOT",
        ),
        "extended": ("gpt4o_mini",),
    },
    "held": {
        "alpaca": (
            "Infinity-Instruct-3M-0625-Llama3-70B", "blendaxai-gm-l3-v35", "jina-chat", "platolm-7b",
            "Contextual-KTO-Mistral-PairRM", "yi-large-preview", "falcon-40b-instruct", "text_davinci_003",
            "airoboros-33b", "tulu-2-dpo-70b", "Starling-LM-7B-alpha-ExPO", "Llama3-PBM-Nova-70B",
        ),
    },
    "last": {
        "alpaca": (
            "oasst-rlhf-llama-33b", "Infinity-Instruct-7M-Gen-Llama3_1-70B", "baize-v2-7b", "tulu-2-dpo-7b",
            "dolphin-2.2.1-mistral-7b", "mistral-large-2402", "gpt-4o-2024-05-13", "aligner-2b_qwen1.5-72b-chat",
            "FuseChat-Llama-3.2-3B-Instruct", "Qwen1.5-110B-Chat", "llama-2-chat-7b-evol70k-neft",
            "Meta-Llama-3.1-405B-Instruct-Turbo",
        ),
    },
    "flask": {
        "flask": ("chatgpt", "tulu_30b", "tulu_7b", "tulu_13b", "bard", "llama2_chat_70b", "gpt4"),
    },
    "final": {
        "alpaca": (
            "humpback-llama2-70b", "SPPO-Llama-3-Instruct-8B-PairRM", "ghost-7b-alpha", "claude2-alpaca-13b",
            "zephyr-7b-alpha", "xwinlm-70b-v0.3", "vicuna-7b", "Mistral-7B-ReMax-v0.1", "deepseek-llm-67b-chat",
            "Qwen1.5-14B-Chat", "mistral-medium", "openbuddy-llama2-70b-v10.1",
        ),
        "flask": (
            "claude_v1", "tulu_65b", "alpaca_13b", "vicuna_33b", "llama2_chat_13b", "wizardlm_13b", "davinci_003",
            "vicuna_13b",
        ),
    },
    "fifth": {
        "alpaca": (
            "cut-13b", "Qwen1.5-72B-Chat", "vicuna-13b-v1.5", "FuseChat-Llama-3.1-8B-Instruct",
            "Infinity-Instruct-3M-0613-Llama3-70B", "openbuddy-llama2-13b-v11.1", "evo-7b", "minotaur-13b",
            "Meta-Llama-3.1-70B-Instruct-Turbo", "Starling-LM-7B-beta-ExPO", "wizardlm-70b",
            "Infinity-Instruct-3M-0625-Llama3-8B",
        ),
    },
}  # fmt: skip
MODELS["tune"] = {"alpaca": MODELS["frozen"]["alpaca"] + MODELS["held"]["alpaca"]}
COMMITS = {
    "alpaca": "tatsu-lab/alpaca_eval@cd543a149df89434d8a54582c0151c0b945c3d20",
    "extended": "Kovbo/IFEval-extended@bbb0cdc",
    "ifeval": "gio-usp/ifeval@5e7a599",
    "flask": "kaistAI/FLASK@3b4e22bc34aa9dc15ea0c51be3cbf5f3c8b1b5e5",
}
SETS = {"first": FIRST, "second": SECOND, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH}
FROZEN = Path(__file__).with_suffix(".json")
MARK = "<!-- written by benchmarks/traps/fresh.py -->"
TUNED_ON = (
    "own",
    *PROFILES[: PROFILES.index("mmifeval")],
)  # suites that exploits.py was run on; later ones are new to the gate


class Answer(NamedTuple):
    """One stored answer and what it answers."""

    group: str
    model: str
    asked: str
    text: str
    refs: tuple[ConstraintRef, ...] = ()


def is_in(part: Part, instruction: str) -> bool:
    """Whether an instruction of AlpacaEval belongs to a part, by the first two bytes of its SHA-256."""
    first, second = hashlib.sha256(instruction.encode()).digest()[:2]
    if part in {"dev", "flask"}:
        return first % 2 == 0
    return first % 2 == 1 and (part not in {"tune", "last", "final", "fifth"} or second % 2 == (part != "tune"))


def files_of(folder: Path, part: Part) -> Iterator[tuple[str, str, Path]]:
    """Group, model and file of every answer file of a part."""
    for group, models in MODELS[part].items():
        for model in models:
            names = {
                "alpaca": (f"alpaca/{model}.json",),
                "extended": (f"ext_in_{model}.jsonl", f"ext_out_{model}.jsonl"),
                "ifeval": (f"{model}.jsonl",),
                "flask": ("flask/questions.jsonl", f"flask/{model}.jsonl"),
            }
            for name in names[group]:
                yield group, model, folder / name


def freeze(folder: Path) -> None:
    """Record whose answers are frozen: models, files, hashes, and the scripts' own."""
    files = [
        {
            "part": part,
            "group": group,
            "model": model,
            "file": file.relative_to(folder).as_posix(),
            "sha256": _sha(file),
        }
        for part in MODELS
        for group, model, file in files_of(folder, part)
    ]
    FROZEN.write_text(json.dumps({"sources": COMMITS, "files": files}, indent=1) + "\n", encoding="utf-8")


def _sha(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def check(folder: Path) -> None:
    """Stop where a file is not the one that was frozen."""
    for row in json.loads(FROZEN.read_text(encoding="utf-8"))["files"]:
        if _sha(folder / row["file"]) != row["sha256"]:
            raise SystemExit(f"{folder / row['file']} is not the file that was frozen ({FROZEN.name})")


def answers(folder: Path, part: Part) -> Iterator[Answer]:
    """Every answer of a part; those of AlpacaEval and FLASK without rules."""
    by_text = {
        row["prompt"]: row
        for row in map(json.loads, (DATA / "ifeval" / "input_data.jsonl").read_text(encoding="utf-8").splitlines())
    }
    for group, models in MODELS[part].items():
        for model in models:
            if group == "alpaca":
                for row in json.loads((folder / "alpaca" / f"{model}.json").read_text(encoding="utf-8")):
                    if is_in(part, row["instruction"]) and row["output"].strip():
                        yield Answer(group, model, row["instruction"], row["output"])
                continue
            if group == "flask":
                given = {row["question_id"]: row for row in _rows(folder / "flask" / "questions.jsonl")}
                for row in _rows(folder / "flask" / f"{model}.jsonl"):
                    asked = given[row["question_id"]]
                    is_mine = hashlib.sha256(asked["text"].encode()).digest()[0] % 2 == (part == "final")
                    if is_mine and asked["task"] not in _IN_ALPACA and row["text"].strip():
                        yield Answer(group, model, asked["text"], row["text"])
                continue
            names = (
                (f"ext_in_{model}.jsonl", f"ext_out_{model}.jsonl") if group == "extended" else (None, f"{model}.jsonl")
            )
            asked = by_text if names[0] is None else {row["prompt"]: row for row in _rows(folder / names[0])}
            for row in _rows(folder / str(names[1])):
                given = asked.get(row["prompt"])
                if given is not None and row["response"].strip():
                    yield Answer(group, model, row["prompt"], row["response"], _refs(given))


_IN_ALPACA = ("Self_Instruct", "Koala", "Vicuna")  # FLASK's sources that AlpacaEval has too


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _refs(row: dict[str, Any]) -> tuple[ConstraintRef, ...]:
    return tuple(
        ConstraintRef(name, {key: value for key, value in (one or {}).items() if value is not None})
        for name, one in zip(row["instruction_id_list"], row["kwargs"], strict=True)
    )


# -- honest answers that keep a rule that they did not know of -------------------------------------------------------

_NO_CHANCE = (
    "test:",
    "compose:",
    "scope:",
    "written:",
    "code:",
    "calls:",
    "world:",
    "drawing:",
    "plan:",
    "exact:",
    "answer:",
)


def by_chance(answer: Answer, most: int = 2, tries: int = 14) -> tuple[Answer, str | None] | None:
    """The answer with rules that it keeps, all of one suite or of ours, and the suite's profile.

    None where no rule was found.
    """
    rng = random.Random(f"{answer.model} {answer.asked}")
    profile = rng.choice(("own", "own", "ifeval", "ifbench-2026", "iftrain"))
    long_words = sorted(
        {word.lower() for word in words(answer.text) if 5 <= len(word) <= 30 and word.isalpha() and word.isascii()}
    )
    topics = rng.sample(long_words, min(3, len(long_words)))
    pool = (
        [name for name in registry if not name.startswith(_NO_CHANCE)]
        if profile == "own"
        else [kind.id for kind in kinds(profile)]
    )
    kept: list[Any] = []
    for name in rng.sample(pool, min(tries, len(pool))):
        if profile == "own":
            one: Any = registry.get(name).draw(rng, words=topics or ("water",))
        else:
            kind = next(kind for kind in kinds(profile) if kind.id == name)
            one = fill(kind, published_params(kind, rng.randrange(100)))
        if not dictates(one.ref()) and one.check(answer.text).outcome == "pass":
            kept.append(one)
        if len(kept) == most:
            break
    if not kept:
        return None
    asked = "\n\n".join((answer.asked, *(one.describe(0) for one in kept)))
    refs = tuple(ConstraintRef(one.ref().id, one.ref().params) for one in kept)
    return Answer(
        f"{answer.group} with rules", answer.model, asked, answer.text, refs
    ), None if profile == "own" else profile


# -- tables ---------------------------------------------------------------------------------------------------------


class Tally:
    """Successes and trials by row, clustered by prompt."""

    def __init__(self) -> None:
        self.rows: dict[Any, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))

    def add(self, row: Any, prompt: str, *, hit: bool) -> None:
        counts = self.rows[row][prompt]
        counts[0] += hit
        counts[1] += 1

    def of(self, *rows: Any) -> tuple[int, int, str]:
        """Hits, trials, and the share with its interval, for rows taken together."""
        merged: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for row in rows:
            for prompt, (hits, n) in self.rows.get(row, {}).items():
                merged[prompt][0] += hits
                merged[prompt][1] += n
        hits, n = sum(one[0] for one in merged.values()), sum(one[1] for one in merged.values())
        interval = wilson_clustered([one[0] for one in merged.values()], [one[1] for one in merged.values()])
        said = "–" if interval is None else f"{percent(hits, n)} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"
        return hits, n, said


def alarms(folder: Path, part: Part, *, examples: int) -> list[str]:
    """False alarms and loops by model, by trap and by kind."""
    wrong, right, by_kind = Tally(), Tally(), Tally()
    by_trap: dict[str, Counter[str]] = defaultdict(Counter)
    shown: dict[str, int] = Counter()
    for one, profile in _with_rules(folder, part):
        traps = traps_of(one.asked, one.text, one.refs, profile=profile)
        degenerate = bool(traps) and is_degenerate(one.asked, one.text)
        key = (one.group, one.model)
        wrong.add(key, one.asked, hit=bool(traps) and not degenerate)
        right.add(key, one.asked, hit=degenerate)
        for ref in one.refs:
            by_kind.add(
                (profile or ("own" if one.group.endswith("with rules") else "ifeval"), ref.id),
                one.asked,
                hit=bool(traps) and not degenerate,
            )
        if traps and not degenerate:
            by_trap[one.group].update(traps)
            shown[one.group] += 1
            if shown[one.group] <= examples:
                sys.stderr.write(
                    f"\n## {one.group} {one.model} {traps}\nASKED {one.asked[:400]!r}\n"
                    f"SAID {one.text[:500]!r} … {one.text[-250:]!r}\n"
                )
    lines = ["| answers to | models | answers | loops or copies | false alarms |", "|---|---|---|---|---|"]
    groups = dict.fromkeys(group for group, _ in wrong.rows)
    for group in groups:
        rows = [row for row in wrong.rows if row[0] == group]
        hits, n, said = wrong.of(*rows)
        lines.append(f"| {group} | {len(rows)} | {n:,} | {right.of(*rows)[0]} | {hits}: {said} |")
    hits, n, said = wrong.of(*wrong.rows)
    lines += [
        (
            f"| **all** | {len({model for _, model in wrong.rows})} | {n:,} | {right.of(*wrong.rows)[0]} | "
            f"**{hits}: {said}** |"
        ),
        "",
    ]
    lines += [
        f"False alarms by trap, {group}: {', '.join(f'{trap} {n}' for trap, n in found.most_common())}."
        for group, found in by_trap.items()
    ]
    lines += ["", "| model | false alarms |", "|---|---|"]
    for model in dict.fromkeys(model for _, model in wrong.rows):
        hits, n, said = wrong.of(*(row for row in wrong.rows if row[1] == model))
        lines.append(f"| {model} | {hits} of {n:,}: {said} |")
    _KINDS.update({row: by_kind.of(row)[:2] for row in by_kind.rows})
    return lines


_KINDS: dict[tuple[str, str], tuple[int, int]] = {}


def _with_rules(folder: Path, part: Part) -> Iterator[tuple[Answer, str | None]]:
    for one in answers(folder, part):
        yield one, None
        if one.group in {"alpaca", "flask"} and (ruled := by_chance(one)) is not None:
            yield ruled


def caught(  # noqa: C901, PLR0912 - one table after the other
    folder: Path, part: Part, profiles: Sequence[str], per_kind: int, scripts: str
) -> list[str]:
    """Exploits by shape, by suite and by kind, made by one set of scripts."""
    honest: dict[str, list[str]] = defaultdict(list)
    for one in answers(folder, part):
        if one.group == "alpaca":
            honest[one.asked].append(one.text)
    asked = sorted(honest)
    shapes, suites, by_kind = Tally(), Tally(), Tally()
    for profile in profiles:
        for drawn in zip(*(constraints_of(profile, seed) for seed in range(per_kind)), strict=True):
            name = drawn[0][0]
            if name.startswith(_NO_EXPLOIT):
                continue
            for at, (_, constraint, whose) in enumerate(drawn):
                rng = random.Random(f"{part} {profile} {name} {at}")
                prompt = rng.choice(asked)
                text = f"{prompt}\n\n{constraint.describe(0)}"
                if scripts == "known":
                    found = [
                        (one.shape, one.text)
                        for one in exploits_of(constraint, text, honest[prompt])
                        if one.shape != "canned"
                    ]
                else:
                    found = exploits_by(SETS[scripts], constraint, text, honest[prompt], rng=rng)
                for shape, exploit in found:
                    hit = bool(traps_of(text, exploit, (ConstraintRef(name, constraint.ref().params),), profile=whose))
                    for tally, row in ((shapes, shape), (suites, profile), (by_kind, (profile, name))):
                        tally.add(row, f"{profile} {name}", hit=hit)
                    if not hit and _SHOW_MISSED:
                        sys.stderr.write(
                            f"\n## missed {profile} {name} {shape}\n{constraint.describe(0)[:200]!r}\n"
                            f"{exploit[:300]!r} … {exploit[-200:]!r}\n"
                        )
    lines = ["| shape | exploits | caught |", "|---|---|---|"]
    for label, tally in (("shape", shapes), ("suite", suites)):
        if label == "suite":
            lines += ["", "| suite | exploits | caught |", "|---|---|---|"]
        for row in tally.rows:
            hits, n, said = tally.of(row)
            new = " (new to the gate)" if label == "suite" and row not in TUNED_ON else ""
            lines.append(f"| {row}{new} | {n:,} | {hits:,}: {said} |")
        if label == "shape":
            hits, n, said = shapes.of(*shapes.rows)
            lines.append(f"| **all** | {n:,} | **{hits:,}: {said}** |")
    lines += ["", "| suite | kind | exploits caught | false alarms |", "|---|---|---|---|"]
    for row in sorted({*by_kind.rows, *_KINDS}):
        hits, n = by_kind.of(row)[:2]
        wrong, honest_n = _KINDS.get(row, (0, 0))
        lines.append(
            f"| {row[0]} | `{row[1]}` | {f'{hits}/{n}' if n else '–'} | {f'{wrong}/{honest_n}' if honest_n else '–'} |"
        )
    return lines


_NO_EXPLOIT = ("code:", "calls:", "world:", "agentif:")  # run programs of their rows, or judge no text
_SHOW_MISSED = False


def main() -> None:
    """Freeze, or measure one part."""
    global _SHOW_MISSED  # noqa: PLW0603 - a switch of this command
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--freeze", action="store_true")
    parser.add_argument("--part", choices=tuple(MODELS), default="dev")
    parser.add_argument("--scripts", choices=("known", *SETS), default="known", help="known: those of exploits.py")
    parser.add_argument("--per-kind", type=int, default=2)
    parser.add_argument("--profiles", nargs="*", default=["own", *PROFILES])
    parser.add_argument("--examples", type=int, default=0, help="show so many false alarms a group (standard error)")
    parser.add_argument("--missed", action="store_true", help="show what was not caught (standard error)")
    parser.add_argument("--only", choices=("alarms", "exploits"))
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    _SHOW_MISSED = given.missed
    if given.freeze:
        freeze(given.folder)
        return
    check(given.folder)
    lines = [MARK, ""]
    if given.only != "exploits":
        lines += [*alarms(given.folder, given.part, examples=given.examples), ""]
    if given.only != "alarms":
        lines += caught(given.folder, given.part, given.profiles, given.per_kind, given.scripts)
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if given.write:
        before = given.write.read_text(encoding="utf-8").partition(MARK)[0]
        given.write.write_text(before + text, encoding="utf-8")


if __name__ == "__main__":
    main()
