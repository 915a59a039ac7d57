"""Answer a question as far as printed numbers reach: effects with intervals, and what changed together; no cause.

The question is a TOML file that names a contrast of two series of models, the measures, and what a causal reading would
have to hold fixed. The answer is computed from the claims; sentences that name what else changed are quoted from the
documents.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

from adhere.config import load_toml
from adhere.errors import SpecError
from adhere.evidence.check import Evidence
from adhere.evidence.checks.reconcile import describe
from adhere.evidence.claims.names import ModelName, benchmark_key, model_name
from adhere.evidence.claims.values import Value
from adhere.evidence.findings import Line
from adhere.schema import Record

_Z = 1.959964
MAX_QUOTES = 6


class Contrast(Record, frozen=True):
    """Names two series of models that are compared at equal size. `sizes` empty: every size that both have.

    Only models of one `tuning` (`base` or `instruct`) are compared.
    """

    treatment: str
    control: str
    tuning: str = "instruct"
    sizes: tuple[str, ...] = ()


class Measure(Record, frozen=True):
    """Names one benchmark, as names.toml does; `in_house` is the heading of sets that only their authors have."""

    benchmark: str
    variant: str = ""
    metric: str = ""
    in_house: str = ""
    primary: bool = False


class Confounder(Record, frozen=True):
    """Names something that may have changed together with what the question asks about.

    `patterns` find the sentences that say so.
    """

    name: str
    patterns: tuple[str, ...]


class Cause(Record, frozen=True):
    """Names the cause that the question asks about, and what must be held fixed to call it the cause.

    `ablation` finds sentences that report such a comparison; without any, no causal verdict is given.
    """

    asked: str
    held_fixed: str
    ablation: tuple[str, ...] = ()


class Question(Record, frozen=True):
    """Holds a question file: which two series of models are compared, and on which benchmarks.

    `cause` is what a difference is asked to be put down to, `confounder` what else may have changed between the series.
    """

    version: int
    title: str
    question: str
    contrast: Contrast
    measure: tuple[Measure, ...]
    cause: Cause | None = None
    confounder: tuple[Confounder, ...] = ()
    design: tuple[str, ...] = ()


class Place(Record, frozen=True):
    """Names one place that prints a number of the contrast; `note` says what is wrong with the number."""

    document: str
    line: int
    value: float
    note: str = ""


class Effect(Record, frozen=True):
    """Holds treatment minus control at one size on one measure.

    If places print different numbers, `low_effect` and `high_effect` are the extreme differences; else they are equal.
    [low, high] is the 95 % interval of two independent evaluations around them; None, with the reason, if the number of
    items is not known or the score is no proportion. `finds` says on which side of 0 the interval lies; empty without
    one.
    """

    measure: str
    primary: bool
    size: str
    treatment: str
    control: str
    treatment_places: tuple[Place, ...]
    control_places: tuple[Place, ...]
    low_effect: float | None
    high_effect: float | None
    low: float | None
    high: float | None
    n: int | None
    reason: str = ""
    finds: str = ""


class ConfounderLines(Record, frozen=True):
    """Holds a confounder with the sentences that name it; empty if none does."""

    name: str
    lines: tuple[Line, ...]


class Answer(Record, frozen=True):
    """Holds the answer that the documents allow, and what they leave open.

    `said` states the differences in sentences, `refused` says why no cause is named, `missing` which measures have no
    difference and what is printed in their place. `confounders` and `ablations` quote lines of the documents: what else
    changed, and comparisons that may hold the rest fixed.
    """

    title: str
    question: str
    effects: tuple[Effect, ...]
    confounders: tuple[ConfounderLines, ...]
    ablations: tuple[Line, ...]
    said: tuple[str, ...]
    refused: str
    design: tuple[str, ...]
    missing: tuple[str, ...] = ()


EXAMPLE = """version = 1
title = "Is A ahead of B on mathematics?"
question = "Does A-7B-Instruct score higher than B-7B-Instruct on MATH?"
[contrast]
treatment = "A"
control = "B"
[[measure]]
benchmark = "MATH"
"""


def load_question(path: Path) -> Question:
    """Read a question file.

    Raises:
        SpecError: The file is invalid (the message names file, line and key), or a pattern is no regular expression.
    """
    try:
        question = load_toml(path, Question)
    except SpecError as error:
        raise SpecError(f"{error}\nA question is written like this:\n\n{EXAMPLE}") from error
    if question.version != 1:
        raise SpecError(f"{path}: version = {question.version}; this program reads version 1")
    if not question.measure:
        raise SpecError(f'{path}: no [[measure]]: name at least one benchmark, e.g.\n\n[[measure]]\nbenchmark = "MATH"')
    ablation = question.cause.ablation if question.cause else ()
    for pattern in (*(p for c in question.confounder for p in c.patterns), *ablation):
        try:
            re.compile(pattern)
        except re.error as error:
            raise SpecError(f"{path}: pattern {pattern!r} is no regular expression: {error}") from error
    return question


def answer(question: Question, evidence: Evidence) -> Answer:
    """Return what the documents say to a question: effects, what else changed, and what may not be concluded."""
    notes = _notes(evidence)
    effects = [
        effect for measure in question.measure for effect in _effects(question.contrast, measure, evidence, notes)
    ]
    confounders = tuple(ConfounderLines(c.name, _quotes(evidence, c.patterns)) for c in question.confounder)
    series = [re.escape(name) for name in (question.contrast.treatment, question.contrast.control)]
    ablation = question.cause.ablation if question.cause else ()
    ablations = tuple(line for line in _quotes(evidence, ablation, most=1000) if re.search("|".join(series), line.text))
    confounder_names = [confounder.name for confounder in confounders if confounder.lines]
    return Answer(
        title=question.title,
        question=question.question,
        effects=tuple(effects),
        confounders=confounders,
        ablations=ablations,
        said=tuple(_contrast_lines(question.contrast, effects)),
        refused=_refusal(question, confounder_names, has_ablation=bool(ablations)),
        design=question.design,
        missing=tuple(_missing(question, effects, evidence)),
    )


def _missing(question: Question, effects: Sequence[Effect], evidence: Evidence) -> list[str]:
    """Say, for every measure without a difference, which claims it needs, and which similar ones are printed."""
    contrast = question.contrast
    lines = []
    for measure in question.measure:
        name = " ".join(filter(None, [measure.in_house, measure.benchmark, measure.variant, measure.metric]))
        sides = []
        for series in (contrast.treatment, contrast.control):
            values_by_size = _by_size(model_name(series), contrast, measure, evidence)
            if not values_by_size:
                article = "an" if contrast.tuning.startswith(("a", "i")) else "a"
                sides.append(
                    f"no claim of {article} {contrast.tuning} model {series}-… on "
                    f"{name}{_near(series, measure, evidence)}"
                )
        if not sides and not any(e.low_effect is not None and _is_of(e, measure) for e in effects):
            sides.append(
                f"{contrast.treatment} and {contrast.control} have claims on {name}, but at no size that both have"
            )
        if sides:
            lines.append(f"{name}: {'; '.join(sides)}")
    return lines


def _is_of(effect: Effect, measure: Measure) -> bool:
    return benchmark_key(measure.benchmark) in benchmark_key(effect.measure)


def _near(series: str, measure: Measure, evidence: Evidence) -> str:
    """List what is printed of a series on the benchmark under another version, metric, setting or tuning."""
    key = model_name(series).key
    near = dict.fromkeys(
        f"{value.model.name} on {describe(value.benchmark)}" + (f", {value.setting}" if value.setting else "")
        for value in evidence.values()
        if value.model
        and value.benchmark
        and value.role == "score"
        and value.model.key.startswith(f"{key}-")
        and re.match(r"\d+(?:\.\d+)?[bm]$", value.model.key.removeprefix(f"{key}-"))
        and value.benchmark.key == benchmark_key(measure.benchmark)
    )
    return f" (printed are: {'; '.join(list(near)[:4])})" if near else ""


# ── effects ──


def _notes(evidence: Evidence) -> dict[str, str]:
    """Return what is known to be wrong with a number, by its id."""
    notes: dict[str, str] = {}
    for rotation in evidence.rotations:
        for value in rotation.values:
            notes[value.id] = "its header seems to stand over the wrong columns"
    for swap in evidence.swaps:
        for value, other in ((swap.one, swap.other), (swap.other, swap.one)):
            notes[value.id] = f"looks exchanged with {other.printed.text}"
    return notes


def _effects(contrast: Contrast, measure: Measure, evidence: Evidence, notes: dict[str, str]) -> list[Effect]:
    treatment, control = model_name(contrast.treatment), model_name(contrast.control)
    ours = _by_size(treatment, contrast, measure, evidence)
    theirs = _by_size(control, contrast, measure, evidence)
    sizes = [
        size
        for size in (contrast.sizes or sorted(ours.keys() & theirs.keys(), key=_size))
        if ours.get(size.lower()) or theirs.get(size.lower())
    ]
    return [
        _effect(measure, size, ours.get(size.lower(), []), theirs.get(size.lower(), []), evidence, notes)
        for size in sizes
    ]


def _size(text: str) -> float:
    match = re.match(r"[\d.]+", text)
    return float(match.group()) if match else math.inf


def _by_size(series: ModelName, contrast: Contrast, measure: Measure, evidence: Evidence) -> dict[str, list[Value]]:
    values_by_size: dict[str, list[Value]] = {}
    for value in evidence.values():
        if value.model is None or value.role != "score" or value.setting or not value.is_firm:
            continue
        if value.model.tuning != contrast.tuning or not _is_measure(value, measure):
            continue
        rest = value.model.key.removeprefix(f"{series.key}-")
        if rest != value.model.key and re.fullmatch(r"\d+(?:\.\d+)?[bm]", rest):
            values_by_size.setdefault(rest, []).append(value)
    return values_by_size


def _is_measure(value: Value, measure: Measure) -> bool:
    benchmark = value.benchmark
    if benchmark is None:
        return False
    if measure.in_house:
        return benchmark.key == f"in-house {measure.in_house}:{benchmark_key(measure.benchmark)}".lower()
    return (
        benchmark.key == benchmark_key(measure.benchmark)
        and benchmark.variant.lower() == measure.variant.lower()
        and (not measure.metric or benchmark.metric in {"", measure.metric})
    )


def _effect(  # noqa: PLR0917 -- one row of the answer
    measure: Measure,
    size: str,
    ours: Sequence[Value],
    theirs: Sequence[Value],
    evidence: Evidence,
    notes: dict[str, str],
) -> Effect:
    a, b = _numbers(ours, evidence), _numbers(theirs, evidence)
    sample = [*ours, *theirs][0]
    name = describe(sample.benchmark)
    unit = sample.benchmark
    suspect = any(notes.get(value.id, "").startswith("its header") for value in (*ours, *theirs))
    n = unit.n if unit and unit.top == 100.0 and not suspect else None
    low_effect = high_effect = low = high = None
    if not a or not b:
        reason = "no document prints a number for both"
    elif suspect:
        reason = "the header of its table is suspect: the numbers may belong to another column"
    else:
        low_effect, high_effect = min(a) - max(b), max(a) - min(b)
        problem = "the number of scored items is not known"
        if not unit or unit.top != 100:
            problem = "the score is no proportion of passed items"
        reason = "" if n else f"no interval: {problem}"
        if n:
            reach = 100 * _Z * math.sqrt((_variance(max(a)) + _variance(max(b))) / n)
            low, high = low_effect - reach, high_effect + reach
    finds = (
        "" if low is None or high is None else "higher" if low > 0 else "lower" if high < 0 else "no clear difference"
    )
    return Effect(
        measure=name,
        primary=measure.primary,
        size=size.upper(),
        treatment=ours[0].model.name if ours and ours[0].model else "",
        control=theirs[0].model.name if theirs and theirs[0].model else "",
        treatment_places=_places(ours, notes),
        control_places=_places(theirs, notes),
        low_effect=_round(low_effect),
        high_effect=_round(high_effect),
        low=_round(low),
        high=_round(high),
        n=n,
        reason=reason,
        finds=finds,
    )


def _round(number: float | None) -> float | None:
    return None if number is None else round(number, 4)


def _variance(percent: float) -> float:
    rate = min(max(percent / 100, 0.0), 1.0)
    return rate * (1 - rate)


def _numbers(values: Sequence[Value], evidence: Evidence) -> list[float]:
    """Return the numbers of values; a value that looks exchanged with another cell gets that cell's number."""
    partners = {v.id: o for swap in evidence.swaps for v, o in ((swap.one, swap.other), (swap.other, swap.one))}
    return [partners.get(value.id, value).printed.value for value in values]


