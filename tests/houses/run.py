"""`make test-houses`: every trainer's newest release in an environment of its own, and our doors held against it.

Only this reaches the package index. A house whose Python is not here is said, and counts as not run, never as passed.

    python tests/houses/run.py [NAME…]
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
WHERE = ROOT / "build" / "houses"
# What pip is asked for beside the package: these two need CUDA builds of what they depend on, so only their own code.
ALONE = {
    "verl": ("hydra-core", "omegaconf", "numpy"),
    "openrlhf": ("aiohttp", "pylatexenc", "sympy", "torch", "transformers<6"),
}
# Houses whose newest release the tests of every commit know how to meet, beside the one that is pinned.
TESTS = {
    "trl": (
        "tests/integration/test_trl_stage.py",
        "tests/integration/test_trl_parity.py",
        "tests/unit/train/test_trainers.py",
    )
}
PYTHONS = ("3.13", "3.12", "3.11")


def interpreters() -> dict[str, str]:
    """Pythons of this machine by version: on the path, or pyenv's."""
    found = {}
    for wanted in PYTHONS:
        pyenv = sorted(Path.home().glob(f".pyenv/versions/{wanted}.*/bin/python3"))
        path = str(pyenv[-1]) if pyenv else shutil.which(f"python{wanted}")
        if path and subprocess.run([path, "-c", ""], check=False, capture_output=True).returncode == 0:
            found[wanted] = path
    return found


def python_for(needed: str, found: dict[str, str]) -> str | None:
    least = tuple(map(int, re.findall(r"\d+", needed)))
    fits = [name for name in found if tuple(map(int, name.split("."))) >= max(least, (3, 11))]
    return found["3.12" if "3.12" in fits else fits[0]] if fits else None


def run(house: dict[str, str], found: dict[str, str]) -> str:
    """`passed`, `failed …` or `not run: …`."""
    name, package = house["name"], house["package"]
    tests = TESTS.get(name, (f"tests/houses/test_{name.replace('-', '_')}.py",))
    if not package or not all((ROOT / test).exists() for test in tests):
        return "not run: on no package index" if not package else "not run: no test"
    python = python_for(house["python"], found)
    if python is None:
        return f"not run: no Python {house['python']} here"
    place = WHERE / name
    binary = place / "bin" / "python"
    if not binary.exists():
        subprocess.run([python, "-m", "venv", str(place)], check=True)
    pip = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
    only = ["--no-deps", package] if name in ALONE else [package]
    for wanted in (only, ["pytest", "pytest-timeout", *ALONE.get(name, ())], ["-e", str(ROOT)]):
        if subprocess.run([*pip, *wanted], check=False).returncode:
            return f"failed: pip install {' '.join(wanted)}"
    show = f"import importlib.metadata as m; print(m.version({package!r}))"
    newest = subprocess.run([str(binary), "-c", show], check=True, capture_output=True, text=True).stdout.strip()
    which = ["-k", name] if name in TESTS else ["-m", "slow"]
    command = [str(binary), "-m", "pytest", "-q", *which, "-W", "ignore", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=ROOT, check=False)
    note = "" if newest == house["tested"] else f", tested was {house['tested']}: raise houses.toml"
    return f"{'passed' if done.returncode == 0 else 'failed'}: {newest}{note}"


def main(names: list[str]) -> int:
    houses = tomllib.loads((ROOT / "src/adhere/integrations/houses.toml").read_text())["houses"]
    found = interpreters()
    results = {one["name"]: run(one, found) for one in houses if not names or one["name"] in names}
    for name, said in results.items():
        sys.stdout.write(f"{name:<14} {said}\n")
    return int(any(said.startswith("failed") for said in results.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
