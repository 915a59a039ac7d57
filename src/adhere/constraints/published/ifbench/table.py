"""The 58 IFBench instructions, profiles `ifbench-2026` and `ifbench-2025`.

Source: allenai/IFBench (code Apache-2.0, arXiv 2507.02833): `ifbench-2026` at commit db69a6f, `ifbench-2025` the
checkers of July 2025, with which the repository's stored results were made. One file a family.
"""

from __future__ import annotations

from adhere.constraints.published.ifbench import count, custom, format, ratio, sentence, words  # noqa: A004 - a file
from adhere.constraints.published.ifbench.kind import kinds_of
from adhere.constraints.published.shared.registry import register

for _module in (count, custom, format, ratio, sentence, words):
    register(*kinds_of(_module))
