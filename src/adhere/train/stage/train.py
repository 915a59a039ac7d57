"""Trains one stage and stores its results, for recipes and studies alike.

INTO/model/           the trained weights (fp32 safetensors) and their tokenizer
INTO/adapter/         with `lora`: the adapter, in PEFT's format; it is merged into model/
INTO/reward-model/    what a stage leaves beside weights, under the name that it `yields`

The guards of `stage.guards` apply: a recipe stops at all of them or warns; a study stops a cell whose comparison is
broken, and records the other warnings. The results are the same however often training was interrupted.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adhere.errors import IntegrityError, SpecError, UsageError
from adhere.extras import need
from adhere.progress import Progress
from adhere.schema import PairRow, RlRow, SftRow, derive_seed
from adhere.train.batch.rollout import RolloutSettings, Scorer, insist_on_room
from adhere.train.budget.cost import Shape
from adhere.train.budget.ledger import LogRow, StageLedger, StageResult, observing
from adhere.train.checkpoint import keeping
from adhere.train.packed.rows import insist_on_positions
from adhere.train.parallel import first_does, is_sharding, place
from adhere.train.settings import Lora, OptimizerSettings, with_base
from adhere.train.stage.guards import Guards, Policy, halved_once, too_large
from adhere.train.stage.memory import Memory, Sizes, adapter_parameters, memory_of, sizes_of
from adhere.train.stage.order import ordering_of, orders_anew, with_cost
from adhere.train.stage.scoring import open_scorer
from adhere.train.stage.settings import Reward, WatchSpec, uses_reward_model
from adhere.train.stages import Stage
from adhere.train.watch import Watch, asked_of, watching

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MODEL, ADAPTER, REWARD_MODEL = "model", "adapter", "reward-model"


class Training(NamedTuple):
    """Describes one stage to train.

    Attributes:
        stage: The stage.
        settings: All its settings, with no precision left open.
        rows: The rows that it learns from.
        weights: Directory of the weights that it starts from.
        weights_sha256: Hash that these weights must have; empty: the caller has checked them.
        origin: Directory of what the recipe or study starts from; online merging keeps what was learned since then.
        kept: Folder of its checkpoints, so that a killed stage resumes; the caller removes it.
        seed: Seed of orders and draws.
        key: Hash of all that its weights depend on; with `seed` the root of an adapter's first weights and of
            torch's own draws.
        device: The device to train on.
        reward: The reward of an online stage.
        judge: Directory of the reward model, if the reward uses one.
        lora: The adapter to train; None: the weights themselves.
        watch: The suite that the model is evaluated on while it trains; None: none.
        policy: What its guards do.
        name: Its name in messages; empty: the stage's name.
    """

    stage: Stage
    settings: OptimizerSettings
    rows: Sequence[SftRow | PairRow | RlRow]
    weights: Path
    origin: Path
    kept: Path
    seed: int
    key: str
    weights_sha256: str = ""
    device: str = "cpu"
    reward: Reward = "dense"
    judge: Path | None = None
    lora: Lora | None = None
    watch: WatchSpec | None = None
    policy: Policy = "stop"
    name: str = ""


class TrainedStage(NamedTuple):
    """Holds what a finished stage left apart from its files."""

    settings: OptimizerSettings
    weights_sha256: str
    ledger: StageLedger
    log: list[LogRow]
    warnings: list[str]


def train_stage(
    training: Training, into: Path, *, progress: Progress, see: Callable[[LogRow], None] | None = None
) -> TrainedStage:
    """Train a stage, from its checkpoint if there is one, and store the result in `into`.

    Args:
        training: The stage.
        into: Folder of the result; files of an unfinished attempt there are replaced.
        progress: Where to report to.
        see: Called with every log row as it comes.

    Raises:
        IntegrityError: The start weights do not have the hash `weights_sha256`.
        SpecError: A prompt lacks the constraints or checklist that the reward reads.
        UsageError: Settings do not fit together.
        Divergence: A loss or gradient is not finite.
        GuardStop: A guard stopped the stage.
        ResourceError: There is too little memory, even with micro-batches of half the size; the message says what
            is needed.
    """
    torch = need("torch", extra="train")
    from adhere.models.local.transformers import load_weights, weights_sha256

    stage, name = training.stage, training.name or training.stage.name
    sha256 = weights_sha256(training.weights) if training.weights_sha256 else ""
    if sha256 != training.weights_sha256:
        raise IntegrityError(
            f"The weights in {training.weights} were changed after they were trained: sha256 {sha256}, recorded "
            f"{training.weights_sha256}. Remove {training.weights.parent} to train them again"
        )
    online: dict[str, Scorer] = {"score": _scorer(training)} if stage.online else {}
    notes = _list_notes(training)
    for warning in notes:
        progress.say(warning)

    def attempt(settings: OptimizerSettings) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, StageResult]:
        torch.manual_seed(derive_seed(training.seed, training.key) % 2**32)
        model, tokenizer = load_weights(training.weights, "cpu" if is_sharding() else training.device)
        _attach(training, model)
        rows, ordering = training.rows, None
        if isinstance(settings, RolloutSettings):
            insist_on_room([row for row in rows if isinstance(row, RlRow)], settings, model, tokenizer)
        insist_on_positions(rows, model, tokenizer, stage=name, longest=getattr(settings, "longest", None))
        if training.judge is not None and orders_anew(settings, stage):
            ordering = ordering_of(
                [row for row in rows if isinstance(row, RlRow)],
                settings,
                model,
                tokenizer,
                score=online["score"],
                seed=training.seed,
                folder=training.kept,
                key=training.key,
                progress=progress,
            )
            rows = ordering.rows
        guards = Guards(name, training.policy)

        def watch(row: LogRow) -> None:
            if see is not None:
                see(row)
            warnings_before = len(guards.warnings)
            guards.see(row)
            for warning in guards.warnings[warnings_before:]:
                progress.say(warning)

        looks = _watch(training, tokenizer)
        with observing(watch), keeping(training.kept), watching(looks):
            result = stage.run(
                model,
                tokenizer,
                rows,
                with_base(settings, training.origin),
                seed=training.seed,
                progress=progress,
                **online,
            )
        if ordering is not None:
            result = result._replace(ledger=with_cost(result.ledger, ordering.ledger))
        return model, tokenizer, result

    (model, tokenizer, result), settings = halved_once(
        attempt,
        training.settings,
        name=name,
        needs=lambda tried_settings: _too_large(training, tried_settings),
        progress=progress,
    )
    again = Guards(name, training.policy)  # one that was taken up from a checkpoint has shown only its later steps
    for row in result.log:
        again.see(row)
    _save(training, model, tokenizer, result, into)
    return TrainedStage(settings, weights_sha256(into / MODEL), result.ledger, list(result.log), notes + again.warnings)


def _find_watch(training: Training) -> WatchSpec | None:
    """Return the watch settings of this stage; None for reward models and for stages that watch themselves."""
    is_policy = training.stage.yields == "weights" and not training.stage.watches_itself
    return training.watch if is_policy else None


def _watch(training: Training, tokenizer: PreTrainedTokenizerBase) -> Watch | None:
    spec = _find_watch(training)
    if spec is None:
        return None
    if is_sharding():
        raise UsageError(
            "watch: our decoder reads whole weights, and these are cut over the processes. Run it without --shard"
        )
    from adhere import suites

    suite = suites.load(spec.suite, limit=spec.limit)
    return Watch(
        tokenizer, asked_of(suite, tokenizer), spec.every, spec.max_new_tokens or suite.sampling.max_new_tokens
    )


def _attach(training: Training, model: PreTrainedModel) -> None:
    """Add the parts that are trained while the weights are frozen.

    These are an adapter, and the rows of a chat template's own tokens.
    """
    from adhere.train.packed.lora import attach
    from adhere.train.packed.tokens import attach_tokens

    if training.lora is not None:
        attach(model, training.lora, seed=derive_seed(training.seed, training.key, "adapter"))
    if training.stage.yields == "weights" and (
        training.lora is not None or training.settings.freeze_embeddings_and_head
    ):
        attach_tokens(model)


def _list_notes(training: Training) -> list[str]:
    """List the warnings to give before a stage begins."""
    merging = training.settings.merging
    if merging is None or merging.mode != "paper" or merging.p == 1:
        return []
    name = training.name or training.stage.name
    return [
        (
            f"{name}: merging.mode = 'paper' keeps p = {merging.p:g} of every step and does not rescale it; "
            "mode = 'released' is what its authors ran"
        )
    ]


def _save(
    training: Training, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, result: StageResult, into: Path
) -> None:
    """Write the trained weights, the adapter and the artefact; only the first process writes."""
    from adhere.models.local.quiet import quiet
    from adhere.train.packed.lora import merge, save_adapter
    from adhere.train.packed.tokens import merge_tokens

    model = _whole(training, model)

    def save() -> None:
        for name in (MODEL, ADAPTER, training.stage.yields):
            shutil.rmtree(into / name, ignore_errors=True)
        if training.lora is not None:
            save_adapter(model, training.lora, into / ADAPTER, base=str(training.weights))
            merge(model)
        merge_tokens(model)
        with quiet():
            model.save_pretrained(into / MODEL)
            tokenizer.save_pretrained(into / MODEL)
            if result.artefact is not None:
                result.artefact.save(into / training.stage.yields)

    first_does(save)


def _whole(training: Training, model: PreTrainedModel) -> Any:
    """Return the trained model, to be saved by the first process; sharded weights are gathered into a new model."""
    if not is_sharding():
        return model
    from adhere.models.local.transformers import load_weights
    from adhere.train.sharding import whole_state

    state = whole_state(model)
    if state is None:
        return model
    whole, _ = load_weights(training.weights)
    _attach(training, whole)
    whole.load_state_dict(state, strict=False)  # a tied head has no name of its own
    return whole


def memory_needed(
    stage: Stage,
    settings: OptimizerSettings,
    sizes: Sizes,
    *,
    lora: Lora | None,
    device: str,
    shards: int = 1,
    reward: Reward = "dense",
    is_watched: bool = False,
) -> Memory:
    """Estimate the peak memory of a stage in one of the `shards` processes that share the weights.

    A reward model is whole in each process. With `is_watched`, the best weights so far are kept, too.
    """
    adapter = None if lora is None else adapter_parameters(sizes, rank=lora.rank, targets=lora.targets)
    copies = stage.work(settings, Shape(rows=1)).copies
    whole = (stage.online and uses_reward_model(reward)) + is_watched
    return memory_of(sizes, settings, copies=copies, whole=whole, device=device, adapter=adapter, shards=shards)


def _too_large(training: Training, settings: OptimizerSettings) -> str:
    shards = place().size if is_sharding() else 1
    memory = memory_needed(
        training.stage,
        settings,
        sizes_of(training.weights),
        lora=training.lora,
        device=training.device,
        shards=shards,
        reward=training.reward,
        is_watched=_find_watch(training) is not None,
    )
    return too_large(training.name or training.stage.name, settings, memory, training.device)


def _scorer(training: Training) -> Scorer:
    if uses_reward_model(training.reward) and training.judge is None:
        raise SpecError(f"{training.stage.name}: the reward is a model's, and no stage before it left a reward model")
    rows = [row for row in training.rows if isinstance(row, RlRow)]
    return open_scorer(training.reward, rows, judge=training.judge, device=training.device)
