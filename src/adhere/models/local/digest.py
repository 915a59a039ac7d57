"""The identity of weights on disk, without torch."""

from __future__ import annotations

import hashlib
from pathlib import Path

from adhere.errors import MissingModel


def weights_sha256(directory: Path) -> str:
    """Return the sha256 (hex) of the safetensors bytes of a directory, in the order of their names.

    Raises:
        MissingModel: There is no such directory, or it holds no safetensors.
    """
    digest = hashlib.sha256()
    for file in weight_files(directory):
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def weight_files(directory: Path) -> list[Path]:
    """Return the safetensors files of a directory, by name.

    Raises:
        MissingModel: There is no such directory, or it holds no safetensors.
    """
    files = sorted(directory.glob("*.safetensors")) if directory.is_dir() else []
    if not files:
        raise MissingModel(f"{directory}: no *.safetensors there. A model directory is what `save_pretrained` writes.")
    return files


def identity_of(base: Path, adapter: Path | None) -> str:
    """Return the identity of a base with an adapter: a hash of both hashes and the adapter's config.

    Without an adapter it is the hash of the base.
    """
    if adapter is None:
        return weights_sha256(base)
    digest = hashlib.sha256()
    for part in (weights_sha256(base), weights_sha256(adapter)):
        digest.update(part.encode())
    digest.update((adapter / "adapter_config.json").read_bytes())
    return digest.hexdigest()
