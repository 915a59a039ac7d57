"""The pool: what is in it passes, it is the same on every run, and what was touched or is missing is an error."""

from __future__ import annotations

import dataclasses
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from adhere.build.decontaminate.parts import decontaminate
from adhere.build.pool import FILES, Limits, Pool, build_pool, load_pool
from adhere.errors import ContaminationError, Incomplete, IntegrityError, RunMismatch, UsageError
from adhere.models.base import Request
from adhere.pipeline.check import check
from adhere.pipeline.judge import judge_text
from adhere.pipeline.reward import reward
from adhere.schema import ConstraintRef, Prompt, Response, Sampling, Turn
from adhere.store.run import Run
from adhere.suites.generated.core.suite import core
from adhere.suites.generated.core.training import training_prompts

SAMPLING = Sampling(temperature=1.0, seed=7)
PROMPTS = training_prompts(0, 60)


def build(model: Any, directory: Path, *, prompts: Any = PROMPTS, **changes: Any) -> Pool:
    return build_pool(model, prompts, directory=directory, **{"draws": 4, "sampling": SAMPLING, **changes})


def outcomes(row: Any, text: str) -> set[str]:
    refs = [ConstraintRef(name, params) for name, params in zip(row.instruction_id_list, row.kwargs, strict=True)]
    return {verdict.outcome for verdict in judge_text(text, refs, ("strict",))}


