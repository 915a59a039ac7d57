"""Gathers everything that a report shows into one StudyResult: scores, contrasts, verdict, costs, curves, shown answers."""

from __future__ import annotations

import os
import platform
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

import msgspec

import adhere
from adhere.build.pool import Pool
from adhere.constraints import from_ref
from adhere.pipeline.outcomes import answers_of
from adhere.schema import Json, Prompt
from adhere.store.run import Run
from adhere.store.summary import GuardMeans, SliceScore, Tally
from adhere.store.summary import Rate as StoredRate
from adhere.study.cells import CellRecord
from adhere.study.compare import Passes, RunKey, contrasts, pooled_interval, verdict
from adhere.study.plan import Plan
from adhere.study.result import (
    ArmCost,
    ArmScore,
    Curve,
    DataFacts,
    Guard,
    Rate,
    SettingNote,
    ShownAnswer,
    ShownPrompt,
    StageCost,
    StudyResult,
)  # fmt: skip
from adhere.study.spec import StudySpec
from adhere.suites.base import Suite
from adhere.train.stages import provenance_rows

if TYPE_CHECKING:
    from adhere.study.execute import Prepared

RESULT_VERSION = 1
PACKAGES = ("torch", "transformers", "numpy", "scipy", "msgspec")


def make_result(
    prepared: Prepared,
    pool: Pool,
    records: Mapping[str, CellRecord],
    runs: Mapping[RunKey, Run],
    *,
    minutes: float,
    command: str,
) -> StudyResult:
    """Everything that the study found, from what is stored.

    Args:
        prepared: Spec, suite and plan.
        pool: The common data.
        records: Trained cells by key.
        runs: Evaluations by (arm, seed); the start model's seed is None.
        minutes: Wall-clock time of this call of the study; finished cells cost nothing now.
        command: What a reader would type to get it again.
    """
    spec, suite = prepared.spec, prepared.suite
    passes = Passes(runs, suite.prompts, spec.seeds)
    found = contrasts(spec, passes)
    engine = next(iter(runs.values())).spec.engine
    return StudyResult(
        version=RESULT_VERSION,
        name=spec.name,
        spec_sha256=spec.sha256,
        spec=msgspec.to_builtins(spec),
        start_model=spec.start,
        engine=msgspec.structs.replace(engine, weights_sha256=None),  # every arm has weights of its own
        suite=suite.name,
        suite_sha256=suite.sha256,
        n_prompts=len(suite.prompts),
        slices=["all", *suite.slices],
        arms=[arm.name for arm in spec.arms],
        arm_stages={arm.name: arm.stages for arm in spec.arms},
        arm_notes={arm.name: arm.note for arm in spec.arms if arm.note},
        seeds=spec.seeds,
        verdict=verdict(spec, found[0]),
        contrasts=found,
        scores=_scores(spec, suite, runs),
        data=_data_facts(pool),
        stage_costs=[_stage_cost(prepared.plan, record, pool) for record in records.values()],
        arm_costs=_arm_costs(spec, prepared.plan, records, pool),
        curves=[_curve(record) for record in records.values()],
        shown=_shown(spec, suite, runs),
        settings=_settings(spec),
        warnings=_warnings(runs, records, pool),
        environment={**_environment(), **({"command": command} if command else {})},
        minutes=minutes,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _scores(spec: StudySpec, suite: Suite, runs: Mapping[RunKey, Run]) -> list[ArmScore]:
    summaries = {key: run.summary() for key, run in runs.items()}
    scores = []
    for arm in [arm.name for arm in spec.arms]:
        seeds = [seed for name, seed in runs if name == arm]
        for name in ("all", *suite.slices):
            by_seed = [summaries[arm, seed] for seed in seeds]
            parts = [summary.overall if name == "all" else summary.slices[name] for summary in by_seed]
            one_each = [_arm_score(arm, seed, name, part) for seed, part in zip(seeds, parts, strict=True)]
            pooled = (
                _pooled(one_each, spec.verdict.confidence)
                if len(one_each) > 1
                else msgspec.structs.replace(one_each[0], seed=None)
            )
            scores += [pooled, *(score for score in one_each if score.seed is not None)]
    return scores


def _arm_score(arm: str, seed: int | None, name: str, part: SliceScore) -> ArmScore:
    return ArmScore(
        arm=arm, seed=seed, slice=name,
        prompt_strict=_rate(part.prompt_strict), prompt_loose=_rate(part.prompt_loose),
        instruction_strict=_rate(part.instruction_strict),
        families=_tallies(part.families), kinds=_tallies(part.kinds),
        guard=_guard(part.guard), accounting={**msgspec.to_builtins(part.accounting)},
    )  # fmt: skip


def _rate(rate: StoredRate) -> Rate:
    return Rate(rate.passed, rate.n, rate.of_all, rate.low, rate.high)


def _tallies(tallies: Mapping[str, Tally]) -> dict[str, Rate]:
    return {name: _rate(tally.strict) for name, tally in tallies.items()}


def _guard(means: GuardMeans) -> Guard:
    values = {name: getattr(means, name) for name in Guard.__struct_fields__}
    return Guard(**values)


def _pooled(scores: Sequence[ArmScore], confidence: float) -> ArmScore:
    """Over seeds: counts added, rates averaged, intervals from the spread between seeds; guards averaged."""

    def over(pick: Callable[[ArmScore], Rate]) -> Rate:
        rates = [pick(score) for score in scores]
        values = [rate.rate for rate in rates if rate.rate is not None]
        low, high = pooled_interval(values, confidence)
        return Rate(sum(rate.passed for rate in rates), sum(rate.n for rate in rates), _mean(values), low, high)

    first = scores[0]
    return ArmScore(
        arm=first.arm, seed=None, slice=first.slice,
        prompt_strict=over(lambda score: score.prompt_strict), prompt_loose=over(lambda score: score.prompt_loose),
        instruction_strict=over(lambda score: score.instruction_strict),
        families={name: over(partial(_family, name)) for name in first.families},
        kinds={name: over(partial(_kind, name)) for name in first.kinds},
        guard=Guard(**{name: _mean([getattr(score.guard, name) for score in scores]) for name in Guard.__struct_fields__}),
        accounting={name: sum(score.accounting[name] for score in scores) for name in first.accounting},
    )  # fmt: skip


def _family(name: str, score: ArmScore) -> Rate:
    return score.families[name]


def _kind(name: str, score: ArmScore) -> Rate:
    return score.kinds[name]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _data_facts(pool: Pool) -> DataFacts:
    manifest, report = pool.manifest, pool.manifest.contamination
    per_kind = {
        found.kind: {
            "judged": found.judged, "passed": found.passed,
            "sft_sampled": found.sft_sampled, "sft_repaired": found.sft_repaired, "pairs": found.pairs,
        }
        for found in manifest.kinds
    }  # fmt: skip
    return DataFacts(
        sha256=pool.sha256,
        prompts=len(pool.prompts),
        answers_drawn=pool.ledger.answers_generated,
        answers_passed=manifest.answers_passed,
        tokens_generated=pool.ledger.tokens_generated or 0,
        minutes=pool.ledger.seconds / 60,
        sft_rows=len(pool.sft),
        sft_by_origin=manifest.origins["sft"],
        pairs=len(pool.pairs),
        pairs_by_origin=manifest.origins["pairs"],
        rl_prompts=len(pool.rl),
        unreachable_kinds=list(manifest.unreachable),
        yield_by_kind=per_kind,
        contamination={
            "training": report.training, "held_out": report.held_out, "query_pairs": report.query_pairs,
            "dropped": len(report.dropped_ids), "overlaps": len(report.overlaps), "message": report.message,
        },
    )  # fmt: skip


def _stage_cost(plan: Plan, record: CellRecord, pool: Pool) -> StageCost:
    cell = next(cell for cell in plan.cells if cell.key == record.key)
    ledger = record.ledger
    return StageCost(
        cell="+".join(record.path), stage=record.path[-1], method=record.method, arms=list(cell.arms), seed=record.seed,
        steps=ledger.steps, prompts=len(pool.prompts), rows=record.rows,
        answers_generated=ledger.answers_generated, tokens_generated=ledger.tokens_generated,
        tokens_trained=ledger.tokens_trained, tokens_processed=ledger.tokens_processed,
        minutes=ledger.seconds / 60, minutes_generating=ledger.seconds_generating / 60,
        peak_memory_gb=ledger.peak_memory_bytes / 1e9,
    )  # fmt: skip


def _arm_costs(spec: StudySpec, plan: Plan, records: Mapping[str, CellRecord], pool: Pool) -> list[ArmCost]:
    costs = []
    for seed in spec.seeds:
        for arm in spec.arms:
            ledgers = [records[cell.key].ledger for cell in plan.cells if cell.seed == seed and arm.name in cell.arms]
            data = pool.ledger if ledgers else None
            costs.append(
                ArmCost(
                    arm=arm.name, seed=seed, prompts=len(pool.prompts) if ledgers else 0,
                    answers_generated=sum(ledger.answers_generated for ledger in ledgers) + (data.answers_generated if data else 0),
                    tokens_generated=sum(ledger.tokens_generated for ledger in ledgers) + ((data.tokens_generated or 0) if data else 0),
                    tokens_trained=sum(ledger.tokens_trained for ledger in ledgers),
                    minutes=(sum(ledger.seconds for ledger in ledgers) + (data.seconds if data else 0.0)) / 60,
                    peak_memory_gb=max((ledger.peak_memory_bytes for ledger in ledgers), default=0) / 1e9,
                )
            )  # fmt: skip
    return costs


def _curve(record: CellRecord) -> Curve:
    """The log as columns; what is not a number is left out."""
    names = list(dict.fromkeys(name for row in record.log for name in row))
    columns: dict[str, list[float | None]] = {}
    for name in names:
        values = [row.get(name) for row in record.log]
        if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
            columns[name] = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    return Curve("+".join(record.path), record.path[-1], record.method, record.seed, columns)


def _shown(spec: StudySpec, suite: Suite, runs: Mapping[RunKey, Run]) -> list[ShownPrompt]:
    """Prompts by a seeded draw, the slices in turn; answers of the first seed."""
    rng = random.Random(spec.evaluation.seed)
    by_slice = {name: [prompt for prompt in suite.prompts if prompt.tags.get("slice") == name] for name in suite.slices}
    chosen: list[Prompt] = []
    for rank in range(spec.shown_prompts):
        names = [name for name in suite.slices if len(by_slice[name])]
        if not names:
            break
        prompts = by_slice[names[rank % len(names)]]
        chosen.append(prompts.pop(rng.randrange(len(prompts))))
    first = {arm.name: runs.get((arm.name, spec.seeds[0])) or runs[arm.name, None] for arm in spec.arms}
    found = {arm: answers_of(run) for arm, run in first.items()}
    reasons = {arm: _reasons(run) for arm, run in first.items()}
    return [
        ShownPrompt(
            prompt.id, prompt.tags.get("slice", ""), prompt.text,
            [from_ref(ref).describe() for ref in prompt.constraints],
            [
                ShownAnswer(
                    arm, response.text, response.status, found[arm].passes(prompt, 0), reasons[arm].get(prompt.id, [])
                )
                for arm in first
                if (response := found[arm].responses.get((prompt.id, 0, 0))) is not None
            ],
        )
        for prompt in chosen
    ]  # fmt: skip


def _reasons(run: Run) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    strict = [found for found in run.verdicts() if found.view == "strict" and found.draw == 0 and found.turn == 0]
    for found in sorted(strict, key=lambda found: (found.prompt_id, found.index)):
        reasons.setdefault(found.prompt_id, []).append(f"{found.outcome}: {found.constraint_id}: {found.reason}")
    return reasons


def _settings(spec: StudySpec) -> list[SettingNote]:
    notes = []
    for name in spec.stages:
        stage = spec.stage(name)
        for row in provenance_rows(stage.stage, stage.settings):
            stated = row["stated"]
            used = row["used"] if row["used"] is not None else row["ours"]
            notes.append(
                SettingNote(
                    name, str(row["setting"]), "–" if stated is None else str(stated), str(used), str(row["why"])
                )
            )
    return notes


def _warnings(runs: Mapping[RunKey, Run], records: Mapping[str, CellRecord], pool: Pool) -> list[str]:
    """What a reader must know before trusting the numbers."""
    found = []
    for (arm, seed), run in runs.items():
        summary = run.summary()
        where = arm if seed is None else f"{arm} (seed {seed})"
        if summary.coverage < 1:
            found.append(f"{where}: {1 - summary.coverage:.1%} of the prompts have no measurement")
        truncated = summary.overall.guard.truncated_share
        if truncated is not None and truncated > 0.2:
            found.append(f"{where}: {truncated:.0%} of the answers were cut at the token limit, and count as failed")
        if summary.damage:
            found.append(f"{where}: {summary.damage} stored rows could not be read; the rest was used")
    for record in records.values():
        shares = [row.get("frac_zero_variance") for row in record.log]
        still = _mean([share for share in shares if isinstance(share, float)])
        if still is not None and still > 0.8:
            found.append(f"{'+'.join(record.path)}: {still:.0%} of the groups had no variance to learn from")
    if pool.manifest.unreachable:
        found.append(f"No training answer passes for: {', '.join(pool.manifest.unreachable)}")
    return found


def _environment() -> dict[str, Json]:
    return {
        "adhere": adhere.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        **{name: version(name) for name in PACKAGES},
    }
