"""IFBench as first published: 294 prompts, judged by its checkers of 2025 where they differ from today's.

For reproducing numbers from before the revision of 2026. Official aggregation as in ifbench.py.

Source: V. Pyatkin et al., arXiv 2507.02833; allenai/IFBench before April 2026.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

IFBENCH_2025 = PublishedFile(
    name="ifbench-2025",
    profile="ifbench-2025",
    citation="V. Pyatkin et al., Generalizing Verifiable Instruction Following, arXiv 2507.02833",
    prompts=294,
    instructions=335,
)
