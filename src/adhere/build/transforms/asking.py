"""Let transforms ask a model.

Its answers are stored, so that the same transform again asks nothing twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adhere.build.draws import draw_answers
from adhere.errors import UsageError
from adhere.models.base import Model
from adhere.progress import Progress
from adhere.schema import Prompt, Sampling, Turn, content_hash


def asking(model: Model, directory: Path, progress: Progress) -> Callable[[Sequence[str]], list[str]]:
    """Return a function from requests to the model's answers, in order; each list of requests has its own folder."""

    def ask(requests: Sequence[str]) -> list[str]:
        prompts = [Prompt(f"r-{number}", (Turn(text),)) for number, text in enumerate(requests, start=1)]
        if not prompts:
            return []
        folder = directory / content_hash(list(requests))[:16]
        sampling = Sampling(max_new_tokens=256, temperature=0.7)
        draws = draw_answers(model, prompts, draws=1, sampling=sampling, directory=folder / "draws", progress=progress)
        return [draws.by_prompt[prompt.id][0].text for prompt in prompts]

    return ask


def parse_options(options: Sequence[str]) -> dict[str, Any]:
    """Read `NAME=VALUE` options; a value that is no JSON number or truth value is a text.

    Raises:
        UsageError: An option has no `=`.
    """
    by_name: dict[str, Any] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals:
            raise UsageError(f"--set {option}: must be OPTION=VALUE")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        by_name[name] = value if isinstance(value, int | float | bool) else text
    return by_name
