"""Read IFEval's row format: `key`, `prompt`, `instruction_id_list`, `kwargs`; other columns are ignored.

A prompt that cannot be judged as it was published is an error, with file, line and key: it is never changed into a
prompt with fewer constraints, other parameters or another id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from adhere import media
from adhere.constraints.published.judged.table import JUDGED
from adhere.constraints.published.shared.registry import PublishedConstraint
from adhere.constraints.resolve import resolve
from adhere.errors import BadParameter, SpecError, UnknownName, UsageError
from adhere.lines.blocks import LineFile
from adhere.schema import ConstraintRef, Json, Media, Prompt, Sampling, Turn, content_hash, convert, packed
from adhere.suites.base import Suite
from adhere.suites.published.table import kind_of_file, read_rows, where


class PublishedFile(NamedTuple):
    """Describes a suite that others publish in IFEval's row format.

    Attributes:
        name: The suite's name, without a path.
        profile: The published checkers that judge its constraints, such as `ifbench-2025`.
        citation: The citation of the paper.
        prompts, instructions: Their numbers in the published file; None if there is no single published file.
        sha256: The hash of the published file's bytes; None if we do not know them.
        content_sha256: The hash of what the rows say, whatever their layout; None if we do not know it.
        max_new_tokens: The token limit of an answer; answers are greedy.
        key: The column that holds the key.
    """

    name: str
    profile: str
    citation: str
    prompts: int | None = None
    instructions: int | None = None
    sha256: str | None = None
    content_sha256: str | None = None
    max_new_tokens: int = 2048
    key: Literal["key", "id"] = "key"


class PromptRow(msgspec.Struct, gc=False):
    """Holds one line of the file.

    `media` lists files (relative to this one) or data URLs of pictures and sounds that are shown after the prompt.
    """

    key: int | str
    prompt: str
    instruction_id_list: list[str]
    kwargs: list[dict[str, Any] | None]
    media: list[str] = []


class _RowWithId(PromptRow, kw_only=True, gc=False):
    key: int | str = msgspec.field(name="id")


_ROWS: dict[str, type[PromptRow]] = {"key": PromptRow, "id": _RowWithId}


def load(published_file: PublishedFile, argument: str | None) -> Suite:
    """Load the suite of the file that `argument` names.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, line and key.
    """
    if not argument:
        raise UsageError(
            f"Suite {published_file.name!r} needs the file that holds its prompts: {published_file.name}:PATH. "
            f"It is published as {where(published_file.name)} (adhere fetch suite:{published_file.name})"
        )
    path = Path(argument)
    is_table = path.is_file() and kind_of_file(path) in {".json", ".parquet"}
    rows, sha256 = read_rows(path) if is_table else ([], "")
    file = None if is_table else LineFile(path)
    if file is not None and file.size is None:
        raise UsageError(
            f"{published_file.name}:{argument}: a suite is a file (plain, .gz or .zst), not the standard input"
        )
    row = _ROWS[published_file.key]
    prompts = tuple(_prompts(_lines(file, row) if file else _convert(rows, row), published_file, path.parent))
    if not prompts:
        raise SpecError(
            f"{argument}: no rows. Suite {published_file.name!r} is published as {where(published_file.name)}"
        )
    sha256 = sha256 if file is None else file.sha256
    return Suite(
        name=f"{published_file.name}:{argument}",
        version="1",
        prompts=prompts,
        settings={"file_sha256": sha256, "note": _note(published_file, prompts, sha256)},
        citation=published_file.citation,
        sampling=Sampling(max_new_tokens=published_file.max_new_tokens),
    )


def content_sha256(prompts: Sequence[Prompt]) -> str:
    """Hash what a file's rows say, whatever their layout (other columns, null parameters)."""
    return content_hash([[prompt.key, prompt.text, list(prompt.constraints)] for prompt in prompts])


def _note(published_file: PublishedFile, prompts: Sequence[Prompt], sha256: str) -> str:
    """Say how the file compares with the published one."""
    counts = _counts(len(prompts), sum(len(prompt.constraints) for prompt in prompts))
    if published_file.prompts is None or published_file.instructions is None:
        return counts
    theirs = _counts(published_file.prompts, published_file.instructions)
    if sha256 == published_file.sha256:
        return f"{counts}: the published file"
    if counts != theirs:
        return f"{counts}: differs from the published file, which has {theirs}"
    if published_file.content_sha256 is None:
        return f"{counts}, as many as the published file"
    if content_sha256(prompts) == published_file.content_sha256:
        return f"{counts}: the rows of the published file in another layout"
    return f"{counts}: as many as in the published file, but differs from it in some row"


def _counts(prompts: int, instructions: int) -> str:
    return f"{prompts:,} prompt{'s' * (prompts != 1)}, {instructions:,} instruction{'s' * (instructions != 1)}"


def _lines(file: LineFile, kind: type[PromptRow]) -> Iterator[tuple[str, PromptRow]]:
    """Yield (place, row) of each line; the place is `FILE:LINE`."""
    for number, row in file.rows(kind):
        yield f"{file.name}:{number}", row


