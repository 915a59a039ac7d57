from __future__ import annotations

import re
import runpy
import unicodedata
from pathlib import Path
from types import SimpleNamespace

import pytest

from adhere.errors import SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.api import evaluate
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.pieces.numbers import percent, percent_interval, points
from adhere.report.run.html import runs_html
from adhere.report.run.text import run_text, runs_text
from adhere.report.run.view import groups, run_facts, suite_name
from adhere.report.tables.compare import compare_text
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.store.run import Run
from adhere.suites import Suite, load
from adhere.suites.generated.family import registry
from adhere.verify.traps import answers_of_file, answers_of_run, score_traps, traps_of_run

factory = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("run_factory.py"))))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    root = tmp_path_factory.mktemp("runs")
    made = [("local/weak", 0.3), ("local/<b>strong</b>\u202e", 0.9), ("local/middle", 0.6)]
    return [factory.store(root / str(index), *pair) for index, pair in enumerate(made)]


def test_accounting_rates_and_denominators_are_those_of_the_summary(runs: list[Run]) -> None:
    text = runs_text(runs[:1])
    rate = runs[0].summary().overall.prompt_strict
    assert "n 24 = 20 ok + 3 truncated + 0 empty + 0 refused + 1 error + 0 missing" in text
    assert f"{rate.passed}/{rate.n}" in text
    assert rate.of_all is not None
    assert rate.of_completed is not None
    assert rate.of_all != rate.of_completed
    for value in (rate.of_all, rate.of_completed):
        assert f"{100 * value:.1f}\u00a0%" in text.replace(" %", "\u00a0%")
    for name in (
        "in-family",
        "new-family",
        "length:at_most",
        "format:sections",
        "prompts passed (loose)",
        "constraints passed (strict)",
    ):
        assert name in text


def test_leaderboard_ranks_best_first(runs: list[Run]) -> None:
    (group,) = groups([run_facts(run) for run in runs])
    rates = [run.summary.overall.prompt_strict.of_all or 0 for run in group.runs]
    assert rates == sorted(rates, reverse=True)
    text = runs_text(runs)
    assert text.index("strong") < text.index("local/middle") < text.index("local/weak")


def test_runs_on_other_prompts_are_not_ranked_together(runs: list[Run], tmp_path: Path) -> None:
    other = factory.store(tmp_path / "other", "local/other", 0.5, count=12)
    assert [len(group.runs) for group in groups([run_facts(run) for run in [*runs, other]])] == [3, 1]


def test_same_model_twice_gets_labels_that_differ_and_a_warning(runs: list[Run], tmp_path: Path) -> None:
    fp32 = factory.store(tmp_path / "fp32", "local/weak", 0.5, precision="fp32")
    (group,) = groups([run_facts(runs[0]), run_facts(fp32)])
    assert sorted(group.labels) == ["local/weak (scripted fp32)", "local/weak (scripted int8)"]
    assert any("different engines or precisions" in warning for warning in group.warnings)


def test_lost_answers_and_undecided_verdicts_are_said(runs: list[Run]) -> None:
    text = runs_text(runs[:1])
    assert "1 of 24 answers failed or are missing" in text
    assert "1 call failed: timed out" in text
    assert "1 verdict undecided: length:at_most: verifier said" in text


def test_unfinished_run_is_refused_with_the_remedy(tmp_path: Path) -> None:
    run = factory.store(tmp_path / "run", "local/x", 0.5)
    (run.directory / "summary.json").unlink()
    with pytest.raises(UsageError, match="unfinished"):
        run_facts(Run.load(run.directory))


def test_failures_are_real_answers_at_most_three_a_kind(runs: list[Run]) -> None:
    weak = run_facts(runs[0])
    assert set(weak.failures) == {"length:at_most", "case:lower", "format:sections"}
    totals = [drawn.total for drawn in weak.failures.values()]
    assert totals == sorted(totals, reverse=True), "what fails most comes first"
    assert max(len(drawn.answers) for drawn in weak.failures.values()) == 3
    stored = {response.prompt_id: response.text for response in runs[0].responses()}
    for kind, drawn in weak.failures.items():
        assert drawn.total == weak.summary.overall.kinds[kind].failed
        for failure in drawn.answers:
            assert stored[failure.prompt_id] == failure.answer
            assert ("fail", kind) in [mark[:2] for mark in failure.marks]


