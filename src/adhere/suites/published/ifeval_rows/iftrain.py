"""IFTrain: prompts for training with the 29 kinds of open-instruct's IFEvalG, and with IFEval's 25.

There is no one published file in this format and no official aggregation: the published reward is the share of a
prompt's constraints that are followed (strict); an evaluation asks for all of them.

Nemotron's rows for reinforcement learning ask for the same 54 kinds, with an `id` in place of the `key`; what else they
say (`responses_create_params`, `grading_mode`) is for NeMo Gym and ignored. Its checker, abukharin-nv/verifiable-
instructions, is a copy of IFEvalG.

Source: V. Pyatkin et al., arXiv 2507.02833; allenai/open-instruct, `IFEvalG`, at e6c3044.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

IFTRAIN = PublishedFile(
    name="iftrain",
    profile="iftrain",
    citation="V. Pyatkin et al., Generalizing Verifiable Instruction Following, arXiv 2507.02833",
)
NEMOTRON_RL = PublishedFile(
    name="nemotron-rl", profile="iftrain", citation="NVIDIA, Nemotron-RL-instruction_following", key="id"
)
