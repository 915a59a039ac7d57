"""The referee on sessions of agents: rules kept in tasks, paired between arms; nothing that was not measured counts."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="a study needs the train extra")

from tests.unit.rules.stories import Step, chat, edit, run, say, user

from adhere.errors import SpecError
from adhere.report.study.html import study_html
from adhere.schema import decode
from adhere.study.design.check import load_study
from adhere.study.outcome.reproduce import reproduce
from adhere.study.outcome.result import StudyResult
from adhere.study.prepared import prepare
from adhere.study.run.measured import Measurement
from adhere.study.run.records import pack

RULES = """# Rules
- All tests must pass before you commit.
- Never edit `uv.lock` by hand.
- Use `uv` instead of `pip`.
- Keep replies under 20 words.
"""
SPEC = """
name = "keeps"
seeds = {seeds}
[verdict]
question = "Does a keep the rules more often than b?"
treatment = "a"
control = "b"
suite = "rules:{rules}"
[[arms]]
name = "a"
answers = "{folder}/a-{{seed}}/"
[[arms]]
name = "b"
answers = "{folder}/b-{{seed}}/"
"""


def session(rng: random.Random, keeps: float) -> list[Step]:
    """A session that keeps each rule with a probability; two of the four are triggered only sometimes."""
    steps = [user("Do the task"), edit("a.py", "x", "y")]
    if rng.random() < 0.7:
        steps.append(run("uv pip install x" if rng.random() < keeps else "pip install x"))
    if rng.random() >= keeps:
        steps.append(edit("uv.lock", "x", "y"))
    if rng.random() < 0.6:
        steps += [run("pytest -q", "3 passed")] if rng.random() < keeps else []
        steps.append(run("git commit -am fix"))
    return [*steps, say("Done." if rng.random() < keeps else "Done " * 30)]


def row(steps: list[Step], **more: Any) -> str:
    """A session as one line of messages, with what else its log says."""
    return json.dumps({**json.loads(chat(steps)), **more}) + "\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "AGENTS.md").write_text(RULES)
    return tmp_path


def study(here: Path, seeds: int = 3, rules: str = "AGENTS.md", more: str = "") -> StudyResult:
    file = here / "s.toml"
    file.write_text(SPEC.format(seeds=list(range(seeds)), rules=rules, folder="sessions") + more)
    return prepare(load_study(file), here / "out").run()


def write(here: Path, arm: str, seed: int, task: int, text: str) -> None:
    folder = here / "sessions" / f"{arm}-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"task-{task}.jsonl").write_text(text)


def test_planted_rates_come_back_and_reproduce(here: Path) -> None:
    rng = random.Random(1)
    for arm, keeps in (("a", 0.95), ("b", 0.4)):
        for seed in range(5):
            for task in range(20):
                write(here, arm, seed, task, row(session(rng, keeps), solved=task % 4 > 0))
    found = study(here, seeds=5)
    primary = found.verdict.primary
    assert found.verdict.answer == "YES"
    assert primary.low is not None
    assert primary.high is not None
    assert primary.low < 0.55 < primary.high
    assert (primary.n_queries, primary.n_seeds) == (20, 5), "clusters are tasks"
    assert "rules in tasks" in found.verdict.headline
    assert primary.coverage == 1.0, "what is untriggered is no lack of coverage"
    runs = [decode(file.read_bytes(), Measurement) for file in (here / "out/evaluations").glob("a-*.json")]
    for one in runs:
        gaps = sum(one.untriggered)
        assert 5 < gaps < 40
        share = one.summary.overall.instruction_strict
        assert share.n == 80 - gaps, "untriggered is in no denominator"
        assert share.passed == sum(kept is True for kept in one.passes)
    assert {one.slice for one in (found.fragility.slices if found.fragility else [])} == {"solved", "not-solved"}
    assert [(one.name, one.outcome) for one in found.guards] == [("solved", "holds")]
    told = {one.what: (one.state, one.told) for one in found.alike}
    assert "matched by the name of its file" in told["rules and tasks"][1]
    assert "more rules in tasks are kept" in study_html(found)
    pack(here / "out", here / "out" / "records.tar.xz")
    again = reproduce(here / "out")
    assert (again.differ, again.answer) == (0, "YES")


def test_doing_nothing_triggers_nothing_and_is_no_way_to_win(here: Path) -> None:
    rng = random.Random(5)
    for task in range(12):
        write(here, "a", 0, task, row([user("Do the task"), say("Done.")], solved=False))
        write(here, "b", 0, task, row(session(rng, 0.5), solved=True))
    found = study(here, seeds=1)
    kinds = {one.kind for one in (found.fragility.kinds.each if found.fragility else [])}
    assert kinds == {"rule:keep-replies-under-20-words"}, "only what both triggered is compared"
    assert [(one.name, one.outcome) for one in found.guards] == [("solved", "violated")]


def test_what_a_log_does_not_show_lowers_coverage_and_is_not_kept(here: Path) -> None:
    rng = random.Random(6)
    for task in range(12):
        write(here, "a", 0, task, row(session(rng, 0.9)) + ("{broken\n" if task < 6 else ""))
        write(here, "b", 0, task, row(session(rng, 0.5)))
    found = study(here, seeds=1)
    assert found.verdict.answer == "INCONCLUSIVE"
    assert "[evaluation] coverage" in found.verdict.because
    assert found.verdict.primary.coverage < 0.7


def test_a_task_that_one_arm_lacks_is_not_measured(here: Path) -> None:
    rng = random.Random(7)
    for task in range(10):
        write(here, "b", 0, task, row(session(rng, 0.5)))
        if task > 1:
            write(here, "a", 0, task, row(session(rng, 0.9)))
    found = study(here, seeds=1)
    run = decode(next((here / "out/evaluations").glob("a-*.json")).read_bytes(), Measurement)
    measured = sum(one is not None for one in run.passes)
    assert found.verdict.primary.coverage == pytest.approx(measured / (measured + 2 * 4)), "four rules in two tasks"
    assert "of the rules in tasks were measured" in found.verdict.because


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('answers = "sessions/a-{seed}/"', 'models = "scripted/echo"'), "held against sessions"),
        (lambda text: text + "[evaluation]\nsuite_limit = 3\n", "suite_limit: sessions answer no prompts"),
        (lambda text: text.replace("treatment =", 'counts = "sound"\ntreatment ='), "leave verdict.counts out"),
        (lambda text: text.replace("rules:AGENTS.md", "rules:empty.md"), "no rule in it has a check|no rule is in it"),
    ],
)  # fmt: skip
def test_a_spec_that_means_nothing_is_refused(here: Path, change: Any, told: str) -> None:
    write(here, "a", 0, 0, row([user("x"), say("y")]))
    write(here, "b", 0, 0, row([user("x"), say("z")]))
    (here / "empty.md").write_text("# Rules\n- Write code that is easy to read.\n")
    file = here / "s.toml"
    file.write_text(change(SPEC.format(seeds=[0], rules="AGENTS.md", folder="sessions")))
    with pytest.raises(Exception, match=told):
        prepare(load_study(file), here / "out")


def test_two_sessions_of_one_task_at_one_seed_are_refused(here: Path) -> None:
    for arm in "ab":
        for number in (0, 1):
            write(here, arm, 0, number + 5 * (arm == "b"), row([user("x"), say("y")], task=f"{number * (arm == 'b')}"))
    failed = study(here, seeds=1).failures
    assert any("both of the task '0'" in one for one in failed), failed


def test_the_judge_of_rules_can_be_pinned_before_there_is_a_session(here: Path) -> None:
    from adhere.study.design.inputs import held_out_suite
    from adhere.study.design.register import judge_hash, register

    text = SPEC.format(seeds=[0], rules="AGENTS.md", folder="sessions")
    file = here / "s.toml"
    file.write_text(text)
    spec = load_study(file)
    made = register(spec, here / "out", held_out_suite(spec).prompts)
    for arm in "ab":
        write(here, arm, 0, 0, row(session(random.Random(1), 0.9)))
        write(here, arm, 0, 1, row(session(random.Random(2), 0.4)))
    assert judge_hash(held_out_suite(spec).prompts) == made.judge
    (here / "AGENTS.md").write_text(RULES.replace("20 words", "30 words"))
    file.write_text(text.replace("treatment =", f'judge = "{made.judge}"\ntreatment ='))
    with pytest.raises(SpecError, match="the judge of adhere"):
        prepare(load_study(file), here / "out2")
