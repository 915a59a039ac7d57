"""Side measures of a study.

Files of other harnesses joined to arms and seeds, after the fact, without training anything.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")

from click.testing import CliRunner, Result
from tests.unit.pipeline.test_sides import choice_row, document, lm_eval, passes, write
from tests.unit.report.study_factory import changed, study

from adhere.cli import adhere
from adhere.errors import IntegrityError
from adhere.models.local.decoder.precision import Precisions
from adhere.report.study.html import study_html
from adhere.report.study.markdown import study_markdown
from adhere.report.study.text import study_text
from adhere.report.study.xlsx import sheets
from adhere.schema import decode, encode, write_atomic
from adhere.study.design.check import load_study
from adhere.study.design.frozen import freeze
from adhere.study.outcome.result import SeedEstimate, StudyResult
from adhere.study.outcome.sides import FILE, load_sides, with_sides
from adhere.study.run.records import pack, unpack

TEXT = """
name = "quickstart"
start = "local/smollm2-135m"
seeds = [0, 1]
evaluation = { new_topic = { single = 8 } }
arms = [
  { name = "start" }, { name = "sft", stages = ["sft"] }, { name = "sft+dpo", stages = ["sft", "dpo"] },
  { name = "sft+dpo+online-dpo", stages = ["sft", "dpo", "online-dpo"] }, { name = "sft+dpo+grpo", stages = ["sft", "dpo", "grpo"] },
]
[stages]
sft = { method = "sft" }
dpo = { method = "dpo" }
grpo = { method = "grpo" }
online-dpo = { method = "online-dpo" }
[verdict]
question = "?"
treatment = "sft+dpo+grpo"
control = "CONTROL"
"""
TREATMENT, ONLINE, START = "sft+dpo+grpo", "sft+dpo+online-dpo", "start"
ITEMS = 1500


def folder(arm: str, seed: int, key: str = "0123456789") -> str:
    return f"{arm}-s{seed}-{key}"


class Stored:
    """A finished study on disk, of which only records are left, and what lm-eval wrote of its checkpoints."""

    def __init__(self, home: Path, *, control: str = ONLINE, answer: str = "YES") -> None:
        self.home, self.directory, self.control = home, home / "study", control
        self.spec = home / "study.toml"
        self.spec.write_text(TEXT.replace("CONTROL", control))
        spec = load_study(self.spec)
        self.directory.mkdir()
        freeze(spec, self.directory, precisions=Precisions(), evaluations=0)
        each = [SeedEstimate(seed, 0.45, 0.4, 0.05, 31, 20) for seed in (0, 1)]
        made = study(seeds=2)
        primary = changed(made.verdict.primary, control=control, low=0.02, high=0.08, by_seed=each)
        headline = f"{answer}, about the methods, over 2 seeds: +5.0 points [+2.0, +8.0] on 220 prompts"
        verdict = changed(made.verdict, answer=answer, headline=headline, primary=primary)
        self.result = changed(
            made,
            spec=msgspec.to_builtins(spec),
            verdict=verdict,
            contrasts=[primary],
            warnings=[],
            shown=[],
            cells={f"{arm} (seed {seed})": folder(arm, seed) for arm in (TREATMENT, ONLINE) for seed in (0, 1)},
        )
        self.store(self.result)

    def store(self, result: Any) -> None:
        write_atomic(self.directory / "result.json", encode(result))

    def measured(self, name: str, count: int, *, task: str = "arc", harness: str = "lm") -> Path:
        """What lm-eval says of a model called `name`: so many of ITEMS passed."""
        rows = [choice_row(number, passed) for number, passed in enumerate(passes(count, ITEMS))]
        return lm_eval(self.home / harness, name, {task: rows})

    def cells(self, counts: Sequence[int] = (900, 900, 900, 900), **more: Any) -> Path:
        """Both arms at both seeds, by the directories of their weights."""
        arms = [TREATMENT, TREATMENT, self.control, self.control]
        for arm, seed, count in zip(arms, (0, 1, 0, 1), counts, strict=True):
            path = self.measured(f"studies/quickstart/cells/{folder(arm, seed)}/model", count, **more)
        return path

    def run(self, *options: str | Path) -> Result:
        return CliRunner().invoke(adhere, ["study", str(self.spec), "--out", str(self.directory), *map(str, options)])

    def joined(self) -> StudyResult:
        return decode((self.directory / "result.json").read_bytes(), StudyResult)


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stored:
    monkeypatch.setattr("adhere.study.prepared.prepare", untouched)
    return Stored(tmp_path)


def untouched(*_: Any, **__: Any) -> None:
    raise AssertionError("joining files prepares, trains and evaluates nothing")


def error(ran: Result) -> str:
    assert ran.exit_code != 0
    return f"{ran.output} {ran.exception}"


def test_better_at_following_not_worse_at_the_rest(stored: Stored) -> None:
    ran = stored.run("--side", stored.cells(), "--json")
    assert ran.exit_code == 0, ran.output
    said = json.loads(ran.stdout)
    assert said["sides"] == {"arc": "holds"}
    assert said["headline"].endswith("on 220 prompts; better at following, not worse at arc")
    result = stored.joined()
    assert result.sides is not None
    (test,) = result.sides.tests
    assert (test.n, test.value_a, test.value_b, test.margin) == (ITEMS, 0.6, 0.6, 0.02)
    assert result.sides.seeds == [0, 1]
    assert result.sides.models[f"{TREATMENT} (seed 1)"] == [
        f"lm-eval: studies/quickstart/cells/{folder(TREATMENT, 1)}/model"
    ]
    page, text, paper = study_html(result), " ".join(study_text(result).split()), study_markdown(result)
    line = (
        "better at following (+5.0 points, interval +2.0…+8.0), not worse at the rest (1 side task, "
        "each within its margin)"
    )
    assert "Better at following, not worse at arc." in page
    assert line in text
    assert "Not worse at the rest?" in page
    assert "## Not worse at the rest?" in paper
    assert "| arc | 1,500 | 0 |" in paper
    assert sheets(result)["sides"][1][:2] == ["arc", "lm-eval"]
    stored.run("--side", stored.home / "lm")
    assert stored.joined().verdict.headline == result.verdict.headline, "said once, however often files are joined"


def test_worse_at_something_is_said_and_the_headline_claims_nothing(stored: Stored) -> None:
    stored.cells()
    ran = stored.run("--side", stored.cells((600, 595, 900, 900), task="gsm"))
    assert ran.exit_code == 0, ran.output
    result = stored.joined()
    assert result.sides is not None
    assert {side.task: side.outcome for side in result.sides.tests} == {"arc": "holds", "gsm": "violated"}
    assert result.verdict.headline == stored.result.verdict.headline
    assert result.not_worse == ""
    assert "worse at gsm" in " ".join(ran.stdout.split())
    assert "The gain may have cost something else: worse at gsm by more than the margin." in study_html(result)


@pytest.mark.parametrize("answer", ["INCONCLUSIVE", "EQUIVALENT", "NO"])
def test_not_worse_without_better_is_no_headline(tmp_path: Path, answer: str) -> None:
    stored = Stored(tmp_path, answer=answer)
    ran = stored.run("--side", stored.cells())
    assert ran.exit_code == 0, ran.output
    result = stored.joined()
    assert result.sides is not None
    assert result.sides.tests[0].outcome == "holds"
    assert "better at following, not worse" not in result.verdict.headline
    if answer != "NO":
        assert "following undecided, not worse at the rest" in " ".join(ran.stdout.split())


def test_the_start_model_counts_at_every_seed(tmp_path: Path) -> None:
    stored = Stored(tmp_path, control=START)
    for seed in (0, 1):
        stored.measured(f"cells/{folder(TREATMENT, seed)}/model", 900)
    ran = stored.run("--side", stored.measured("/models/smollm2-135m", 900))
    assert ran.exit_code == 0, ran.output
    sides = stored.joined().sides
    assert sides is not None
    assert sides.models[START] == ["lm-eval: /models/smollm2-135m"]
    assert sides.cells[START] == ""
    assert sides.tests[0].n == ITEMS


def test_a_checkpoint_that_is_missing_is_named_with_where_it_lies(stored: Stored) -> None:
    path, before = stored.cells(), (stored.directory / "result.json").read_bytes()
    shutil.rmtree(path / f"studies__quickstart__cells__{folder(TREATMENT, 1)}__model")
    said = error(stored.run("--side", path))
    assert f"{TREATMENT} (seed 1): no side measure" in said
    assert f"cells/{folder(TREATMENT, 1)}/model" in said
    assert f"--called '{TREATMENT} (seed 1)=NAME'" in said
    assert not (stored.directory / FILE).exists()
    assert (stored.directory / "result.json").read_bytes() == before


def test_two_models_that_fit_one_checkpoint_are_refused_until_it_is_called(stored: Stored) -> None:
    path = stored.cells()
    again = f"elsewhere/{folder(TREATMENT, 0)}"
    stored.measured(again, 880)
    said = error(stored.run("--side", path))
    assert "lm-eval has several models called alike" in said
    assert f"--called '{TREATMENT} (seed 0)=NAME'" in said
    ran = stored.run("--side", path, "--called", f"{TREATMENT} (seed 0)={again}")
    assert ran.exit_code == 0, ran.output
    sides = stored.joined().sides
    assert sides is not None
    assert sides.models[f"{TREATMENT} (seed 0)"] == [f"lm-eval: {again}"]
    assert "no compared checkpoint is called so" in error(stored.run("--side", path, "--called", "grpo=x"))


def test_one_file_is_never_two_checkpoints(stored: Stored) -> None:
    """A harness that keeps only the last part of a path calls every checkpoint `model`."""
    path = stored.measured("model", 900)
    called = [
        part for arm in (TREATMENT, ONLINE) for seed in (0, 1) for part in ("--called", f"{arm} (seed {seed})=model")
    ]
    assert f"lm-eval's model fits {TREATMENT} (seed 0) and {TREATMENT} (seed 1)" in error(
        stored.run("--side", path, *called)
    )


def test_a_task_that_one_checkpoint_lacks_is_refused(stored: Stored) -> None:
    stored.cells()
    path = stored.measured(f"studies/quickstart/cells/{folder(TREATMENT, 0)}/model", 900, task="gsm", harness="more")
    said = error(stored.run("--side", stored.home / "lm", "--side", path))
    assert "lm-eval gsm is there for sft+dpo+grpo (seed 0) and not for" in said
    assert "give only the files that are to count" in said


def test_margins_are_the_studys_and_a_later_change_is_recorded(stored: Stored) -> None:
    path = stored.cells((870, 870, 900, 900))
    stored.run("--side", path)
    first = stored.joined()
    assert first.sides is not None
    assert first.sides.tests[0].outcome == "undecided"
    stored.spec.write_text(stored.spec.read_text() + "[guards]\nside = 0.1\n")
    stored.run("--side", path)
    second = stored.joined()
    assert second.sides is not None
    assert (second.sides.margin, second.sides.tests[0].outcome) == (0.1, "holds")
    (change,) = second.changes
    assert change.evaluations > 0
    assert change.fields == ["guards.side: 0.02 → 0.1"]
    stored.spec.write_text(stored.spec.read_text() + "words = 0.5\n")
    assert "Run the study first, without --side" in error(stored.run("--side", path))


def test_sides_of_other_seeds_or_margins_do_not_stay(stored: Stored) -> None:
    stored.run("--side", stored.cells())
    result, sides = stored.joined(), load_sides(stored.directory)
    assert sides is not None
    assert with_sides(stored.result, sides) == result, "a later collection of the study finds them again"
    primary = changed(result.verdict.primary, by_seed=result.verdict.primary.by_seed[:1])
    fewer = with_sides(changed(stored.result, verdict=changed(stored.result.verdict, primary=primary)), sides)
    assert fewer.sides is None
    assert "other seeds. Join the files again with --side" in fewer.warnings[-1]
    retrained = with_sides(changed(result, cells={name: f"{cell}x" for name, cell in result.cells.items()}), sides)
    assert retrained.sides is None
    assert retrained.verdict.headline == stored.result.verdict.headline
    assert "other checkpoints" in retrained.warnings[-1]
    assert with_sides(retrained, sides).warnings == retrained.warnings


def test_an_older_result_finds_its_cells_on_disk_unless_there_are_two(stored: Stored) -> None:
    record = {
        "key": "k", "method": "sft", "settings": {}, "parent": None, "pools_sha256": [], "weights_sha256": "w",
        "rows": 1, "ledger": {},
        "log": [],
    }  # fmt: skip
    stages = stored.result.arm_stages
    stored.store(changed(stored.result, cells={}))
    for arm in (TREATMENT, ONLINE):
        for seed in (0, 1):
            document(
                stored.directory / "cells" / folder(arm, seed) / "cell.json",
                record | {"path": stages[arm], "seed": seed},
            )
    path = stored.cells()
    assert stored.run("--side", path).exit_code == 0
    assert stored.joined().sides is not None
    twice = record | {"path": stages[TREATMENT], "seed": 1}
    document(stored.directory / "cells" / folder(TREATMENT, 1, "ffffffffff") / "cell.json", twice)
    assert f"{TREATMENT} (seed 1) was trained more than once" in error(stored.run("--side", path))


def test_records_hold_the_sides(stored: Stored, tmp_path: Path) -> None:
    stored.run("--side", stored.cells())
    pack(stored.directory, tmp_path / "records.tar.xz")
    unpack(tmp_path / "records.tar.xz", tmp_path / "there")
    assert load_sides(tmp_path / "there") == load_sides(stored.directory)
    write(tmp_path / "there" / FILE, {"version": 1})
    with pytest.raises(IntegrityError, match="Remove it, and join the files again"):
        load_sides(tmp_path / "there")


def test_nothing_is_joined_to_nothing(stored: Stored, tmp_path: Path) -> None:
    path = stored.cells()
    said = error(
        CliRunner().invoke(adhere, ["study", str(stored.spec), "--out", str(tmp_path / "none"), "--side", str(path)])
    )
    assert "holds no result of a study" in said
    assert "leave --plan and --shard out" in error(stored.run("--side", path, "--plan"))
