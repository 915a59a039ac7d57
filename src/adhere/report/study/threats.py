"""Derive the threats to a study's answer from its record: printed with every report, the strongest first."""

from __future__ import annotations

from adhere.report.pieces.numbers import percent, plural, points
from adhere.report.pieces.wording import sentence
from adhere.study.design.tuned import Tuning
from adhere.study.outcome.result import StudyResult


def threats(result: StudyResult) -> list[str]:
    """List the threats to validity of this study, a sentence or two each."""
    of_the_design = _of_others(result) if result.alike else _of_the_design(result)
    return [text for text in (*_of_the_answer(result), *of_the_design) if text]


def _of_the_answer(result: StudyResult) -> list[str]:
    primary = result.verdict.primary
    late = [change for change in result.changes if change.evaluations]
    violated_guards, open_ = (
        dict.fromkeys(guard.name.replace("_", " ") for guard in result.guards if guard.outcome == outcome)
        for outcome in ("violated", "undecided")
    )
    is_gain = (primary.difference or 0) > 0
    bought, cost = (
        ("The gain may have been bought: ", "The gain may have cost something else: ") if is_gain else ("", "")
    )
    worse_tasks = [side.task for side in result.sides.tests if side.outcome == "violated"] if result.sides else []
    unequal = [match for match in result.matched if not match.within]
    signs = {estimate.difference > 0 for estimate in primary.by_seed if estimate.difference}
    return [
        f"The spec was changed after results were there ({plural(len(late), 'change')}): "
        "the rule is no longer one fixed beforehand."
        if late
        else "",
        sentence(f"{bought}{', '.join(violated_guards)} got worse by more than the margin") if violated_guards else "",
        f"Whether something was given up for it is not decided for {', '.join(open_)}." if open_ else "",
        sentence(f"{cost}worse at {', '.join(worse_tasks)} by more than the margin") if worse_tasks else "",
        f"Compute is not equal as planned in {plural(len(unequal), 'measure')}." if unequal else "",
        "Seeds disagree about the sign of the difference." if len(signs) > 1 else "",
        "One training seed: another one may give another difference, and nothing here says how much."
        if primary.n_seeds == 1
        else f"{plural(primary.n_seeds, 'training seed')}: the spread between seeds is itself known roughly."
        if 1 < primary.n_seeds < 10
        else "",
        f"The design finds differences from {points(primary.minimum_detectable, is_signed=False)} points; "
        "smaller ones escape it."
        if primary.minimum_detectable is not None
        else "",
    ]


def _of_others(result: StudyResult) -> list[str]:
    """List the doubts about arms that others trained: what differs or is unknown, and when the rule was registered."""
    differs = [f"{aspect.what} ({aspect.told})" for aspect in result.alike if aspect.state == "differs"]
    unknown = [aspect.what for aspect in result.alike if aspect.state == "unknown"]
    return [
        registered_sentence(result),
        sentence(f"Not equal between the arms, so it may be the reason: {'; '.join(differs)}") if differs else "",
        sentence(f"Not known to be equal: {', '.join(unknown)}") if unknown else "",
        draws_sentence(result),
        *overlap_sentences(result),
        "The arms were trained elsewhere: their data, settings and compute are as their authors say, or not said.",
    ]


def registered_sentence(result: StudyResult) -> str:
    """Say whether the rule was fixed before there were answers, as far as this study can show it."""
    record = result.registered
    if record is None:
        return (
            "The rule is not shown to be registered before the answers were there (times of files prove nothing; "
            "adhere study SPEC --register does)."
        )
    if record.sha256 != result.spec_sha256 or result.changes:
        return f"A rule was registered at {record.at}, and the spec was changed since: this is not the registered rule."
    return f"The rule was registered at {record.at}, while none of the answers was there."


def overlap_sentences(result: StudyResult) -> list[str]:
    """Say whether test prompts occur in the rows that arms were trained on, as far as their authors name the rows."""
    sentences = []
    for overlap in result.overlaps:
        where = ", ".join(f"a prompt of {name} ({n})" for name, n in overlap.against.items())
        examples = f" ({'; '.join(overlap.shown)})" if overlap.shown else ""
        rows = f"{overlap.rows} rows of {overlap.file}, on which {overlap.arm} was trained,"
        sentences.append(
            f"{overlap.repeated} of {rows} repeat {where}{examples}."
            if overlap.repeated
            else f"None of the {rows} repeats a prompt."
        )
    return sentences


def draws_sentence(result: StudyResult) -> str:
    """Say what several answers to a prompt add to the interval; empty if one was drawn."""
    part = result.draws
    if part is None:
        return ""
    share = "an unknown part" if part.share is None else percent(part.share, digits=0)
    return (
        f"{part.draws} answers a prompt at temperature {part.temperature:g}: {share} of the variance behind the "
        "interval comes from drawing."
    )


def _of_the_design(result: StudyResult) -> list[str]:
    repaired_rows = sum(pool.sft_by_origin.get("repaired", 0) for pool in result.data)
    rows = sum(pool.sft_rows for pool in result.data)
    return [
        (
            "The judge that measures is the judge that rewards and that chooses training answers: "
            "what it overlooks can be learnt."
        ),
        (
            "Held-out prompts come from the generator that makes training prompts. Queries, topics, phrases, "
            "keys and words are held out; numbers (how many words, bullets or times) are not."
        ),
        f"{repaired_rows:,} of {rows:,} supervised rows are answers mended by a program: good form, "
        "not always good prose."
        if repaired_rows
        else "",
        _of_settings(result),
        f"One start model ({result.start_model}): a larger one may behave differently.",
    ]


def _of_settings(result: StudyResult) -> str:
    if result.tuning is None:
        return "Learning rates were not searched for each arm: an arm may lose because of its settings, not its method."
    tuned_stages = {tuned_stage.stage for tuned_stage in result.tuning.stages}
    others = [
        name
        for name in dict.fromkeys(stage for arm in result.arm_stages.values() for stage in arm)
        if name not in tuned_stages
    ]
    method = {stage.stage: stage.method for stage in result.stage_costs}
    alike = {
        other: name for other in others for name in sorted(tuned_stages) if method.get(name, "") == method.get(other)
    }
    edges = _at_the_edge(result.tuning)
    return " ".join(
        [
            (
                f"Settings were searched for on {plural(len(result.tuning.seeds), 'seed')} and a grid that a person "
                "chose: the best may lie outside it."
            ),
            *([f"At the edge of what was tried: {'; '.join(edges)}."] if edges else []),
            *([f"Not searched for: {', '.join(others)}."] if others else []),
            *(
                f"{other} has the method of {name}, and settings that nobody searched for: they differ in these, too."
                for other, name in alike.items()
            ),
        ]
    )


def _at_the_edge(tuning: Tuning) -> list[str]:
    """List chosen numbers that are the lowest or highest of at least three tried: a better one may lie beyond."""
    edges = []
    for stage in tuning.stages:
        for name, value in stage.trials[stage.chosen].settings.items():
            values = {
                trial_value for trial in stage.trials if isinstance(trial_value := trial.settings[name], int | float)
            }
            if len(values) >= 3 and value in (min(values), max(values)):
                edges.append(f"{stage.stage} {name} {value}")
    return edges
