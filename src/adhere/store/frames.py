"""Turn stored runs into a table for pandas or Polars: a row a prompt, an answer or a constraint.

| level | a row is | `strict`, `loose` |
|---|---|---|
| `prompt` | a prompt | the share of its draws that keep every constraint of every turn |
| `answer` | an answer, failed calls too | whether it keeps every constraint of its turn |
| `constraint` | a constraint of an answer | its outcome, `pass`, `fail` or `undecided` |

Nothing is filled in: what was not measured is missing.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from adhere.errors import MissingExtra, one_of
from adhere.schema import Outcome, Prompt, Response, Verdict
from adhere.store.manifest import RunSpec
from adhere.text.words import count_words

Level = Literal["prompt", "constraint", "answer"]
LEVELS: tuple[Level, ...] = get_args(Level)
LIBRARIES = ("pandas", "polars")
_Key = tuple[str, int, int]


class StoredAnswers(Protocol):
    """Declares the parts of a Run that are read."""

    directory: Path

    @property
    def spec(self) -> RunSpec:
        """The Run's spec."""

    def parts(self) -> Iterator[Any]:
        """Yield the Run's shards, or the Run itself."""


def frame_of(
    runs: StoredAnswers | Sequence[StoredAnswers], *, level: Level = "prompt", library: str | None = None
) -> Any:
    """Return runs as one DataFrame.

    Args:
        runs: One run, or several, which the columns `model` and `run` tell apart.
        level: See this module.
        library: `pandas` or `polars`; None: the first that is installed.

    Raises:
        UsageError: There is no such level or library.
        MissingExtra: Neither library is installed, or not the one that is asked for.
    """
    one_of(level, LEVELS, "level")
    several: list[Any] = list(runs) if isinstance(runs, list | tuple) else [runs]
    make = _library(library)
    return make.DataFrame([row for run in several for row in rows_of(run, level)])


def rows_of(run: StoredAnswers, level: Level) -> Iterator[dict[str, Any]]:
    """Yield the rows of one run."""
    for part in run.parts():
        prompts = {prompt.id: prompt for prompt in part.prompts()}
        outcomes: dict[_Key, dict[int, dict[str, Verdict]]] = defaultdict(lambda: defaultdict(dict))
        for verdict in part.verdicts():
            outcomes[verdict.prompt_id, verdict.turn, verdict.draw][verdict.index][verdict.view] = verdict
        about = {"run": str(run.directory), "model": run.spec.model, "suite": run.spec.suite}
        responses = part.responses()
        if level == "prompt":
            yield from (about | row for row in _prompt_rows(prompts, responses, outcomes, run.spec.draws))
            continue
        for response in responses:
            prompt = prompts[response.prompt_id]
            row = about | {
                "slice": prompt.tags.get("slice", ""),
                "prompt_id": response.prompt_id,
                "turn": response.turn,
                "draw": response.draw,
                "status": response.status,
            }
            if level == "answer":
                yield row | _answer_row(prompt, response, outcomes[response.key])
            else:
                yield from (row | more for more in _constraint_rows(prompt, response, outcomes[response.key]))


def _answer_row(prompt: Prompt, response: Response, verdicts: Mapping[int, Mapping[str, Verdict]]) -> dict[str, Any]:
    return {
        "strict": _keeps(prompt, response, verdicts, "strict"),
        "loose": _keeps(prompt, response, verdicts, "loose"),
        "words": count_words(response.text) if response.status != "error" else None,
        "text": response.said,
        "latency_s": response.latency_s,
    }


def _constraint_rows(
    prompt: Prompt, response: Response, verdicts: Mapping[int, Mapping[str, Verdict]]
) -> Iterator[dict[str, Any]]:
    for index, ref in enumerate(prompt.turns[response.turn].constraints):
        views = verdicts.get(index, {})
        outcomes: dict[str, Outcome | None] = {
            view: views[view].outcome if view in views else None for view in ("strict", "loose")
        }
        reason = views["strict"].reason if "strict" in views else response.error
        yield {"index": index, "constraint": ref.id, **outcomes, "reason": reason}


def _prompt_rows(
    prompts: Mapping[str, Prompt],
    responses: Sequence[Response],
    outcomes: Mapping[_Key, Mapping[int, Mapping[str, Verdict]]],
    draws: int,
) -> Iterator[dict[str, Any]]:
    by_key = {response.key: response for response in responses}
    for prompt in prompts.values():
        rates: dict[str, float | None] = {}
        for view in ("strict", "loose"):
            keeps: list[bool | None] = []
            for draw in range(draws):
                turns = [
                    _keeps(prompt, by_key.get((prompt.id, turn, draw)), outcomes.get((prompt.id, turn, draw), {}), view)
                    for turn in range(len(prompt.turns))
                ]
                keeps.append(False if False in turns else None if None in turns else True)
            rates[view] = None if None in keeps else sum(map(bool, keeps)) / draws
        statuses = [by_key[key].status for key in by_key if key[0] == prompt.id]
        yield {
            "slice": prompt.tags.get("slice", ""),
            "prompt_id": prompt.id,
            "draws": draws,
            "answered": sum(status != "error" for status in statuses),
            **rates,
            "text": prompt.text,
        }


def _keeps(
    prompt: Prompt, response: Response | None, verdicts: Mapping[int, Mapping[str, Verdict]], view: str
) -> bool | None:
    """Tell whether an answer keeps every constraint of its turn; None if that was not measured."""
    if response is None or response.status == "error":
        return None
    n_constraints = len(prompt.turns[response.turn].constraints)
    outcomes = [verdicts[index][view].outcome for index in range(n_constraints) if view in verdicts.get(index, {})]
    if "fail" in outcomes:
        return False
    return True if len(outcomes) == n_constraints and all(outcome == "pass" for outcome in outcomes) else None


def _library(name: str | None) -> Any:
    chosen = LIBRARIES if name is None else (one_of(name, LIBRARIES, "library"),)
    for library in chosen:
        try:
            return importlib.import_module(library)
        except ModuleNotFoundError:
            continue
    raise MissingExtra(f"A frame needs {' or '.join(chosen)}, which is not installed. Run: pip install {chosen[0]}")
