"""The suite `profile`: every family gives as much as every other, its levels in turn."""

from collections import Counter

import pytest

from adhere.errors import UsageError
from adhere.suites import load
from adhere.suites.generated.names import OWN
from adhere.suites.generated.profile import profile

FAMILIES = [name for name in OWN if name not in {"calls", "drawing", "visual"}]  # which not every model can be asked


def test_every_family_has_the_same_share():
    suite = load("profile")
    assert suite.slices == tuple(FAMILIES)
    assert Counter(prompt.tags["slice"] for prompt in suite.prompts) == dict.fromkeys(FAMILIES, 26)
    assert len({prompt.id for prompt in suite.prompts}) == len(suite.prompts) == 26 * len(FAMILIES)


def test_levels_come_in_turn_so_that_a_small_profile_has_hard_prompts():
    suite = load("profile", limit=3 * len(FAMILIES))
    levels = {name: [one.tags["level"] for one in suite.prompts if one.tags["slice"] == name] for name in FAMILIES}
    assert all(found == ["1", "2", "3"] for found in levels.values()), levels


def test_prompts_are_those_of_the_families():
    of_family = {prompt.id: prompt for prompt in load("rewrite").prompts}
    mine = [prompt for prompt in load("profile").prompts if prompt.tags["slice"] == "rewrite"]
    assert all(of_family[prompt.id].turns == prompt.turns for prompt in mine)


def test_names():
    assert load("profile:x2+seed7") == load("profile:x2", seed=7)
    assert load("profile:x2+seed7").name == "profile:x2+seed7"
    assert len(load("profile:x2").prompts) == 2 * len(FAMILIES)
    assert load("profile:x2").prompts == tuple(profile(0, 2).prompts)
    for wrong in ("", "x0", "x2001", "x2+x3", "rewrite"):
        with pytest.raises(UsageError):
            load(f"profile:{wrong}")


def test_every_generated_suite_is_listed_with_paper_and_question(listing):
    for name in (*OWN, "profile"):
        assert listing[name].generated
        assert listing[name].size > 0
        assert listing[name].answers.endswith("?")
        assert listing[name].paper or name == "profile"
