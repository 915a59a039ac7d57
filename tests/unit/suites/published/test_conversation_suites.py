"""AgentIF, MultiChallenge, AdvancedIF and Inverse IFEval.

Their files, what code decides in the sandbox, and their numbers.
"""

import json

import pytest
from tests.unit.suites.published.files import lines, listed

from adhere.constraints.published.judged.table import JUDGED
from adhere.constraints.resolve import resolve
from adhere.errors import BadParameter, SpecError
from adhere.pipeline.official import official_scores
from adhere.pipeline.outcomes import Answers
from adhere.sandbox import backend
from adhere.schema import ConstraintRef, Response, Verdict
from adhere.suites import load

CODE = "import re\ndef check_following(response):\n    return bool(re.search('fox', response))\n"
needs_isolation = pytest.mark.skipif(backend() == "none", reason="no isolation here")


def agentif(**more):
    def rule(desc, dimension, *steps):
        return {
            "desc": desc,
            "dimension": dimension,
            "evaluation": [{"type": kind, "exec": text} for kind, text in steps],
        }

    return {
        "input": [{"role": "system", "content": "You are an agent."}, {"role": "user", "content": "Name an animal."}],
        "constraints": [
            rule("Name the fox", "unconditional", ("code", CODE)),
            rule("Be polite", "unconditional", ("llm", "Is it polite? {response}")),
            rule(
                "Use a list", "conditional", ("llm_conditional_check", "Are there several?\n{response}"), ("code", CODE)
            ),
        ],
        **more,
    }


def measures(suite, outcomes, draws=1):
    """`outcomes`: by prompt and draw, a letter a constraint."""
    words = {"p": "pass", "f": "fail", "u": "undecided"}
    responses = [Response(name, 0, draw, "x", "ok") for name, draw in outcomes]
    verdicts = [
        Verdict(name, 0, draw, index, "x", view, words[one], "because")
        for (name, draw), found in outcomes.items()
        for index, one in enumerate(found)
        for view in ("strict", "loose")
    ]
    answers = Answers(suite.prompts, draws, responses, verdicts)
    return {(one.name, one.scope): one.value for one in official_scores(answers, ())}


def judged(source, text="a fox"):
    return resolve(ConstraintRef("agentif:code", {"source": source}), profile="agentif").check(text).outcome


@needs_isolation
def test_agentif_s_code_runs_in_the_sandbox_and_counts_as_published(tmp_path):
    assert (judged(CODE), judged(CODE, "a cow")) == ("pass", "fail")
    returns = "def check_following(response):\n    return {}\n"
    assert [judged(returns.format(value)) for value in ("'YES, it is'", "'NO'", "'maybe'", "None", "[]", "2")] == [
        "pass",
        "fail",
        "undecided",
        "undecided",
        "fail",
        "pass",
    ]
    assert judged("def check_following(response):\n    raise ValueError('no')\n") == "undecided"
    target = tmp_path / "written"
    assert judged(f"def check_following(response):\n    open({str(target)!r}, 'w')\n    return True\n") == "undecided"
    assert not target.exists()
    with pytest.raises(BadParameter, match="check_following"):
        judged("def other(response): pass")


def test_agentif_s_rows_and_numbers(tmp_path):
    suite = load(f"agentif:{listed(tmp_path / 'eval.json', [agentif(), agentif()])}")
    prompt = suite.prompts[0]
    assert (prompt.system, prompt.text) == ("You are an agent.", "Name an animal.")
    assert [ref.id for ref in prompt.constraints] == ["agentif:code", JUDGED, JUDGED]
    assert "Condition: Are there several?\nRule: Use a list" in prompt.constraints[2].params["statement"]
    assert "code decides 2 of them" in suite.settings["note"]
    found = measures(suite, {("0", 0): "ppu", ("1", 0): "pfp"})
    assert found == {("CSR", ""): 0.8, ("ISR", ""): 0.0, ("CSR", "unconditional"): 0.75, ("CSR", "conditional"): 1.0}
    with pytest.raises(SpecError, match="of type code, llm"):
        load(
            f"agentif:{listed(tmp_path / 'bad.json', [agentif(constraints=[{'desc': 'x', 'evaluation': [{'type': 'eval', 'exec': ''}]}])])}"
        )


