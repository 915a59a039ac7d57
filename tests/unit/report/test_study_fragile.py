"""A study's page and JSON say what the answer hangs on, what it cost, and what published benchmarks say."""

from __future__ import annotations

import json

from tests.unit.report.study_factory import changed, contrast, study

from adhere.report.study.html import study_html
from adhere.report.study.markdown import study_markdown
from adhere.report.study.text import study_text
from adhere.report.study.view import suites_line
from adhere.schema import encode
from adhere.store.summary import GuardMeans, Share
from adhere.study.outcome.answer import study_answer
from adhere.study.outcome.result import (
    Fragility,
    InstructionDifference,
    KindDifference,
    LeftOut,
    OverKinds,
    StudyResult,
    SuiteFound,
    SuiteScore,
)

T, C = "sft+dpo+grpo", "sft+dpo+online-dpo"


def fragile_study() -> StudyResult:
    result = study(seeds=3)
    primary = changed(result.verdict.primary, difference=0.018, low=0.003, high=0.033)
    each = [KindDifference("case:lower", 55, 0.073, 0.02, 0.12, 0.004, 0.1)]
    on = Fragility(
        [LeftOut(0, 0.016, -0.004, 0.036), LeftOut(1, 0.0225, 0.01, 0.035), LeftOut(2, 0.018, -0.003, 0.039)],
        0.25,
        OverKinds(25, 650, 0.02, -0.007, 0.047, 0.116, each),
        [
            contrast(T, C, 0.01, 0.05, slice="new-topic/single", role="slice"),
            contrast(T, C, -0.01, 0.03, slice="new-family/multiple", role="slice"),
        ],
    )
    rate = Share(140, 541, 0.264, 0.23, 0.30)
    suite = SuiteFound(
        "ifeval",
        "ab",
        541,
        834,
        [contrast(T, C, 0.01, 0.07, role="primary", p_adjusted=0.03)],
        [SuiteScore(T, None, rate, rate, rate, rate, GuardMeans(69.0, 0.9, None, 0.13, 0.0, 0.13))],
        [InstructionDifference("length_constraints:number_words", T, C, 52, 0.38, 0.44, -0.06, -0.1, -0.02, 0.01, 0.2)],
    )
    verdict = changed(
        result.verdict,
        primary=primary,
        answer="INCONCLUSIVE",
        fragile=True,
        because="the interval lies above 0, but one seed decides",
    )
    return changed(result, verdict=verdict, fragility=on, suites=[suite])


def test_json_has_the_names_that_other_programs_rely_on() -> None:
    found = json.loads(encode(study_answer(fragile_study())))
    assert found["answer"] == "INCONCLUSIVE"
    assert found["fragile"] is True
    assert found["leave_one_out"] == {"low": 0.016, "high": 0.0225}
    assert found["sign_flip_p"] == 0.25
    assert {name: found["kinds"][name] for name in ("difference", "low", "high")} == {
        "difference": 0.02,
        "low": -0.007,
        "high": 0.047,
    }
    assert set(found["suites"]["ifeval"]) >= {"difference", "low", "high", "rate_treatment", "rate_control"}
    assert found["suites"]["ifeval"]["difference"] == 0.04
    assert set(found["slices"]) == {"new-topic/single", "new-family/multiple"}
    plain = json.loads(encode(study_answer(study())))
    assert (plain["fragile"], plain["leave_one_out"], plain["suites"]) == (False, None, {})


def test_size_fragility_and_price_stand_above_the_fold() -> None:
    page = study_html(fragile_study())
    head = " ".join(page[page.index('<p class="answer') : page.index('<dl class="facts"')].split())
    for text in (
        "inconclusive slight",
        "fragile",
        "+1.8 points, +0.3…+3.3",
        "passes 45.5",
        "✗ Given up for it: repetitive answers 1.0",
        "perplexity of plain text",
        "too small for this design to find with 80 % power",
    ):
        assert text in head.replace("\u00a0", " "), text


def test_the_page_has_a_row_a_seed_kind_slice_suite_and_instruction() -> None:
    page = " ".join(study_html(fragile_study()).replace("\u00a0", " ").split())
    for text in (
        "it holds 0 without seed 0, 2",
        "flipped in all ways, on these prompts: p 0.250",
        "25 kinds of constraint as a sample of kinds",
        "case:lower",
        "On published benchmarks",
        "ifeval",
        "length_constraints:number_words",
        "38 % − 44 %",
        "corrected over the secondary contrasts; the verdict's own contrast needs no correction. <b>could find",
    ):
        assert text in page.replace("&#39;", "'"), text
    assert "query_pairs" not in page


