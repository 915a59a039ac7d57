"""Record what a Run was made from and by. To resume it, the spec must match; the rest is for the record."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

import adhere
from adhere.errors import IntegrityError
from adhere.schema import SCHEMA_VERSION, CutAnswers, EngineInfo, Mode, Record, Sampling, content_hash, decode
from adhere.store.files import read_regular

PACKAGES = (
    "msgspec", "numpy", "scipy", "openvino-genai", "openvino", "torch", "transformers", "tokenizers", "trl", "vllm",
    "accelerate", "peft", "spacy", "janome",
)  # fmt: skip


class RunSpec(Record, frozen=True):
    """Holds everything that can change an answer or how it is judged. Two Runs with one spec are one Run.

    `limit` is how many of the suite's prompts are asked; None is all. `cut_answers` and `slices` are the suite's.
    `mode` is `reference` (published kinds are judged as the published code does) or `fixed`. `random_in_reference` is
    the seed for numbers that the published code draws at random; None leaves such verdicts undecided. `reasoning_tags`
    are the user's own (`text.reasoning.own_tags`).
    """

    model: str
    engine: EngineInfo
    suite: str
    suite_version: str
    suite_sha256: str
    sampling: Sampling
    draws: int = 1
    limit: int | None = None
    cut_answers: CutAnswers = "judge"
    slices: tuple[str, ...] = ()
    mode: Mode = "reference"
    random_in_reference: int | None = None
    reasoning_tags: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of what can change an answer; fields added later count only if they are not the default."""
        fields = identity(self)
        if self.mode == "reference":
            del fields["mode"]
        if self.random_in_reference is None:
            del fields["random_in_reference"]
        if not self.reasoning_tags:
            del fields["reasoning_tags"]
        return content_hash(fields)

    @property
    def id(self) -> str:
        """Name for a folder: the model's name and the start of the hash."""
        return f"{slug(self.model)}-{self.sha256[:12]}"

    @property
    def is_oracle(self) -> bool:
        """Whether the answers were chosen by the verifiers that score them (`best-of-8(MODEL)`, `repair(MODEL)`)."""
        return self.engine.settings.get("oracle") is True

    def directory(self, out: Path) -> Path:
        """Return the directory of this spec's Run below `out`, existing or not.

        A folder that an earlier version named otherwise is found too.
        """
        return place_below(
            out, slug(self.model), self.sha256, lambda folder: decode(_manifest(folder), Manifest).spec.sha256
        )


def identity(spec: Record) -> dict[str, Any]:
    """Return the fields of a spec that can change an answer or a verdict.

    The answers of a server depend neither on the version of the library that asks, nor on how long it waits. Both are
    stored with the Run, but left out here.
    """
    fields: dict[str, Any] = msgspec.to_builtins(spec)
    engine = fields.get("engine")
    if engine is not None and engine["settings"].get("batch_invariant") in {"no", "yes"}:  # said of it, no choice
        engine["settings"] = {name: value for name, value in engine["settings"].items() if name != "batch_invariant"}
    if engine is not None and engine["name"] == "endpoint":
        settings = {name: value for name, value in engine["settings"].items() if name != "total_s"}
        fields["engine"] = {**engine, "version": "", "settings": settings}
    return fields


def slug(name: str, otherwise: str = "model") -> str:
    """Return a name as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[-60:] or otherwise


def place_below(out: Path, begins: str, sha256: str, sha256_of: Callable[[Path], str]) -> Path:
    """Return the directory `begins-HASH` of a spec below `out`.

    If there is none, a directory that begins alike and holds the same spec is returned, for earlier versions hashed
    more fields.

    Args:
        out: The folder above, which need not exist.
        begins: How the name begins; see `slug`.
        sha256: Hash of the spec.
        sha256_of: Returns the hash of the spec in a directory; raises OSError or IntegrityError if there is none.
    """
    directory = out / f"{begins}-{sha256[:12]}"
    if directory.exists():
        return directory
    for candidate in sorted(out.glob(f"{begins}-" + "[0-9a-f]" * 12)):
        try:
            if sha256_of(candidate) == sha256:
                return candidate
        except (OSError, IntegrityError):
            continue
    return directory


def _manifest(directory: Path) -> bytes:
    return read_regular(directory / "manifest.json")


class Manifest(Record, frozen=True):
    """Holds `manifest.json`, written once.

    Only the spec's `identity` and `prompts_sha256` decide whether a Run may be resumed. `git_commit` is that of this
    package's code, `repository` that of the project in whose folder the Run was started; `+changes` where tracked files
    differ, None outside of git. `platform` and `release` are the operating system's. No path and no host name is in it.
    """

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
    repository: str | None = None
    release: str | None = None
    processors: int | None = None


def new_manifest(spec: RunSpec, *, n_prompts: int, prompts_sha256: str) -> Manifest:
    """Return the manifest of a Run that starts now, on this machine."""
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
        repository=_commit_of(Path.cwd()),
        release=platform.release(),
        processors=os.cpu_count(),
    )


@cache  # a sweep starts hundreds of Runs, and asking git and pip takes 0.1 s each time
def _own_commit() -> str | None:
    """Return the commit of the running code."""
    return git_commit(Path(adhere.__file__).parent)


@cache
def _commit_of(folder: Path) -> str | None:
    """Return the commit of the project around a folder."""
    return git_commit(folder, tracked_file="")


@cache
def _own_packages() -> Mapping[str, str]:
    """Return the packages of this environment, with their versions."""
    return package_versions()


def package_versions() -> dict[str, str]:
    """Return the versions of the installed packages that can change a number."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_commit(folder: Path, *, tracked_file: str = "__init__.py") -> str | None:
    """Return the commit at which `folder` is checked out, with `+changes` if tracked files differ; None outside of git.

    Args:
        folder: Anywhere in a checkout.
        tracked_file: A file of the folder that git must track; empty: none need be.
    """
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
    if tracked_file and not ask("ls-files", "--", tracked_file):
        return None
    commit = ask("rev-parse", "HEAD")
    return f"{commit}+changes" if commit and ask("status", "--porcelain", "--untracked-files=no") else commit


def differences(stored_spec: Record, asked_spec: Record, *, labels: tuple[str, str] = ("stored", "asked")) -> list[str]:
    """List the fields in which two specs differ, as `sampling.temperature: stored 0.0, asked 1.0`.

    `labels` name the two specs. Fields that are no part of `identity` are not compared.
    """
    old, new = _leaves(identity(stored_spec)), _leaves(identity(asked_spec))
    names = dict.fromkeys([*old, *new])
    return [
        f"{name}: {labels[0]} {_show(old, name)}, {labels[1]} {_show(new, name)}"
        for name in names
        if old.get(name, _leaves) != new.get(name, _leaves)
    ]


def _show(leaves: dict[str, Any], name: str) -> str:
    return repr(leaves[name]) if name in leaves else "nothing"


def _leaves(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {
            name: leaf
            for key, item in value.items()
            for name, leaf in _leaves(item, f"{path}.{key}" if path else str(key)).items()
        }
    return {path: value}
