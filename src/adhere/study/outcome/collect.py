"""Gather everything that a report shows into one StudyResult.

These are scores, contrasts, verdict, costs, curves and shown answers.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version

import msgspec

import adhere
from adhere.build.manifest import Manifest
from adhere.schema import EngineInfo, Json, content_hash
from adhere.store.summary import Floor
from adhere.study.design.frozen import load_frozen
from adhere.study.design.inputs import StudyInputs
from adhere.study.design.overlapping import load_overlaps
from adhere.study.design.plan import Cell, Evaluation, Plan, PoolPlan, who_draws
from adhere.study.design.registered import load_registration
from adhere.study.design.sources import differences
from adhere.study.design.spec import ArmSpec, StudySpec
from adhere.study.design.tuned import load_tuning
from adhere.study.outcome.alike import aspects_of, draws_part, same_answers
from adhere.study.outcome.contrast import Evaluations, RunKey, contrasts
from adhere.study.outcome.fragile import hangs_on_of
from adhere.study.outcome.growth import growth
from adhere.study.outcome.guards import guard_tests, tax_tests
from adhere.study.outcome.result import (
    ArmCost,
    CellNote,
    Contrast,
    Curve,
    DataFacts,
    Match,
    SettingNote,
    ShownPrompt,
    StageCost,
    StudyResult,
)
from adhere.study.outcome.scores import scores_of
from adhere.study.outcome.sides import changes_of, load_sides, with_sides
from adhere.study.outcome.suites import forgotten, suites_found
from adhere.study.outcome.traps import arm_traps
from adhere.study.outcome.verdict import NOUNS, verdict
from adhere.study.run.cells import CellRecord
from adhere.study.run.measured import Measurement, constraint_words
from adhere.study.run.work import Failure, seconds_of, stored_failures, stored_record
from adhere.train.budget.ledger import StageLedger
from adhere.train.stage.guards import trips
from adhere.train.stages import provenance_rows

RESULT_VERSION = 4  # 4: without any single kind of constraint, too
NO_ENGINE = EngineInfo(name="–", version="–", precision="–")  # nothing is evaluated yet
PACKAGES = ("torch", "transformers", "numpy", "scipy", "msgspec")
WITHIN = 0.1  # equal compute means: trained tokens and drawn answers differ by at most this share


class _Records:
    """Holds all stored records of a study."""

    def __init__(self, study: StudyInputs) -> None:
        self.runs: dict[RunKey, Measurement] = {}
        self.suites: dict[str, dict[RunKey, Measurement]] = {}  # those on published suites, by the suite's name
        self.cells: dict[str, CellRecord] = {}
        self.pools: dict[str, Manifest] = {}
        self.left: dict[int | None, int] = {}
        self.seconds: dict[int | None, float] = {}  # of what is done, by its seed
        for task in study.tasks:
            record = stored_record(study.directory, task)
            if record is None:
                self.left[task.seed] = self.left.get(task.seed, 0) + 1
                continue
            self.seconds[task.seed] = self.seconds.get(task.seed, 0.0) + seconds_of(record)
            if isinstance(record, Measurement) and isinstance(task.item, Evaluation):
                place = self.suites.setdefault(task.item.suite, {}) if task.item.suite else self.runs
                place[task.item.arm, task.item.seed] = record
            elif isinstance(record, CellRecord):
                self.cells[task.key] = record
            elif isinstance(record, Manifest):
                self.pools[task.key] = record

    @property
    def minutes(self) -> float:
        """Minutes of all work, as measured when it was done."""
        return sum(self.seconds.values()) / 60

    def minutes_per_seed(self, seeds: Sequence[int]) -> float | None:
        """Return the mean minutes of `seeds`, which are the finished ones; None if there are none."""
        return sum(self.seconds.get(seed, 0.0) for seed in seeds) / 60 / len(seeds) if seeds else None

    def on_suites(self, study: StudyInputs) -> dict[str, Evaluations]:
        """Return the evaluations on each published suite, by the suite's name."""
        return {
            name: Evaluations(self.suites.get(name, {}), suite.prompts, study.spec.seeds)
            for name, suite in study.suites.items()
        }


