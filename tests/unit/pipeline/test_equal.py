"""Comparisons at equal tokens and at equal length, with scripted models whose costs and lengths are known."""

import json

import pytest
from click.testing import CliRunner

from adhere.cli.compare import command
from adhere.errors import RunMismatch, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.wrap import WrappedModel
from adhere.models.wrap.methods import best_of, majority, prefix
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.compare.equal import at_equal_tokens, innermost, with_equal_length
from adhere.report.tables.compare import compare_text
from adhere.schema import ConstraintRef, Prompt, Response, Sampling, Turn, Usage
from adhere.suites.base import Suite

LOWER = ConstraintRef("case:lower")
SUITE = Suite("mine", "1", tuple(Prompt(f"p{at:02d}", (Turn(f"Say {at}.", (LOWER,)),)) for at in range(40)))


def model(passes, tokens, *, text="cats", name="scripted/inner"):
    """Passes the first `passes` prompts, each answer costing `tokens`."""

    def script(call):
        number = int(call.messages[-1].content.rsplit("Say ", 1)[1].rstrip("."))
        said = text if number < passes else text.upper()
        usage = Usage(completion_tokens=tokens)
        return Response(call.prompt_id, call.turn, call.draw, said, "ok", usage=usage)

    return ScriptedModel(script, name=name)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    from adhere.pipeline.evaluate import evaluate_sync

    root = tmp_path_factory.mktemp("equal")
    made = {
        "plain": model(10, 10),
        "vote": WrappedModel(model(14, 10), "majority-4", majority(4)),  # 40 tokens
        "method": WrappedModel(model(20, 25), "prefix", prefix),
        "oracle": WrappedModel(model(14, 10), "best-of-4", best_of(4), is_oracle=True),
        "other": model(10, 40, name="scripted/other"),
        "silent": model(10, None),
    }
    found = {name: evaluate_sync(one, SUITE, root / name) for name, one in made.items()}
    found["longer"] = evaluate_sync(model(12, 26), SUITE, root / "longer", sampling=Sampling(max_new_tokens=200))
    return found


class TestEqualTokens:
    def test_a_mixture_of_two_runs_has_the_method_s_tokens(self, runs):
        found = at_equal_tokens(runs["method"], [runs["plain"], runs["vote"]])
        # 25 tokens lie half way between 10 and 40: (10 + 14) / 2 of 40 pass.
        assert (found.tokens_a, found.tokens_b) == (25, 25)
        assert found.overall.rate_b == pytest.approx(12 / 40)
        assert found.overall.difference == pytest.approx(8 / 40)
        assert found.b == "50% majority-4(scripted/inner) + 50% scripted/inner"
        assert found.overall.low < 0.2 < found.overall.high

    def test_the_order_of_the_baselines_does_not_matter(self, runs):
        one, other = (
            at_equal_tokens(runs["method"], [runs[a], runs[b]]) for a, b in (("plain", "vote"), ("vote", "plain"))
        )
        assert one == other

    def test_a_run_within_five_percent_is_taken_as_it_is(self, runs):
        found = at_equal_tokens(runs["method"], [runs["plain"], runs["longer"], runs["vote"]])
        assert found.b == "scripted/inner"
        assert found.tokens_b == 26
        assert found.overall.rate_b == 12 / 40

    def test_plain_alone_is_told_what_to_measure(self, runs):
        with pytest.raises(UsageError, match=r"Measure majority-3\(scripted/inner\) and give it, too"):
            at_equal_tokens(runs["method"], [runs["plain"]])

    def test_a_method_that_spends_less_needs_none(self, runs):
        with pytest.raises(UsageError, match="fewer than every baseline"):
            at_equal_tokens(runs["plain"], [runs["vote"]])

    def test_an_oracle_another_model_and_unknown_costs_are_refused(self, runs):
        for name, why in (("oracle", "may not use the verifiers"), ("other", "its own model")):
            with pytest.raises(RunMismatch, match=why):
                at_equal_tokens(runs["method"], [runs["plain"], runs[name]])
        with pytest.raises(UsageError, match="do not say how many tokens"):
            at_equal_tokens(runs["method"], [runs["silent"]])

    def test_an_oracle_may_be_the_method_and_is_marked(self, runs):
        found = at_equal_tokens(runs["oracle"], [runs["plain"], runs["vote"]])
        assert any("a is an oracle" in note for note in found.notes)

    def test_the_model_at_the_bottom(self):
        assert innermost("majority-5(prefix(openrouter/a/b))") == "openrouter/a/b"

    def test_the_command(self, runs):
        paths = [str(runs[name].directory) for name in ("method", "plain", "vote")]
        result = CliRunner().invoke(command, [*paths, "--equal-tokens"])
        assert result.exit_code == 0, result.output
        assert "b has as many generated tokens an answer as a: 25.0 against 25.0" in result.output
        (found,) = json.loads(CliRunner().invoke(command, [*paths, "--equal-tokens", "--json"]).output)
        assert found["tokens_b"] == 25
        for more in ("--length-controlled", f"--side={paths[0]}"):
            refused = CliRunner().invoke(command, [*paths, "--equal-tokens", more])
            assert isinstance(refused.exception, UsageError)
            assert "Ask for one of the two" in str(refused.exception)


def test_how_many_answers_are_the_same_text(runs):
    found = compare_runs(runs["plain"], runs["method"])
    assert (found.answers, found.same_answers) == (40, 30)  # prompts 10 to 19 pass with the method alone
    assert "30 of 40 answers are the same text" in compare_text(found)


class TestEqualLength:
    def pair(self, tmp_path, longer):
        """a passes where its answer is long, b always or never: its answers are all of one length."""
        from adhere.pipeline.evaluate import evaluate_sync

        def script(call):
            number = int(call.messages[-1].content.rsplit("Say ", 1)[1].rstrip("."))
            text = "cats " * (30 if number % 4 < longer else 4)
            return text if number % 4 < longer else text.upper()

        plain = ScriptedModel(lambda call: "cats dogs " + "and so on " * (call.seed % 5), name="scripted/b")
        return [
            evaluate_sync(one, SUITE, tmp_path / one.name[-1])
            for one in (ScriptedModel(script, name="scripted/a"), plain)
        ]

    def test_what_length_explains_is_taken_off(self, tmp_path):
        a, b = self.pair(tmp_path, 3)
        found = with_equal_length(compare_runs(a, b), a, b)
        equal = found.at_equal_length
        assert found.overall.difference == pytest.approx(-0.25)
        assert equal.n == 40
        assert equal.characters_a > equal.characters_b
        assert equal.slope > 0
        assert equal.low <= equal.difference <= equal.high
        assert equal.difference < found.overall.difference  # a is longer, and that is where it passes
        text = compare_text(found)
        assert "characters an answer; at equal length −" in text.replace("\n", " ").replace("  ", " ")

    def test_always_longer_has_no_number(self, tmp_path):
        a, b = self.pair(tmp_path, 4)
        found = with_equal_length(compare_runs(a, b), a, b)
        assert found.at_equal_length.difference is None
        assert "never seen" in compare_text(found).replace("\n         ", " ")

    def test_the_command(self, tmp_path):
        paths = [str(run.directory) for run in self.pair(tmp_path, 3)]
        (found,) = json.loads(CliRunner().invoke(command, [*paths, "--length-controlled", "--json"]).output)
        assert found["at_equal_length"]["n"] == 40
        assert json.loads(CliRunner().invoke(command, [*paths, "--json"]).output)[0]["at_equal_length"] is None
