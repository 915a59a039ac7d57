"""Inference-time methods: what they ask, what they answer with, and what it costs; with scripted models."""

import asyncio

import msgspec
import pytest

from adhere.errors import UnknownName, UsageError
from adhere.models.base import Model, Request
from adhere.models.catalog import is_endpoint, open_model
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.wrap import WrappedModel, known_methods
from adhere.models.wrap.methods import best_of, majority
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef, Message, Prompt, Response, Sampling, Turn, Usage
from adhere.suites.base import Suite

LOWER = ConstraintRef("case:lower")
SUITE = Suite("mine", "1", (Prompt("a", (Turn("Say cats.", (LOWER,)),)), Prompt("b", (Turn("Say dogs.", (LOWER,)),))))


def request(text="Say cats.", seed=3):
    return Request("a", 0, 0, (Message("user", text),), seed)


def asked(model, requests, sampling=None):
    async def collect():
        return [response async for response in model.respond(requests, sampling or Sampling())]

    return asyncio.run(collect())


def wrapped(name, script):
    inner = ScriptedModel(script, name="scripted/inner")
    from adhere.models.wrap.names import open_wrapped

    return open_wrapped(f"{name}(scripted/inner)", lambda _: inner), inner


def by_script(*answers):
    """Answers in the order of the calls."""
    left = list(answers)
    return lambda request: left.pop(0)


class TestNames:
    def test_models_of_models_have_the_whole_name(self):
        model = open_model("majority-3(scripted/fixed:yes)")
        assert isinstance(model, Model)
        assert model.name == "majority-3(scripted/fixed:yes)"
        assert model.engine.settings == {"method": "majority-3", "oracle": False}
        assert open_model("prefix(majority(scripted/echo))").name == "prefix(majority(scripted/echo))"
        assert open_model("best-of-2(scripted/echo)").engine.settings["oracle"] is True

    @pytest.mark.parametrize(("inner", "said"), [("in fixed chunks of 16", "no"), ("no", "no"), ("yes", "yes")])
    def test_a_method_asks_in_its_own_way_so_chunks_of_the_inner_model_are_not_kept(self, inner, said):
        model = ScriptedModel(lambda request: "yes", name="scripted/inner")
        model.engine = msgspec.structs.replace(model.engine, settings={"batch_invariant": inner})
        from adhere.models.wrap.names import open_wrapped

        found = open_wrapped("best-of-2(scripted/inner)", lambda _: model)
        assert found.engine.settings["batch_invariant"] == said
        assert getattr(found, "chunk", None) is None  # or the pipeline would promise chunks

    def test_what_is_no_method_or_number(self):
        with pytest.raises(UnknownName, match=r"Unknown method 'majorty-3'\."):
            open_model("majorty-3(scripted/echo)")
        with pytest.raises(UsageError, match="must be 1 to 64"):
            open_model("best-of-0(scripted/echo)")
        with pytest.raises(UnknownName, match="Unknown script"):
            open_model("prefix(scripted/nothing)")

    def test_an_oracle_stands_outermost(self):
        with pytest.raises(UsageError, match="outermost"):
            open_model("majority(best-of-2(scripted/echo))")
        assert open_model("best-of-2(majority(scripted/echo))").engine.settings["oracle"] is True

    def test_an_endpoint_inside_is_an_endpoint(self):
        assert is_endpoint("majority-3(openrouter/a/b)")
        assert not is_endpoint("majority-3(local/smollm2-135m)")

    def test_all_methods_open(self):
        for name in set(known_methods()) - {"steer-N"}:  # it needs weights: test_steering.py
            assert open_model(f"{name.removesuffix('-N')}(scripted/echo)")


