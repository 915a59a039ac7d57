"""Nemotron-RL's instruction-following rows: prompts to train on, decided by IFTrain's kinds and IFEval's.

`nemotron-rl:FILE` reads IFEval's rows with an `id` in place of the `key`. `responses_create_params` and `agent_ref`
say the prompt once more, in OpenAI's form, and how NeMo Gym runs it; both are ignored, as is `grading_mode`: a run has
the share of prompts and of instructions, a reward says which it takes.

Source: nvidia/Nemotron-RL-instruction_following on the hub; its checker is `resources_servers/instruction_following` of
NVIDIA-NeMo/Gym, over the 54 kinds of abukharin-nv/verifiable-instructions, a copy of open-instruct's `IFEvalG`.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile, RowWithId

NEMOTRON_RL = PublishedFile(
    name="nemotron-rl",
    profile="iftrain",
    citation="NVIDIA, Nemotron-RL-instruction_following",
    row=RowWithId,
)
