"""Pair two measurements of the same prompts; the difference has its uncertainty from the model that studies use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from typing import NamedTuple

import msgspec

from adhere.errors import RunMismatch
from adhere.pipeline.compare.sides import SideTest
from adhere.pipeline.outcomes import by_slice, pass_rates
from adhere.schema import Prompt, Record, View, encode
from adhere.stats import fit_crossed
from adhere.stats.draws import all_of, any_of, steps_to
from adhere.store.manifest import RunSpec, differences
from adhere.store.run import Key, Run
from adhere.store.stability import stored_for
from adhere.store.summary import Floor, GuardMeans
from adhere.suites.pictures import DRAWN, drawn_key
from adhere.terminal import notebook_table

CONFIDENCE = 0.95
JUDGING = ("mode:", "random_in_reference:", "reasoning_tags:")
"""Beginnings of the lines about fields of a spec that change verdicts, not answers."""
CLUSTER = "query"  # the tag of prompts that were made from one thing


class Difference(Record, frozen=True):
    """Holds the pass rate of a minus that of b, over prompts that both measured.

    `gained` prompts pass (more often) under a, `lost` under b. Interval, `p_value` and `minimum_detectable` (with 80 %
    power) come from one model (`stats.crossed`), in which prompts of one query or source are one cluster. [low, high]
    never has width zero. `left_out` counts prompts that one of the two did not measure.
    """

    n: int
    left_out: int
    rate_a: float | None
    rate_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    gained: int
    lost: int
    p_value: float | None
    minimum_detectable: float | None
    method: str
    reason: str = ""


class EqualLength(Record, frozen=True):
    """Holds the difference there would be if both answered each prompt at equal length (`stats.length_controlled`).

    `characters_a`, `characters_b`: mean length of the answers to a prompt. `slope`: how much the difference rises with
    one standard deviation more length of a. A number is None, with the `reason`, where the data cannot say.
    """

    n: int
    characters_a: float | None
    characters_b: float | None
    difference: float | None
    low: float | None
    high: float | None
    slope: float | None
    reason: str = ""


class Comparison(Record, frozen=True):
    """Compares two Runs, paired by prompt. `notes` says what else differs between them.

    `tokens_a` and `tokens_b` are generated tokens an answer, over all calls that a method made for it; None where a
    call did not report them. `at_equal_length` is filled only on request. `answers` counts the answers that both gave,
    and `same_answers` those of them with the same text; both are None where the texts are not at hand. `over_draws`:
    with several draws, the differences of pass@k and pass^k (`stats.draws`, unbiased), for k = 2, 4, … and all draws.
    `sides`: tests that a is not worse than b at other tasks, where such files were given. `floor` is the floor of the
    common prompts (strict view). `guards` holds the mean guards of a and b; None unless both are sealed Runs.
    """

    a: str
    b: str
    suite: str
    view: View
    confidence: float
    overall: Difference
    slices: dict[str, Difference]
    notes: tuple[str, ...] = ()
    tokens_a: float | None = None
    tokens_b: float | None = None
    at_equal_length: EqualLength | None = None
    sides: tuple[SideTest, ...] = ()
    over_draws: dict[str, Difference] = {}
    answers: int | None = None
    same_answers: int | None = None
    floor: Floor | None = None
    guards: tuple[GuardMeans, GuardMeans] | None = None

    def __repr__(self) -> str:
        """Return the difference in one line."""
        return f"<Comparison {self.a} − {self.b} on {self.suite}: {_in_words(self.overall)}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the difference, overall and by slice, and the notes."""
        rows = {"all prompts": _in_words(self.overall)} | {
            name: _in_words(difference) for name, difference in self.slices.items()
        }
        rows |= {f"note {place}": note for place, note in enumerate(self.notes, 1)}
        return notebook_table(f"{self.a} − {self.b} on {self.suite} ({self.view})", rows)

    @property
    def points_per_100_tokens(self) -> float | None:
        """Percentage points gained for every hundred more tokens an answer; None unless a takes more tokens than b."""
        more = None if self.tokens_a is None or self.tokens_b is None else self.tokens_a - self.tokens_b
        if self.overall.difference is None or more is None or more <= 0:
            return None
        return 100 * self.overall.difference / (more / 100)


def _in_words(difference: Difference) -> str:
    """Return a difference in words, with its interval and the prompts gained and lost."""
    if difference.difference is None:
        return f"not measured ({difference.reason})"
    low, high = difference.low, difference.high
    interval = "" if low is None or high is None else f" ({100 * low:+.1f} to {100 * high:+.1f})"
    flips = f"{difference.gained} gained, {difference.lost} lost"
    return f"{100 * difference.difference:+.1f} points{interval} on {difference.n} prompts, {flips}"


