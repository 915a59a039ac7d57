"""Search for the text before a model's requests with which the model keeps most constraints.

Candidates are scored on a dev slice: prompts that are scored nowhere else. The dev slice of a generated suite is the
same suite from a seed of its own; for any other suite it is drawn like training prompts. A prompt that is also among
the scored prompts, by its text or the query that it was made from, is left out. The result is stored beside the Run's
answers in `search.json`, so that a resumed Run goes on with the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from typing import TypeVar

from adhere.errors import AdhereError, IntegrityError, UnknownName, UsageError
from adhere.models.base import Model
from adhere.models.wrap import SearchedModel
from adhere.pipeline.check import check
from adhere.pipeline.compare.paired import CLUSTER
from adhere.pipeline.respond import respond
from adhere.pipeline.reward import reward
from adhere.progress import Progress
from adhere.schema import Prompt, Record, Response, Sampling, Usage, decode, derive_seed, encode, write_atomic
from adhere.store.files import read_regular
from adhere.store.run import Run, all_keys
from adhere.suites import load, source_of
from adhere.suites.base import Suite, first_of_slices

PROMPTS = 32
FEWEST = 8
_SEED = 8_400_519  # of the dev slice: a seed that nobody takes for a suite
_SIZE_OR_SEED = re.compile(r"x\d+|seed-?\d+")
T = TypeVar("T", int, float)
_FILE = "search.json"


class Candidate(Record, frozen=True):
    """Holds one candidate text: the mean share of constraints met on the dev slice, over its `n` measured answers."""

    text: str
    score: float | None
    n: int


class Search(Record, frozen=True):
    """Holds a finished search for the text that is put before a model's requests.

    `dev` names the slice on which the candidates were scored, `prompts` are its ids, `chosen` is the text of the best.
    Calls, tokens and cost are those of all proposals and dev answers; None where one of them lacks the number.
    """

    dev: str
    prompts: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    chosen: str
    calls: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None


async def search_prompt(model: SearchedModel, run: Run, suite: Suite, progress: Progress) -> Search:
    """Choose the text that `model` answers with, or take the one that was chosen when the Run began.

    Each answer of the Run bears an equal share of what the search cost, rounded up.

    Raises:
        AdhereError: No candidate could be measured.
        UsageError: The suite leaves too few other prompts.
    """
    path = run.directory / _FILE
    try:
        search = decode(read_regular(path), Search)
    except FileNotFoundError:
        search = await _search(model, run, suite, progress)
        write_atomic(path, encode(search) + b"\n")
    except IntegrityError as error:
        raise IntegrityError(f"{path}: {error}. Remove it to search again") from error
    answers = len(all_keys(run.prompts(), run.spec.draws))
    model.use(
        search.chosen,
        Usage(
            prompt_tokens=_share(search.prompt_tokens, answers),
            completion_tokens=_share(search.completion_tokens, answers),
            cost_usd=None if search.cost_usd is None else search.cost_usd / answers,
        ),
    )
    return search


def _share(tokens: int | None, answers: int) -> int | None:
    return None if tokens is None else -(-tokens // answers)


async def _search(model: SearchedModel, run: Run, suite: Suite, progress: Progress) -> Search:
    name, prompts = dev_slice(suite, run.prompts())
    sampling = run.spec.sampling
    requests, how = model.proposal_requests([prompt.text for prompt in prompts], derive_seed(sampling.seed, _FILE))
    responses = [response async for response in model.inner.respond(requests, how)]
    texts = model.candidates(sorted(responses, key=lambda response: int(response.prompt_id.split()[1])))
    candidates = []
    with progress.step(f"{model.name} tries texts on {name}", len(texts), "texts") as step:
        for text in texts:
            answers = await _answers(model.with_text(text), prompts, sampling)
            responses += answers
            candidates.append(_score(text, prompts, answers, run))
            step.advance()
    scores = [(candidate.score, -at) for at, candidate in enumerate(candidates) if candidate.score is not None]
    if not scores:
        why = next((response.error for response in responses if response.error), "no verdict was decided")
        raise AdhereError(f"{model.name}: no text could be measured on {name}: {why}")
    best = candidates[-max(scores)[1]]
    return Search(
        dev=name,
        prompts=tuple(prompt.id for prompt in prompts),
        candidates=tuple(candidates),
        chosen=best.text,
        calls=len(responses),
        prompt_tokens=_total(response.usage.prompt_tokens for response in responses),
        completion_tokens=_total(response.usage.completion_tokens for response in responses),
        cost_usd=_total(response.usage.cost_usd for response in responses),
    )


async def _answers(model: Model, prompts: Sequence[Prompt], sampling: Sampling) -> list[Response]:
    async with aclosing(respond(model, prompts, sampling=sampling)) as stream:
        return [response async for response in stream]


def _score(text: str, prompts: Sequence[Prompt], answers: Sequence[Response], run: Run) -> Candidate:
    """Return a text with the mean reward of its answers, or without a score if a call failed.

    A text with a failed call met fewer prompts than the others.
    """
    by_id = {prompt.id: prompt for prompt in prompts}
    rewards = []
    for answer in answers:
        if answer.status == "error":
            return Candidate(text, None, 0)
        verdicts = check(
            by_id[answer.prompt_id], answer, cut_answers=run.spec.cut_answers, views=("strict",), mode=run.spec.mode
        )
        answer_reward = reward(verdicts, kind="dense")
        if answer_reward is not None:
            rewards.append(answer_reward)
    return Candidate(text, sum(rewards) / len(rewards) if rewards else None, len(rewards))


def _total(values: Iterable[T | None]) -> T | None:
    counts = list(values)
    numbers = [value for value in counts if value is not None]
    return sum(numbers) if len(numbers) == len(counts) else None


def dev_slice(suite: Suite, run_prompts: Sequence[Prompt]) -> tuple[str, tuple[Prompt, ...]]:
    """Return the name of a suite's dev slice and its prompts, none of which is among `run_prompts`; see this module.

    Raises:
        UsageError: Fewer than 8 prompts are left.
    """
    prefix, _, argument = suite.name.partition(":")
    if prefix != "core" and _is_generated(prefix):
        parts = [part for part in argument.split("+") if part and not _SIZE_OR_SEED.fullmatch(part)]
        name = f"{prefix}:{'+'.join([*parts, f'seed{_SEED}'])}"
        candidates: Sequence[Prompt] = load(name).prompts
    else:
        from adhere.suites.generated.core.training import training_prompts

        name, candidates = f"training prompts of seed {_SEED}", training_prompts(_SEED, 2 * PROMPTS)
    texts = {_identity(prompt) for prompt in run_prompts}
    queries = {prompt.tags[CLUSTER] for prompt in run_prompts if CLUSTER in prompt.tags}
    other = [
        prompt for prompt in candidates if _identity(prompt) not in texts and prompt.tags.get(CLUSTER) not in queries
    ]
    if len(other) < FEWEST:
        raise UsageError(
            f"{suite.name} leaves {len(other)} prompts to search with that are not scored; at least {FEWEST} are needed"
        )
    return name, first_of_slices(other, PROMPTS)


def _is_generated(name: str) -> bool:
    try:
        return source_of(name).generated
    except UnknownName:  # a suite that somebody made in Python
        return False


def _identity(prompt: Prompt) -> tuple[str, ...]:
    return (prompt.system or "", prompt.everything)