def make_result(study: StudyInputs, *, parameters: int, command: str) -> StudyResult:
    """Return everything that the study found so far, from what is stored.

    Args:
        study: Spec, suite and plan.
        parameters: Number of parameters of the start model.
        command: Command with which a reader gets the result again.
    """
    spec, suite, plan = study.spec, study.suite, study.plan
    records = _Records(study)
    evaluations = Evaluations(records.runs, suite.prompts, spec.seeds, counts=spec.verdict.counts)
    every_contrast = contrasts(spec, evaluations)
    seeds_finished = [seed for seed in spec.seeds if not records.left.get(seed)] if not records.left.get(None) else []
    failures = stored_failures(study.directory, study.tasks)
    frozen_study = load_frozen(study.directory)
    matches = _match_stages(spec, plan, records.cells)
    withheld = _withheld(spec, records, every_contrast[0], matches, failed=_failed_of(study, failures))
    hangs_on, on_suites = hangs_on_of(spec, evaluations), records.on_suites(study)
    costs = _arm_costs(spec, plan, records, parameters)
    engine = next(iter(records.runs.values())).engine if records.runs else NO_ENGINE
    result = StudyResult(
        version=RESULT_VERSION,
        name=spec.name,
        spec_sha256=frozen_study.sha256 if frozen_study else spec.sha256,
        spec=msgspec.to_builtins(spec),
        spec_frozen_at=frozen_study.at if frozen_study else "",
        changes=changes_of(frozen_study),
        start_model=spec.start,
        engine=msgspec.structs.replace(engine, weights_sha256=None),  # every arm has weights of its own
        suite=suite.name,
        suite_sha256=suite.sha256,
        n_prompts=len(suite.prompts),
        slices=["all", *suite.slices],
        arms=[arm.name for arm in spec.arms],
        arm_stages={arm.name: _stages_of(arm) for arm in spec.arms},
        arm_notes={arm.name: arm.note for arm in spec.arms if arm.note},
        seeds=spec.seeds,
        seeds_finished=seeds_finished,
        failures=[f"{failure.task}: {failure.error}" for failure in failures],
        verdict=verdict(
            spec,
            every_contrast[0],
            evaluations,
            hangs_on=hangs_on,
            withheld=withheld,
            minutes_per_seed=records.minutes_per_seed(seeds_finished),
        ),
        fragility=hangs_on,
        suites=suites_found(spec, on_suites, records.suites),
        forgotten=forgotten(spec, evaluations, on_suites),
        contrasts=every_contrast,
        guards=guard_tests(spec, evaluations, on_suites),
        tax=tax_tests(spec, evaluations),
        matched=matches,
        notes=[note for record in records.cells.values() for note in notes_of(record)],
        scores=scores_of(spec, suite.slices, records.runs, evaluations),
        data=[_data_facts(plan.pool(key), manifest, spec, study) for key, manifest in records.pools.items()],
        stage_costs=[
            _stage_cost(plan, record, records.pools, parameters)
            for record in records.cells.values()
            if not record.unknown
        ],
        arm_costs=costs,
        growth=growth(spec, evaluations, costs),
        floors=_floors(records.runs.values()),
        traps=[]
        if spec.asks_rules  # what is shown of sessions are lines of their logs, no answers
        else arm_traps(
            [arm.name for arm in spec.arms], records.runs.values(), {prompt.id: prompt for prompt in suite.prompts}
        ),
        curves=[_curve(record) for record in records.cells.values()],
        shown=_show_prompts(spec, study, evaluations),
        runs={
            _label(arm, seed) + (name and f" on {name}"): run.run
            for name, runs in {"": records.runs, **records.suites}.items()
            for (arm, seed), run in runs.items()
        },
        settings=_settings(spec),
        warnings=[
            *(frozen_study.warnings if frozen_study else ()),
            *_of_sources(study),
            *_of_served(study, records),
            *_warnings(records),
        ],
        environment={**_environment(engine), **({"command": command} if command else {})},
        minutes=records.minutes,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        cells={
            _label(evaluation.arm, evaluation.seed): plan.cell(evaluation.cell).folder
            for evaluation in plan.evaluations
            if evaluation.cell is not None
            and not evaluation.suite
            and (evaluation.arm, evaluation.seed) in records.runs
        },
        tuning=None if spec.tune is None else load_tuning(study.directory),
        alike=aspects_of(study, records.runs),
        registered=load_registration(study.directory),
        draws=draws_part(spec, evaluations),
        overlaps=load_overlaps(study.directory),
    )
    return with_sides(result, load_sides(study.directory))


