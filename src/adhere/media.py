"""Pictures and sounds of prompts: prompts name them by hash and type, and their bytes are kept once.

    picture = keep(Path("map.png").read_bytes(), "image/png")   # a Media for Turn(text, media=(picture,))
    bytes_of(picture)

A Run stores them next to its prompts (`RUN/media/SHA256.png`); opening the Run makes them available.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from adhere.errors import IntegrityError, UsageError
from adhere.schema import Media

TYPES = {
    "image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif", "audio/wav": "wav",
    "audio/mpeg": "mp3",
}  # fmt: skip
MOST_BYTES = 32 << 20
_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif", b"ID3": "audio/mpeg",
    b"\xff\xfb": "audio/mpeg",
}  # fmt: skip
_DATA_URL = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)

_bytes: dict[str, bytes] = {}
_folders: dict[Path, None] = {}


def keep(data: bytes, type: str = "") -> Media:  # noqa: A002 - the field's word
    """Keep the bytes of a file for this process; return their Media.

    Args:
        data: The file.
        type: Its media type; empty: as its first bytes say.

    Raises:
        UsageError: The file is too large, or of a type that no endpoint takes.
    """
    if len(data) > MOST_BYTES:
        raise UsageError(f"A picture or sound of {len(data):,} bytes: at most {MOST_BYTES:,} are sent")
    media_type = type.lower() or _type_of(data)
    if media_type not in TYPES:
        raise UsageError(
            f"A prompt's media must be one of {', '.join(TYPES)}; got {media_type or 'bytes of no known type'}"
        )
    digest = hashlib.sha256(data).hexdigest()
    _bytes[digest] = data
    return Media(media_type, digest)


def _type_of(data: bytes) -> str:
    if data[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12], "")
    return next((name for start, name in _BEGINNINGS.items() if data.startswith(start)), "")


def read(source: str, *, base: Path = Path()) -> Media:
    """Keep the content of a path (relative to `base`) or of a data URL; return its Media.

    Raises:
        UsageError: There is no such file, or the content is no picture or sound.
    """
    if source.startswith("data:"):
        match = _DATA_URL.match(source)
        try:
            return keep(
                base64.b64decode(source[match.end() :] if match else "", validate=True), match[1] if match else "-"
            )
        except binascii.Error as error:
            raise UsageError(f"{source[:40]}…: no base64 data URL") from error
    if "://" in source:
        raise UsageError(
            f"{source}: give a file or a data URL: what lies behind an address may change between two runs"
        )
    try:
        return keep((base / source).read_bytes())
    except OSError as error:
        raise UsageError(f"{base / source}: {error.strerror or error}") from error


def look_in(folder: Path) -> None:
    """Make `bytes_of` look for stored media in `folder`, too; a folder that does not exist is ignored."""
    if folder.is_dir():
        _folders[folder.resolve()] = None


def bytes_of(medium: Media) -> bytes:
    """Return the bytes of one medium.

    Raises:
        IntegrityError: The bytes are not found, or the file of that name was changed.
    """
    if medium.sha256 in _bytes:
        return _bytes[medium.sha256]
    for folder in _folders:
        file = folder / f"{medium.sha256}.{TYPES[medium.type]}"
        if file.is_file():
            data = file.read_bytes()
            if hashlib.sha256(data).hexdigest() != medium.sha256:
                raise IntegrityError(f"{file} was changed since it was stored: its sha256 is another")
            _bytes[medium.sha256] = data
            return data
    raise IntegrityError(
        f"The {medium.type} {medium.sha256[:12]}… of a prompt is not here: open the run that stored it, "
        "or load its suite again"
    )


def store(media: Iterable[Media], folder: Path) -> None:
    """Write each medium into a folder, once, and look for media there from now on."""
    for medium in dict.fromkeys(media):
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{medium.sha256}.{TYPES[medium.type]}"
        if not file.exists():
            part = file.with_suffix(".part")
            part.write_bytes(bytes_of(medium))
            part.replace(file)
    look_in(folder)


def base64_of(medium: Media) -> str:
    """Return the bytes in Base64, as APIs take them."""
    return base64.b64encode(bytes_of(medium)).decode()


def data_url(medium: Media) -> str:
    """Return one medium as a data URL, the form that endpoints and pages take."""
    return f"data:{medium.type};base64,{base64_of(medium)}"
