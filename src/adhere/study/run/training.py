"""Train one cell of a study by the runner of stages that recipes have (`train.stage`).

The guards are those of recipes; what they do follows the policy of a comparison.

stops the cell    a loss that is not finite, answers that the judge cannot decide, a sampler that is not the trainer's
                  policy; out of memory, after a second try with micro-batches of half the size
is noted          answers that are cut, groups without variance: what an arm does to itself is a finding about it

A cell that is stopped has failed: the worker records the reason and goes on with the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.build.pool import Pool
from adhere.build.transforms.asking import asking
from adhere.build.transforms.base import Settings, transform
from adhere.extras import need
from adhere.models.catalog import open_model
from adhere.models.local.decoder.device import resolve_device
from adhere.models.local.decoder.precision import Precisions
from adhere.models.local.transformers import weights_sha256
from adhere.progress import Progress
from adhere.schema import PairRow, Record, RlRow, SftRow, convert
from adhere.study.design.command import METHOD, CommandSettings
from adhere.study.design.plan import Cell
from adhere.study.design.spec import LongSpec, NamedStage, StudySpec
from adhere.study.run.cells import CHECKPOINT, CellRecord
from adhere.study.run.command import CommandResult, run_command
from adhere.suites.generated.core.free import LONG
from adhere.train.budget.ledger import StageLedger
from adhere.train.settings import OptimizerSettings, settle
from adhere.train.stage.settings import uses_reward_model
from adhere.train.stage.train import TrainedStage, Training, train_stage


def train_cell(
    spec: StudySpec,
    cell: Cell,
    pools: Sequence[Pool],
    *,
    start: Path,
    origin: Path,
    into: Path,
    matched_ledgers: Sequence[StageLedger],
    precisions: Precisions,
    progress: Progress,
    judge: Path | None = None,
) -> CellRecord:
    """Train `cell` from the weights in `start`, or resume a killed attempt; the result is stored in `into`.

    Args:
        spec: The study.
        cell: What to train.
        pools: Data that the cell may learn from: the start model's answers, then those of the model after SFT, if any.
        start: Directory of the parent's weights and tokenizer, which the caller has compared with their hash.
        origin: Directory of the study's start model; online merging keeps what was learned since.
        into: The cell's folder.
        matched_ledgers: Ledgers of the cells whose compute this one gets; empty: its settings say how much.
        precisions: Precisions to use where the stage's table leaves them open.
        progress: Where to report to.
        judge: Directory of the last reward model before this cell, or None.

    Raises:
        Divergence: A loss or gradient is not finite.
        GuardStop: A guard that breaks the comparison trips.
        ResourceError: Memory is short even with micro-batches of half the size; the message says what is needed.
    """
    torch = need("torch", extra="train")
    if spec.threads is not None:
        torch.set_num_threads(spec.threads)
    stage = spec.stage(cell.stage)
    settings = settle(_with_budget(stage, matched_ledgers), precisions)
    if isinstance(settings, CommandSettings):
        return _train_by_command(spec, cell, pools, settings, start=start, into=into, progress=progress)
    pool_rows = _Rows(
        [row for pool in pools for row in pool.sft], pools[-1].pairs, _answerable(pools[-1], spec.data.long, settings)
    )
    rows = stage.stage.rows(pool_rows, settings)
    if getattr(settings, "labels", "") == "criteria":
        rows = _rate_pairs(rows, stage.rated_by, into / CHECKPOINT / "asked", progress)
    progress.say(f"Training {' + '.join(cell.path)} (seed {cell.seed}) on {len(rows)} rows")
    trained_stage = train_stage(
        Training(
            stage.stage,
            settings,
            rows,
            start,
            origin,
            into / CHECKPOINT,
            cell.seed,
            cell.key,
            device=resolve_device(spec.device),
            reward=stage.reward,
            judge=judge if uses_reward_model(stage.reward) else None,
            lora=stage.lora,
            policy="compare",
            name=f"{'+'.join(cell.path)} (seed {cell.seed})",
        ),
        into,
        progress=progress,
    )
    artefact_sha256 = "" if stage.stage.yields == "weights" else weights_sha256(into / stage.stage.yields)
    record = _record_of(
        cell, stage.stage.name, trained_stage.settings, pools=pools, n_rows=len(rows), trained=trained_stage
    )
    return msgspec.structs.replace(record, artefact_sha256=artefact_sha256)


def _record_of(
    cell: Cell,
    method: str,
    settings: OptimizerSettings,
    *,
    pools: Sequence[Pool],
    n_rows: int,
    trained: TrainedStage | CommandResult,
) -> CellRecord:
    return CellRecord(
        key=cell.key,
        path=list(cell.path),
        seed=cell.seed,
        method=method,
        settings=msgspec.to_builtins(settings),
        parent=cell.parent,
        pools_sha256=[pool.sha256 for pool in pools],
        weights_sha256=trained.weights_sha256,
        rows=n_rows,
        ledger=trained.ledger,
        log=[dict(row) for row in trained.log],
    )


def _train_by_command(
    spec: StudySpec,
    cell: Cell,
    pools: Sequence[Pool],
    settings: CommandSettings,
    *,
    start: Path,
    into: Path,
    progress: Progress,
) -> CellRecord:
    rows: dict[str, Sequence[Record]] = {"sft": [row for pool in pools for row in pool.sft], "pairs": [], "rl": []}
    if pools:
        rows |= {"pairs": pools[-1].pairs, "rl": pools[-1].rl}
    command_result = run_command(
        settings,
        rows,
        start=start,
        into=into,
        resume=into / CHECKPOINT,
        seed=cell.seed,
        threads=spec.threads,
        label=f"{'+'.join(cell.path)} (seed {cell.seed})",
        progress=progress,
    )
    record = _record_of(
        cell, METHOD, settings, pools=pools, n_rows=sum(map(len, rows.values())), trained=command_result
    )
    return msgspec.structs.replace(record, unknown=command_result.unknown)


def _with_budget(stage: NamedStage, matched_ledgers: Sequence[StageLedger]) -> OptimizerSettings:
    if stage.equal_compute_to is None:
        return stage.settings
    if "trained_tokens" in stage.settings.__struct_fields__:
        return msgspec.structs.replace(
            stage.settings, trained_tokens=sum(ledger.tokens_trained for ledger in matched_ledgers)
        )
    budget = sum(ledger.equivalent_tokens for ledger in matched_ledgers)
    return msgspec.structs.replace(stage.settings, equivalent_tokens=budget)


class _Rows(NamedTuple):
    """Holds the rows that a stage may choose from: SFT rows of all pools, pairs and prompts of the last one."""

    sft: list[SftRow]
    pairs: Sequence[PairRow]
    rl: Sequence[RlRow]


def _answerable(pool: Pool, long: LongSpec | None, settings: OptimizerSettings) -> Sequence[RlRow]:
    """Return the prompts that an online stage may answer.

    Those for long answers are left out if the stage's `max_new_tokens` is below that of `long`.
    """
    if long is None or getattr(settings, "max_new_tokens", 0) >= long.max_new_tokens:
        return pool.rl
    left_out = {prompt.id for prompt in pool.prompts if prompt.tags["slice"].endswith(LONG)}
    return [row for row in pool.rl if row.prompt_id not in left_out]


def _rate_pairs(rows: Sequence[PairRow], by: str, replies_folder: Path, progress: Progress) -> list[PairRow]:
    """Rate pairs by the six criteria, as `adhere build transform six_criteria` does.

    Replies of a model are kept in `replies_folder`.
    """
    ask = None
    if by != "programs":
        ask = asking(open_model(by), replies_folder, progress)
    rating = transform("six_criteria", [msgspec.to_builtins(row) for row in rows], "pairs", Settings(ask=ask))
    return [convert(row, PairRow) for row in rating.rows]