def notes_of(record: CellRecord) -> list[CellNote]:
    """Return the guards' notes on a trained cell, read from its whole log.

    They do not depend on how often the training was interrupted.
    """
    return [
        CellNote(
            cell="+".join(record.path),
            stage=record.path[-1],
            seed=record.seed,
            column=guard.column,
            above=guard.above,
            first=first,
            bad=bad,
            steps=len(record.log),
            advice=guard.advice,
        )
        for guard, first, bad in trips(record.log)
    ]


def same_result(earlier: StudyResult, new: StudyResult) -> bool:
    """Tell whether two results agree, apart from when and by which command they were collected."""

    def bare(result: StudyResult) -> StudyResult:
        return msgspec.structs.replace(result, created="", environment={})

    return bare(earlier) == bare(new)


def _stages_of(arm: ArmSpec) -> list[str]:
    """Return an arm's stages, or the models or answers of others."""
    if arm.source is None:
        return arm.stages
    return [arm.source] if isinstance(arm.source, str) else list(dict.fromkeys(arm.source.values()))


def _label(arm: str, seed: int | None) -> str:
    return arm if seed is None else f"{arm} (seed {seed})"


def _failed_of(study: StudyInputs, failures: Sequence[Failure]) -> list[str]:
    """List the failed tasks that the compared arms need, each with its reason."""
    verdict_arms = {study.spec.verdict.treatment, study.spec.verdict.control}
    items = {task.name: task.item for task in study.tasks}

    def concerns(item: PoolPlan | Cell | Evaluation) -> bool:
        match item:
            case Cell():
                return bool(verdict_arms & set(item.arms))
            case Evaluation():
                return item.arm in verdict_arms
        return any(item.key in cell.pools and verdict_arms & set(cell.arms) for cell in study.plan.cells)

    return [f"{failure.task} failed with {failure.error}" for failure in failures if concerns(items[failure.task])]


def _withheld(
    spec: StudySpec, records: _Records, primary: Contrast, matches: Sequence[Match], *, failed: Sequence[str]
) -> list[str]:
    """List the reasons to give no answer, whatever the interval says.

    `failed` lists the failed tasks that the compared arms need.
    """
    reasons = []
    verdict_arms = {spec.verdict.treatment, spec.verdict.control}
    missing = [
        str(seed)
        for seed in spec.seeds
        if any((arm, seed) not in records.runs and (arm, None) not in records.runs for arm in verdict_arms)
    ]
    if missing:
        reasons.append(
            f"{len(spec.seeds) - len(missing)} of {len(spec.seeds)} seeds are finished (not yet: "
            f"{', '.join(missing)}); the rule is applied once, when all are there"
        )
        reasons += failed
    if not missing and primary.coverage < spec.evaluation.coverage:
        reasons.append(
            f"only {primary.coverage:.1%} of the {NOUNS[spec.asks_rules]} were measured by every compared arm, "
            f"{spec.evaluation.coverage:.0%} are needed{' ([evaluation] coverage)' if spec.asks_rules else ''}"
        )
    differing = _engines(records.runs)
    if differing and spec.evaluation.across_engines is not True:
        reasons.append(f"the evaluations were not made by one engine: {differing}")
    reasons += [note for note in same_answers(records.runs) if note.partition(":")[0] in verdict_arms]
    reasons += [
        f"{match.arm} and {match.to} are to have equal compute, but {match.what} are {match.a:,} and "
        f"{match.b:,} (seed {match.seed})"
        for match in matches
        if not match.within and {match.arm, match.to} == verdict_arms
    ]
    return reasons


def _engines(runs: Mapping[RunKey, Measurement]) -> str:
    """Say how the engines of the evaluations differ; empty if they do not."""
    kinds: dict[str, str] = {}
    for (arm, seed), run in runs.items():
        engine = run.engine
        torch, device = engine.settings.get("torch", ""), engine.settings.get("device", "cpu")
        kind = f"{engine.name} {engine.version}, {engine.precision}, {device}, torch {torch}"
        kinds.setdefault(kind, _label(arm, seed))
    return "" if len(kinds) < 2 else "; ".join(f"{kind} ({who})" for kind, who in kinds.items())


