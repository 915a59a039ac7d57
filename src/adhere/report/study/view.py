"""Arrange a StudyResult into rows for tables and pictures, in reading order; nothing is computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adhere.report.pieces.guards import NO_GUARD, floor_cell, guard_cells
from adhere.report.pieces.numbers import (
    count,
    decimal,
    p_value,
    percent,
    percent_interval,
    plural,
    points,
    points_and_interval,
    points_interval,
)
from adhere.report.pieces.sides import following_words, rest_sentence, side_scores
from adhere.report.pieces.wording import Effect, effect, is_of_rules, noun_of, verb_of
from adhere.report.study.parts import kinds_left_out_sentence, lost_whole_sentence
from adhere.store.summary import Floor, Share
from adhere.study.design.tuned import TunedStage, Tuning
from adhere.study.outcome.result import ArmScore, ArmTraps, CellNote, Contrast, Curve, GuardTest, Match, StudyResult

NO_RATE = "no prompt was measured (n = 0)"
WHOLE_SUITE = 0.99  # of a benchmark; where less was measured, its line says so
_SLICE_TITLES = {
    "all": ("All held-out prompts", "every slice together"),
    "new-topic/single": (
        "New topics, one constraint",
        "kinds and wordings of training; new queries, topics, phrases and keys",
    ),
    "new-topic/multiple": ("New topics, several constraints", "as before, two or three together"),
    "new-wording/single": ("New wordings, one constraint", "kinds of training in wordings that it never said"),
    "new-wording/multiple": ("New wordings, several constraints", "as before, two or three together"),
    "new-family/single": ("New families, one constraint", "kinds of constraint that training never saw"),
    "new-family/multiple": ("New families, several constraints", "as before, two or three together"),
    "new-kind/single": ("New kinds, one constraint", "kinds of constraint that this seed never trained"),
    "new-kind/multiple": ("New kinds, several constraints", "as before, two or three together"),
}

_RULE_TITLES = {
    "all": ("Rules that were triggered", "in all tasks"),
    "solved": ("Tasks that every session solved", "of all arms"),
    "not-solved": ("Tasks that not every session solved", "of all arms"),
}


class ArmRows(NamedTuple):
    """Holds one arm on one slice: the score to compare, and the scores of single seeds if there are several."""

    arm: str
    tone: int
    score: ArmScore | None
    by_seed: tuple[ArmScore, ...]


class SliceScores(NamedTuple):
    """Holds all arms on one slice."""

    slice: str
    title: str
    note: str
    arms: tuple[ArmRows, ...]


class ContrastRow(NamedTuple):
    """Holds a contrast and what it shows in words."""

    contrast: Contrast
    effect: Effect

    @property
    def name(self) -> str:
        """`treatment − control`."""
        return f"{self.contrast.treatment} − {self.contrast.control}"

    @property
    def numbers(self) -> str:
        """`+1.2 (−2.0…+4.4)`, or a dash."""
        contrast = self.contrast
        if contrast.difference is None:
            return points(None)
        return f"{points(contrast.difference)} (no interval)" if contrast.low is None else points_and_interval(contrast)


class RateTable(NamedTuple):
    """Holds rates, a row for each family or kind and a column for each arm; `is_new` marks rows never trained on."""

    arms: tuple[ArmRows, ...]
    rows: tuple[tuple[str, bool, tuple[Share | None, ...]], ...]


class Track(NamedTuple):
    """Describes a trained cell in its stage's panels: the arms that it serves, and the colour of its lines."""

    label: str
    tone: int


class Panel(NamedTuple):
    """Holds one column of the log for all cells of one stage."""

    column: str
    title: str
    is_rate: bool
    lines: tuple[tuple[Track, Curve], ...]


class StagePanels(NamedTuple):
    """Holds the learning curves of one stage, and the warnings of its guards."""

    stage: str
    method: str
    tracks: tuple[Track, ...]
    seeds: tuple[int, ...]
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()


