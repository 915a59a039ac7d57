"""Check whether stored Runs are unchanged, by their seals, or as far as possible without them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adhere.errors import AdhereError
from adhere.schema import Response
from adhere.store.run import Run, StoredVerdict, answer_hash
from adhere.store.seals.chain import SealCheck, check_seals
from adhere.store.segments import Damage, read_segments
from adhere.store.shelf import runs_in, shelf

MOST_NAMED = 5


def examine(directory: Path) -> dict[Path, SealCheck]:
    """Check every Run below a directory against its seals; return the results by the Run's directory."""
    return {run: _examine(run) for item in shelf(directory) for run in runs_in(item)}


def _examine(directory: Path) -> SealCheck:
    try:
        seal_check = check_seals(directory)
        problems = (*seal_check.problems, *_contradictions(directory))
    except (AdhereError, OSError) as error:
        return SealCheck("changed", 0, "", (str(error),))
    return seal_check._replace(state="changed" if problems else seal_check.state, problems=problems)


def _contradictions(directory: Path) -> Iterator[str]:
    """Yield what is wrong whatever the seals say: damaged rows, and verdicts about answers that are missing."""
    Run.load(directory)  # compares the prompts with the manifest
    damage = Damage()
    answers: dict[tuple[str, int, int], set[str]] = {}
    for row in read_segments(directory / "responses", Response, damage):
        answers.setdefault(row.key, set()).add(answer_hash(row))
    orphan_keys = dict.fromkeys(
        (verdict.prompt_id, verdict.turn, verdict.draw)
        for verdict in read_segments(directory / "verdicts", StoredVerdict, damage)
        if verdict.answer not in answers.get((verdict.prompt_id, verdict.turn, verdict.draw), ())
    )
    if damage.corrupt:
        yield f"unreadable lines: {damage}"
    for prompt, turn, draw in list(orphan_keys)[:MOST_NAMED]:
        yield f"the answer to {prompt!r}, turn {turn}, draw {draw}, is not the one that was judged"
    if len(orphan_keys) > MOST_NAMED:
        yield f"nor are {len(orphan_keys) - MOST_NAMED} more"