def _match_stages(spec: StudySpec, plan: Plan, cells: Mapping[str, CellRecord]) -> list[Match]:
    """Compare the measured compute of every stage with `equal_compute_to` with the stages that it is matched to."""
    matches = []
    for cell in plan.cells:
        to = spec.stage(cell.stage).equal_compute_to
        others = [cells[key].ledger for key in cell.matched if key in cells]
        if to is None or cell.key not in cells or len(others) < len(cell.matched):
            continue
        if any(cells[key].unknown for key in (cell.key, *cell.matched)):
            continue  # what is not known is not called equal
        own = cells[cell.key].ledger
        arm = next(name for name in cell.arms if spec.arm(name).stages == list(cell.path))
        measures: dict[str, Callable[[StageLedger], int]] = (
            {
                "answers drawn": lambda ledger: ledger.answers_generated,
                "tokens trained": lambda ledger: ledger.tokens_trained,
            }
            if own.answers_generated
            else {"tokens of forward and backward": lambda ledger: ledger.equivalent_tokens}
        )
        for measure, of in measures.items():
            a, b = of(own), sum(of(ledger) for ledger in others)
            ratio = a / b if b else float(a == b)
            matches.append(Match(arm, to, cell.seed, measure, a, b, ratio, abs(ratio - 1) <= WITHIN))
    return matches


def _data_facts(pool: PoolPlan, manifest: Manifest, spec: StudySpec, study: StudyInputs) -> DataFacts:
    report = manifest.contamination
    split = study.audit
    per_kind = {
        tally.kind: {
            "judged": tally.judged,
            "passed": tally.passed,
            "sft_sampled": tally.sft_sampled,
            "sft_repaired": tally.sft_repaired,
            "pairs": tally.pairs,
        }
        for tally in manifest.kinds
    }
    return DataFacts(
        seed=pool.seed,
        source=who_draws(spec, pool),
        sha256=content_hash(manifest.files),
        prompts=manifest.rows["prompts.jsonl"],
        answers_drawn=manifest.ledger.answers_generated,
        answers_passed=manifest.answers_passed,
        tokens_generated=manifest.ledger.tokens_generated,
        minutes=manifest.ledger.seconds / 60,
        sft_rows=manifest.rows["sft.jsonl"],
        sft_by_origin=manifest.origins["sft"],
        pairs=manifest.rows["pairs.jsonl"],
        pairs_by_origin=manifest.origins["pairs"],
        rl_prompts=manifest.rows["rl.jsonl"],
        unreachable_kinds=list(manifest.unreachable),
        yield_by_kind=per_kind,
        contamination={
            "training": report.training,
            "held_out": report.held_out,
            "query_pairs": report.query_pairs,
            "dropped": len(report.dropped_ids),
            "overlaps": len(report.overlaps),
            "message": report.message,
            "shared": {name: len(getattr(split, name)) for name in split.__struct_fields__},
        },
    )


def _petaflops(parameters: int, tokens_processed: int, forward_only: int) -> float:
    """Return the operations in 1e15: six for each parameter and token forward and backward, two forward only."""
    return (6 * tokens_processed + 2 * forward_only) * parameters / 1e15


def _stage_cost(plan: Plan, record: CellRecord, pools: Mapping[str, Manifest], parameters: int) -> StageCost:
    cell = plan.cell(record.key)
    ledger = record.ledger
    pool_keys = [key for key in cell.pools if plan.pool(key).cell is not None] or cell.pools[-1:]
    prompts = [pools[key].rows["prompts.jsonl"] for key in pool_keys if key in pools]
    return StageCost(
        cell="+".join(record.path),
        stage=record.path[-1],
        method=record.method,
        arms=list(cell.arms),
        seed=record.seed,
        steps=ledger.steps,
        prompts=sum(prompts),
        rows=record.rows,
        answers_generated=ledger.answers_generated,
        tokens_generated=ledger.tokens_generated,
        tokens_trained=ledger.tokens_trained,
        tokens_processed=ledger.tokens_processed,
        tokens_scored=ledger.tokens_scored,
        petaflops=_petaflops(parameters, ledger.tokens_processed, ledger.tokens_scored + ledger.tokens_generated),
        minutes=ledger.seconds / 60,
        minutes_generating=ledger.seconds_generating / 60,
        peak_memory_gb=ledger.peak_memory_bytes / 1e9,
    )