# What a log column is called for a reader, in the order of the panels; True: a share, drawn from 0 to 100 %.
_COLUMNS: dict[str, tuple[str, bool]] = {
    "loss": ("Loss", False),
    "reward_mean": ("Mean reward", False),
    "pass_rate": ("Pass rate of drawn answers", True),
    "frac_zero_variance": ("Prompts with all scores equal", True),
    "mean_tokens": ("Answer length, tokens", False),
    "accuracy": ("Pairs ranked rightly", True),
    "margin": ("Reward margin, chosen over rejected", False),
    "kl": ("KL from the reference", False),
    "entropy": ("Entropy, nats a token", False),
    "truncated_share": ("Answers cut at the limit", True),
}

_PART = "part: "  # how a log calls a component of the reward (train/batch/rollout.py)

GROWTH_HEADINGS = (
    "method", "budget", "tokens trained", "answers drawn", "gain", "interval", "over the control", "interval",
)  # fmt: skip


def growth_rows(result: StudyResult) -> list[list[str]]:
    """Return a row for each method at each budget.

    A row has cost and gain over the reference; the treatment's also has its difference from the control's gain.
    """
    if result.growth is None:
        return []
    beside = {contrast.treatment: contrast for contrast in result.growth.between}
    rows = []
    for point in result.growth.points:
        over = beside.get(point.arm)
        rows.append(
            [
                point.method, f"× {point.budget}", count(point.tokens_trained), count(point.answers_generated),
                points(point.gain.difference), points_interval(point.gain.low, point.gain.high),
                points(over.difference) if over else "", points_interval(over.low, over.high) if over else "",
            ]
        )  # fmt: skip
    return rows


ALIKE_HEADINGS = ("what", "between the arms", "as far as it was seen")


def alike_rows(result: StudyResult) -> list[list[str]]:
    """Return what was equal between arms that others trained, what differed, and what is unknown."""
    return [[aspect.what, aspect.state, aspect.told] for aspect in result.alike]


TRAP_HEADINGS = ("arm", "answers", "take a trap", "keep every instruction", "of these the letter alone", "traps")


def trap_rows(arms: Sequence[ArmTraps]) -> list[list[str]]:
    """Return the cells under TRAP_HEADINGS for each arm: answers that take a trap, and those of them that pass."""
    return [
        [
            row.arm,
            count(row.answers),
            f"{count(row.taken)} ({percent(row.taken / row.answers, digits=0)})",
            count(row.passing),
            count(row.passing_taken),
            ", ".join(f"{trap} {n}" for trap, n in row.by_trap.items()) or "–",
        ]
        for row in arms
    ]


TRAPS_NOTE = (
    "Of the answers that the records hold (the shown prompts, every seed): too few to tell arms apart. "
    "A trap is the phrase alone, the prompt once more, words again and again, hidden text. "
    "The gate of the day this page was made; it decides nothing here."
)


def tone_of(result: StudyResult, arm: str) -> int:
    """Return the colour class of an arm: grey for an untrained one, then a colour each in the order of the study."""
    trained = [name for name in result.arms if result.arm_stages.get(name)]
    return 1 + trained.index(arm) % 7 if arm in trained else 0


def slice_scores(result: StudyResult) -> list[SliceScores]:
    """Return scores by slice, in the order of the study; a slice without scores is left out."""
    slice_names = dict.fromkeys([*result.slices, *(score.slice for score in result.scores)])
    present = {score.slice for score in result.scores}
    return [
        SliceScores(name, title, _with_floor(note, result.floors.get(name)), _arm_rows(result, name))
        for name in slice_names
        if name in present
        for title, note in [_titles(result).get(name, (name, ""))]
    ]


def _titles(result: StudyResult) -> dict[str, tuple[str, str]]:
    return _RULE_TITLES if is_of_rules(result) else _SLICE_TITLES


def _with_floor(note: str, floor: Floor | None) -> str:
    """Return a slice's note, with what the best answerer without a model passes of it."""
    return note if floor is None else f"{note}{'; ' * bool(note)}floor {floor_cell(floor)}"


def _arm_rows(result: StudyResult, slice_name: str) -> tuple[ArmRows, ...]:
    rows = []
    for arm in result.arms:
        scores = [score for score in result.scores if score.arm == arm and score.slice == slice_name]
        over_seeds = next((score for score in scores if score.seed is None), None)
        seeds = tuple(sorted((s for s in scores if s.seed is not None), key=lambda score: score.seed or 0))
        if over_seeds is None and len(seeds) == 1:
            over_seeds, seeds = seeds[0], ()
        rows.append(ArmRows(arm, tone_of(result, arm), over_seeds, seeds if len(seeds) > 1 else ()))
    return tuple(rows)


