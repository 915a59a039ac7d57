"""Suites by name."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import msgspec
import pytest

from adhere.errors import UnknownName, UsageError
from adhere.suites import describe, load, names


def test_core_by_name() -> None:
    suite = load("core")
    assert suite.name == "core"
    assert suite.cut_answers == "fail"
    assert suite.slices == ("in-family", "new-family")
    assert len(suite.prompts) == 200
    assert suite == load("core", seed=0)
    assert suite.sha256 != load("core", seed=1).sha256


def test_parts_and_sizes() -> None:
    part = load("core:new-family")
    assert part.slices == ("new-family",)
    assert part.prompts == tuple(prompt for prompt in load("core").prompts if prompt.tags["slice"] == "new-family")
    assert Counter(prompt.tags["slice"] for prompt in load("core:30+20").prompts) == {"in-family": 30, "new-family": 20}


@pytest.mark.parametrize(
    ("limit", "counts"), [(1, (1, 0)), (7, (4, 3)), (20, (10, 10)), (190, (110, 80)), (999, (120, 80))]
)
def test_a_limit_takes_an_even_share_of_the_slices(limit: int, counts: tuple[int, int]) -> None:
    whole, suite = load("core"), load("core", limit=limit)
    found = Counter(prompt.tags["slice"] for prompt in suite.prompts)
    assert (found["in-family"], found["new-family"]) == counts
    kept = {prompt.id for prompt in suite.prompts}
    assert suite.prompts == tuple(prompt for prompt in whole.prompts if prompt.id in kept)


def test_names_and_descriptions(listing: dict[str, Any]) -> None:
    assert "core" in names()
    assert (listing["core"].size, listing["core"].slices) == (200, ("in-family", "new-family"))


def test_what_is_unknown_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"Unknown suite 'cors'\. Did you mean 'core'\?"):
        load("cors")
    with pytest.raises(UsageError, match=r"'new-famly' .*Did you mean 'new-family'\?"):
        load("core:new-famly")
    with pytest.raises(UsageError, match="limit=0"):
        load("core", limit=0)


def test_a_bare_file_is_no_suite_but_says_what_it_lacks() -> None:
    with pytest.raises(
        UnknownName,
        match=r"such as ifeval:input_data\.jsonl; suites that take one: advancedif, agentif, codeif, complexbench, followbench, ",
    ):
        load("input_data.jsonl")


def test_the_quick_listing_differs_in_nothing_but_the_hash() -> None:
    """A family counts one group of its default ones."""
    for quick, whole in zip(describe(hashes=False), describe(), strict=True):
        if whole.name in {"core", "diagnostic"}:
            assert whole.sha256 == load(whole.name).sha256
        assert quick == msgspec.structs.replace(whole, sha256=quick.sha256), whole.name


def test_the_listing_says_who_made_a_suite_whom_it_cites_and_what_it_needs(listing: dict[str, Any]) -> None:
    rows = list(listing.values())
    assert [row.generated for row in rows] == sorted((row.generated for row in rows), reverse=True), (
        "generated ones first"
    )
    judged = {row.name for row in rows if row.judge}
    assert judged == {
        "advancedif",
        "agentif",
        "codeif",
        "complexbench",
        "followbench-judged",
        "inverse-ifeval",
        "mmifeval",
        "multichallenge",
        "sysbench",
        "wildifeval",
    }
    assert {row.made for row in rows} == {"generated", "published", "published; needs adhere judge", "yours"}
    for row in rows:
        assert re.search(r"arXiv \d{4}\.\d{5}", row.paper) or row.name in {
            "core",
            "profile",
            "breadth",
            "my",
            "world",
        }, row