class TestMethods:
    def test_prefix_stands_before_the_last_message(self):
        model, inner = wrapped("prefix", lambda request: "ok")
        assert [one.text for one in asked(model, [request()])] == ["ok"]
        (call,) = inner.asked
        assert call.messages[-1].content.endswith("\n\nSay cats.")
        assert call.messages[-1].content != "Say cats."

    def test_majority_takes_what_is_said_most_often_and_draws_warm(self):
        model, inner = wrapped("majority-3", by_script("Dog", "cat ", "Cat"))
        (answer,) = asked(model, [request()])
        assert answer.text == "cat "
        assert len({call.seed for call in inner.asked}) == 3

    def test_majority_among_different_answers_is_the_first(self):
        model, _ = wrapped("majority-3", by_script("a", "b", "c"))
        assert asked(model, [request()])[0].text == "a"

    def test_greedy_runs_draw_their_several_answers_warm(self):
        seen = []

        class Inner(ScriptedModel):
            def respond(self, requests, sampling):
                seen.append(sampling.temperature)
                return super().respond(requests, sampling)

        asked(WrappedModel(Inner(lambda _: "x"), "majority-2", majority(2)), [request()], Sampling(temperature=0))
        asked(WrappedModel(Inner(lambda _: "x"), "majority-2", majority(2)), [request()], Sampling(temperature=0.3))
        assert seen == [0.8, 0.3]

    def test_self_check_previews_answers_and_checks(self):
        model, inner = wrapped("self-check", by_script("- lower case", "CATS", "cats"))
        assert asked(model, [request()])[0].text == "cats"
        assert "- lower case" in inner.asked[1].messages[-1].content
        assert inner.asked[2].messages[-2] == Message("assistant", "CATS")

    def test_refinement_stops_where_nothing_is_criticised(self):
        model, inner = wrapped("decompose-critique-refine", by_script("- lower", "cats", "OK, all kept."))
        assert asked(model, [request()])[0].text == "cats"
        assert len(inner.asked) == 3

    def test_refinement_answers_again_where_something_is(self):
        model, inner = wrapped("decompose-critique-refine", by_script("- lower", "CATS", "It is in capitals.", "cats"))
        assert asked(model, [request()])[0].text == "cats"
        assert inner.asked[3].messages[-2] == Message("assistant", "It is in capitals.")

    def test_shuffled_steps_have_the_same_steps_in_another_order(self):
        steps = "\n".join(f"{at}. do {at}" for at in range(1, 9))
        models = {name: wrapped(name, by_script(steps, "x")) for name in ("step-by-step", "shuffled-steps")}
        prompts = {}
        for name, (model, inner) in models.items():
            asked(model, [request()])
            prompts[name] = inner.asked[1].messages[-1].content
        assert steps in prompts["step-by-step"]
        assert steps not in prompts["shuffled-steps"]
        assert sorted(prompts["step-by-step"].splitlines()) == sorted(prompts["shuffled-steps"].splitlines())

    def test_requests_of_one_round_are_asked_together(self):
        batches = []

        class Inner(ScriptedModel):
            def respond(self, requests, sampling):
                batches.append(len(requests))
                return super().respond(requests, sampling)

        model = WrappedModel(Inner(lambda _: "x"), "majority-2", majority(2))
        found = asked(model, [Request(f"p{at}", 0, 0, (Message("user", str(at)),), at) for at in range(5)])
        assert batches == [10]
        assert sorted(one.prompt_id for one in found) == [f"p{at}" for at in range(5)]


class TestCost:
    def test_every_call_is_counted(self):
        def script(call):
            return Response(
                call.prompt_id, 0, 0, "cats", "ok", usage=Usage(prompt_tokens=10, completion_tokens=2), latency_s=0.5
            )

        model, _ = wrapped("majority-4", script)
        (answer,) = asked(model, [request()])
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.latency_s) == (40, 8, 2.0)

    def test_a_cost_that_one_call_did_not_report_is_unknown(self):
        usages = [Usage(completion_tokens=2), Usage()]
        model, _ = wrapped("majority-2", lambda call: Response(call.prompt_id, 0, 0, "x", "ok", usage=usages.pop()))
        assert asked(model, [request()])[0].usage.completion_tokens is None

    def test_one_call_that_fails_is_a_failed_answer(self):
        def script(call):
            if call.prompt_id.endswith(".1"):
                raise RuntimeError("gone")
            return "x"

        model, _ = wrapped("majority-2", script)
        (answer,) = asked(model, [request()])
        assert (answer.status, answer.text) == ("error", "")
        assert "a call failed" in answer.error
        assert "gone" in answer.error
        assert answer.key == ("a", 0, 0)

    def test_a_cut_answer_stays_cut(self):
        model, _ = wrapped("prefix", lambda _: "one two three four")
        assert asked(model, [request()], Sampling(max_new_tokens=2))[0].status == "truncated"


