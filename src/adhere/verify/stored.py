"""Read what somebody measured, whoever stored it: pass or fail by prompt, ready to be paired.

It reads our verdict files (`adhere verify --verdicts`), IFEval's own, the files of other harnesses (`imports`), and
plain answers, which a suite judges first.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import SpecError, UsageError, nearest
from adhere.lines.blocks import LineFile
from adhere.pipeline.outcomes import keeps_all
from adhere.schema import Outcome, View
from adhere.suites.base import Suite
from adhere.verify.answers import verify
from adhere.verify.imports import HarnessAnswers, read_import

# Scores of a whole prompt, as harnesses name them; the first that a file has is taken.
PROMPT_SCORES: Mapping[View, tuple[str, ...]] = {
    "strict": ("prompt_level_strict_acc", "prompt_level_strict", "prompt_strict", "is_strict_correct", "final_acc",
        "exact_match", "acc", "accuracy", "correct", "is_correct", "success"),
    "loose": ("prompt_level_loose_acc", "prompt_level_loose", "prompt_loose", "is_loose_correct"),
}  # fmt: skip

_OUTCOMES: Mapping[object, Outcome] = {
    True: "pass", "pass": "pass", False: "fail", "fail": "fail", "undecided": "undecided", None: "undecided",
}  # fmt: skip


class Outcomes(NamedTuple):
    """Holds one side of a comparison.

    Attributes:
        name: The model's name if the file gives it, else the file's.
        measure: The score that counts as passing.
        rates: Prompt -> share of its answers that pass; None if no answer was measured.
    """

    name: str
    measure: str
    rates: dict[str, float | None]


def read_outcomes(
    path: Path, *, view: View = "strict", score: str | None = None, suite: Suite | None = None
) -> Outcomes:
    """Read the outcomes in one file.

    Args:
        path: The file.
        view: The view whose verdicts count.
        score: Name of the score, for harnesses that store several; None: the one of whole prompts.
        suite: The suite that judges plain answers, or that says which instructions the prompts of a verdict file have.

    Raises:
        UsageError: The file cannot be read, has no such score, or holds answers and no suite was given.
        SpecError: A row is damaged; the message names file and line.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Give a Run's directory, a verdict file, or a file of another harness")
    harness_answers = read_import(path)
    if harness_answers is not None:
        return _outcomes_of(path, harness_answers, view=view, score=score)
    first = next(rows_of(path), (0, {}))[1]
    if "instruction_id" in first:
        return Outcomes(path.stem, f"every instruction ({view})", _by_instruction(path, view, suite))
    if "response" in first:
        return _judge_file(path, view=view, suite=suite)
    raise UsageError(
        f"{path}: the first row has {', '.join(sorted(first)) or 'nothing'}. Wanted are verdict rows (instruction_id, "
        "strict), answers (response, with --suite), lm-eval's samples, an inspect log, "
        "EvalScope's reviews, OpenCompass' results or promptfoo's output"
    )


def rows_of(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number from 1, row) of a file of JSON lines, plain or compressed; errors name file and line."""
    return LineFile(path).rows(dict[str, Any])


def _by_instruction(path: Path, view: View, suite: Suite | None) -> dict[str, float | None]:
    """Return prompt -> share of its answers that keep every instruction (`keeps_all`).

    The suite, if given, says which instructions a prompt has, because a turn that nobody answered has no rows. Without
    a suite, the instructions that have a row are all.
    """
    prompts = () if suite is None else suite.prompts
    n_constraints = {prompt.id: sum(len(turn.constraints) for turn in prompt.turns) for prompt in prompts}
    outcomes_of_answers: dict[tuple[str, int], list[Outcome]] = defaultdict(list)
    seen: set[tuple[str, int, str, str]] = set()
    for number, row in rows_of(path):
        try:
            key, draw, outcome = str(row["key"]), int(row.get("draw") or 0), _OUTCOMES[row[view]]
        except (KeyError, TypeError, ValueError) as error:
            raise SpecError(
                f"{path}:{number}: a verdict row needs `key` and `{view}` (true, false, pass, fail or undecided), and "
                f"`draw` is a number; missing or wrong: {error}"
            ) from error
        place = (key, draw, str(row.get("turn")), str(row.get("index")))
        if "index" in row and place in seen:
            raise SpecError(f"{path}:{number}: instruction {row['index']} of key {key} has a verdict above already")
        seen.add(place)
        outcomes_of_answers[key, draw].append(outcome)
    return _means(
        (
            key,
            None if (is_kept := keeps_all(outcomes, n_constraints.get(key, len(outcomes)))) is None else float(is_kept),
        )
        for (key, _), outcomes in outcomes_of_answers.items()
    )


def _means(values: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Return prompt -> mean over its measured answers, None if none was measured."""
    values_of_prompts: dict[str, list[float]] = {}
    for prompt, value in values:
        values_of_prompts.setdefault(prompt, []).extend([] if value is None else [value])
    return {
        prompt: sum(own_values) / len(own_values) if own_values else None
        for prompt, own_values in values_of_prompts.items()
    }


def _outcomes_of(path: Path, harness_answers: HarnessAnswers, *, view: View, score: str | None) -> Outcomes:
    names = dict.fromkeys(name for answer in harness_answers.answers for name in answer.scores)
    chosen = _score_of(path, list(names), view=view, score=score)
    rates = _means(
        (
            str(answer.key if answer.key is not None else answer.item),
            None if answer.status == "error" else answer.scores.get(chosen),
        )
        for answer in harness_answers.answers
    )
    return Outcomes(harness_answers.model or path.stem, f"{harness_answers.harness}'s {chosen}", rates)


def _score_of(path: Path, names: list[str], *, view: View, score: str | None) -> str:
    if score is not None:
        if score not in names:
            raise UsageError(f"{path}: no score {score!r}.{nearest(score, names)} It has: {', '.join(names) or 'none'}")
        return score
    chosen = whole_prompt_score(names, view=view)
    if chosen is not None:
        return chosen
    if len(names) == 1 and view == "strict":
        return names[0]
    if not names:
        raise UsageError(f"{path}: no item in it has a score")
    raise UsageError(f"{path}: which score counts? Choose with --score: {', '.join(names)}")


def whole_prompt_score(names: Sequence[str], *, view: View = "strict") -> str | None:
    """Return the name of the harness's score of whole prompts or items, or None if no such name is known.

    Names are compared without scorer, folder and lm-eval's filter (`scorer.NAME`, `folder/NAME`, `NAME,FILTER`).
    """
    ends = {name.partition(",")[0].rpartition("/")[2].rpartition(".")[2]: name for name in reversed(names)}
    return next((ends[end] for end in PROMPT_SCORES[view] if end in ends), None)


def _judge_file(path: Path, *, view: View, suite: Suite | None) -> Outcomes:
    if suite is None:
        raise UsageError(
            f"{path} holds answers without verdicts. Say what judges them, e.g. --suite ifeval:input_data.jsonl"
        )
    with tempfile.TemporaryDirectory() as folder:
        verdicts = Path(folder) / "verdicts.jsonl"
        verify(suite, path, verdicts=verdicts)
        return Outcomes(
            path.stem,
            f"every instruction ({view}), judged by {suite.name.partition(':')[0]}",
            _by_instruction(verdicts, view, suite),
        )
