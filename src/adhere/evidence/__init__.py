"""Claims: what documents print about models on benchmarks, whether the numbers agree, and what may be concluded.

Start with `check.py`.
"""

from __future__ import annotations

from adhere.evidence.check import check_files
from adhere.evidence.findings import Claim, Conflict, Findings

__all__ = ["Claim", "Conflict", "Findings", "check_files"]
