"""LogicIFEval: the last JSON of an answer against a transcription of the published extraction; cases and questions."""

import json

import pytest
from tests.unit.suites.published.files import lines

from adhere.constraints.published.logicif.table import last_json
from adhere.constraints.resolve import resolve
from adhere.errors import SpecError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load


def theirs(text):
    """A transcription of `_extract_last_json`."""
    valid, stack, start = [], [], None
    for i, char in enumerate(text):
        if char in "{[":
            stack.append(char)
            if len(stack) == 1:
                start = i
        elif char in "}]" and stack:
            if (char == "}" and stack[-1] == "{") or (char == "]" and stack[-1] == "["):
                stack.pop()
            if len(stack) == 0 and start is not None:
                try:
                    valid.append(json.loads(text[start : i + 1]))
                except json.JSONDecodeError:
                    pass
                finally:
                    start = None
    return valid[-1] if valid else None


TEXTS = (
    "", "no json", '{"a": 1}', 'x {"a": 1} y {"b": 2} z', '{"a": 1} {b}', '{"a": {"b": [1, 2]}}', "[1] then {", "{ [1]",
    "] } [2]", '{"a": "}"}', '{"a": "{"} {"b": 1}', "{]} {}", "[}] [3]", "```json\n{\"output\": 1, \"stats\": {}}\n```",
    '{"a": 1}}{"b": 2}', "[[1, 2], [3]] text [a]", "{{}} {}", "[NaN]",
)  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_the_last_json_is_the_published_one(text):
    found = last_json(text)
    wanted = theirs(text)
    assert repr(found) == repr(wanted) if wanted is not None else not isinstance(found, dict | list)


def judged(part, expected, text):
    return resolve(ConstraintRef(f"logicif:{part}", {"expected": json.dumps(expected)})).check(text).outcome


def test_values_are_compared_as_python_compares_them():
    text = 'So: {"output": 1, "stats": {"loops": 2.0, "found": true}}'
    assert judged("output", 1.0, text) == "pass"
    assert judged("output", True, text) == "pass"
    assert judged("output", [1], text) == "fail"
    assert judged("stats", {"found": 1, "loops": 2}, text) == "pass"
    assert judged("stats", {"loops": 2}, text) == "fail"
    assert judged("output", 1, '{"output": 1}') == "fail"
    assert judged("output", 1, text + " [1]") == "fail"


def test_no_json_is_null_as_published():
    assert judged("output", None, "It returns nothing.") == "pass"
    assert judged("stats", {}, "It returns nothing.") == "fail"
    assert judged("output", None, '{"output": 1, "stats": {}}') == "fail"
    assert judged("output", None, " ") == "fail", "a blank answer fails every kind here"


def row(task, case, output, **more):
    return {
        "task_id": task,
        "test_case_id": case,
        "input": [case],
        "instruction": f"{task}: carry it out on {case}",
        "code_output": {"output": output, "stats": {"steps": case}},
        **more,
    }


def test_cases_and_questions(tmp_path):
    rows = [row("A", 0, 5), row("A", 1, 6), row("B", 0, 7)]
    suite = load(f"logicif:{lines(tmp_path / 'l.jsonl', rows)}")
    assert suite.settings["note"] == "2 questions, 3 cases"
    say = lambda output, steps: json.dumps({"output": output, "stats": {"steps": steps}})  # noqa: E731
    answers = {"A-0": say(5, 0), "A-1": say(6, 9), "B-0": say(7, 0)}
    run = evaluate_sync(ScriptedModel(lambda request: answers[request.prompt_id]), suite, tmp_path / "run")
    summary = run.summary()
    found = {(one.name, one.scope): one.value for one in summary.measures}
    assert summary.overall.prompt_strict.of_all == pytest.approx(2 / 3)  # case level
    assert found["question", "every case"] == 0.5
    assert found["role", "output"] == 1.0
    assert found["role", "stats"] == pytest.approx(2 / 3)


def test_other_versions_are_refused(tmp_path):
    for change, message in (
        ({"code_output": {"output": 1}}, "must hold output and stats, holds output"),
        ({"test_case_id": "0"}, "test_case_id is '0', but must be a whole number"),
        ({"instruction": None}, "instruction is None"),
    ):
        with pytest.raises(SpecError, match=rf"l\.jsonl:1: .*{message}"):
            load(f"logicif:{lines(tmp_path / 'l.jsonl', [row('A', 0, 5, **change)])}")
    with pytest.raises(SpecError, match="two rows are 'A-0'"):
        load(f"logicif:{lines(tmp_path / 'l.jsonl', [row('A', 0, 5), row('A', 0, 5)])}")
