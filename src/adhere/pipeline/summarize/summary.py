"""Turn Responses and Verdicts into a Summary. Every rate names its denominator, and the counts must add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from adhere.errors import BadParameter, UnknownName
from adhere.pipeline.floors.measure import AnswererRates
from adhere.pipeline.floors.stored import MOST_PROMPTS, floor_of, floors_of, tallies_of
from adhere.pipeline.guard import Guard, guard
from adhere.pipeline.judge import verifier_version
from adhere.pipeline.official import official_scores
from adhere.pipeline.outcomes import Answers, Unit, by_slice
from adhere.pipeline.responding.run import ACTS, responding
from adhere.pipeline.responding.style import style_leaks
from adhere.pipeline.summarize.counts import CountedRates, Counts, add_sums, insist, mean_of_all
from adhere.pipeline.summarize.estimates import nothing_measured
from adhere.pipeline.summarize.measures import measures
from adhere.pipeline.summarize.over_draws import draw_sums, over_draws
from adhere.schema import SCHEMA_VERSION, CutAnswers, Mode, Prompt, Response, Verdict
from adhere.store.run import Key, all_keys
from adhere.store.summary import Accounting, DrawSums, GuardMeans, Measure, SliceScore, SliceSums, Summary, SummarySums


def summarize(
    prompts: Sequence[Prompt],
    draws: int,
    responses: Iterable[Response],
    verdicts: Iterable[Verdict],
    slices: Sequence[str] = (),
    *,
    damage: int = 0,
    mode: Mode = "reference",
    cut_answers: CutAnswers = "judge",
    keep_sums: bool = False,
) -> Summary:
    """Return all numbers of a Run.

    Args:
        prompts: What was asked.
        draws: How often each prompt was asked.
        responses: At most one per (prompt, turn, draw); failed calls too.
        verdicts: At most one per (response, constraint, view).
        slices: Values of `tags["slice"]` to report separately; those without prompts are left out.
        damage: Stored lines that could not be read, to be shown beside the numbers.
        mode: The mode in which published kinds were judged.
        cut_answers: Whether a cut answer failed, or was judged as it stands.
        keep_sums: Keep the sums in the summary, for `summarize_shards`.

    Raises:
        AssertionError: The counts do not add up, which is a bug of ours.
    """
    answers = Answers(prompts, draws, responses, verdicts)
    floors = _floors(answers.prompts, mode, cut_answers)
    sums = _sums(answers, slices, floors, mode)
    versions = versions_of(prompts, mode)
    run_measures = official_scores(answers, (*measures(answers), *over_draws(sums.draws, draws)))
    return summary_of(sums, draws, versions, damage, run_measures, keep_sums=keep_sums)


def _floors(prompts: Sequence[Prompt], mode: Mode, cut_answers: CutAnswers) -> list[AnswererRates]:
    """Return the floors of a Run's prompts; none if the present judge does not know one of the constraints.

    Stored verdicts of such a Run still count; only new answers cannot be judged by that constraint.
    """
    try:
        return floors_of(prompts, mode=mode, cut_answers=cut_answers, most=MOST_PROMPTS)
    except (BadParameter, UnknownName):
        return []


def versions_of(prompts: Iterable[Prompt], mode: Mode) -> dict[str, str]:
    """Return the version that judges each kind at present, by the kind's id."""
    profiles = {
        ref.id: prompt.tags.get("profile") for prompt in prompts for turn in prompt.turns for ref in turn.constraints
    }
    return {name: verifier_version(name, mode=mode, profile=profiles[name]) for name in sorted(profiles)}


def summarize_shards(shards: Iterable[Summary]) -> Summary:
    """Return the numbers of a Run from the summaries of its shards, which have different prompts.

    A suite's own measures look at several prompts together, so they exist for single shards only. The result names them
    without a number.

    Raises:
        AssertionError: The shards do not belong together, which is a bug of ours.
    """
    sums: SummarySums | None = None
    versions: dict[str, str] = {}
    damage, draws, own = 0, 0, dict[str, None]()
    for shard in shards:
        insist(isinstance(shard.sums, SummarySums), "a shard's summary has no sums")
        assert isinstance(shard.sums, SummarySums)  # noqa: S101 - for the type checker
        sums = shard.sums if sums is None else _add(sums, shard.sums)
        insist(draws in {0, shard.draws}, "two shards drew differently often")
        draws, damage = shard.draws, damage + shard.damage
        for name, version in shard.verifier_versions.items():
            insist(versions.setdefault(name, version) == version, f"shards were judged by two versions of {name}")
        own |= dict.fromkeys(measure.name for measure in shard.measures)
    assert sums is not None, "a Run has shards"  # noqa: S101
    general = tuple(over_draws(sums.draws, draws))
    left_out = [name for name in own if name not in {measure.name for measure in general}]
    why = "it looks at several prompts together: see the reports of the shards"
    missing = tuple(nothing_measured(name, "", "prompts", why) for name in left_out)
    return summary_of(sums, draws, dict(sorted(versions.items())), damage, (*missing, *general))


