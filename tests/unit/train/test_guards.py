"""What stops a training run that is being wasted: each guard trips where it should, and nowhere else."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere import suites  # noqa: E402
from adhere.errors import ContaminationError, Divergence, ResourceError, RunMismatch, UsageError  # noqa: E402
from adhere.train.checkpoint import keeping  # noqa: E402
from adhere.train.methods import sft as sft_module  # noqa: E402
from adhere.train.methods.sft import SftSettings, sft  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.data import load_rows  # noqa: E402
from adhere.train.recipe.run import plan_recipe, run_recipe  # noqa: E402
from adhere.train.stage import scoring  # noqa: E402
from adhere.train.stage.guards import GUARDS, Guards, GuardStop, find_repeats, heed, template_trouble  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

ROOT = Path(__file__).parents[3]
DATA = ROOT / "examples" / "smoke-data"
SFT = StageSpec("sft", {"epochs": 1, "learning_rate": 1e-3})
TURN = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ' ' + m['content'] + 'END' }}{% endfor %}{% if "
    "add_generation_prompt %}{{ '<|im_start|>assistant ' }}{% endif %}"
)


def recipe(*stages: StageSpec, **more: Any) -> Recipe:
    given = {"start": "random/2m", "data": str(DATA), "precision": "fp32"} | more
    return Recipe("r", stages or (SFT,), **given)


def with_template(directory: Path, into: Path, template: str | None) -> str:
    """A copy of a model whose tokenizer has another chat template, or none."""
    shutil.copytree(directory, into)
    (into / "chat_template.jinja").unlink(missing_ok=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(into)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(into)
    return f"hf/{into}"


@pytest.mark.parametrize(
    ("column", "above", "steps", "said"),
    [
        ("truncated_share", 0.2, 3, "Raise it"),
        ("frac_zero_variance", 0.8, 3, "nothing to learn from"),
        ("unmeasured_share", 0.1, 1, "could not decide"),
        ("merging_lost_share", 0.9, 3, "mode = 'released'"),
        ("importance_cut_share", 0.2, 3, "rollout_precision = 'fp32'"),
    ],
)
def test_a_guard_trips_above_its_limit_and_not_at_it(column: str, above: float, steps: int, said: str) -> None:
    assert column in {guard.column for guard in GUARDS}
    at = Guards("grpo", "stop")
    for step in range(10):
        at.see({"step": step, column: above})
    over = Guards("grpo", "stop")
    for step in range(1, steps):
        over.see({"step": step, column: above + 0.01})
    with pytest.raises(GuardStop, match=rf"grpo, step {steps}: {column} is {above + 0.01:.2f}, above {above}.*{said}"):
        over.see({"step": steps, column: above + 0.01})


@pytest.mark.parametrize("mode", ["paper", "released"])
def test_a_merging_that_drops_the_optimizers_steps_is_stopped(tmp_path: Path, mode: str) -> None:
    """As the paper writes it a step is p times as long: SFT with p = 0.01 stood still, and nothing said so."""
    merging = {"p": 0.01, "alpha": 0.0, "mode": mode}
    asked = recipe(StageSpec("sft", {"epochs": 1, "batch_rows": 2, "merging": merging}))
    if mode == "released":
        log = run_recipe(asked, tmp_path, base=Path())[0].log
        assert all(abs(row["merging_lost_share"]) < 0.5 for row in log)
    else:
        with pytest.raises(GuardStop, match=r"step 3: merging_lost_share is 0.99, above 0.9"):
            run_recipe(asked, tmp_path, base=Path())


def test_what_the_judge_cannot_decide_stops_a_run_at_its_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A published kind whose code draws its parameter: no answer decides it.

    (A cut answer fails; a random model's do not end.)
    """
    judged = scoring.reward_of
    monkeypatch.setattr(scoring, "reward_of", lambda text, refs, **more: judged(text, refs, **more | {"is_cut": False}))
    rows = [json.loads(line) for line in (DATA / "rl.jsonl").read_text().splitlines()]
    undecided = [row | {"instruction_id_list": ["keywords:existence"], "kwargs": [{}]} for row in rows]
    (tmp_path / "rl.jsonl").write_text("".join(json.dumps(row) + "\n" for row in undecided))
    shutil.copy(DATA / "sft.jsonl", tmp_path)
    online = StageSpec("grpo", {"steps": 3, "prompts_per_step": 2, "answers_per_prompt": 2, "max_new_tokens": 4})
    with pytest.raises(GuardStop, match=r"grpo, step 1: unmeasured_share is 1\.00"):
        run_recipe(recipe(online, data=str(tmp_path), reward="dense"), tmp_path / "out", base=ROOT)


def test_a_loss_that_is_no_number_ends_the_recipe_and_names_the_step(tmp_path: Path) -> None:
    wild = StageSpec("sft", {"epochs": 3, "learning_rate": 1e30, "schedule": "constant", "warmup_share": 0.0})
    with pytest.raises(Divergence, match=r"sft: the (loss|gradient norm) of step 2"):
        run_recipe(recipe(wild), tmp_path, base=ROOT)


def test_a_tokenizer_without_a_template_is_refused_before_anything(tiny_llama_dir: Path, tmp_path: Path) -> None:
    start = with_template(tiny_llama_dir, tmp_path / "bare", None)
    with pytest.raises(UsageError, match="no chat template"):
        plan_recipe(recipe(start=start), tmp_path / "out", base=ROOT)


