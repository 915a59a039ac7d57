"""`adhere stable MODEL`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.endpoint import endpoint_for, endpoint_options
from adhere.cli.offer import fetch_and_use, model_names, suite_names
from adhere.cli.options import FOLDER, flag, option
from adhere.progress import for_terminal
from adhere.schema import encode
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.models.http.options import EndpointOptions


@click.command("stable")
@click.argument("name", metavar="MODEL", shell_complete=model_names)
@option("--suite", default="core", shell_complete=suite_names, help="What is asked.")
@option("--limit", type=click.IntRange(2), default=60, help="Prompts, each asked three times.")
@option("--seed", type=int, default=0, help="Of a generated suite, and of the other order.")
@option("--max-new-tokens", type=click.IntRange(1), help="Longer answers are cut [the suite's own limit].")
@option("--engine", help="openvino or transformers, where a model has both.")
@option("--precision", type=click.Choice(["fp32", "bf16", "auto"]), help="Of the transformers engine [fp32].")
@option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), help="Of the transformers engine [auto].")
@option("--out", type=FOLDER, default=Path("runs"), help="The folder of the runs that it is told beside.")  # fmt: skip
@endpoint_options
@flag("--json", "as_json", help="Print one JSON object.")
def command(
    name: str, suite: str, limit: int, seed: int, max_new_tokens: int | None, engine: str | None,
    precision: str | None, device: str | None, out: Path, endpoint: EndpointOptions, as_json: bool,
) -> None:  # fmt: skip
    """Tell how many greedy answers change with what is asked beside them: alone, together, and in another order.

    What changes is the engine's noise. It is stored in OUT, and adhere compare says where a difference is no larger.
    """
    import msgspec

    from adhere import suites
    from adhere.models.catalog import open_model
    from adhere.pipeline.stable import measure_stability
    from adhere.report.tables.stable import stable_text
    from adhere.store.stability import store

    progress = for_terminal()
    own_suite = suites.load(suite, seed=seed, limit=limit)
    opener = partial(
        open_model, name, engine=engine, precision=precision, device=device, endpoint=endpoint_for(name, endpoint),
        say=progress.say,
    )  # fmt: skip
    model = fetch_and_use(opener, progress)
    try:
        stability = measure_stability(model, own_suite, max_new_tokens=max_new_tokens, seed=seed, progress=progress)
    finally:
        model.close()
    path = store(stability, out)
    shares = {"text_share": stability.text_share, "verdict_share": stability.verdict_share}
    fields = {**msgspec.to_builtins(stability), **shares}
    show(encode(fields) if as_json else stable_text(stability, width=columns()))
    progress.say(f"Stored: {path}")
