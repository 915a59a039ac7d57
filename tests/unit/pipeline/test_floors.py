"""Floors: what answerers without a model pass, beside every rate."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from adhere import suites
from adhere.cli import adhere
from adhere.constraints.published.judged.table import JUDGED
from adhere.pipeline.floors import ANSWERERS, BOTS, floor_of, floors_of, measure_floors, tallies_of
from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, Prompt, Response, Turn
from adhere.store.summary import Floor

DATA = Path(os.environ.get("ADHERE_DATA", "../shared/data"))
IFEVAL, IFBENCH = DATA / "ifeval" / "input_data.jsonl", DATA / "ifbench" / "IFBench_test.jsonl"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADHERE_CACHE", str(tmp_path / "cache"))


def _prompt(name: str, text: str, *refs: ConstraintRef, **tags: str) -> Prompt:
    return Prompt(id=name, turns=(Turn(text, refs),), source="test", tags=tags)


NO_COMMA = ConstraintRef("punctuation:no_comma")
NO_THANKS = ConstraintRef("keywords:forbidden_words", {"forbidden_words": ["thank"]})


def test_each_answerer_has_a_name_of_its_own_and_bots_are_among_them() -> None:
    names = [one.name for one in ANSWERERS]
    assert len(set(names)) == len(names)
    assert {one.name for one in BOTS} < set(names)


@pytest.mark.parametrize("text", ["", " ", "\n\n", "¿Qué?", "日本語で書いてください。", "a" * 10_000, "\ud800"])
def test_every_answerer_answers_any_prompt(text: str) -> None:
    for one in ANSWERERS:
        assert isinstance(one.answer(text), str)


def test_a_floor_counts_prompts_and_instructions_by_hand() -> None:
    prompts = [_prompt("a", "Say it, please.", NO_COMMA), _prompt("b", "Say it, please.", NO_COMMA, NO_THANKS)]
    rows = {row.answerer: row for row in measure_floors(prompts)}
    assert (rows["yes"].prompt_strict, rows["yes"].instruction_strict) == (1.0, 1.0)
    assert (rows["prompt"].prompt_strict, rows["prompt"].instruction_strict) == (0.0, 1 / 3)
    # "Thank you for asking" has no comma.
    assert (rows["thanks"].prompt_strict, rows["thanks"].instruction_strict) == (0.5, 2 / 3)
    assert rows["thanks"].kinds == {"keywords:forbidden_words": (0, 1), "punctuation:no_comma": (2, 2)}
    assert measure_floors(prompts)[0].answerer == "yes"


def test_what_only_a_model_judges_and_episodes_have_no_floor() -> None:
    judged = _prompt("a", "Be kind.", ConstraintRef(JUDGED, {"statement": "It is kind."}))
    episode = _prompt("b", "Buy it.", NO_COMMA, world="shop")
    rows = floors_of([judged, episode])
    assert {row.prompt_strict for row in rows} == {None}
    assert floor_of(tallies_of(rows, range(2))) is None


def test_an_undecided_prompt_counts_as_not_passed_for_every_answerer() -> None:
    at_random = ConstraintRef(
        "keywords:letter_frequency", {"letter": "#", "let_relation": "at least", "let_frequency": 4}
    )
    rows = measure_floors([_prompt("a", "Say it.", at_random), _prompt("b", "Say it.", NO_COMMA)])
    assert rows[0].prompts == 2
    assert rows[0].prompt_strict == 0.5


def test_slices_have_floors_of_their_own_and_shards_add_up() -> None:
    prompts = [
        _prompt("a", "Say it, please.", NO_COMMA, slice="one"),
        _prompt("b", "Say it, please.", NO_THANKS, slice="two"),
        _prompt(
            "c", "Use the word xylophone.", ConstraintRef("keywords:existence", {"keywords": ["zebra"]}), slice="two"
        ),
    ]
    responses = [Response(one.id, 0, 0, "Hello", "ok") for one in prompts]
    summary = summarize(prompts, 1, responses, [], ("one", "two"))
    assert summary.floor == Floor("yes", 2 / 3, 3) == summary.overall.floor
    assert summary.slices["one"].floor == Floor("yes", 1.0, 1)
    assert summary.slices["two"].floor == Floor("yes", 0.5, 2)
    from adhere.pipeline.summarize import summarize_shards

    shards = [
        summarize([one], 1, [response], [], keep_sums=True) for one, response in zip(prompts, responses, strict=True)
    ]
    assert summarize_shards(shards).floor == summary.floor


def test_a_floor_is_measured_once_and_read_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import adhere.pipeline.floors.stored as stored

    prompts = [_prompt("a", "Once only, please.", NO_COMMA)]
    first = floors_of(prompts)
    assert len(list((tmp_path / "cache" / "floors").iterdir())) == 1
    stored._memory.cache_clear()
    monkeypatch.setattr(stored, "measure_floors", _never)
    assert floors_of(prompts) == first
    with pytest.raises(AssertionError, match="measured again"):
        floors_of(prompts, mode="fixed")  # another judge, another file


def _never(*_: object, **__: object) -> list[object]:
    raise AssertionError("measured again")


def test_a_cache_of_another_kind_is_measured_again(tmp_path: Path) -> None:
    import adhere.pipeline.floors.stored as stored

    prompts = [_prompt("a", "Twice, please.", NO_COMMA)]
    first = floors_of(prompts)
    (file,) = (tmp_path / "cache" / "floors").iterdir()
    file.write_text("{}")
    stored._memory.cache_clear()
    assert floors_of(prompts) == first


def test_the_command_prints_a_list_best_first() -> None:
    done = CliRunner().invoke(adhere, ["floors", "core:x10", "--json"])
    rows = json.loads(done.output)
    assert len(rows) == len(ANSWERERS)
    assert {"answerer", "prompt_strict", "instruction_strict"} <= rows[0].keys()
    assert [row["prompt_strict"] for row in rows] == sorted((row["prompt_strict"] for row in rows), reverse=True)
    table = CliRunner().invoke(adhere, ["floors", "core:x10", "--kinds"]).output
    assert rows[0]["answerer"] in table
    assert "Always passed by somebody" in table


@pytest.mark.skipif(not IFEVAL.exists(), reason=f"{IFEVAL} is not there")
@pytest.mark.parametrize(
    ("name", "shares"),
    [
        (f"ifeval:{IFEVAL}", {"first line": 0.253, "prompt": 0.248, "42": 0.177, "yes": 0.113}),
        (f"ifbench:{IFBENCH}", {"yes": 0.370, "42": 0.360, "no": 0.330}),
        (f"m-ifeval:{DATA / 'm_ifeval' / 'es_input_data.jsonl'}", {"prompt": 0.191}),
        (f"m-ifeval:{DATA / 'm_ifeval' / 'fr_input_data.jsonl'}", {"prompt": 0.311}),
        (f"m-ifeval:{DATA / 'm_ifeval' / 'ja_input_data.jsonl'}", {"42": 0.250}),
    ],
)
def test_published_suites_have_the_floors_that_their_own_code_gives(name: str, shares: dict[str, float]) -> None:
    rows = {row.answerer: row for row in measure_floors(suites.load(name).prompts)}
    assert {who: round(rows[who].prompt_strict or 0.0, 3) for who in shares} == shares
    if "ifbench" in name:
        assert sum(passed == of for passed, of in rows["yes"].kinds.values()) == 19


def test_a_run_s_rate_stands_beside_its_floor(tmp_path: Path) -> None:
    done = CliRunner().invoke(
        adhere, ["eval", "scripted/echo", "--suite", "core:x10", "--out", str(tmp_path / "runs"), "--min-coverage", "0"]
    )
    assert done.exit_code == 0, done.output
    assert "floor" in done.output
    (summary,) = (tmp_path / "runs").rglob("summary.json")
    floor = json.loads(summary.read_text())["floor"]
    assert floor.keys() >= {"answerer", "rate"}