def test_a_run_s_page_begins_with_its_number_and_three_failing_answers(runs: list[Run]) -> None:
    page = runs_html(runs[:1])
    rate = runs[0].summary().overall.prompt_strict
    head = page[: page.index("<section>")]
    assert f'<p class="answer">{100 * (rate.of_all or 0):.1f}\u00a0%</p>' in head
    assert f"{rate.passed} of {rate.n} answers passed, strict" in head
    assert head.count('<article class="card failure">') == 3
    assert len({part.partition("</strong>")[0] for part in head.split("<header><strong>")[1:]}) == 3
    assert "table-layout: fixed" not in page[page.index("By family") :], (
        "one Run has bars, not a heat map of one column"
    )
    assert 'class="heat' not in page.partition("</head>")[2]
    assert '<table class="heat slim">' in runs_html(runs)


def test_a_suite_from_a_file_goes_by_the_file_s_name() -> None:
    spec = SimpleNamespace(suite="ifeval:/very/long/way/to/input_data.jsonl", suite_version="1")
    assert suite_name(spec, 541) == "ifeval:input_data.jsonl 1, 541 prompts"  # type: ignore[arg-type]


def test_texts_cannot_act_on_a_terminal(runs: list[Run]) -> None:
    text = runs_text(runs)
    assert all(char == "\n" or unicodedata.category(char) not in {"Cc", "Cf", "Cs"} for char in text)
    assert "evil.example" not in text


def test_page_escapes_loads_nothing_and_is_deterministic(runs: list[Run]) -> None:
    html = runs_html(runs)
    assert html == runs_html(runs)
    assert "<script" not in html
    assert "<b>strong" not in html
    assert "&lt;b&gt;strong" in html
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", html)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', html)) <= {"data:,", "#content"}
    assert html.count('<article class="card failure">') == sum(
        len(drawn.answers) for run in runs for drawn in run_facts(run).failures.values()
    )


def test_a_page_says_how_often_traps_are_taken(runs: list[Run], tmp_path: Path) -> None:
    run = evaluate("scripted/echo", load("core:x6"), tmp_path)
    page = runs_html([run])
    found = traps_of_run(run)
    assert found == score_traps(str(run.directory), answers_of_run(run)), "few answers: all of them"
    assert found.by_trap["echo"] == found.taken == found.answers
    assert f"{found.taken} of {found.answers} answers take a trap ({percent(found.share)}): echo {found.taken}" in page
    assert f"; {found.passing_taken} of the {found.passing} that passed" in page
    assert "docs/reference/traps.md" in page
    fewer = traps_of_run(run, most=5)
    assert fewer.answers == 5
    assert fewer == traps_of_run(run, most=5)
    assert "– (format:sections: missing parameter count)" in runs_html(runs[:1]), "rules that cannot be judged are said"


def test_slice_without_topic_words_shows_a_dash_with_its_reason(runs: list[Run]) -> None:
    assert runs[0].summary().overall.guard.content_share is None
    assert "no prompt names topic words" in " ".join(runs_text(runs[:1]).split())
    assert "None" not in runs_html(runs)


def test_one_run_from_its_summary_alone(runs: list[Run]) -> None:
    run = runs[0]
    text = run_text(run.spec, run.summary(), details=True)
    assert text.startswith("local/weak on core 1, 24 prompts\n")
    assert text.split("\n", 2)[2] in runs_text([run])