def compare_runs(run_a: Run, run_b: Run, *, view: View = "strict", across_engines: bool = False) -> Comparison:
    """Subtract Run b from Run a, prompt by prompt, overall and per slice.

    Args:
        run_a: The treatment.
        run_b: The baseline.
        view: Which verdicts count.
        across_engines: Compare although engine or precision differ; the comparison then notes it.

    Raises:
        RunMismatch: The Runs differ in their prompts, in how these were asked, or in the engine.
    """
    notes = refuse_unequal(run_a, run_b, across_engines=across_engines)
    a, b = side_of(run_a, view), side_of(run_b, view)
    name_a, name_b = _names(run_a.spec, run_b.spec)
    comparison = compare_paired(run_a, a._replace(name=name_a), b._replace(name=name_b), view=view, notes=notes)
    both, same = _same_answers(run_a, run_b)
    is_sealed = run_a.is_sealed and run_b.is_sealed
    return msgspec.structs.replace(
        comparison,
        notes=(*comparison.notes, *_noise_notes(run_a, run_b, comparison.overall.difference)),
        answers=both,
        same_answers=same,
        over_draws=_over_draws(run_a, a, b),
        guards=(run_a.summary().overall.guard, run_b.summary().overall.guard) if is_sealed else None,
    )


def _noise_notes(run_a: Run, run_b: Run, difference: float | None) -> list[str]:
    """Return notes where the difference is no larger than the noise of an engine's answers (`adhere stable`).

    A damaged file of `adhere stable` is noted, too.
    """
    notes = []
    for run in {run.spec.model: run for run in (run_a, run_b)}.values():
        stability, damaged_paths = stored_for(run.spec, run.directory.parent)
        share = None if stability is None else stability.verdict_share
        notes += [
            f"{path} is damaged, so what it said of an engine's noise is not known: run `adhere stable` again"
            for path in damaged_paths
        ]
        if share and difference is not None and abs(difference) <= share:
            notes.append(
                f"the difference is no larger than the engine's noise: of {run.spec.model} {100 * share:.1f} % of "
                "verdicts change with what is asked beside them (adhere stable)"
            )
    return list(dict.fromkeys(notes))  # both runs may lie in one folder


def _over_draws(run: Run, *sides: Side) -> dict[str, Difference]:
    """Return the differences of pass@k and pass^k of two sides, a minus b; empty if there is one draw.

    Both sides drew as often as `run`, whose prompts were asked.
    """
    n = run.spec.draws
    if n < 2:
        return {}
    prompt_ids, difference_by_name = _read_ids(run), {}
    passed = [{name: None if rate is None else round(rate * n) for name, rate in side.rates.items()} for side in sides]
    for sign, estimator in (("pass@", any_of), ("pass^", all_of)):
        for k in steps_to(n)[1:]:
            a, b = ({name: None if c is None else estimator(k, c, n) for name, c in side.items()} for side in passed)
            difference_by_name[f"{sign}{k}"] = paired_by_prompt(a, b, prompt_ids.ids, clusters=prompt_ids.clusters)
    return difference_by_name


class Side(NamedTuple):
    """Holds one side of a comparison: its name, the pass rate of each prompt, and generated tokens an answer."""

    name: str
    rates: Mapping[str, float | None]
    tokens: float | None


def side_of(run: Run, view: View) -> Side:
    """Return a stored Run as one side of a comparison."""
    return Side(run.spec.model, pass_rates(run, view=view), tokens_an_answer(run))


def compare_paired(run: Run, a: Side, b: Side, *, view: View, notes: Iterable[str]) -> Comparison:
    """Subtract side b from side a, overall and per slice, over the prompts of `run`, which both sides were asked."""
    prompt_ids = _read_ids(run)

    def difference(ids: Sequence[str]) -> Difference:
        return paired_by_prompt(a.rates, b.rates, ids, clusters=prompt_ids.clusters)

    return Comparison(
        a=a.name,
        b=b.name,
        suite=run.spec.suite,
        view=view,
        confidence=CONFIDENCE,
        overall=difference(prompt_ids.ids),
        slices={name: difference(prompt_ids.slices[name]) for name in run.spec.slices if name in prompt_ids.slices},
        notes=tuple(notes),
        tokens_a=a.tokens,
        tokens_b=b.tokens,
        floor=run.summary().floor if run.is_sealed else None,
    )


class _PromptIds(NamedTuple):
    """Holds the ids of all prompts, the ids of each slice, and the cluster of a prompt: what it was made from."""

    ids: list[str]
    slices: dict[str, list[str]]
    clusters: dict[str, str]


