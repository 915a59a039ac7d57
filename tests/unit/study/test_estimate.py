"""What a study says that it will take: from what the probe drew, for as many processes as there will be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")

from tests.unit.study.test_plan import CODE, SPEC

from adhere.models.local.decoder.precision import Precisions
from adhere.study.design.estimate import Estimate, SuiteSize, estimate, timetable
from adhere.study.design.plan import Inputs, make_plan
from adhere.study.design.probe import VERSION, Probe, file_of, load_probe, mean, measure, threads_each
from adhere.study.design.spec import StudySpec
from adhere.study.design.tasks import Task, tasks_of
from adhere.suites.generated.core.slices import study_prompts

PROBE = Probe(
    VERSION,
    1,
    trained=150.0,
    read=400.0,
    drawn=200.0,
    evaluated_read=300.0,
    evaluated=100.0,
    prompt_tokens=60.0,
    answer_tokens=30.0,
    evaluated_tokens=25.0,
    seconds=5.0,
)


def said(start: Path, probe: Probe | None, *, jobs: int = 1) -> Estimate:
    return planned(start, probe, SPEC, SuiteSize(SPEC.evaluation.prompts, SPEC.evaluation.max_new_tokens), jobs=jobs)[0]


def planned(
    start: Path, probe: Probe | None, spec: StudySpec, size: SuiteSize, *, jobs: int = 1
) -> tuple[Estimate, str]:
    plan = make_plan(spec, {seed: Inputs(f"{seed}", f"{seed}a") for seed in spec.seeds}, Precisions(), CODE)
    tasks = tasks_of(spec, plan, start_sha256="w", suites={"": "s"})
    done = dict.fromkeys((one.name for one in tasks), False)
    found = estimate(spec, plan, tasks, done, start=start, probe=probe, jobs=jobs, suites={"": size})
    return found, found.describe(spec, plan)


def test_a_verdict_on_a_suite_is_planned_with_its_prompts_and_lengths(tiny_llama_dir: Path) -> None:
    spec = msgspec.structs.replace(
        SPEC, verdict=msgspec.structs.replace(SPEC.verdict, suite="ifeval:FILE", slice="all")
    )
    found, told = planned(tiny_llama_dir, PROBE, spec, SuiteSize(541, 1280))
    count = len(spec.seeds) * sum(not arm.is_start for arm in spec.arms) + any(arm.is_start for arm in spec.arms)
    assert f"  evaluate    {count} times 541 prompts of ifeval:FILE, answers of up to 1280 tokens, {count} left" in told
    assert "held-out prompts" not in told
    assert found.suites[""].minutes > 541 * count * 0.25 * 1280 / 100 / 60, (
        "answers are as long as the suite lets them be"
    )


def test_minutes_are_those_of_answers_as_long_as_the_start_models(tiny_llama_dir: Path) -> None:
    """An evaluation reads and answers every prompt; a pool reads a prompt once for all its draws."""
    found = said(tiny_llama_dir, PROBE)
    once = SPEC.evaluation.prompts * (60 / 300 + 25 / 100)
    assert found.suites[""].minutes == pytest.approx(found.suites[""].left * once / 60)
    first = found.pools[0]
    assert first.minutes == pytest.approx(SPEC.data.prompts * (60 / 400 + SPEC.data.draws * 30 / 200) / 60)
    assert found.minutes == pytest.approx(
        found.suites[""].minutes
        + sum(pool.minutes for pool in found.pools)
        + sum(cell.stage.minutes for cell in found.cells)
    )
    assert "answers as long as the start model's: 30 tokens drawn, 25 greedy" in found.source
    longer = said(tiny_llama_dir, msgspec.structs.replace(PROBE, answer_tokens=64.0, evaluated_tokens=64.0))
    assert longer.minutes > 1.3 * found.minutes


def test_two_processes_take_turns_at_what_is_ready(tiny_llama_dir: Path) -> None:
    one, two = said(tiny_llama_dir, PROBE), said(tiny_llama_dir, PROBE, jobs=2)
    assert one.minutes / 2 <= two.minutes < one.minutes
    assert two.memory_bytes == 2 * one.memory_bytes
    assert two.suites == one.suites, "parts are one process's"


def task(name: str, *needs: str) -> Task:
    return Task("pool", name, name, None, needs, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("left", "jobs", "minutes"),
    [
        ([(task("a"), 3.0), (task("b"), 2.0), (task("c"), 1.0)], 1, 6.0),
        ([(task("a"), 3.0), (task("b"), 2.0), (task("c"), 1.0)], 2, 3.0),
        ([(task("a"), 3.0), (task("b", "a"), 2.0), (task("c"), 1.0)], 2, 5.0),  # b waits for a
        ([(task("b", "done"), 2.0)], 3, 2.0),  # what is finished is no task any more
        ([(task("a", "b"), 3.0), (task("b"), 2.0)], 2, 5.0),  # whatever their order
        ([], 2, 0.0),
    ],
)
def test_the_timetable(left: list[tuple[Task, float]], jobs: int, minutes: float) -> None:
    assert timetable(left, jobs) == minutes


def test_a_probe_of_the_model_itself(tiny_llama_dir: Path) -> None:
    spec = msgspec.structs.replace(
        SPEC,
        threads=1,
        data=msgspec.structs.replace(SPEC.data, max_new_tokens=6),
        evaluation=msgspec.structs.replace(SPEC.evaluation, max_new_tokens=9),
    )
    found = measure(spec, study_prompts(0, 8), start=tiny_llama_dir, precisions=Precisions())
    assert 1 <= found.answer_tokens <= 6
    assert 1 <= found.evaluated_tokens <= 9
    assert found.prompt_tokens > 9
    assert min(found.trained, found.read, found.drawn, found.evaluated_read, found.evaluated) > 0


def test_a_probe_is_kept_for_as_many_processes_as_it_measured(tmp_path: Path) -> None:
    (tmp_path / file_of(1)).write_bytes(msgspec.json.encode(PROBE))
    assert load_probe(tmp_path) == PROBE
    assert load_probe(tmp_path, jobs=2) is None
    (tmp_path / file_of(1)).write_text('{"version": 1, "trained": 1.0, "drawn": 1.0, "evaluated": 1.0, "seconds": 1.0}')
    assert load_probe(tmp_path) is None, "of an earlier version: measured again"


def test_processes_are_averaged_and_share_the_threads() -> None:
    other = msgspec.structs.replace(PROBE, trained=50.0, seconds=9.0)
    found = mean([PROBE, other])
    assert (found.trained, found.drawn, found.seconds, found.version) == (100.0, 200.0, 9.0, VERSION)
    assert threads_each(msgspec.structs.replace(SPEC, threads=8), 3) == 2
    assert threads_each(msgspec.structs.replace(SPEC, threads=1), 3) == 1
