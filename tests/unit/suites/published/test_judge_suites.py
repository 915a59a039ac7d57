"""The suites that a model judges: their files, their statements, and what other versions of the files are told."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from tests.unit.suites.published.files import lines, listed

from adhere.constraints.published.judged.table import JUDGED
from adhere.constraints.resolve import resolve
from adhere.errors import SpecError, UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef
from adhere.suites import load

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[5] / "shared" / "data")) / "followbench"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"needs the published files in {DATA} (ADHERE_DATA)")


def session(number=1, related=True, **more):
    users = ["First question", "Second question"]
    criteria = {str(n): {"criteria_id": n, "criteria_content": f"Rule {n}", "criteria_type": "style"} for n in (1, 2)}
    messages = [{"role": "system", "content": "Follow the rules."}]
    for text in users:
        messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "published answer"}]
    return {
        "system_id": number,
        "system_prompt": "Follow the rules.",
        "messages": messages,
        "rounds_related": related,
        "prompt_infos": {text: {"alignment": "align", "criteria": criteria} for text in users},
        **more,
    }


def complexbench(number=0, **more):
    return {
        "main_id": number, "group": "g", "idx_in_group": number, "instruction": "写两句话。",
        "instruction_en": "Write two sentences.",
        "category": "And", "scoring_questions": [
            {"question": "是否写了两句话？", "question_en": "Are there two sentences?", "rule": "model_length:[1,9]", "dep": [],
             "composition_types": ["Selection"]},
            {"question": "是否通顺？", "question_en": "Are they fluent?", "rule": None, "dep": [0], "composition_types": []},
        ], **more,
    }  # fmt: skip


def codeif(**more):
    return {
        "question_id": 1,
        "question": "Write a counter.",
        "instruction_list": [{"type": "global", "instruction": "Use Go."}, {"type": "x", "instruction": "No loops."}],
        "instruction_dependence": {},
        "meta_info": {"language": "en", "programming_language": "go", "item_set": "easy"},
        **more,
    }


def wild(number=1, constraints=2, **more):
    return {
        "conversation_id": f"c{number}",
        "task": "Plan a day.",
        "decomposition": [f"part {n}" for n in range(constraints)],
        **more,
    }


def statements(prompt, turn=0):
    return [ref.params["statement"] for ref in prompt.turns[turn].constraints]


def test_sessions_keep_the_models_own_answers(tmp_path):
    suite = load(f"sysbench:{listed(tmp_path / 's.json', [session(1), session(2, related=False)])}")
    assert suite.prompts[0].system == "Follow the rules."
    assert [turn.text for turn in suite.prompts[0].turns] == ["First question", "Second question"]
    assert statements(suite.prompts[0], 1) == ["Rule 1", "Rule 2"]
    assert [prompt.tags["slice"] for prompt in suite.prompts] == ["dependent turns", "parallel turns"]
    assert suite.settings["note"].endswith("a model judges all criteria (adhere judge)")


def test_complexbench_in_two_languages(tmp_path):
    path = listed(tmp_path / "c.json", [complexbench(0), complexbench(1)])
    chinese, english = load(f"complexbench:{path}"), load(f"complexbench:{path}@en")
    assert chinese.prompts[0].text == "写两句话。"
    assert statements(english.prompts[0])[1] == "The answer to this question about it is yes: Are they fluent?"
    assert english.prompts[0].constraints[1].params["needs"] == ["0"]
    assert english.prompts[0].tags["group"] == "g"
    without = [{key: value for key, value in complexbench().items() if key != "instruction_en"}]
    with pytest.raises(UsageError, match="the file has no instruction_en"):
        load(f"complexbench:{listed(tmp_path / 'zh.json', without)}@en")


def test_codeif_and_wildifeval(tmp_path):
    code = load(f"codeif:{lines(tmp_path / 'q.jsonl', [codeif()])}").prompts[0]
    assert code.text == "Write a counter.\n\nKeep to these instructions:\n1. Use Go.\n2. No loops."
    assert statements(code)[0] == "The code keeps this instruction: Use Go."
    suite = load(f"wildifeval:{lines(tmp_path / 'w.jsonl', [wild(1), wild(2, 9)])}")
    assert [prompt.id for prompt in suite.prompts] == ["c1"]
    assert "1 with more than 8 constraints are left out" in suite.settings["note"]
    published = {"conversation_id": "c1", "decomposition": ["a"]}
    with pytest.raises(SpecError, match="must be joined with the requests of LMSYS-Chat-1M"):
        load(f"wildifeval:{lines(tmp_path / 'p.jsonl', [published])}")


def test_followbench_tells_which_two_instructions_to_compare(tmp_path):
    rows = [
        {
            "example_id": 1,
            "category": "style",
            "source": "own",
            "level": level,
            "instruction": f"text {level}",
            "target": "",
        }
        for level in range(3)
    ]
    path = listed(tmp_path / "style_constraints.json", rows)
    suite = load(f"followbench-judged:{path}")
    assert [prompt.id for prompt in suite.prompts] == ["style-1-1", "style-1-2"]
    assert [said.partition("\n")[2] for said in statements(suite.prompts[1])] == [
        "Before: text 0\nThis: text 1",
        "Before: text 1\nThis: text 2",
    ]
    with pytest.raises(SpecError, match="no row that a program decides"):
        load(f"followbench:{path}")
    with pytest.raises(SpecError, match="example 1 lacks the level 0 below it"):
        load(f"followbench-judged:{listed(path, rows[1:])}")


@needs_data
def test_all_of_followbench():
    suite = load(f"followbench-judged:{DATA}")
    assert len(suite.prompts) == len({prompt.id for prompt in suite.prompts}) == 820
    assert suite.settings["note"] == "350 of 820 rows are decided by program; a model judges 470 (adhere judge)"
    judged = [prompt for prompt in suite.prompts if prompt.constraints[0].id == JUDGED]
    assert Counter(len(prompt.constraints) for prompt in judged) == dict.fromkeys(range(1, 6), 94)
    program = {prompt.id: prompt for prompt in load(f"followbench:{DATA}").prompts}
    assert {prompt.id: prompt for prompt in suite.prompts if prompt.id in program} == program


@pytest.mark.parametrize(
    ("suite", "rows", "message"),
    [
        ("sysbench", [session(rounds_related="yes")], "rounds_related is 'yes', but must be true or false"),
        ("sysbench", [session(prompt_infos={})], "must have criteria and alignment"),
        ("sysbench", [session(messages=[{"role": "user", "content": "x"}])], "must be one system message"),
        ("sysbench", [session(), session()], "two rows are 'session-1'"),
        ("complexbench", [complexbench(scoring_questions=[])], "nothing to judge"),
        (
            "complexbench",
            [complexbench(scoring_questions=[{"question": "x", "dep": [4]}])],
            r"dep=\[4\] must be numbers of questions",
        ),
        ("codeif", [codeif(meta_info={"language": "fr"})], "language='fr' must be one of en, zh"),
        ("codeif", [codeif(instruction_list=["x"])], "objects with an instruction"),
        ("wildifeval", [wild(decomposition=[])], "not empty"),
    ],
)
def test_other_versions_are_refused(tmp_path, suite, rows, message):
    with pytest.raises(SpecError, match=message):
        load(f"{suite}:{listed(tmp_path / 'x.json', rows)}")


def test_no_program_decides_a_statement(tmp_path):
    found = resolve(ConstraintRef(JUDGED, {"statement": "It is kind."}))
    assert found.check("Have a good day.").outcome == "undecided"
    assert found.check("  ").outcome == "fail"
    suite = load(f"wildifeval:{lines(tmp_path / 'w.jsonl', [wild()])}")
    run = evaluate_sync(ScriptedModel(lambda request: "Here is a plan."), suite, tmp_path / "run")
    assert run.summary().overall.prompt_strict.n == 0
    assert run.summary().overall.coverage == 0
    json.dumps(str(run.summary()))
