"""Show the effect of contamination on a measurement.

Compare a run's pass rate on all test items with that on the items that no training row repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adhere.build.decontaminate.counts import FileResult
from adhere.errors import UsageError
from adhere.schema import Record
from adhere.suites.base import Suite


class Parts(Record, frozen=True):
    """Holds pass rates (strict, every constraint) in [0, 1]; None if a part has no decided answer.

    `difference` = `clean` - `all`, as the Qwen2 report prints it; `n_…` are the answers behind the rates.
    """

    run: str
    model: str
    suite: str
    n_all: int
    n_clean: int
    all: float | None
    clean: float | None
    difference: float | None


def both_parts(directory: Path, suites: Mapping[str, Suite], done: FileResult) -> Parts:
    """Return a run's pass rates on all test items and on the uncontaminated ones.

    Raises:
        UsageError: No suite holds all prompts of the run.
    """
    from adhere.pipeline.outcomes import passes  # a third of the command's start, and few ask for it
    from adhere.store.sharded import load_run

    run = load_run(directory)
    ids = {prompt.id for prompt in run.prompts()}
    for name, suite in suites.items():
        by_key = {prompt.key: prompt.id for prompt in suite.prompts}
        if ids <= set(by_key.values()):
            touched_ids = {by_key[key] for key in done.contaminated.get(name, ())}
            outcomes = passes(run)
            everything = [outcome for outcome in outcomes.values() if outcome is not None]
            clean = [outcome for id, outcome in outcomes.items() if outcome is not None and id not in touched_ids]  # noqa: A001
            first, second = _rate(everything), _rate(clean)
            difference = None if first is None or second is None else second - first
            return Parts(str(directory), run.spec.model, name, len(everything), len(clean), first, second, difference)
    raise UsageError(f"--run {directory}: its prompts ({run.spec.suite}) are those of none of: {', '.join(suites)}")


def _rate(outcomes: list[bool]) -> float | None:
    return sum(outcomes) / len(outcomes) if outcomes else None


def decontamination_text(done: FileResult, parts: list[Parts]) -> str:
    """Return what was dropped, and each run's pass rates with and without repeated items, as text for a terminal."""
    skipped = f", {done.skipped:,} skipped (the first: {done.skipped_lines[0]})" if done.skipped else ""
    lines = [f"{done.rows:,} rows: {done.kept:,} kept, {done.dropped:,} dropped{skipped}"]
    predicate = "share 13 tokens in a row with a row" if done.rule == "ngram" else "cost a row"
    lines += [
        f"  {against.suite}: {against.dropped:,} rows dropped; {against.touched} of {against.items} items {predicate} "
        f"({against.touched_share:.1%})"
        for against in done.against
    ]
    for part in parts:
        rates = [f"{rate:.1%}" if rate is not None else "–" for rate in (part.all, part.clean)]
        change = f"{100 * part.difference:+.1f} points" if part.difference is not None else "–"
        lines.append(
            f"  {part.model} on {part.suite}: {rates[0]} of {part.n_all} answers, {rates[1]} of the {part.n_clean} to "
            f"items that no row touches ({change})"
        )
    return "\n".join(lines)
