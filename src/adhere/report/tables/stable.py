"""Write the result of `adhere stable` as terminal text."""

from __future__ import annotations

from adhere.report.pieces.numbers import count, percent, plural
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.store.stability import Stability
from adhere.terminal import one_line


def stable_text(stability: Stability, *, width: int = 100) -> str:
    """Return the result, wrapped to `width` columns and safe to print."""
    lines = [
        heading(
            one_line(f"{stability.model}: greedy answers to {plural(stability.prompts, 'prompt')} of {stability.suite}")
        ),
        paragraph(stability.batch_invariant, width=width, label="batch_invariant", hang=17),
    ]
    rows = [["asked", "answers", "texts that differ", "verdicts that differ"]]
    for way in stability.ways:
        shares = [percent(part / way.answers if way.answers else None) for part in (way.texts, way.verdicts)]
        rows.append(
            [way.way, count(way.answers), f"{count(way.texts)} ({shares[0]})", f"{count(way.verdicts)} ({shares[1]})"]
        )
    lines += ["", text_table(rows, width=width), ""]
    lines.append(paragraph("Each is compared with the answer to the same prompt that was asked alone.", width=width))
    lines += [paragraph(line, width=width, label="!", hang=2) for line in _advice(stability)]
    return "\n".join(lines)


def _advice(stability: Stability) -> list[str]:
    lines = []
    if stability.failed:
        lines.append(f"{plural(stability.failed, 'prompt')} had a failed call, and are not counted")
    if not stability.text_share:
        return lines
    if stability.batch_invariant.startswith("in fixed chunks"):
        lines.append("Runs ask this model in chunks that the suite fixes, so their answers are the same each time")
    elif stability.model.startswith(("vllm/", "http")):
        lines.append(
            "A vLLM that is started with VLLM_BATCH_INVARIANT=1 has kernels whose answers do not depend on the batch"
        )
    return lines