def missing_reasons(scores: list[SliceScores]) -> list[str]:
    """Return why the tables of scores contain dashes."""
    all_scores = [row.score for part in scores for row in part.arms]
    reasons = []
    if any(score is None for score in all_scores):
        reasons.append("this arm was not measured on this slice")
    if any(score is not None and score.prompt_strict.rate is None for score in all_scores):
        reasons.append(NO_RATE)
    if any(score is not None and _lacks_interval(score.prompt_strict) for score in all_scores):
        reasons.append("these seeds cannot tell an interval")
    if any(value is None for score in all_scores if score for _, value in guard_cells(score.guard)):
        reasons.append(NO_GUARD)
    return reasons


def _lacks_interval(rate: Share) -> bool:
    return rate.rate is not None and rate.low is None


def contrast_rows(result: StudyResult) -> list[ContrastRow]:
    """Return the primary contrast first, then the others in their stored order."""
    primary = result.verdict.primary
    others = [contrast for contrast in result.contrasts if contrast != primary]
    rows = [
        ContrastRow(contrast, effect(contrast, verb=verb_of(result), noun=noun_of(result)))
        for contrast in [primary, *others]
    ]
    if result.verdict.withheld and rows[0].effect.direction in {"more", "fewer"}:  # the rule is applied once
        claim = rows[0].effect.sentence.rpartition(":")[0]
        rows[0] = ContrastRow(primary, Effect("unclear", "○ withheld", f"{claim}: the answer is withheld."))
    return rows


_GUARDS = {
    "words": ("Words of the answer", "share"),
    "topic_words": ("Topic words used", "points"),
    "repetition": ("Repetitive answers", "points"),
    "echo": ("Answers that repeat the prompt", "points"),
    "empty_form": ("Answers that are form alone", "points"),
    "perplexity": ("Perplexity of plain text", "share"),
    "solved": ("Tasks solved", "points"),
}


def by_seed(contrast: Contrast) -> str:
    """Return every seed's difference, as in "seed 0 +3.1; seed 1 +2.0"; empty for a single seed."""
    if len(contrast.by_seed) < 2:
        return ""
    return "; ".join(f"seed {estimate.seed} {points(estimate.difference)}" for estimate in contrast.by_seed)


def changes_of(result: StudyResult) -> list[str]:
    """Return the changes of the spec after the study began, and whether there were results by then."""
    return [
        f"{'after' if change.evaluations else 'before'} results were there ({change.at}, "
        f"{change.evaluations} evaluations): " + ", ".join(change.fields)
        for change in result.changes
    ]


GUARD_HEADINGS = ("guard", "treatment", "control", "worse by", "interval", "margin", "outcome")


def guard_rows(result: StudyResult) -> list[list[str]]:
    """Return the cells under GUARD_HEADINGS for each guard."""
    rows = []
    for guard in result.guards:
        is_share = _GUARDS.get(guard.name, ("", ""))[1] == "points"
        values = [percent(v) if is_share else decimal(v) for v in (guard.value_treatment, guard.value_control)]
        rows.append(
            [
                guard_name(guard, result), *values, percent(guard.worse), percent_interval(guard.low, guard.high),
                percent(guard.margin, digits=1), guard.outcome,
            ]
        )  # fmt: skip
    return rows


def guard_name(guard: GuardTest, result: StudyResult) -> str:
    """Say what a guard measures, and its reference if that is not the control of the study."""
    kind, _, suite = guard.name.partition(":")
    name, unit = _GUARDS.get(kind, (kind.replace("_", " "), ""))
    against = "" if guard.control == result.verdict.primary.control else f", against {guard.control}"
    return f"{name}{suite and f' on {suite}'} ({unit}{against})"


class Price(NamedTuple):
    """Holds the guards' outcome, and a line that states it."""

    outcome: str
    text: str


