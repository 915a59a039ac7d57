"""All answers of one Run or two.

Every prompt once, counts that agree with the statistics, searches that find and filters that hold.
"""

from __future__ import annotations

import runpy
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Verdict
from adhere.serve.answers import WAYS_OF_TWO, Answers, Headline, RowQuery, result_of
from adhere.store.run import Run, RunSpec
from adhere.suites.generated.family import registry

factory = SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[1] / "report" / "run_factory.py")))


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    root = tmp_path_factory.mktemp("pair")
    return factory.store(root / "a", "local/weak", 0.3), factory.store(root / "b", "local/<b>strong</b>", 0.9)


def ids(answers: Answers, **asked: str) -> list[str]:
    return [row.id for row in answers.page(RowQuery(**asked)).rows]


def test_every_flip_that_the_statistics_count_is_there(pair: tuple[Run, Run]) -> None:
    found = compare_runs(pair[1], pair[0]).overall
    page = Answers(pair).page(RowQuery())
    assert (page.ways["gained"], page.ways["lost"]) == (found.gained, found.lost)
    assert found.gained > 2
    assert result_of(pair).number == f"{100 * (found.difference or 0):+.1f}"
    back = Answers((pair[1], pair[0])).page(RowQuery())
    assert (back.ways["gained"], back.ways["lost"]) == (found.lost, found.gained)
    assert page.ways["all"] == page.total == 24 == sum(page.ways[way] for way in WAYS_OF_TWO[1:])


def test_one_run_s_ways_agree_with_its_rate(pair: tuple[Run, Run]) -> None:
    page = Answers(pair[:1]).page(RowQuery())
    rate = pair[0].summary().overall.prompt_strict
    assert (page.ways["kept"], page.ways["kept"] + page.ways["failed"]) == (rate.passed, rate.n)
    assert page.ways["undecided"] == 24 - rate.n
    slices = pair[0].summary().slices
    assert {one.name: (one.n - one.failed[0], one.n) for one in page.slices} == {
        name: (score.prompt_strict.passed, score.prompt_strict.n) for name, score in slices.items()
    }
    assert page.ways["cut"] == sum(one.status == "truncated" for one in pair[0].responses())


def test_words_are_looked_for_in_prompts_answers_and_reasons(pair: tuple[Run, Run]) -> None:
    answers = Answers(pair)
    assert ids(answers, words="SAY SOMETHING about 7.") == ["p07"]  # the prompt
    assert ids(answers, words="answer 13\n") == ["p13"]
    assert ids(answers, words="verifier said") == ["p01"]  # a reason
    assert ids(answers, words="p23") == ["p23"]  # its only call failed
    assert ids(answers, words="answer 13\0answer 14") == []  # nothing is found across two rows
    assert len(ids(answers, words=" ")) == 24


def test_a_kind_keeps_those_that_failed_it(pair: tuple[Run, Run]) -> None:
    answers = Answers(pair)
    page = answers.page(RowQuery(way="gained"))
    for one in page.kinds:
        held = answers.page(RowQuery(way="gained", kind=one.name))
        assert max(one.failed) <= held.matched <= sum(one.failed)
        assert one.n >= held.matched
        for row in held.rows:
            shown = answers.shown(row.id, 0)
            assert shown is not None
            marks = [mark for turn in shown.turns for side in turn.sides if side for mark in side.marks]
            assert any(mark.kind == one.name and mark.outcome == "fail" for mark in marks)
    assert len(page.kinds) >= 2
    assert answers.page(RowQuery(kind="no:such")).matched == 0
    with pytest.raises(UsageError, match="No way 'kept'"):
        answers.page(RowQuery(way="kept"))


def test_a_prompt_is_found_among_what_is_shown(pair: tuple[Run, Run]) -> None:
    answers = Answers(pair)
    gained = ids(answers, way="gained")
    assert answers.page(RowQuery(way="gained"), place_of=(gained[2], 0)).place == 2
    assert answers.page(RowQuery(way="lost"), place_of=(gained[2], 0)).place is None
    assert [row.id for row in answers.page(RowQuery(way="gained"), start=2).rows] == gained[2:]
    assert answers.shown("p99", 0) is None
    shown = answers.shown("p23", 0)
    assert shown is not None
    assert shown.turns[0].sides[0] is not None
    assert shown.turns[0].sides[0].answer.startswith("timed out")  # why the call failed


def test_runs_of_other_prompts_cannot_be_set_side_by_side(pair: tuple[Run, Run], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="were asked different prompts"):
        Answers((pair[0], factory.store(tmp_path / "c", "local/other", 0.5, count=12)))


def test_of_several_turns_and_draws_each_is_shown(tmp_path: Path) -> None:
    suite = registry.get("multi-turn").suite(0, 1)
    run = evaluate_sync(ScriptedModel(lambda _: "no, no"), suite, tmp_path / "run", draws=2)
    answers = Answers([run])
    assert answers.page(RowQuery()).total == 2 * len(suite.prompts)
    prompt = max(suite.prompts, key=lambda one: len(one.turns))
    shown = answers.shown(prompt.id, 1)
    assert shown is not None
    assert [turn.prompt for turn in shown.turns] == [turn.text for turn in prompt.turns]
    assert len(shown.turns) > 1


def test_an_unfinished_run_shows_what_is_there(tmp_path: Path) -> None:
    run = factory.store(tmp_path / "a", "local/weak", 0.3)
    (run.directory / "summary.json").unlink()
    again = Run.load(run.directory)
    assert result_of([again]) == Headline("", "not finished: what is here so far")
    assert Answers([again]).page(RowQuery()).total == 24


@pytest.mark.slow
def test_a_hundred_thousand_prompts_are_asked_without_delay(tmp_path: Path) -> None:
    """Reading them once takes seconds; then any question at most half a second of the processor."""
    count = 100_000
    asked = [
        Prompt(f"p{at:06d}", (Turn(f"Write about {at}.", (ConstraintRef("case:lower"),)),), tags={"slice": "all"})
        for at in range(count)
    ]
    spec = RunSpec("m", EngineInfo("scripted", "1", "int8"), "core", "1", "ab" * 32, Sampling(), slices=("all",))
    with Run.open(tmp_path / "run", spec, asked) as run:
        for at, prompt in enumerate(asked):
            run.append_response(
                Response(prompt.id, 0, 0, f"answer {at} in some forty words " + "of no meaning " * 12, "ok")
            )
            outcome = "pass" if at % 3 else "fail"
            run.append_verdicts(
                [Verdict(prompt.id, 0, 0, 0, "case:lower", "strict", outcome, f"found {at % 9}", verifier_version="1")]
            )
        run.flush()
    answers = Answers([Run.load(tmp_path / "run")])
    for question, matched in (
        (RowQuery(), count),
        (RowQuery(words="of no meaning"), count),
        (RowQuery(words="found 8", way="failed"), 0),
        (RowQuery(words="found 3", way="failed", kind="case:lower"), 11_111),
        (RowQuery(words="answer 99999 in"), 1),
    ):
        begun = time.process_time()
        page = answers.page(question, start=0)
        assert page.matched == matched, question
        assert time.process_time() - begun < 0.5, question
