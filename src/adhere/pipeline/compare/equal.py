"""Compare two Runs while something is held equal: the tokens that a method spends, or the length of the answers.

**Equal tokens.** A method of several calls spends more than its plain model, and may be better for that alone. Here the
method is compared with the plain model given as many generated tokens an answer, in any way that needs no verifier:
more answers and a vote (`majority-5(MODEL)`), a longer limit, or several of these as stored Runs. Where no Run spends
as much as the method, the baseline mixes the Runs with the next more and the next fewer tokens. The first answers a
share of the prompts and the second the rest, such that the mean number of tokens is the method's. The expected pass
rate of such a mixture is the weighted mean, prompt by prompt. Tokens of the prompt are not counted: they are read
together, not generated one by one.

**Equal length.** See `stats.length_controlled`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from adhere.errors import RunMismatch, UsageError
from adhere.models.wrap.names import MOST_ANSWERS, wrapped_form
from adhere.pipeline.compare.paired import (
    CONFIDENCE,
    Comparison,
    EqualLength,
    Side,
    clusters_of,
    compare_paired,
    refuse_unequal,
    side_of,
)
from adhere.pipeline.outcomes import pass_rates
from adhere.schema import View
from adhere.stats import length_controlled
from adhere.store.run import Run

TOLERANCE = 0.05  # of the method's tokens: within it, a Run counts as spending the same


def at_equal_tokens(
    method: Run, plain: Sequence[Run], *, view: View = "strict", across_engines: bool = False
) -> Comparison:
    """Compare a method with its own model, given as many generated tokens an answer; see this module.

    Args:
        method: The Run of a method.
        plain: Runs of its model without a verifier's help, at one or several costs.
        view: Which verdicts count.
        across_engines: As in `compare_runs`.

    Raises:
        RunMismatch: A Run of `plain` cannot be paired with `method`, is of another model, or is an oracle's.
        UsageError: All Runs of `plain` spend less than `method`, all spend more, or a Run lacks its number of tokens.
    """
    model = innermost(method.spec.model)
    notes: list[str] = []
    for run in plain:
        if run.spec.is_oracle:
            raise RunMismatch(f"{run.directory}: {run.spec.model} is an oracle; a baseline may not use the verifiers")
        if innermost(run.spec.model) != model:
            raise RunMismatch(
                f"{run.directory} is of {innermost(run.spec.model)}, and the method of {model}: "
                "equal tokens compares a method with its own model"
            )
        notes += refuse_unequal(method, run, across_engines=across_engines)
    a = side_of(method, view)
    sides = [side_of(run, view) for run in plain]
    method_tokens = _tokens_spent(a)
    baseline = _with_tokens(method_tokens, sorted(sides, key=_tokens_spent), model)
    tokens_note = f"b has as many generated tokens an answer as a: {baseline.tokens:.1f} against {method_tokens:.1f}"
    other_notes = [note for note in dict.fromkeys(notes) if "method" not in note]
    return compare_paired(method, a, baseline, view=view, notes=[tokens_note, *other_notes])


def innermost(name: str) -> str:
    """Return the model at the bottom of a name such as `majority-5(prefix(MODEL))`; a plain name is left as it is."""
    form = wrapped_form(name)
    return innermost(form[1]) if form else name


def _with_tokens(tokens: float, sides: Sequence[Side], model: str) -> Side:
    """Return the baseline that spends `tokens` an answer: one of `sides` or a mixture of two.

    `sides` must be sorted by their tokens.

    Raises:
        UsageError: All sides spend fewer tokens, or all spend more.
    """
    least, most = _tokens_spent(sides[0]), _tokens_spent(sides[-1])
    if most < tokens * (1 - TOLERANCE):
        times = math.ceil(tokens / least) if least else MOST_ANSWERS + 1
        example = f"majority-{times}({model})" if times <= MOST_ANSWERS else f"{model} with a higher --max-new-tokens"
        raise UsageError(
            f"No equal tokens: the method takes {tokens:.1f} tokens an answer, "
            f"and the plain model at most {most:.1f}. Measure {example} and give it, too"
        )
    if least > tokens * (1 + TOLERANCE):
        raise UsageError(
            f"No equal tokens: the method takes {tokens:.1f} tokens an answer, "
            f"fewer than every baseline ({least:.1f} or more). The plain comparison gives the baseline more already"
        )
    near = min(sides, key=lambda side: abs(_tokens_spent(side) - tokens))
    if abs(_tokens_spent(near) - tokens) <= TOLERANCE * tokens:
        return near
    upper = next(side for side in sides if _tokens_spent(side) > tokens)
    lower = next(side for side in reversed(sides) if _tokens_spent(side) < tokens)
    share = (tokens - _tokens_spent(lower)) / (_tokens_spent(upper) - _tokens_spent(lower))
    rates = {key: _mix(share, upper.rates.get(key), rate) for key, rate in lower.rates.items()}
    return Side(f"{share:.0%} {upper.name} + {1 - share:.0%} {lower.name}", rates, tokens)


def _tokens_spent(side: Side) -> float:
    """Return the generated tokens an answer of a side.

    Raises:
        UsageError: An answer of the side lacks its number of tokens.
    """
    if side.tokens is None:
        raise UsageError(f"{side.name}: its answers do not say how many tokens they took, so nothing can be held equal")
    return side.tokens


def _mix(share: float, upper: float | None, lower: float | None) -> float | None:
    return None if upper is None or lower is None else share * upper + (1 - share) * lower


def with_equal_length(comparison: Comparison, run_a: Run, run_b: Run) -> Comparison:
    """Return the comparison with its difference at equal length of answers (`at_equal_length`) filled in."""
    rates_a, rates_b = pass_rates(run_a, view=comparison.view), pass_rates(run_b, view=comparison.view)
    long_a, long_b = _characters(run_a), _characters(run_b)
    prompts = run_a.prompts()
    clusters = clusters_of(prompts)
    rows = [
        (clusters.get(prompt.id, f"prompt {prompt.id}"), a - b, long_a[prompt.id], long_b[prompt.id])
        for prompt in prompts
        if (a := rates_a.get(prompt.id)) is not None
        and (b := rates_b.get(prompt.id)) is not None
        and prompt.id in long_a
        and prompt.id in long_b
    ]
    n = len(rows)
    estimate = length_controlled(
        [row[1] for row in rows],
        [row[2] - row[3] for row in rows],
        clusters_P=[row[0] for row in rows],
        confidence=CONFIDENCE,
    )
    equal = EqualLength(
        n=n,
        characters_a=sum(row[2] for row in rows) / n if n else None,
        characters_b=sum(row[3] for row in rows) / n if n else None,
        difference=estimate.value,
        low=estimate.interval.low if estimate.interval else None,
        high=estimate.interval.high if estimate.interval else None,
        slope=estimate.slope,
        reason=estimate.reason,
    )
    return msgspec.structs.replace(comparison, at_equal_length=equal)


def _characters(run: Run) -> Mapping[str, float]:
    """Return by prompt the characters of an answer (all turns), as the mean over its draws.

    Prompts with a missing answer or a failed call are left out.
    """
    n_answers = {prompt.id: len(prompt.turns) * run.spec.draws for prompt in run.prompts()}
    lengths_by_prompt: dict[str, list[int]] = defaultdict(list)
    for response in run.responses():
        if response.status != "error":
            lengths_by_prompt[response.prompt_id].append(len(response.text))
    return {
        key: sum(lengths) / run.spec.draws
        for key, lengths in lengths_by_prompt.items()
        if len(lengths) == n_answers.get(key)
    }
