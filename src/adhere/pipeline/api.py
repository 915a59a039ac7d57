"""Judge from Python, as `import adhere` offers it: one prompt, many prompts, or constraints alone.

For example:

    suite = adhere.load_suite("ifeval:input_data.jsonl")
    for verdict in adhere.judge(suite.prompts[0], "Some answer."):
        print(verdict.view, verdict.outcome, verdict.reason)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adhere.constraints.resolve import insist_on, resolve
from adhere.errors import UsageError
from adhere.lines.workers import in_order
from adhere.pipeline.judge import Judge, checked_views, judge_text
from adhere.schema import VIEWS, ConstraintRef, Json, Mode, Prompt, Verdict, View
from adhere.text.reasoning import split_reasoning

if TYPE_CHECKING:
    from adhere.constraints.base import Constraint
    from adhere.constraints.published.shared.registry import PublishedConstraint
    from adhere.models.base import Model
    from adhere.models.http.options import EndpointOptions
    from adhere.pipeline.compare.paired import Comparison
    from adhere.store.run import Run

Rules = Iterable["Constraint | PublishedConstraint | ConstraintRef | Mapping[str, Any]"]


def judge(
    prompt: Prompt,
    text: str,
    mode: Mode = "reference",
    *,
    turn: int = 0,
    views: Sequence[View] = VIEWS,
    random_seed: int | None = None,
    keep_reasoning: bool = False,
) -> list[Verdict]:
    """Return the verdicts on one answer: a verdict for each constraint of the turn and each view, in that order.

    Args:
        prompt: What was asked.
        text: The answer. Its reasoning (`text.reasoning.split_reasoning`) is set aside unless `keep_reasoning`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        turn: Number of the turn that was answered, from 0.
        views: Which views to report.
        random_seed: Some published code draws numbers at random. It is judged with the numbers that follow this seed;
            None leaves the verdict `undecided`.
        keep_reasoning: Judge the reasoning as part of the answer.

    Raises:
        UnknownName, BadParameter: The prompt holds a constraint that cannot be judged.
        UsageError: `text` is no text, the prompt has no such turn, or the mode or a view is unknown.
    """
    if not isinstance(text, str):
        raise UsageError(f"Prompt {prompt.id!r}: the answer must be a text, got {type(text).__name__}")
    if not 0 <= turn < len(prompt.turns):
        raise UsageError(
            f"Prompt {prompt.id!r} has {len(prompt.turns)} turns, numbered from 0; there is no turn {turn}"
        )
    reasoning, answer = (None, text) if keep_reasoning else split_reasoning(text)
    return judge_text(
        answer,
        prompt.turns[turn].constraints,
        views,
        key=(prompt.id, turn, 0),
        mode=mode,
        profile=prompt.tags.get("profile"),
        random_seed=random_seed,
        reasoning=reasoning,
    )


def judge_many(
    prompts: Iterable[Prompt],
    texts: Iterable[str],
    mode: Mode = "reference",
    *,
    jobs: int = 1,
    random_seed: int | None = None,
    keep_reasoning: bool = False,
) -> list[list[Verdict]]:
    """Return what `judge` returns for each pair of prompt and text, in order.

    Args:
        prompts: What was asked.
        texts: As many answers, each to the prompt at its place.
        jobs: Processes to judge in. Worth it from some ten thousand answers on.
        mode: As for `judge`.
        random_seed: As for `judge`.
        keep_reasoning: As for `judge`.

    Raises:
        UsageError: The numbers of prompts and texts differ, or the mode is unknown.
        UnknownName, BadParameter: A prompt holds a constraint that cannot be judged.
    """
    prompts, texts = list(prompts), list(texts)
    if len(prompts) != len(texts):
        raise UsageError(
            f"Got {len(prompts)} prompts and {len(texts)} texts; each text answers the prompt at its place"
        )
    insist_on(mode, None)
    judge_share = partial(_judge_all, mode=mode, random_seed=random_seed, keep_reasoning=keep_reasoning)
    pairs = list(zip(prompts, texts, strict=True))
    if jobs <= 1 or len(pairs) <= _SHARE:
        return judge_share(pairs)
    shares = (pairs[start : start + _SHARE] for start in range(0, len(pairs), _SHARE))
    judged_shares = in_order(judge_share, shares, jobs=jobs, purpose="judging")
    return [verdicts for _, share in judged_shares for verdicts in share]


_SHARE = 1000


def _judge_all(
    share: Sequence[tuple[Prompt, str]], *, mode: Mode, random_seed: int | None, keep_reasoning: bool
) -> list[list[Verdict]]:
    return [judge(prompt, text, mode, random_seed=random_seed, keep_reasoning=keep_reasoning) for prompt, text in share]


def check(
    text: str,
    constraints: Rules,
    mode: Mode = "reference",
    *,
    views: Sequence[View] = VIEWS,
    keep_reasoning: bool = True,
) -> list[Verdict]:
    """Return the verdicts on a text without a prompt: a verdict for each constraint and each view, in that order.

    `judge` sets the reasoning of a model's answer aside. `check` judges the whole text unless `keep_reasoning` is
    False.

    Args:
        text: Any text.
        constraints: What `adhere.constraint` made, stored references, or mappings with `id` and `params`.
        mode: For references and mappings of published kinds; see `judge`.
        views: Which views to report.
        keep_reasoning: Judge the reasoning (`text.reasoning.split_reasoning`) as part of the text.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
        UsageError: `text` is no text, an item of `constraints` is no constraint, or the mode or a view is unknown.
    """
    return check_many([text], constraints, mode, views=views, keep_reasoning=keep_reasoning)[0]


def check_many(
    texts: Iterable[str],
    constraints: Rules,
    mode: Mode = "reference",
    *,
    views: Sequence[View] = VIEWS,
    keep_reasoning: bool = True,
) -> list[list[Verdict]]:
    """Return what `check` returns for each text. The constraints are made ready once."""
    insist_on(mode, None)
    rules = Judge.of([_make(rule, mode) for rule in _as_list(constraints)])
    views = checked_views(views)
    verdicts = []
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"What is judged must be a text, got {type(text).__name__}")
        reasoning, answer = (None, text) if keep_reasoning else split_reasoning(text)
        verdicts.append(rules.verdicts(answer, views, reasoning=reasoning))
    return verdicts


def constraint(
    id: str,  # noqa: A002 - the field's word
    kwargs: Mapping[str, Json] | None = None,
    /,
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    random_seed: int | None = None,
    **params: Json,
) -> Constraint | PublishedConstraint:
    """Return a constraint, ready to `check` a text and to `describe` itself: ours, a published one, or a plug-in's.

    Args:
        id: `length:at_most`, `length_constraints:number_words`, …: see `adhere list constraints`.
        kwargs: Parameters as a mapping, as the rows of IFEval's files hold them; None counts as absent.
        mode: See `resolve`.
        profile: See `resolve`.
        random_seed: See `resolve`.
        params: Parameters by name.

    Raises:
        UnknownName: No constraint has that id.
        BadParameter: A parameter is unknown, missing or outside its domain.
    """
    filled_params: dict[str, Json] = {
        name: value for name, value in {**(kwargs or {}), **params}.items() if value is not None
    }
    return resolve(ConstraintRef(id, filled_params), mode=mode, profile=profile, random_seed=random_seed)


def evaluate(
    model: str | Model | Callable[..., Any],
    suite: Any,
    out: Path | str = "runs",
    *,
    draws: int = 1,
    limit: int | None = None,
    seed: int = 0,
    max_new_tokens: int | None = None,
    temperature: float | None = None,
    mode: Mode = "reference",
    concurrency: int | None = None,
    name: str | None = None,
    endpoint: EndpointOptions | None = None,
) -> Run:
    """Measure a model, as `adhere eval` does: the same call resumes, and the same measurement has the same directory.

    Args:
        model: A name as the command line takes it (`local/smollm2-135m`, `http://127.0.0.1:8000/v1#NAME`); a plain
            function, sync or async, from a prompt's text (or `messages`) to an answer's; any Model, which stays open.
        suite: A name, a Suite, or a list or DataFrame of prompts (see `suites.own`).
        out: The Run gets a folder of its own in it.
        draws: Answers per prompt.
        limit: Only so many prompts, an even share of each slice.
        seed: Seed of sampled answers, and of a generated suite's prompts.
        max_new_tokens: Tokens after which an answer is cut; None: the suite's own limit.
        temperature: 0 is greedy; None: the suite's own.
        mode: Judge published kinds as published, or with their defects mended.
        concurrency: Of a function, calls at once [1]; of an endpoint, requests at once, at most.
        name: Name of a function in the Run [`python/` and its `__name__`]. Functions with the same code and name count
            as one model, so give another name if the answers depend on anything else.
        endpoint: How an endpoint is talked to.

    Returns:
        The sealed Run: `run.summary()` has the rates, `run.to_pandas()` a row a verdict.

    Raises:
        UnknownName: No such model or suite.
        UsageError: The suite or a setting cannot be used.
    """
    from adhere.pipeline.evaluate import EvalSpec, evaluate_sync
    from adhere.suites import Suite, load
    from adhere.suites.own import suite_of

    loaded_suite = (
        load(suite, seed=seed) if isinstance(suite, str) else suite if isinstance(suite, Suite) else suite_of(suite)
    )
    loaded_suite = loaded_suite.cut(limit)
    sampling = loaded_suite.sampled(max_new_tokens=max_new_tokens, temperature=temperature, seed=seed)
    ready_model = _model_of(model, concurrency=concurrency, name=name, endpoint=endpoint)
    try:
        directory = EvalSpec(loaded_suite, sampling, draws, mode).run_spec(ready_model).directory(Path(out))
        return evaluate_sync(ready_model, loaded_suite, directory, sampling=sampling, draws=draws, mode=mode)
    finally:
        if isinstance(model, str):
            ready_model.close()


def _model_of(
    model: str | Model | Callable[..., Any], *, concurrency: int | None, name: str | None,
    endpoint: EndpointOptions | None,
) -> Model:  # fmt: skip
    """Return the Model for a name, a function or a Model.

    Raises:
        UsageError: `model` is none of these, or an option does not apply to it.
    """
    from dataclasses import replace

    from adhere.models.base import Model
    from adhere.models.catalog import is_endpoint, open_model
    from adhere.models.function import FunctionModel
    from adhere.models.http.options import EndpointOptions

    is_function = callable(model) and not isinstance(model, Model)
    if name is not None and not is_function:
        raise UsageError(f"name={name!r}: only a function is named; {model!r} has a name")
    if is_function:
        if endpoint is not None:
            raise UsageError("endpoint: a function is called here, so endpoint options do not apply to it")
        return FunctionModel(model, name=name, concurrency=concurrency or 1)  # type: ignore[arg-type]
    if isinstance(model, str):
        if concurrency is not None:
            if not is_endpoint(model):
                raise UsageError(
                    f"concurrency={concurrency}: {model} runs here, which decides itself what it decodes at once"
                )
            endpoint = replace(endpoint or EndpointOptions(), concurrency=concurrency)
        return open_model(model, endpoint=endpoint)
    if concurrency is not None or endpoint is not None:
        raise UsageError("concurrency and endpoint are for names and functions; a Model decides that itself")
    if not isinstance(model, Model):
        raise UsageError(f"model: a name, a function or a Model, got {type(model).__name__}")
    return model


def compare(run_a: Run | Path | str, run_b: Run | Path | str, *, view: View = "strict") -> Comparison:
    """Subtract Run b from Run a, prompt by prompt; see `pipeline.compare.compare_runs`. A path stands for its Run.

    Raises:
        UsageError: A path holds no finished Run.
        RunMismatch: The Runs differ in their prompts, in how these were asked, or in the engine.
    """
    from adhere.pipeline.compare import compare_runs
    from adhere.store.run import Run
    from adhere.store.sharded import load_run

    a, b = (run if isinstance(run, Run) else load_run(Path(run)) for run in (run_a, run_b))
    return compare_runs(a, b, view=view)


def _as_list(constraints: Rules) -> list[Any]:
    if isinstance(constraints, str | Mapping) or not isinstance(constraints, Iterable):
        raise UsageError(f"Constraints are given as a list, got {type(constraints).__name__}")
    return list(constraints)


def _make(rule: Any, mode: Mode) -> Constraint | PublishedConstraint:
    if isinstance(rule, Mapping):
        if "id" not in rule:
            raise UsageError(f"A constraint given as a mapping has `id` and `params`, got {', '.join(map(repr, rule))}")
        rule = ConstraintRef(rule["id"], dict(rule.get("params") or {}))
    if isinstance(rule, ConstraintRef):
        return resolve(rule, mode=mode)
    if not hasattr(rule, "check") or not hasattr(rule, "ref"):
        raise UsageError(
            f"A constraint is what adhere.constraint(id, …) makes, a ConstraintRef, or a mapping with id and params; "
            f"got {type(rule).__name__}"
        )
    ready_constraint: Constraint | PublishedConstraint = rule
    return ready_constraint
