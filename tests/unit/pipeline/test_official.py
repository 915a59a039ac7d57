"""The numbers that papers print, on files in the published formats.

Against values worked out by hand after the published code.
"""

import pytest
from tests.unit.pipeline.test_measures import answers
from tests.unit.suites.published.files import lines, listed
from tests.unit.suites.published.test_judge_suites import codeif, complexbench, session, wild

from adhere.pipeline.official import MODULES, official_scores
from adhere.pipeline.summarize.measures import measures
from adhere.suites import load, names


def values(suite, outcomes):
    """By (name, scope): of `outcomes`, a text of p, f and u for each turn of each prompt."""
    found = answers(
        suite.prompts,
        {
            (p.id, turn, 0): text
            for p, turns in zip(suite.prompts, outcomes, strict=True)
            for turn, text in enumerate(turns if isinstance(turns, tuple) else (turns,))
        },
    )
    return {(one.name, one.scope): one.value for one in official_scores(found, measures(found))}


def followbench_rows(number, category, source="own"):
    return [
        {
            "example_id": number,
            "category": category,
            "source": source,
            "level": level,
            "instruction": f"{number} {level}",
            "target": "",
        }
        for level in range(6)
    ]


def test_followbench_averages_categories(tmp_path):
    """Two groups of `style`, one of `content`, judged at every level."""
    listed(tmp_path / "style_constraints.json", followbench_rows(1, "style") + followbench_rows(2, "style"))
    listed(tmp_path / "content_constraints.json", followbench_rows(3, "content"))
    suite = load(f"followbench-judged:{tmp_path}")
    assert [prompt.id for prompt in suite.prompts][::5] == ["content-3-1", "style-1-1", "style-2-1"]
    content = ["p", "pp", "ppp", "pppf", "ppppp"]
    first = ["p", "pf", "ppp", "pppp", "fffff"]
    second = ["f", "pp", "fff", "pppp", "ppppu"]
    found = values(suite, [*content, *first, *second])
    assert found["HSR", "level 1"] == (1 + 1 / 2) / 2
    assert found["HSR", "level 2"] == (1 + 1 / 2) / 2
    assert found["SSR", "level 2"] == (1 + 3 / 4) / 2
    assert found["SSR", "level 4"] == (3 / 4 + 1) / 2
    assert found["SSR", "level 5"] == (1 + 0) / 2, "the one with an undecided constraint is in none"
    assert found["CSL", "of 5"] == (3 + 1) / 2
    assert not [name for name, _ in found if "satisfaction" in name], "one thing under one definition"


def test_chinese_followbench_is_refused(tmp_path):
    from adhere.errors import SpecError

    rows = [row | {"instruction": "请写一首关于春天的诗。"} for row in followbench_rows(1, "style", "E2E")]
    with pytest.raises(SpecError, match="give the folder data, not data_zh"):
        load(f"followbench:{listed(tmp_path / 'style_constraints.json', rows)}")


def test_sysbench(tmp_path):
    """Sessions of two turns with two criteria each."""
    misaligned = session(1)
    misaligned["prompt_infos"] = dict(misaligned["prompt_infos"])
    misaligned["prompt_infos"]["Second question"] = misaligned["prompt_infos"]["Second question"] | {
        "alignment": "misalign"
    }
    suite = load(f"sysbench:{listed(tmp_path / 's.json', [misaligned, session(2, related=False), session(3)])}")
    found = values(suite, [("pp", "pf"), ("pp", "pp"), ("pu", "pp")])
    assert found["CSR", ""] == 10 / 11
    assert found["ISR", ""] == 4 / 5
    assert (found["ISR", "aligned turns"], found["ISR", "misaligned turns"]) == (1, 0)
    assert found["SSR", ""] == (1 / 2 + 1) / 2, "of the third nobody knows how long it holds"
    assert (found["SSR", "dependent turns"], found["SSR", "parallel turns"]) == (1 / 2, 1)


def test_codeif(tmp_path):
    told = [{"type": "x", "instruction": f"Rule {n}"} for n in range(4)]
    rows = [
        codeif(question_id=n, instruction_list=told, instruction_dependence={"2": [0, 1], "3": [2]}) for n in range(3)
    ]
    suite = load(f"codeif:{lines(tmp_path / 'q.jsonl', rows)}")
    found = values(suite, ["fppp", "pppp", "pppu"])
    assert found["CSR", ""] == 1 / 2
    assert found["SSR", ""] == (3 / 4 + 1) / 2
    # Of the first, 1 has no needs and 3 needs 2, which is kept (though 2 needs 0, which is not): direct needs only.
    assert found["RSR", ""] == (2 / 4 + 1) / 2
    assert found["CCSR", ""] == (3 / 4 + 1) / 2


def test_codeif_refuses_dependence_on_nothing(tmp_path):
    from adhere.errors import SpecError

    with pytest.raises(SpecError, match=r"instruction_dependence\['1'\]=\[5\] must be positions from 0 to 1"):
        load(f"codeif:{lines(tmp_path / 'q.jsonl', [codeif(instruction_dependence={'1': [5]})])}")


def test_complexbench(tmp_path):
    """The first row of a group says how deep its selections are."""
    twice = [one | {"composition_types": ["Selection"]} for one in complexbench()["scoring_questions"]]
    rows = [
        complexbench(0),
        complexbench(1),
        complexbench(2, group="h"),
        complexbench(3, group="deep", scoring_questions=twice),
    ]
    found = values(load(f"complexbench:{listed(tmp_path / 'c.json', rows)}"), ["pp", "pf", "pp", "pf"])
    assert found["DRFR", ""] == 6 / 8
    assert (found["coherent test", "single"], found["coherent test", "multiple"]) == (1 / 2, 0)
    assert (found["origin test", "single"], found["origin test", "multiple"]) == (2 / 3, 0)


def test_wildifeval(tmp_path):
    suite = load(f"wildifeval:{lines(tmp_path / 'w.jsonl', [wild(1), wild(2), wild(3, 1), wild(4, 1)])}")
    found = values(suite, ["pf", "pu", "f", "u"])
    assert found["score", ""] == (1 / 2 + 1 + 0) / 3
    assert (found["score", "1 constraints"], found["score", "2 constraints"]) == (0, 3 / 4)


def test_prompts_of_two_sources_have_no_official_score(tmp_path):
    one = load(f"wildifeval:{lines(tmp_path / 'w.jsonl', [wild(1)])}").prompts
    two = load(f"codeif:{lines(tmp_path / 'q.jsonl', [codeif()])}").prompts
    assert official_scores(answers((*one, *two), {}), ()) == ()
    assert set(MODULES) <= set(names())
