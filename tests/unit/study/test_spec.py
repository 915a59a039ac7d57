"""A study's TOML is read strictly, and what it names exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from adhere.errors import SpecError
from adhere.study.design.check import load_study, parse_seeds
from adhere.study.design.inputs import held_out_suite
from adhere.study.design.tuning import validate_tuning

EXAMPLES = Path(__file__).parents[3] / "examples"

SMALL = """
name = "small"
start = "local/smollm2-135m"

[stages.sft]
method = "sft"
learning_rate = 1e-5

[stages.dpo]
method = "dpo"

[stages.more]
method = "more-sft"
equal_compute_to = "sft+dpo"

[[arms]]
name = "start"

[[arms]]
name = "sft"
stages = ["sft"]

[[arms]]
name = "sft+dpo"
stages = ["sft", "dpo"]

[[arms]]
name = "sft+more"
stages = ["sft", "more"]

[evaluation]
new_topic = { single = 10 }

[verdict]
question = "Is dpo better than more sft?"
treatment = "sft+dpo"
control = "sft+more"
"""


def load(tmp_path: Path, text: str, **options: list[int]):
    file = tmp_path / "study.toml"
    file.write_text(text)
    return load_study(file, **options)


@pytest.mark.parametrize("name", ["quickstart.toml", "study.toml", "ci.toml"])
def test_shipped_examples_load(name: str) -> None:
    spec = load_study(EXAMPLES / name)
    assert spec.arm(spec.verdict.treatment).stages
    assert spec.sha256 == load_study(EXAMPLES / name).sha256


def test_the_long_study_is_what_the_verdict_needs() -> None:
    spec = load_study(EXAMPLES / "study.toml")
    validate_tuning(spec)
    assert len(spec.seeds) >= 10
    assert spec.evaluation.prompts >= 1000
    assert spec.verdict.counts == "sound", "more than the letter, in tuning and in the verdict"
    assert all(term.traps for name in ("grpo", "online-dpo") for term in spec.stage(name).reward)
    assert spec.evaluation.suite_names == ["ifeval", "ifbench"]
    assert {"start", "sft-plain", "sft"} < {arm.name for arm in spec.arms}
    assert spec.stage("sft-plain").answers == "plain"
    assert spec.stage("online-dpo").equal_compute_to == "sft+dpo+grpo"
    assert spec.tune is not None
    assert {spec.verdict.treatment, spec.verdict.control} == {
        next(arm.name for arm in spec.arms if stage in arm.stages) for stage in spec.tune.grid
    }
    quick = load_study(EXAMPLES / "quickstart.toml")
    texts = [{prompt.text for prompt in held_out_suite(one).prompts} for one in (quick, spec)]
    assert len(texts[0] & texts[1]) <= 10, "prompts without parameters fall together now and then"
    assert spec.resample is not None


def test_quickstart_asks_what_its_size_decides() -> None:
    rule = load_study(EXAMPLES / "quickstart.toml").verdict
    assert (rule.treatment, rule.control, rule.slice) == ("sft+dpo+grpo", "start", "new-topic")
    assert ("sft+dpo+grpo", "sft+dpo+online-dpo") in {(item.treatment, item.control) for item in rule.secondary}


def test_settings_are_typed_by_their_method(tmp_path) -> None:
    spec = load(tmp_path, SMALL)
    assert spec.stage("sft").settings.learning_rate == 1e-5
    assert spec.stage("dpo").stage.name == "dpo"
    assert spec.stage("more").equal_compute_to == "sft+dpo"


def test_seeds_can_be_asked_for(tmp_path) -> None:
    assert load(tmp_path, SMALL, seeds=[3, 5]).seeds == [3, 5]
    assert parse_seeds("3") == [0, 1, 2]
    assert parse_seeds("3,5,8") == [3, 5, 8]
    assert parse_seeds("7,") == [7]
    for wrong in ("0", "", "a", "1,b", "-1"):
        with pytest.raises(SpecError, match="--seeds"):
            parse_seeds(wrong)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "learning_rate",
            "learning_rte",
            r"study\.toml:7: unknown key 'learning_rte' in stages\.sft\. Did you mean 'learning_rate'\?",
        ),
        ('method = "dpo"', 'method = "dop"', r"study\.toml:10: Unknown stage 'dop'\. Did you mean 'dpo'\?"),
        ("question", "qestion", r"study\.toml:\d+: unknown key 'qestion' in verdict\. Did you mean 'question'\?"),
        ('name = "small"', 'nam = "small"', r"study\.toml:2: unknown key 'nam'"),
        ("1e-5", '"fast"', r"stages\.sft.*learning_rate"),
        (
            'stages = ["sft", "dpo"]',
            'stages = ["sft", "dop"]',
            r"arms\.sft\+dpo\.stages: unknown name 'dop'\. Did you mean 'dpo'\?",
        ),
        (
            'treatment = "sft+dpo"',
            'treatment = "sft+dop"',
            r"verdict\.treatment: unknown name .* Did you mean 'sft\+dpo'\?",
        ),
        ('control = "sft+more"', 'control = "sft+dpo"', "compared with itself"),
        ('name = "sft+more"', 'name = "sft"', "arm sft is given twice"),
        ('equal_compute_to = "sft+dpo"', 'equal_compute_to = "sft+more"', "must stand before arm"),
        ('method = "dpo"', 'method = "dpo"\nequal_compute_to = "sft"', "cannot train to a budget"),
        ('method = "dpo"', "", "needs a method"),
    ],
)
def test_mistakes_are_explained(tmp_path, old: str, new: str, message: str) -> None:
    assert old in SMALL
    with pytest.raises(SpecError, match=message):
        load(tmp_path, SMALL.replace(old, new, 1))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("[data]\ndraws = 1\n", r"data\.draws: got 1, must be at least 2"),
        ("[data]\ntemperature = 0.0\n", r"data\.temperature: got 0\.0, must be above 0"),
        ("[data]\nprompts = 0\n", r"data\.prompts: got 0"),
        ("[resample]\nafter = 'stf'\n", r"resample\.after: unknown name 'stf'\. Did you mean 'sft'"),
        ("[resample]\nafter = []\n", r"resample\.after: names no stage"),
        ("[resample]\nafter = ['sft', 'sft']\n", r"resample\.after sft is given twice"),
        ("[resample]\nafter = ['sft', 'stf']\n", r"resample\.after: unknown name 'stf'"),
        ("[resample]\nafter = 'sft'\ndraws = 1\n", r"resample\.draws: got 1"),
        ("[guards]\nwords = 1.5\n", r"guards\.words: got 1\.5"),
        (
            "[[verdict.secondary]]\ntreatment = 'sft'\ncontrol = 'start'\nslice = 'new-tpic'\n",
            "Did you mean 'new-topic'",
        ),
        (
            "[[verdict.secondary]]\ntreatment = 'sft'\ncontrol = 'start'\nslice = 'new-family'\n",
            "no prompts in 'new-family'",
        ),
    ],
)
def test_numbers_out_of_range(tmp_path, table: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        load(tmp_path, SMALL + table)
