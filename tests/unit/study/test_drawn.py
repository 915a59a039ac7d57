"""`[kinds]`: every seed draws its own kinds and prompts, and one answer comes of all of them."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write

from adhere.cli.report import command as report
from adhere.cli.reproduce import command as reproduce
from adhere.cli.study import command
from adhere.config import parse_toml
from adhere.constraints import registry
from adhere.errors import SpecError
from adhere.schema import decode
from adhere.study.design.check import validate
from adhere.study.design.inputs import held_out_suite
from adhere.study.design.spec import StudySpec
from adhere.study.drawn import seed_places, tuning_place
from adhere.study.outcome.result import DrawnResult

TEXT = """
name = "tiny"
start = "hf/START"
seeds = [0, 1, 2]
keep_weights = false
precision = "fp32"
reward = [{ kind = "dense", traps = true }]
data = { prompts = 8, draws = 2, max_new_tokens = 10, wordings = 1, limits = { per_prompt = 1 } }
evaluation = { new_topic = { single = 4 }, new_kind = { single = 3 }, max_new_tokens = 4 }
arms = [{ name = "start" }, { name = "sft", stages = ["sft"] }]
[kinds]
among = ["case:lower", "case:upper", "punctuation:no_commas", "startend:quotes", "format:title", "letters:avoid"]
trained = 2
untrained = 2
[stages]
sft = { method = "sft", epochs = 1, batch_rows = 8 }
[verdict]
question = "Does anything happen?"
treatment = "sft"
control = "start"
"""
SPEC = parse_toml(TEXT, StudySpec, name="tiny.toml")


def test_every_seed_draws_its_own_kinds_and_trains_none_that_is_held_out() -> None:
    validate(SPEC)
    assert SPEC.kinds is not msgspec.UNSET
    drawn = [SPEC.kinds.at(seed) for seed in range(40)]
    assert drawn == [SPEC.kinds.at(seed) for seed in range(40)], "the same seed draws the same"
    assert len({tuple(trained) for trained, _ in drawn}) > 3
    for trained, others in drawn:
        assert len(trained) == len(others) == 2
        assert not {*trained} & {*others}
        assert all(registry.get(kind).part == "train" for kind in trained)
    assert any(registry.get(kind).part == "held-out" for _, others in drawn for kind in others)


def test_each_seed_is_a_study_of_its_own() -> None:
    places = seed_places(SPEC, Path("out"), Path("r/tiny.tar.xz"))
    assert [one.directory for one in places] == [Path("out/seeds/0"), Path("out/seeds/1"), Path("out/seeds/2")]
    assert [one.records for one in places] == [Path(f"r/tiny-seed{n}.tar.xz") for n in range(3)]
    suites = [held_out_suite(one.spec) for one in places]
    assert len({suite.sha256 for suite in suites}) == 3, "no seed is asked what another was asked"
    for one, suite in zip(places, suites, strict=True):
        validate(one.spec)
        asked = {
            name: {p.constraints[0].id for p in suite.prompts if p.tags["slice"] == f"{name}/single"}
            for name in ("new-topic", "new-kind")
        }
        assert asked["new-topic"] <= {*one.spec.data.kinds}
        assert not asked["new-kind"] & {*one.spec.data.kinds}
    first = tuning_place(SPEC, Path("out"), None)
    assert first is not None
    assert first.spec.seeds == SPEC.seeds, "its plan is that of all seeds"
    assert tuning_place(msgspec.structs.replace(SPEC, kinds=msgspec.UNSET), Path("out"), None) is None


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("trained = 2", "trained = 5", "cannot be drawn from 6 kinds, of which 4 may be trained"),
        ("untrained = 2", "untrained = 5", "cannot be drawn"),
        ("untrained = 2", "", "go together"),
        ('"case:lower"', '"case:lowr"', "case:lowr"),
        ("new_topic = { single = 4 }", "new_topic = { single = 4, multiple = 1 }", "leave `multiple`"),
        ("wordings = 1", 'wordings = 1, kinds = ["case:lower"]', "drawn at every seed"),
        ("seeds = [0, 1, 2]", "seeds = [0, 1, 2]\nbudgets = [1, 2]", "at one budget"),
        ('control = "start"', 'control = "start"\njudge = "0123456789abcdef"', "every seed has prompts and verifiers"),
    ],
)
def test_kinds_that_cannot_be_drawn_are_refused(old: str, new: str, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        validate(parse_toml(TEXT.replace(old, new), StudySpec, name="tiny.toml"))


def test_a_spec_without_drawn_kinds_has_the_hash_that_it_had() -> None:
    plain = msgspec.structs.replace(
        SPEC, kinds=msgspec.UNSET, evaluation=msgspec.structs.replace(SPEC.evaluation, new_kind=msgspec.UNSET)
    )
    assert "kinds" not in msgspec.to_builtins(plain)
    assert "new_kind" not in msgspec.to_builtins(plain.evaluation)


def test_a_study_that_draws_kinds_is_not_registered(tmp_path: Path) -> None:
    file, out = tmp_path / "tiny.toml", tmp_path / "out"
    file.write_text(TEXT)
    refused = CliRunner().invoke(command, [str(file), "--out", str(out), "--register"])
    assert refused.exit_code
    assert "each seed stores its spec before it trains" in str(refused.exception)
    assert not out.exists()


def test_nothing_begun_is_said(tmp_path: Path, tiny_llama_dir: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TEXT.replace("START", str(tiny_llama_dir)))
    refused = CliRunner().invoke(command, [str(file), "--out", str(tmp_path / "none"), "--collect"])
    assert refused.exit_code
    assert "no seed was begun" in str(refused.exception)


def test_a_study_is_run_collected_reported_and_computed_again(tiny_llama_dir: Path, tmp_path: Path) -> None:
    file, out, records = tmp_path / "tiny.toml", tmp_path / "out", tmp_path / "tiny.tar.xz"
    file.write_text(TEXT.replace("START", str(tiny_llama_dir)))
    given = [str(file), "--out", str(out), "--records", str(records), "--json"]
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        part = CliRunner().invoke(command, [*given, "--seeds", "0,2"])
        assert part.exit_code == 0, part.output
        waiting = CliRunner().invoke(command, [*given[:3], "--collect", "--json"])
        assert waiting.exit_code == 0, waiting.output
        early = json.loads(waiting.stdout)
        assert early["missing"] == [1]
        assert "seeds 1 are not finished" in early["because"]
        whole = CliRunner().invoke(command, given)
    assert whole.exit_code == 0, whole.output
    found = msgspec.json.decode(whole.stdout, type=DrawnResult)
    assert [one.seed for one in found.seeds] == [0, 1, 2]
    assert found.primary.n_prompts == 21
    assert found.primary.n_seeds == 3
    assert len(found.left_out) == 3
    assert {one.slice for one in found.further} == {"new-topic", "new-kind"}
    assert {one.kind for one in found.kinds} <= {*SPEC.kinds.among}  # type: ignore[union-attr]
    assert sum(one.n_prompts for one in found.kinds) == 21
    assert decode((out / "drawn.json").read_bytes(), DrawnResult) == found
    page = (out / "report.html").read_text(encoding="utf-8")
    assert 'href="seeds/1/report.html"' in page
    told = CliRunner().invoke(report, [str(out)])
    assert told.exit_code == 0, told.output
    assert "Seeds and kinds are both samples: 3 seeds" in " ".join(told.output.split())
    committed = tmp_path / "committed"
    for seed in range(3):
        (committed / "seeds" / str(seed)).mkdir(parents=True)
        (committed / "seeds" / str(seed) / "result.json").write_bytes((out / f"seeds/{seed}/result.json").read_bytes())
        (committed / f"seeds/{seed}/records.tar.xz").write_bytes((tmp_path / f"tiny-seed{seed}.tar.xz").read_bytes())
    (committed / "drawn.json").write_bytes((out / "drawn.json").read_bytes())
    again = CliRunner().invoke(reproduce, [str(committed), "--json"])
    assert again.exit_code == 0, again.output
    assert json.loads(again.stdout)["differ"] == 0
    changed = json.loads((committed / "drawn.json").read_text())
    changed["kinds"][0]["difference"] += 0.1
    (committed / "drawn.json").write_text(json.dumps(changed))
    assert CliRunner().invoke(reproduce, [str(committed)]).exit_code == 1
