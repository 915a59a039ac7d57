"""Apply the spec's rule to the primary contrast and to what it depends on."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.stats import Crossed
from adhere.study.design.spec import StudySpec, VerdictSpec
from adhere.study.outcome.contrast import Evaluations, fit_of, pairs_of
from adhere.study.outcome.result import Answer, Contrast, Fragility, OverKinds, Scope, StudyVerdict

MOST_SEEDS, MOST_PROMPTS = 40, 20_000  # beyond these no advice is given
SEEDS_FOR_METHOD = 2
SEEDS_OF_OTHERS = 3  # of trainings that others did, whose seeds nobody here controls


def verdict(
    spec: StudySpec,
    primary: Contrast,
    evaluations: Evaluations,
    *,
    hangs_on: Fragility | None,
    withheld: Sequence[str],
    minutes_per_seed: float | None,
) -> StudyVerdict:
    """Return the answer that the spec's rule gives.

    Args:
        spec: The study.
        primary: The primary contrast.
        evaluations: All evaluations.
        hangs_on: On what the primary contrast depends; None if nothing was measured.
        withheld: Reasons to give no answer, e.g. seeds that are not finished.
        minutes_per_seed: Minutes that one seed takes, for the advice.
    """
    rule, scope = spec.verdict, scope_of(spec)
    answer, because = answer_to(primary, rule.smallest_effect)
    fragile = these_kinds = False
    if withheld:
        answer, because = "INCONCLUSIVE", f"the answer is withheld: {'; '.join(withheld)}"
    elif scope == "method" and answer in {"YES", "NO"} and hangs_on is not None:
        fragile = bool(hangs_on.deciding_seeds or hangs_on.deciding_kinds)
        these_kinds = not fragile and not _excludes_zero(hangs_on.kinds, primary.difference)
        if fragile:
            answer = "INCONCLUSIVE"
            because = tell_what_decides(because, hangs_on.deciding_seeds, hangs_on.deciding_kinds)
        elif these_kinds:
            because = f"{because}; {_limit_to_kinds(hangs_on.kinds)}"
    decides = ""
    if answer == "INCONCLUSIVE" and not withheld:
        pairs = pairs_of(rule.primary, evaluations)
        fit = fit_of(pairs, evaluations)
        advise = what_settles if fragile and hangs_on is not None and hangs_on.deciding_seeds else what_decides
        decides = advise(fit, rule, minutes_per_seed=minutes_per_seed) if fit else ""
    return StudyVerdict(
        question=rule.question,
        answer=answer,
        headline=headline_of(
            answer, scope, primary, fragile=fragile, these_kinds=these_kinds, noun=NOUNS[spec.asks_rules]
        ),
        rule=rule_words(rule, scope),
        because=because,
        scope=scope,
        reach=reach(spec),
        decides=decides,
        withheld=list(withheld),
        primary=primary,
        fragile=fragile,
        these_kinds=these_kinds,
    )


_COUNTED = {
    "sound": ", only sound answers counted: not form alone, no echo, not repetitive",
    "responsive": ", only answers counted that respond to their request",
}


def rule_words(rule: VerdictSpec, scope: Scope) -> str:
    """Return the rule as a sentence."""
    worth = 100 * rule.smallest_effect
    without = " and stays there without any one seed or any one kind of constraint" if scope == "method" else ""
    kinds_note = (
        ". Where the interval over kinds of constraint holds 0, the answer is about these kinds"
        if scope == "method"
        else ""
    )
    counts = _COUNTED.get(str(rule.counts), "")
    return (
        f"With the {rule.confidence:.0%} interval of {rule.treatment} minus {rule.control} ({rule.slice}{counts}): "
        f"YES if it lies above 0{without}; NO if it lies below 0{without}; "
        f"EQUIVALENT if it lies within ±{worth:.1f} points, the smallest effect worth having; "
        f"INCONCLUSIVE otherwise{kinds_note}"
    )


def _excludes_zero(kinds: OverKinds, difference: float | None) -> bool:
    """Tell whether the interval over kinds lies on the same side of 0 as the difference."""
    if kinds.low is None or kinds.high is None:
        return False
    return kinds.low > 0 if (difference or 0) > 0 else kinds.high < 0


def tell_what_decides(because: str, seeds: Sequence[int], kinds: Sequence[str]) -> str:
    """Say which single seeds or kinds of constraint decide: without any one of them the interval holds 0.

    The text begins with `because` up to its first semicolon.
    """
    without = [f"without {word} {_either(names)}" for word, names in (("seed", seeds), ("kind", kinds)) if names]
    single = " or ".join(word for word, names in (("seed", seeds), ("kind of constraint", kinds)) if names)
    return f"{because.partition(';')[0]}, but {' or '.join(without)} it holds 0: a single {single} decides"


def _either(names: Sequence[object]) -> str:
    *first, last = map(str, names)
    return f"{', '.join(first) + ' or ' if first else ''}{last}"


def _limit_to_kinds(kinds: OverKinds) -> str:
    if kinds.low is None or kinds.high is None:
        return f"nothing is known of other kinds of constraint ({kinds.reason})"
    return (
        f"with kinds of constraint as a sample of kinds it reaches from {_points(kinds.low)} to "
        f"{_points(kinds.high)}, so the answer is about these {kinds.n_kinds} kinds"
    )


def answer_to(primary: Contrast, worth: float) -> tuple[Answer, str]:
    """Return the answer by where the interval lies, and why; what the contrast depends on is not considered."""
    low, high = primary.low, primary.high
    if low is None or high is None:
        return "INCONCLUSIVE", f"there is no interval: {primary.reason}"
    open_ = f"; whether by the smallest effect worth having ({_points(worth)}) is open"
    if low > 0:
        small = f", though below the smallest effect worth having ({_points(worth)})"
        return "YES", f"the interval lies above 0{small if high < worth else open_ if low < worth else ''}"
    if high < 0:
        small = f", though by less than an effect worth having ({_points(worth)})"
        return "NO", f"the interval lies below 0{small if low > -worth else open_ if high > -worth else ''}"
    if -worth < low and high < worth:
        return (
            "EQUIVALENT",
            f"the interval excludes every effect worth having, of {_points(worth)} or {_points(-worth)}",
        )
    reaches = f"the interval reaches from {_points(low)} to {_points(high)}: it excludes "
    if high < worth:
        return "INCONCLUSIVE", f"{reaches}a gain worth having ({_points(worth)}), but not a loss"
    only = f"a loss worth avoiding ({_points(-worth)}), but " if low > -worth else ""
    return "INCONCLUSIVE", f"{reaches}{only}neither 0 nor {_points(worth)}"


NOUNS = {False: "prompts", True: "rules in tasks"}
"""Nouns for the units that a study counts, by whether it is about rules."""


def headline_of(
    answer: Answer, scope: Scope, primary: Contrast, *, fragile: bool, these_kinds: bool, noun: str = NOUNS[False]
) -> str:
    """Return the answer as a sentence that says what it is about."""
    on_these = " on these kinds of constraint" if these_kinds else ""
    subject = (
        "the checkpoints of this one seed"
        if scope == "checkpoints" and primary.n_seeds < 2
        else f"the checkpoints of these {primary.n_seeds} seeds"
        if scope == "checkpoints"
        else f"the methods{on_these}, over {primary.n_seeds} seed{'' if primary.n_seeds == 1 else 's'}"
    )
    head = f"{answer} (FRAGILE)" if fragile else answer
    if primary.difference is None or primary.low is None or primary.high is None:
        return f"{head}, about {subject}"
    return (
        f"{head}, about {subject}: {_points(primary.difference)} [{_bare(primary.low)}, {_bare(primary.high)}] on "
        f"{primary.n_prompts} {noun}"
    )


def what_decides(fit: Crossed, rule: VerdictSpec, *, minutes_per_seed: float | None) -> str:
    """Say how many seeds or prompts would bring the detectable difference down to the smallest effect worth having."""
    worth, confidence = rule.smallest_effect, rule.confidence
    per_query = fit.prompts / fit.queries
    now = fit.detectable(confidence)
    text = f"This design can find a difference of {_points(now)} with 80 % power. "
    if now <= worth:
        return text + "It could have found the smallest effect worth having; the truth lies close to it or to 0."
    if fit.seeds > 1:
        enough = (
            n
            for n in range(fit.seeds, MOST_SEEDS + 1)
            if fit.with_more(seeds=n, queries=fit.queries).detectable(confidence) <= worth
        )
        seeds = next(enough, None)
        if seeds is not None:
            return text + f"To find {_points(worth)}: {_seeds(seeds, fit, minutes_per_seed)}."
    prompt_counts = range(fit.prompts, MOST_PROMPTS + 1, 50)
    trials = ((n, fit.with_more(seeds=max(fit.seeds, 1), queries=n / per_query)) for n in prompt_counts)
    prompts = next((n for n, more in trials if more.detectable(confidence) <= worth), None)
    if prompts is None:
        return text + f"To find {_points(worth)} takes more than {MOST_SEEDS} seeds or {MOST_PROMPTS} prompts."
    about = "these checkpoints" if fit.seeds == 1 else f"{fit.seeds} seeds"
    more = " For the methods it takes several seeds (--seeds 5) besides." if fit.seeds == 1 else ""
    return text + f"To find {_points(worth)} of {about}: {prompts} prompts.{more}"


def what_settles(fit: Crossed, rule: VerdictSpec, *, minutes_per_seed: float | None) -> str:
    """Say how many seeds would keep the interval on its side of 0 without any one of them.

    The difference is assumed to stay as it is.
    """
    difference, now = abs(fit.value), _points(fit.value)
    for seeds in range(fit.seeds + 1, MOST_SEEDS + 1):
        without_one = fit.with_more(seeds=seeds - 1, queries=fit.queries)
        if without_one.detectable(rule.confidence) <= difference:
            return f"If the difference stays {now}, {_seeds(seeds, fit, minutes_per_seed)} settle it with 80 % power."
    return f"If the difference stays {now}, {MOST_SEEDS} seeds do not settle it: it takes more prompts."


def _seeds(seeds: int, fit: Crossed, minutes_per_seed: float | None) -> str:
    """Describe a number of seeds on the study's prompts, and the cost of those beyond the measured ones."""
    more = seeds - fit.seeds
    hours = f", about {more * minutes_per_seed / 60:.1f} hours like those measured here" if minutes_per_seed else ""
    return f"{seeds} seeds on these {fit.prompts} prompts ({more} more{hours})"


