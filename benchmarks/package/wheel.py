"""`make wheel-test`: the wheel as a stranger gets it.

Builds it twice, looks into it, and installs it in a bare environment of each Python found. Prints a line for every
check and ends with 1 where one failed. Reaches the package index. `--python PATH` may be given several times;
`--no-model` leaves out the embedded model (openvino and 93 MB an environment).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = ("3.11", "3.12", "3.13")
INSIDE = {
    "py.typed": "adhere/py.typed",
    "presets": "adhere/train/recipe/presets/",
    "pages": "adhere/report/page.html.jinja",
    "styles": "adhere/report/pieces/charts.css",
    "data": "adhere/constraints/published/",
    "NOTICE": "NOTICE.txt",
    "example specs": "adhere/examples/quickstart.toml",
    "notebooks": "adhere/examples/notebooks/",
    "the other package": "adhere_if/",
}
TYPED = "import adhere\nfor verdict in adhere.check('a', []):\n    reveal_type(verdict.outcome)\nadhere.check(3, [])\n"
failed: list[str] = []


def say(is_right: object, what: str, found: str = "") -> None:
    """One line a check."""
    print(f"{'ok  ' if is_right else 'FAIL'}  {what}{'  ' + found if found else ''}", flush=True)
    if not is_right:
        failed.append(what)


def run(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command's output; never a failure by itself."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ADHERE"))}
    return subprocess.run(
        list(map(str, words)), cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, check=False
    )


def processor_s() -> float:
    """What the commands so far took of the processor: their clock says how busy the machine is, too."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pythons() -> list[str]:
    """The interpreters of VERSIONS on the path and under pyenv."""
    found = []
    for version in VERSIONS:
        under = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
        path = shutil.which(f"python{version}")
        if under or path:
            found.append(str(under[-1]) if under else str(path))
    return found


def build(tools: Path, into: Path) -> Path:
    """Two builds from one commit; the first wheel."""
    epoch = run("git", "log", "-1", "--format=%ct", cwd=ROOT).stdout.strip()
    wheels = []
    for turn in ("1", "2"):
        done = run(
            tools / "python", "-m", "build", "--wheel", "-o", into / turn, ROOT, cwd=into, SOURCE_DATE_EPOCH=epoch
        )
        if done.returncode:
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
        wheels.append(next((into / turn).glob("*.whl")))
    first, second = (hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels)
    say(first == second, "two builds, one hash", first[:16])
    done = run(tools / "python", "-m", "twine", "check", "--strict", wheels[0], cwd=into)
    say(
        done.returncode == 0,
        "twine check --strict",
        done.stdout.strip().splitlines()[-1] if done.stdout else done.stderr,
    )
    return wheels[0]


def look_inside(wheel: Path) -> None:
    """What must be in it, and what must not."""
    names = zipfile.ZipFile(wheel).namelist()
    say(names, wheel.name, f"{wheel.stat().st_size / 1e6:.1f} MB, {len(names)} files")
    for what, where in INSIDE.items():
        count = sum(where in name for name in names)
        say(count > 0, f"holds {what}", f"{count} of {where}")
    strays = [name for name in names if name.startswith(("tests/", "docs/", "benchmarks/")) or name.endswith(".pyc")]
    say(not strays, "holds nothing else", ", ".join(strays[:3]))


def bare(python: str, wheel: Path, place: Path, tools: Path, *, with_model: bool) -> None:
    """Install into an environment of its own and use it as a stranger does."""
    start, before = time.monotonic(), processor_s()
    place.mkdir()
    venv = place / "venv"
    run(python, "-m", "venv", venv, cwd=place)
    bin_ = venv / "bin"
    version = run(bin_ / "python", "-c", "import sys; print(sys.version.split()[0])", cwd=place).stdout.strip()
    done = run(bin_ / "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=place)
    say(
        done.returncode == 0, f"{version}: pip install adhere", f"{time.monotonic() - start:.0f} s {done.stderr[-300:]}"
    )
    done = run(bin_ / "pip", "check", cwd=place)
    say(done.returncode == 0, f"{version}: pip check", done.stdout.strip())
    told = run(bin_ / "adhere", "--version", cwd=place).stdout.strip()
    say(told.endswith(wheel.name.split("-")[1]), f"{version}: adhere --version", told)
    listed = run(bin_ / "adhere", "example", cwd=place).stdout
    done = run(bin_ / "adhere", "example", "quickstart", cwd=place)
    say(
        (place / "quickstart.toml").is_file(),
        f"{version}: adhere example quickstart",
        f"{len(listed.splitlines())} lines listed",
    )
    measure(f"{version}: eval scripted/echo", bin_, place, "scripted/echo", start)
    if with_model:
        done = run(bin_ / "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[local]", cwd=place)
        say(
            done.returncode == 0, f"{version}: pip install adhere[local]", done.stderr[-300:] if done.returncode else ""
        )
        done = run(bin_ / "adhere", "fetch", "local/smollm2-135m", cwd=place, ADHERE_CACHE=str(place / "cache"))
        say(
            done.returncode == 0,
            f"{version}: adhere fetch local/smollm2-135m",
            done.stderr.strip()[-300:] if done.returncode else "",
        )
        measure(f"{version}: eval local/smollm2-135m", bin_, place, "local/smollm2-135m", start)
        spent, wall = processor_s() - before, time.monotonic() - start
        told = (
            f"{wall:.0f} s of clock, {spent:.0f} s of processor, load {os.getloadavg()[0]:.0f} on "
            f"{os.cpu_count()} cores"
        )
        say(spent < 180, f"{version}: from nothing to a number in three minutes of processor", told)
    (place / "typed.py").write_text(TYPED)
    done = run(tools / "python", "-m", "mypy", "--python-executable", bin_ / "python", "typed.py", cwd=place)
    is_seen = 'Revealed type is "' in done.stdout and "Any" not in done.stdout and "[arg-type]" in done.stdout
    say(is_seen, f"{version}: mypy sees its types", done.stdout.strip().splitlines()[0] if done.stdout else done.stderr)


def measure(what: str, bin_: Path, place: Path, model: str, start: float) -> None:
    """A pass rate of twenty prompts."""
    done = run(
        bin_ / "adhere",
        "eval",
        model,
        "--suite",
        "core",
        "--limit",
        "20",
        "--out",
        place / "runs",
        cwd=place,
        ADHERE_CACHE=str(place / "cache"),
    )
    rate = [line.strip() for line in done.stdout.splitlines() if "prompts passed (strict)" in line][:1]
    say(
        bool(rate),
        what,
        f"{rate[0] if rate else done.stderr[-300:]}  ({time.monotonic() - start:.0f} s since the start)",
    )


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", help="An interpreter; else those found.")
    parser.add_argument("--no-model", action="store_true", help="Leave out the embedded model.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="adhere-wheel-") as folder:
        work = Path(folder)
        run(sys.executable, "-m", "venv", work / "tools", cwd=work)
        tools = work / "tools" / "bin"
        done = run(tools / "pip", "install", "-q", "build", "twine", "mypy", cwd=work)
        if done.returncode:
            sys.exit(done.stderr)
        wheel = build(tools, work)
        look_inside(wheel)
        for python in asked.python or pythons():
            bare(python, wheel, work / f"env-{Path(python).parents[1].name}", tools, with_model=not asked.no_model)
    print(f"{len(failed)} failed: {', '.join(failed)}" if failed else "all right")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
