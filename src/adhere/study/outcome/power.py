"""Compute the power of designs (seeds, prompts) from the variance components of a finished study or a pilot.

    d[s, p] = Δ + seed[s] + query[q(p)] + noise[s, p]        (stats.crossed)

The parts of a paired difference's variance are taken from records: how far seeds move it, how far queries do, and the
rest, which is chance of one seed on one prompt (drawing among it). A design of other seeds and prompts is expected to
have the same parts. Power is that of the interval to exclude 0; that no single seed decides (`002-verdict`) needs a
little more. Without a pilot, the parts of the committed studies are used, which are a guess for any other question.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scipy.optimize import brentq

from adhere.errors import UsageError
from adhere.schema import convert, decode
from adhere.stats import Crossed
from adhere.store.files import read_regular
from adhere.study.design.inputs import held_out_suite
from adhere.study.design.spec import StudySpec, in_slice
from adhere.study.outcome.contrast import fit_of, pairs_of
from adhere.study.outcome.designs import EFFECTS, PROMPTS, SEEDS, WANTED, Components, Design, PowerRow
from adhere.study.outcome.reproduce import RECORDS, RESULT
from adhere.study.outcome.result import StudyResult
from adhere.study.outcome.starts import evaluations_in
from adhere.study.run.records import unpack


def components_of(directory: Path) -> Components:
    """Return the parts of a finished study's primary difference, from its result and its evaluations.

    Args:
        directory: The study's folder, or a folder with `result.json` and packed records.

    Raises:
        UsageError: A file is missing, or the study has one seed, which says nothing about how seeds differ.
    """
    if not (directory / RESULT).is_file():
        raise UsageError(f"{directory} holds no {RESULT}: no study has finished there")
    result = decode(read_regular(directory / RESULT), StudyResult)
    spec = convert(result.spec, StudySpec)
    with records_folder(directory) as place:
        evaluations = evaluations_in(result, place)[""]
    fit = fit_of(pairs_of(spec.verdict.primary, evaluations), evaluations)
    if fit is None or fit.seeds < 2:
        raise UsageError(f"{directory}: needs at least two finished seeds: one tells nothing of how seeds differ")
    per_seed = result.minutes / len(result.seeds_finished) if result.seeds_finished else None
    return parts_of(fit, name=result.name, minutes_per_seed=per_seed)


@contextmanager
def records_folder(directory: Path) -> Iterator[Path]:
    """Yield a folder with a study's evaluations: its own, or a temporary one with its packed records.

    Raises:
        UsageError: The study has neither evaluations nor packed records.
    """
    if (directory / "evaluations").is_dir():
        yield directory
        return
    if not (directory / RECORDS).is_file():
        raise UsageError(
            f"{directory} holds neither evaluations nor {RECORDS}. Pack a study's records by adhere study SPEC "
            f"--records FILE"
        )
    with tempfile.TemporaryDirectory() as place:
        unpack(directory / RECORDS, Path(place))
        yield Path(place)


def parts_of(fit: Crossed, *, name: str, minutes_per_seed: float | None) -> Components:
    """Return the variance components behind a fit, from its mean squares; a negative part becomes 0."""
    # The mean squares of `stats.crossed`: they expect noise + S·var(query) for queries, noise + Q·var(seed) for seeds.
    cells = fit.seeds * fit.queries
    ms_query, ms_seed = fit.var_least * cells, fit.var_seed * cells
    noise = ms_query - fit.var_query * cells
    return Components(
        name,
        max(0.0, ms_seed - noise) / fit.queries,
        max(0.0, ms_query - noise) / fit.seeds,
        noise,
        fit.prompts / fit.queries,
        minutes_per_seed,
    )


def design_of(parts: Components, *, seeds: int, prompts: int) -> Crossed:
    """Return the fit that a study with so many seeds and prompts would have, around a difference of 0."""
    queries = max(2, round(prompts / parts.prompts_per_query))
    var_seed = parts.seed / seeds + parts.noise / (seeds * queries)
    var_query = parts.query / queries
    least = (seeds * parts.query + parts.noise) / (seeds * queries)
    return Crossed(0.0, var_seed, seeds - 1, var_query, queries - 1, least, seeds, queries, prompts)


def power_of(design: Crossed, effect: float, *, confidence: float = 0.95) -> float:
    """Return the chance that the interval excludes 0 on the side of a true difference of `effect`."""
    beyond = effect - design.half_width(confidence)
    if beyond == 0:
        return 0.5
    top = design.upper(1 - 1e-9)
    if abs(beyond) >= top:
        return 1.0 if beyond > 0 else 0.0
    share = float(brentq(lambda p: design.upper(p) - abs(beyond), 0.5, 1 - 1e-9))
    return share if beyond > 0 else 1 - share


def power_table(
    parts: Components,
    *,
    own: Sequence[Design] = (),
) -> list[PowerRow]:
    """Return the power of `own` designs, and then of every design with a number of SEEDS and of PROMPTS.

    Hours are of training and evaluation as in the study, whatever the number of prompts.
    """
    rows = []
    for n, size in [*own, *itertools.product(SEEDS, PROMPTS)]:
        design = design_of(parts, seeds=n, prompts=size)
        hours = None if parts.minutes_per_seed is None else n * parts.minutes_per_seed / 60
        power = [power_of(design, effect) for effect in EFFECTS]
        rows.append(PowerRow(n, size, design.detectable(power=WANTED), power, hours))
    return rows


def own_design(spec: StudySpec) -> Design:
    """Return the number of seeds and prompts of a spec's question.

    Raises:
        UsageError: The spec has one seed; its verdict is then about checkpoints, and how seeds differ has no part in
            it.
    """
    rule = spec.verdict
    seeds = set(spec.seeds)
    for arm in (spec.arm(rule.treatment), spec.arm(rule.control)):
        seeds &= set(spec.seeds if arm.seeds is None else arm.seeds)
    if len(seeds) < 2:
        raise UsageError(
            f"{spec.name} has one seed: power is that of a verdict about methods. Give it seeds = [0, 1, 2]"
        )
    n = sum(in_slice(prompt.tags.get("slice", ""), rule.slice) for prompt in held_out_suite(spec).prompts)
    return Design(len(seeds), n)
