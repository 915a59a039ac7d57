"""Compute what a leaderboard says about one finished Run, apart from its rank."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from adhere.pipeline.outcomes import keeps_all
from adhere.pipeline.summarize.counts import insist, mean
from adhere.schema import Prompt, Response
from adhere.stats import wilson_clustered
from adhere.store.tables.readout import Mark, Readout
from adhere.sweep.board import Cell, Cost, Example, Failure, ModeOfFailure, Row, Spread, TestNoun, Tokens

EXAMPLES = 3
WORST = 5
LONGEST_PROMPT, LONGEST_ANSWER, LONGEST_REASON = 600, 1_000, 300


class MeasuredRun(NamedTuple):
    """Holds a Run's row without a rank, and by prompt the share of conversations that passed (NaN if not measured)."""

    row: Row
    passes: dict[str, float]


def noun_of(prompts: Sequence[Prompt]) -> TestNoun:
    """Return what the columns of the matrix are.

    They are templates (`test`) if every prompt names one. Else they are families of constraints, or slices if there is
    one family and every prompt has a slice.
    """
    if all("test" in prompt.tags for prompt in prompts):
        return "test"
    families = {_family(ref.id) for prompt in prompts for turn in prompt.turns for ref in turn.constraints}
    slices = {prompt.tags.get("slice") for prompt in prompts}
    return "slice" if len(families) < 2 and None not in slices and len(slices) > 1 else "family"


def tests_of(prompts: Sequence[Prompt], noun: TestNoun) -> list[str]:
    """Return the columns of the matrix, in the order in which the suite first asks them."""
    if noun == "family":
        names = (_family(ref.id) for prompt in prompts for turn in prompt.turns for ref in turn.constraints)
    else:
        names = (prompt.tags[noun] for prompt in prompts)
    return list(dict.fromkeys(names))


def test_of(prompt: Prompt, constraint_id: str, noun: TestNoun) -> str:
    """Return the test, a column of the matrix, to which a verdict on this constraint belongs."""
    return _family(constraint_id) if noun == "family" else prompt.tags[noun]


def measure_run(run: Readout, *, model: str, suite: str, noun: TestNoun) -> MeasuredRun:
    """Return what a leaderboard says about a Run.

    Raises:
        AssertionError: The Run's rows and summary disagree, which is a bug of ours.
    """
    spec, score = run.manifest.spec, run.summary.overall
    units = list(_units(run))
    n, passed = len(units), sum(unit.passed is True for unit in units)
    n_measured = sum(unit.passed is not None for unit in units)
    insist(
        (passed, n_measured) == (score.prompt_strict.passed, score.prompt_strict.n),
        f"{run.directory}: {passed} of {n_measured} passed, but its summary says {score.prompt_strict.passed} of "
        f"{score.prompt_strict.n}",
    )
    answers = list(run.responses.values())
    fine = [answer for answer in answers if answer.status == "ok"]
    scores = [mark.score for mark in run.strict.values() if mark.score is not None]
    return MeasuredRun(
        Row(
            model=model,
            suite=suite,
            run=str(run.directory),
            engine=spec.engine,
            rank=None,
            rank_low=None,
            rank_high=None,
            unranked="",
            coverage=score.coverage,
            accounting=score.accounting,
            timeouts=sum(answer.is_timeout for answer in answers),
            prompt_strict=score.prompt_strict,
            prompt_loose=score.prompt_loose,
            instruction_strict=score.instruction_strict,
            instruction_loose=score.instruction_loose,
            instruction_macro=score.instruction_macro,
            mean_of_four=score.mean_of_four,
            bound_low=passed / n if n else 0.0,
            bound_high=(passed + n - n_measured) / n if n else 1.0,
            slices={name: part.prompt_strict for name, part in run.summary.slices.items()},
            n_partial=len(scores),
            partial=mean(scores),
            latency=_spread(answer.latency_s for answer in fine),
            first_token=_spread(answer.first_token_s for answer in fine),
            cost=_cost(answers, passed),
            tokens=_tokens(answers),
            providers=dict(sorted(Counter(answer.provider for answer in answers if answer.provider).items())),
            cells=_cells(run, units, noun),
            failures=_failures(run, noun),
            floor=run.summary.floor,
        ),
        _passes(units),
    )