def scope_of(spec: StudySpec) -> Scope:
    """Return `method` if both compared arms have enough seeds of their own, else `checkpoints`."""
    verdict_arms = [spec.arm(name) for name in (spec.verdict.treatment, spec.verdict.control)]
    if any(arm.source is not None for arm in verdict_arms):
        has_seeds = any(arm.source is None or arm.is_seeded for arm in verdict_arms)
        return "method" if has_seeds and len(spec.seeds) >= SEEDS_OF_OTHERS else "checkpoints"
    return "method" if len(spec.seeds) >= SEEDS_FOR_METHOD else "checkpoints"


def reach(spec: StudySpec) -> str:
    """Say for what the verdict holds."""
    scope = scope_of(spec)
    if not spec.trains:
        return _reach_of_others(spec, scope)
    where = f"on {spec.start}, on data and held-out prompts like these, at this size"
    if scope == "checkpoints":
        return (
            f"One training seed: the answer is about these checkpoints, not about the methods ({where}). "
            "Use --seeds 5 for the methods."
        )
    few = " Five seeds or more are advised." if len(spec.seeds) < 5 else ""
    return (
        f"{len(spec.seeds)} training seeds, each with its own training prompts and answers: "
        f"the answer is about the methods {where}.{few}"
    )


def _reach_of_others(spec: StudySpec, scope: Scope) -> str:
    where = f"on prompts like those of {spec.asked or 'this study'}, of models of this size"
    if spec.asks_rules:
        return _reach_of_sessions(spec, scope)
    if scope == "method":
        few = " Five seeds or more are advised." if len(spec.seeds) < 5 else ""
        return (
            f"{len(spec.seeds)} training seeds, trained elsewhere: the answer is about the methods as they were run "
            f"there, {where}.{few}"
        )
    if any(arm.is_seeded for arm in spec.arms):
        return (
            f"{len(spec.seeds)} training seed{'s' * (len(spec.seeds) > 1)}: the answer is about these checkpoints, not "
            f"about the methods ({where}). It takes at least {SEEDS_OF_OTHERS} seeds of both arms for the methods; 5 "
            "are advised."
        )
    return f"One model an arm: the answer is about these checkpoints, not about how they were trained ({where})."


def _reach_of_sessions(spec: StudySpec, scope: Scope) -> str:
    where = f"on tasks and rules like these ({spec.asked})"
    if scope == "method":
        return f"{len(spec.seeds)} sets of sessions an arm: the answer is about these agents as they were run {where}."
    sets = f"{len(spec.seeds)} set{'s' * (len(spec.seeds) > 1)} of sessions an arm"
    return (
        f"{sets}: the answer is about these sessions, not about the agents ({where}). It takes at least "
        f"{SEEDS_OF_OTHERS} sets of both arms for the agents; 5 are advised."
    )


def _bare(difference: float) -> str:
    return _points(difference).removesuffix(" points")


def _points(difference: float) -> str:
    """Return a difference of rates in points, as the reports print it."""
    return f"{100 * difference:+.1f} points".replace("-", "−")
