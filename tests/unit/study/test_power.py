"""The power of designs: parts that are known come back, and the power is what simulated studies have."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from adhere.stats import fit_crossed
from adhere.study.outcome.designs import EFFECTS, KNOWN, Components
from adhere.study.outcome.power import components_of, design_of, parts_of, power_of, power_table
from adhere.study.run.records import unpack
from command_line import run_here

STUDIES = Path(__file__).parents[3] / "docs" / "studies"
PARTS = Components("made up", 0.02**2, 0.05**2, 0.3**2, 1.0, 60.0)


def drawn(rng: np.random.Generator, seeds: int, queries: int, value: float = 0.0) -> np.ndarray:
    seed = rng.normal(0, PARTS.seed**0.5, (seeds, 1))
    query = rng.normal(0, PARTS.query**0.5, (1, queries))
    return value + seed + query + rng.normal(0, PARTS.noise**0.5, (seeds, queries))


def test_the_parts_of_a_large_study_come_back() -> None:
    fit = fit_crossed(drawn(np.random.default_rng(0), 200, 4000), rates=False)
    assert fit is not None
    found = parts_of(fit, name="x", minutes_per_seed=None)
    assert found.seed == pytest.approx(PARTS.seed, rel=0.2)
    assert found.query == pytest.approx(PARTS.query, rel=0.1)
    assert found.noise == pytest.approx(PARTS.noise, rel=0.01)


@pytest.mark.parametrize(("seeds", "prompts"), [(5, 200), (10, 500)])
def test_the_power_is_that_of_simulated_studies(seeds: int, prompts: int) -> None:
    design, effect = design_of(PARTS, seeds=seeds, prompts=prompts), 0.05
    rng = np.random.default_rng(1)
    fits = [fit_crossed(drawn(rng, seeds, prompts, effect), rates=False) for _ in range(400)]
    shown = np.mean([fit is not None and fit.interval().low > 0 for fit in fits])
    assert power_of(design, effect) == pytest.approx(shown, abs=0.08)
    assert power_of(design, design.detectable()) == pytest.approx(0.8, abs=1e-6)


def test_more_seeds_and_prompts_and_larger_effects_have_more_power() -> None:
    rows = {(row.seeds, row.prompts): row for row in power_table(PARTS)}
    assert rows[20, 500].power[2] > rows[5, 500].power[2] > rows[3, 500].power[2]
    assert rows[5, 2000].detectable < rows[5, 200].detectable
    assert all(list(row.power) == sorted(row.power) for row in rows.values())
    assert rows[5, 500].hours == 5.0


@pytest.mark.parametrize("known", KNOWN, ids=lambda one: one.name)
def test_the_guesses_are_those_of_the_committed_studies(known: Components) -> None:
    found = components_of(STUDIES / known.name)
    for name in ("seed", "query", "noise", "prompts_per_query", "minutes_per_seed"):
        assert getattr(found, name) == pytest.approx(getattr(known, name), rel=1e-3, abs=1e-9), name


def test_the_command_tells_a_table_and_draws_a_picture(tmp_path: Path) -> None:
    ran = run_here("study", "--power", STUDIES / "study-4", "--out", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "study-4" in ran.stdout
    assert "<svg" in (tmp_path / "power.html").read_text()
    guess = json.loads(run_here("study", "--power", "--json").stdout)
    assert guess[0]["is_guess"] is True
    assert len(guess[0]["designs"][0]["power"]) == len(EFFECTS)
    assert run_here("study", "--power", tmp_path).returncode == 2


def test_a_spec_adds_its_own_design_by_a_guess_or_its_own_pilot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spec = STUDIES / "study-4" / "study.toml"
    guess = run_here("study", "--power", spec, "--json")
    assert guess.returncode == 0, guess.stderr
    table = json.loads(guess.stdout)[0]
    assert table["is_guess"] is True
    assert (table["designs"][0]["seeds"], table["designs"][0]["prompts"]) == (10, 1000)
    pilot = tmp_path / "studies" / "study-4"
    pilot.mkdir(parents=True)
    for name in ("result.json", "records.tar.xz"):
        shutil.copy(STUDIES / "study-4" / name, pilot)
    (table,) = json.loads(run_here("study", "--power", spec, "--json").stdout)
    assert (table["is_guess"], table["components"]["name"]) == (False, "study-4")
    unpack(pilot / "records.tar.xz", pilot)  # a study's folder before its records are packed
    (pilot / "records.tar.xz").unlink()
    assert json.loads(run_here("study", "--power", spec, "--json").stdout) == [table]
    assert "10 seeds, 1000 prompts" in run_here("study", "--power", spec, "--out", tmp_path).stdout
    assert run_here("study", "--power", tmp_path / "no.toml").returncode == 2
    one_seed = run_here("study", "--power", STUDIES.parents[1] / "examples" / "quickstart.toml")
    assert one_seed.returncode == 2
    assert "quickstart has one seed" in one_seed.stderr


def test_one_file_is_asked_for() -> None:
    assert "Give one STUDY.toml" in run_here("study").stderr
