"""Prompt search.

What competes, what is chosen and on which prompts, what it costs, and that a Run goes on with its text.
"""

import json

import pytest

from adhere.errors import AdhereError, IntegrityError, UsageError
from adhere.models.base import Request
from adhere.models.catalog import open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.wrap import SearchedModel
from adhere.models.wrap.methods import PREFIX
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.prepare.search import Search, dev_slice
from adhere.schema import ConstraintRef, Message, Prompt, Response, Sampling, Turn, Usage, decode
from adhere.suites import load
from adhere.suites.base import Suite
from adhere.suites.generated.family import registry

OWN = Suite("mine", "1", (Prompt("p", (Turn("Say cats.", (ConstraintRef("case:lower"),)),)),))
SUITE = load("labels:x1")  # four prompts
RIGHT = {
    one.prompt.text: one.answers[0]
    for seed, groups in ((0, 1), (8_400_519, 20))
    for one in registry.get("labels").stream(seed, groups)
}
LAST = SUITE.prompts[-1].text


class Follower:
    """Proposes texts in turn, and answers right wherever the good text stands before the request."""

    def __init__(self, proposals, good):
        self.proposals, self.good, self.asked = list(proposals), good, []

    def __call__(self, call):
        said = call.messages[-1].content
        self.asked.append(said)
        if "Write the advice only" in said:
            text = self.proposals[int(call.prompt_id.split()[1]) % len(self.proposals)]
        else:
            text = RIGHT[said.split("\n\n", 1)[1]] if said.startswith(self.good) else "Who knows."
        return Response(
            call.prompt_id, call.turn, call.draw, text, "ok", usage=Usage(prompt_tokens=3, completion_tokens=2)
        )


def searched(script, count=3):
    inner = ScriptedModel(script, name="scripted/inner")
    return SearchedModel(inner, f"prompt-search-{count}", count), inner


def search_of(run):
    return decode((run.directory / "search.json").read_bytes(), Search)


class TestTheChoice:
    def test_the_text_with_which_most_is_kept_stands_before_every_request(self, tmp_path):
        script = Follower(["Be loud.", "Mind every rule.", "Mind every rule."], "Mind every rule.")
        model, _ = searched(script)
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        assert run.summary().overall.prompt_strict.passed == 4
        assert script.asked[-1] == f"Mind every rule.\n\n{LAST}"
        found = search_of(run)
        assert [one.text for one in found.candidates] == ["", PREFIX, "Be loud.", "Mind every rule."]
        assert found.chosen == "Mind every rule."
        scores = [one.score for one in found.candidates]
        assert scores == [0, 0, 0, 1]

    def test_where_no_text_helps_there_is_none(self, tmp_path):
        model, _ = searched(Follower(["Be loud."], "never"))
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        assert search_of(run).chosen == ""
        assert model.name == "prompt-search-3(scripted/inner)"

    def test_only_short_first_paragraphs_compete(self):
        model, _ = searched(lambda _: "")
        responses = [Response("x", 0, 0, text, "ok") for text in ("a" * 501, "One.\n\nTwo.", "  ", "One.")]
        assert model.candidates([*responses, Response("x", 0, 0, "lost", "error")]) == ["", PREFIX, "One."]

    def test_a_text_of_which_a_call_failed_has_no_score_and_none_is_no_measurement(self, tmp_path):
        def script(call):
            said = call.messages[-1].content
            if "Write the advice only" in said:
                return "Mind every rule."
            if not said.startswith("Mind"):
                raise RuntimeError("gone")
            return "Who knows."

        model, _ = searched(script)
        found = search_of(evaluate_sync(model, SUITE, tmp_path / "run"))
        assert [one.score is None for one in found.candidates] == [True, True, False]

        def broken(call):
            raise RuntimeError("gone")

        with pytest.raises(AdhereError, match=r"no text could be measured.*gone"):
            evaluate_sync(searched(broken)[0], SUITE, tmp_path / "other")