def price_of(result: StudyResult) -> Price | None:
    """Say what the treatment cost, for the first screen; None if nothing was tested.

    It names violated guards, including the treatment's loss of plain English.
    """
    treatment = result.verdict.primary.treatment
    tests = [*result.guards, *(test for test in result.tax if test.treatment == treatment)]
    if not tests:
        return None
    violations = list(dict.fromkeys(_price(test, result) for test in tests if test.outcome == "violated"))
    if violations:
        lead = "Given up for it" if (result.verdict.primary.difference or 0) > 0 else f"Worse in {treatment}"
        return Price("violated", f"✗ {lead}: {'; '.join(violations)}")
    open_ = sum(test.outcome == "undecided" for test in tests)
    if open_:
        return Price("undecided", f"? No guard is violated; {open_} of {len(tests)} are undecided")
    return Price("holds", f"✓ No guard is violated ({plural(len(tests), 'test')})")


def _price(guard: GuardTest, result: StudyResult) -> str:
    name = guard_name(guard, result).partition(" (")[0].lower()
    is_share = guard.name in {"topic_words", "repetition", "echo", "empty_form", "solved"}
    values = [percent(v) if is_share else decimal(v) for v in (guard.value_control, guard.value_treatment)]
    return f"{name} {values[0]} → {values[1]} (from {guard.control})"


def in_words(result: StudyResult) -> str:
    """State both rates in a sentence; empty if nothing was measured."""
    primary = result.verdict.primary
    if primary.rate_treatment is None or primary.rate_control is None:
        return ""
    if is_of_rules(result):
        return (
            f"{primary.treatment} keeps {percent(primary.rate_treatment)} of the rules that both arms triggered in a "
            f"task, {primary.control} {percent(primary.rate_control)}."
        )
    verb, _, how = verb_of(result).partition(" ")
    return (
        f"{primary.treatment} {verb}es {percent(primary.rate_treatment)} of the prompts{how and f' {how}'}, "
        f"{primary.control} {percent(primary.rate_control)}."
    )


def is_slight(result: StudyResult) -> bool:
    """Tell whether the difference is smaller than the effect that the spec calls worth having."""
    rule, difference = result.spec.get("verdict"), result.verdict.primary.difference
    worth = rule.get("smallest_effect") if isinstance(rule, dict) else None
    return isinstance(worth, float) and difference is not None and abs(difference) < worth


def hangs_on_sentence(result: StudyResult) -> str:
    """Describe leave-one-out, sign flips and kinds in a few sentences; empty if nothing was measured."""
    on = result.fragility
    if on is None:
        return ""
    parts = []
    without = on.difference_range
    if without:
        decide = on.deciding_seeds
        holding_zero = (
            f"it holds 0 without seed {', '.join(map(str, decide))}" if decide else "it keeps its side of 0 each time"
        )
        excludes = result.verdict.primary.low is not None and not _holds_zero(result.verdict.primary)
        parts.append(
            f"Without any one seed the difference lies between {points(without[0])} and {points(without[1])}"
            + (f", and of the interval: {holding_zero}." if excludes else ".")
        )
        parts.append(
            f"Signs of the seeds' differences, flipped in all ways, on these prompts: p {p_value(on.sign_flip_p)}."
        )
    parts += [text for text in (kinds_left_out_sentence(on.kinds_left_out), lost_whole_sentence(result)) if text]
    kinds = on.kinds
    if kinds.difference is None:
        parts.append(f"Of other kinds of constraint nothing is known: {kinds.reason}.")
    else:
        parts.append(
            f"With the {plural(kinds.n_kinds, 'kind')} of constraint as a sample of kinds "
            f"({plural(kinds.n_prompts, 'prompt')} that ask for one): {points_and_interval(kinds)}, "
            f"p {p_value(kinds.p_value)}."
        )
    return " ".join(parts)


COUNTED = {"sound": "sound answers", "responsive": "answers that respond"}
"""Names of the measures besides passing, by the key that a contrast has as its slice."""