class _Unit(NamedTuple):
    """Names one conversation; `passed` is None if it was not measured."""

    prompt: Prompt
    draw: int
    passed: bool | None


def _units(run: Readout) -> Iterator[_Unit]:
    strict, responses = run.strict, run.responses
    for prompt in run.prompts:
        n_constraints = sum(len(turn.constraints) for turn in prompt.turns)
        for draw in range(run.summary.draws):
            outcomes = []
            for number, turn in enumerate(prompt.turns):
                answer = responses.get((prompt.id, number, draw))
                if answer is None or answer.status == "error":
                    continue
                for index in range(len(turn.constraints)):
                    mark = strict.get((prompt.id, number, draw, index))
                    if mark is not None:
                        outcomes.append(mark.outcome)
            yield _Unit(prompt, draw, keeps_all(outcomes, n_constraints))


def _passes(units: Iterable[_Unit]) -> dict[str, float]:
    of_prompt: dict[str, list[float]] = defaultdict(list)
    for unit in units:
        of_prompt[unit.prompt.id].append(float("nan") if unit.passed is None else float(unit.passed))
    return {prompt_id: sum(values) / len(values) for prompt_id, values in of_prompt.items()}


def _cells(run: Readout, units: Sequence[_Unit], noun: TestNoun) -> tuple[Cell, ...]:
    trials: dict[str, dict[str, list[bool]]] = {name: defaultdict(list) for name in tests_of(run.prompts, noun)}
    scores: dict[str, list[float]] = defaultdict(list)
    prompts = {prompt.id: prompt for prompt in run.prompts}
    for mark in run.strict.values():
        name = test_of(prompts[mark.prompt_id], mark.constraint_id, noun)
        if mark.score is not None:
            scores[name].append(mark.score)
        if noun == "family" and mark.outcome != "undecided":
            trials[name][mark.prompt_id].append(mark.outcome == "pass")
    if noun != "family":
        for unit in units:
            if unit.passed is not None:
                trials[unit.prompt.tags[noun]][unit.prompt.id].append(unit.passed)
    return tuple(_cell(name, list(of_prompt.values()), scores[name]) for name, of_prompt in trials.items())


def _cell(name: str, clusters: list[list[bool]], scores: list[float]) -> Cell:
    passed, n = sum(map(sum, clusters)), sum(map(len, clusters))
    interval = wilson_clustered([sum(cluster) for cluster in clusters], [len(cluster) for cluster in clusters])
    low, high = interval if interval is not None else (None, None)
    return Cell(name, passed, n, passed / n if n else None, low, high, len(scores), mean(scores))


def _spread(seconds: Iterable[float | None]) -> Spread:
    numbers = [value for value in seconds if value is not None]
    if not numbers:
        return Spread(0)
    p50, p90, p99 = (float(value) for value in np.percentile(numbers, (50, 90, 99)))
    return Spread(len(numbers), sum(numbers) / len(numbers), p50, p90, p99)


def _cost(answers: Sequence[Response], passed: int) -> Cost:
    costs = [answer.usage.cost_usd for answer in answers if answer.usage.cost_usd is not None]
    if not costs:
        return Cost(None, None, "neither the endpoint nor its price list says what answers cost")
    total = math.fsum(costs)  # shards store answers in other orders, and the sum is the same in each
    silent = sum(answer.status != "error" and answer.usage.cost_usd is None for answer in answers)
    reason = f"{silent} answers do not say what they cost, so it is at least this" if silent else ""
    if not passed:
        return Cost(total, None, "; ".join(filter(None, (reason, "no answer was correct"))))
    return Cost(total, total / passed, reason)


