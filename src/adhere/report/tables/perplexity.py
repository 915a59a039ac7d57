"""Write perplexities of plain text for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from adhere.pipeline.compare.perplexity import Perplexity
from adhere.pipeline.compare.sides import SideTest
from adhere.report.pieces.numbers import count, decimal, percent_change
from adhere.report.pieces.text_table import paragraph, text_table


def perplexity_text(perplexities: Sequence[Perplexity], tests: Sequence[SideTest], *, width: int = 100) -> str:
    """Return a row for each model, then each model against the last one."""
    rows = [["model", "texts", "tokens", "perplexity", "bits a byte"]]
    rows += [
        [
            perplexity.model,
            count(len(perplexity.scores)),
            count(sum(score.tokens for score in perplexity.scores)),
            decimal(perplexity.perplexity, digits=2),
            decimal(perplexity.bits_per_byte, digits=3),
        ]
        for perplexity in perplexities
    ]
    lines = [text_table(rows, width=width)]
    for perplexity, test in zip(perplexities, tests, strict=False):
        if test.worse is None:
            lines.append(paragraph(f"{perplexity.model} against {perplexities[-1].model}: {test.reason}", width=width))
            continue
        lines.append(
            paragraph(
                f"{perplexity.model} against {perplexities[-1].model}: {test.score.replace('_', ' ')} "
                f"{percent_change(test.worse)} ({percent_change(test.low)}…{percent_change(test.high)}, "
                f"paired by {test.n} texts); margin {percent_change(test.margin)}: {test.outcome}",
                width=width,
            )
        )
    return "\n".join(lines)
