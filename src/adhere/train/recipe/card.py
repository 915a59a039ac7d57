"""The model card of trained weights: what was trained from what, on which data, with which settings, at what cost."""

from __future__ import annotations

from collections.abc import Sequence

from adhere import __version__
from adhere.config import front_matter
from adhere.models.local.fetch import hub_origin
from adhere.schema import Json, Record
from adhere.train.budget.ledger import LogRow, StageLedger
from adhere.train.recipe.spec import Recipe
from adhere.train.settings import Lora
from adhere.train.stage.order import orders_anew
from adhere.train.stage.settings import uses_reward_model
from adhere.train.stages import provenance_rows


class StageRecord(Record, frozen=True):
    """Holds the record of a finished stage, stored as stage.json.

    Attributes:
        key: Hash of everything that the stage's weights depend on.
        stage: Name of the stage.
        settings: All of them, precision included.
        parent_sha256: Hash of the weights that it started from.
        weights_sha256: Hash of the weights that it produced.
        data_sha256: Hash of the recipe's rows.
        rows: Number of rows that it learned from.
        ledger: Its cost.
        log: One row for each step.
        warnings: Warnings of its guards.
        lora: The adapter that it trained; None: it trained the weights themselves.
    """

    key: str
    stage: str
    settings: dict[str, Json]
    parent_sha256: str
    weights_sha256: str
    data_sha256: str
    rows: int
    ledger: StageLedger
    log: list[LogRow]
    warnings: list[str] = []
    lora: Lora | None = None


def model_card(recipe: Recipe, done: Sequence[StageRecord], *, start_sha256: str, warnings: Sequence[str] = ()) -> str:
    """Return the README.md of the result, in Markdown with the hub's front matter. Nothing is uploaded."""
    metadata = {
        **hub_origin(recipe.start),
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["adhere", *dict.fromkeys(record.stage for record in done)],
    }
    lines = [f"{front_matter(metadata)}# {recipe.name}", ""]
    data = f"`{done[0].data_sha256[:16]}`" if done else "–"
    lines += [
        recipe.about or "Trained with `adhere train`.",
        "",
        (
            f"Start: `{recipe.start}` (weights sha256 `{start_sha256[:16]}`). Data: sha256 {data}. "
            f"Seed {recipe.seed}. adhere {__version__}."
        ),
        "",
        _describe_training(recipe.lora, done),
        "",
        f"Training prompts compared with the test items of {', '.join(recipe.against)}."
        if recipe.against
        else "Training prompts were not compared with any test set.",
        "",
        "| stage | rows | steps | tokens trained | tokens drawn | minutes | last loss | weights |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for record in done:
        ledger = record.ledger
        loss = next((row["loss"] for row in reversed(record.log) if row.get("loss") is not None), None)
        lines.append(
            f"| {record.stage} | {record.rows:,} | {ledger.steps} | {ledger.tokens_trained:,} "
            f"| {ledger.tokens_generated:,} "
            f"| {ledger.seconds / 60:.1f} | {'–' if loss is None else f'{loss:.4f}'} | `{record.weights_sha256[:16]}` |"
        )
    warning_lines = [f"- {text}" for text in (*warnings, *(text for record in done for text in record.warnings))]
    if warning_lines:
        lines += ["", "## Warnings of the guards", "", *warning_lines]
    lines += [
        "",
        "## Settings whose origin is known",
        "",
        "| stage | setting | published | used | why |",
        "|---|---|---|---|---|",
    ]
    for stage, settings in recipe.resolved():
        for row in provenance_rows(stage, settings):
            in_use = row["used"] if row["used"] is not None else row["ours"]
            is_models = row["setting"] == "order" and uses_reward_model(recipe.reward) and orders_anew(settings, stage)
            why = "as stated: by the reward model's scores" if is_models else row["why"]
            lines.append(f"| {stage.name} | {row['setting']} | {row['stated'] or 'not stated'} | {in_use} | {why} |")
    if recipe.origin:
        lines += ["", "## Where this machine's settings come from", ""]
        lines += [f"- `{name}`: {value}" for name, value in recipe.origin.items()]
    if recipe.published:
        lines += [
            "",
            "## The published recipe",
            "",
            *(f"- {name}: {value}" for name, value in recipe.published.items()),
        ]
    return "\n".join(lines) + "\n"


def _describe_training(lora: Lora | None, done: Sequence[StageRecord]) -> str:
    counts = ", ".join(f"{record.stage} {record.ledger.parameters_trained:,}" for record in done)
    frozen_parameters = max((record.ledger.parameters_frozen for record in done), default=0)
    if lora is None:
        frozen_note = (
            f" Left as they were, in some stage: {frozen_parameters:,} "
            "(embeddings and head; `freeze_embeddings_and_head`)."
        ) * bool(frozen_parameters)
        return f"Trained in full: the weights themselves. Parameters trained: {counts or 'none'}.{frozen_note}"
    return (
        f"Trained with LoRA, rank {lora.rank}, alpha {lora.alpha:g}, on {', '.join(lora.targets)}; "
        f"merged into these weights after each stage. Parameters trained: {counts or 'none'}. "
        "`adapter/` beside this directory is the same as one adapter over the start, in PEFT's format."
    )
