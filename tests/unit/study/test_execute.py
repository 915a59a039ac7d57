"""A whole study of a tiny random model: prepared, run, run again, changed, broken, packed and carried on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="a study needs the train extra")
pytest.importorskip("transformers", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write

from adhere.cli.study import command
from adhere.config import parse_toml
from adhere.errors import UsageError
from adhere.lines.workers import Shard
from adhere.progress import Silent
from adhere.report.study.html import study_html
from adhere.report.study.text import study_text
from adhere.schema import decode
from adhere.study.design import identity
from adhere.study.design.check import validate
from adhere.study.design.frozen import load_frozen
from adhere.study.design.spec import ContrastSpec, StudySpec, TuneSpec
from adhere.study.jobs import run_jobs
from adhere.study.outcome import collect
from adhere.study.outcome.answer import study_answer
from adhere.study.outcome.collect import same_result
from adhere.study.outcome.contrast import contrast
from adhere.study.outcome.result import StudyResult
from adhere.study.prepared import PreparedStudy, prepare
from adhere.study.run import work
from adhere.study.run.cells import CellRecord
from adhere.study.run.measured import Measurement
from adhere.study.run.records import pack, unpack

TEXT = """
name = "tiny"
start = "hf/START"
seeds = [0, 1]
keep_weights = false
precision = "fp32"
shown_prompts = 2
keep_answers = true
data = { prompts = 14, draws = 2, max_new_tokens = 14, kinds = ["case:lower", "case:upper", "punctuation:no_commas", "startend:quotes"], wordings = 1, limits = { per_prompt = 1 } }
resample = { after = "sft", prompts = 12, draws = 2, limits = { per_prompt = 1 } }
evaluation = { new_topic = { single = 8, multiple = 2 }, new_wording = { single = 2 }, new_family = { single = 2 }, max_new_tokens = 10 }
arms = [
  { name = "start" },
  { name = "sft", stages = ["sft"] },
  { name = "grpo", stages = ["sft", "grpo"] },
  { name = "online", stages = ["sft", "online"] },
]
[stages]
sft = { method = "sft", epochs = 1, batch_rows = 4, learning_rate = 1e-3 }
grpo = { method = "grpo", steps = 2, prompts_per_step = 3, answers_per_prompt = 4, max_new_tokens = 10, learning_rate = 1e-3 }
online = { method = "online-dpo", steps = 2, prompts_per_step = 3, answers_per_prompt = 4, max_new_tokens = 10, equal_compute_to = "grpo" }
[verdict]
question = "Does anything happen?"
treatment = "grpo"
control = "online"
[[verdict.secondary]]
treatment = "sft"
control = "start"
"""


@pytest.fixture(scope="module", autouse=True)
def drawn_by_somebody_who_can_write() -> Iterator[None]:
    """A random model's answers are no words, so nothing could be learnt: pools are drawn from a function.

    All else is real.
    """
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        yield


@pytest.fixture(scope="module")
def spec(tiny_llama_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> StudySpec:
    published = tmp_path_factory.mktemp("published") / "four.jsonl"
    kinds = ["punctuation:no_comma", "change_case:english_lowercase", "startend:quotation", "punctuation:no_comma"]
    published.write_text(
        "".join(
            f'{{"key": {key}, "prompt": "Say {kind}.", "instruction_id_list": ["{kind}"], "kwargs": [{{}}]}}\n'
            for key, kind in enumerate(kinds)
        )
    )
    found = parse_toml(TEXT.replace("START", str(tiny_llama_dir)), StudySpec, name="tiny.toml")
    on = msgspec.structs.replace(found.evaluation, suites=[f"ifeval:{published}"], suite_tokens={"ifeval": 8})
    found = msgspec.structs.replace(found, evaluation=on)
    validate(found)
    return found


@pytest.fixture(scope="module")
def finished(spec: StudySpec, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyResult]:
    directory = tmp_path_factory.mktemp("study")
    return directory, prepare(spec, directory).run()


def copied(finished: tuple[Path, StudyResult], tmp_path: Path) -> Path:
    shutil.copytree(finished[0], tmp_path / "copy")
    return tmp_path / "copy"


def refuse(*_: object) -> None:
    raise AssertionError("nothing was left to do")


def test_everything_is_done_and_answered(finished: tuple[Path, StudyResult]) -> None:
    directory, result = finished
    assert result.failures == []
    assert result.seeds_finished == [0, 1]
    assert result.verdict.scope == "method"
    assert result.verdict.withheld == []
    assert [(pool.seed, pool.source) for pool in result.data] == [
        (0, "the start model"),
        (0, "the model after sft"),
        (1, "the start model"),
        (1, "the model after sft"),
    ]
    assert len({pool.sha256 for pool in result.data}) == 4, "every seed draws its own data"
    assert set(result.data[0].contamination["shared"].values()) == {0}
    assert all(one.within for one in result.matched), "equal compute by construction"
    assert {score.slice for score in result.scores} == {
        "all",
        "new-topic/single",
        "new-topic/multiple",
        "new-wording/single",
        "new-family/single",
    }
    assert list(directory.glob("cells/*/model")) == [], "weights that nothing needs any more are deleted"
    for file in (directory / "evaluations").glob(
        "*.json"
    ):  # by prompt, as contrasts count, and by the run's own summary
        one = decode(file.read_bytes(), Measurement)
        counted = [score.guard for score in result.scores if (score.arm, score.seed) == (one.arm, one.seed)]
        if not one.suite and counted:
            stored = one.summary.overall.guard
            assert counted[0].sound_share == pytest.approx(stored.sound_share)
            assert counted[0].form_share == pytest.approx(stored.form_share)
    assert {guard.name: guard.outcome for guard in result.guards}["perplexity"] in {"holds", "undecided", "violated"}
    assert study_answer(result).seeds == 2
    assert result.verdict.headline.split(",")[0] in study_text(result)
    assert result.verdict.question in study_html(result)


def test_published_suites_are_measured_for_every_arm_and_seed(
    finished: tuple[Path, StudyResult], spec: StudySpec
) -> None:
    directory, _ = finished
    prepared = prepare(spec, directory)
    (found,) = collect._Records(prepared).on_suites(prepared).items()
    name, evaluations = found
    assert name == "ifeval"
    assert len(evaluations.prompts) == 4
    for arm in ("start", "sft", "grpo", "online"):
        for seed in (0, 1):
            run = evaluations.of(arm, seed)
            assert run is not None
            assert [outcome is not None for outcome in run.passes] == [True] * 4
            assert run.summary.overall.instruction_strict.n == 4
            assert (run.engine.precision, run.suite, run.plain) == ("fp32", "ifeval", None)
    found = contrast(ContrastSpec("grpo", "online"), evaluations, spec.verdict, role="secondary")
    assert (found.n_prompts, found.n_seeds, found.coverage) == (4, 2, 1.0)
    assert "ifeval" in prepared.describe()


def test_a_missing_file_of_a_suite_stops_before_anything_is_begun(spec: StudySpec, tmp_path: Path) -> None:
    for suite, reason in (("ifeval:nowhere.jsonl", "nowhere.jsonl"), ("iffeval:x", "ifeval")):
        wrong = msgspec.structs.replace(spec, evaluation=msgspec.structs.replace(spec.evaluation, suites=[suite]))
        with pytest.raises(UsageError, match=reason):
            prepare(wrong, tmp_path / "study")
    assert not (tmp_path / "study").exists()


def test_weights_that_were_changed_are_refused_by_what_would_start_from_them(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One flipped bit of a parent: its children are not trained, and the message says which cell to remove."""
    kept = msgspec.structs.replace(
        spec,
        seeds=[0],
        keep_weights=True,
        resample=None,
        arms=[spec.arm("start"), spec.arm("sft"), spec.arm("grpo")],
        verdict=msgspec.structs.replace(spec.verdict, treatment="grpo", control="sft", secondary=[]),
        evaluation=msgspec.structs.replace(spec.evaluation, suites=[], suite_tokens={}),
    )
    train = work._DO["cell"]

    def flip(prepared: PreparedStudy, task: work.Task, progress: object) -> None:
        train(prepared, task, progress)  # type: ignore[arg-type]
        if task.item.path == ("sft",):  # type: ignore[union-attr]
            weights = next((prepared.directory / "cells").glob("sft-s0-*/model/*.safetensors"))
            data = bytearray(weights.read_bytes())
            data[-1] ^= 1
            weights.write_bytes(data)

    monkeypatch.setattr(work, "_DO", {**work._DO, "cell": flip})
    result = prepare(kept, tmp_path).run()
    assert {line.split("-s0-")[0] for line in result.failures} == {"sft", "sft+grpo"}
    assert all("weights of cell sft-s0-" in line and "Remove" in line for line in result.failures)
    monkeypatch.setattr(work, "_DO", {**work._DO, "cell": train})
    shutil.rmtree(next((tmp_path / "cells").glob("sft-s0-*")))
    assert prepare(kept, tmp_path).run().failures == [], "the remedy is the one that the message names"


