"""Templates about format conversion, three in all; each states what happens to types, quotes and order."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from adhere.constraints.kinds.held_out.exact import JsonValue, Lines, TableRows
from adhere.suites.generated.diagnostic.data import csv_text
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, Item, Template, distinct_words

_COLUMNS = ("name", "city", "age", "team", "points")


def markdown_table(rng: random.Random) -> Item:
    """Draw an item: turn records into a Markdown table with another order of fields."""
    columns = rng.sample(_COLUMNS, 3)
    records = [
        dict(zip(_COLUMNS, (name, city, str(rng.randint(18, 90)), team, str(rng.randint(100, 999))), strict=True))
        for name, city, team in zip(rng.sample(NAMES, 4), rng.sample(CITIES, 4), distinct_words(rng, 4), strict=True)
    ]
    record_list = "\n".join("; ".join(f"{column}={record[column]}" for column in sorted(columns)) for record in records)
    rows = [columns, *[[record[column] for column in columns] for record in records]]
    text = (
        f"Here are four records, one per line:\n\n{record_list}\n\n"
        f"Write them as one Markdown table with the columns {columns[0]}, {columns[1]} and {columns[2]}, "
        "in this order. The first line of the table is the header with these three names, "
        "the second line is the usual row of dashes, and then comes one row for each record, "
        "in the order of the records.\n\n"
        "Output only the table and nothing else."
    )
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return Item(text, TableRows("\n".join([lines[0], "|---|---|---|", *lines[1:]]), "markdown-table"))


def csv_to_json(rng: random.Random) -> Item:
    """Draw an item: turn CSV with quoted and empty cells into typed JSON."""
    notes: list[str | None] = [
        ", ".join(distinct_words(rng, 2)),
        None,
        *(" ".join(distinct_words(rng, 2)) for _ in range(2)),
    ]
    rng.shuffle(notes)
    rows: list[dict[str, Any]] = [
        {"name": name, "city": city, "age": rng.randint(18, 90), "member": rng.choice((True, False)), "note": note}
        for name, city, note in zip(rng.sample(NAMES, 4), rng.sample(CITIES, 4), notes, strict=True)
    ]
    rows[rng.randrange(4)]["age"] = None
    cells = [
        [
            row["name"],
            row["city"],
            "" if row["age"] is None else row["age"],
            "yes" if row["member"] else "no",
            row["note"] or "",
        ]
        for row in rows
    ]
    text = (
        f"Here is a table as CSV:\n\n{csv_text([list(rows[0]), *cells])}\n\n"
        "Write it as a JSON array with one object for each row, in the order of the rows. "
        "The keys of each object are the five names of the header. An age is a number; "
        "member is true for yes and false for no; name, city and note are strings, "
        "without the quotes that CSV puts around some of them. An empty cell becomes null; its key stays.\n\n"
        "Output only the JSON array and nothing else."
    )
    return Item(text, JsonValue(json.dumps(rows), "json"))


def paths(value: Any, path: str = "") -> Iterator[str]:
    """Yield a line `path: value` for each plain value of a JSON value, in order."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from paths(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from paths(child, f"{path}[{number}]")
    else:
        yield f"{path}: {value if isinstance(value, str) else json.dumps(value)}"


def json_to_paths(rng: random.Random) -> Item:
    """Draw an item: turn nested JSON into one line for each plain value, with its path."""
    keys, words = iter(distinct_words(rng, 9)), iter(distinct_words(rng, 4))
    inner = {next(keys): next(words), next(keys): rng.choice((True, False))}
    last = {next(keys): rng.choice((None, True, False)), next(keys): next(words)}
    parts: list[Any] = [
        next(words),
        {next(keys): rng.randint(10, 999), next(keys): inner},
        [next(words), rng.randint(10, 999), last],
    ]
    rng.shuffle(parts)
    value = {next(keys): part for part in parts}
    text = (
        f"Here is a JSON object:\n\n{json.dumps(value, indent=2)}\n\n"
        "Write one line for each value in it that is neither an object nor an array, "
        "in the order in which these values stand in the text above. A line has the form PATH: VALUE (the path, "
        "a colon, one space, the value).\n"
        "The path names the keys that lead to the value from the outside inwards, with a dot between keys. "
        "The place of an element in an array is written in square brackets directly after the key of the array, "
        "and the first element is [0]; "
        'for example, in {"a": {"b": [0, {"c": 5}]}} the path of the number 5 is a.b[1].c\n'
        "Strings are written without quotes; numbers, true, false and null as in JSON.\n\n"
        "Output only these lines and nothing else."
    )
    return Item(text, Lines("\n".join(paths(value)), "lines"))


TEMPLATES = (
    Template("format:markdown_table", "format-conversion", "easy", "Records to a Markdown table", markdown_table),
    Template("format:csv_to_json", "format-conversion", "typical", "CSV to typed JSON", csv_to_json),
    Template(
        "format:json_to_paths", "format-conversion", "hard", "Nested JSON to lines of path and value", json_to_paths
    ),
)
