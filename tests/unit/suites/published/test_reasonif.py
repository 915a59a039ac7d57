"""ReasonIF: one rule about the reasoning, undecided where none is shown."""

import pytest
from tests.unit.suites.published.files import listed

from adhere.errors import SpecError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.check import check
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import Response
from adhere.suites import load


def row(rule, args, source="gsm8k", **more):
    return {
        "source": source,
        "hf_id": "x",
        "question": "2+2?",
        "answer": "4",
        "constraint_name": [rule],
        "constraint_args": [args],
        "prompt": f"Mind the rule {rule}: 2+2?",
        **more,
    }


RULES = (
    ("punctuation:no_comma", None, "one and one", "one, two"),
    ("length_constraint_checkers:number_words", {"num_words": 3}, "two words", "now three words"),
    ("change_case:english_capital", None, "THIS IS ALL IN CAPITAL LETTERS", "this is not"),
    ("startend:end_checker", {"end_phrase": "THE END BY AI"}, 'so it is 4. "the end by ai"', "THE END BY AI."),
    ("detectable_format:json_format", None, '```json\n{"a": 1}\n```', "a: 1"),
    ("language:reasoning_language", {"language": "fr"},
        "Je pense que la réponse est quatre, car deux et deux font quatre.",
     "I think that the answer must be four because two and two make four."),
    ("language:reasoning_language", {"language": "zh"}, "我认为答案是四,因为二加二等于四。", "I think that the answer must be four."),
)  # fmt: skip


@pytest.mark.parametrize(("rule", "args", "right", "wrong"), RULES)
def test_the_reasoning_is_judged_and_nothing_else(tmp_path, rule, args, right, wrong):
    (prompt,) = load(f"reasonif:{listed(tmp_path / 'r.json', [row(rule, args)])}").prompts
    for text, reasoning, wanted in (
        ("4, four", right, "pass"),
        ("four", wrong, "fail"),
        (right, None, "undecided"),
        ("", right, "fail"),
    ):
        verdicts = check(prompt, Response(prompt.id, 0, 0, text, "ok", reasoning=reasoning), views=("strict",))
        assert [verdict.outcome for verdict in verdicts] == [wanted], (text, reasoning, verdicts)
    assert "reasonif" in verdicts[0].verifier_version or "ifeval" in verdicts[0].verifier_version


def test_rates_by_rule_and_source(tmp_path):
    rows = [
        row("punctuation:no_comma", None),
        row("punctuation:no_comma", None, "aime"),
        row("detectable_format:json_format", None),
    ]
    suite = load(f"reasonif:{listed(tmp_path / 'r.json', rows)}")
    assert suite.settings["note"] == "3 prompts: differs from the published file, which has 300 prompts"
    answers = {"0": "<think>a b</think>4", "1": "<think>a, b</think>4", "2": "4"}
    run = evaluate_sync(ScriptedModel(lambda request: answers[request.prompt_id]), suite, tmp_path / "run")
    summary = run.summary()
    assert summary.slices["punctuation:no_comma"].prompt_strict.of_all == 0.5
    assert summary.overall.prompt_strict.n == 2
    assert summary.overall.coverage == pytest.approx(2 / 3)
    assert {one.scope: one.value for one in summary.measures if one.name == "task"} == {"gsm8k": 1.0, "aime": 0.0}


def test_other_versions_are_refused(tmp_path):
    good = row("punctuation:no_comma", None)
    for change, message in (
        (
            {"constraint_name": ["punctuation:no_comma", "startend:quotation"]},
            "must be one of language:reasoning_language",
        ),
        ({"constraint_name": ["startend:quotation"]}, "must be one of language:reasoning_language"),
        ({"source": "own"}, "source='own' must be one of"),
        ({"prompt": None}, "prompt is None, but must be a text"),
    ):
        with pytest.raises(SpecError, match=message):
            load(f"reasonif:{listed(tmp_path / 'r.json', [{**good, **change}])}")
    with pytest.raises(SpecError, match="must be a list of rows"):
        load(f"reasonif:{listed(tmp_path / 'r.json', good)}")