def suites_line(result: StudyResult) -> str:
    """Return the treatment over its control and over the start on each published suite, in one line; empty without any.

    Counts of sound or responding answers follow, if there are any.
    """
    starts = [name for name in result.arms if not result.arm_stages.get(name)][:1]
    lines = []
    for suite in result.suites:
        first = suite.contrasts[0]
        lost_share = 1 - first.coverage
        name = (
            suite.name
            if lost_share <= 1 - WHOLE_SUITE
            else f"{suite.name} (no measurement of {percent(lost_share)} of its prompts)"
        )
        over = []
        for control in dict.fromkeys([first.control, *starts]):
            pair = (first.treatment, control)
            changes = [_change(test) for test in suite.contrasts if (test.treatment, test.control) == pair]
            if changes:  # the rates, and those of what counts behind them
                what_counts = next((test.slice for test in suite.contrasts if test.slice in COUNTED), "sound")
                over.append(f"over {control} {f' [{what_counts}: '.join(changes)}{']' * (len(changes) - 1)}")
        lines.append(f"{name} {', '.join(over)}")
    return "; ".join(lines)


def _change(contrast: Contrast) -> str:
    return (
        f"{percent(contrast.rate_control)} → {percent(contrast.rate_treatment)}, {points_and_interval(contrast)}, "
        f"Holm p {p_value(contrast.p_adjusted)}"
    )


def minutes_words(result: StudyResult) -> str:
    """Say how many minutes the whole study took, and how many its tuning took before."""
    tuning = f", and {decimal(result.tuning.minutes)} of tuning before" if result.tuning else ""
    return f"{decimal(result.minutes)} minutes{tuning}"


class TrialRow(NamedTuple):
    """Holds a trial of a tuned stage: its settings, how many dev prompts it passed, and its cost."""

    cells: tuple[str, ...]
    is_chosen: bool


TRIAL_HEADINGS = ("stage", "settings", "chosen", "dev rate", "tokens trained", "minutes")


def trial_rows(result: StudyResult) -> list[TrialRow]:
    """Return every trial of every tuned stage, in the order of its grid."""
    rows = []
    for stage in result.tuning.stages if result.tuning else ():
        for number, trial in enumerate(stage.trials):
            settings = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
            rate = "failed" if trial.rate is None else percent(trial.rate)
            if len(trial.rates) > 1:
                rate += f" ({', '.join(percent(seed_rate) for seed_rate in trial.rates)})"
            chosen = "yes" if number == stage.chosen else ""
            cells = (stage.stage, settings, chosen, rate, count(trial.tokens), decimal(trial.minutes))
            rows.append(TrialRow(cells, number == stage.chosen))
    return rows


def tuning_sentences(result: StudyResult) -> list[str]:
    """Say how settings were chosen.

    That is: whether stages had equally many trials, on which prompts and seeds, their overlap with others, and the
    cost.
    """
    tuning = result.tuning
    if tuning is None:
        return []
    counts = {tuned_stage.stage: len(tuned_stage.trials) for tuned_stage in tuning.stages}
    if len(set(counts.values())) == 1:
        trials = f"{plural(next(iter(counts.values())), 'trial')} of every tuned stage ({', '.join(counts)})"
    else:
        trials = "Unequal numbers of trials: " + ", ".join(f"{name} {number}" for name, number in counts.items())
    seeds = f"{'seed' if len(tuning.seeds) == 1 else 'seeds'} {', '.join(map(str, tuning.seeds))}"
    arms = {
        tuned_stage.stage: [arm for arm, stages in result.arm_stages.items() if tuned_stage.stage in stages]
        for tuned_stage in tuning.stages
    }
    rule = result.spec["verdict"]
    what_counts = str(rule.get("counts")) if isinstance(rule, dict) else ""
    return [
        f"{trials}, on {plural(tuning.prompts, 'dev prompt')} at {seeds}; {decimal(tuning.minutes)} minutes in all.",
        _budget_sentence(tuning),
        *_finals_sentence(tuning),
        *([f"The dev rate counts {COUNTED[what_counts]}, as the verdict does."] if what_counts in COUNTED else []),
        _apart_sentence(tuning),
        "What was chosen is used by: "
        + "; ".join(f"{stage}: {', '.join(names)}" for stage, names in arms.items())
        + ".",
    ]


def _budget_sentence(tuning: Tuning) -> str:
    if tuning.tokens is not None:
        return f"Every trial of every method trains on {count(tuning.tokens)} tokens, fixed before."
    return (
        "A trial of a stage of equal compute has the budget of the trial that it is matched to: settings and budget "
        "were searched for together."
    )


