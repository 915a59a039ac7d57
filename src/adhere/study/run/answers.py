"""Pack every answer of an evaluation beside its measurement, so that a later measure needs no model.

DIR/answers/<evaluation>.jsonl.xz    a line a response: prompt_id, turn, status, text
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable
from pathlib import Path

from adhere.errors import IntegrityError
from adhere.schema import Record, Response, Status, decode, encode, write_atomic

FOLDER, ENDING = "answers", ".jsonl.xz"


class KeptAnswer(Record, frozen=True):
    """Holds one response of an evaluation, of draw 0."""

    prompt_id: str
    turn: int
    status: Status
    text: str


def keep_answers(directory: Path, name: str, responses: Iterable[Response]) -> Path:
    """Write the answers of the evaluation `name` in the order of their prompts' ids; return the file.

    The same answers give the same bytes.
    """
    rows = sorted((response for response in responses if response.draw == 0), key=lambda row: (row.prompt_id, row.turn))
    lines = b"".join(encode(KeptAnswer(row.prompt_id, row.turn, row.status, row.text)) + b"\n" for row in rows)
    file = directory / FOLDER / f"{name}{ENDING}"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(file, lzma.compress(lines))
    return file


def read_answers(file: Path) -> list[KeptAnswer]:
    """Read the answers of one evaluation.

    Raises:
        IntegrityError: The file is damaged.
    """
    try:
        return [decode(line, KeptAnswer) for line in lzma.decompress(file.read_bytes()).splitlines()]
    except (lzma.LZMAError, IntegrityError) as error:
        raise IntegrityError(f"{file}: {error}. Take it out of the records again") from error
