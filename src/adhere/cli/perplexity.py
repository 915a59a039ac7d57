"""`adhere perplexity MODEL…`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.offer import model_names
from adhere.cli.options import PATH, Number, flag, option
from adhere.schema import encode, write_atomic
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.pipeline.compare.perplexity import Perplexity


@click.command("perplexity")
@click.argument("models", nargs=-1, required=True, metavar="MODEL...", shell_complete=model_names)
@option("--text", "text", type=PATH, help="Paragraphs of a file, or `text` of JSON lines [our own].")
@option("--out", type=PATH, metavar="DIR", help="Write each model's texts as MODEL.jsonl.")
@option(
    "--margin",
    type=Number(0, min_open=True),
    default=0.1,
    help="By which share the perplexity may lie above the last model's.",
)
@flag("--json", "as_json", help="Print one JSON object.")
def command(models: tuple[str, ...], text: Path | None, out: Path | None, margin: float, as_json: bool) -> None:
    """How well models predict plain text, which no training of instructions should cost.

    MODEL is local/NAME or hf/ID_OR_PATH: likelihoods need the weights. Each model is compared with the last one, text
    by text. What --out writes can be given to `adhere compare --side`.
    """
    from adhere.extras import need
    from adhere.models.catalog import resolve_weights
    from adhere.models.local.transformers import load_weights
    from adhere.pipeline.compare.perplexity import compare, measure, read_texts
    from adhere.report.tables.perplexity import perplexity_text
    from adhere.study.run.plain import plain_texts

    for package in ("torch", "transformers"):
        need(package, extra="train")
    texts = plain_texts() if text is None else read_texts(text)
    folders = [resolve_weights(name)[0] for name in models]
    perplexities = [measure(name, *load_weights(folder), texts) for name, folder in zip(models, folders, strict=True)]
    tests = [compare(perplexity, perplexities[-1], margin=margin) for perplexity in perplexities[:-1]]
    if out is not None:
        _write(out, perplexities)
    if as_json:
        rows = [
            {
                "model": perplexity.model,
                "texts": len(perplexity.scores),
                "perplexity": perplexity.perplexity,
                "bits_per_byte": perplexity.bits_per_byte,
            }
            for perplexity in perplexities
        ]
        show(encode({"models": rows, "against_the_last": tests}))
    else:
        show(perplexity_text(perplexities, tests, width=columns()))


def _write(out: Path, perplexities: list[Perplexity]) -> None:
    from adhere.store.manifest import slug

    out.mkdir(parents=True, exist_ok=True)
    for perplexity in perplexities:
        write_atomic(
            out / f"{slug(perplexity.model)}.jsonl", b"".join(encode(score) + b"\n" for score in perplexity.scores)
        )
