"""`adhere draw PROMPTS --model … --out DIR`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.endpoint import endpoint_for, endpoint_options
from adhere.cli.offer import fetch_and_use, model_names
from adhere.cli.options import FOLDER, Number, flag, option
from adhere.progress import for_terminal
from adhere.schema import Sampling, encode
from adhere.terminal import show

if TYPE_CHECKING:
    from adhere.models.base import Model
    from adhere.models.http.options import EndpointOptions


@click.command("draw")
@click.argument("prompts", nargs=-1, required=True, metavar="PROMPTS…")
@option(
    "--model",
    "models",
    multiple=True,
    required=True,
    shell_complete=model_names,
    help="Who answers; several endpoints of one model share the work.",
)
@option("--out", type=FOLDER, required=True, help="Where the answers are stored.")
@option("--draws", type=click.IntRange(1), default=1, help="Answers a prompt.")
@option("--temperature", type=Number(0), default=1.0, help="0 is greedy.")
@option("--top-p", type=Number(0, 1, min_open=True), default=1.0, help="Nucleus sampling.")
@option("--max-new-tokens", type=click.IntRange(1), default=1024, help="Longer answers are cut.")
@option("--seed", type=int, default=0, help="The root of every answer's own seed.")
@option("--shard-answers", type=click.IntRange(1), help="Answers of one shard, of which one is in memory [50,000].")
@endpoint_options
@flag("--json", "as_json", help="Print one JSON object.")
def command(
    prompts: tuple[str, ...], models: tuple[str, ...], out: Path, draws: int, temperature: float, top_p: float,
    max_new_tokens: int, seed: int, shard_answers: int | None, endpoint: EndpointOptions, as_json: bool,
) -> None:  # fmt: skip
    """Draw answers to files of prompts (JSON lines with `prompt`: a text, or messages), of any number.

    Prompts with constraints (`instruction_id_list`, `kwargs`) have their answers judged. OUT is a sharded run, for
    `adhere report`.

    Each request goes to the endpoint with fewest under way; one that cannot be reached rests while others go on. Safe
    to interrupt: answers are stored as they arrive, and the same command asks only for those that are missing.
    OUT/rows/*.jsonl are the answers as rows, for `adhere verify` and for training.
    """
    from adhere.models.catalog import open_model
    from adhere.models.http.replicas import replicas_of
    from adhere.steps.farm import draw, lacking
    from adhere.store.sharded import SHARD_ANSWERS

    progress = for_terminal()
    model: Model
    if len(models) > 1:
        model = replicas_of(models, options=endpoint, say=progress.say)
    else:
        opener = partial(open_model, models[0], endpoint=endpoint_for(models[0], endpoint), say=progress.say)
        model = fetch_and_use(opener, progress)
    sampling = Sampling(max_new_tokens=max_new_tokens, temperature=temperature, top_p=top_p, seed=seed)
    try:
        totals = draw(
            model,
            prompts,
            out,
            draws=draws,
            sampling=sampling,
            shard_answers=shard_answers or SHARD_ANSWERS,
            progress=progress,
        )
    finally:
        model.close()
    cost = f", ${totals.cost_usd:.4f}" if totals.cost_usd else ""
    text = (
        f"{totals.answers:,} answers to {totals.prompts:,} prompts in {totals.shards:,} shards ({totals.tokens:,} "
        f"tokens{cost}), {totals.failed:,} failed: {out}/rows"
    )
    show(encode(totals._asdict()) if as_json else text)
    if (problem := lacking(totals)) is not None:
        raise problem