class TestOracles:
    def test_best_of_takes_what_the_verifiers_like(self, tmp_path):
        answers = {"Say cats.": ["CATS", "cats"], "Say dogs.": ["DOGS", "DOGS"]}
        inner = ScriptedModel(lambda call: answers[call.messages[-1].content].pop(0))
        run = evaluate_sync(WrappedModel(inner, "best-of-2", best_of(2), is_oracle=True), SUITE, tmp_path / "run")
        assert {one.prompt_id: one.text for one in run.responses()} == {"a": "cats", "b": "DOGS"}
        assert run.summary().overall.prompt_strict.passed == 1
        assert run.spec.engine.settings["oracle"] is True

    def test_repair_is_told_the_reasons(self, tmp_path):
        model, inner = wrapped(
            "repair", lambda call: "cats" if "breaks what was asked" in call.messages[-1].content else "CATS"
        )
        run = evaluate_sync(model, SUITE, tmp_path / "run")
        assert run.summary().overall.prompt_strict.passed == 2
        assert "capital" in inner.asked[-1].messages[-1].content or "lower" in inner.asked[-1].messages[-1].content

    def test_a_worse_repair_is_not_taken(self, tmp_path):
        suite = Suite("mine", "1", (Prompt("a", (Turn("Say.", (LOWER, ConstraintRef("punctuation:no_commas"))),)),))
        model, _ = wrapped("repair-2", by_script("CATS", "CATS, DOGS", "Cats, dogs"))
        run = evaluate_sync(model, suite, tmp_path / "run")
        assert run.responses()[0].text == "CATS"

    def test_without_a_suite_an_oracle_refuses(self):
        model, _ = wrapped("best-of-2", lambda _: "x")
        with pytest.raises(UsageError, match="can only be measured"):
            asked(model, [request()])

    def test_reasoning_is_set_aside_before_the_oracle_looks(self, tmp_path):
        model, _ = wrapped("best-of-2", by_script("<think>x</think>CATS", "<think>LOUD</think>cats"))
        suite = Suite("mine", "1", SUITE.prompts[:1])
        assert evaluate_sync(model, suite, tmp_path / "run").responses()[0].text == "cats"


class TestInReports:
    def runs(self, tmp_path):
        def counted(text, tokens):
            return lambda call: Response(
                call.prompt_id, call.turn, call.draw, text, "ok", usage=Usage(completion_tokens=tokens)
            )

        plain = ScriptedModel(counted("CATS", 10))
        oracle = WrappedModel(ScriptedModel(counted("cats", 30)), "best-of-2", best_of(2), is_oracle=True)
        return [evaluate_sync(model, SUITE, tmp_path / str(at)) for at, model in enumerate((oracle, plain))]

    def test_oracles_are_ranked_with_no_other(self, tmp_path):
        from adhere.report.run.view import groups, run_facts

        found = groups([run_facts(run) for run in self.runs(tmp_path)])
        assert [(group.suite, len(group.runs)) for group in found] == [
            ("mine 1, 2 prompts (oracles)", 1),
            ("mine 1, 2 prompts", 1),
        ]

    def test_a_workbook_ranks_oracles_apart_too(self, tmp_path):
        from adhere.sweep.leaderboard import leaderboard_of_runs

        board = leaderboard_of_runs([run.directory for run in self.runs(tmp_path)])
        assert [(row.suite, row.rank) for row in board.rows] == [("mine (oracles)", 1), ("mine", 1)]

    def test_compare_shows_gain_per_token_and_the_oracle(self, tmp_path):
        from adhere.pipeline.compare import compare_runs
        from adhere.report.tables.compare import compare_text

        found = compare_runs(*self.runs(tmp_path))
        assert (found.tokens_a, found.tokens_b) == (60, 10)
        assert found.points_per_100_tokens == 200
        text = compare_text(found)
        assert "tokens an answer: 60.0 and 10.0; 200.00 points for every 100 tokens more" in text
        assert "a is an oracle" in text
