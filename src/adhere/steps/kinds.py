"""Define the steps.

Each is made from a small spec in the process that runs it (`lines.step`). The commands of one process run the same
steps.

| step | rows in | rows out |
|---|---|---|
| `Judge(suite, settings)` | answers: `response`, and `key` or `prompt` | a `verify.rows.VerdictRow` a constraint |
| `Decontaminate(settings)` | training rows | those that repeat no test item, untouched |
| `Transform(spec)` | rows of a table | what the transform makes of them |
| `Score(spec)` | `completion`, `instruction_id_list`, `kwargs` | the same with `score`, null where undecided |
| `Draw(spec)` | `prompt`: a text or messages | a row an answer: `key`, `draw`, `prompt`, `response`, `status` |
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from adhere.build.decontaminate.rows import Decontaminate
from adhere.build.transforms import Settings
from adhere.build.transforms.base import UnfitRow, choose, each
from adhere.constraints.resolve import resolve
from adhere.errors import AdhereError, SpecError, UsageError
from adhere.lines.blocks import Block, parse_line
from adhere.lines.step import BrokenRow, SortedBlock, Step
from adhere.models.base import Model
from adhere.models.catalog import is_endpoint, open_model
from adhere.models.http.options import EndpointOptions
from adhere.pipeline.respond import respond
from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import answer_of, is_cut_by, refs_of, reward_of
from adhere.schema import (
    GivenMessages,
    Json,
    Message,
    Mode,
    Prompt,
    Record,
    Response,
    Sampling,
    Turn,
    convert,
    decoder_of,
    encode,
)
from adhere.shapes.rows import SIDES, in_trl_columns
from adhere.verify.rows import Desk as Judge

__all__ = ["Decontaminate", "Draw", "Judge", "Score", "Transform"]

Row = dict[str, Any]


class _RowStep(Step):
    """Makes rows from rows, one at a time; a row that is no JSON object is broken."""

    def sort(self, block: Block) -> SortedBlock:
        new_lines: list[bytes] = []
        kept_numbers: list[int] = []
        dropped_rows: list[BrokenRow] = []
        broken_rows: list[BrokenRow] = []
        decoder = decoder_of(Row)
        for number, line in block.lines():
            try:
                rows = self.rows(parse_line(line, decoder), number)
            except UnfitRow as reason:
                dropped_rows.append(BrokenRow(number, str(reason)))
            except UsageError as problem:
                broken_rows.append(BrokenRow(number, str(problem)))
            except KeyError as column:
                broken_rows.append(BrokenRow(number, f"no column {column}"))
            else:
                kept_numbers.append(number)
                new_lines += [encode(row) + b"\n" for row in rows]
        return SortedBlock(new_lines, kept_numbers, dropped_rows, broken_rows)

    def rows(self, row: Row, number: int) -> list[Row]:
        """Return the rows made from one row; `number` is its line."""
        raise NotImplementedError


class TransformSpec(Record, frozen=True):
    """Names a transform of `adhere list transforms`, the rows' table, the root seed of random draws, and options."""

    transform: str
    table: str
    seed: int = 0
    options: dict[str, Json] = {}


class Transform(_RowStep):
    """Applies a transform that looks at one row at a time. What it draws depends on the row's line.

    Raises:
        UsageError: The transform looks at all rows together, or asks a model.
    """

    kind = "transform"

    def __init__(self, spec: TransformSpec, side: str | None = None) -> None:
        super().__init__(spec, side)
        transform, self._settings = choose(spec.transform, spec.table, Settings(spec.seed, spec.options))
        if not isinstance(transform.apply, each):
            raise UsageError(
                f"The transform {spec.transform!r} looks at all rows together, or asks a model: "
                "it runs in one process, without --engine"
            )
        self._one = transform.apply

    def rows(self, row: Row, number: int) -> list[Row]:
        table = self.spec.table
        return self._one.of(in_trl_columns(row, table) if table in SIDES else row, number, self._settings)


class ScoreSpec(Record, frozen=True):
    """Says how completions are rewarded; see `pipeline.reward`."""

    reward: RewardKind = "dense"
    mode: Mode = "reference"
    profile: str | None = None
    column: str = "completion"


