"""Read a file of answers as Responses, for callers that store them as a Run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adhere.errors import SpecError
from adhere.progress import Silent
from adhere.schema import Response
from adhere.suites.base import Suite
from adhere.verify.answers import open_answers
from adhere.verify.rows import Desk, Settings


def responses_of(path: Path, suite: Suite, *, draws: int = 1) -> Iterator[Response]:
    """Yield the answers of a file to the prompts of a suite.

    Args:
        path: What `adhere verify` takes: JSON lines with `response` and `key` or `prompt`, or a log of lm-eval, inspect
            or EvalScope.
        suite: The suite that was asked.
        draws: The most answers to take for each prompt: those with the lowest draw numbers.

    Raises:
        UsageError: There is no such file.
        SpecError: A row cannot be used, or two rows answer the same turn in the same draw; the message names file and
            line.
    """
    file = open_answers(path, Silent())
    desk = Desk(suite, Settings(), file.name)
    lines: dict[tuple[str, int, int], int] = {}
    for block in file.blocks():
        for line, data in block.lines():
            for response in desk.responses(line, data):
                first = lines.setdefault(response.key, line)
                if first != line:
                    raise SpecError(
                        f"{file.name}: lines {first} and {line} both answer prompt {response.prompt_id!r} "
                        f"(draw {response.draw}). Give the second draw = 1, or take one of them out"
                    )
                if response.draw < draws:
                    yield response