def sound_study(**primary: object) -> StudyResult:
    """It counts sound answers, and measured them on the benchmark as well."""
    result = fragile_study()
    (suite,) = result.suites
    beside = contrast(T, C, -0.07, -0.01, slice="sound", rate_treatment=0.081, rate_control=0.126, p_adjusted=0.02)
    score = changed(suite.scores[0], guard=changed(suite.scores[0].guard, sound_share=0.0813, form_share=0.31))
    suite = changed(suite, contrasts=[suite.contrasts[0], beside], scores=[score])
    rates = [changed(one, guard=changed(one.guard, sound_share=0.19)) for one in result.scores]
    verdict = changed(result.verdict, primary=changed(result.verdict.primary, **primary))
    contrasts = [verdict.primary, *result.contrasts[1:]]
    spec = {**result.spec, "verdict": {"smallest_effect": 0.03, "counts": "sound"}}
    return changed(result, spec=spec, suites=[suite], scores=rates, verdict=verdict, contrasts=contrasts)


def test_a_study_of_sound_answers_never_calls_its_rates_passing() -> None:
    told = "sft+dpo+grpo passes 45.5 % of the prompts{}, sft+dpo+online-dpo 40.5 %."
    plain, sound = (
        " ".join(study_html(one).replace("\u00a0", " ").split()) for one in (fragile_study(), sound_study())
    )
    assert told.format("") in plain
    assert told.format(" soundly") in sound
    assert "prompts pass soundly only under the first" in sound
    assert "▲ more pass soundly" in sound
    assert "pass soundly (column sound)" in sound
    assert "pass soundly" not in plain
    assert "lost (prompts that pass soundly)" in " ".join(study_text(sound_study(), width=110).split())
    assert "of published benchmarks only ifeval were asked" in sound


def test_sound_answers_stand_beside_every_rate_of_a_benchmark_and_of_the_markdown() -> None:
    page = study_html(sound_study()).replace("\u00a0", " ")
    section = page[page.index('<section id="suites"') :]
    row = section[: section.index("</table>")]
    assert ("8.1 %" in row, "31 %" in row) == (True, True)
    markdown = study_markdown(sound_study()).replace("\u00a0", " ")
    assert "+4.0 (+1.0…+7.0), Holm p 0.030 \\[sound: 12.6 % → 8.1 %, −4.0 (−7.0…−1.0), Holm p 0.020\\]" in markdown
    rates = markdown[markdown.index("## Pass rates") : markdown.index("## Contrasts")]
    assert rates.count("sound 19.0 %") == 3 * 5
    assert "sound" not in study_markdown(fragile_study()).partition("## Contrasts")[0]


def test_a_benchmark_is_told_over_the_control_and_over_the_start_and_how_much_of_it_was_measured() -> None:
    result = sound_study()
    (suite,) = result.suites
    first = changed(suite.contrasts[0], coverage=0.29)
    over_start = contrast(T, "start", 0.1, 0.16, rate_treatment=0.321, rate_control=0.189, p_adjusted=0.0001)
    suite = changed(suite, contrasts=[first, over_start, *suite.contrasts[1:]])
    told = suites_line(changed(result, suites=[suite])).replace("\u00a0", " ")
    assert told.startswith("ifeval (no measurement of 71.0 % of its prompts) over sft+dpo+online-dpo ")
    assert told.endswith("Holm p 0.020], over start 18.9 % → 32.1 %, +13.0 (+10.0…+16.0), Holm p <0.001")


def test_nothing_was_given_up_for_a_loss() -> None:
    lost = sound_study(difference=-0.047, low=-0.08, high=-0.01)
    for made in (study_html(lost), study_markdown(lost), study_text(lost, width=110)):
        flat = " ".join(made.replace("\u00a0", " ").split())
        assert "Worse in sft+dpo+grpo: repetitive answers 1.0" in flat
        assert "Given up for it: " not in flat
        assert "Repetition got worse by more than the margin." in flat
        assert "may have been bought: " not in flat


def test_a_part_of_the_seeds_is_not_called_all_of_them() -> None:
    result = study(seeds=3)
    primary = changed(
        result.verdict.primary, n_seeds=1, by_seed=result.verdict.primary.by_seed[:1], low=0.02, high=0.08, p_value=0.01
    )
    verdict = changed(result.verdict, primary=primary, scope="method", withheld=["1 of 3 seeds are finished"])
    contrasts = [primary, *result.contrasts[1:]]
    result = changed(result, verdict=verdict, contrasts=contrasts, seeds_finished=[1])
    page = " ".join(study_html(result).split())
    assert "+2.0…+8.0: the answer is withheld." in page
    assert "+2.0…+8.0: more prompts pass." not in page
    assert "1 of 3 finished: seed 1</dd>" in page
    assert "About the methods: 1 of 3 training seeds." in page
    assert "One training seed: another one may give another difference" in page


def test_what_was_not_measured_was_neither_gained_nor_lost() -> None:
    page = study_html(study())
    (row,) = [line for line in page.splitlines() if "sft+dpo+grpo − start</th>" in line or "new-family</td>" in line]
    assert "0 / 0" not in row


def test_terminal_and_markdown_say_it_too() -> None:
    for text in (study_text(fragile_study()), study_markdown(fragile_study())):
        flat = " ".join(text.replace("\u00a0", " ").split())
        assert "Without any one seed the difference lies between +1.6 and +2.2" in flat
        assert "Given up for it" in flat
        assert "ifeval" in flat
