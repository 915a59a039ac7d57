"""Ask for structured data: records from prose, totals of groups, two joined tables, JSON for a schema."""

from __future__ import annotations

import json
import random

from adhere.constraints.base import Constraint
from adhere.constraints.kinds.held_out.exact import JsonValue, TableRows
from adhere.constraints.kinds.trained.data_json import JsonSchema
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS
from adhere.suites.generated.family import Family, Item, Level, single

_ONLY = "Output only the {} and nothing else."


def _extract(rng: random.Random) -> tuple[str, list[Constraint], str]:
    people = rng.sample(NAMES, 3)
    records = [
        {"name": name, "age": rng.randint(18, 80), "city": rng.choice(CITIES), "member": rng.random() < 0.5}
        for name in people
    ]
    people_text = " ".join(
        f"{person['name']}, who is {person['age']}, lives in {person['city']} and is "
        f"{'' if person['member'] else 'not '}a member of the club."
        for person in records
    )
    expected = json.dumps(records)
    text = (
        f"{people_text}\n\nWrite these people as a JSON array, in the order of the text. "
        "Each is an object with the keys name (string), age (number), city (string) and member (true or false). "
        f"{_ONLY.format('JSON')}"
    )
    return text, [JsonValue(expected, "json")], expected


def _totals(rng: random.Random) -> tuple[str, list[Constraint], str]:
    goods = sorted(rng.sample(WORDS, 3))
    rows = [(rng.choice(goods), rng.randint(2, 60)) for _ in range(6)] + [(item, rng.randint(2, 60)) for item in goods]
    rng.shuffle(rows)
    table = "\n".join(["| item | sold |", "|---|---|", *(f"| {item} | {sold} |" for item, sold in rows)])
    totals = [(item, sum(sold for other, sold in rows if other == item)) for item in goods]
    expected = "\n".join(["item,total", *(f"{item},{total}" for item, total in totals)])
    text = (
        f"{table}\n\nAdd up what was sold of each item. Write CSV with the header item,total and one row for each "
        f"item, sorted by item from a to z. {_ONLY.format('CSV')}"
    )
    return text, [TableRows(expected, "csv")], expected


def _join(rng: random.Random) -> tuple[str, list[Constraint], str]:
    keys = rng.sample(range(100, 999), 5)
    names, cities = rng.sample(NAMES, 5), rng.sample(CITIES, 5)
    left = [{"id": key, "name": name} for key, name in zip(keys, names, strict=True)]
    home_keys = sorted(rng.sample(keys, 3))
    right = [{"person": key, "city": rng.choice(cities)} for key in rng.sample(home_keys, 3)]
    city_of = {row["person"]: row["city"] for row in right}
    name_of = {row["id"]: row["name"] for row in left}
    expected = "\n".join(
        ["| id | name | city |", "|---|---|---|", *(f"| {k} | {name_of[k]} | {city_of[k]} |" for k in home_keys)]
    )
    text = (
        f"People:\n{json.dumps(left)}\n\nHomes:\n{json.dumps(right)}\n\n"
        "Join both by the number of the person. Write a Markdown table with the columns id, "
        "name and city for everyone who has a home in the second list, sorted by id, smallest first. "
        f"{_ONLY.format('table')}"
    )
    return text, [TableRows(expected, "markdown-table")], expected


def _schema(rng: random.Random) -> tuple[str, list[Constraint], str]:
    colours = rng.sample(("red", "blue", "green", "white", "black", "grey"), 3)
    low = rng.randint(2, 9)
    noun, part = rng.sample(WORDS, 2)
    schema = {
        "type": "object",
        "required": [noun, "colour", part, "parts"],
        "additionalProperties": False,
        "properties": {
            noun: {"type": "string", "minLength": low},
            "colour": {"enum": colours},
            part: {"type": "integer", "minimum": low * 10, "maximum": low * 10 + 9},
            "parts": {"type": "array", "items": {"type": "string"}, "minItems": low, "maxItems": low},
        },
    }
    value = {noun: "x" * low, "colour": colours[0], part: low * 10, "parts": ["a"] * low}
    schema_text = json.dumps(schema)
    text = f"Make up a value that this JSON Schema allows:\n\n{schema_text}\n\n{_ONLY.format('JSON value')}"
    return text, [JsonSchema(schema_text)], json.dumps(value)


_TASKS = (_extract, _totals, _join, _schema)


def draw(rng: random.Random, level: int) -> list[Item]:
    """Draw the task of the level."""
    text, constraints, answer = _TASKS[level](rng)
    return [single(text, constraints, answer)]


FAMILY = Family(
    name="data",
    answers="Does it turn text and tables into exactly the structure that was asked for?",
    paper="Structured data of Qwen2.5, arXiv 2412.15115; ours",
    levels=(
        Level("extract", "records from three sentences, as JSON"),
        Level("totals", "a table of nine rows grouped and added up, as CSV"),
        Level("join", "two lists of objects joined by a key, as a Markdown table"),
        Level("schema", "a value that fits a JSON Schema with ranges, names and numbers of things"),
    ),
    draw=draw,
)
