"""The page of two Runs side by side: which prompts one keeps and the other does not, with both answers and the judge's reasons."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from adhere.errors import UsageError
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.outcomes import passes
from adhere.report.page import render
from adhere.report.run.failures import JudgedAnswer, answer_of, marks_by_answer
from adhere.schema import Prompt
from adhere.store.run import Run

MOST_FLIPS = 400
SHOWN_KINDS = 12


class Flip(NamedTuple):
    """One prompt that one Run keeps and the other does not: each turn as both answered it, and what a filter looks through."""

    prompt_id: str
    is_gained: bool
    turns: tuple[tuple[JudgedAnswer | None, JudgedAnswer | None], ...]
    words: str


class Page(NamedTuple):
    """Everything that the page shows."""

    first: str
    second: str
    flips: tuple[Flip, ...]
    gained: int
    lost: int
    kinds: tuple[tuple[str, int], ...]


def flips_html(first: Run, second: Run) -> str:
    """One self-contained page of two finished Runs on the same prompts (first draw, strict view); its script only filters.

    Raises:
        UsageError: The Runs are of different prompts.
    """
    if first.manifest.prompts_sha256 != second.manifest.prompts_sha256:
        raise UsageError(
            f"{first.directory} and {second.directory} were asked different prompts, so no answer can be set beside another"
        )
    page = _page(first, second)
    return render(
        "flips/flips.html.jinja",
        script="flips/flips.js",
        page=page,
        difference=compare_runs(second, first).overall,
        rates=[run.summary().overall.prompt_strict for run in (first, second)],
        most=MOST_FLIPS,
    )


def _page(first: Run, second: Run) -> Page:
    kept = [passes(run) for run in (first, second)]
    sides = [({one.key: one for one in run.responses()}, marks_by_answer(run)) for run in (first, second)]
    flips: list[Flip] = []
    blamed: Counter[str] = Counter()
    for prompt in first.prompts():
        before, after = kept[0][prompt.id], kept[1][prompt.id]
        if before is None or after is None or before == after:
            continue
        turns = tuple(tuple(answer_of(prompt, turn, *side) for side in sides) for turn in range(len(prompt.turns)))
        flips.append(_flip(prompt, turns, is_gained=after))  # type: ignore[arg-type]
        blamed.update(
            {mark.kind for pair in turns for side in pair if side for mark in side.marks if mark.outcome == "fail"}
        )
    gained = sum(flip.is_gained for flip in flips)
    names = [run.spec.model for run in (first, second)]
    if names[0] == names[1]:
        names = [f"{run.spec.model} ({run.directory.name})" for run in (first, second)]
    return Page(
        names[0],
        names[1],
        tuple(flips[:MOST_FLIPS]),
        gained,
        len(flips) - gained,
        tuple(blamed.most_common(SHOWN_KINDS)),
    )


def _flip(
    prompt: Prompt, turns: tuple[tuple[JudgedAnswer | None, JudgedAnswer | None], ...], *, is_gained: bool
) -> Flip:
    told = [
        f"{mark.kind} {mark.reason}"
        for pair in turns
        for side in pair
        if side
        for mark in side.marks
        if mark.outcome != "pass"
    ]
    return Flip(prompt.id, is_gained, turns, " ".join([prompt.id, "gained" if is_gained else "lost", *told]).lower())