def test_comparison_says_what_is_shown(runs: list[Run]) -> None:
    comparison = compare_runs(runs[1], runs[0])
    text = compare_text(comparison)
    assert "▲ local/<b>strong</b> over local/weak: " in text
    assert "more prompts pass." in text
    assert points(comparison.overall.difference) in text
    assert f"{comparison.overall.gained}/{comparison.overall.lost}" in text
    assert "\u202e" not in text
    rows = [line.split()[0] for line in text.splitlines() if line.strip()]
    assert rows[rows.index("slice") :][:4] == ["slice", "all", "in-family", "new-family"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    root = tmp_path_factory.mktemp("measured")
    suites = {
        name: registry.get(name).suite(0, groups) for name, groups in (("long", 1), ("multi-turn", 2), ("order", 2))
    }
    answers = {
        turn.text: answer
        for name in suites
        for one in registry.get(name).stream(0, 2)
        for turn, answer in zip(one.prompt.turns, one.answers, strict=True)
        if name != "long" or one.prompt.tags["slice"] != "8k"
    }
    model = ScriptedModel(lambda request: answers.get(request.messages[-1].content, "no idea"))
    return [evaluate_sync(model, suite, root / name) for name, suite in suites.items()]


class TestOwnMeasures:
    """What a suite's own way of asking shows stands on the page and in the text, with its interval."""

    def test_the_grid_of_lengths_and_depths_is_a_heat_map(self, measured: list[Run]) -> None:
        page = runs_html(measured[:1])
        table = page[page.index('<table class="heat grid">') :].partition("</table>")[0]
        assert [re.findall(rf'<th scope="{scope}"[^>]*>([^<]+)</th>', table) for scope in ("col", "row")] == [
            ["depth", "1k", "2k", "4k", "8k"],
            ["0 %", "25 %", "50 %", "75 %", "100 %"],
        ]
        assert table.count('class="h9"') == 3 * 5
        assert table.count('class="h0"') == 5
        assert table.count("20.7…100.0") == 3 * 5  # one prompt a cell: Wilson
        assert "heat grid" not in runs_html(measured[1:]).partition("</head>")[2]

    def test_every_measure_stands_with_its_interval_on_the_page_and_in_the_text(self, measured: list[Run]) -> None:
        page, text = runs_html(measured), runs_text(measured)
        found = [one for run in measured for one in run.summary().measures]
        names = {one.name for one in found}
        assert names >= {
            "hard satisfaction",
            "soft satisfaction",
            "consistent levels",
            "depth",
            "task",
            "turn",
            "PIF of turn",
            "conversation",
            "variant",
            "spread of variants",
            "worst case",
            "disagreement",
        }
        for one in found:
            assert one.low is not None, one
            assert one.high is not None, one
            assert one.low <= one.value <= one.high, one
            assert one.low < one.high, one
            wanted = percent_interval(one.low, one.high)
            if one.name == "consistent levels":
                wanted = f"{one.low:.2f}…{one.high:.2f}"
            assert wanted in page, one
            assert wanted in text, one
            assert f'<th scope="row">{one.name}</th>' in page or one.name == "depth"

    def test_ifeval_s_four_measures_have_intervals(self, runs: list[Run]) -> None:
        page, text = runs_html(runs[:1]), runs_text(runs[:1])
        score = runs[0].summary().overall
        for rate in (score.prompt_strict, score.prompt_loose, score.instruction_strict, score.instruction_loose):
            assert percent_interval(rate.low, rate.high) in page
            assert percent_interval(rate.low, rate.high) in text


def test_traps_of_a_file_are_those_of_the_row_s_turn(tmp_path: Path) -> None:
    refs = [ConstraintRef(name, {}) for name in ("case:lower", "case:upper")]
    turns = tuple(Turn(f"Say it {number}.", (ref,)) for number, ref in enumerate(refs))
    suite = Suite(name="talk", version="1", prompts=(Prompt("p1", turns),), slices=(), cut_answers="judge")
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(f'{{"key": "p1", "turn": {turn}, "response": "Hm"}}\n' for turn in (0, 1)))
    assert [one.refs for one in answers_of_file(path, suite)] == [(ref,) for ref in refs]
    path.write_text('{"key": "p1", "turn": 2, "response": "Hm"}\n')
    with pytest.raises(SpecError, match="turn=2: p1 has 2 turns"):
        list(answers_of_file(path, suite))
