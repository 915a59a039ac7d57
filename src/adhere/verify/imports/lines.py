"""Present an import as a file that `verify` reads: one line an answer, in IFEval's columns."""

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
    """Presents an import line by line; line numbers count answers.

    Args:
        path: The harness's file.
        harness_answers: What `read_import` made of it.

    Raises:
        SpecError: An answer has no text that could be judged.
    """

    def __init__(self, path: Path, harness_answers: HarnessAnswers) -> None:
        super().__init__(path)
        self.size = None
        self._harness_answers = harness_answers
        if any(answer.response is None for answer in harness_answers.answers):
            raise SpecError(
                f"{path}: holds scores of {harness_answers.task} without texts ({harness_answers.harness} asked for "
                "likelihoods, or stored verdicts only), so there is no answer to judge. "
                "adhere compare pairs such scores"
            )

    def blocks(self, size: int = 1 << 18) -> Iterator[Block]:
        lines: list[bytes] = []
        first, n_bytes = 1, 0
        for answer in self._harness_answers.answers:
            line = _as_row(answer)
            self._hash.update(line)
            self.bytes_read += len(line)
            lines.append(line)
            n_bytes += len(line)
            if n_bytes >= size:
                yield Block(first, lines)
                first, lines, n_bytes = first + len(lines), [], 0
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
