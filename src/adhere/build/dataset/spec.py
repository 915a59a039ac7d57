"""The settings of DATA.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from adhere.build.convert import Shape
from adhere.build.rows import Limits
from adhere.config import load_toml
from adhere.errors import SpecError
from adhere.pipeline.reward import RewardKind
from adhere.schema import Json, Record, Sampling

Source = Literal["ours", "file", "hub", "bootstrap"]
Area = Literal[
    "instructions", "long-answers", "maths", "coding", "structured-data", "reasoning", "cross-lingual", "system-prompts"
]


class AreaSpec(Record, frozen=True):
    """Describes one area of data.

    Attributes:
        area: The area's name.
        count: Number of prompts.
        max_new_tokens: Limit of new tokens of their answers; None: the suite's limit, or that of `sampling` for prompts
            made from queries.
    """

    area: Area
    count: Annotated[int, Meta(ge=1)] = 20
    max_new_tokens: Annotated[int, Meta(ge=1)] | None = None


class Queries(Record, frozen=True):
    """Says where queries come from.

    Attributes:
        source: `ours` (the train part of our own), `file`, `hub` (a data set; needs the package `datasets`), or
            `bootstrap` (the model writes new ones from ours).
        count: How many prompts to make. If there are fewer queries, they are used again with other constraints.
        path: Of `file`: JSON lines (plain, .gz, .zst), CSV or Parquet.
        column: Of `file` and `hub`: the column with the query.
        name: Of `hub`: the data set.
        split: Of `hub`.
        similarity: Of `bootstrap`: a new query is dropped if its ROUGE-L (tokens in common, in order) with another one
            is larger (self-instruct: 0.7).
        license: What the card says about a file or data set.
    """

    source: Source = "ours"
    count: int = 60
    path: str = ""
    column: str = "query"
    name: str = ""
    split: str = "train"
    similarity: float = 0.7
    license: str = ""


class Constraints(Record, frozen=True):
    """Holds the settings of the constraints that are added to a query.

    Attributes:
        fewest, most: Constraints a prompt, 1 to 6; all numbers between are equally frequent.
        kinds: Ids of the train kinds to use; empty: those of `core`, and all of `checks`.
        checks: A file of model-written checks (`adhere build checks`).
        language_bound: Whether kinds that mean nothing in some scripts (letters, capitals) are used with queries in
            such scripts.
    """

    fewest: int = 1
    most: int = 3
    kinds: tuple[str, ...] = ()
    checks: str = ""
    language_bound: bool = False


class Turns(Record, frozen=True):
    """The settings of a prompt's user turns and system turn.

    Attributes:
        turns: User turns. Each adds a constraint; all earlier ones stay.
        system: System turns; a prompt that has one gets one of these.
        system_share: Share of the prompts that have a system turn, in [0, 1].
    """

    turns: int = 1
    system: tuple[str, ...] = ()
    system_share: float = 0.5


class Decontaminate(Record, frozen=True):
    """Names the suites whose items no prompt may repeat (as in `adhere list suites`), and the rule."""

    against: tuple[str, ...] = ("core",)
    rule: Literal["lcs", "ngram", "span"] = "lcs"


class Filter(Record, frozen=True):
    """Names the judges that must all call an SFT answer flawless, in addition to the rules.

    Every role (`build.scorers.ROLES`, or any text) is one judge. `judge` names the model; empty: no judges.
    """

    judge: str = ""
    roles: tuple[str, ...] = ("critic", "instructions")


class Output(Record, frozen=True):
    """Says how rows are written.

    `conversational` writes messages even if strings would do; `also` adds other tools' shapes.
    """

    format: Literal["jsonl", "parquet"] = "jsonl"
    conversational: bool = False
    also: tuple[Shape, ...] = ()


class DataSpec(Record, frozen=True):
    """Holds the settings of DATA.toml.

    `send` holds fields that are added to every request to an endpoint, `omit` names fields left out of it. If there are
    `areas`, their counts say how many prompts are made, and that of `queries` is not used.
    """

    model: str
    name: str = "data"
    seed: int = 0
    draws: int = 8
    repair: bool = True
    reward: RewardKind = "dense"
    queries: Queries = Queries()
    constraints: Constraints = Constraints()
    prompts: Turns = Turns()
    areas: tuple[AreaSpec, ...] = ()
    sampling: Sampling = Sampling(max_new_tokens=64, temperature=0.8)
    limits: Limits = Limits()
    decontaminate: Decontaminate = Decontaminate()
    filter: Filter = Filter()
    output: Output = Output()
    send: dict[str, Json] = {}
    omit: tuple[str, ...] = ()


def load_spec(path: Path) -> DataSpec:
    """Read DATA.toml; its paths are relative to the file.

    Raises:
        SpecError: The file cannot be read as DATA.toml, or a setting is out of range.
    """
    spec = load_toml(path, DataSpec)
    folder = path.parent
    queries = msgspec.structs.replace(spec.queries, path=_beside(folder, spec.queries.path))
    constraints = msgspec.structs.replace(spec.constraints, checks=_beside(folder, spec.constraints.checks))
    return check_spec(msgspec.structs.replace(spec, queries=queries, constraints=constraints), str(path))


def change_spec(
    spec: DataSpec,
    *,
    model: str | None = None,
    count: int | None = None,
    draws: int | None = None,
    seed: int | None = None,
    path: Path | None = None,
    column: str | None = None,
    against: tuple[str, ...] = (),
) -> DataSpec:
    """Return the spec with the settings given on the command line; None and () keep the file's."""
    queries = spec.queries
    if path is not None:
        queries = msgspec.structs.replace(queries, source="file", path=str(path))
    queries = msgspec.structs.replace(queries, count=count or queries.count, column=column or queries.column)
    return msgspec.structs.replace(
        spec,
        model=model or spec.model,
        draws=draws or spec.draws,
        seed=spec.seed if seed is None else seed,
        queries=queries,
        decontaminate=msgspec.structs.replace(spec.decontaminate, against=against) if against else spec.decontaminate,
    )


