"""A study under the guards of training.

What breaks a comparison fails its cell by name, what an arm did to itself is noted.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch", reason="a study needs the train extra")
transformers = pytest.importorskip("transformers", reason="a study needs the train extra")

from tests.unit.study.drawn import draw_from_somebody_who_can_write  # noqa: E402

from adhere.build.pool import load_pool  # noqa: E402
from adhere.config import parse_toml  # noqa: E402
from adhere.errors import IntegrityError, RunMismatch, SpecError, UsageError  # noqa: E402
from adhere.models.local.decoder.decode import Decoder  # noqa: E402
from adhere.models.local.transformers import weights_sha256  # noqa: E402
from adhere.progress import Silent  # noqa: E402
from adhere.report.study.html import study_html  # noqa: E402
from adhere.report.study.markdown import study_markdown  # noqa: E402
from adhere.report.study.text import study_text  # noqa: E402
from adhere.report.study.xlsx import sheets  # noqa: E402
from adhere.schema import decode, encode  # noqa: E402
from adhere.study.design import identity  # noqa: E402
from adhere.study.design.check import validate  # noqa: E402
from adhere.study.design.plan import pool_folder  # noqa: E402
from adhere.study.design.spec import StudySpec  # noqa: E402
from adhere.study.outcome.collect import notes_of  # noqa: E402
from adhere.study.outcome.result import StudyResult  # noqa: E402
from adhere.study.prepared import PreparedStudy, prepare  # noqa: E402
from adhere.study.run.cells import CellRecord, drop_weights, load_cell, trained_weights  # noqa: E402
from adhere.study.run.training import train_cell  # noqa: E402
from adhere.study.run.work import State  # noqa: E402
from adhere.train.budget.ledger import StageResult  # noqa: E402
from adhere.train.stage import scoring  # noqa: E402
from adhere.train.stage.guards import Guards, GuardStop  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

TEXT = """
name = "guarded"
start = "hf/START"
precision = "fp32"
shown_prompts = 1
data = { prompts = 14, draws = 2, max_new_tokens = 14, kinds = ["case:lower", "case:upper", "punctuation:no_commas", "startend:quotes"], wordings = 1, limits = { per_prompt = 1 } }
evaluation = { new_topic = { single = 4, multiple = 1 }, new_wording = { single = 1 }, new_family = { single = 1 }, max_new_tokens = 6 }
arms = [{ name = "sft", stages = ["sft"] }, { name = "wild", stages = ["wild"] }, { name = "grpo", stages = ["sft", "grpo"] }]
[stages]
sft = { method = "sft", epochs = 1, batch_rows = 4, learning_rate = 1e-3 }
wild = { method = "sft", epochs = 3, batch_rows = 4, learning_rate = 1e30, schedule = "constant", warmup_share = 0.0 }
grpo = { method = "grpo", steps = 3, prompts_per_step = 2, answers_per_prompt = 2, max_new_tokens = 4 }
[verdict]
question = "Does a wild rate help?"
treatment = "wild"
control = "sft"
[[verdict.secondary]]
treatment = "grpo"
control = "sft"
"""


@pytest.fixture(scope="module", autouse=True)
def drawn_by_somebody_who_can_write() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        draw_from_somebody_who_can_write(patch)
        yield


@pytest.fixture(scope="module")
def spec(tiny_llama_dir: Path) -> StudySpec:
    found = parse_toml(TEXT.replace("START", str(tiny_llama_dir)), StudySpec, name="guarded.toml")
    validate(found)
    return found


@pytest.fixture(scope="module")
def ran(spec: StudySpec, tmp_path_factory: pytest.TempPathFactory) -> tuple[PreparedStudy, StudyResult]:
    prepared = prepare(spec, tmp_path_factory.mktemp("guarded"))
    return prepared, prepared.run()


def test_a_loss_that_is_no_number_fails_its_cell_and_the_verdict_says_which(
    ran: tuple[PreparedStudy, StudyResult],
) -> None:
    result = ran[1]
    (failure,) = result.failures
    assert failure.startswith("wild-s0-")
    assert "Divergence: sft: the" in failure
    assert result.verdict.answer == "INCONCLUSIVE"
    assert "wild-s0-" in result.verdict.because
    assert "failed with Divergence" in result.verdict.because
    assert {score.arm for score in result.scores} == {"sft", "grpo"}, "the rest of the study went on"
    assert result.contrasts[1].difference is not None
    assert result.cells == {
        f"{arm} (seed 0)": cell.folder
        for cell in ran[0].plan.cells
        for arm, path in (("sft", ("sft",)), ("grpo", ("sft", "grpo")))
        if cell.path == path
    }, "each evaluated checkpoint can be found"


def test_what_an_arm_did_to_itself_is_a_note_of_its_cell_on_every_page(ran: tuple[PreparedStudy, StudyResult]) -> None:
    """A random model never ends an answer: all are cut, from the first step on."""
    result = ran[1]
    note = next(one for one in result.notes if one.column == "truncated_share")
    assert (note.cell, note.seed, note.first, note.bad, note.steps) == ("sft+grpo", 0, 3, 3, 3)
    said = (
        "sft+grpo (seed 0): answers cut at the limit, above 20 % in 3 of 3 steps; "
        "adhere train would have stopped at step 3."
    )
    assert said in " ".join(study_html(result).split())
    assert said in " ".join(study_text(result).split())
    assert "Noted in training: sft+grpo (seed 0): answers cut at the limit" in study_markdown(result)
    rows = [str(row[1]) for row in sheets(result)["answer"] if row[0] == "noted in training"]
    assert any(" ".join(row.split()).startswith(said) for row in rows)


def test_a_cell_that_was_trained_before_there_were_guards_is_read_and_noted_alike(
    ran: tuple[PreparedStudy, StudyResult],
) -> None:
    prepared, result = ran
    cell = next(one for one in prepared.plan.cells if one.path == ("sft", "grpo"))
    record = load_cell(prepared.directory, cell)
    assert record is not None
    assert notes_of(decode(encode(record), CellRecord)) == result.notes
    assert "notes" not in record.__struct_fields__, "notes follow from the log: nothing more is stored"


def only(spec: StudySpec, *arms: str) -> StudySpec:
    kept = [arm for arm in spec.arms if arm.name in arms]
    rule = msgspec.structs.replace(spec.verdict, treatment=arms[0], control=arms[1], secondary=[])
    return msgspec.structs.replace(spec, arms=kept, verdict=rule)


def test_answers_that_the_judge_cannot_decide_fail_the_cell(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "reward_of", lambda *_, **__: None)
    result = prepare(only(spec, "grpo", "sft"), tmp_path).run()
    (failure,) = result.failures
    assert "sft+grpo-s0-" in failure
    assert "GuardStop: sft+grpo (seed 0), step 1: unmeasured_share is 1.00, above 0.1" in failure
    assert "guards =" not in failure, "that key is a recipe's"
    assert {score.arm for score in result.scores} == {"sft"}


def test_what_a_checkpoint_hid_from_the_guards_is_seen_at_the_end(
    ran: tuple[PreparedStudy, StudyResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that goes on from a checkpoint tells its observer of the later steps only."""
    prepared, _ = ran
    cell = next(one for one in prepared.plan.cells if one.path == ("sft", "grpo"))
    stored = load_cell(prepared.directory, cell)
    assert stored is not None
    grpo = STAGES.get("grpo")

    def quiet(model: Any, tokenizer: Any, rows: Any, settings: Any, **given: Any) -> Any:
        broken: list[dict[str, float | None]] = [dict(row) | {"unmeasured_share": 0.5} for row in stored.log]  # type: ignore[arg-type]
        return StageResult(broken, stored.ledger)

    monkeypatch.setitem(STAGES._things, "grpo", grpo._replace(run=quiet))
    pools = [load_pool(pool_folder(prepared.directory, prepared.plan.pool(key))) for key in cell.pools]
    with pytest.raises(GuardStop, match=r"sft\+grpo \(seed 0\), step 1: unmeasured_share"):
        train_cell(
            prepared.spec,
            cell,
            pools,
            start=prepared.start,
            origin=prepared.start,
            into=tmp_path,
            matched_ledgers=[],
            precisions=prepared.resolved,
            progress=Silent(),
        )


