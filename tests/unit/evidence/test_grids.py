"""The JSON of very many claims says the same as the list of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adhere.evidence import examination
from adhere.evidence.examine import examine
from adhere.evidence.grids import claims_in

TEXT = """# T

| Model | MMLU | GSM8K (5-shot) | JSQuAD (EM/F1) | Latency ↓ | Avg |
|---|---|---|---|---|---|
| A-7B-Instruct | 61.20 | 50.0% | 70.1/80.2 | 1.5 | 60.4 |
| B-7B | 1,200 | 40.0% | 71.1/81.2 | 2.5 | 50.0 |

## Again

| Benchmark | A-7B-Instruct | B-7B |
|---|---|---|
| MMLU | 61.20 | 64.0 |
| MATH | **30.5** | 20 |
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("61.20 |", "99.9 |", 1)])
def test_grids_hold_what_the_list_of_claims_holds(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.md"
    path.write_text(text)
    listed = json.loads(examine([path]).encoded())
    monkeypatch.setattr(examination, "MOST_LISTED", 3)
    found = examine([path])
    packed = json.loads(found.encoded())
    assert packed == json.loads(json.dumps(found.as_json()))
    assert len(packed["grids"]) == 2

    def told(report: dict) -> dict:
        claims = {claim["id"]: dict(claim) for claim in claims_in(report)}
        for claim in claims.values():
            claim["assumed"] = sorted(report["assumptions"][place] for place in claim.get("assumed", ()))
        return claims

    assert told(packed) == told(listed)
    assert packed["conflicts"] == listed["conflicts"]
    assert packed["agreeing"] + len(packed["reconciled"]) == len(listed["reconciled"])


def test_the_json_of_a_large_table_is_less_than_three_times_the_document(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    head = "| Model | " + " | ".join(f"Set{c}" for c in range(40)) + " |\n" + "|---" * 41 + "|\n"
    rows = (
        f"| M{r}-7B | " + " | ".join(f"{20 + (7 * r + 13 * c) % 700 / 10:.1f}" for c in range(40)) + " |\n"
        for r in range(150)
    )
    path.write_text(head + "".join(rows))
    written = examine([path]).encoded()
    assert len(list(claims_in(json.loads(written)))) == 6000
    assert len(written) < 3 * path.stat().st_size
