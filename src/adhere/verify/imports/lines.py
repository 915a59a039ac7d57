"""An import as `verify` reads files: one line an answer, in IFEval's columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from adhere.errors import SpecError
from adhere.integrations.shared.imported import HarnessAnswers, ImportedAnswer
from adhere.lines.blocks import Block, LineFile
from adhere.verify.rows import ResponseRow


class ImportedFile(LineFile):
    """An import, line by line. Line numbers count answers.

    Args:
        path: Of the harness's file.
        found: What `read_import` made of it.

    Raises:
        SpecError: An answer has no text that could be judged.
    """

    def __init__(self, path: Path, found: HarnessAnswers) -> None:
        super().__init__(path)
        self.size = None
        self._found = found
        if any(answer.response is None for answer in found.answers):
            raise SpecError(
                f"{path}: holds scores of {found.task} without texts ({found.harness} asked for likelihoods, "
                "or stored verdicts only), so there is no answer to judge. adhere compare pairs such scores"
            )

    def blocks(self, size: int = 1 << 18) -> Iterator[Block]:
        """See LineFile."""
        lines: list[bytes] = []
        first, held = 1, 0
        for answer in self._found.answers:
            line = _as_row(answer)
            self._hash.update(line)
            self.bytes_read += len(line)
            lines.append(line)
            held += len(line)
            if held >= size:
                yield Block(first, lines)
                first, lines, held = first + len(lines), [], 0
        if lines:
            yield Block(first, lines)


def _as_row(answer: ImportedAnswer) -> bytes:
    row = ResponseRow(
        key=answer.key,
        prompt=answer.prompt,
        response=answer.response,
        reasoning=answer.reasoning,
        status=answer.status,
        draw=answer.draw,
        tool_calls=[msgspec.to_builtins(call) for call in answer.calls] or None,
    )
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:  # lone surrogates
        return json.dumps(msgspec.to_builtins(row)).encode() + b"\n"
