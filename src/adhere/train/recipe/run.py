"""Runs a recipe from its start to its result.

Finished stages are kept: the same call resumes where the last one stopped. OUT/
    recipe.json        what is being run; another recipe in the same place is refused
    01-sft/            a finished stage: model/ (safetensors and tokenizer), stage.json (written last)
    log.jsonl          every step of every stage
    model/             the result: the last stage's weights, and README.md, the model card
    adapter/           with `lora`: all stages' adapters as one over the start, in PEFT's format
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from adhere.errors import AdhereError, RunMismatch, SpecError, UsageError
from adhere.extras import need
from adhere.progress import Progress, Silent
from adhere.schema import Json, PairRow, Record, RlRow, SftRow, content_hash, convert, decode, encode, write_atomic
from adhere.train.budget.ledger import LogRow
from adhere.train.checkpoint import forget
from adhere.train.parallel import first_does, gather, is_sharding, place
from adhere.train.recipe.card import StageRecord, model_card
from adhere.train.recipe.data import FILES, RecipeRows, Start, load_rows, needed_rows, open_start, prepare_start
from adhere.train.recipe.spec import Recipe
from adhere.train.recipe.tracking import JsonLines, Tracker
from adhere.train.settings import Lora, OptimizerSettings, settle
from adhere.train.stage.estimate import Estimate, Speed, estimate, shape_of
from adhere.train.stage.guards import find_repeats, heed, template_trouble
from adhere.train.stage.memory import Memory, Sizes, sizes_of
from adhere.train.stage.order import orders_anew, with_ordering
from adhere.train.stage.settings import uses_reward_model
from adhere.train.stage.train import ADAPTER, MODEL, REWARD_MODEL, Training, memory_needed, train_stage
from adhere.train.stages import Stage


class PlannedStage(NamedTuple):
    """Describes a stage, its number of rows and its cost; `done` says whether it is finished."""

    name: str
    rows: int
    cost: Estimate
    done: bool


class _FrozenRecipe(Record, frozen=True):
    """Holds what a directory was begun with, stored as recipe.json."""

    recipe: Recipe
    start_sha256: str
    data_sha256: str
    precision: dict[str, Json]
    template_sha256: str = ""  # of the chat template; empty: begun by a version that did not note it
    warnings: list[str] = []  # of the guards that look before the start


class _OpenedRecipe(NamedTuple):
    recipe: Recipe
    out: Path
    device: str
    start: Start
    rows: RecipeRows
    stages: list[tuple[Stage, OptimizerSettings]]
    warnings: list[str]


def plan_recipe(recipe: Recipe, out: Path, *, base: Path, device: str = "auto", shards: int = 1) -> list[PlannedStage]:
    """Estimate what each stage of the recipe costs on this data, by the stages' cost models and this model's size.

    Minutes are those of two AVX2 cores, scaled to the model; a machine with bf16 units or a GPU is faster. With
    `shards` above 1, memory is that of one of so many processes with sharded weights.

    Raises:
        SpecError, MissingModel, IntegrityError: `run_recipe` would raise it.
    """
    with tempfile.TemporaryDirectory() as scratch:  # a look at the cost begins nothing
        is_begun = (out / "recipe.json").exists()
        opened_recipe = _open(recipe, out if is_begun else Path(scratch), base, device, is_plan=not is_begun)
        sizes, default = sizes_of(opened_recipe.start.directory), Speed()
    scale = default.sizes.parameters / sizes.parameters
    speed = Speed(
        default.trained_per_s * scale,
        default.scored_per_s * scale,
        default.generated_per_s * scale,
        sizes,
        opened_recipe.device,
    )
    plan = []
    for number, (stage, settings) in enumerate(opened_recipe.stages, start=1):
        rows = stage.rows(opened_recipe.rows, settings)
        shape = shape_of(
            opened_recipe.start.tokenizer, rows, answer_tokens=float(getattr(settings, "max_new_tokens", 35))
        )
        cost = estimate(stage, settings, shape, speed)
        if uses_reward_model(recipe.reward) and orders_anew(settings, stage):
            cost = with_ordering(cost, settings, shape, speed)
        memory = stage_memory(recipe, stage, settings, sizes, device=opened_recipe.device, shards=shards)
        cost = msgspec.structs.replace(cost, memory_bytes=round(memory.total))
        plan.append(PlannedStage(stage.name, len(rows), cost, (_folder(out, number, stage) / "stage.json").exists()))
    return plan


def stage_memory(
    recipe: Recipe, stage: Stage, settings: OptimizerSettings, sizes: Sizes, *, device: str, shards: int = 1
) -> Memory:
    """Estimate the peak memory of one process in a stage of the recipe."""
    return memory_needed(
        stage,
        settings,
        sizes,
        lora=_adapter_of(recipe, stage),
        device=device,
        shards=shards,
        reward=recipe.reward,
        is_watched=recipe.watch is not None,
    )


def run_recipe(
    recipe: Recipe,
    out: Path,
    *,
    base: Path,
    device: str = "auto",
    progress: Progress | None = None,
    trackers: Sequence[Tracker] = (),
) -> list[StageRecord]:
    """Run the unfinished stages of a recipe; return the records of all its stages, in order.

    Args:
        recipe: The recipe to run.
        out: The folder that everything is stored in.
        base: The directory that the recipe's paths are relative to.
        device: `auto` (a CUDA GPU where there is one), `cpu`, `cuda` or `mps`.
        progress: Where to report to.
        trackers: Trackers that get every step's numbers, besides OUT/log.jsonl.

    Raises:
        RunMismatch: OUT was begun with another recipe, start or data.
        SpecError: Data that a stage needs is missing.
        GuardStop: A guard stopped the run.
        ContaminationError: Training prompts repeat test items of the suites in `against`, and guards stop.
        Divergence: A loss is not finite; the message names stage and step.
        ResourceError: There is too little memory, even with micro-batches of half the size.
    """
    need("torch", extra="train")
    from adhere.models.local.transformers import weights_sha256

    progress = progress or Silent()
    opened_recipe = _open(recipe, out, base, device)
    all_trackers = [JsonLines(out / "log.jsonl"), *trackers] if place().is_first else []
    done: list[StageRecord] = []
    weights, parent = opened_recipe.start.directory, opened_recipe.start.sha256
    judge: Path | None = None  # the last reward model, where it is the reward
    try:
        for number, (stage, settings) in enumerate(opened_recipe.stages, start=1):
            folder = _folder(out, number, stage)
            parts = [
                recipe.seed,
                recipe.reward,
                parent,
                opened_recipe.rows.sha256,
                stage.name,
                msgspec.to_builtins(settings),
            ]
            lora = _adapter_of(recipe, stage)
            parts += [lora] if lora is not None else []
            parts += [weights_sha256(judge)] if judge is not None and stage.online else []
            parts += [recipe.watch] if recipe.watch is not None else []
            key = content_hash(parts)
            record = _load_finished(folder, key)
            if record is None:
                progress.say(f"Stage {number} of {len(opened_recipe.stages)}: {stage.name}")
                training = Training(
                    stage, settings, stage.rows(opened_recipe.rows, settings), weights=weights, weights_sha256=parent,
                    origin=opened_recipe.start.directory, seed=recipe.seed, key=key,
                    kept=folder.with_name(f".{folder.name}.part"),
                    device=opened_recipe.device, reward=recipe.reward, judge=judge if stage.online else None, lora=lora,
                    watch=recipe.watch, policy=recipe.guards,
                )  # fmt: skip
                record = _train(opened_recipe, training, folder, all_trackers, progress)
            done.append(record)
            if stage.yields == "weights":
                weights, parent = folder / MODEL, record.weights_sha256
            if uses_reward_model(recipe.reward) and stage.yields == REWARD_MODEL:
                judge = folder / stage.yields
    finally:
        for tracker in all_trackers:
            tracker.close()
    first_does(lambda: _publish(opened_recipe, weights, done, out))
    if recipe.push:
        first_does(lambda: progress.say(f"Pushed to {_push(recipe.push, out / MODEL)}"))
    return done


def _open(recipe: Recipe, out: Path, base: Path, device: str, *, is_plan: bool = False) -> _OpenedRecipe:
    """Load everything that a recipe needs, and check it against what OUT was begun with."""
    from adhere.models.local.decoder.device import resolve_device
    from adhere.models.local.decoder.precision import Precisions, resolve

    device = resolve_device(device)
    rows = load_rows(
        base / recipe.data, needed_rows([stage.data for stage, settings in recipe.resolved() if settings.needs_rows])
    )
    out.mkdir(parents=True, exist_ok=True)
    first_does(
        lambda: prepare_start(
            recipe.start, template=recipe.template, rows=rows, base=base, scratch=out, weights=not is_plan
        )
    )
    start = open_start(recipe.start, template=recipe.template, base=base, scratch=out)
    file = out / "recipe.json"
    template = content_hash(start.tokenizer.chat_template)
    if gather([file.exists()])[0]:  # as the first process sees it: the others may come after it has written
        stored_recipe = decode(file.read_bytes(), _FrozenRecipe)
        for noun, ours, theirs in (
            ("recipe", recipe, stored_recipe.recipe),
            ("start", start.sha256, stored_recipe.start_sha256),
            ("data", rows.sha256, stored_recipe.data_sha256),
            ("chat template", template, stored_recipe.template_sha256 or template),
        ):
            if ours != theirs:
                raise RunMismatch(
                    f"{out} was begun with another {noun}. Use another --out, or remove the directory to begin anew"
                )
        precisions, warnings = convert(stored_recipe.precision, Precisions), stored_recipe.warnings
    else:
        warnings = heed(template_trouble(start.tokenizer), recipe.guards) + _warn_of_repeats(recipe, rows)
        precisions = resolve(recipe.precision, start.directory, device=device)
        record = _FrozenRecipe(recipe, start.sha256, rows.sha256, msgspec.to_builtins(precisions), template, warnings)
        first_does(lambda: write_atomic(file, encode(record)))
    stages = [(stage, settle(settings, precisions)) for stage, settings in recipe.resolved()]
    for stage, settings in stages:
        if getattr(settings, "labels", "") == "criteria" and not any(pair.criteria for pair in rows.pairs):
            raise SpecError(
                f"{stage.name}: labels = 'criteria', and no row of {base / recipe.data / FILES['pairs']} is rated. "
                "Rate them: adhere build transform six_criteria PAIRS --table pairs --out RATED, "
                "or take labels = 'order'"
            )
        if _adapter_of(recipe, stage) is not None:
            from adhere.train.packed.lora import refuse_unsuited

            refuse_unsuited(stage.name, settings)
        if is_sharding() and stage.yields != "weights":
            raise UsageError(f"{stage.name} is not trained with sharded weights. Run the recipe without --shard")
    return _OpenedRecipe(recipe, out, device, start, rows, stages, warnings)


def _warn_of_repeats(recipe: Recipe, rows: RecipeRows) -> list[str]:
    """Return warnings of training prompts that repeat test items of the suites in `against`.

    Raises:
        ContaminationError: Some prompts do, and guards stop.
    """
    if not recipe.against:
        return []
    from adhere import suites

    by_file: list[tuple[str, Sequence[SftRow | PairRow | RlRow]]] = [
        ("sft", rows.sft),
        ("pairs", rows.pairs),
        ("rl", rows.rl),
    ]
    prompts = {f"{Path(recipe.data) / FILES[name]}": [row.prompt for row in table_rows] for name, table_rows in by_file}
    return heed(find_repeats(prompts, [(name, suites.load(name)) for name in recipe.against]), recipe.guards)


def _push(name: str, folder: Path) -> str:
    """Upload a folder to a private repository of the Hugging Face hub; return its address.

    The hub's own client holds the key and the server's address.

    Raises:
        AdhereError: The hub refuses or cannot be reached. The result stays, and the same command sends it again.
    """
    hub = need("huggingface_hub", extra="train")
    try:
        api = hub.HfApi()
        api.create_repo(name, private=True, exist_ok=True)
        return str(api.upload_folder(repo_id=name, folder_path=folder, commit_message="adhere train"))
    except (OSError, ValueError, RuntimeError) as error:  # the hub's errors are of many families; all derive from these
        raise AdhereError(f"push = {name!r}: the hub did not take {folder}: {error}") from error


def _adapter_of(recipe: Recipe, stage: Stage) -> Lora | None:
    """Return the adapter that a stage trains; None for one that yields a side artefact, which is trained in full."""
    return recipe.lora if stage.yields == "weights" else None


def _folder(out: Path, number: int, stage: Stage) -> Path:
    return out / f"{number:02d}-{stage.name}"


def _load_finished(folder: Path, key: str) -> StageRecord | None:
    file = folder / "stage.json"
    if not gather([file.exists()])[0]:
        return None
    record = decode(file.read_bytes(), StageRecord)
    if record.key != key:
        raise RunMismatch(
            f"{folder} was trained otherwise (settings, data, or an earlier stage differ). Remove it to train it again"
        )
    return record


def _train(
    opened_recipe: _OpenedRecipe, training: Training, folder: Path, trackers: Sequence[Tracker], progress: Progress
) -> StageRecord:
    """Train one stage and store it with its record."""

    def see(row: LogRow) -> None:
        for tracker in trackers:
            tracker.log(training.stage.name, row)

    trained_stage = train_stage(training, folder, progress=progress, see=see)
    record = StageRecord(
        key=training.key,
        stage=training.stage.name,
        settings=msgspec.to_builtins(trained_stage.settings),
        parent_sha256=training.weights_sha256,
        weights_sha256=trained_stage.weights_sha256,
        data_sha256=opened_recipe.rows.sha256,
        rows=len(training.rows),
        ledger=trained_stage.ledger,
        log=[dict(row) for row in trained_stage.log],
        warnings=trained_stage.warnings,
        lora=training.lora,
    )
    first_does(lambda: write_atomic(folder / "stage.json", encode(record)))
    first_does(lambda: forget(training.kept))
    return record


def _publish(opened_recipe: _OpenedRecipe, weights: Path, done: Sequence[StageRecord], out: Path) -> None:
    """Copy the last weights to OUT/model with their card, and stack the adapters, if any, in OUT/adapter.

    The copy is written under another name and then moved, so that OUT/model is always whole.
    """
    into, scratch = out / "model", out / ".model.part"
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(weights, scratch)
    (scratch / "README.md").write_text(
        model_card(
            opened_recipe.recipe, done, start_sha256=opened_recipe.start.sha256, warnings=opened_recipe.warnings
        ),
        encoding="utf-8",
    )
    shutil.rmtree(into, ignore_errors=True)
    scratch.rename(into)
    adapters = [_folder(out, n, stage) / ADAPTER for n, (stage, _) in enumerate(opened_recipe.stages, start=1)]
    from adhere.train.packed.lora import stack_adapters

    if adapters := [adapter for adapter in adapters if adapter.exists()]:
        base = str(opened_recipe.start.directory) if opened_recipe.recipe.template else opened_recipe.recipe.start
        stack_adapters(adapters, out / ADAPTER, base=base)
