"""Where a reward model is the reward, its variance orders the prompts of online stages, not the judge's."""

from __future__ import annotations

import json
import shutil
import statistics
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere.progress import Silent  # noqa: E402
from adhere.schema import RlRow  # noqa: E402
from adhere.train.batch.rollout import in_order  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings  # noqa: E402
from adhere.train.recipe import Recipe, StageSpec  # noqa: E402
from adhere.train.recipe.run import plan_recipe, run_recipe  # noqa: E402
from adhere.train.stage import scoring  # noqa: E402
from adhere.train.stage.order import ordering_of  # noqa: E402

ROOT = Path(__file__).parents[3]
SMOKE = ROOT / "examples" / "smoke-data"
PROMPTS = 6


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    shutil.copy(SMOKE / "pairs.jsonl", folder)
    rows = [json.loads(line) for line in (SMOKE / "rl.jsonl").read_text().splitlines()[:PROMPTS]]
    judged = [row | {"score_variance": 0.2 - place / 100} for place, row in enumerate(rows)]  # as they stand
    (folder / "rl.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judged))
    return folder


def recipe(start: Path, data: Path, **settings: Any) -> Recipe:
    online = {"steps": 1, "prompts_per_step": PROMPTS, "answers_per_prompt": 2, "max_new_tokens": 4} | settings
    stages = (StageSpec("reward-model", {"epochs": 1, "learning_rate": 1e-2}), StageSpec("grpo", online))
    return Recipe("r", stages, start=f"hf/{start}", data=str(data), precision="fp32", guards="warn", reward="model")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, list[float]]]:
    """What the real, trained reward model was asked and said.

    A random model never ends an answer, which would be 0 for all.
    """
    made, calls = scoring.learned_scorer, []

    def noted(rows: Any, directory: Path, **more: Any) -> Any:
        score = made(rows, directory, **more)

        def whole(prompt_id: str, answers: Any) -> list[float | None]:
            found = score(prompt_id, [answer._replace(truncated=False) for answer in answers])
            calls.append((prompt_id, found))
            return found

        return whole

    monkeypatch.setattr(scoring, "learned_scorer", noted)
    return calls


def test_prompts_go_by_the_reward_models_variance(
    tiny_llama_dir: Path, data: Path, tmp_path: Path, asked: list[tuple[str, list[float]]]
) -> None:
    done = run_recipe(recipe(tiny_llama_dir, data), tmp_path, base=ROOT)
    first, episode = asked[:PROMPTS], asked[PROMPTS:]
    judges = [f"smoke-{place}" for place in range(PROMPTS)]
    assert [name for name, _ in first] == judges, "every prompt is answered once for the order"
    variance = {name: statistics.variance(scores) for name, scores in first}
    assert len(set(variance.values())) > PROMPTS / 2
    trained = [name for name, _ in episode]
    assert sorted(trained) == judges
    assert [variance[name] for name in trained] == sorted(variance.values(), reverse=True)
    assert trained != judges, "the judge orders otherwise"
    assert dict(episode) != dict(first), "answers that made the order are not learned from"
    assert done[-1].ledger.answers_generated == 2 * 2 * PROMPTS, "they are paid for"
    assert "as stated: by the reward model's scores" in (tmp_path / "model" / "README.md").read_text()
    assert not list(tmp_path.glob(".*.part")), "the order is kept only while the stage is unfinished"


def test_a_random_order_asks_for_no_scores(
    tiny_llama_dir: Path, data: Path, tmp_path: Path, asked: list[tuple[str, list[float]]]
) -> None:
    random_order = recipe(tiny_llama_dir, data, order="random")
    done = run_recipe(random_order, tmp_path / "random", base=ROOT)
    assert len(asked) == PROMPTS
    assert "by the reward model's scores" not in (tmp_path / "random" / "model" / "README.md").read_text()
    assert done[-1].ledger.answers_generated == 2 * PROMPTS
    costs = [
        plan_recipe(one, tmp_path / "none", base=ROOT)[-1].cost for one in (random_order, recipe(tiny_llama_dir, data))
    ]
    assert costs[1].answers_generated - costs[0].answers_generated == 2 * PROMPTS
    assert costs[1].minutes > costs[0].minutes


def test_an_order_is_taken_up_by_the_same_stage_only(tiny_llama_dir: Path, tmp_path: Path) -> None:
    rows = [RlRow(name, f"Say {name}.", 4, 0.5, 0.3 - place / 10, (), ()) for place, name in enumerate("abc")]
    spreads = {"a": 0.0, "b": 0.1, "c": 0.4}
    asked: list[str] = []

    def score(prompt_id: str, answers: Any) -> list[float | None]:
        asked.append(prompt_id)
        return [0.5 - spreads[prompt_id], 0.5 + spreads[prompt_id]]

    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype="float32")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_llama_dir)
    settings = GrpoSettings(answers_per_prompt=2, prompts_per_step=2, max_new_tokens=2)
    given: dict[str, Any] = {"score": score, "seed": 0, "folder": tmp_path / ".01-grpo.part", "progress": Silent()}
    found = ordering_of(rows, settings, model, tokenizer, key="k", **given)
    assert [(row.draws, row.score_mean) for row in found.rows] == [(2, 0.5)] * 3
    assert [row.score_variance for row in found.rows] == pytest.approx([0.0, 0.02, 0.32])
    assert [row.prompt_id for row in in_order(rows, "variance", seed=0)] == ["a", "b", "c"], "the judge's"
    assert [row.prompt_id for row in in_order(found.rows, "variance", seed=0)] == ["c", "b", "a"]
    assert [row.prompt_id for row in in_order(found.rows, "ascending", seed=0)] == ["a", "b", "c"]
    assert ordering_of(rows, settings, model, tokenizer, key="k", **given) == found
    assert len(asked) == 3
    ordering_of(rows, settings, model, tokenizer, key="another", **given)
    assert len(asked) == 6