def summary_of(
    sums: SummarySums,
    draws: int,
    versions: dict[str, str],
    damage: int,
    measures: tuple[Measure, ...],
    *,
    keep_sums: bool = False,
) -> Summary:
    """Return the Summary of what was counted.

    Args:
        sums: What was counted.
        draws: Answers to each prompt.
        versions: Versions of the verifiers, by kind.
        damage: Stored lines that could not be read.
        measures: Measures beside the rates.
        keep_sums: Put the sums into the summary.
    """
    overall = _score(sums.overall, draws)
    return Summary(
        version=SCHEMA_VERSION,
        draws=draws,
        overall=overall,
        slices={name: _score(slice_sums, draws) for name, slice_sums in sums.slices.items()},
        verifier_versions=versions,
        damage=damage,
        measures=measures,
        sums=sums if keep_sums else msgspec.UNSET,
        floor=overall.floor,
    )


def _sums(answers: Answers, slices: Sequence[str], floors: Sequence[AnswererRates], mode: Mode) -> SummarySums:
    guards = _guards(answers)
    beside = _Beside(guards, _leaks(answers, guards), responding(answers, mode), floors)
    parts = {name: _slice_sums(answers, members, beside) for name, members in by_slice(answers.prompts, slices).items()}
    return SummarySums(_slice_sums(answers, answers.prompts, beside), parts, draw_sums(answers))


class _Beside(NamedTuple):
    """Holds what is reported beside the rates.

    `guards` and `leaks` are by answer, `responding` by conversation (prompt, draw). `floors` are the rates of answerers
    without a model.
    """

    guards: Mapping[Key, Guard]
    leaks: Mapping[Key, bool]
    responding: Mapping[Unit, bool | None]
    floors: Sequence[AnswererRates]


def _slice_sums(answers: Answers, prompts: Sequence[Prompt], beside: _Beside) -> SliceSums:
    counts, sound, responsive, guards = Counts(), list[float | None](), list[float | None](), beside.guards
    for prompt in prompts:
        n_constraints = sum(len(turn.constraints) for turn in prompt.turns)
        for draw in range(answers.draws):
            is_completed, slots = answers.is_completed(prompt, draw), answers.slots(prompt, draw)
            passes = counts.add(prompt.id, slots, n_constraints, is_completed=is_completed)
            if passes is not None and not any(slot.constraint_id.startswith(ACTS) for slot in slots):
                turns = [guards.get((prompt.id, turn, draw)) for turn in range(len(prompt.turns))]
                sound.append(float(passes and all(guard and not guard.is_letter_alone for guard in turns)))
                responds = beside.responding.get((prompt.id, draw), False)
                responsive.append(None if responds is None else float(responds))
    ids = {prompt.id for prompt in prompts}
    slice_guards = [guard for key, guard in guards.items() if key[0] in ids]
    means: dict[str, list[float | None]] = {
        "mean_words": [guard.words for guard in slice_guards],
        "distinct_2": [guard.distinct_2 for guard in slice_guards],
        "content_share": [guard.content_share for guard in slice_guards],
        # An answer too short to repeat itself does not.
        "repetition_share": [float(bool(guard.is_repetitive)) for guard in slice_guards],
        "echo_share": [float(bool(guard.is_echo)) for guard in slice_guards],
        "form_share": [float(guard.is_empty_form) for guard in slice_guards],
        "style_leak_share": [float(leaks) for key, leaks in beside.leaks.items() if key[0] in ids],
        "sound_share": sound,
        "responsive_share": responsive,
    }
    numbers = {name: [value for value in values if value is not None] for name, values in means.items()}
    return SliceSums(
        len(prompts),
        _account(answers, prompts),
        counts.finish().sums,
        len(slice_guards),
        {name: (sum(values), len(values)) for name, values in numbers.items()},
        tallies_of(beside.floors, (place for place, prompt in enumerate(answers.prompts) if prompt.id in ids)),
    )


