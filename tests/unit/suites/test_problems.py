"""Defects of published data: the list, and the rules that find such rows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adhere.cli.list import command
from adhere.errors import UnknownName
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites import load
from adhere.suites.published.problems import find_problems, problems

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[4] / "shared" / "data"))
IFEVAL = DATA / "ifeval" / "input_data.jsonl"
IFBENCH = DATA / "ifbench" / "IFBench_test.jsonl"
with_data = pytest.mark.skipif(
    not IFEVAL.is_file(), reason=f"needs ../shared/data: {DATA} is not there (set ADHERE_DATA)"
)


def found(text: str, *refs: tuple[str, dict[str, Any]]) -> list[tuple[int | None, str]]:
    constraints = tuple(ConstraintRef(name, params) for name, params in refs)
    prompt = Prompt("7", (Turn(text, constraints),))
    return [(problem.index, problem.what) for problem in find_problems([prompt], suite="x")]


def test_the_listed_rows_of_the_notes_are_there() -> None:
    keys = {problem.key for problem in problems("ifeval")}
    assert keys >= {30, 337, 371, 374, 1122, 1129, 1174, 1332, 1627, 2078, 2785, 3305, 3369, 3718}
    assert [(problem.key, problem.index) for problem in problems("ifbench")] == [("268", None)]
    assert problems("iftrain") == ()
    with pytest.raises(UnknownName, match="Did you mean 'ifbench'"):
        problems("ifbnch")


@with_data
def test_the_rules_find_the_logical_ones_and_nothing_else() -> None:
    suite = load(f"ifeval:{IFEVAL}")
    rows = {(problem.key, problem.index) for problem in find_problems(suite.prompts, suite="ifeval")}
    assert rows == {
        (30, 2),
        (337, 0),
        (374, 1),
        (1122, 1),
        (1129, 0),
        (1174, 0),
        (1332, 0),
        (1627, 2),
        (2078, 0),
        (3305, 0),
        (3369, 1),
        (3371, 2),
        (3718, 2),
    }
    listed = {(problem.key, problem.index) for problem in problems("ifeval")}
    assert listed - rows == {(371, 1), (2785, 1)}  # no contradiction, and an edit of the prompt


@with_data
def test_every_listed_row_is_in_the_published_files() -> None:
    for name, path in (("ifeval", IFEVAL), ("ifbench", IFBENCH)):
        sizes = {prompt.key: len(prompt.constraints) for prompt in load(f"{name}:{path}").prompts}
        for problem in problems(name):
            assert problem.index is None or 0 <= problem.index < sizes[problem.key]
            assert problem.key in sizes


REPEAT = ("combination:repeat_prompt", {"prompt_to_repeat": "Tell me, please, why cats purr. Avoid commas."})


@pytest.mark.parametrize(
    ("ref", "what"),
    [
        (("punctuation:no_comma", {}), "the text to repeat holds commas, which are forbidden"),
        (
            ("keywords:forbidden_words", {"forbidden_words": ["cats", "cat"]}),
            "the text to repeat holds the forbidden 'cats'",
        ),
        (
            ("keywords:frequency", {"keyword": "purr", "frequency": 1, "relation": "less than"}),
            "the text to repeat holds 'purr' 1 times, allowed are less than 1",
        ),
        (
            ("language:response_language", {"language": "hi"}),
            "the text to repeat is in language 'en', the answer must be in 'hi'",
        ),
        (
            ("keywords:letter_frequency", {"letter": "e", "let_frequency": 3, "let_relation": "less than"}),
            "the text to repeat holds 'e' 4 times, allowed are less than 3",
        ),
        (
            ("startend:quotation", {}),
            "the text to repeat comes first, and startend:quotation allows nothing before its opening mark",
        ),
    ],
)
def test_a_text_to_repeat_that_breaks_another_rule(ref: tuple[str, dict[str, Any]], what: str) -> None:
    assert found("Say it.", REPEAT, ref) == [(1, what)]


def test_constraints_that_exclude_each_other() -> None:
    def words(count: int, relation: str) -> tuple[str, dict[str, Any]]:
        return ("length_constraints:number_words", {"num_words": count, "relation": relation})

    assert found("Write.", words(300, "at least"), words(200, "less than")) == [
        (1, "length_constraints:number_words must be less than 200 and at least 300")
    ]
    assert found("Write.", words(100, "at least"), words(200, "less than")) == []
    assert found("Write.", ("startend:quotation", {}), ("startend:quotation", {})) == [
        (1, "startend:quotation stands twice with the same parameters (first at index 0)")
    ]
    assert found(
        "Write.",
        ("keywords:existence", {"keywords": ["cat"]}),
        ("keywords:forbidden_words", {"forbidden_words": ["cat"]}),
    ) == [(1, "'cat' is forbidden and asked for by keywords:existence")]
    assert found("Write.", ("punctuation:no_comma", {}), ("startend:end_checker", {"end_phrase": "Bye, then."})) == [
        (0, "commas are forbidden, and startend:end_checker asks for 'Bye, then.'")
    ]
    assert found("Write.", ("change_case:english_capital", {}), ("language:response_language", {"language": "fr"})) == [
        (1, "the answer must be in 'fr' and in English")
    ]
    assert found("Write.", ("change_case:english_capital", {}), ("change_case:english_lowercase", {})) == [
        (0, "the answer must be in capitals and in lower case")
    ]


def test_a_prompt_that_names_another_number() -> None:
    words = ("length_constraints:number_words", {"num_words": 336, "relation": "at least"})
    assert found("Use at least 400 words.", words) == [(0, "the prompt names 400 where num_words is 336")]
    assert found("Use 336+ words.", words) == []
    assert found("Use less than 336 words.", words) == [
        (0, "the prompt says less than 336, the parameters at least 336")
    ]
    bullets = ("detectable_format:number_bullet_lists", {"num_bullets": 3})
    assert found("Use exactly four bullet points.", bullets) == []  # one beside may be how "fewer than" is stored
    assert found("Use exactly five bullet points.", bullets) == [(0, "the prompt names 5 where num_bullets is 3")]


@with_data
def test_the_command_lists_them_and_looks_into_a_file(tmp_path: Path) -> None:
    run = CliRunner()
    known = run.invoke(command, ["suites", "--problems", "ifeval", "--json"])
    assert [row["key"] for row in json.loads(known.stdout)] == [problem.key for problem in problems("ifeval")]
    table = run.invoke(command, ["suites", "--problems", "ifbench"])
    assert "268" in table.stdout
    assert "allenai/IFBench#22" in table.stdout

    rows = [json.loads(line) for line in IFEVAL.read_text(encoding="utf-8").splitlines()]
    kept = [row for row in rows if row["key"] in {1000, 1627}]
    kept.append(kept[0] | {"key": 9, "instruction_id_list": ["startend:quotation"] * 2, "kwargs": [{}, {}]})
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    some = run.invoke(command, ["suites", "--problems", f"ifeval:{path}", "--json"])
    assert [(row["key"], row["index"]) for row in json.loads(some.stdout)] == [(1627, 2), (9, 1)]


def test_the_option_belongs_to_suites() -> None:
    refused = CliRunner().invoke(command, ["models", "--problems", "ifeval"])
    assert refused.exit_code != 0
    assert "goes with `adhere list suites`" in str(refused.exception)