def _finals_sentence(tuning: Tuning) -> list[str]:
    if not tuning.final_seeds:
        return []
    best = {
        tuned_stage.stage: sum(len(trial.rates) == _most_rates(tuned_stage) for trial in tuned_stage.trials)
        for tuned_stage in tuning.stages
    }
    counts = ", ".join(f"{stage} {number}" for stage, number in best.items())
    seeds = ", ".join(map(str, tuning.final_seeds))
    return [f"The best trials ({counts}) were trained at seeds {seeds} too, and one of these is chosen."]


def _most_rates(stage: TunedStage) -> int:
    return max(len(trial.rates) for trial in stage.trials)


def _apart_sentence(tuning: Tuning) -> str:
    if tuning.apart is None:
        return "What the dev prompts share with training and test is not in the record."
    shared = ", ".join(f"{name} {number}" for name, number in tuning.apart.shared.items())
    return (
        f"Shared by the dev prompts with {plural(tuning.apart.training, 'training prompt')} and "
        f"{plural(tuning.apart.test, 'test prompt')}: {shared}."
    )


def _holds_zero(contrast: Contrast) -> bool:
    return contrast.low is not None and contrast.high is not None and contrast.low <= 0 <= contrast.high


_CONTAMINATION = {
    "training": "training prompts",
    "held_out": "held-out prompts",
    "query_pairs": "pairs of queries compared",
    "dropped": "training prompts left out",
    "overlaps": "overlaps found",
    "message": "in short",
    "shared": "shared with held-out prompts",
}


def contamination_rows(result: StudyResult) -> dict[str, object]:
    """Return the check of the first pool for contamination, with its keys in words."""
    contamination = result.data[0].contamination if result.data else {}
    return {_CONTAMINATION.get(name, name.replace("_", " ")): value for name, value in contamination.items()}


TAX_HEADINGS = ("arm", "perplexity", "start", "worse by", "interval", "outcome")


def tax_rows(result: StudyResult) -> list[list[str]]:
    """Return the cells under TAX_HEADINGS for each arm: its perplexity of plain text, and that of the start model."""
    return [
        [
            test.treatment, decimal(test.value_treatment), decimal(test.value_control), percent(test.worse),
            percent_interval(test.low, test.high), test.outcome,
        ]
        for test in result.tax
    ]  # fmt: skip


COST_HEADINGS = (
    "arm", "seed", "prompts", "answers", "tokens made", "tokens trained", "PFLOP", "minutes", "peak GB",
)  # fmt: skip


def cost_rows(result: StudyResult) -> list[list[str]]:
    """Return the cells under COST_HEADINGS for each arm at each seed."""
    return [
        [
            cost.arm, str(cost.seed), count(cost.prompts), count(cost.answers_generated),
            count(cost.tokens_generated), count(cost.tokens_trained), decimal(cost.petaflops), decimal(cost.minutes),
            decimal(cost.peak_memory_gb),
        ]
        for cost in result.arm_costs
    ]  # fmt: skip


def sides_line(result: StudyResult) -> str:
    """Say whether following became better, and other harnesses' measures worse; empty without such files."""
    if result.sides is None:
        return ""
    primary = result.verdict.primary
    is_decided = result.verdict.answer in {"YES", "NO"}  # a withheld verdict shows nothing, whatever its interval
    following = following_words(primary.difference, primary.low, primary.high) if is_decided else "following undecided"
    return rest_sentence(following, result.sides.tests)


def sides_what(result: StudyResult) -> str:
    """Say which arms are tested, over which seeds, and by which scores."""
    sides = result.sides
    if sides is None:
        return ""
    return (
        f"{sides.treatment} against {sides.control}, {plural(len(sides.seeds), 'seed')} "
        f"({', '.join(map(str, sides.seeds))}), {100 * sides.confidence:.0f} % intervals. Scores: "
        f"{side_scores(sides.tests)}."
    )


def note_sentence(note: CellNote) -> str:
    """Say what a guard saw in a cell: the column beyond its limit, for how long, and what could be done."""
    title = _COLUMNS.get(note.column, (note.column.replace("_", " "), True))[0].lower()
    return (
        f"{note.cell} (seed {note.seed}): {title}, above {percent(note.above, digits=0)} in {note.bad} of "
        f"{note.steps} steps; adhere train would have stopped at step {note.first}. {note.advice}."
    )


