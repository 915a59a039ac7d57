"""Rows in TRL's columns to the shapes of other tools and back, and tables to disk as JSON lines or Parquet.

| shape | SFT | pairs | RL |
|---|---|---|---|
| `llamafactory` | `instruction`, `output`, `system`, `history` (alpaca) | `instruction`, `chosen`, `rejected` | – |
| `sharegpt` | `conversations` of `from`/`value`, `system` | `conversations`, `chosen`, `rejected` | – |
| `openrlhf` | `input`, `output` | `prompt`, `chosen`, `rejected` | `prompt`, `label` |
| `verl` | `messages` | – | `data_source`, `prompt`, `ability`, `reward_model`, `extra_info` |

The constraint columns ride along in every shape, so each can be read back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from adhere.errors import SpecError, UsageError
from adhere.extras import need
from adhere.lines.blocks import LineFile, parse_line
from adhere.schema import decoder_of, encode, write_atomic

Row = dict[str, Any]
Shape = Literal["llamafactory", "verl", "openrlhf", "sharegpt"]
_SHAREGPT = {"system": "system", "user": "human", "assistant": "gpt"}
_ROLES = {said: role for role, said in _SHAREGPT.items()}
_RIDING = (
    "instruction_id_list",
    "kwargs",
    "prompt_id",
    "turn",
    "area",
    "origin",
    "draws",
    "score_mean",
    "score_variance",
)


def messages_of(value: str | list[Row], role: str = "user") -> list[Row]:
    """A prompt or completion as messages."""
    return [{"role": role, "content": value}] if isinstance(value, str) else list(value)


def _text(value: str | list[Row]) -> str:
    return value if isinstance(value, str) else "\n".join(message["content"] for message in value)


def _riding(row: Row) -> Row:
    """The columns that say how a row was made, with `kwargs` as JSON text.

    Other tools' loaders want one type a column.
    """
    kept = {name: row[name] for name in _RIDING if name in row}
    if "kwargs" in kept:
        kept["kwargs"] = json.dumps(kept["kwargs"], sort_keys=True)
    kept["conversational"] = not isinstance(row["prompt"], str)
    return kept


def convert(rows: Sequence[Row], table: str, shape: Shape) -> list[Row] | None:
    """Rows of a table (`sft`, `pairs`, `rl`) in the shape of another tool; None where that tool has no such data."""
    if table == "rl" and shape in {"llamafactory", "sharegpt"}:
        return None
    if table == "pairs" and shape == "verl":
        return None
    makers = {"llamafactory": _llamafactory, "sharegpt": _sharegpt, "openrlhf": _openrlhf, "verl": _verl}
    asked = [row | {"prompt": row["turns"]} if row.get("turns") else row for row in rows]  # a conversation's text alone
    return [{**makers[shape](row, table), **_riding(row)} for row in asked]


def _llamafactory(row: Row, table: str) -> Row:
    messages = messages_of(row["prompt"])
    system = next((message["content"] for message in messages if message["role"] == "system"), "")
    turns = [message["content"] for message in messages if message["role"] != "system"]
    history = [list(pair) for pair in zip(turns[:-1:2], turns[1:-1:2], strict=True)]
    shared = {"instruction": turns[-1], "input": "", "system": system, "history": history}
    if table == "pairs":
        return {**shared, "chosen": _text(row["chosen"]), "rejected": _text(row["rejected"])}
    return {**shared, "output": _text(row["completion"])}


def _sharegpt(row: Row, table: str) -> Row:
    messages = messages_of(row["prompt"])
    if table == "sft":
        messages += messages_of(row["completion"], "assistant")
    said = [{"from": _SHAREGPT[message["role"]], "value": message["content"]} for message in messages]
    shared: Row = {
        "conversations": [turn for turn in said if turn["from"] != "system"],
        "system": next((turn["value"] for turn in said if turn["from"] == "system"), ""),
    }
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
    """What our rewards for verl and OpenRLHF read."""
    asked = messages_of(row["prompt"])[-1][
        "content"
    ]  # for the intent gate, as both pass the prompt templated or not at all
    return json.dumps(
        {"instruction_id_list": row["instruction_id_list"], "kwargs": row["kwargs"], "prompt": asked}, sort_keys=True
    )


def back(rows: Sequence[Row], table: str, shape: Shape) -> list[Row]:
    """Rows of another tool's shape in TRL's columns; what `convert` made comes back as it was.

    Raises:
        UsageError: A row lacks a column of that shape.
    """
    readers = {
        "llamafactory": _from_llamafactory,
        "sharegpt": _from_sharegpt,
        "openrlhf": _from_openrlhf,
        "verl": _from_verl,
    }
    found = []
    for number, row in enumerate(rows, start=1):
        try:
            prompt, answers = readers[shape](row, table)
        except (KeyError, IndexError, TypeError) as error:
            raise UsageError(
                f"Row {number} is no {table} row of {shape}: {error!r}. Its columns: {', '.join(row)}"
            ) from error
        plain = not row.get("conversational", True) or (
            "conversational" not in row and len(prompt) == 1 and prompt[0]["role"] == "user"
        )
        made: Row = {"prompt": prompt[0]["content"] if plain else prompt}
        for side, text in answers.items():
            made[side] = text if plain else [{"role": "assistant", "content": text}]
        riding = {name: row[name] for name in _RIDING if name in row}
        if isinstance(riding.get("kwargs"), str):
            riding["kwargs"] = json.loads(riding["kwargs"])
        found.append({**made, **riding})
    return found


def _from_llamafactory(row: Row, table: str) -> tuple[list[Row], dict[str, str]]:
    messages = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    for asked, answered in row.get("history") or ():
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    text = "\n".join(part for part in (row["instruction"], row.get("input", "")) if part)
    messages.append({"role": "user", "content": text})
    if table == "pairs":
        return messages, {"chosen": row["chosen"], "rejected": row["rejected"]}
    return messages, {"completion": row["output"]}


def _from_sharegpt(row: Row, table: str) -> tuple[list[Row], dict[str, str]]:
    messages = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    messages += [{"role": _ROLES[turn["from"]], "content": turn["value"]} for turn in row["conversations"]]
    if table == "pairs":
        return messages, {side: row[side]["value"] for side in ("chosen", "rejected")}
    return messages[:-1], {"completion": messages[-1]["content"]}


def _from_openrlhf(row: Row, table: str) -> tuple[list[Row], dict[str, str]]:
    if table == "sft":
        return messages_of(row["input"]), {"completion": row["output"]}
    if table == "pairs":
        return messages_of(row["prompt"]), {side: _text(row[side]) for side in ("chosen", "rejected")}
    return messages_of(row["prompt"]), {}


def _from_verl(row: Row, table: str) -> tuple[list[Row], dict[str, str]]:
    if table == "sft":
        return list(row["messages"][:-1]), {"completion": row["messages"][-1]["content"]}
    return list(row["prompt"]), {}


def read_table(path: Path) -> list[Row]:
    """The rows of a file of JSON lines.

    Raises:
        SpecError: Naming the line that is none.
        UsageError: There are none.
    """
    decoder = decoder_of(dict[str, Any])
    rows = []
    for block in LineFile(path).blocks():
        for number, line in block.lines():
            try:
                rows.append(parse_line(line, decoder))
            except SpecError as problem:
                raise SpecError(f"{path}:{number}: {problem}") from problem
    if not rows:
        raise UsageError(f"{path} has no rows")
    return rows


def write_table(path: Path, rows: Sequence[Row]) -> str:
    """Write rows whole, as JSON lines or as Parquet by the name's ending; the sha256 (hex) of the file.

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