def _arm_costs(spec: StudySpec, plan: Plan, records: _Records, parameters: int) -> list[ArmCost]:
    """Return what each arm would cost alone: its cells, shared ones included, and the pools that they learn from.

    An arm has no cost at a seed where something is still to be trained or drawn.
    """
    costs = []
    for seed in spec.seeds:
        for arm in spec.arms:
            if arm.source is not None or (arm.seeds is not None and seed not in arm.seeds):
                continue  # what others trained cost what nobody noted here
            cells = [cell for cell in plan.cells if cell.seed == seed and arm.name in cell.arms]
            keys = list(dict.fromkeys(key for cell in cells for key in cell.pools))
            if not all(cell.key in records.cells for cell in cells) or not all(key in records.pools for key in keys):
                continue
            if any(records.cells[cell.key].unknown for cell in cells):
                continue  # a command did not say what it cost
            ledgers = [records.cells[cell.key].ledger for cell in cells]
            pools = [records.pools[key] for key in keys]
            pool_tokens = [pool.ledger.tokens_generated for pool in pools]
            tokens_drawn = None if None in pool_tokens else sum(tokens or 0 for tokens in pool_tokens)
            tokens_processed = sum(ledger.tokens_processed for ledger in ledgers)
            forward = (tokens_drawn or 0) + sum(ledger.tokens_scored + ledger.tokens_generated for ledger in ledgers)
            costs.append(
                ArmCost(
                    arm=arm.name,
                    seed=seed,
                    prompts=sum(pool.rows["prompts.jsonl"] for pool in pools),
                    answers_generated=sum(ledger.answers_generated for ledger in ledgers)
                    + sum(pool.ledger.answers_generated for pool in pools),
                    tokens_generated=None
                    if tokens_drawn is None
                    else sum(ledger.tokens_generated for ledger in ledgers) + tokens_drawn,
                    tokens_trained=sum(ledger.tokens_trained for ledger in ledgers),
                    petaflops=_petaflops(parameters, tokens_processed, forward),
                    minutes=(sum(ledger.seconds for ledger in ledgers) + sum(pool.ledger.seconds for pool in pools))
                    / 60,
                    peak_memory_gb=max((ledger.peak_memory_bytes for ledger in ledgers), default=0) / 1e9,
                )
            )
    return costs


def _curve(record: CellRecord) -> Curve:
    """Return the log as columns; columns with anything but numbers are left out."""
    names = list(dict.fromkeys(name for row in record.log for name in row))
    columns: dict[str, list[float | None]] = {}
    for name in names:
        values = [row.get(name) for row in record.log]
        if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
            columns[name] = [None if value is None else float(value) for value in values]  # type: ignore[arg-type]
    return Curve("+".join(record.path), record.path[-1], record.method, record.seed, columns)


def _show_prompts(spec: StudySpec, study: StudyInputs, evaluations: Evaluations) -> list[ShownPrompt]:
    """Return the drawn prompts with the answers of the first seed that every arm has."""
    arms = [arm.name for arm in spec.arms]
    common = evaluations.common_seeds(*arms) or list(spec.seeds)
    by_id = {prompt.id: prompt for prompt in study.suite.prompts}
    runs = [run for arm in arms if (run := evaluations.of(arm, common[0])) is not None]
    return [
        ShownPrompt(
            name,
            by_id[name].tags.get("slice", ""),
            by_id[name].text,
            constraint_words(by_id[name]),
            [run.shown[name] for run in runs if name in run.shown],
        )
        for name in study.shown
    ]


def _settings(spec: StudySpec) -> list[SettingNote]:
    """Return every setting with a known origin: the value that was used, and why.

    If a stage sets another value, the reason of the default is replaced.
    """
    notes = []
    for name in spec.stages:
        stage = spec.stage(name)
        for row in provenance_rows(stage.stage, stage.settings):
            setting, default, why = str(row["setting"]), str(row["ours"]), str(row["why"])
            value = default if row["used"] is None else str(row["used"])
            if stage.equal_compute_to and setting in {"trained_tokens", "equivalent_tokens"}:
                value, why = f"as many as {stage.equal_compute_to}", "equal compute, measured"
            elif setting in spec.stages[name] and not _is_same_number(value, default):
                why = f"set by this study; the default is {default}"
            notes.append(SettingNote(name, setting, "–" if row["stated"] is None else str(row["stated"]), value, why))
    return notes


