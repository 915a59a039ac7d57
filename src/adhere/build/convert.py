"""Convert rows between TRL's columns and the shapes of other tools; read and write tables.

| shape | SFT | pairs | RL |
|---|---|---|---|
| `llamafactory` | `instruction`, `output`, `system`, `history` (alpaca) | `instruction`, `chosen`, `rejected` | – |
| `sharegpt` | `conversations` of `from`/`value`, `system` | `conversations`, `chosen`, `rejected` | – |
| `openrlhf` | `input`, `output` | `prompt`, `chosen`, `rejected` | `prompt`, `label` |
| `verl` | `messages` | – | `data_source`, `prompt`, `ability`, `reward_model`, `extra_info` |

The constraint columns are kept in every shape, so each can be read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from adhere.errors import UsageError
from adhere.extras import need
from adhere.schema import content_hash, encode, write_atomic
from adhere.shapes.files import read_rows
from adhere.shapes.labels import refs_of
from adhere.shapes.rows import SIDES, constraint_columns, in_trl_columns, read_exchange, trl_row

Row = dict[str, Any]
Shape = Literal["llamafactory", "verl", "openrlhf", "sharegpt"]
_SHAREGPT = {"system": "system", "user": "human", "assistant": "gpt"}
_RIDING = (
    "instruction_id_list", "kwargs", "prompt_id", "turn", "area", "origin", "draws", "score_mean", "score_variance",
)  # fmt: skip


def messages_of(value: str | list[Row], role: str = "user") -> list[Row]:
    """Return a prompt or completion as messages; a text becomes one message of `role`."""
    return [{"role": role, "content": value}] if isinstance(value, str) else list(value)


def _text(value: str | list[Row]) -> str:
    return value if isinstance(value, str) else "\n".join(message["content"] for message in value)


def _riding(row: Row) -> Row:
    """Return the columns that say how a row was made, with `kwargs` as JSON text.

    Other tools' loaders need one type a column.
    """
    columns = {name: row[name] for name in _RIDING if name in row}
    if "kwargs" in columns:
        columns["kwargs"] = json.dumps(columns["kwargs"], sort_keys=True)
    columns["conversational"] = not isinstance(row["prompt"], str)
    return columns


def has_shape(table: str, shape: Shape) -> bool:
    """Tell whether a tool's format exists for a table (`sft`, `pairs`, `rl`)."""
    return (table, shape) in _COLUMNS


def convert(rows: Sequence[Row], table: str, shape: Shape) -> list[Row] | None:
    """Convert rows of a table (`sft`, `pairs`, `rl`) to another tool's shape; None if the tool has none for it.

    Raises:
        UsageError: `convert_row` refuses a row; the message has its number.
    """
    if not has_shape(table, shape):
        return None
    return [_name_row(number, lambda row: convert_row(row, table, shape), row) for number, row in enumerate(rows, 1)]


def _name_row(number: int, change: Callable[[Row], Row], row: Row) -> Row:
    try:
        return change(row)
    except UsageError as problem:
        raise UsageError(f"Row {number}: {problem}") from problem


def convert_row(row: Row, table: str, shape: Shape) -> Row:
    """Convert a row in any shape of `shapes.rows` to the shape of another tool.

    Raises:
        UsageError: The row does not belong to `table`, or the other tool's shape cannot hold it.
    """
    makers = {"llamafactory": _llamafactory, "sharegpt": _sharegpt, "openrlhf": _openrlhf, "verl": _verl}
    plain = in_trl_columns(row, table)
    if table == "rl":
        plain |= _constraints(plain)
    return {**makers[shape](plain, table), **_riding(plain)}


def _constraints(row: Row) -> Row:
    refs = refs_of(row.get("instruction_id_list"), row.get("kwargs"))
    if not refs:
        raise UsageError(
            "it names no constraints, so there is nothing to reward: it needs instruction_id_list and kwargs. Its "
            f"columns: {', '.join(row)}"
        )
    columns: Row = {"instruction_id_list": [ref.id for ref in refs], "kwargs": [dict(ref.params) for ref in refs]}
    if "prompt_id" not in row:
        columns["prompt_id"] = f"p-{content_hash([row['prompt'], columns])[:12]}"
    return columns


def _system(messages: list[Row]) -> tuple[str, list[Row]]:
    """Split messages into the text of an opening system message (empty if none) and the rest.

    Raises:
        UsageError: A system message stands further down, where the other tool has no place for one.
    """
    first = messages[0]["content"] if messages and messages[0]["role"] == "system" else ""
    rest = messages[1:] if first else messages
    if any(message["role"] == "system" for message in rest):
        raise UsageError("a system message stands after the first message, and the other tool has one place for it")
    return first, rest


def _llamafactory(row: Row, table: str) -> Row:
    system, messages = _system(messages_of(row["prompt"]))
    if [message["role"] for message in messages] != (["user", "assistant"] * len(messages))[: len(messages)]:
        raise UsageError(
            "user and assistant do not speak by turns in it, and `history` can hold nothing else. Take --to sharegpt"
        )
    turns = [message["content"] for message in messages]
    history = [list(pair) for pair in zip(turns[:-1:2], turns[1:-1:2], strict=True)]
    shared = {"instruction": turns[-1], "input": "", "system": system, "history": history}
    if table == "pairs":
        return {**shared, "chosen": _text(row["chosen"]), "rejected": _text(row["rejected"])}
    return {**shared, "output": _text(row["completion"])}