def test_running_it_again_changes_nothing(
    finished: tuple[Path, StudyResult], spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copied(finished, tmp_path)
    before = (directory / "result.json").read_bytes()
    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, refuse))
    again = prepare(spec, directory).probed().run(command="another command")
    assert (directory / "result.json").read_bytes() == before
    assert again == finished[1]
    assert again.minutes > 0


def test_a_changed_contrast_retrains_nothing_and_is_shown(
    finished: tuple[Path, StudyResult], spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = copied(finished, tmp_path)
    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, refuse))
    changed = msgspec.structs.replace(spec, verdict=msgspec.structs.replace(spec.verdict, slice="new-topic"))
    result = prepare(changed, directory).run()
    (change,) = result.changes
    assert change.evaluations == 14, "seven on the study's own prompts, seven on the published ones"
    assert change.fields == ["verdict.slice: all → new-topic"]
    assert "after results were there" in study_html(result)
    assert study_answer(result).changed_after_results
    assert result.spec_sha256 == finished[1].spec_sha256, "the hash is that of the frozen spec"


def test_records_carry_a_study_on(
    finished: tuple[Path, StudyResult], spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pack(finished[0], tmp_path / "records.tar.xz") < 60_000
    unpack(tmp_path / "records.tar.xz", tmp_path / "there")
    kept = {file.name.removesuffix(".jsonl.xz") for file in (tmp_path / "there" / "answers").iterdir()}
    assert kept == {file.stem for file in (tmp_path / "there" / "evaluations").iterdir()}, "every answer is in them"
    monkeypatch.setattr(work, "_DO", dict.fromkeys(work._DO, refuse))
    assert prepare(spec, tmp_path / "there").run() == finished[1]


def test_a_study_is_put_together_where_libraries_and_code_are_others(
    finished: tuple[Path, StudyResult], spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(finished[0], tmp_path / "records.tar.xz")
    there = tmp_path / "there"
    unpack(tmp_path / "records.tar.xz", there)
    known = {library: version(library) for library in identity.LIBRARIES}
    monkeypatch.setattr(identity, "version", lambda library: known[library] + "+other")
    prepared = prepare(spec, there)
    assert "not used    14 evaluations" in prepared.describe(), "run here, all would be done again"
    result = prepare(spec, there, as_stored=True).result(progress=Silent())
    assert same_result(result, finished[1])
    (there / "result.json").unlink()
    monkeypatch.setattr("adhere.study.design.check.load_study", lambda *_, **__: spec)
    asked = [str(tmp_path / "spec.toml"), "--out", str(there), "--collect"]
    told = CliRunner().invoke(command, [*asked, "--json"])
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["difference"] == finished[1].verdict.primary.difference
    assert (there / "report.html").exists()
    with pytest.raises(UsageError, match="leave --plan and --shard out"):
        CliRunner().invoke(command, [*asked, "--plan"], catch_exceptions=False)
    tuned = msgspec.structs.replace(spec, tune=TuneSpec(grid={"grpo": {"learning_rate": [1e-4, 1e-3]}}))
    monkeypatch.setattr("adhere.study.design.check.load_study", lambda *_, **__: tuned)
    with pytest.raises(UsageError, match="settings are not chosen yet"):
        CliRunner().invoke(command, asked, catch_exceptions=False)
    added = msgspec.structs.replace(spec, stages={**spec.stages, "dpo": {"method": "dpo"}})
    with pytest.raises(UsageError, match="did not note the code of 'train dpo'"):
        prepare(added, there, as_stored=True)
    with pytest.raises(UsageError, match="no study that was begun"):
        prepare(spec, tmp_path / "empty", as_stored=True)


def test_a_failed_cell_is_named_and_withholds_the_answer(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(prepared: PreparedStudy, task: work.Task, progress: object) -> None:
        if task.name.startswith("sft+online-s1"):
            raise RuntimeError("out of luck")
        train(prepared, task, progress)  # type: ignore[arg-type]

    train = work._DO["cell"]
    monkeypatch.setattr(work, "_DO", {**work._DO, "cell": fail})
    result = prepare(spec, tmp_path).run()
    assert [line.split(":")[0].rpartition("-")[0] for line in result.failures] == ["sft+online-s1"]
    assert "out of luck" in result.failures[0]
    assert result.seeds_finished == [0]
    assert result.verdict.answer == "INCONCLUSIVE"
    assert "1 of 2 seeds are finished" in result.verdict.because
    assert {score.arm for score in result.scores if score.seed == 1} == {"sft", "grpo"}
    assert {cost.arm for cost in result.arm_costs if cost.seed == 1} == {"start", "sft", "grpo"}, "no part of a cost"
    monkeypatch.setattr(work, "_DO", {**work._DO, "cell": train})
    assert prepare(spec, tmp_path).run().failures == []


def test_shards_make_the_same_study(finished: tuple[Path, StudyResult], spec: StudySpec, tmp_path: Path) -> None:
    first = prepare(spec, tmp_path).run(shard=Shard(2, 2))
    assert "1 of 2 seeds are finished (not yet: 0)" in first.verdict.because
    assert first.seeds_finished == [], "the start model belongs to the first shard"
    whole = run_jobs(prepare(spec, tmp_path), shard=Shard(1, 2), jobs=1, progress=Silent(), command="")
    assert whole.scores == finished[1].scores
    assert whole.contrasts == finished[1].contrasts


def test_low_coverage_and_mixed_engines_withhold_the_answer(
    finished: tuple[Path, StudyResult], spec: StudySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory, _ = finished
    prepared = prepare(spec, directory)
    real = work.load_measured

    def other(where: Path, name: str, key: str):  # type: ignore[no-untyped-def]
        found = real(where, name, key)
        if found is None or not name.startswith("grpo-s0"):
            return found
        return msgspec.structs.replace(
            found, passes=[None, *found.passes[1:]], engine=msgspec.structs.replace(found.engine, precision="bf16")
        )

    monkeypatch.setattr(work, "load_measured", other)
    said = collect.make_result(prepared, parameters=1, command="").verdict
    assert said.answer == "INCONCLUSIVE"
    assert any("of the prompts were measured by every compared arm, 99% are needed" in text for text in said.withheld)
    assert any("not made by one engine" in text and "bf16" in text for text in said.withheld)


def test_what_it_computes_in_is_frozen(finished: tuple[Path, StudyResult]) -> None:
    frozen = load_frozen(finished[0])
    assert frozen is not None
    assert (frozen.resolved.training, frozen.resolved.rollouts) == ("fp32", "fp32")


def test_tokens_that_nobody_counted_are_not_zero(
    finished: tuple[Path, StudyResult], spec: StudySpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = work.load_manifest

    def uncounted(folder: Path):  # type: ignore[no-untyped-def]
        found = real(folder)
        return msgspec.structs.replace(found, ledger=msgspec.structs.replace(found.ledger, tokens_generated=None))

    monkeypatch.setattr(work, "load_manifest", uncounted)
    result = collect.make_result(prepare(spec, finished[0]), parameters=1, command="")
    assert {pool.tokens_generated for pool in result.data} == {None}
    assert {cost.tokens_generated for cost in result.arm_costs if cost.arm != "start"} == {None}
    assert "None" not in study_text(result)
    assert "None" not in study_html(result).replace("None of", "")


def test_online_merging_keeps_what_was_learned_since_the_studys_start(spec: StudySpec, tmp_path: Path) -> None:
    """`base = "start"`: another path would be a machine's own, and has no place in a study file."""
    online = 'online = { method = "online-dpo",'
    assert online in TEXT
    text = TEXT.replace(online, online + " merging = { p = P, alpha = ALPHA },")
    text = text.replace("seeds = [0, 1]", "seeds = [0]").replace("START", spec.start.removeprefix("hf/"))
    few = "prompts_per_step = 3, answers_per_prompt = 4, max_new_tokens = 10"
    assert text.count(few) == 2
    text = text.replace(
        few, "prompts_per_step = 12, answers_per_prompt = 16, max_new_tokens = 32"
    )  # some answers end, and differ in score
    kept = {}
    for p, alpha in (("1.0", "0.0"), ("0.5", "0.01")):
        merged = parse_toml(text.replace("ALPHA", alpha).replace("= P,", f"= {p},"), StudySpec, name="tiny.toml")
        result = prepare(merged, tmp_path / p).run()
        assert result.failures == []
        (file,) = (tmp_path / p / "cells").glob("*online-*/cell.json")
        record = msgspec.json.decode(file.read_bytes(), type=CellRecord)
        kept[p] = record.weights_sha256
        assert record.settings["merging"]["base"] == "start"
    assert kept["1.0"] != kept["0.5"]


@pytest.mark.slow
def test_two_processes_share_one_directory(spec: StudySpec, tmp_path: Path) -> None:
    """Pools are drawn from the random model itself here, which may leave nothing to learn from.

    Then that is what is named.
    """
    rich = msgspec.structs.replace(spec, data=msgspec.structs.replace(spec.data, prompts=60, draws=6))
    result = run_jobs(prepare(rich, tmp_path), shard=Shard(), jobs=2, progress=Silent(), command="")
    assert result.seeds_finished == [0, 1] or all("no rows to train on" in line for line in result.failures)