def matched_sentence(match: Match) -> str:
    """Say how equal the compute of two arms was."""
    verb = "equal within 10 %" if match.within else "NOT equal within 10 %"
    amounts = f"{match.a:,} and {match.b:,} (×{match.ratio:.2f}, {verb})"
    return f"seed {match.seed}: {match.arm} and {match.to}, {match.what}: {amounts}"


def yields(result: StudyResult) -> dict[str, dict[str, int]]:
    """Return the counts by kind, over all pools."""
    totals: dict[str, dict[str, int]] = {}
    for pool in result.data:
        for kind, counts in pool.yield_by_kind.items():
            row = totals.setdefault(kind, {})
            for name, value in counts.items():
                row[name] = row.get(name, 0) + value
    return dict(sorted(totals.items()))


def family_table(result: StudyResult) -> RateTable:
    """Return the pass rates of families over all prompts."""
    return _rate_table(result, "families")


def kind_table(result: StudyResult) -> RateTable:
    """Return the pass rates of kinds of constraint over all prompts."""
    return _rate_table(result, "kinds")


def _rate_table(result: StudyResult, field: str) -> RateTable:
    parts = slice_scores(result)
    whole = next((part for part in parts if part.slice == "all"), parts[0] if parts else None)
    if whole is None:
        return RateTable((), ())
    arms = tuple(row for row in whole.arms if row.score is not None)
    rates: list[dict[str, Share]] = [getattr(row.score, field) for row in arms]
    slices = [part.slice for part in parts]
    unseen = [name for name in slices if name.startswith(("new-family", "new-kind"))]
    seen = {row_name for name in slices if name not in {"all", *unseen} for row_name in _names(parts, name, field)}
    new = {row_name for name in unseen for row_name in _names(parts, name, field)} - seen
    names = sorted({name for table in rates for name in table}, key=lambda name: (name in new, name))
    rows = tuple((name, name in new, tuple(table.get(name) for table in rates)) for name in names)
    return RateTable(arms, rows)


def _names(parts: list[SliceScores], slice_name: str, field: str) -> list[str]:
    return [
        name
        for part in parts
        if part.slice == slice_name
        for row in part.arms
        if row.score is not None
        for name in getattr(row.score, field)
    ]


def stage_panels(result: StudyResult) -> list[StagePanels]:
    """Return learning curves by stage, in the order in which cells were trained."""
    stages = dict.fromkeys((curve.stage, curve.method) for curve in result.curves)
    return [_stage_panels(result, stage, method) for stage, method in stages]


def _stage_panels(result: StudyResult, stage: str, method: str) -> StagePanels:
    curves = [curve for curve in result.curves if (curve.stage, curve.method) == (stage, method)]
    arms_by_cell = {cost.cell: cost.arms for cost in result.stage_costs}
    labels = list(dict.fromkeys(_recipe_label(arms_by_cell.get(curve.cell), curve) for curve in curves))
    tracks = {label: Track(label, 1 + index % 7) for index, label in enumerate(labels)}
    parts = dict.fromkeys(name for curve in curves for name in sorted(curve.columns) if name.startswith(_PART))
    titles = {**_COLUMNS, **{name: (f"Reward, {name.removeprefix(_PART)}", True) for name in parts}}
    column_names = [name for name in titles if any(name in curve.columns for curve in curves)]
    panels = []
    for column in column_names:
        lines = tuple(
            (tracks[_recipe_label(arms_by_cell.get(curve.cell), curve)], curve)
            for curve in curves
            if any(value is not None for value in curve.columns.get(column, []))
        )
        if lines:
            panels.append(Panel(column, *titles[column], lines))
    seeds = tuple(dict.fromkeys(curve.seed for curve in curves))
    cells = {curve.cell for curve in curves}
    notes = tuple(note_sentence(note) for note in result.notes if note.stage == stage and note.cell in cells)
    return StagePanels(stage, method, tuple(tracks.values()), seeds, tuple(panels), notes)


def _recipe_label(arms: list[str] | None, curve: Curve) -> str:
    """Return a label that cells of one recipe share across seeds: the arms that they belong to."""
    return "for " + ", ".join(arms) if arms else curve.cell