def _places(values: Sequence[Value], notes: dict[str, str]) -> tuple[Place, ...]:
    return tuple(Place(value.document, value.line, value.printed.value, notes.get(value.id, "")) for value in values)


# ── words ──


def _contrast_lines(contrast: Contrast, effects: Sequence[Effect]) -> list[str]:
    lines = []
    for primary in (True, False):
        chosen = [effect for effect in effects if effect.primary == primary and effect.low_effect is not None]
        if not chosen:
            continue
        with_interval = [effect for effect in chosen if effect.finds]
        for measure in dict.fromkeys(effect.measure for effect in chosen):
            of_measure = [effect for effect in chosen if effect.measure == measure]
            sizes = ", ".join(f"{effect.size} {difference_text(effect, between=' to ')}" for effect in of_measure)
            clear = [effect.size for effect in with_interval if effect.measure == measure and effect.finds == "higher"]
            text = f"{measure}: {contrast.treatment} minus {contrast.control}, in points: {sizes}."
            if any(effect.finds for effect in of_measure):
                text += (
                    f" The interval excludes zero at {', '.join(clear)}." if clear else " No interval excludes zero."
                )
            disputed_sizes = [effect.size for effect in of_measure if effect.low_effect != effect.high_effect]
            exchanged_sizes = [
                effect.size
                for effect in of_measure
                if any("exchanged" in p.note for p in (*effect.treatment_places, *effect.control_places))
            ]
            if exchanged_sizes:
                text += (
                    f" At {', '.join(exchanged_sizes)} one document's number is read as exchanged with its neighbour's "
                    "(see the notes); taken as printed, it gives another difference."
                )
            if disputed_sizes:
                text += f" At {', '.join(disputed_sizes)} the documents print different numbers; both ends are given."
            lines.append(text)
    return lines