@pytest.fixture(scope="module")
def pool(fakes: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> Pool:
    directory = tmp_path_factory.mktemp("pool")
    contamination = decontaminate(PROMPTS, core(0).prompts)
    return build(fakes.FunctionModel(), directory, contamination=contamination, limits=Limits(2, 2))


def test_every_sft_row_and_every_chosen_passes_and_every_rejected_fails(pool: Pool) -> None:
    assert len(pool.sft) > 40
    assert len(pool.pairs) > 40
    assert all(outcomes(row, row.completion) == {"pass"} for row in pool.sft)
    assert all(outcomes(row, row.chosen) == {"pass"} for row in pool.pairs)
    assert all("fail" in outcomes(row, row.rejected) for row in pool.pairs)


def test_both_origins_occur_and_each_is_what_it_says(pool: Pool) -> None:
    written = {response.text for response in Run.load(pool.directory / "draws").responses() if response.status == "ok"}
    for origin in ("sampled", "repaired"):
        assert [row for row in pool.sft if row.origin == origin]
        assert [row for row in pool.pairs if row.origin == origin]
    assert all(row.completion in written for row in pool.sft if row.origin == "sampled")
    assert all(row.completion not in written for row in pool.sft if row.origin == "repaired")
    assert all(row.chosen in written for row in pool.pairs if row.origin == "sampled")


def test_repaired_pairs_are_only_of_prompts_without_a_sampled_one(pool: Pool) -> None:
    by_prompt: dict[str, set[str]] = {}
    for row in pool.pairs:
        by_prompt.setdefault(row.prompt_id, set()).add(row.origin)
    assert all(len(origins) == 1 for origins in by_prompt.values())


def test_all_rows_are_of_the_same_prompts(pool: Pool) -> None:
    prompts = {prompt.id: prompt for prompt in pool.prompts}
    for row in (*pool.sft, *pool.pairs, *pool.rl):
        prompt = prompts[row.prompt_id]
        assert row.prompt == prompt.text
        assert list(row.instruction_id_list) == [ref.id for ref in prompt.constraints]
        assert list(row.kwargs) == [ref.params for ref in prompt.constraints]
    assert [row.prompt_id for row in pool.rl] == [prompt.id for prompt in pool.prompts]


def test_rows_a_prompt_stay_within_the_limits_and_differ(pool: Pool) -> None:
    assert max(Counter(row.prompt_id for row in pool.sft).values()) == 2
    assert max(Counter(row.prompt_id for row in pool.pairs).values()) == 2
    assert len({(row.prompt_id, row.completion) for row in pool.sft}) == len(pool.sft)
    assert len({(row.prompt_id, row.rejected) for row in pool.pairs if row.origin == "sampled"}) == sum(
        row.origin == "sampled" for row in pool.pairs
    )


def test_rl_rows_hold_mean_and_unbiased_variance_of_the_judges_scores(pool: Pool) -> None:
    run = Run.load(pool.directory / "draws")
    prompts = {prompt.id: prompt for prompt in pool.prompts}
    scores: dict[str, list[float]] = {}
    for response in run.responses():
        score = reward(check(prompts[response.prompt_id], response, cut_answers="fail"), kind="dense")
        assert score is not None
        scores.setdefault(response.prompt_id, []).append(score)
    for row in pool.rl:
        assert row.draws == 4
        assert row.score_mean == pytest.approx(statistics.fmean(scores[row.prompt_id]))
        assert row.score_variance == pytest.approx(statistics.variance(scores[row.prompt_id]))
    assert any(row.score_variance > 0 for row in pool.rl)


def test_the_binary_reward_scores_whole_prompts(fakes: SimpleNamespace, tmp_path: Path) -> None:
    pool = build(fakes.FunctionModel(), tmp_path, reward="binary")
    assert {row.score_mean for row in pool.rl} <= {0, 0.25, 0.5, 0.75, 1}


def test_yields_add_up_and_name_what_is_unreachable(fakes: SimpleNamespace, tmp_path: Path, pool: Pool) -> None:
    plain = build(fakes.FunctionModel(), tmp_path, repair=False)
    assert all(row.origin == "sampled" for row in (*plain.sft, *plain.pairs))
    assert "structure:json_object" in plain.manifest.unreachable
    assert "structure:json_object" not in pool.manifest.unreachable
    for found in plain.manifest.kinds:
        assert found.judged == found.passed + found.failed + found.undecided == 4 * found.prompts
        assert (found.sft_sampled == 0) == (found.kind in plain.manifest.unreachable)
    for built in (plain, pool):
        assert built.manifest.rows == {
            "prompts.jsonl": len(built.prompts),
            "sft.jsonl": len(built.sft),
            "pairs.jsonl": len(built.pairs),
            "rl.jsonl": len(built.rl),
        }
        assert built.manifest.origins["sft"] == Counter(row.origin for row in built.sft)
        without = {prompt.id for prompt in built.prompts} - {row.prompt_id for row in built.sft}
        assert built.manifest.prompts_without_sft == len(without)


def test_the_ledger_counts_answers_and_tokens(pool: Pool) -> None:
    responses = Run.load(pool.directory / "draws").responses()
    assert pool.ledger.answers_generated == len(responses) == 4 * len(pool.prompts)
    assert pool.ledger.tokens_generated == sum(response.usage.completion_tokens or 0 for response in responses)
    assert pool.ledger.seconds > 0


def test_the_same_build_gives_the_same_bytes_and_another_seed_another_order(
    fakes: SimpleNamespace, tmp_path: Path
) -> None:
    first, second, third = (
        build(fakes.FunctionModel(), tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first.sha256 == second.sha256 != third.sha256
    for name in FILES:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert sorted(row.completion for row in first.sft) == sorted(row.completion for row in third.sft)


def test_a_limit_on_rows_is_shared_by_the_kinds(fakes: SimpleNamespace, tmp_path: Path) -> None:
    prompts = [prompt for prompt in training_prompts(0, 300) if len(prompt.constraints) == 1]
    whole = build(fakes.FunctionModel(), tmp_path / "whole", prompts=prompts, draws=2, limits=Limits(per_prompt=1))
    part = build(
        fakes.FunctionModel(),
        tmp_path / "part",
        prompts=prompts,
        draws=2,
        limits=Limits(1, 1, sft_rows=40, pair_rows=30),
    )
    assert (len(part.sft), len(part.pairs)) == (40, 30)
    reachable = {row.instruction_id_list[0] for row in whole.sft}
    counts = Counter(row.instruction_id_list[0] for row in part.sft)
    assert len(counts) == min(40, len(reachable))
    assert max(counts.values()) <= 2


def test_a_stored_pool_reads_back(pool: Pool) -> None:
    again = load_pool(pool.directory)
    assert dataclasses.asdict(again) == dataclasses.asdict(pool)
    assert again.sha256 == pool.sha256


@pytest.mark.parametrize("name", [*FILES, "manifest.json"])
def test_a_changed_file_is_refused(name: str, fakes: SimpleNamespace, tmp_path: Path) -> None:
    pool = build(fakes.FunctionModel(), tmp_path, prompts=PROMPTS[:12])
    path = pool.directory / name
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"draws":4', b'"draws":5') if name == "manifest.json" else data[:-2] + b" }\n")
    assert path.read_bytes() != data
    with pytest.raises(IntegrityError, match=name.replace(".", r"\.")):
        load_pool(tmp_path)
    path.unlink()
    with pytest.raises(IntegrityError, match="missing"):
        load_pool(tmp_path)


def test_failed_calls_leave_the_build_unfinished_and_the_next_one_asks_only_for_them(
    fakes: SimpleNamespace, tmp_path: Path
) -> None:
    def flaky(request: Request) -> Response:
        if request.draw == 1:
            return fakes.answer(request, "", "error", "out of luck")
        return fakes.everyday(request)

    with pytest.raises(Incomplete, match=r"60 of 240 answers are missing. The first error: out of luck"):
        build(fakes.FunctionModel(flaky), tmp_path)
    with pytest.raises(IntegrityError, match="no finished pool"):
        load_pool(tmp_path)
    model = fakes.FunctionModel()
    resumed = build(model, tmp_path)
    assert model.asked == 60
    assert resumed.sha256 == build(fakes.FunctionModel(), tmp_path / "at once").sha256
    again = fakes.FunctionModel()
    assert build(again, tmp_path).sha256 == resumed.sha256
    assert again.asked == 0
    assert load_pool(tmp_path).ledger.answers_generated == 240


KILLED = """
import runpy, sys, time
from pathlib import Path
from adhere.build.pool import build_pool
from adhere.schema import Sampling
from adhere.suites.generated.core.training import training_prompts
fakes = runpy.run_path(sys.argv[1])
def slow(request):
    time.sleep(0.01)
    return fakes["everyday"](request)
build_pool(fakes["FunctionModel"](slow), training_prompts(0, 60), directory=Path(sys.argv[2]), draws=4,
           sampling=Sampling(temperature=1.0, seed=7))
"""


def test_a_killed_build_goes_on_where_it_was(fakes: SimpleNamespace, tmp_path: Path) -> None:
    file = Path(__file__).with_name("function_model.py")
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file), str(tmp_path / "killed")])
    responses = tmp_path / "killed" / "draws" / "responses"
    deadline = time.monotonic() + 60
    while not any(segment.stat().st_size for segment in responses.glob("*.jsonl")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed" / "manifest.json").exists()
    model = fakes.FunctionModel()
    pool = build(model, tmp_path / "killed")
    assert 0 < model.asked < 240
    assert pool.sha256 == build(fakes.FunctionModel(), tmp_path / "whole").sha256


def test_draws_of_another_build_are_not_used(fakes: SimpleNamespace, tmp_path: Path) -> None:
    build(fakes.FunctionModel(), tmp_path)
    with pytest.raises(RunMismatch, match="draws"):
        build(fakes.FunctionModel(), tmp_path, draws=5)
    with pytest.raises(RunMismatch, match=r"prompts|suite_sha256"):
        build(fakes.FunctionModel(), tmp_path, prompts=PROMPTS[:20])


def test_near_duplicates_of_held_out_prompts_are_left_out_and_recorded(fakes: SimpleNamespace, tmp_path: Path) -> None:
    victim = PROMPTS[4]
    twin = Prompt(id="held-out", turns=(Turn(victim.text + " Thank you very much for it, dear friend of mine."),))
    pool = build(fakes.FunctionModel(), tmp_path, contamination=decontaminate(PROMPTS, [twin]))
    assert victim.id not in {prompt.id for prompt in pool.prompts}
    assert victim.id in pool.manifest.contamination.dropped_ids
    assert load_pool(tmp_path).manifest.contamination == pool.manifest.contamination


def test_an_overlap_of_the_parts_is_an_error(fakes: SimpleNamespace, tmp_path: Path) -> None:
    stolen = msgspec.structs.replace(core(0).prompts[0], id="planted")
    model = fakes.FunctionModel()
    prompts = [*PROMPTS, stolen]
    contamination = decontaminate(prompts, core(0).prompts)
    with pytest.raises(ContaminationError, match="planted"):
        build(model, tmp_path, prompts=prompts, contamination=contamination)
    assert model.asked == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draws": 1}, "draws=1 must be at least 2"),
        ({"prompts": []}, "No training prompts"),
        ({"prompts": [PROMPTS[0], PROMPTS[0]]}, "more than once"),
        ({"prompts": [Prompt(id="bare", turns=(Turn("Hello"),))]}, "'bare' has 1 turns, 0 constraints"),
        ({"limits": Limits(per_prompt=0)}, "per_prompt=0"),
    ],
)
def test_what_cannot_be_is_refused(
    changes: dict[str, Any], message: str, fakes: SimpleNamespace, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        build(fakes.FunctionModel(), tmp_path, **changes)
