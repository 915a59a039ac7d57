"""A stored run with every status, for tests of what other harnesses make of it."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from adhere.cli import adhere
from adhere.store.run import Run

PROMPTS = [
    (1000, "Write without commas, and at least 5 words.", ["punctuation:no_comma", "length_constraints:number_words"],
        [{}, {"relation": "at least", "num_words": 5}]),
    (1001, "Say hello in lower case.", ["change_case:english_lowercase"], [{}]),
    (1002, "Let # stand at least twice.", ["keywords:letter_frequency"],
        [{"letter": "#", "let_relation": "at least", "let_frequency": 2}]),
    (1003, "Write without commas.", ["punctuation:no_comma"], [{}]),
]  # fmt: skip
TEXTS = {1000: "Roses and more, and more", 1001: "hello and welcome, how are you", 1002: "a # and another #"}
"""1000 fails one of two, 1001 passes, 1002 is undecided, 1003 has no answer, an error.

The published code draws the letter of 1002.
"""


def suite_file(folder: Path) -> Path:
    file = folder / "prompts.jsonl"
    rows = [
        {"key": key, "prompt": text, "instruction_id_list": ids, "kwargs": kwargs} for key, text, ids, kwargs in PROMPTS
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def make_run(folder: Path, *arguments: str) -> Run:
    """Asked by `adhere eval` of a scripted model."""
    answers = folder / "answers.jsonl"
    answers.write_text("".join(json.dumps({"key": key, "response": text}) + "\n" for key, text in TEXTS.items()))
    CliRunner().invoke(
        adhere,
        [
            "eval",
            f"scripted/file:{answers}",
            "--suite",
            f"ifeval:{suite_file(folder)}",
            "--out",
            str(folder / "runs"),
            "--min-coverage",
            "0",
            *arguments,
        ],
        catch_exceptions=False,
    )
    return Run.load(next((folder / "runs").glob("*/manifest.json")).parent)
