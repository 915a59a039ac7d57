"""A study that was tuned shows every trial, what was chosen, what it cost, and what its dev slice shares."""

from __future__ import annotations

import json
import re

from tests.unit.report.study_factory import changed, study

from adhere.report.study.html import study_html
from adhere.report.study.markdown import study_markdown
from adhere.report.study.text import study_text
from adhere.report.study.xlsx import sheets
from adhere.schema import decode, encode
from adhere.study.design.tuned import VERSION, Apart, Trial, TunedStage, Tuning
from adhere.study.outcome.answer import study_answer
from adhere.study.outcome.result import StudyResult

NOT_SEARCHED = "Learning rates were not searched"
SHARED = {"queries": 0, "topics": 0, "phrases, keys and words": 0, "wordings": 0}


def tuned(**values: object) -> StudyResult:
    stages = [
        TunedStage("grpo", [Trial({"learning_rate": 5e-6}, [0.25, 0.35], 48_211, 6.5),
            Trial({"learning_rate": 2e-5}, [], 7, 1.5)], 0),
        TunedStage("online-dpo", [Trial({"learning_rate": 5e-6}, [0.2], 48_000, 7.0),
            Trial({"learning_rate": 2e-5}, [0.4375], 48_100, 7.1)], 1),
    ]  # fmt: skip
    tuning = Tuning(VERSION, "k", [1005, 1006], 160, "ab", stages, 31.0, Apart(1198, 1000, SHARED))
    return changed(study(), tuning=changed(tuning, **values))


def test_every_report_has_every_trial_and_the_choice() -> None:
    result = tuned()
    markdown = study_markdown(result)
    assert "| grpo | learning\\_rate 5e-06 | yes | 30.0 % (25.0 %, 35.0 %) | 48,211 | 6.5 |" in markdown.replace(
        "\u202f", " "
    ).replace("\xa0", " ")
    text = study_text(result, width=110)
    lines = [line for line in text.splitlines() if re.search(r"learning_rate [25]e", line)]
    assert ["yes" in line.split() for line in lines] == [True, False, False, True]
    assert "failed" in lines[1].split()
    page = study_html(result)
    assert page.count('<td class="left wrap">learning_rate ') == 4
    section = page[page.index('<section id="tuning"') :]
    assert section[: section.index("</section>")].count('<tr class="primary"') == 2


def test_the_page_draws_every_trial_and_says_how_budgets_were_given() -> None:
    page = study_html(tuned())
    assert all(f"Every trial of {stage} on dev prompts" in page for stage in ("grpo", "online-dpo"))
    assert "settings and budget were searched for together" in page
    stages = [changed(tuned().tuning.stages[0], trials=[Trial({"learning_rate": 5e-6}, [0.3, 0.4, 0.5], 9, 1.0),  # type: ignore[union-attr]
        Trial({"learning_rate": 2e-5}, [0.1], 9, 1.0)])]  # fmt: skip
    final = study_html(tuned(tokens=90_000, final_seeds=[7, 8], stages=stages))
    assert "Every trial of every method trains on 90,000 tokens, fixed before." in final.replace("\u202f", ",")
    assert "The best trials (grpo 1) were trained at seeds 7, 8 too" in final


def test_the_workbook_has_the_trials_as_numbers() -> None:
    found = sheets(tuned())["tuning"]
    assert [row[3] for row in found[1:]] == [True, False, False, True]
    assert found[4] == ["online-dpo", 1, "learning_rate 2e-05", True, 0.4375, 48_100, 7.1]
    assert found[2][4] is None
    assert "tuning" not in sheets(study())


def test_it_says_how_many_trials_on_what_and_what_the_dev_slice_shares() -> None:
    for made in (" ".join(study_text(tuned()).split()), study_html(tuned()), study_markdown(tuned())):
        assert "2 trials of every tuned stage (grpo, online-dpo), on 160 dev prompts at seeds 1005, 1006; 31" in made
        assert (
            "training prompts and 1,000 test prompts: queries 0, topics 0, phrases, keys and words 0, wordings 0."
            in made
        )
        assert "grpo: sft+dpo+grpo; online-dpo: sft+dpo+online-dpo" in made


def test_a_rate_that_counts_sound_answers_says_so() -> None:
    told = "The dev rate counts sound answers, as the verdict does."
    spec = {**tuned().spec, "verdict": {**tuned().spec["verdict"], "counts": "sound"}}
    assert told not in study_text(tuned())
    assert told in " ".join(study_text(changed(tuned(), spec=spec)).split())


def test_unequal_trials_and_a_record_without_the_audit_are_said() -> None:
    assert tuned().tuning is not None
    (grpo, online) = tuned().tuning.stages
    short = changed(online, trials=online.trials[1:], chosen=0)
    told = study_markdown(tuned(stages=[grpo, short], apart=None))
    assert "Unequal numbers of trials: grpo 2, online-dpo 1" in told
    assert "is not in the record" in told


def test_the_threat_is_of_what_was_not_searched() -> None:
    assert NOT_SEARCHED not in study_markdown(tuned())
    assert "Not searched for: sft, dpo." in study_markdown(tuned())
    for made in (study_markdown(study()), study_text(study()), study_html(study())):
        assert "Tuning" not in made
    assert NOT_SEARCHED in study_markdown(study())


def test_json_has_the_trials_and_a_result_is_read_again() -> None:
    found = json.loads(encode(study_answer(tuned())))["tuning"]
    assert found["apart"] == {"training": 1198, "test": 1000, "shared": SHARED}
    assert [one["chosen"] for one in found["stages"]] == [0, 1]
    assert found["stages"][1]["trials"][1]["rates"] == [0.4375]
    assert decode(encode(tuned()), StudyResult).tuning == tuned().tuning
    assert study_answer(study()).tuning is None


def test_a_choice_at_the_edge_and_a_method_that_was_not_searched_are_threats() -> None:
    rates = {"learning_rate": (5e-6, 2e-5, 8e-5), "kl_beta": (0.0, 0.05)}
    trials = [
        Trial({"learning_rate": lr, "kl_beta": kl}, [lr], 1, 1.0)
        for lr in rates["learning_rate"]
        for kl in rates["kl_beta"]
    ]
    inside, edge = (TunedStage("grpo", trials, chosen) for chosen in (2, 4))
    assert "At the edge" not in study_markdown(tuned(stages=[inside]))
    told = study_markdown(tuned(stages=[edge])).replace("\\_", "_")
    assert "At the edge of what was tried: grpo learning_rate 8e-05." in told
    assert "kl_beta 0.0;" not in told
    other = changed(tuned(), arm_stages={**tuned().arm_stages, "rm": ["sft", "dpo", "grpo-model"]})
    like = next(one for one in other.stage_costs if one.stage == "grpo")
    other = changed(other, stage_costs=[*other.stage_costs, changed(like, stage="grpo-model")])
    assert (
        "grpo-model has the method of grpo, and settings that nobody searched for: they differ in these, too."
        in study_markdown(other)
    )
    assert "has the method of" not in study_markdown(tuned())


def test_what_tuning_took_stands_beside_the_whole_study() -> None:
    minutes = f"{study().minutes:.1f} minutes"
    for made in (study_html(tuned()), study_text(tuned(), width=110), study_markdown(tuned())):
        assert f"{minutes}, and 31.0 of tuning before" in made
