"""A long text is taken block by block, and comes out as if it had been taken whole."""

from __future__ import annotations

import random

import pytest

from adhere.constraints import published
from adhere.constraints.published.ifbench import format as ifbench_format
from adhere.constraints.published.ifbench.english import splitter as ifbench_splitter
from adhere.constraints.published.shared import punkt, treebank
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import in_fixed_mode
from adhere.testing import published_params

PIECES = (
    "a", "B", "word", " ", "  ", "\n", ". ", "? ", "!", "..", "Mr.", "e.g.", "U.S. He ", "Inc. This", "1.", "3rd ", "(",
    ")", '"', "'", "*", "-", "\r\n", "\xa0", "<stop>", "Ph.D.", ".com",
)  # fmt: skip


def texts() -> list[str]:
    rng = random.Random(0)
    found = ["".join(rng.choices(PIECES, k=rng.randint(5, 80))) for _ in range(400)]
    return found + ["".join(rng.choices(PIECES, k=3)) * rng.randint(10, 60) for _ in range(400)]


@pytest.mark.parametrize("size", [1, 7, 60])
def test_blocks_change_no_sentence(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    whole = [(punkt.breaks(text), ifbench_splitter.split(text)) for text in texts()]
    assert sum(len(breaks) for breaks, _ in whole) > 1000
    monkeypatch.setattr(punkt, "_BLOCK", size)
    monkeypatch.setattr(ifbench_splitter, "_BLOCK", size)
    for text, (breaks, pieces) in zip(texts(), whole, strict=True):
        assert punkt.breaks(text) == breaks, text
        answer = Text(text)
        assert list(ifbench_splitter.pieces(answer)) == pieces, text
        for variant in answer.variants():
            assert list(ifbench_splitter.pieces(variant)) == ifbench_splitter.split(variant.raw), text


def test_a_long_sentence_has_the_same_tokens_window_by_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(treebank, "LONG", 10)
    monkeypatch.setattr(treebank, "_WINDOW", 4)
    several = 0
    for text in texts():
        windows = list(treebank.windows(text))
        assert [token for window in windows for token in window] == treebank.tokenize(text), text
        several += len(windows) > 1
    assert several > 500


MORE_PIECES = ("? ", "! ", "\n", "* ", "a b c\n", "* A. b.\n", "fox ", "Emma ", ",b,c", "[", "]", "The fox. ", "1. ")


def outcomes() -> dict[tuple[str, str, str, str], tuple[str, str]]:
    """Both views of every kind on 40 texts, half of them lines with stars."""
    rng = random.Random(1)
    lines = ["".join(rng.choices(MORE_PIECES, k=rng.randint(8, 60))) for _ in range(20)]
    found, sample = {}, texts()[::40]
    for profile in published.PROFILES:
        if profile == "agentif":  # decides nothing early: it hands the text to a sandbox, which takes its time
            continue
        for kind in published.kinds(profile):
            if kind.profiles[0] != profile:  # one object with the kind of a profile before
                continue
            params = published_params(kind, 1)
            for mode, rule in (("reference", kind), ("fixed", in_fixed_mode(kind))):
                judge = published.fill(rule, params, mode=mode)
                for text in [*sample, *lines]:
                    strict, loose = judge.both_views(Text(text))
                    found[kind.id, profile, mode, text] = strict.outcome, loose.outcome
    return found


def test_what_is_decided_early_in_a_long_text_is_decided_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = outcomes()
    for module, name, size in ((treebank, "LONG", 20), (treebank, "_WINDOW", 6), (ifbench_format, "_MANY_LINES", 2)):
        monkeypatch.setattr(module, name, size)
    assert outcomes() == whole
    assert {"pass", "fail"} <= {loose for _, loose in whole.values()}


def nested(raw: str) -> bool:
    """As published: a closing bracket that does not fit starts the count afresh."""
    levels: list[str] = []
    depth = 0
    for bracket in raw:
        if bracket in "([{":
            levels.append(bracket)
            depth = max(depth, len(levels))
        elif bracket in ")]}":
            if levels and levels[-1] + bracket in ("()", "[]", "{}"):
                levels.pop()
                if depth >= 5:
                    return True
            else:
                levels, depth = [], 0
    return False


def test_brackets_are_counted_as_published() -> None:
    rng = random.Random(2)
    judge = published.constraint("format:parentheses")
    found = []
    for _ in range(3000):
        raw = "".join(rng.choices("([{)]}[]a", k=rng.randint(1, 40)))
        found.append(judge.judge(Text(raw)).outcome == "pass")
        assert found[-1] == nested(raw), raw
    assert 100 < sum(found) < 2900
