"""Count how often answers take a trap, in a stored run, in a file, or by step of a training log."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adhere.constraints.base import registry
from adhere.errors import SpecError, UsageError
from adhere.lines.parquet import read_parquet
from adhere.pipeline.intent.gate import TRAPS, traps_of
from adhere.pipeline.judge import judge_of
from adhere.pipeline.outcomes import keeps_all
from adhere.schema import ConstraintRef, Mode, Record
from adhere.store.run import Run
from adhere.suites import Suite
from adhere.text.reasoning import split_reasoning
from adhere.verify.stored import rows_of

_ANSWERS = ("response", "completion", "output")
MOST_EXAMPLES = 5


class Example(Record, frozen=True):
    """Describes one answer that takes a trap."""

    key: str
    traps: tuple[str, ...]
    answer: str


class StepTraps(Record, frozen=True):
    """Counts the answers of one training step, and those of them that take a trap."""

    step: int
    answers: int
    taken: int


class TrapScore(Record, frozen=True):
    """Says how often answers take a trap; `adhere traps --json` prints it.

    Attributes:
        target: What was scored.
        answers: Answers with a text.
        taken: Number of these that take at least one trap.
        share: taken / answers; None without an answer.
        passing: Answers that keep every constraint; None if the prompts have none.
        passing_taken: Number of these that take a trap: what a reward without the gate pays for.
        by_trap: Trap -> number of answers that take it; an answer may take several.
        by_step: The counts of each step in order, if the rows have a column `step`.
        examples: The first few answers that take a trap.
    """

    target: str
    answers: int
    taken: int
    share: float | None
    passing: int | None
    passing_taken: int | None
    by_trap: dict[str, int]
    by_step: tuple[StepTraps, ...]
    examples: tuple[Example, ...]


class AnsweredPrompt(NamedTuple):
    """Holds one answer and what it answers."""

    key: str
    asked: str
    text: str
    refs: tuple[ConstraintRef, ...] = ()
    profile: str | None = None
    step: int | None = None


def score_traps(target: str, answers: Iterable[AnsweredPrompt], *, mode: Mode = "reference") -> TrapScore:
    """Count the traps of some answers. Reasoning is set aside, and empty answers are left out.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    by_trap, n_judged, n_taken, passes, n_passes_taken = Counter[str](), 0, 0, list[bool](), 0
    steps: dict[int, list[int]] = {}
    examples: list[Example] = []
    for answer in answers:
        text = split_reasoning(answer.text)[1]
        if not text.strip():
            continue
        n_judged += 1
        traps = traps_of(answer.asked, text, answer.refs, mode=mode, profile=answer.profile)
        if answer.refs:
            verdicts = judge_of(answer.refs, mode=mode, profile=answer.profile).verdicts(text, ("strict",))
            passes.append(keeps_all([verdict.outcome for verdict in verdicts], len(answer.refs)) is True)
            n_passes_taken += passes[-1] and bool(traps)
        if answer.step is not None:
            counts = steps.setdefault(answer.step, [0, 0])
            counts[0], counts[1] = counts[0] + 1, counts[1] + bool(traps)
        by_trap.update(traps)
        if traps:
            n_taken += 1
            if len(examples) < MOST_EXAMPLES:
                examples.append(Example(answer.key, traps, text[:300]))
    return TrapScore(
        target,
        n_judged,
        n_taken,
        n_taken / n_judged if n_judged else None,
        sum(passes) if passes else None,
        n_passes_taken if passes else None,
        {trap: by_trap[trap] for trap in TRAPS if by_trap[trap]},
        tuple(StepTraps(step, n, bad) for step, (n, bad) in sorted(steps.items())),
        tuple(examples),
    )


def answers_of_run(run: Run) -> Iterator[AnsweredPrompt]:
    """Yield the answers of a stored run, except failed calls."""
    for part in run.parts():
        prompts = {prompt.id: prompt for prompt in part.prompts()}
        for response in part.responses():
            prompt = prompts[response.prompt_id]
            turn = prompt.turns[response.turn]
            if response.status != "error":
                yield AnsweredPrompt(
                    prompt.id, turn.text, response.text, tuple(turn.constraints), prompt.tags.get("profile"), None
                )


