"""`adhere doctor`."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click

from adhere.cli.options import EXISTING_FOLDER, flag, option
from adhere.errors import IntegrityError, UsageError
from adhere.schema import encode
from adhere.terminal import show

PACKAGES = {
    "core": (
        "msgspec", "numpy", "scipy", "click", "rich", "jinja2", "langdetect-rs", "aiohttp", "xlsxwriter", "zstandard",
    ),
    "local": ("openvino-genai",),
    "claims": ("lxml", "pdfplumber"),
    "parquet": ("duckdb",),
    "train": ("torch", "transformers", "gguf", "safetensors", "accelerate"),
}  # fmt: skip


@click.command("doctor")
@click.argument("directories", type=EXISTING_FOLDER, nargs=-1, metavar="[DIR]...")
@option("--trainer", metavar="NAME", help="Which release of a trainer or harness was tested, and what is here.")
@flag("--json", "as_json", help="Print one JSON object.")
def command(directories: tuple[Path, ...], trainer: str | None, as_json: bool) -> None:
    """Say what this machine and installation can do, and what is missing with the command that brings it.

    With a DIR: compare every run in it (also those of sweeps and studies) with its seals, and say what was changed
    since.
    """
    from adhere import __version__

    if trainer is not None:
        from adhere.integrations.houses import house_of, house_text

        house = house_of(trainer)
        facts = {**house._asdict(), "installed": house.installed, "doors": [door._asdict() for door in house.doors]}
        show(encode(facts) if as_json else house_text(house))
        return
    if directories:
        _examine(directories, as_json=as_json)
        return
    facts = {
        "adhere": __version__,
        "python": sys.version.split()[0],
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb_available": _available_gb(),
        "disk_gb_free": round(shutil.disk_usage(Path.cwd()).free / 1e9, 1),
        "packages": {extra: {name: _version(name) for name in names} for extra, names in PACKAGES.items()},
        "models": _models(),
        "sandbox": _sandbox(),
    }
    show(encode(facts) if as_json else "\n".join(_lines(facts)))


def _examine(directories: tuple[Path, ...], *, as_json: bool) -> None:
    """Print for every Run what was changed; exit 5 if anything was."""
    from adhere.store.seals.examine import examine

    examinations = {
        str(path): examination for directory in directories for path, examination in examine(directory).items()
    }
    if not examinations:
        raise UsageError(f"No run is stored in {', '.join(map(str, directories))} (adhere list runs)")
    if as_json:
        show(encode([{"run": path, **examination._asdict()} for path, examination in examinations.items()]))
    else:
        for path, examination in examinations.items():
            head = f", seal {examination.seals}: {examination.head[:16]}" if examination.seals else ""
            show(
                "\n".join([f"{path}: {examination.state}{head}", *(f"  {problem}" for problem in examination.problems)])
            )
    if changed_paths := [path for path, examination in examinations.items() if examination.state == "changed"]:
        raise IntegrityError(f"{len(changed_paths)} of {len(examinations)} runs are not as they were sealed")


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _available_gb() -> float | None:
    """Return the memory that a new process may take, in GB; None if the system does not say."""
    meminfo = Path("/proc/meminfo")
    if not meminfo.exists():
        return None
    for line in meminfo.read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return round(int(line.split()[1]) * 1024 / 1e9, 1)
    return None


def _models() -> dict[str, str]:
    from adhere.models.catalog import known_models

    return {row["name"]: row["state"] for row in known_models() if row["name"].startswith("local/")}


def _sandbox() -> dict[str, Any]:
    """Return what isolates code that a model wrote, and the outcome of each attempt to get out."""
    from adhere.sandbox import backend
    from adhere.sandbox.escapes import ESCAPES, attempt_escape, is_contained, next_call_is_unharmed

    isolation = backend()
    if isolation.startswith("none"):
        return {"backend": isolation, "attempts": {}, "escaped": [], "next_call_unharmed": None}
    outcomes = {escape: attempt_escape(escape) for escape in ESCAPES}
    return {
        "backend": isolation,
        "attempts": {escape.name: outcome.status for escape, outcome in outcomes.items()},
        "escaped": [escape.name for escape, outcome in outcomes.items() if not is_contained(escape, outcome)],
        "next_call_unharmed": next_call_is_unharmed(),
    }


def _sandbox_lines(sandbox: dict[str, Any]) -> list[str]:
    lines = [f"{'sandbox':20} {sandbox['backend']}"]
    if not sandbox["attempts"]:
        return [*lines, f"{'':20} code that a model wrote is refused here"]
    total, escapes = len(sandbox["attempts"]), sandbox["escaped"]
    lines.append(f"{'':20} {total - len(escapes)} of {total} attempts to get out contained")
    if escapes or not sandbox["next_call_unharmed"]:
        lines.append(
            f"{'':20} ESCAPED: {', '.join(escapes) or 'a later call was changed'}. Do not run untrusted checks here"
        )
    return lines


def _lines(facts: dict[str, Any]) -> list[str]:
    lines = [f"{name:20} {facts[name]}" for name in ("adhere", "python", "system", "cores")]
    memory = facts["memory_gb_available"]
    lines.append(f"{'memory available':20} {'–' if memory is None else memory} GB")
    lines.append(f"{'disk free':20} {facts['disk_gb_free']} GB")
    for extra, packages in facts["packages"].items():
        missing = [name for name, version in packages.items() if version is None]
        have = ", ".join(f"{name} {version}" for name, version in packages.items() if version is not None)
        lines.append(f"{'extra ' + extra if extra != 'core' else 'core':20} {have or '–'}")
        if missing:
            lines.append(f"{'':20} missing: {', '.join(missing)}. Run: {_command(extra)}")
    lines += [f"{name:20} {state}" for name, state in facts["models"].items()]
    lines += _sandbox_lines(facts["sandbox"])
    return lines


def _command(extra: str) -> str:
    """Return the command that installs an extra: in a checkout with tested versions, else from the registry."""
    root = Path(__file__).parents[3]
    if (root / "constraints.txt").is_file() and (root / "pyproject.toml").is_file():
        return f"pip install -e '{root}[{extra}]' -c {root / 'constraints.txt'}"
    return f"pip install 'adhere[{extra}]'"