def _read_ids(run: Run) -> _PromptIds:
    prompt_ids = _PromptIds([], {}, {})
    for part in run.parts():
        prompts = part.prompts()
        prompt_ids.ids.extend(prompt.id for prompt in prompts)
        prompt_ids.clusters.update(clusters_of(prompts))
        for name, members in by_slice(prompts, run.spec.slices).items():
            prompt_ids.slices.setdefault(name, []).extend(prompt.id for prompt in members)
    if len(set(prompt_ids.ids)) < len(prompt_ids.ids):
        raise RunMismatch(f"{run.directory} has shards that share ids of prompts, so answers cannot be paired")
    return prompt_ids


def clusters_of(prompts: Iterable[Prompt]) -> dict[str, str]:
    """Return by id what a prompt was made from; prompts whose tags do not say so are left out."""
    return {prompt.id: prompt.tags[CLUSTER] for prompt in prompts if CLUSTER in prompt.tags}


def paired_by_prompt(
    rates_a: Mapping[str, float | None],
    rates_b: Mapping[str, float | None],
    ids: Iterable[str],
    *,
    clusters: Mapping[str, str] | None = None,
) -> Difference:
    """Return the paired difference over `ids`, without prompts that either side did not measure (None).

    These are counted in `left_out`. `clusters` names what a prompt was made from, where several were made from it; a
    prompt that it lacks is its own cluster.
    """
    ids = list(ids)
    rows = [
        (prompt_id, a, b)
        for prompt_id in ids
        if (a := rates_a.get(prompt_id)) is not None and (b := rates_b.get(prompt_id)) is not None
    ]
    groups = [(clusters or {}).get(prompt_id, f"prompt {prompt_id}") for prompt_id, _, _ in rows]
    d_P = [a - b for _, a, b in rows]
    fit = fit_crossed([d_P], clusters_P=groups) if d_P else None
    interval = fit.interval(CONFIDENCE) if fit else None
    n = len(rows)
    shared = f"{fit.queries} clusters" if fit and fit.queries < n else f"{n} prompts"
    return Difference(
        n=n,
        left_out=len(ids) - n,
        rate_a=sum(a for _, a, _ in rows) / n if n else None,
        rate_b=sum(b for _, _, b in rows) / n if n else None,
        difference=sum(d_P) / n if n else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        gained=sum(d > 0 for d in d_P),
        lost=sum(d < 0 for d in d_P),
        p_value=fit.p_value if fit else None,
        minimum_detectable=fit.detectable(CONFIDENCE) if fit else None,
        method=f"t over {shared}, one prompt gained and one lost added" if fit else "none",
        reason=""
        if fit
        else "no prompt was measured by both"
        if not n
        else "one cluster alone says nothing about its spread",
    )


def compare_outcomes(
    a: tuple[str, str, Mapping[str, float | None]], b: tuple[str, str, Mapping[str, float | None]], *, view: View
) -> Comparison:
    """Compare two measurements that were stored as files, paired by prompt.

    `a` and `b` hold a name, what counts as passing, and rates by prompt.

    Raises:
        RunMismatch: The two have no prompt in common.
    """
    ids = [key for key in a[2] if key in b[2]]
    if not ids:
        raise RunMismatch(
            f"{a[0]} and {b[0]} have no prompt in common: {', '.join(list(a[2])[:3])} … against "
            f"{', '.join(list(b[2])[:3])} …"
        )
    notes = [] if a[1] == b[1] else [f"a counts {a[1]}, b counts {b[1]}"]
    alone = len(a[2]) + len(b[2]) - 2 * len(ids)
    notes += [f"{alone} prompts stand in one of the two files only, and are left out"] if alone else []
    notes.append("what else differs between the two (engine, sampling, precision) is not stored in such files")
    return Comparison(
        a=a[0],
        b=b[0],
        suite=a[1],
        view=view,
        confidence=CONFIDENCE,
        overall=paired_by_prompt(a[2], b[2], ids),
        slices={},
        notes=tuple(notes),
    )