def _sharegpt(row: Row, table: str) -> Row:
    system, messages = _system(messages_of(row["prompt"]))
    if table == "sft":
        messages += messages_of(row["completion"], "assistant")
    conversation = [{"from": _SHAREGPT[message["role"]], "value": message["content"]} for message in messages]
    shared: Row = {"conversations": conversation, "system": system}
    for side in ("chosen", "rejected") if table == "pairs" else ():
        shared[side] = {"from": "gpt", "value": _text(row[side])}
    return shared


def _openrlhf(row: Row, table: str) -> Row:
    prompt = messages_of(row["prompt"])
    if table == "sft":
        return {"input": prompt, "output": _text(row["completion"])}
    if table == "pairs":
        return {
            "prompt": prompt,
            "chosen": messages_of(row["chosen"], "assistant"),
            "rejected": messages_of(row["rejected"], "assistant"),
        }
    return {"prompt": prompt, "label": _ground_truth(row)}


def _verl(row: Row, table: str) -> Row:
    prompt = messages_of(row["prompt"])
    if table == "sft":
        return {"messages": [*prompt, *messages_of(row["completion"], "assistant")]}
    return {
        "data_source": "adhere",
        "prompt": prompt,
        "ability": "instruction_following",
        "reward_model": {"style": "rule", "ground_truth": _ground_truth(row)},
        "extra_info": {"index": row["prompt_id"]},
    }


def _ground_truth(row: Row) -> str:
    """Return, as JSON, what our rewards for verl and OpenRLHF read of a row."""
    request = messages_of(row["prompt"])[-1][
        "content"
    ]  # for the intent gate, as both pass the prompt templated or not at all
    return json.dumps(
        {"instruction_id_list": row["instruction_id_list"], "kwargs": row["kwargs"], "prompt": request}, sort_keys=True
    )


_COLUMNS: Mapping[tuple[str, str], tuple[str, ...]] = {  # what a row of another tool has to have
    ("sft", "llamafactory"): ("instruction", "output"),
    ("pairs", "llamafactory"): ("instruction", "chosen", "rejected"),
    ("sft", "sharegpt"): ("conversations",), ("pairs", "sharegpt"): ("conversations", "chosen", "rejected"),
    ("sft", "openrlhf"): ("input", "output"), ("pairs", "openrlhf"): ("prompt", "chosen", "rejected"),
    ("sft", "verl"): ("messages",), ("rl", "openrlhf"): ("prompt",), ("rl", "verl"): ("prompt",),
}  # fmt: skip
_BESIDE = ("input", "system", "history")  # what it may have


def back(rows: Sequence[Row], table: str, shape: Shape) -> list[Row]:
    """Convert rows of another tool's shape to TRL's columns; this undoes `convert`.

    Raises:
        UsageError: `back_row` refuses a row; the message has its number.
    """
    return [_name_row(number, lambda row: back_row(row, table, shape), row) for number, row in enumerate(rows, 1)]


def back_row(row: Row, table: str, shape: Shape) -> Row:
    """Convert one row of another tool's shape to TRL's columns.

    Raises:
        UsageError: The tool has no such data, or the row lacks a column or a message.
    """
    columns = _COLUMNS.get((table, shape))
    if columns is None:
        raise UsageError(f"{shape} has no {table} data")
    missing = next((name for name in columns if row.get(name) is None), None)
    if missing is not None:
        raise UsageError(f"it is no {table} row of {shape}: it has no {missing!r}. Its columns: {', '.join(row)}")
    exchange = read_exchange({name: row[name] for name in (*columns, *_BESIDE) if name in row}, table)
    plain = not row.get("conversational", True) or ("conversational" not in row and exchange.is_one)
    riding = {name: row[name] for name in _RIDING if name in row} | constraint_columns(row, table)
    if isinstance(riding.get("kwargs"), str):
        riding["kwargs"] = json.loads(riding["kwargs"])
    return {**trl_row(exchange, is_text=plain), **riding}


def read_table(path: Path, table: str = "") -> list[Row]:
    """Read the rows of a file of JSON lines.

    Args:
        path: The file.
        table: `sft`, `pairs` or `rl`: each row is converted from its own shape to TRL's columns (`shapes.rows`). With
            any other name, or none, rows stay as they are.

    Raises:
        SpecError, UsageError: A line is no such row (the message names it), or the file has no rows.
    """
    rows = list(read_rows(path, lambda row: in_trl_columns(row, table) if table in SIDES else row))
    if not rows:
        raise UsageError(f"{path} has no rows")
    return rows


def write_table(path: Path, rows: Sequence[Row]) -> str:
    """Write rows atomically as JSON lines or Parquet, by the name's ending; return the file's sha256 in hex.

    In Parquet `kwargs` is JSON text, because its items have different keys; our rewards read both.
    """
    data = b"".join(encode(row) + b"\n" for row in rows)
    if path.suffix != ".parquet":
        write_atomic(path, data)
        return hashlib.sha256(data).hexdigest()
    duckdb = need("duckdb", extra="parquet")
    lines = path.with_name(f".{path.name}.jsonl")
    flat = [
        {**row, "kwargs": row["kwargs"] if isinstance(row.get("kwargs"), str) else json.dumps(row.get("kwargs", []))}
        for row in rows
    ]
    write_atomic(lines, b"".join(encode(row) + b"\n" for row in flat))
    temporary = path.with_name(f".{path.name}.part")
    source = (
        f"read_json('{_quote(lines)}', format = 'newline_delimited')" if rows else "(SELECT '' AS prompt WHERE false)"
    )
    command = f"COPY (SELECT * FROM {source}) TO '{_quote(temporary)}' (FORMAT parquet, COMPRESSION zstd)"  # noqa: S608 - quoted
    duckdb.connect().execute(command)
    lines.unlink()
    temporary.replace(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _quote(path: Path) -> str:
    return str(path).replace("'", "''")
