"""Counting: Responses and Verdicts in, a Summary out. Every rate names its denominator, and the counts must add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adhere.constraints import registry
from adhere.pipeline.guard import guard
from adhere.pipeline.judge import verifier_version
from adhere.pipeline.outcomes import Answers, Slot, by_slice
from adhere.schema import SCHEMA_VERSION, Prompt, Response, Verdict, View
from adhere.stats import wilson_clustered
from adhere.store.summary import Accounting, GuardMeans, Rate, SliceScore, Summary, Tally


class _Trial(NamedTuple):
    """One thing that can pass: a conversation, or a constraint of one. Trials of one prompt are a cluster."""

    prompt_id: str
    passed: bool
    completed: bool


def summarize(
    prompts: Sequence[Prompt],
    draws: int,
    responses: Iterable[Response],
    verdicts: Iterable[Verdict],
    slices: Sequence[str] = (),
    *,
    damage: int = 0,
) -> Summary:
    """All numbers of a Run.

    Args:
        prompts: What was asked.
        draws: How often.
        responses: At most one per (prompt, turn, draw); failed calls too.
        verdicts: At most one per (response, constraint, view).
        slices: Values of `tags["slice"]` to report apart; those without prompts are left out.
        damage: Stored lines that could not be read, to be shown beside the numbers.

    Raises:
        AssertionError: The counts do not add up, which is a bug of ours.
    """
    answers = Answers(prompts, draws, responses, verdicts)
    ids = sorted({ref.id for prompt in prompts for turn in prompt.turns for ref in turn.constraints})
    return Summary(
        version=SCHEMA_VERSION,
        draws=draws,
        overall=_score(answers, answers.prompts),
        slices={name: _score(answers, members) for name, members in by_slice(prompts, slices).items()},
        verifier_versions={id: verifier_version(id) for id in ids},  # noqa: A001 - the field's word
        damage=damage,
    )


def _score(answers: Answers, prompts: Sequence[Prompt]) -> SliceScore:
    accounting = _account(answers, prompts)
    units = [(prompt, draw) for prompt in prompts for draw in range(answers.draws)]
    slots = [(prompt.id, slot) for prompt, draw in units for slot in answers.slots(prompt, draw)]
    prompt_strict, prompt_loose = (_prompt_rate(answers, units, view) for view in ("strict", "loose"))
    instruction_strict, instruction_loose = (_slot_rate(slots, view) for view in ("strict", "loose"))
    for strict, loose in ((prompt_strict, prompt_loose), (instruction_strict, instruction_loose)):
        _insist(loose.n != strict.n or loose.passed >= strict.passed, "what passes strictly must pass loosely")
    four = [rate.of_all for rate in (prompt_strict, instruction_strict, prompt_loose, instruction_loose)]
    kinds = sorted({slot.constraint_id for _, slot in slots})
    families = sorted({_family(kind) for kind in kinds})
    return SliceScore(
        n_prompts=len(prompts),
        accounting=accounting,
        coverage=prompt_strict.n / len(units) if units else 0.0,
        prompt_strict=prompt_strict,
        instruction_strict=instruction_strict,
        prompt_loose=prompt_loose,
        instruction_loose=instruction_loose,
        instruction_macro=_macro(slots),
        mean_of_four=_mean(four) if None not in four else None,
        families={
            name: _tally([pair for pair in slots if _family(pair[1].constraint_id) == name]) for name in families
        },
        kinds={name: _tally([pair for pair in slots if pair[1].constraint_id == name]) for name in kinds},
        guard=_guard_means(answers, prompts, accounting),
    )


def _account(answers: Answers, prompts: Sequence[Prompt]) -> Accounting:
    keys = [
        (prompt.id, turn, draw)
        for prompt in prompts
        for draw in range(answers.draws)
        for turn in range(len(prompt.turns))
    ]
    status = Counter(answers.responses[key].status for key in keys if key in answers.responses)
    accounting = Accounting(
        n=len(keys),
        ok=status["ok"],
        truncated=status["truncated"],
        empty=status["empty"],
        refused=status["refused"],
        error=status["error"],
        missing=sum(key not in answers.responses for key in keys),
    )
    sound = accounting.n == accounting.checked + accounting.error + accounting.missing
    _insist(sound, f"answers do not add up: {accounting}")
    return accounting


def _prompt_rate(answers: Answers, units: Sequence[tuple[Prompt, int]], view: View) -> Rate:
    trials = []
    for prompt, draw in units:
        passed = answers.passes(prompt, draw, view)
        if passed is not None:
            trials.append(_Trial(prompt.id, passed, answers.is_completed(prompt, draw)))
    return _rate(trials, "no prompt was measured")


def _slot_rate(slots: Sequence[tuple[str, Slot]], view: View) -> Rate:
    trials = [
        _Trial(prompt_id, slot.outcome(view) == "pass", slot.completed)
        for prompt_id, slot in slots
        if slot.outcome(view) != "undecided"
    ]
    return _rate(trials, "no constraint was measured")


def _rate(trials: Sequence[_Trial], nothing: str) -> Rate:
    completed = [trial for trial in trials if trial.completed]
    passed, n, share, low, high = _share(trials)
    passed_completed, n_completed, share_completed, low_completed, high_completed = _share(completed)
    return Rate(
        passed=passed,
        n=n,
        of_all=share,
        low=low,
        high=high,
        passed_completed=passed_completed,
        n_completed=n_completed,
        of_completed=share_completed,
        low_completed=low_completed,
        high_completed=high_completed,
        reason=nothing if not n else "no answer was finished" if not n_completed else "",
    )


def _share(trials: Sequence[_Trial]) -> tuple[int, int, float | None, float | None, float | None]:
    """Passed, trials, their share and its interval; trials of one prompt are a cluster."""
    n_K = Counter(trial.prompt_id for trial in trials)
    passed_K = Counter(trial.prompt_id for trial in trials if trial.passed)
    interval = wilson_clustered([passed_K[prompt_id] for prompt_id in n_K], list(n_K.values()))
    if interval is None:
        return 0, 0, None, None, None
    passed = sum(passed_K.values())
    return passed, len(trials), passed / len(trials), interval.low, interval.high


def _tally(slots: Sequence[tuple[str, Slot]]) -> Tally:
    outcomes = Counter(slot.strict for _, slot in slots)
    tally = Tally(
        checked=len(slots),
        passed=outcomes["pass"],
        failed=outcomes["fail"],
        undecided=outcomes["undecided"],
        strict=_slot_rate(slots, "strict"),
        loose=_slot_rate(slots, "loose"),
    )
    _insist(tally.checked == tally.passed + tally.failed + tally.undecided, f"verdicts do not add up: {tally}")
    return tally


def _macro(slots: Sequence[tuple[str, Slot]]) -> float | None:
    n_P = Counter(prompt_id for prompt_id, slot in slots if slot.strict != "undecided")
    passed_P = Counter(prompt_id for prompt_id, slot in slots if slot.strict == "pass")
    return _mean([passed_P[prompt_id] / n for prompt_id, n in n_P.items()])


def _guard_means(answers: Answers, prompts: Sequence[Prompt], accounting: Accounting) -> GuardMeans:
    found = []
    for prompt in prompts:
        for draw in range(answers.draws):
            for turn in range(len(prompt.turns)):
                response = answers.responses.get((prompt.id, turn, draw))
                if response is not None and response.status != "error" and response.text.strip():
                    found.append(guard(prompt, response.text, turn=turn))
    return GuardMeans(
        n=len(found),
        mean_words=_mean([one.words for one in found]),
        distinct_2=_mean([one.distinct_2 for one in found]),
        content_share=_mean([one.content_share for one in found]),
        # An answer too short to repeat itself does not.
        repetition_share=_mean([float(bool(one.is_repetitive)) for one in found]),
        echo_share=_mean([float(bool(one.is_echo)) for one in found]),
        truncated_share=accounting.truncated / accounting.checked if accounting.checked else None,
    )


def _mean(values: Iterable[float | None]) -> float | None:
    """The mean of what was measured; None where nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _insist(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as assert, and stays under python -O
    if not holds:
        raise AssertionError(otherwise)


def _family(constraint_id: str) -> str:
    return registry.get(constraint_id).family()
