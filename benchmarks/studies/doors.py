"""Simulated studies through the doors that `adhere study` has: files of answers, a server, folders, a stage that is a command.

    python -m benchmarks.studies.doors [--studies 20] [--doors files endpoint folders command]

Behind files and a server passes are planted as in `referee`: five seeds, half of the studies without a difference and
half with one of 0.15. Each interval must be that of `fit_crossed` on the planted table, else this ends with an
error. Folders hold tiny random checkpoints, each moved at random, so no arm is better; a command makes such a folder.
`referee` says how often the rule itself errs; this says that a door changes nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from benchmarks.studies.coverage import HARDNESS, OWN, SPREADS, world
from scipy.special import ndtr

from adhere.stats import fit_crossed
from adhere.testing import FakeEndpoint, FakeModel

SEEDS, PROMPTS, EFFECT = 5, 60, 0.15
PASSES, FAILS = "That is so", "That, then, is so"
SPEC = """
name = "doors"
seeds = [0, 1, 2, 3, 4]
{start}
[evaluation]
suite_tokens = {{ my = 12 }}
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "my:prompts.jsonl"
{arms}
"""
MOVE = """
import shutil, sys
import numpy as np
from safetensors.numpy import load_file, save_file  # torch takes seconds to import, and this runs 400 times
start, out, seed = sys.argv[1:]
shutil.copytree(start, out, dirs_exist_ok=True)
moved, weights = np.random.default_rng(int(seed)), load_file(start + "/model.safetensors")
noisy = {k: v + v.dtype.type(0.02) * moved.standard_normal(v.shape).astype(v.dtype) for k, v in sorted(weights.items())}
save_file(noisy, out + "/model.safetensors", metadata={"format": "pt"})
"""


def plant(rng: np.random.Generator, effect: float) -> dict[str, np.ndarray]:
    """Return of each arm which prompt passes at which seed (S, P)."""
    known = world(HARDNESS["aligned"], np.random.default_rng(0))
    slope = (known.difference(0.02) - known.difference(-0.02)) / 0.04
    base_P, own_P = HARDNESS["aligned"] * rng.normal(size=PROMPTS), OWN * rng.normal(size=PROMPTS)
    half_SP = (own_P + rng.normal(effect / slope, SPREADS["large"] / slope, size=(SEEDS, 1))) / 2
    return {arm: rng.random((SEEDS, PROMPTS)) < ndtr(base_P + sign * half_SP) for arm, sign in (("a", -1), ("b", 1))}


def study(arms: str, start: str = "") -> dict[str, float | str]:
    """Run a study in this folder, and return its answer."""
    Path("doors.toml").write_text(SPEC.format(arms=arms, start=start))
    command = [sys.executable, "-m", "adhere", "study", "doors.toml", "--out", "out", "--json"]
    ran = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, float | str] = json.loads(ran.stdout)
    return found


def arms_of(line: str) -> str:
    return "\n".join(f'[[arms]]\nname = "{arm}"\n{line.replace("ARM", arm)}' for arm in "ab")


def ask_files(passes: dict[str, np.ndarray]) -> dict[str, float | str]:
    for arm, passes_SP in passes.items():
        for seed, passes_P in enumerate(passes_SP):
            rows = [{"key": key, "response": PASSES if ok else FAILS} for key, ok in enumerate(passes_P)]
            Path(f"{arm}-{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return study(arms_of('answers = "ARM-{seed}.jsonl"'))


def ask_endpoint(passes: dict[str, np.ndarray]) -> dict[str, float | str]:
    def model(passes_P: np.ndarray) -> FakeModel:
        return FakeModel(answer=lambda text: PASSES if passes_P[int(text.split()[-1])] else FAILS)

    models = {f"{arm}-{seed}": model(passes[arm][seed]) for arm in passes for seed in range(SEEDS)}
    with FakeEndpoint(models) as server:
        return study(arms_of(f'models = "{server.url}#ARM-{{seed}}"'))


def ask_folders(start: Path, root: int) -> dict[str, float | str]:
    script = Path("move.py")
    script.write_text(MOVE)
    for arm in "ab":
        for seed in range(SEEDS):
            number = str(root + 100 * (arm == "b") + seed)
            subprocess.run([sys.executable, script, start, f"{arm}-{seed}", number], check=True, capture_output=True)
    return study(arms_of('models = "hf/ARM-{seed}"'))


def ask_command(start: Path, root: int) -> dict[str, float | str]:
    Path("move.py").write_text(MOVE.replace("int(seed)", f"int(seed) + {root}"))
    stages = "\n".join(
        f'[stages.{arm}]\nmethod = "command"\nsources = ["move.py"]\n'
        f'command = ["{sys.executable}", "move.py", "{{start}}", "{{out}}", "{extra}{{seed}}"]'
        for arm, extra in (("train-a", "1"), ("train-b", "2"))
    )
    return study(stages + "\n" + arms_of('stages = ["train-ARM"]'), start=f'start = "hf/{start}"')


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        rows = [
            {
                "key": i,
                "prompt": f"Write about thing {i}",
                "instruction_id_list": ["punctuation:no_comma"],
                "kwargs": [{}],
            }
            for i in range(PROMPTS)
        ]
        Path("prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        yield


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=20, help="through each door [20]")
    parser.add_argument("--doors", nargs="+", default=["files", "endpoint", "folders", "command"])
    parser.add_argument("--start", type=Path, help="a folder with a tiny model, for folders and command")
    asked = parser.parse_args()
    print("| door | studies | YES without a difference | YES with one of 0.15 | interval holds it | seconds a study |")
    print("|---|---|---|---|---|---|", flush=True)
    start = None if asked.start is None else asked.start.resolve()
    for door in asked.doors:
        yes, held, began = [0, 0], 0, time.perf_counter()
        planted = door in {"files", "endpoint"}
        for number in range(asked.studies):
            with_effect = planted and number % 2
            with _folder():
                if planted:
                    passes = plant(np.random.default_rng([7, number]), EFFECT * with_effect)
                    found = (ask_files if door == "files" else ask_endpoint)(passes)
                    fit = fit_crossed(passes["b"].astype(float) - passes["a"].astype(float))
                    assert fit is not None
                    interval = fit.interval()
                    wanted = (fit.value, interval.low, interval.high)
                    assert np.allclose(
                        [float(found[name]) for name in ("difference", "low", "high")], wanted, atol=1e-9
                    )
                else:
                    assert start is not None, f"the door {door} needs --start"
                    found = (ask_folders if door == "folders" else ask_command)(start, 1000 * number)
            yes[bool(with_effect)] += found["answer"] == "YES"
            held += float(found["low"]) <= EFFECT * with_effect <= float(found["high"])
        without = asked.studies - asked.studies // 2 * planted
        many = f"{yes[1]} of {asked.studies - without}" if planted else "–"
        seconds = (time.perf_counter() - began) / asked.studies
        print(f"| {door} | {asked.studies} | {yes[0]} of {without} | {many} | {held} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
