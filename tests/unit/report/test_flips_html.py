"""Two Runs answer by answer: the page has every flip that the statistics count, both answers, and nothing of them acts."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.flips.html import flips_html
from adhere.store.run import Run
from adhere.suites.generated.family import registry

factory = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("run_factory.py"))))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    root = tmp_path_factory.mktemp("pair")
    return factory.store(root / "a", "local/weak", 0.3), factory.store(root / "b", "local/<b>strong</b>", 0.9)


def test_every_flip_that_is_counted_is_there(pair: tuple[Run, Run]) -> None:
    page = flips_html(*pair)
    found = compare_runs(pair[1], pair[0]).overall
    assert (page.count('data-way="gained"'), page.count('data-way="lost"')) == (found.gained, found.lost)
    assert found.gained > 2
    assert f"{found.gained} prompts gained, {found.lost} lost" in page
    back = flips_html(pair[1], pair[0])
    assert (back.count('data-way="gained"'), back.count('data-way="lost"')) == (found.lost, found.gained)


def test_each_flip_has_both_answers_and_what_it_is_found_by(pair: tuple[Run, Run]) -> None:
    page = flips_html(*pair)
    card = page.partition('data-way="gained"')[2].partition("</article>")[0]
    assert card.count('aria-label="answer"') == 2
    assert 'class="fail"' in card
    words = re.findall(r'data-words="([^"]*)"', page)
    assert all("found" in one and ("gained" in one or "lost" in one) for one in words)
    assert {"length:at_most", "case:lower", "format:sections"} >= set(re.findall(r'data-kind="([^"]*)"', page))


def test_texts_of_others_stay_texts(pair: tuple[Run, Run]) -> None:
    page = flips_html(*pair)
    assert page.count("<script>") == 1
    assert "<b>strong" not in page
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", page)
    assert page == flips_html(*pair)


def test_runs_of_other_prompts_cannot_be_set_side_by_side(pair: tuple[Run, Run], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="were asked different prompts"):
        flips_html(pair[0], factory.store(tmp_path / "c", "local/other", 0.5, count=12))


def test_of_several_turns_each_is_shown(tmp_path: Path) -> None:
    suite = registry.get("multi-turn").suite(0, 1)
    answers = {
        turn.text: answer
        for one in registry.get("multi-turn").stream(0, 1)
        for turn, answer in zip(one.prompt.turns, one.answers, strict=True)
    }
    models = (ScriptedModel(lambda _: "no, no"), ScriptedModel(lambda request: answers[request.messages[-1].content]))
    first, second = (evaluate_sync(model, suite, tmp_path / str(place)) for place, model in enumerate(models))
    page = flips_html(first, second)
    turns = max(len(prompt.turns) for prompt in suite.prompts)
    assert turns > 1
    assert page.count('aria-label="prompt"') == sum(len(prompt.turns) for prompt in suite.prompts)