def traps_of_run(run: Run, *, most: int = 500, seed: int = 0) -> TrapScore:
    """Count the traps in a stored run, in at most `most` answers that are drawn with `seed`.

    Answers whose rules run programs are left out.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    rng = random.Random(seed)
    reservoir: list[tuple[int, AnsweredPrompt]] = []
    for number, answer in enumerate(answer for answer in answers_of_run(run) if not _runs_code(answer)):
        # Reservoir sampling: each answer is kept with the same chance, however many there are.
        place = number if number < most else rng.randrange(number + 1)
        if place < most:
            reservoir[place : place + 1] = [(number, answer)]
    return score_traps(
        str(run.directory), (answer for _, answer in sorted(reservoir, key=lambda pair: pair[0])), mode=run.spec.mode
    )


def _runs_code(answer: AnsweredPrompt) -> bool:
    return any(
        ref.id.startswith("agentif:") or (ref.id in registry and registry.get(ref.id).runs_code) for ref in answer.refs
    )


def answers_of_file(path: Path, suite: Suite | None = None) -> Iterator[AnsweredPrompt]:
    """Yield the answers of JSON lines or a Parquet file, such as TRL's logs (`log_completions=True`).

    A row has `response`, `completion` or `output` (a text, or messages), and `prompt` (likewise); with a suite, `key`
    or `prompt` names the prompt, and `turn` (from 0; by default the last) the turn. `instruction_id_list` and `kwargs`
    are its constraints, `step` the step of training.

    Raises:
        SpecError: A row lacks an answer or its prompt.
        UsageError: There is no such file.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such file. Give a Run's directory, a file of answers or a model's name")
    rows: Iterable[tuple[int, Mapping[str, Any]]]
    rows = enumerate(read_parquet(path), start=1) if path.suffix == ".parquet" else rows_of(path)
    by_key = {str(prompt.key): prompt for prompt in suite.prompts} if suite else {}
    by_text = {prompt.turns[-1].text.strip(): prompt for prompt in suite.prompts} if suite else {}
    for number, row in rows:
        answer = next((row[name] for name in _ANSWERS if row.get(name) is not None), None)
        prompt_text = _text_of(row.get("prompt"), role="user")
        prompt = by_key.get(str(row.get("key"))) or by_text.get((prompt_text or "").strip())
        text = _text_of(answer, role="assistant")
        if text is None or (suite is not None and prompt is None) or (suite is None and prompt_text is None):
            prompt_columns = "a key or prompt of the suite" if suite else "a prompt (or give --suite)"
            raise SpecError(
                f"{path}:{number}: a row needs {', '.join(_ANSWERS[:-1])} or {_ANSWERS[-1]}, and {prompt_columns}"
            )
        step = row.get("step")
        step = step if isinstance(step, int) else None
        if prompt is not None:
            place = row.get("turn", -1)
            if not isinstance(place, int) or not -1 <= place < len(prompt.turns):
                raise SpecError(f"{path}:{number}: turn={place!r}: {prompt.key} has {len(prompt.turns)} turns, from 0")
            turn = prompt.turns[place]
            yield AnsweredPrompt(
                str(prompt.key), turn.text, text, tuple(turn.constraints), prompt.tags.get("profile"), step
            )
        else:
            yield AnsweredPrompt(
                str(row.get("key", number)),
                prompt_text or "",
                text,
                _refs_of(path, number, row),
                row.get("profile"),
                step,
            )


def _text_of(value: Any, *, role: str) -> str | None:
    """Return a text itself, or the content of the last message of `role`."""
    if value is None or isinstance(value, str):
        return value
    contents = [
        message.get("content")
        for message in value
        if isinstance(message, Mapping) and message.get("role", role) == role
    ]
    return contents[-1] if contents and isinstance(contents[-1], str) else None


def _refs_of(path: Path, number: int, row: Mapping[str, Any]) -> tuple[ConstraintRef, ...]:
    kwargs = row.get("kwargs") or []
    params = msgspec.json.decode(kwargs) if isinstance(kwargs, str) else kwargs
    names = row.get("instruction_id_list") or []
    if len(names) != len(params):
        raise SpecError(
            f"{path}:{number}: instruction_id_list names {len(names)} constraints, kwargs {len(params)}. "
            "Give --suite, or rows with both"
        )
    return tuple(
        ConstraintRef(name, {key: value for key, value in (own_params or {}).items() if value is not None})
        for name, own_params in zip(names, params, strict=True)
    )