def question(number, axis, **more):
    return {
        "QUESTION_ID": f"q{number}",
        "AXIS": axis,
        "TARGET_QUESTION": "Is it near?",
        "PASS_CRITERIA": "NO",
        "CONVERSATION": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "Where?"},
        ],
        **more,
    }


def test_multichallenge_asks_the_last_turn_and_takes_the_mean_over_axes(tmp_path):
    rows = [question(1, "INFERENCE_MEMORY"), question(2, "SELF_COHERENCE"), question(3, "SELF_COHERENCE")]
    suite = load(f"multichallenge:{lines(tmp_path / 'q.jsonl', rows)}")
    messages = suite.prompts[0].messages()
    assert [(one.role, one.content) for one in messages] == [("user", "Hi"), ("assistant", "Hello"), ("user", "Where?")]
    assert (
        suite.prompts[0].constraints[0].params["statement"]
        == "Asked about the answer: Is it near? The right reply is no."
    )
    outcomes = {("q1", 0): "f", ("q1", 1): "f", ("q2", 0): "f", ("q2", 1): "p", ("q3", 0): "p", ("q3", 1): "u"}
    found = measures(suite, outcomes, draws=2)
    assert found == {
        ("MultiChallenge score", ""): 0.5,
        ("any attempt", "INFERENCE_MEMORY"): 0.0,
        ("any attempt", "SELF_COHERENCE"): 1.0,
    }
    for wrong, message in (
        ({"PASS_CRITERIA": "yes"}, "YES or NO"),
        ({"CONVERSATION": [{"role": "assistant", "content": "x"}]}, "last message"),
    ):
        with pytest.raises(SpecError, match=message):
            load(f"multichallenge:{lines(tmp_path / 'bad.jsonl', [question(1, 'X', **wrong)])}")


def test_advancedif_reads_json_inside_cells(tmp_path):
    talk = [{"role": "system", "content": "Haiku."}, {"role": "user", "content": "Spring?"}]
    row = {
        "conversation_history": json.dumps(talk),
        "prompt_metadata": json.dumps({"rubrics": json.dumps(["Is it a haiku?", "Is it about spring?"])}),
        "benchmark_name": "if_system_steerability_oss",
        "response": "not read",
    }
    suite = load(f"advancedif:{lines(tmp_path / 'rows.jsonl', [row, row | {'conversation_history': talk}])}")
    assert [(prompt.system, prompt.text, len(prompt.constraints)) for prompt in suite.prompts] == [
        ("Haiku.", "Spring?", 2)
    ] * 2
    assert suite.slices == ("if_system_steerability_oss",)
    with pytest.raises(SpecError, match="rubrics"):
        load(f"advancedif:{lines(tmp_path / 'bad.jsonl', [row | {'prompt_metadata': '{}'}])}")


def test_inverse_ifeval_judges_by_the_row_s_reference(tmp_path):
    row = {
        "instruction_types": "Question Correction",
        "prompt": "Answer wrongly.",
        "response_reference": "It must be wrong.",
        "language": "english",
    }
    suite = load(f"inverse-ifeval:{listed(tmp_path / 'rows.json', [row])}")
    (prompt,) = suite.prompts
    assert (prompt.text, prompt.tags["slice"]) == ("Answer wrongly.", "Question Correction")
    assert "It must be wrong." in prompt.constraints[0].params["statement"]
    with pytest.raises(SpecError, match="response_reference"):
        load(f"inverse-ifeval:{listed(tmp_path / 'bad.json', [row | {'response_reference': 3}])}")