def _convert(rows: Iterable[tuple[str, dict[str, Any]]], kind: type[PromptRow]) -> Iterator[tuple[str, PromptRow]]:
    """Yield (place, row) of each row of a table."""
    for at, row in rows:
        try:
            yield at, convert(row, kind)
        except msgspec.ValidationError as error:
            raise SpecError(f"{at}: {error}. Columns: {', '.join(kind.__struct_encode_fields__)}") from error


def _prompts(rows: Iterable[tuple[str, PromptRow]], published_file: PublishedFile, base: Path) -> Iterator[Prompt]:
    places_of_keys: dict[str, str] = {}
    shared_refs: dict[bytes, tuple[ConstraintRef, ...]] = {}
    tags = {kind: {"profile": published_file.profile, "key": kind} for kind in ("int", "str")}
    for place, row in rows:
        at = f"{place}: key {row.key!r}"
        id = str(row.key)  # noqa: A001 - the field's word
        first = places_of_keys.setdefault(id, place)
        if first != place:
            line = f"line {first.rpartition(':')[2]}" if ": row " not in first else first
            raise SpecError(f"{at}: {line} has the same key. Keys must differ; delete one row or give it another")
        constraints = constraints_of(row, at, published_file.profile, shared_refs)
        kind = "int" if isinstance(row.key, int) else "str"
        turn = Turn(row.prompt, constraints, keep_media(row.media, at, base))
        yield packed(Prompt(id, (turn,), source=published_file.name, tags=tags[kind]))


def keep_media(sources: Sequence[str], at: str, base: Path) -> tuple[Media, ...] | msgspec.UnsetType:
    """Store the pictures and sounds of a row; UNSET if it has none.

    Raises:
        SpecError: A picture or sound cannot be read; `at` is the row's place, for the message.
    """
    try:
        return tuple(media.read(source, base=base) for source in sources) or msgspec.UNSET
    except UsageError as error:
        raise SpecError(f"{at}: {error}") from error


def constraints_of(
    row: PromptRow, at: str, profile: str, shared_refs: dict[bytes, tuple[ConstraintRef, ...]]
) -> tuple[ConstraintRef, ...]:
    """Return the row's constraints.

    Rows with equal constraints share one tuple in `shared_refs`, so that equal rows of a large file are checked once.

    Raises:
        SpecError, UnknownName, BadParameter: The constraints cannot be judged as published; `at` is the row's place,
            for the message.
    """
    if not row.instruction_id_list:
        raise SpecError(f"{at}: instruction_id_list is empty, so there is nothing to judge. Delete the row")
    if len(row.instruction_id_list) != len(row.kwargs):
        raise SpecError(
            f"{at}: {len(row.instruction_id_list)} ids in instruction_id_list, "
            f"but {len(row.kwargs)} entries in kwargs. kwargs needs one object for each id, "
            "{} where it takes no parameter"
        )
    filled = [{name: value for name, value in (kwargs or {}).items() if value is not None} for kwargs in row.kwargs]
    try:
        key = msgspec.json.encode((row.instruction_id_list, filled))
    except UnicodeEncodeError:  # a lone surrogate
        key = repr((row.instruction_id_list, filled)).encode("utf-8", "surrogatepass")
    if key not in shared_refs:
        pairs = zip(row.instruction_id_list, filled, strict=True)
        shared_refs[key] = tuple(checked_ref(ConstraintRef(*pair), at, profile) for pair in pairs)
    return shared_refs[key]


def judged_refs(statements: Iterable[str]) -> tuple[ConstraintRef, ...]:
    """Return a constraint for each statement about the answer, which a model judges (`adhere judge`)."""
    return tuple(ConstraintRef(JUDGED, {"statement": statement}) for statement in statements)


def checked_ref(ref: ConstraintRef, at: str, profile: str | None = None) -> ConstraintRef:
    """Return `ref` unchanged if it can be judged as published; `at` is its place, for the message.

    `profile` is the published suite whose ids are meant; None for kinds of ours.

    Raises:
        UnknownName: The profile has no such id.
        BadParameter: A parameter cannot be used, or is missing where the published code would draw it at random.
    """
    try:
        constraint = resolve(ref, profile=profile)
    except (UnknownName, BadParameter) as error:
        raise type(error)(f"{at}: {error}") from error
    if isinstance(constraint, PublishedConstraint) and (absent := _drawn_because_absent(constraint)):
        parameters = "parameter" if len(absent) == 1 else "parameters"
        raise BadParameter(
            f"{at}: {ref.id}: missing {parameters} {', '.join(absent)}. The published code would draw "
            f"{'it' if len(absent) == 1 else 'them'} at random, anew for every answer; add {parameters} to kwargs"
        )
    return ref


def _drawn_because_absent(constraint: PublishedConstraint) -> list[str]:
    values: dict[str, Json] = constraint.params
    return [
        name
        for name, param in constraint.kind.params.items()
        if values.get(name) is None and param.is_drawn(None, values)
    ]
