"""IFEval++'s verdicts beside ours, case by case; `ifevalpp_verdicts.py` says how its own code writes them.

ADHERE_IFEVAL_PP=verdicts.jsonl python -m pytest tests/parity/test_ifevalpp.py
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from adhere.constraints import published
from adhere.constraints.resolve import resolve
from adhere.schema import ConstraintRef

VERDICTS = os.environ.get("ADHERE_IFEVAL_PP")


@pytest.mark.skipif(not VERDICTS, reason="needs IFEval++'s own verdicts (ADHERE_IFEVAL_PP)")
def test_every_verdict_agrees() -> None:
    wrong, seen = [], Counter[tuple[str, bool]]()
    with Path(VERDICTS or "").open(encoding="utf-8") as lines:
        for name, params, text, theirs in map(json.loads, lines):
            if theirs is None:  # needs NLTK's data: IFEval's sentences and words in capitals, with IFEval's own parity
                continue
            finding = resolve(ConstraintRef(name, params), profile="ifevalpp").check(text)
            seen[name, theirs] += 1
            if (finding.outcome == "pass") != theirs:
                wrong.append((name, params, text[:200], theirs, finding))
    assert wrong == []
    assert seen.total() > 9000
    counted = {"length_constraints:number_sentences", "change_case:capital_word_frequency"}
    for name in set(published.ids("ifevalpp")) - counted:
        assert min(seen[name, True], seen[name, False]) >= 20, name
