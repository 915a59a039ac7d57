"""Rewards as a recipe writes them: sums of terms behind gates, in TOML, with the judge, checklists and judge models."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from adhere.errors import SpecError
from adhere.schema import RlRow
from adhere.train.batch.rollout import Answer
from adhere.train.recipe.load import load_recipe
from adhere.train.recipe.spec import Recipe
from adhere.train.stage.scoring import open_scorer, summed_scorer

ASKED = 'scripted/fixed:{"score": 5, "reason": "so"}'  # of 0 to 10
HOLDS = 'scripted/fixed:{"holds": [true]}'
ITEMS = ({"id": "case:lower", "kwargs": {}, "weight": 3}, {"text": "It is friendly.", "weight": 1})
ROW = RlRow("p", "Write.", 2, 0.5, 0.1, ("case:lower",), ({},), checklist=ITEMS)
ANSWERS = [Answer(text, cut) for text, cut in (("low", False), ("HIGH", False), ("low", True), (" ", False))]


def recipe(tmp_path: Path, reward: str) -> Recipe:
    file = tmp_path / "r.toml"
    file.write_text(f'name = "r"\n{reward}\n')
    return load_recipe(str(file))[0]


@pytest.mark.parametrize(
    ("terms", "scores"),
    [
        ("{ kind = 'binary' }", [1, 0, 0, 0]),
        (f"{{ kind = 'asked', model = '{ASKED}' }}", [0.5, 0.5, 0, 0]),
        (f"{{ kind = 'asked', model = '{ASKED}', gate = 'binary', weight = 2 }}", [1, 0, 0, 0]),
        (f"{{ kind = 'checklist', model = '{HOLDS}' }}", [1, 0.25, 0, 0]),
        (
            "{ kind = 'dense' }, { kind = 'badly-formed', rules = [{ id = 'case:upper' }], weight = -0.5 }",
            [0.5, 0, -0.5, -0.5],
        ),
        ("{ kind = 'too-long', words = 1, over = 1, weight = -1 }", [0, 0, 0, 0]),
    ],
)
def test_a_recipe_writes_its_reward_as_terms(tmp_path: Path, terms: str, scores: list[float]) -> None:
    reward = recipe(tmp_path, f"reward = [{terms}]").reward
    assert open_scorer(reward, [ROW], judge=None, device="cpu")("p", ANSWERS) == pytest.approx(scores)


@pytest.mark.parametrize("reward", ["reward = 'dense'", "reward = [{ kind = 'dense' }]"])
def test_reasoning_is_no_part_of_an_answer(tmp_path: Path, reward: str) -> None:
    """As in an evaluation: `reward = 'dense'` judged the thoughts, too, where the same as a sum did not."""
    score = open_scorer(recipe(tmp_path, reward).reward, [ROW], judge=None, device="cpu")
    answers = [Answer(f"<think>{thought}", truncated=False) for thought in ("HM</think>low", "hm</think>LOW", "hm")]
    assert score("p", answers) == [1, 0, 0]


@pytest.mark.parametrize(
    ("reward", "is_refused"),
    [
        ("'binary'", False),
        ("[{ kind = 'dense', traps = true }, { kind = 'too-long', weight = -0.2 }]", False),
        ("[{ kind = 'dense' }, { kind = 'checklist', weight = 0.5 }]", True),
        ("[{ kind = 'model' }]", True),
        ("'model'", True),
    ],
)
@pytest.mark.parametrize("stage", ["rft"])
def test_stages_that_learn_what_passes_need_a_reward_whose_best_is_1(
    tmp_path: Path, stage: str, reward: str, *, is_refused: bool
) -> None:
    """A trained model's scores never pass: its sigmoid is below 1."""
    stages = f"[[stages]]\nstage = 'reward-model'\n[[stages]]\nstage = '{stage}'"
    if not is_refused:
        recipe(tmp_path, f"reward = {reward}\n{stages}")
    else:
        with pytest.raises(SpecError, match=rf"stage 2: '{stage}' learns from answers of score 1"):
            recipe(tmp_path, f"reward = {reward}\n{stages}")


def test_a_judge_model_that_cannot_be_read_measures_nothing(tmp_path: Path) -> None:
    reward = recipe(tmp_path, "reward = [{ kind = 'asked', model = 'scripted/fixed:yes' }]").reward
    assert open_scorer(reward, [ROW], judge=None, device="cpu")("p", ANSWERS) == [None, None, 0, 0]


@pytest.mark.parametrize(
    ("reward", "said"),
    [
        ("reward = []", "no term"),
        ("reward = [{ kind = 'asked' }]", "needs `model`"),
        ("reward = [{ kind = 'badly-formed' }]", "needs `rules`"),
        ("reward = [{ kind = 'dense', gate = 'binary' }]", "takes no gate"),
        ("reward = [{ kind = 'dence' }]", "dence"),
        ("reward = [{ kind = 'model' }]\n[[stages]]\nstage = 'grpo'", "leaves a reward model"),
    ],
)
def test_a_reward_that_cannot_be_is_refused_when_it_is_read(tmp_path: Path, reward: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        recipe(tmp_path, reward)


def test_what_a_term_reads_must_be_there(tmp_path: Path) -> None:
    bare = RlRow("p", "Write.", 2, 0.5, 0.1, (), ())
    gated = recipe(tmp_path, f"reward = [{{ kind = 'asked', model = '{ASKED}', gate = 'dense' }}]").reward
    assert not isinstance(gated, str)
    with pytest.raises(SpecError, match="no constraints"):
        summed_scorer([bare], gated)
    checklist = recipe(tmp_path, "reward = [{ kind = 'checklist' }]").reward
    with pytest.raises(SpecError, match="no checklist"):
        open_scorer(checklist, [bare], judge=None, device="cpu")


ENDING = (("startend:end_phrase",), ({"phrase": "In my opinion."},))


def test_a_recipe_without_a_reward_pays_nothing_for_form_alone(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text('name = "r"\nstart = "random/2m"\ndata = "d"\n[[stages]]\nstage = "grpo"\n')
    (term,) = load_recipe(tmp_path / "r.toml")[0].reward
    row = RlRow("p", 'Say why bread rises. End with "In my opinion."', 2, 0.5, 0.1, *ENDING)
    score = open_scorer((term,), [row], judge=None, device="cpu")
    bread = "Yeast eats sugar and breathes out gas, which lifts the dough. In my opinion."
    assert list(score("p", [Answer("In my opinion.", False), Answer(bread, False)])) == [0.0, 1.0]
