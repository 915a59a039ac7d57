"""Everything that one call of `adhere claims` found; the reports are made of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from adhere.evidence.checks.against_runs import ClaimTest
from adhere.evidence.findings import Claim, Findings
from adhere.evidence.grids import grids_of
from adhere.evidence.panel import Panel
from adhere.evidence.question import Answer
from adhere.evidence.verdicts import Claims
from adhere.schema import encode

MOST_LISTED = (
    5_000  # claims; ten times what a long paper prints. Beyond, a record for each would be thirty times the document
)


@dataclass(frozen=True, slots=True)
class Examination:
    """Holds everything found. `answer`, `tested` and `panel` are None if they were not asked for."""

    findings: Findings
    answer: Answer | None
    tested: list[ClaimTest] | None
    panel: Panel | None

    def as_json(self) -> dict[str, Any]:
        """Return the findings as a JSON object, with `answer`, `tested`, `panel` if they were asked for.

        A claim leaves out what most claims share: an empty `unit`, the direction `higher`, `printed` if it is the value
        as JSON writes it, the basis of unsupported claims. Assumptions stand once, in `assumptions`; a claim's
        `assumed` holds their positions. Beyond 5,000 claims, `claims` has only those that a conflict names; all others
        are in `grids` (see `grids.claims_in`), and pairs of places that print the same number are only counted
        (`agreeing`).
        """
        report, grids = self._parts()
        return report | ({"grids": [msgspec.json.decode(grid) for grid in grids]} if grids else {})

    def encoded(self) -> bytes:
        """Return `as_json()` as JSON bytes, without a record in memory for each of very many claims."""
        report, grids = self._parts()
        text = encode(report)
        return text[:-1] + b',"grids":[' + b",".join(grids) + b"]}" if grids else text

    def _parts(self) -> tuple[dict[str, Any], list[bytes]]:
        """Return the keys of the report without `grids`, and the grids, each as JSON."""
        claims, grids = self.findings.claims, list[bytes]()
        rest = msgspec.structs.replace(self.findings, claims=())
        places: dict[str, int] = {}
        if isinstance(claims, Claims) and len(claims) > MOST_LISTED:
            claim_ids = {name for conflict in self.findings.conflicts for name in conflict.claims}
            differing = tuple(item for item in self.findings.reconciled if item.standing != "agree")
            grids, values = grids_of(claims, claim_ids, places)
            report: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(rest, reconciled=differing))
            report["agreeing"] = len(self.findings.reconciled) - len(differing)
            listed_claims: Iterable[Claim] = map(claims.claim, values)
        else:
            report, listed_claims = msgspec.to_builtins(rest), claims
        report["claims"] = [_compact(msgspec.to_builtins(claim), places) for claim in listed_claims]
        report["assumptions"] = list(places)
        extra = {"answer": self.answer, "tested": self.tested, "panel": self.panel}
        return report | {name: msgspec.to_builtins(value) for name, value in extra.items() if value is not None}, grids


def _compact(claim: dict[str, Any], places: dict[str, int]) -> dict[str, Any]:
    assumptions = [places.setdefault(text, len(places)) for text in claim.pop("guesses")]
    if assumptions:
        claim["assumed"] = assumptions
    if not claim["unit"]:
        del claim["unit"]
    if claim["direction"] == "higher":
        del claim["direction"]
    if claim["status"] == "unsupported":
        del claim["basis"]
    if claim["printed"] == repr(claim["value"]):
        del claim["printed"]
    return claim
