"""What a Run was made from and by: the spec that must match for it to be resumed, and the surroundings for the record."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

import adhere
from adhere.schema import SCHEMA_VERSION, EngineInfo, Record, Sampling, content_hash

PACKAGES = ("msgspec", "numpy", "scipy", "openvino-genai", "openvino", "torch", "transformers", "tokenizers", "trl")


class RunSpec(Record, frozen=True):
    """Everything that can change an answer or how it is judged. Two Runs with one spec are one Run.

    `limit` is how many of the suite's prompts are asked; None is all. `cut_answers` and `slices` are the suite's;
    `mode` says whose semantics published kinds have.
    """

    model: str
    engine: EngineInfo
    suite: str
    suite_version: str
    suite_sha256: str
    sampling: Sampling
    draws: int = 1
    limit: int | None = None
    cut_answers: Literal["fail", "judge"] = "judge"
    slices: tuple[str, ...] = ()
    mode: Literal["reference", "fixed"] = "reference"

    @property
    def sha256(self) -> str:
        """The hash of all fields; without `mode` where it is `reference`, so that Runs from before it was there go on."""
        fields = msgspec.to_builtins(self)
        if self.mode == "reference":
            del fields["mode"]
        return content_hash(fields)

    @property
    def id(self) -> str:
        """A folder name: the model's name and the start of the hash."""
        slug = re.sub(r"[^A-Za-z0-9.]+", "-", self.model).strip("-.")[-60:] or "model"
        return f"{slug}-{self.sha256[:12]}"


class Manifest(Record, frozen=True):
    """`manifest.json`, written once. Only `spec_sha256` and `prompts_sha256` decide whether a Run may be resumed."""

    version: int
    created: str
    adhere: str
    git_commit: str | None
    python: str
    platform: str
    packages: dict[str, str]
    n_prompts: int
    prompts_sha256: str
    spec_sha256: str
    spec: RunSpec


def new_manifest(spec: RunSpec, *, n_prompts: int, prompts_sha256: str) -> Manifest:
    """The manifest of a Run that starts now, here."""
    return Manifest(
        version=SCHEMA_VERSION,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        adhere=adhere.__version__,
        git_commit=_own_commit(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages=dict(_own_packages()),
        n_prompts=n_prompts,
        prompts_sha256=prompts_sha256,
        spec_sha256=spec.sha256,
        spec=spec,
    )


@cache  # a sweep starts hundreds of Runs, and asking git and pip takes 0.1 s each time
def _own_commit() -> str | None:
    """The commit of the code that runs."""
    return git_commit(Path(adhere.__file__).parent)


@cache
def _own_packages() -> Mapping[str, str]:
    """The packages beside it."""
    return package_versions()


def package_versions() -> dict[str, str]:
    """Versions of the packages that can change a number, as far as they are installed."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_commit(folder: Path) -> str | None:
    """The commit that `folder` is checked out at, with `+changes` where tracked files differ; None outside of git."""
    git = shutil.which("git")
    if git is None:
        return None

    def ask(*arguments: str) -> str | None:
        command = [git, "-C", str(folder), *arguments]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed package may lie below someone else's repository (a virtual environment in a project): not its commit.
    if not ask("ls-files", "--", "__init__.py"):
        return None
    commit = ask("rev-parse", "HEAD")
    return f"{commit}+changes" if commit and ask("status", "--porcelain", "--untracked-files=no") else commit


def differences(stored: Record, asked: Record, *, labels: tuple[str, str] = ("stored", "asked")) -> list[str]:
    """Each field in which two specs differ, as `sampling.temperature: stored 0.0, asked 1.0`; `labels` name the two."""
    old, new = _leaves(msgspec.to_builtins(stored)), _leaves(msgspec.to_builtins(asked))
    names = dict.fromkeys([*old, *new])
    return [
        f"{name}: {labels[0]} {_shown(old, name)}, {labels[1]} {_shown(new, name)}"
        for name in names
        if old.get(name, _leaves) != new.get(name, _leaves)
    ]


def _shown(leaves: dict[str, Any], name: str) -> str:
    return repr(leaves[name]) if name in leaves else "nothing"


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {
            name: leaf
            for key, item in value.items()
            for name, leaf in _leaves(item, f"{path}.{key}" if path else str(key)).items()
        }
    return {path: value}
