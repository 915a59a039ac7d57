"""Every trained kind and every published kind has a trap twin: a scripted answer that its checker passes and that does nothing else.

A kind without one must be named in docs/reference/traps.md, where it says that no script found one.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

from adhere.constraints.base import registry
from adhere.constraints.published.shared.registry import PROFILES, fill, kinds
from adhere.pipeline.intent.exploits import Exploit, exploits_of
from adhere.pipeline.intent.gate import dictates, traps_of
from adhere.schema import ConstraintRef
from adhere.testing import published_params

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "traps.md"
ASKED = "Explain how a family can spend a rainy Sunday at home with two small children and hardly any money."
HONEST = (
    "Build a fort from chairs and blankets, then read by torchlight. Bake bread together; the smell fills the house!",
    "# A rainy Sunday\n\n* Paint with coffee and old brushes\n* Tell stories about when you were small\n\nWhy not dance?",
    "You could sort old photographs, and let the children write a line under each of them. Afterwards cook some soup.",
)
TRAINED = [name for name in registry if registry.get(name).part == "train" and not name.startswith("test:")]
RUNS_CODE = ("code:", "calls:", "world:", "agentif:")  # their rules run programs of their rows, or judge no text
SEEDS = 3


def without_twin(profile: str) -> set[str]:
    """The kinds that the page names as without a twin."""
    line = next((line for line in PAGE.read_text().splitlines() if line.startswith(f"* {profile}: ")), "")
    return set(re.findall(r"`([^`]+)`", line))


def twins(name: str, profile: str, seed: int) -> tuple[Any, list[Exploit]]:
    if profile == "own":
        constraint: Any = registry.get(name).draw(random.Random(seed), words=("budget", "travel", "music"))
    else:
        kind = next(kind for kind in kinds(profile) if kind.id == name)
        constraint = fill(kind, published_params(kind, seed))
    asked = f"{ASKED}\n\n{constraint.describe(0)}"
    return constraint, [one for one in exploits_of(constraint, asked, HONEST) if one.shape != "canned"]


def has_twin(name: str, profile: str) -> bool:
    return any(twins(name, profile, seed)[1] for seed in range(SEEDS))


@pytest.mark.parametrize("name", TRAINED)
def test_a_trained_kind_has_a_twin_that_is_mostly_caught(name: str) -> None:
    found = [(constraint, one) for constraint, ones in (twins(name, "own", seed) for seed in range(2)) for one in ones]
    if name in without_twin("own"):
        assert not found or dictates(ConstraintRef(name, {})), f"{name} has a twin now: take it off the page"
        return
    assert found, f"{name}: no script passes it. Give exploits.py one that does, or name it in {PAGE.name}"
    caught = 0
    for constraint, one in found:
        assert constraint.check(one.text).outcome == "pass"
        asked = f"{ASKED}\n\n{constraint.describe(0)}"
        caught += bool(traps_of(asked, one.text, (ConstraintRef(name, constraint.ref().params),)))
    assert caught * 2 >= len(found), (name, caught, len(found))


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["own", *PROFILES])
def test_every_kind_has_a_twin_or_is_named_without_one(profile: str) -> None:
    names = (
        [name for name in registry if not name.startswith(("test:", "compose:", "scope:", "written:"))]
        if profile == "own"
        else [kind.id for kind in kinds(profile)]
    )
    assert names or profile == "agentif"
    missing = {name for name in names if not name.startswith(RUNS_CODE) and not has_twin(name, profile)}
    assert missing <= without_twin(profile), "no script passes these, and the page does not name them"
    named = without_twin(profile) - set(names)
    assert not named, "the page names kinds that there are not"


def test_a_kind_that_dictates_the_answer_is_named() -> None:
    for name in TRAINED:
        if dictates(ConstraintRef(name, {})):
            assert name in without_twin("own")
