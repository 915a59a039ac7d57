"""Areas of data in DATA.toml: each is made, judged by its own verifier, and says which it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from adhere import sandbox
from adhere.build.dataset.areas import SUITES
from adhere.build.dataset.make import build_dataset
from adhere.build.dataset.spec import Area, AreaSpec, DataSpec, Decontaminate, Queries, check_spec, load_spec
from adhere.build.transforms import Settings, transform
from adhere.constraints import from_ref
from adhere.errors import SpecError
from adhere.models.base import Request
from adhere.schema import ConstraintRef, Response, derive_seed, read_rows
from adhere.schema import Prompt as Asked
from adhere.suites.generated.family import registry
from unit.build.function_model import FunctionModel, answer, everyday

SPEC = DataSpec(
    model="function/everyday",
    queries=Queries(count=1),
    draws=2,
    repair=False,
    areas=tuple(AreaSpec(area, 4) for area in ("instructions", *SUITES, "cross-lingual", "system-prompts")),
    decontaminate=Decontaminate(against=()),
)
VERIFIERS: dict[Area, str] = {
    "coding": "code:passes", "structured-data": "exact:json", "reasoning": "answer:labelled", "maths": "answer:once",
    "long-answers": "length:between", "cross-lingual": "language:answer_in",
}  # fmt: skip


def solving(directory: Path) -> FunctionModel:
    """Every first draw is right where we know how: by the suites' own answers, and by the witness of a language."""
    known: dict[str, Asked] = {}
    answers: dict[str, str] = {}
    for area, suite in SUITES.items():
        seed = 1 + derive_seed(SPEC.seed, "area", area) % 2**30
        answers |= {one.prompt.text: one.answers[0] for one in registry.get(suite).stream(seed, 4)}

    def solve(request: Request) -> Response:
        if request.prompt_id not in known:
            for file in directory.rglob("prompts.jsonl"):
                known.update({prompt.id: prompt for prompt in read_rows(file, Asked)})
        prompt = known[request.prompt_id]
        if request.draw or not {"cross-lingual", *SUITES} & {prompt.tags["area"]}:
            return everyday(request)
        return answer(request, answers.get(prompt.text) or from_ref(prompt.constraints[0]).witness())

    return FunctionModel(solve)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("areas")
    build_dataset(SPEC, solving(directory), directory)
    return directory


def test_every_area_is_made_with_its_verifier(built: Path) -> None:
    rows = [json.loads(line) for line in (built / "rl.jsonl").read_text().splitlines()]
    by_area: dict[str, list[dict]] = {}
    for row in rows:
        by_area.setdefault(row["area"], []).append(row)
    assert {area: len(found) for area, found in by_area.items()} == {spec.area: 4 for spec in SPEC.areas}
    for area, verifier in VERIFIERS.items():
        assert any(verifier in row["instruction_id_list"] for row in by_area[area]), area
    languages = {row["kwargs"][0]["language"] for row in by_area["cross-lingual"]}
    assert "English" not in languages
    systems = [row["prompt"][0]["content"] for row in by_area["system-prompts"]]
    assert len(set(systems)) > 2
    sft = {json.loads(line)["area"] for line in (built / "sft.jsonl").read_text().splitlines()}
    # The suite's own long answers are one word over and over: of the length that is asked for, and no answer.
    assert sft >= {"cross-lingual", *SUITES} - {"coding", "long-answers"}
    if sandbox.run("def f(x):\n    return x", "f", [1]).status == "ok":
        assert "coding" in sft
    limits = {folder.name for folder in built.iterdir() if folder.name.startswith("draws") and folder.is_dir()}
    assert limits == {"draws", "draws-512", "draws-1024"}


def test_an_area_is_not_its_public_suite_and_the_same_seed_gives_the_same(tmp_path: Path) -> None:
    from adhere import suites
    from adhere.build.dataset.areas import draw_area

    one, most = draw_area(AreaSpec("reasoning", 6), name="a", seed=3)
    assert (len(one), most) == (6, 512)
    assert one == draw_area(AreaSpec("reasoning", 6), name="a", seed=3)[0]
    public = {prompt.text for prompt in suites.load("logic").prompts}
    assert not public & {prompt.text for prompt in one}


def test_the_example_names_every_area() -> None:
    spec = load_spec(Path(__file__).parents[3] / "examples" / "qwen2.5-areas.toml")
    assert {area.area for area in spec.areas} == set(get_args(Area))


def test_the_guide_s_table_has_the_nine_areas_and_each_one_s_verifier() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "build.md").read_text(encoding="utf-8")
    lines = guide.partition("| area of the report |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len(cells) == 9
    assert all(verifier and rest for _, _, verifier, rest in cells)
    made = [found[1] for _, here, *_ in cells if (found := re.match(r"`([a-z-]+)`", here))]
    assert set(made) == set(get_args(Area)), "each that can be made, and [filter] for the ninth"
    assert len(made) == 8


def test_areas_that_cannot_be_are_refused() -> None:
    with pytest.raises(SpecError, match="maths is named twice"):
        check_spec(msgspec.structs.replace(SPEC, areas=(AreaSpec("maths"), AreaSpec("maths"))))


def test_rows_are_put_under_varied_system_prompts() -> None:
    ref = ConstraintRef("case:lower")
    row = {
        "prompt": "Say hello.", "completion": "hello", "instruction_id_list": [ref.id], "kwargs": [{}], "prompt_id": "p", "turn": 0,
        "origin": "sampled",
    }  # fmt: skip
    made = transform("system_prompts", [row] * 40, "sft", Settings(options={"count": 2, "plain": 0.5})).rows
    plain = [one for one in made if one["prompt"] == "Say hello."]
    assert 8 < len(plain) < 32
    dressed = [one for one in made if one not in plain]
    assert len(dressed) == 80
    assert len({one["prompt"][0]["content"] for one in dressed}) > 60
    assert all(one["prompt"][1]["content"] == "Say hello." and one["kwargs"] == [{}] for one in dressed)
    refused = transform("system_prompts", [dressed[0]], "sft").left_out
    assert refused == [(1, "it has a system turn already")]
