"""Study sessions of agents: was a rule kept in a task?

    [verdict]
    suite = "rules:AGENTS.md"
    [[arms]]
    answers = "sessions/a-{seed}/"

A prompt is a rule in a task; the prompts of one task are one cluster. A rule that a session did not trigger has nothing
to measure, so it leaves the denominator. A rule that the log leaves undecided, and a task without a session, are not
measured, which lowers coverage. Neither counts as kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from adhere.errors import SpecError
from adhere.rules.checks.judge import CHECKS_VERSION
from adhere.rules.checks.spec import Rule
from adhere.rules.examine import judge_session, open_rules
from adhere.rules.in_force import Validity
from adhere.rules.session.model import Session
from adhere.rules.session.read import read_sessions
from adhere.rules.session.secrets import redact
from adhere.rules.tasks import TaskNames, Way, task_names, way_of
from adhere.schema import ConstraintRef, Prompt, Turn, content_hash
from adhere.study.design.sources import places
from adhere.study.design.spec import RULES, StudySpec
from adhere.suites.base import Suite

WAY, SOLVED = "tasks_by", ("solved", "not-solved")
"""Key of the suite's setting that says how tasks are matched; slices of tasks that all sessions solved, and others."""


class SessionOutcomes(NamedTuple):
    """Holds the outcome of each rule of a study in one session."""

    session: str
    agent: str
    solved: bool | None
    outcomes: Mapping[str, str]  # kept, broken, untriggered, undecided, by rule
    shown: Mapping[str, tuple[str, str]]  # the reason and the evidence, by rule


def rule_file(spec: StudySpec) -> Path:
    """Return the path of the rules that a study is about."""
    return Path(spec.asked.removeprefix(RULES)).expanduser()


def rules_of(spec: StudySpec) -> tuple[tuple[Rule, ...], Validity | None]:
    """Return the rules of a study that a program decides, and what tells when they held (None: always).

    Raises:
        SpecError: No rule can be decided by a program.
    """
    rules, validity = open_rules(rule_file(spec))
    checkable_rules = tuple(rule for rule in rules if rule.check is not None)
    if not checkable_rules:
        raise SpecError(f"verdict.suite = {spec.asked!r}: no rule in it has a check (adhere rules list FILE)")
    return checkable_rules, validity


def rules_suite(spec: StudySpec) -> Suite:
    """Return the suite of every rule in every task that a session of any arm worked on.

    While there is no session, the suite has the rules of one nameless task, which is enough to name the judge.

    Raises:
        SpecError: There is no rule, or a file holds no session.
        UsageError: A folder holds no session.
    """
    rules, states_by_task = rules_of(spec)[0], dict[str, list[bool | None]]()
    sets, states = list[list[TaskNames]](), list[list[bool | None]]()
    for arm, seed in places(spec):
        folder = Path(arm.at(seed)).expanduser()
        if folder.exists():
            pairs = [(task_names(session, folder), session.solved) for session in read_sessions(folder)]
            sets.append([names for names, _ in pairs])
            states.append([state for _, state in pairs])
    way = way_of(sets)
    for own, task_states in zip(sets, states, strict=True):
        for names, state in zip(own, task_states, strict=True):
            states_by_task.setdefault(redact(getattr(names, way)), []).append(state)
    tasks = sorted(task for task in states_by_task if task) or [""]
    prompts = tuple(_prompt(task, rule, states_by_task.get(task, [])) for task in tasks for rule in rules)
    present = {prompt.tags["slice"] for prompt in prompts}
    return Suite(
        spec.asked, CHECKS_VERSION, prompts, tuple(name for name in SOLVED if name in present), settings={WAY: way}
    )  # fmt: skip


def _prompt(task: str, rule: Rule, states: Sequence[bool | None]) -> Prompt:
    ref = ConstraintRef(f"rule:{rule.id}", msgspec.to_builtins(rule.check))
    part = "" if not states or None in states else SOLVED[not all(states)]
    tags = {"query": task, "slice": part, "rule": rule.id}
    turn = Turn(redact(rule.quote or rule.id), (ref,))
    return Prompt(f"{rule.id} in {task}", (turn,), source="rules", tags=tags)


def seen_by(spec: StudySpec, suite: Suite, folder: Path) -> dict[str, SessionOutcomes]:
    """Return the outcomes of a study's rules in the sessions below a folder, by task.

    Raises:
        SpecError: Two sessions are of one task.
    """
    (rules, validity), way = rules_of(spec), cast("Way", suite.settings[WAY])
    folder_of_rules = rule_file(spec).resolve().parent
    outcomes_by_task: dict[str, SessionOutcomes] = {}
    for session in read_sessions(folder):
        task = redact(getattr(task_names(session, folder), way))
        if task and task in outcomes_by_task:
            raise SpecError(
                f"{outcomes_by_task[task].session} and {session.name} are both of the task {task!r}. A study takes "
                "one session a task and seed: put the second into the folder of another seed, or give the logs tasks "
                'of their own ("task": …)'
            )
        if task:
            outcomes_by_task[task] = _outcomes_of(rules, session, folder_of_rules, validity)
    return outcomes_by_task


def _outcomes_of(rules: Sequence[Rule], session: Session, repo: Path, validity: Validity | None) -> SessionOutcomes:
    verdicts = judge_session(rules, session, repo=repo, versions=validity)
    return SessionOutcomes(
        session.name,
        " ".join(part for part in (session.agent, session.version, session.model) if part),
        session.solved,
        {verdict.rule: verdict.outcome for verdict in verdicts},
        {
            verdict.rule: (verdict.reason, "\n".join(f"line {row.line}: {row.quote}" for row in verdict.evidence))
            for verdict in verdicts
        },
    )


def judges_of(prompts: Sequence[Prompt]) -> Iterator[str]:
    """Yield for each rule of a suite what names its judge: the check, and the version of the program that runs it."""
    for ref in {prompt.tags["rule"]: prompt.constraints[0] for prompt in prompts}.values():
        yield f"{ref.id} {CHECKS_VERSION} {content_hash(ref.params)}"