def test_a_template_that_leaves_the_prompt_out_is_refused(tiny_llama_dir: Path, tmp_path: Path) -> None:
    start = with_template(tiny_llama_dir, tmp_path / "deaf", "{{ '<|im_start|>assistant' }}")
    with pytest.raises(UsageError, match="leaves the prompt out"):
        run_recipe(recipe(start=start, guards="warn"), tmp_path / "out", base=ROOT)


def test_a_template_that_ends_a_turn_otherwise_than_training_stops_the_run(
    tiny_llama_dir: Path, tmp_path: Path
) -> None:
    """The template writes END after an answer, training its end token.

    Served by it, the model would see what it never learned.
    """
    start = with_template(tiny_llama_dir, tmp_path / "other", TURN)
    with pytest.raises(GuardStop, match=r"END.*but training is on.*<\|im_end\|>"):
        run_recipe(recipe(start=start), tmp_path / "stop", base=ROOT)
    run_recipe(recipe(start=start, guards="warn"), tmp_path / "warn", base=ROOT)
    assert "but training is on" in (tmp_path / "warn" / "model" / "README.md").read_text()
    good = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    assert template_trouble(good) is None


def test_a_template_that_has_changed_since_the_start_is_another_run(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """The weights' hash does not see it, and every prompt of what is left would be other tokens."""
    start = with_template(tiny_llama_dir, tmp_path / "start", TURN.replace("END", "<|im_end|>"))
    run_recipe(recipe(start=start), tmp_path / "out", base=ROOT)
    shutil.rmtree(tmp_path / "out" / "01-sft")
    shutil.rmtree(tmp_path / "start")
    with_template(tiny_llama_dir, tmp_path / "start", TURN.replace("END", "<|im_end|> "))
    with pytest.raises(RunMismatch, match="begun with another chat template"):
        run_recipe(recipe(start=start), tmp_path / "out", base=ROOT)


def test_a_test_item_among_the_prompts_stops_the_run(tmp_path: Path) -> None:
    item = suites.load("core").prompts[3]
    rows = [json.loads(line) for line in (DATA / "sft.jsonl").read_text().splitlines()]
    rows[6]["prompt"] = item.text.upper()
    (tmp_path / "sft.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spoilt = {"data": str(tmp_path), "against": ("core",)}
    with pytest.raises(
        ContaminationError, match=rf"1 of 48 training prompts .*sft\.jsonl, row 7, item {item.key} of core"
    ):
        run_recipe(recipe(**spoilt), tmp_path / "stop", base=ROOT)
    run_recipe(recipe(**spoilt, guards="warn"), tmp_path / "warn", base=ROOT)
    card = (tmp_path / "warn" / "model" / "README.md").read_text()
    assert "compared with the test items of core" in card
    assert "row 7" in card


def test_clean_data_passes_and_what_was_not_compared_is_said(tmp_path: Path) -> None:
    run_recipe(recipe(against=("core",)), tmp_path / "clean", base=ROOT)
    run_recipe(recipe(), tmp_path / "uncompared", base=ROOT)
    card = (tmp_path / "uncompared" / "model" / "README.md").read_text()
    assert "not compared with any test set" in card


def test_short_prompts_are_compared_word_for_word_and_long_ones_by_their_common_subsequence() -> None:
    prompts = suites.load("core").prompts
    long = next(prompt for prompt in prompts if len(prompt.text.split()) > 16)
    suite = suites.load("core")
    assert find_repeats({"f": ["Say hello.", "Nothing of the sort is in it."]}, [("core", suite)]) is None
    reworded = f"Please, {long.text.lower()} thanks"
    found = find_repeats({"f": ["Say hello.", reworded]}, [("core", suite)])
    assert found is not None
    assert "f, row 2" in str(found)
    with pytest.raises(ContaminationError, match=r"guards = 'warn'"):
        heed(found, "stop")
    assert heed(found, "warn") == [str(found)]


def test_out_of_memory_twice_stops_with_the_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(*_: Any, **__: Any) -> Any:
        torch.empty(10**15)

    monkeypatch.setitem(STAGES._things, "sft", STAGES.get("sft")._replace(run=hungry))
    wanted = r"also with micro-batches of 256 tokens\. It needs about \d+\.\d GB on cpu by estimate \(process .*\); \d+\.\d GB are free"
    with pytest.raises(ResourceError, match=wanted):
        run_recipe(recipe(), tmp_path, base=ROOT, device="cpu")


def test_what_was_kept_before_memory_ran_out_is_taken_up_with_smaller_micro_batches(
    tiny_llama_dir: Path, tmp_path: Path
) -> None:
    rows = load_rows(DATA, ["sft"]).sft[:12]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    taken: list[int] = []

    def run(tree_tokens: int, *, fail_at: int | None) -> Any:
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype="float32")
        real = sft_module.sft_step

        def step(model: Any, learner: Any, batch: Any, settings: Any, tally: Any) -> Any:
            taken.append(learner.step)
            if learner.step == fail_at:
                torch.empty(10**15)
            return real(model, learner, batch, settings, tally)

        with pytest.MonkeyPatch.context() as patch, keeping(tmp_path, every_s=0):
            patch.setattr(sft_module, "sft_step", step)
            return sft(model, tokenizer, rows, SftSettings(epochs=1, batch_rows=3, tree_tokens=tree_tokens), seed=0)

    with pytest.raises(RuntimeError, match="allocate memory"):
        run(512, fail_at=2)
    taken.clear()
    assert len(run(256, fail_at=None).log) == 4
    assert taken == [2, 3]