def _tokens(answers: Sequence[Response]) -> Tokens:
    usages = [answer.usage for answer in answers if answer.usage.completion_tokens is not None]

    def total(values: Iterable[int | None]) -> int | None:
        numbers = [value for value in values if value is not None]
        return sum(numbers) if numbers else None

    return Tokens(
        len(usages),
        total(usage.prompt_tokens for usage in usages),
        total(usage.completion_tokens for usage in usages),
        total(usage.reasoning_tokens for usage in usages),
    )


def _failures(run: Readout, noun: TestNoun) -> tuple[Failure, ...]:
    """Return the worst tests or kinds, answers that pass once unwrapped, then answers that were not finished."""
    prompts = {prompt.id: prompt for prompt in run.prompts}
    n_judged: Counter[str] = Counter()
    failed: dict[str, list[Mark]] = defaultdict(list)
    wrapped_marks: list[Mark] = []
    for place, mark in run.strict.items():
        name = prompts[mark.prompt_id].tags["test"] if noun == "test" else mark.constraint_id
        n_judged[name] += mark.outcome != "undecided"
        if mark.outcome == "fail":
            failed[name].append(mark)
            other = run.loose.get(place)
            if other is not None and other.outcome == "pass":
                wrapped_marks.append(other)
    worst = sorted(failed, key=lambda name: (-len(failed[name]), name))[:WORST]
    mode: ModeOfFailure = "test" if noun == "test" else "constraint"
    failures = [
        Failure(mode, name, len(failed[name]), n_judged[name], _of_marks(run, prompts, failed[name])) for name in worst
    ]
    if wrapped_marks:
        count = sum(map(len, failed.values()))
        failures.append(
            Failure("format wrapping", "", len(wrapped_marks), count, _of_marks(run, prompts, wrapped_marks))
        )
    return (*failures, *_failures_of(run, prompts))


def _failures_of(run: Readout, prompts: dict[str, Prompt]) -> Iterator[Failure]:
    by_status: dict[tuple[ModeOfFailure, str], list[Response]] = defaultdict(list)
    for answer in run.responses.values():
        if answer.is_timeout:
            by_status["timeout", ""].append(answer)
        elif answer.status == "error":
            by_status["error", _kind_of_error(answer)].append(answer)
        elif answer.status != "ok":
            by_status[answer.status, ""].append(answer)
    n = run.summary.accounting.n
    order = sorted(by_status, key=lambda name: (name[0] == "error", -len(by_status[name]), name))
    for mode, name in order[: 4 + WORST]:
        answers = by_status[mode, name]
        first_answers = answers[:EXAMPLES]
        examples = tuple(
            _example(prompts[answer.prompt_id], answer, answer.error or answer.evidence or "")
            for answer in first_answers
        )
        yield Failure(mode, name, len(answers), n, examples)


def _kind_of_error(answer: Response) -> str:
    """Return the start of an error's message, without long numbers, which differ from call to call."""
    return re.sub(r"\d{4,}", "…", (answer.error or "no reason was recorded").strip())[:100]


def _of_marks(run: Readout, prompts: dict[str, Prompt], marks: Sequence[Mark]) -> tuple[Example, ...]:
    examples = []
    for mark in marks[:EXAMPLES]:
        answer = run.responses[mark.prompt_id, mark.turn, mark.draw]
        examples.append(_example(prompts[mark.prompt_id], answer, mark.reason))
    return tuple(examples)


def _example(prompt: Prompt, answer: Response, reason: str) -> Example:
    return Example(
        prompt.id,
        answer.turn,
        answer.draw,
        cut(prompt.shown(answer.turn), LONGEST_PROMPT),
        answer.status,
        cut(answer.said, LONGEST_ANSWER),
        cut(reason, LONGEST_REASON),
    )


def cut(text: str, longest: int) -> str:
    """Return the text, or its beginning and its length if it is longer than `longest`."""
    return text if len(text) <= longest else f"{text[:longest]} […cut, {len(text):,} characters in all]"


def _family(constraint_id: str) -> str:
    return constraint_id.partition(":")[0]
