"""Measure an arm whose answers are sessions of agents: which rules each session kept, in the order of the suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adhere.errors import AdhereError
from adhere.pipeline.outcomes import Slot, by_slice
from adhere.pipeline.summarize.counts import Counts
from adhere.pipeline.summarize.summary import summary_of
from adhere.schema import EngineInfo, Outcome, Prompt, content_hash
from adhere.store.summary import Accounting, DrawSums, GuardMeans, SliceSums, Summary, SummarySums
from adhere.study.design.inputs import StudyInputs
from adhere.study.design.rules import SessionOutcomes, judges_of, seen_by
from adhere.study.design.sources import Source
from adhere.study.run.measured import VERSION, Measurement, ShownAnswer
from adhere.suites.base import Suite

ENGINE = EngineInfo("sessions", "unknown", "unknown")  # what answered in them is told in `Measurement.served`
_OUTCOMES: Mapping[str, Outcome] = {"kept": "pass", "broken": "fail"}


def measure_sessions(study: StudyInputs, source: Source, *, name: str, key: str) -> Measurement:
    """Check the sessions of one arm and seed against the rules of a study.

    Args:
        study: The study.
        source: The arm and seed, and the folder of their sessions.
        name: Name of the evaluation.
        key: Key of the evaluation.

    Raises:
        AdhereError: The sessions are missing, cannot be read, or two are of one task.
    """
    if source.trouble:
        raise AdhereError(f"{source.trouble}. Put it there and run the same command again; the others are kept")
    sessions, suite = seen_by(study.spec, study.suite, Path(source.name).expanduser()), study.suite
    outcomes = [_outcome(prompt, sessions) for prompt in suite.prompts]
    passes = [{"kept": True, "broken": False}.get(outcome) for outcome in outcomes]
    nothing: list[None] = [None] * len(outcomes)
    return Measurement(
        version=VERSION, key=key, arm=source.arm, seed=source.seed, engine=ENGINE, suite_sha256=suite.sha256,
        summary=_summarize(suite, outcomes), passes=list(passes), words=list(nothing), topic_words=list(nothing),
        repetitive=list(nothing), plain=None,
        shown={
            prompt.id: _show_rule(source.arm, prompt, sessions[prompt.tags["query"]])
            for prompt in suite.prompts if prompt.id in study.shown and prompt.tags["query"] in sessions
        },
        run=name, seconds=0.0, kept=[[is_kept] for is_kept in passes],
        answers_sha256=content_hash([source.identity, sorted(session.session for session in sessions.values())]),
        served=sorted({session.agent for session in sessions.values() if session.agent}),
        untriggered=[outcome == "untriggered" for outcome in outcomes],
        solved=[
            sessions[task].solved if (task := prompt.tags["query"]) in sessions else None for prompt in suite.prompts
        ],
    )  # fmt: skip


def _outcome(prompt: Prompt, sessions: Mapping[str, SessionOutcomes]) -> str:
    """Return the outcome of a rule in a task; `missing` without a session."""
    session = sessions.get(prompt.tags["query"])
    return session.outcomes[prompt.tags["rule"]] if session is not None else "missing"


def _show_rule(arm: str, prompt: Prompt, session: SessionOutcomes) -> ShownAnswer:
    outcome, (reason, evidence) = session.outcomes[prompt.tags["rule"]], session.shown[prompt.tags["rule"]]
    return ShownAnswer(arm, evidence, "ok", {"kept": True, "broken": False}.get(outcome), [f"{outcome}: {reason}"])


def _summarize(suite: Suite, outcomes: Sequence[str]) -> Summary:
    """Summarize the shares of rules kept, over all tasks and by slice; intervals count each task once."""
    places = {prompt.id: place for place, prompt in enumerate(suite.prompts)}

    def sums(prompts: Sequence[Prompt]) -> SliceSums:
        counts = Counts()
        triggered = [prompt for prompt in prompts if outcomes[places[prompt.id]] != "untriggered"]
        for prompt in triggered:
            outcome = outcomes[places[prompt.id]]
            slot_outcome = _OUTCOMES.get(outcome, "undecided")
            slots = (
                [Slot(prompt.constraints[0].id, slot_outcome, slot_outcome, completed=True)]
                if outcome != "missing"
                else []
            )
            counts.add(prompt.tags["query"], slots, 1, is_completed=True)
        missing = sum(outcomes[places[prompt.id]] == "missing" for prompt in triggered)
        n = len(triggered)
        return SliceSums(n, Accounting(n, n - missing, 0, 0, 0, 0, missing), counts.finish().sums, 0, _NO_TEXTS)

    slices = {name: sums(members) for name, members in by_slice(suite.prompts, suite.slices).items()}
    versions = {name: version for name, version, _ in (judge.rsplit(" ", 2) for judge in judges_of(suite.prompts))}
    return summary_of(SummarySums(sums(suite.prompts), slices, DrawSums()), 1, versions, 0, ())


_NO_TEXTS = dict.fromkeys(set(GuardMeans.__struct_fields__) - {"n", "truncated_share"}, (0.0, 0))
"""Guard sums of sessions, all empty, for sessions are no texts."""