def _add(sums: SummarySums, other: SummarySums) -> SummarySums:
    slices = dict(sums.slices)
    for name, slice_sums in other.slices.items():
        slices[name] = _add_slices(slices[name], slice_sums) if name in slices else slice_sums
    draws = DrawSums(
        sums.draws.passed + other.draws.passed,
        sums.draws.clusters + other.draws.clusters,
        tuple(a + b for a, b in zip(sums.draws.by_draw, other.draws.by_draw, strict=True)),
    )
    return SummarySums(_add_slices(sums.overall, other.overall), slices, draws)


def _add_slices(sums: SliceSums, other: SliceSums) -> SliceSums:
    accounting = Accounting(
        *(getattr(sums.accounting, name) + getattr(other.accounting, name) for name in Accounting.__struct_fields__)
    )
    # Only the names that both have: one of the two may be older than a guard number.
    guard = {
        name: (total + other.guard[name][0], n + other.guard[name][1])
        for name, (total, n) in sums.guard.items()
        if name in other.guard
    }
    floors = {
        name: (passed + other.floors[name][0], n + other.floors[name][1])
        for name, (passed, n) in sums.floors.items()
        if name in other.floors
    }
    counts = add_sums(sums.counts, other.counts)
    return SliceSums(sums.n_prompts + other.n_prompts, accounting, counts, sums.texts + other.texts, guard, floors)


def _score(sums: SliceSums, draws: int) -> SliceScore:
    counts, units = CountedRates(sums.counts), sums.n_prompts * draws
    prompt_strict, prompt_loose = counts.prompt("strict"), counts.prompt("loose")
    instruction_strict, instruction_loose = counts.instruction("strict"), counts.instruction("loose")
    for strict, loose in ((prompt_strict, prompt_loose), (instruction_strict, instruction_loose)):
        insist(loose.n != strict.n or loose.passed >= strict.passed, "what passes strictly must pass loosely")
    return SliceScore(
        n_prompts=sums.n_prompts,
        accounting=sums.accounting,
        coverage=prompt_strict.n / units if units else 0.0,
        prompt_strict=prompt_strict,
        instruction_strict=instruction_strict,
        prompt_loose=prompt_loose,
        instruction_loose=instruction_loose,
        instruction_macro=counts.instruction_macro(),
        mean_of_four=mean_of_all(
            prompt_strict.of_all, instruction_strict.of_all, prompt_loose.of_all, instruction_loose.of_all
        ),
        families=counts.families(),
        kinds=counts.kinds(),
        guard=_guard_means(sums),
        floor=floor_of(sums.floors),
    )


def _account(answers: Answers, prompts: Sequence[Prompt]) -> Accounting:
    keys = all_keys(prompts, answers.draws)
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
    insist(sound, f"answers do not add up: {accounting}")
    return accounting


def _guards(answers: Answers) -> dict[Key, Guard]:
    """Return the guard of every answer with a visible text; made once, because every slice needs some of them."""
    guards, by_id = {}, {prompt.id: prompt for prompt in answers.prompts}
    for key in all_keys(answers.prompts, answers.draws):
        response = answers.responses.get(key)
        if response is not None and response.status != "error" and response.text.strip():
            guards[key] = guard(by_id[response.prompt_id], response.text, turn=response.turn)
    return guards


def _leaks(answers: Answers, keys: Iterable[Key]) -> dict[Key, bool]:
    """Tell of each answer whether it is in a form that nobody asked for."""
    by_id = {prompt.id: prompt for prompt in answers.prompts}
    return {key: bool(style_leaks(by_id[key[0]].turns[key[1]].text, answers.responses[key].text)) for key in keys}


def _guard_means(sums: SliceSums) -> GuardMeans:
    means = {name: total / n if n else None for name, (total, n) in sums.guard.items()}
    n_checked = sums.accounting.checked
    truncated_share = sums.accounting.truncated / n_checked if n_checked else None
    return GuardMeans(n=sums.texts, truncated_share=truncated_share, **means)
