"""IFBench: 300 prompts with 58 kinds of constraints that no training set has, judged by its checkers of 2026.

Official aggregation: prompt-level loose accuracy is the number that AI2 reports; `run_eval.py` prints prompt- and
instruction-level accuracy, each strict and loose. Its authors publish no token limit; ours is 2,048.

Source: V. Pyatkin et al., arXiv 2507.02833; allenai/IFBench at db69a6f.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

IFBENCH = PublishedFile(
    name="ifbench",
    profile="ifbench-2026",
    citation="V. Pyatkin et al., Generalizing Verifiable Instruction Following, arXiv 2507.02833",
    prompts=300,
    instructions=344,
    sha256="a2bf7b8e7ed11d39c65b4ec781da8b99663ed0121f97033d70fcecb61f8a9d85",
    content_sha256="58f7b49ecae931a77205e9dda847df1edcfa78a1fd76b19bcbd1fc49cddb367d",
)