class Score(_RowStep):
    """Adds the judge's reward of each completion, as trainers get it from `adhere.rewards`."""

    kind = "score"

    def rows(self, row: Row, number: int) -> list[Row]:
        spec: ScoreSpec = self.spec
        refs = refs_of(row["instruction_id_list"], row["kwargs"])
        if not refs:
            raise UnfitRow("it has no constraints, so there is nothing to score")
        score = reward_of(
            answer_of(row[spec.column]),
            refs,
            kind=spec.reward,
            mode=spec.mode,
            profile=spec.profile,
            is_cut=is_cut_by(row),
        )
        return [{**row, "score": score}]


class DrawSpec(Record, frozen=True):
    """Says which model is asked, how often, and how. Endpoint options are those of `adhere eval`."""

    model: str
    sampling: Sampling = Sampling()
    draws: int = 1
    endpoint: EndpointOptions | None = None


class Draw(Step):
    """Draws answers of a model, `draws` rows a prompt. A failed call is a row with the status `error`."""

    kind = "draw"

    @cached_property
    def _model(self) -> Model:
        spec: DrawSpec = self.spec
        return open_model(spec.model, endpoint=spec.endpoint if is_endpoint(spec.model) else None)

    def sort(self, block: Block) -> SortedBlock:
        prompts, broken_rows = [], []
        decoder = decoder_of(Row)
        for number, line in block.lines():
            try:
                prompts.append((number, prompt_of(parse_line(line, decoder), number)))
            except SpecError as problem:
                broken_rows.append(BrokenRow(number, str(problem)))
        unique = {prompt.id: prompt for _, prompt in prompts}
        answers = asyncio.run(self._ask(list(unique.values())))
        place = {prompt_id: n for n, prompt_id in enumerate(unique)}
        answers.sort(key=lambda answer: (place[answer.prompt_id], answer.draw))
        new_lines = [encode(answer_row(unique[answer.prompt_id], answer)) + b"\n" for answer in answers]
        return SortedBlock(new_lines, [number for number, _ in prompts], [], broken_rows)

    async def _ask(self, prompts: Sequence[Prompt]) -> list[Response]:
        spec: DrawSpec = self.spec
        return [answer async for answer in respond(self._model, prompts, sampling=spec.sampling, draws=spec.draws)]


def prompt_of(row: Row, number: int) -> Prompt:
    """Return the prompt of a row.

    The text is the row's `prompt` (a text, or messages that end with the user's). Its id is the row's `key` or `id`,
    else its line. Constraints are read from `instruction_id_list` and `kwargs`, if the row has them.

    Raises:
        SpecError: The row has no prompt, or its constraints cannot be read.
    """
    value = row.get("prompt")
    try:
        refs = refs_of(row["instruction_id_list"], row.get("kwargs")) if row.get("instruction_id_list") else ()
        for ref in refs:  # before anybody is asked
            resolve(ref)
    except AdhereError as error:
        raise SpecError(str(error)) from error
    name = str(next((row[key] for key in ("key", "id") if row.get(key) is not None), f"line-{number}"))
    if isinstance(value, str) and value.strip():
        return Prompt(name, (Turn(value, refs),))
    try:
        messages = list(convert(value, tuple[Message, ...]))
        if messages[-1].role != "user":
            raise ValueError(f"the last message is of the {messages[-1].role}")  # noqa: TRY301 - one message for all of them
        system = messages.pop(0).content if messages[0].role == "system" else None
        earlier_messages = GivenMessages(before=tuple(messages[:-1])) if messages[:-1] else msgspec.UNSET
        return Prompt(name, (Turn(messages[-1].content, refs),), system=system, given=earlier_messages)
    except (msgspec.ValidationError, ValueError, IndexError) as error:
        raise SpecError(
            "no `prompt` that can be asked: a text, or messages (`role`, `content`) "
            f"of which the last is the user's ({error})"
        ) from error


def answer_row(prompt: Prompt, answer: Response) -> Row:
    """Return an answer as a row that `adhere verify` reads."""
    row = {
        "key": prompt.id,
        "draw": answer.draw,
        "prompt": prompt.text,
        "response": answer.text,
        "status": answer.status,
    }
    return row if answer.error is None else {**row, "error": answer.error}