class TestTheDevSlice:
    @pytest.mark.parametrize(
        "name", ["rewrite:x2", "diagnostic:x1", "core:8+8", "profile:x1", "long:1k", "multi-turn:x3+seed7"]
    )
    def test_no_scored_prompt_is_in_it(self, name):
        suite = load(name)
        _, dev = dev_slice(suite, suite.prompts)
        assert 8 <= len(dev) <= 32
        said = {turn.text for prompt in suite.prompts for turn in prompt.turns}
        queries = {prompt.tags.get("query", prompt.id) for prompt in suite.prompts}
        assert not [one.id for one in dev if one.text in said or one.tags.get("query") in queries]

    def test_a_family_has_its_own_levels(self):
        name, dev = dev_slice(load("long:2k+x1"), ())
        assert name == "long:2k+seed8400519"
        assert {one.tags["slice"] for one in dev} == {"2k"}

    def test_others_are_asked_like_training(self):
        name, dev = dev_slice(OWN, OWN.prompts)
        assert name.startswith("training prompts")
        assert {one.source for one in dev} == {"training"}

    def test_too_few_are_refused(self):
        suite = load("long:1k")
        with pytest.raises(UsageError, match="at least 8 are needed"):
            dev_slice(suite, dev_slice(suite, ())[1][4:])


class TestCostAndResuming:
    def test_every_answer_bears_its_share(self, tmp_path):
        model, inner = searched(Follower(["Mind every rule."], "Mind"))
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        found = search_of(run)
        assert found.calls == 3 + 3 * 32 == len(inner.asked) - 4
        assert found.completion_tokens == 2 * found.calls
        each = {one.usage.completion_tokens for one in run.responses()}
        assert each == {2 + -(-2 * found.calls // 4)}
        plain = evaluate_sync(ScriptedModel(Follower([], ""), name="scripted/inner"), SUITE, tmp_path / "plain")
        assert compare_runs(run, plain).tokens_a == each.pop()

    def test_unknown_costs_stay_unknown(self, tmp_path):
        model, _ = searched(
            lambda call: (
                "Mind."
                if "advice only" in call.messages[-1].content
                else Response(call.prompt_id, call.turn, call.draw, "x", "ok")
            )
        )
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        assert {one.usage.completion_tokens for one in run.responses()} == {None}

    def test_a_run_goes_on_with_the_text_that_it_began_with(self, tmp_path):
        failing, script = iter([True]), Follower(["Mind every rule."], "Mind")

        def once(call):
            if call.messages[-1].content == f"Mind every rule.\n\n{LAST}" and next(failing, False):
                raise RuntimeError("gone")
            return script(call)

        model, _ = searched(once)
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        assert run.summary().accounting.error == 1
        second, inner = searched(Follower(["Other."], "Mind"))
        run = evaluate_sync(second, SUITE, tmp_path / "run")
        assert run.summary().accounting.ok == 4
        assert [call.messages[-1].content for call in inner.asked] == [f"Mind every rule.\n\n{LAST}"]
        assert search_of(run).chosen == "Mind every rule."

    def test_a_finished_run_asks_nothing(self, tmp_path):
        evaluate_sync(searched(Follower(["Mind."], "Mind"))[0], SUITE, tmp_path / "run")
        again, inner = searched(Follower(["Mind."], "Mind"))
        evaluate_sync(again, SUITE, tmp_path / "run")
        assert inner.asked == []

    def test_a_damaged_search_is_named(self, tmp_path):
        run = evaluate_sync(searched(Follower(["Mind."], "Mind"))[0], SUITE, tmp_path / "run")
        (run.directory / "search.json").write_text("{", encoding="utf-8")
        for path in (run.directory / "responses").glob("*.jsonl"):
            path.unlink()
        with pytest.raises(IntegrityError, match=r"search\.json.*Remove it"):
            evaluate_sync(searched(Follower(["Mind."], "Mind"))[0], SUITE, tmp_path / "run")


class TestNames:
    def test_it_opens_by_name_and_is_no_oracle(self):
        model = open_model("prompt-search(scripted/echo)")
        assert model.name == "prompt-search(scripted/echo)"
        assert model.proposals == 8
        assert model.engine.settings == {"method": "prompt-search", "oracle": False}
        assert open_model("prompt-search-3(majority-2(scripted/echo))").proposals == 3

    def test_it_stands_outermost_and_is_measured(self):
        with pytest.raises(UsageError, match="outermost"):
            open_model("majority(prompt-search(scripted/echo))")
        model = open_model("prompt-search(scripted/echo)")
        with pytest.raises(UsageError, match="can only be measured"):
            model.respond([Request("a", 0, 0, (Message("user", "x"),), 0)], Sampling())


def test_the_file_is_plain_json(tmp_path):
    run = evaluate_sync(searched(Follower(["Mind."], "Mind"))[0], SUITE, tmp_path / "run")
    stored = json.loads((run.directory / "search.json").read_text(encoding="utf-8"))
    assert set(stored) == {
        "dev",
        "prompts",
        "candidates",
        "chosen",
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "cost_usd",
    }
