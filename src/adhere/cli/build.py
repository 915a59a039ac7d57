"""`adhere build DATA.toml`, `adhere build checks`, `adhere build convert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.engine import engine_options, run_on
from adhere.cli.offer import fetch_and_use, suite_names
from adhere.cli.options import EXISTING_FILE, FILE, PATH, flag, option
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.schema import encode, write_rows
from adhere.terminal import show

if TYPE_CHECKING:
    from adhere.build.checks.spec import ChecksSpec
    from adhere.build.convert import Shape
    from adhere.build.dataset.spec import DataSpec
    from adhere.models.http.options import EndpointOptions
    from adhere.steps.engines import EngineName

_SHAPE = click.Choice(["llamafactory", "verl", "openrlhf", "sharegpt"])


class _Default(click.Group):
    """Takes anything that is no command for an argument of `data`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args and args[0] in self.commands else ["data", *args])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take a leading option for an option of `data`, except --help."""
        if args and args[0].startswith("-") and args[0] not in {"-h", "--help"}:
            args = ["data", *args]
        return super().parse_args(ctx, args)


@click.group("build", cls=_Default)
def command() -> None:
    """Build verified data: adhere build DATA.toml (or --model …), adhere build checks, adhere build convert."""


def endpoint_of(spec: DataSpec | ChecksSpec) -> EndpointOptions | None:
    """Return the options of a spec's endpoint; None if the spec sets none.

    Raises:
        UsageError: A field cannot be added or left out, or the model runs on this machine.
    """
    from adhere.models.catalog import is_endpoint
    from adhere.models.http.options import EndpointOptions

    if not (spec.send or spec.omit):
        return None
    if not is_endpoint(spec.model):
        raise UsageError(f"{spec.model} runs on this machine: `send` and `omit` are for models behind an endpoint")
    return EndpointOptions(send=spec.send, omit=spec.omit)


@command.command("data")
@click.argument("spec", type=FILE, required=False, metavar="[DATA.toml]")
@option("--model", help="Who answers, instead of the file's.")
@option("--count", type=click.IntRange(1), help="Prompts to make, instead of the file's.")
@option("--draws", type=click.IntRange(2), help="Answers a prompt, instead of the file's.")
@option("--seed", type=int, help="The root of everything drawn, instead of the file's.")
@option("--queries", "path", type=PATH, help="A file with queries (JSON lines, CSV or Parquet).")
@option("--column", help="Its column with the query.")
@option(
    "--against",
    multiple=True,
    metavar="SUITE",
    shell_complete=suite_names,
    help="Test items that no prompt may repeat, instead of the file's.",
)
@option("--out", type=PATH, help="Where the data set is stored [data/NAME].")
@flag("--json", "as_json", help="Print the card as one JSON object.")
def data(
    spec: Path | None,
    model: str | None,
    count: int | None,
    draws: int | None,
    seed: int | None,
    path: Path | None,
    column: str | None,
    against: tuple[str, ...],
    out: Path | None,
    as_json: bool,
) -> None:
    """SFT rows, preference pairs and RL prompts, each passed by the judge: adhere build DATA.toml.

    After an interruption the same command asks nothing twice.
    """
    from adhere.build.dataset.card import yield_table
    from adhere.build.dataset.make import build_dataset
    from adhere.build.dataset.spec import DataSpec, change_spec, load_spec
    from adhere.models.catalog import open_model

    if spec is None and model is None:
        raise UsageError("Say what to build: adhere build DATA.toml, or at least adhere build --model MODEL")
    file_spec = load_spec(spec) if spec is not None else DataSpec(model=model or "")
    data_spec = change_spec(
        file_spec, model=model, count=count, draws=draws, seed=seed, path=path, column=column, against=against
    )
    directory = out or Path("data") / data_spec.name
    progress = for_terminal()
    judge_name = data_spec.filter.judge
    answering = fetch_and_use(lambda: open_model(data_spec.model, endpoint=endpoint_of(data_spec)), progress)
    judge = fetch_and_use(lambda: open_model(judge_name), progress) if judge_name else None
    try:
        card = build_dataset(data_spec, answering, directory, judge=judge, progress=progress)
    finally:
        answering.close()
        if judge is not None:
            judge.close()
    show(encode(card) if as_json else yield_table(card))
    progress.say(f"Data: {directory} ({', '.join(f'{count:,} {name}' for name, count in card.rows.items())})")


@command.command("checks")
@click.argument("spec", type=FILE, required=False, metavar="[CHECKS.toml]")
@option("--model", help="Who writes, instead of the file's.")
@option("--out", type=PATH, help="Where the checks are stored [checks/NAME].")
@flag("--json", "as_json", help="Print one JSON object.")
def checks(spec: Path | None, model: str | None, out: Path | None, as_json: bool) -> None:
    """Let a model write checks and the cases that they are tested on; keep those that hold.

    Functions run in the sandbox only. checks.toml is for reading; DATA.toml's `[constraints] checks` uses it.
    """
    import msgspec

    from adhere.build.checks.make import build_checks, checks_text
    from adhere.build.checks.spec import ChecksSpec, load_checks_spec
    from adhere.models.catalog import open_model

    if spec is None and model is None:
        raise UsageError(
            "Say who writes: adhere build checks CHECKS.toml, or at least adhere build checks --model MODEL"
        )
    checks_spec = load_checks_spec(spec) if spec is not None else ChecksSpec(model=model or "")
    checks_spec = msgspec.structs.replace(checks_spec, model=model or checks_spec.model)
    directory = out or Path("checks") / checks_spec.name
    progress = for_terminal()
    writing = fetch_and_use(lambda: open_model(checks_spec.model, endpoint=endpoint_of(checks_spec)), progress)
    try:
        report = build_checks(checks_spec, writing, directory, progress=progress)
    finally:
        writing.close()
    show(encode(report) if as_json else checks_text(report))
    progress.say(f"Checks: {directory / 'checks.toml'}; what was left out and why: {directory / 'drops.jsonl'}")


@command.command("convert")
@click.argument("rows", type=EXISTING_FILE, metavar="ROWS")
@option("--table", type=click.Choice(["sft", "pairs", "rl"]), required=True, help="What the rows are.")
@option("--to", type=_SHAPE, help="From TRL's columns to this.")
@option("--from", "source", type=_SHAPE, help="From this to TRL's columns.")
@option("--out", type=PATH, required=True, help="Where they go (.jsonl or .parquet).")
def convert(rows: Path, table: str, to: Shape | None, source: Shape | None, out: Path) -> None:
    """Rows (JSON lines) from TRL's columns to another tool's shape, or back."""
    from adhere.build.convert import back_row, convert_row, has_shape, write_table
    from adhere.shapes.files import read_rows

    if to is not None and source is None:
        if not has_shape(table, to):
            raise UsageError(f"{to} has no {table} data")
        table_rows = list(read_rows(rows, lambda row: convert_row(row, table, to)))
    elif source is not None and to is None:
        table_rows = list(read_rows(rows, lambda row: back_row(row, table, source)))
    else:
        raise UsageError("Say either --to or --from")
    if not table_rows:
        raise UsageError(f"{rows} has no rows")
    write_table(out, table_rows)
    show(f"{len(table_rows):,} rows -> {out}", err=True)


@command.command("transform")
@click.argument("name")
@click.argument("rows", nargs=-1, required=True, metavar="ROWS…")
@option("--table", type=click.Choice(["sft", "pairs", "rl", "text"]), required=True, help="What the rows are.")
@option(
    "--set",
    "options",
    multiple=True,
    metavar="OPTION=VALUE",
    help="An option of the transform; VALUE is JSON, or a text.",
)
@option("--seed", type=int, default=0, help="The root of what it draws.")
@option("--model", help="Who is asked, by transforms that ask a model.")
@click.option("--jobs", type=click.IntRange(0), default=0, help="With --engine: processes [one for each core].")
@engine_options
@option("--out", required=True, help="Where the rows go (.jsonl or .parquet); with --engine a folder, or a URL.")
def transform_rows(
    name: str,
    rows: tuple[str, ...],
    table: str,
    options: tuple[str, ...],
    seed: int,
    model: str | None,
    jobs: int,
    engine: EngineName | None,
    shard_mb: float,
    out: str,
) -> None:
    """Rows to rows, by one of the transforms of the papers (adhere list transforms).

    Rows left out are named in OUT.drops.jsonl. With --engine ROWS may be many files, patterns and URLs; only for
    transforms that look at one row at a time.
    """
    from adhere.build.convert import read_table, write_table
    from adhere.build.transforms import Settings, transform
    from adhere.build.transforms.asking import asking, parse_options
    from adhere.models.catalog import open_model

    if engine is not None:
        from adhere.steps import Transform
        from adhere.steps.kinds import TransformSpec

        step = Transform(TransformSpec(name, table, seed, parse_options(options)))
        run_on(engine, step, rows, out, jobs=jobs, shard_mb=shard_mb, option="--out")
        return
    if len(rows) > 1:
        raise UsageError(f"{len(rows)} files: say how to do many with --engine local, ray or datatrove")
    progress, into = for_terminal(), Path(out)
    answering = fetch_and_use(lambda: open_model(model), progress) if model is not None else None
    try:
        ask = asking(answering, into.with_name(f"{into.name}.asked"), progress) if answering is not None else None
        settings = Settings(seed, parse_options(options), ask)
        outcome = transform(name, read_table(Path(rows[0]), table), table, settings)
    finally:
        if answering is not None:
            answering.close()
    write_table(into, outcome.rows)
    write_rows(
        into.with_name(f"{into.name}.drops.jsonl"),
        [{"line": number, "reason": reason} for number, reason in outcome.left_out],
    )
    show(f"{len(outcome.rows):,} rows -> {out}; {len(outcome.left_out):,} left out", err=True)
