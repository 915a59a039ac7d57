"""The 58 IFBench instructions, profiles `ifbench-2026` and `ifbench-2025`.

Source: allenai/IFBench (code Apache-2.0, arXiv 2507.02833): `ifbench-2026` at commit db69a6f, `ifbench-2025` the
checkers of July 2025, with which the repository's stored results were made. One file a family.
"""

from __future__ import annotations

from adhere.constraints.published.ifbench import count as ifbench_count
from adhere.constraints.published.ifbench import custom as ifbench_custom
from adhere.constraints.published.ifbench import format as ifbench_format
from adhere.constraints.published.ifbench import ratio as ifbench_ratio
from adhere.constraints.published.ifbench import sentence as ifbench_sentence
from adhere.constraints.published.ifbench import words as ifbench_words
from adhere.constraints.published.shared.registry import register

for _module in (ifbench_count, ifbench_custom, ifbench_format, ifbench_ratio, ifbench_sentence, ifbench_words):
    register(*_module.KINDS)
