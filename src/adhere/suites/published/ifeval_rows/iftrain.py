"""IFTrain: prompts for training with the 29 kinds of open-instruct's IFEvalG, and with IFEval's 25.

There is no one published file in this format and no official aggregation: the published reward is the share of a
prompt's constraints that are followed (strict); an evaluation asks for all of them.

Source: V. Pyatkin et al., arXiv 2507.02833; allenai/open-instruct, `IFEvalG`, at e6c3044.
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

IFTRAIN = PublishedFile(
    name="iftrain",
    profile="iftrain",
    citation="V. Pyatkin et al., Generalizing Verifiable Instruction Following, arXiv 2507.02833",
)