def test_the_policy_of_a_comparison_stops_what_breaks_it_and_notes_the_rest() -> None:
    guards = Guards("grpo", "compare")
    for step in range(1, 5):
        guards.see({"step": step, "frac_zero_variance": 1.0, "truncated_share": 1.0})
    assert [warning.split(":")[1].split()[0] for warning in guards.warnings] == [
        "truncated_share",
        "frac_zero_variance",
    ]
    with pytest.raises(GuardStop, match="unmeasured_share"):
        guards.see({"step": 5, "unmeasured_share": 0.2})
    for step in range(6, 8):
        guards.see({"step": step, "importance_cut_share": 0.3})
    with pytest.raises(GuardStop, match="importance_cut_share"):
        guards.see({"step": 8, "importance_cut_share": 0.3})


def test_out_of_memory_halves_the_micro_batches_once_and_keeps_the_cells_key(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage, tried = STAGES.get("sft"), list[int]()

    def hungry_at_first(model: Any, tokenizer: Any, rows: Any, settings: Any, **given: Any) -> Any:
        tried.append(settings.tree_tokens)
        if len(tried) == 1:
            torch.empty(10**15)
        return stage.run(model, tokenizer, rows, settings, **given)

    monkeypatch.setitem(STAGES._things, "sft", stage._replace(run=hungry_at_first))
    small = only(spec, "grpo", "sft")
    prepared = prepare(small, tmp_path)
    assert prepared.run().failures == []
    assert tried == [512, 256]
    cell = next(one for one in prepared.plan.cells if one.path == ("sft",))
    record = load_cell(tmp_path, cell)
    assert record is not None
    assert record.settings["tree_tokens"] == 256, "the record says what it was trained with"


def test_out_of_memory_twice_fails_the_cell_with_the_estimate(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hungry(*_: Any, **__: Any) -> Any:
        torch.empty(10**15)

    monkeypatch.setitem(STAGES._things, "grpo", STAGES.get("grpo")._replace(run=hungry))
    result = prepare(only(spec, "grpo", "sft"), tmp_path).run()
    (failure,) = result.failures
    assert "ResourceError: sft+grpo (seed 0) ran out of memory, also with micro-batches of 256 tokens" in failure
    assert "GB on cpu by estimate" in failure


def test_an_evaluation_without_memory_fails_by_name_and_is_done_again(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once such answers were stored as errors, and 213 of 300 prompts were missing from every arm without a word."""
    decode = Decoder.decode

    def hungry(self: Decoder, rows: Any, **settings: Any) -> Any:
        if settings["max_new_tokens"] == spec.evaluation.max_new_tokens:
            raise torch.OutOfMemoryError("no memory is left")
        return decode(self, rows, **settings)

    small = only(spec, "grpo", "sft")
    with monkeypatch.context() as patched:
        patched.setattr(Decoder, "decode", hungry)
        failures = prepare(small, tmp_path).run().failures
    assert len(failures) == 2
    assert all("no memory is left" in failure for failure in failures)
    assert not list((tmp_path / "evaluations").glob("*.json"))
    assert prepare(small, tmp_path).run().failures == []


def test_evaluations_of_another_torch_are_named_before_all_is_done_again(
    spec: StudySpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Records from another machine were passed over in silence, and the study began anew."""
    small = only(spec, "grpo", "sft")
    prepared = prepare(small, tmp_path)
    prepared.run()
    assert "not used" not in prepare(small, tmp_path).describe()
    monkeypatch.setattr(identity, "version", lambda library: f"{library} of tomorrow")
    told = prepare(small, tmp_path).describe().splitlines()[-1]
    assert told.startswith(
        f"  not used    2 evaluations in {tmp_path} of other seeds, settings, code or libraries (torch 2"
    )
    next((tmp_path / "evaluations").glob("grpo*.json")).write_text("{}")
    assert "(torch unknown; here 2" in prepare(small, tmp_path).describe()


def with_template(directory: Path, into: Path, template: str | None) -> Path:
    shutil.copytree(directory, into, dirs_exist_ok=True)
    (into / "chat_template.jinja").unlink(missing_ok=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(into)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(into)
    return into


TURN = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ' ' + m['content'] + 'END' }}{% endfor %}{% if "
    "add_generation_prompt %}{{ '<|im_start|>assistant ' }}{% endif %}"
)


def test_the_chat_template_is_looked_at_before_anything_is_drawn(
    spec: StudySpec, tiny_llama_dir: Path, tmp_path: Path
) -> None:
    def study(template: str | None, place: str = "start") -> PreparedStudy:
        start = with_template(tiny_llama_dir, tmp_path / place, template)
        return prepare(msgspec.structs.replace(spec, start=f"hf/{start}"), tmp_path / f"study-{place}")

    with pytest.raises(UsageError, match="no chat template"):
        study(None, "bare").begin()
    given = prepare(
        msgspec.structs.replace(spec, start=f"hf/{tmp_path / 'bare'}", template="chatml"), tmp_path / "given"
    )
    given.begin()
    assert given.start == tmp_path / "given" / "templated"
    with pytest.raises(UsageError, match="leaves the prompt out"):
        study("{{ '<|im_start|>assistant' }}", "deaf").begin()
    prepared = study(TURN)
    prepared.begin()
    (warning,) = prepared.result(progress=Silent()).warnings
    assert "END" in warning
    study(TURN).begin()
    with pytest.raises(RunMismatch, match="begun with another chat template"):
        study(TURN.replace("END", "STOP")).begin()


REPORT = """
arms = [
  { name = "sft", stages = ["sft"] },
  { name = "report", stages = ["sft", "dpo", "judge", "grpo"] },
  { name = "verifiable", stages = ["sft", "dpo", "judge", "plain"] },
]
[stages]
sft = { method = "sft", epochs = 1, batch_rows = 4, learning_rate = 1e-3 }
dpo = { method = "dpo", batch_pairs = 2, merging = { p = 0.5, alpha = 1e-6 } }
judge = { method = "reward-model", labels = "criteria", epochs = 1, batch_pairs = 2 }
grpo = { method = "grpo", reward = "model", steps = 2, prompts_per_step = 2, answers_per_prompt = 2, max_new_tokens = 4 }
plain = { method = "grpo", steps = 2, prompts_per_step = 2, answers_per_prompt = 2, max_new_tokens = 4, learning_rate = 1e-4, lora = { rank = 2 } }
[verdict]
question = "Does the recipe of the report help?"
treatment = "report"
control = "sft"
"""


def test_the_recipe_of_the_report_is_an_arm(
    tiny_llama_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Online merging, a reward model on the six criteria and GRPO under it, and an adapter, as in a recipe."""
    text = TEXT.replace("START", str(tiny_llama_dir))
    text = text[: text.index("arms = ")] + REPORT
    with pytest.raises(SpecError, match="'grpo' has reward = 'model', and no stage before it trains a reward model"):
        validate(parse_toml(text.replace('"dpo", "judge", "grpo"', '"dpo", "grpo"'), StudySpec, name="s.toml"))
    with pytest.raises(SpecError, match=r"stages.sft.reward: 'sft' draws no answers"):
        validate(
            parse_toml(
                text.replace("epochs = 1, batch_rows", 'reward = "model", epochs = 1, batch_rows'),
                StudySpec,
                name="s.toml",
            )
        )
    spec = parse_toml(text, StudySpec, name="s.toml")
    validate(spec)
    labels: list[Any] = []
    judge = STAGES.get("reward-model")

    def seen(model: Any, tokenizer: Any, rows: Any, settings: Any, **given: Any) -> Any:
        labels.extend(row.criteria for row in rows)
        return judge.run(model, tokenizer, rows, settings, **given)

    monkeypatch.setitem(STAGES._things, "reward-model", judge._replace(run=seen))
    asked: list[Path] = []
    made = scoring.learned_scorer

    def noting(rows: Any, directory: Path, **more: Any) -> Any:
        asked.append(directory)
        return made(rows, directory, **more)

    monkeypatch.setattr(scoring, "learned_scorer", noting)
    prepared = prepare(spec, tmp_path)
    result = prepared.run()
    assert result.failures == []
    assert labels
    assert all(set(one) == {"helpfulness", "conciseness"} for one in labels), "rated by programs"
    cells = {cell.path[-1]: cell for cell in prepared.plan.cells}
    assert asked == [tmp_path / "cells" / cells["judge"].folder / "reward-model"]
    record = load_cell(tmp_path, cells["dpo"])
    assert record is not None
    assert "merging_lost_share" in record.log[0]
    assert (tmp_path / "cells" / cells["plain"].folder / "adapter" / "adapter_model.safetensors").exists()
    assert cells["plain"].key != cells["grpo"].key
    judged = load_cell(tmp_path, cells["judge"])
    assert judged is not None
    file = asked[0] / "model.safetensors"
    assert judged.artefact_sha256 == weights_sha256(asked[0])
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    with pytest.raises(IntegrityError, match="were changed after they were trained"):
        trained_weights(tmp_path, cells["judge"], "reward-model")
    assert State(tmp_path, prepared.tasks).is_needed(cells["judge"].folder) is False
    drop_weights(tmp_path, cells["judge"])
    assert not asked[0].exists()