def refuse_unequal(run_a: Run, run_b: Run, *, across_engines: bool) -> list[str]:
    """Refuse two Runs that cannot be paired; return notes on what else differs.

    Raises:
        RunMismatch: The Runs differ in their prompts, in how these were asked, or in the engine.
    """
    a, b = run_a.spec, run_b.spec
    where = f"{run_a.directory} and {run_b.directory}"
    is_same = a.suite_sha256 == b.suite_sha256 and run_a.manifest.prompts_sha256 == run_b.manifest.prompts_sha256
    modality_notes = [] if is_same else _shown_as_pictures(run_a, run_b)
    if not is_same and not modality_notes:
        raise RunMismatch(
            f"{where} asked different prompts ({a.suite} {a.suite_sha256[:12]}, {run_a.manifest.n_prompts} prompts; "
            f"{b.suite} {b.suite_sha256[:12]}, {run_b.manifest.n_prompts} prompts), so nothing can be paired. "
            "Measure both on one suite with one seed and limit"
        )
    engine_a, engine_b = f"{a.engine.name} {a.engine.precision}", f"{b.engine.name} {b.engine.precision}"
    if engine_a != engine_b and not across_engines:
        raise RunMismatch(
            f"{where} were answered by different engines ({engine_a}; {engine_b}). An engine changes answers, so the "
            "difference would mix models with engines. Measure both on one engine, "
            "or ask for it: --across-engines, in Python across_engines=True"
        )
    if a.draws != b.draws:
        raise RunMismatch(f"{where} drew {a.draws} and {b.draws} answers per prompt; draw equally often")
    labels = ("a has", "b has")
    oracles = [
        f"{name} is an oracle: it chose among its answers by the verifiers that score them"
        for name, spec in (("a", a), ("b", b))
        if spec.is_oracle
    ]
    judging_lines = (line for line in differences(a, b, labels=labels) if line.startswith(JUDGING))
    differing_lines = chain(
        differences(a.engine, b.engine, labels=labels),
        differences(a.sampling, b.sampling, labels=labels),
        judging_lines,
    )
    # An oracle has a line of its own; that a method is none is no difference.
    return [
        *modality_notes,
        *oracles,
        *(line for line in differing_lines if "weights_sha256" not in line and "settings.oracle" not in line),
    ]


def _shown_as_pictures(run_a: Run, run_b: Run) -> list[str]:
    """Return a note where one of two Runs of the same prompts was shown them as pictures; else empty."""
    pairs = (("a", run_a, "b", run_b), ("b", run_b, "a", run_a))
    for name, run, other_name, other in pairs:
        word_keys = {prompt.id: drawn_key(prompt) for prompt in other.prompts() if DRAWN not in prompt.tags}
        if word_keys == {prompt.id: prompt.tags.get(DRAWN) for prompt in run.prompts()}:
            return [
                f"{name} was shown as pictures what {other_name} was told in words: the difference is the modality gap"
            ]
    return []


def tokens_an_answer(run: Run) -> float | None:
    """Return the generated tokens an answer; None if an answer lacks its count or there is no answer."""
    answers = tokens = 0
    for part in run.parts():
        counts = [response.usage.completion_tokens for response in part.responses() if response.status != "error"]
        numbers = [count for count in counts if count is not None]
        if len(numbers) < len(counts):
            return None
        answers, tokens = answers + len(numbers), tokens + sum(numbers)
    return tokens / answers if answers else None


def _same_answers(run_a: Run, run_b: Run) -> tuple[int, int]:
    """Count the (prompt, turn, draw) that both Runs answered, and how many of these have the same text."""
    both = same = 0
    waiting: tuple[dict[Key, str], dict[Key, str]] = {}, {}  # what the other has not, so far: both have one order
    for parts in zip_longest(run_a.parts(), run_b.parts()):
        for texts, part in zip(waiting, parts, strict=True):
            responses = part.responses() if part else ()
            texts.update({response.key: response.text for response in responses if response.status != "error"})
        for key in waiting[0].keys() & waiting[1].keys():
            both += 1
            same += waiting[0].pop(key) == waiting[1].pop(key)
    return both, same


def _setting_of(spec: RunSpec, name: str) -> str:
    """Return an option that an endpoint was sent, in words; `by words` if none was sent."""
    fields = spec.engine.settings.get("sent")
    option = fields.get(name) if isinstance(fields, dict) else None
    return "by words" if option is None else str(option.get("type") if isinstance(option, dict) else option)


def _fields_of(spec: RunSpec) -> str:
    """Return what a user added to every request and left out of it, as JSON."""
    return encode({name: spec.engine.settings.get(name) for name in ("send", "omit")}).decode()


def _names(a: RunSpec, b: RunSpec) -> tuple[str, str]:
    """Name two Runs: by their models, or for one model by what tells the two Runs apart."""
    if a.model != b.model:
        return a.model, b.model
    forms: tuple[Callable[[RunSpec], str], ...] = (
        lambda spec: f"{spec.engine.name} {spec.engine.precision}",
        lambda spec: f"temperature {spec.sampling.temperature:g}",
        lambda spec: f"{spec.sampling.max_new_tokens} tokens",
        lambda spec: f"top-p {spec.sampling.top_p:g}",
        lambda spec: f"seed {spec.sampling.seed}",
        lambda spec: f"{spec.mode} mode",
        lambda spec: f"response format {_setting_of(spec, 'response_format')}",
        lambda spec: f"sent {_fields_of(spec)}",
        lambda spec: spec.id[-12:],
    )
    apart = [form for form in forms if form(a) != form(b)]
    if not apart:
        return f"{a.model} (first)", f"{b.model} (second)"
    telling_forms = apart[:-1] or apart  # the hash only where nothing else differs
    names = [f"{spec.model} ({', '.join(form(spec) for form in telling_forms)})" for spec in (a, b)]
    return names[0], names[1]
