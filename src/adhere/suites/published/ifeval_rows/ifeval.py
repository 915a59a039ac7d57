"""IFEval: 541 prompts with 25 kinds of instructions.

Official aggregation: prompt-level accuracy (all instructions of a prompt are followed) and instruction-level accuracy
(micro average over all instructions), each strict and loose. The paper and `evaluation_main.py` print all four.

Its answers are drawn greedily with at most 1,280 tokens, as lm-evaluation-harness does (`ifeval.yaml`); the paper
states no limit.

Source: J. Zhou et al., arXiv 2311.07911; google-research/google-research, `instruction_following_eval`.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

IFEVAL = PublishedFile(
    name="ifeval",
    profile="ifeval",
    citation="J. Zhou et al., Instruction-Following Evaluation for Large Language Models, arXiv 2311.07911",
    prompts=541,
    instructions=834,
    sha256="67ffeee0fcb87c317c5b08a2de85557b4a7e96ada6178aa645b4954fe4b53d49",
    content_sha256="70d893d3cef62992c427e3493df6a3d97de2e52e0f7cbc970edff3014ccd556b",
    max_new_tokens=1280,
)
