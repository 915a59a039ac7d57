"""`adhere study STUDY.toml`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from adhere.cli.engine import emit_array, parts_options
from adhere.cli.offer import model_names
from adhere.cli.options import FILE, PATH, Sides, flag, option, side_options
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.schema import encode, write_atomic
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from adhere.study.design.spec import StudySpec
    from adhere.study.outcome.result import DrawnResult, StartsResult, StudyResult
    from adhere.study.starts import Place


@click.command("study")
@click.argument("specs", nargs=-1, type=PATH, metavar="STUDY.toml")
@option("--out", type=PATH, help="Where the study is stored [studies/NAME].")
@option("--start", metavar="MODEL", shell_complete=model_names, help="The start model, instead of the file's.")
@option("--seeds", metavar="N|LIST", help="How many seeds (5) or which (3,5,8), instead of the file's.")
@option("--shard", metavar="I/N", help="Do only part I (from 1) of N; the parts may share one directory.")
@option("--jobs", metavar="N|auto", default="1", help="Processes on this machine; auto: what a probe finds fastest.")
@option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    help="ray: each task on the cluster at RAY_ADDRESS.",
)
@parts_options
@option("--device", type=click.Choice(["auto", "cpu", "cuda", "mps"]), help="Where to compute [the file's].")
@option(
    "--records",
    type=FILE,
    metavar="FILE.tar.xz",
    help="Carry on from packed records, and pack them again at the end: a study without its weights.",
)
@flag(
    "--collect",
    help="Put together what is stored, with the code and libraries that made it. Nothing is drawn or trained.",
)
@flag("--register", help="Store the hash of the rule, while none of the answers is there, and stop.")
@flag(
    "--across-engines", help="Compare arms that are answered, prompted or stopped in different ways; the page says so."
)
@flag(
    "--power",
    help="How many seeds and prompts: by folders of finished studies or pilots, else a guess from ours. A STUDY.toml "
    "adds its own design.",
)
@flag("--plan", "only_plan", help="Print what would be done and what it costs, and stop.")
@side_options(
    side="Join what a harness scored item by item of this study's checkpoints. Nothing is trained. Repeatable.",
    called_help=("'ARM (seed N)=NAME'", "What the harness calls a checkpoint."),
)
@flag("--json", "as_json", help="Print the answer as one JSON object.")
def command(
    specs: tuple[Path, ...], out: Path | None, start: str | None, seeds: str | None, shard: str | None, jobs: str,
    engine: Literal["local", "ray"], emit: str | None, parts: int | None, device: str | None, records: Path | None,
    collect: bool, register: bool, across_engines: bool, power: bool, only_plan: bool, sides: Sides, as_json: bool,
) -> None:  # fmt: skip
    """Run a controlled study and print its verdict.

    Finished work is kept: run the same command again after an interruption and it goes on where it stopped.

    With --side it says whether what was gained cost anything elsewhere: knowledge, maths, code, safety, as another
    harness measured them.
    """
    from adhere.lines.workers import parse_shard
    from adhere.report.study.drawn import drawn_html, drawn_text
    from adhere.report.study.starts import starts_html, starts_text
    from adhere.study.design.check import load_study, parse_seeds
    from adhere.study.drawn import begun_places, put_seeds_together, seed_places, tuning_place, with_stages_of
    from adhere.study.jobs import parse_jobs
    from adhere.study.starts import places_of, put_together

    if power:
        _tell_power(specs, out, as_json=as_json)
        return
    spec = _only(specs)
    parse_shard(shard)
    processes = parse_jobs(jobs)
    study = load_study(spec, seeds=None if seeds is None else parse_seeds(seeds))
    if emit_array("study", emit, parts or (len(study.seeds) if emit else None), gpus=study.most_gpus):
        return
    study = _with_options(study, start=start, device=device, across_engines=across_engines)
    directory = out or Path("studies") / study.name
    if register:
        _require_alone("--register stores the rule's hash", only_plan=only_plan, shard=shard)
        _register(study, directory, as_json=as_json)
        return
    first = tuning_place(study, directory, records)
    places = seed_places(study, directory, records) if first else places_of(study, directory, records)
    _unpack([*([first] if first else []), *places])
    if sides.paths:
        _require_one_start(study)
        _require_alone("--side joins files to what is finished", only_plan=only_plan, shard=shard)
        _join_sides(study, directory, records, sides, as_json=as_json)
        return
    if collect:
        _require_alone("--collect puts together what is stored", only_plan=only_plan, shard=shard)
    if only_plan:
        for place in [first] if first else places:  # its plan has all seeds; what they draw costs as much
            _tell_plan(place, processes or 1)
        return
    options = {
        "--start": start,
        "--seeds": seeds,
        "--shard": shard,
        "--jobs": None if jobs == "1" else jobs,
        "--engine": None if engine == "local" else engine,
        "--device": device,
    }
    line = " ".join(["adhere study", str(spec), *(f"{name} {value}" for name, value in options.items() if value)])
    if first is not None:
        tuned_study = _settle(first, processes, is_collected=collect)
        places = seed_places(with_stages_of(study, tuned_study), directory, records)
        places = begun_places(places, directory) if collect else places
    do = partial(_collect if collect else partial(_run, jobs=processes, shard=shard, engine=engine), line=line)
    results = [(do(place, as_json=as_json), place.directory) for place in places]
    if first is not None:
        drawn_result = put_seeds_together(study, directory, results)
        _publish_together(
            drawn_result,
            directory,
            drawn_html(drawn_result),
            drawn_text(drawn_result, width=columns()),
            as_json=as_json,
        )
    if study.starts:
        together = put_together(study.name, directory, results)
        _publish_together(
            together, directory, starts_html(together), starts_text(together, width=columns()), as_json=as_json
        )


def _unpack(places: Sequence[Place]) -> None:
    """Unpack records from where they are to be packed, so that work of another machine is not repeated."""
    from adhere.study.design.disk import writing
    from adhere.study.run.records import unpack

    for place in places:
        if place.records is not None and place.records.exists():
            with writing(place.directory):
                for_terminal().say(f"{unpack(place.records, place.directory)} records from {place.records}")


def _settle(first: Place, jobs: int | None, *, is_collected: bool) -> StudySpec:
    """Return the study with its tuned settings; tune them now unless the study is only collected.

    They are tuned once for all seeds.
    """
    from adhere.study.design.disk import writing
    from adhere.study.run.records import packing
    from adhere.study.tune import require_choice, tune

    if is_collected:
        return require_choice(first.spec, first.directory)
    if first.spec.tune is None:
        return first.spec
    with writing(first.directory), packing(first.directory, first.records):
        return tune(first.spec, first.directory, jobs=jobs, progress=for_terminal())


def _publish_together(
    together: StartsResult | DrawnResult, directory: Path, html: str, text: str, *, as_json: bool
) -> None:
    """Write the page of several studies together and print their answer."""
    page = directory / "report.html"
    write_atomic(page, html.encode("utf-8", "replace"))
    show(encode(together) if as_json else text)
    for_terminal().say(f"Report: {page}")


def _only(paths: tuple[Path, ...]) -> Path:
    if len(paths) != 1:
        raise click.UsageError(f"Give one STUDY.toml, got {len(paths)}. Several folders go with --power")
    if paths[0].is_dir():
        raise click.UsageError(f"{paths[0]} is a folder; give the study's STUDY.toml")
    return paths[0]


def _tell_power(paths: tuple[Path, ...], out: Path | None, *, as_json: bool) -> None:
    """Print the power of designs, by the variances of the studies in these folders.

    A spec adds its own design, and its variances if it has finished as a pilot. Without any variances, those of our
    committed studies are used as a guess.
    """
    import msgspec

    from adhere.report.study.power import power_html, power_text
    from adhere.study.design.check import load_study
    from adhere.study.outcome.designs import KNOWN
    from adhere.study.outcome.power import components_of, own_design, power_table
    from adhere.study.outcome.reproduce import RESULT

    specs = [load_study(path) for path in paths if not path.is_dir()]
    own = [own_design(spec) for spec in specs]
    pilots = [folder for spec in specs if ((folder := Path("studies") / spec.name) / RESULT).is_file()]
    components = [components_of(path) for path in [*(path for path in paths if path.is_dir()), *pilots]]
    tables = [(parts, power_table(parts, own=own)) for parts in components or KNOWN]
    if as_json:
        power_rows = [{"components": parts, "designs": rows, "is_guess": not components} for parts, rows in tables]
        show(encode(msgspec.to_builtins(power_rows)))
        return
    show(power_text(tables, own=own, is_guess=not components, width=columns()))
    page = (out or Path()) / "power.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(page, power_html(tables, own=own, is_guess=not components).encode("utf-8", "replace"))
    for_terminal().say(f"Page: {page}")


def _with_options(study: StudySpec, *, start: str | None, device: str | None, across_engines: bool) -> StudySpec:
    """Return the study with the changes of the command line."""
    import msgspec

    if start is not None:
        study = study.from_start(start)
    if device is not None:
        study = msgspec.structs.replace(study, device=device)
    if across_engines:
        evaluation = msgspec.structs.replace(study.evaluation, across_engines=True)
        study = msgspec.structs.replace(study, evaluation=evaluation)
    return study


def _register(study: StudySpec, directory: Path, *, as_json: bool) -> None:
    import msgspec

    from adhere.study.design.inputs import held_out_suite
    from adhere.study.design.register import register

    if study.kinds is not msgspec.UNSET:
        raise UsageError("--register is for answers of others; with [kinds] each seed stores its spec before it trains")
    registration = register(study, directory, held_out_suite(study).prompts)
    if as_json:
        show(encode(registration))
        return
    show(
        f"Registered at {registration.at}: rule {registration.sha256[:16]}, judge {registration.judge}, "
        f"{registration.sources} models or files of answers. To pin the judge write "
        f"judge = {registration.judge!r} under [verdict] before you register"
    )


def _require_alone(reason: str, *, only_plan: bool, shard: str | None) -> None:
    if only_plan or shard is not None:
        raise UsageError(f"{reason}: leave --plan and --shard out")


def _require_one_start(study: StudySpec) -> None:
    import msgspec

    if study.starts:
        raise UsageError("--side joins files to a study from one start: give --start MODEL and --out DIR/starts/NAME")
    if study.kinds is not msgspec.UNSET:
        raise UsageError("--side joins files to one study, and with [kinds] every seed is a study of its own")


def _join_sides(study: StudySpec, directory: Path, records: Path | None, sides: Sides, *, as_json: bool) -> None:
    from adhere.study.outcome.sides import add_sides
    from adhere.study.tune import with_choice

    result = add_sides(with_choice(study, directory), directory, sides.paths, sides.options())
    _publish(result, directory, records, as_json=as_json)


def _tell_plan(place: Place, jobs: int) -> None:
    from adhere.study.prepared import prepare
    from adhere.study.tune import prepared_tuning, take_first_trials, with_choice

    progress = for_terminal()
    tuning = prepared_tuning(place.spec, place.directory, jobs=jobs)
    if tuning is not None:
        progress.say(tuning.describe())
    chosen = take_first_trials(place.spec) if tuning is not None else with_choice(place.spec, place.directory)
    progress.say(prepare(chosen, place.directory, jobs=jobs).describe())


def _run(
    place: Place, *, jobs: int | None, shard: str | None, engine: Literal["local", "ray"], line: str, as_json: bool
) -> StudyResult:
    """Tune and run the study from one start, and publish the result.

    `jobs` None: as many processes as a probe finds best.
    """
    from adhere.lines.workers import parse_shard
    from adhere.study.design.disk import writing
    from adhere.study.jobs import choose_jobs, run_jobs, run_ray
    from adhere.study.prepared import prepare
    from adhere.study.run.records import packing
    from adhere.study.tune import tune

    progress = for_terminal()
    with writing(place.directory), packing(place.directory, place.records):
        study = tune(place.spec, place.directory, jobs=jobs, progress=progress)
        prepared = prepare(study, place.directory)
        jobs = jobs or choose_jobs(prepared, progress)
        prepared = prepared.shared(jobs).probed(jobs=jobs, progress=progress)
        progress.say(prepared.describe())
        do = run_ray if engine == "ray" else run_jobs
        result = do(prepared, shard=parse_shard(shard), jobs=jobs, progress=progress, command=line)
        _publish(result, place.directory, place.records, as_json=as_json, is_part=place.is_part)
    return result


def _collect(place: Place, *, line: str, as_json: bool) -> StudyResult:
    """Collect what is stored of the study from one start, wherever it was made, and publish the result."""
    from adhere.study.design.disk import writing
    from adhere.study.prepared import prepare
    from adhere.study.tune import require_choice

    chosen = require_choice(place.spec, place.directory)
    with writing(place.directory):
        prepared = prepare(chosen, place.directory, as_stored=True)
        result = prepared.result(progress=for_terminal(), command=line)
        _publish(result, place.directory, None, as_json=as_json, is_part=place.is_part)
    return result


def _publish(
    result: StudyResult, directory: Path, records: Path | None, *, as_json: bool, is_part: bool = False
) -> None:
    """Pack the records, write the page and print the answer.

    One of several studies (`is_part`) prints no JSON, since all of them print one answer together.
    """
    from adhere.report.study.html import study_html
    from adhere.report.study.text import study_text
    from adhere.study.outcome.answer import study_answer
    from adhere.study.run.records import pack

    progress = for_terminal()
    if records is not None:
        progress.say(f"Records: {records}, {pack(directory, records) / 1000:.0f} kB")
    page = directory / "report.html"
    write_atomic(page, study_html(result).encode("utf-8", "replace"))
    if not (as_json and is_part):
        show(encode(study_answer(result)) if as_json else study_text(result, width=columns()))
    progress.say(f"Report: {page}")
