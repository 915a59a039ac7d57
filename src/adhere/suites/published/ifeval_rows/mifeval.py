"""M-IFEval: IFEval written anew in Spanish (115 prompts), French (235) and Japanese (172).

Its instructions suit each language. Its English file (`en_`, 541 prompts) has IFEval's kinds.

Official aggregation: as IFEval's. Spanish and Japanese words, and Japanese sentences, are counted with packages that
`pip install 'adhere[mifeval]'` brings; without them they are undecided, and no rate is printed where a tenth is.
Spanish sentences (9 of 137 instructions) come from a model that is in no package and stay undecided.

Source: A. Dussolle et al., arXiv 2502.04688; shisa-ai/M-IFEval (Apache-2.0).
"""

from __future__ import annotations

from adhere.suites.published.rows import PublishedFile

M_IFEVAL = PublishedFile(
    name="m-ifeval",
    profile="m-ifeval",
    citation="A. Dussolle et al., M-IFEval: Multilingual Instruction-Following Evaluation, arXiv 2502.04688",
    max_new_tokens=1280,
)