def _beside(folder: Path, path: str) -> str:
    return str(folder / path) if path else ""


def check_spec(spec: DataSpec, name: str = "the spec") -> DataSpec:
    """Return the spec unchanged if every setting can be used.

    Raises:
        SpecError: A setting cannot be used; the message names the key, its value and what is allowed.
    """
    queries, constraints, prompts = spec.queries, spec.constraints, spec.prompts
    area_names = [area.area for area in spec.areas]
    repeated = sorted({name for name in area_names if area_names.count(name) > 1})
    problems = {
        f"draws = {spec.draws}: at least 2, because the variance of a prompt's scores needs two": spec.draws < 2,
        f"queries.count = {queries.count}: at least 1": queries.count < 1,
        f"queries.similarity = {queries.similarity}: above 0 and at most 1": not 0 < queries.similarity <= 1,
        "queries.path: the file is missing; queries.source = 'file' needs it": queries.source == "file"
        and not queries.path,
        "queries.name: the data set is missing; queries.source = 'hub' needs it": queries.source == "hub"
        and not queries.name,
        f"constraints.fewest = {constraints.fewest}, most = {constraints.most}: 1 <= fewest <= most <= 6": not (
            1 <= constraints.fewest <= constraints.most <= 6
        ),
        f"prompts.turns = {prompts.turns}: 1 to 6": not 1 <= prompts.turns <= 6,
        f"prompts.system_share = {prompts.system_share}: from 0 to 1": not 0 <= prompts.system_share <= 1,
        f"areas: {', '.join(repeated)} is named twice; give it one larger count": bool(repeated),
        "filter.roles: a judge needs at least one role": bool(spec.filter.judge) and not spec.filter.roles,
        "prompts.system: a system turn is empty": any(not text.strip() for text in prompts.system),
        (
            f"sampling.temperature = {spec.sampling.temperature}: above 0, because equal draws teach nothing"
        ): spec.sampling.temperature <= 0,
    }
    for problem, is_one in problems.items():
        if is_one:
            raise SpecError(f"{name}: {problem}")
    return spec
