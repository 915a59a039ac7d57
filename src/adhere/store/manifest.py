"""Manifests: what a Run was made from and by. To resume it the spec must match; surroundings are for the record."""

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
    """Everything that can change an answer or how it is judged. Two Runs with one spec are one Run.

    `limit` is how many of the suite's prompts are asked; None is all. `cut_answers` and `slices` are the suite's;
    `mode` says whose semantics published kinds have; `random_in_reference` is the seed for what the published code
    draws at random, None leaves it undecided. `reasoning_tags` are a person's own (`text.reasoning.own_tags`).
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
        """The hash of what can change an answer; fields that came later count where they are not the default."""
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
        """A folder name: the model's name and the start of the hash."""
        return f"{slug(self.model)}-{self.sha256[:12]}"

    @property
    def is_oracle(self) -> bool:
        """Whether the answers were chosen by the verifiers that score them (`best-of-8(MODEL)`, `repair(MODEL)`)."""
        return self.engine.settings.get("oracle") is True

    def directory(self, out: Path) -> Path:
        """Where the Run of this spec lies below `out`, or would.

        Also one whose folder an earlier version named otherwise.
        """
        return place_below(
            out, slug(self.model), self.sha256, lambda folder: decode(_manifest(folder), Manifest).spec.sha256
        )


def identity(spec: Record) -> dict[str, Any]:
    """The fields of a spec that can change an answer or a verdict.

    What a server answers depends neither on the version of the library that asks it nor on how long one waits, so both
    are stored with the Run and decide nothing.
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
    """A name as part of a folder's name."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-.")[-60:] or otherwise


def place_below(out: Path, begins: str, sha256: str, sha256_of: Callable[[Path], str]) -> Path:
    """The directory `begins-HASH` of a spec below `out`.

    If there is none, one that begins alike and holds the same spec, because earlier versions hashed more of it.

    Args:
        out: Need not exist.
        begins: See `slug`.
        sha256: Of the spec.
        sha256_of: Of the spec that a directory holds; raises OSError or IntegrityError where it holds none.
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
    """`manifest.json`, written once.

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
        repository=_commit_of(Path.cwd()),
        release=platform.release(),
        processors=os.cpu_count(),
    )


@cache  # a sweep starts hundreds of Runs, and asking git and pip takes 0.1 s each time
def _own_commit() -> str | None:
    """The commit of the code that runs."""
    return git_commit(Path(adhere.__file__).parent)


@cache
def _commit_of(folder: Path) -> str | None:
    """The commit of the project around a folder."""
    return git_commit(folder, tracked_file="")


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


def git_commit(folder: Path, *, tracked_file: str = "__init__.py") -> str | None:
    """The commit that `folder` is checked out at, with `+changes` where tracked files differ; None outside of git.

    Args:
        folder: Anywhere in a checkout.
        tracked_file: A file of the folder that git must know; empty: it need not.
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
    """Each field in which two specs differ, as `sampling.temperature: stored 0.0, asked 1.0`; `labels` name the two.

    What is no part of a spec's `identity` is not compared.
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