def _is_same_number(text: str, other: str) -> bool:
    """Tell whether two texts are equal, or are one number written in two ways (1e-05 and 1e-5)."""
    try:
        return float(text) == float(other)
    except ValueError:
        return text == other


def _floors(runs: Iterable[Measurement]) -> dict[str, Floor]:
    """Return the floors by slice from the first evaluation that has them, for all were asked the same prompts."""
    floors: dict[str, Floor] = {}
    for run in runs:
        parts = {"all": run.summary.overall, **run.summary.slices}
        floors = {name: part.floor for name, part in parts.items() if part.floor is not None}
        if floors:
            break
    return floors


def _of_sources(study: StudyInputs) -> list[str]:
    """Return warnings: engines that differ between arms, sources with a trouble, tokenizers that differ."""
    sources = list(study.sources.values())
    tokenizers = {source.tokenizer for source in sources if source.weights is not None}
    return [
        *(f"Compared across engines: {difference}" for difference in differences(sources)),
        *(source.trouble for source in sources if source.trouble),
        *(
            ["The arms have different tokenizers, so their perplexities a token are not compared"]
            if len(tokenizers) > 1
            else []
        ),
    ]


def _of_served(study: StudyInputs, records: _Records) -> Iterator[str]:
    """Yield a warning for each arm and seed where an endpoint says that another model answered than was asked."""
    for key, source in study.sources.items():
        run = records.runs.get(key)
        model_name = source.name.partition("#")[2] or source.name.partition("/")[2]
        if run is None or source.kind != "model" or source.weights is not None or not model_name:
            continue
        others = [name for name in run.served if not _is_same_model(name, model_name)]
        if others:
            yield f"{_label(*key)}: asked for {model_name}, and the server says that {', '.join(others)} answered"


def _is_same_model(served_name: str, model_name: str) -> bool:
    """Tell whether a server's own name of a model is the model that was asked for.

    Providers add a date or a version (`gpt-4o-2024-08-06`); gateways leave the maker out.
    """
    served_stem, model_stem = (
        name.rpartition("/")[2].casefold().partition(":")[0] for name in (served_name, model_name)
    )
    return served_stem.startswith(model_stem) or model_stem.startswith(served_stem)


def _warnings(records: _Records) -> list[str]:
    """List what a reader must know before trusting the numbers."""
    warnings = []
    for (arm, seed), run in records.runs.items():
        where = _label(arm, seed)
        if run.summary.coverage < 1:
            warnings.append(f"{where}: {1 - run.summary.coverage:.1%} of the prompts have no measurement")
        truncated = run.summary.overall.guard.truncated_share
        if truncated is not None and truncated > 0.2:
            warnings.append(f"{where}: {truncated:.0%} of the answers were cut at the token limit, and count as failed")
        if run.summary.damage:
            warnings.append(f"{where}: {run.summary.damage} stored rows could not be read; the rest was used")
    for name, runs in records.suites.items():
        missing_shares = [1 - run.coverage for run in runs.values() if run.coverage < 1]
        errors = sum(run.summary.overall.accounting.error for run in runs.values())
        if missing_shares:
            warnings.append(
                f"{name}: in {len(missing_shares)} of {len(runs)} evaluations up to {max(missing_shares):.1%} of the "
                f"prompts have no measurement{f'; {errors} answers ended in an error' if errors else ''}"
            )
    silent = {"+".join(cell.path): cell.unknown for cell in records.cells.values() if cell.unknown}
    warnings += [
        f"{path}: its command did not report {', '.join(unknown)}, so its cost is unknown and equal compute is not said"
        for path, unknown in silent.items()
    ]
    unreachable = sorted({kind for manifest in records.pools.values() for kind in manifest.unreachable})
    if unreachable:
        warnings.append(f"No training answer passes for: {', '.join(unreachable)}")
    return warnings


def _environment(engine: EngineInfo) -> dict[str, Json]:
    """Describe the machine that makes the result, and torch's version for the answers if it differs."""
    torch = engine.settings.get("torch", version("torch"))
    return {
        **({} if torch == version("torch") else {"torch_of_answers": torch}),
        "adhere": adhere.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        **{name: version(name) for name in PACKAGES},
    }
