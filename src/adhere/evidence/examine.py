"""Run one call of `adhere claims`: documents, and optionally a question, stored Runs and reviewers."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from adhere.evidence.check import findings_of, gather, read_all
from adhere.evidence.checks.against_runs import runs_below, tested_claims
from adhere.evidence.examination import Examination
from adhere.evidence.question import answer, load_question
from adhere.evidence.read.corrections import correct, load_corrections
from adhere.evidence.reviewers import open_reviewers, review


@contextmanager
def _without_collector() -> Iterator[None]:
    """Turn the garbage collector off within a `with` block.

    Searching millions of small objects that all stay alive for cycles, again and again, takes a third of the time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def examine(
    documents: Sequence[Path],
    *,
    question: Path | None = None,
    runs: Path | None = None,
    reviewers: Sequence[str] = (),
    corrections: Path | None = None,
) -> Examination:
    """Check documents; answer a question, test claims against Runs and ask reviewers where told to.

    Raises:
        UsageError: A document, the question, the Runs or the corrections cannot be read.
    """
    loaded_question = load_question(question) if question else None
    stored_runs = runs_below(runs) if runs else None
    loaded_corrections = load_corrections(corrections) if corrections else ()
    with _without_collector():
        loaded_documents = read_all(documents)
        correct(loaded_documents, loaded_corrections)
        evidence = gather(loaded_documents)
        findings = findings_of(evidence)
    panel = None
    if reviewers:
        with open_reviewers(reviewers) as models:
            panel = review(findings, models)
    return Examination(
        findings,
        answer(loaded_question, evidence) if loaded_question else None,
        tested_claims(evidence.values(), stored_runs) if stored_runs is not None else None,
        panel,
    )