def difference_text(effect: Effect, *, between: str) -> str:
    """Write an effect as `+13.5`, or both ends with `between` between them; a dash if there is no difference."""
    if effect.low_effect is None or effect.high_effect is None:
        return "–"
    return between.join(dict.fromkeys(map(format_signed, (effect.low_effect, effect.high_effect))))


def format_signed(number: float, digits: int | None = None) -> str:
    """Write a number with its sign and `digits` decimals; None: with one, or two if one does not show it exactly."""
    if digits is None:
        digits = 1 if abs(number * 10 - round(number * 10)) < 1e-6 else 2
    return f"{number:+.{digits}f}".replace("-", "−")


def _refusal(question: Question, confounder_names: Sequence[str], *, has_ablation: bool) -> str:
    if question.cause is None:
        return "No causal verdict: the question names no [cause], and printed numbers compare finished models."
    if has_ablation:
        return (
            f"The documents report comparisons that may hold {question.cause.held_fixed} fixed (quoted below). "
            f"Whether {question.cause.asked} is the cause is for a reader of those comparisons to judge; "
            "tables of finished models do not show it."
        )
    together = (
        f" Between the two series these changed together, by the documents' own words: {', '.join(confounder_names)}."
        if confounder_names
        else ""
    )
    return (
        f"No causal verdict. The numbers compare finished models; no table holds {question.cause.held_fixed} fixed "
        f"and varies {question.cause.asked}, so a difference cannot be put down to it.{together}"
    )


def _quotes(evidence: Evidence, patterns: Sequence[str], *, most: int = MAX_QUOTES) -> tuple[Line, ...]:
    lines: list[Line] = []
    regexes = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]
    # Only documents that print numbers of models: an abstract about something else may use the same words.
    printing = {sheet.document.name for sheet in evidence.sheets if sheet.models_in}
    for document in evidence.documents:
        if document.name not in printing:
            continue
        for sentence in document.sentences:
            if any(pattern.search(sentence.text) for pattern in regexes):
                lines.append(Line(document.name, sentence.line, sentence.text))
                if len(lines) == most:
                    return tuple(lines)
    return tuple(lines)
