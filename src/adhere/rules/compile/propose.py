"""Let a model propose checks for rules that no phrasing of ours matches.

A proposal is a check of the library and two short sessions, one that keeps the rule and one that breaks it. It is taken
only if the check finds the first kept and the second broken, so that a check that cannot fail, or means something else,
is not taken. Code is never taken. Only sentences of the rule file are sent, nothing of a session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from adhere.errors import AdhereError
from adhere.models.base import Model, Request
from adhere.pipeline.judge_model.question import Question
from adhere.rules.checks.judge import judge_rule
from adhere.rules.checks.spec import Check, Rule
from adhere.rules.session.acts import acts_of
from adhere.rules.session.model import Session
from adhere.rules.session.record import Recorder
from adhere.schema import Json, Message, Record, Response, Sampling, convert, derive_seed

MOST_TOKENS = 1200
ASK = """A rule is told to a coding agent. Propose a check that a program can make of the agent's session, or null where none can.
A check is one of these JSON objects; an event is an object with exactly one of "command" (list of commands, or groups such as
"@tests"), "edits" (list of path patterns), "reads", "tool", "reply" (words), "user" (words), "asks" (true), "done" (true):
{"kind": "never", "event": E} {"kind": "does", "event": E, "when": E} {"kind": "before", "first": E, "then": E}
{"kind": "after", "event": E, "then": E} {"kind": "instead", "use": E, "avoid": E} {"kind": "asks_before", "event": E}
{"kind": "at_most", "event": E, "limit": N} {"kind": "text", "of": "replies" | "final" | "files" | "commits" | "branches",
"without": [texts], "has": text, "begins": [texts], "ends": [texts], "paths": [patterns], "most_lines": N}
Give two short sessions as lists of steps, one that keeps the rule and one that breaks it. A step is {"user": text}, {"says": text},
{"command": text, "exit_code": 0}, {"writes": path, "text": text} or {"reads": path}.
Reply with exactly one JSON object: {"check": CHECK | null, "keeps": [steps], "breaks": [steps], "why": "one sentence"}"""


class Proposal(Record, frozen=True):
    """Holds the reply of a model that was asked for a check."""

    check: dict[str, Json] | None
    keeps: tuple[dict[str, Json], ...] = ()
    breaks: tuple[dict[str, Json], ...] = ()
    why: str = ""


class Outcome(NamedTuple):
    """Holds the rules with the accepted checks, and why each other proposal was refused (reason by rule id)."""

    rules: tuple[Rule, ...]
    refused: dict[str, str]


def propose(rules: Sequence[Rule], model: Model, *, seed: int = 0) -> Outcome:
    """Ask a model for a check of every rule without one; accept a check that judges its own two sessions right."""
    questions = {rule.id: Question(ASK, Proposal, {"rule": rule.quote}) for rule in rules if rule.check is None}
    requests = [
        Request(name, 0, 0, (Message("user", question.text),), derive_seed(seed, model.name, name))
        for name, question in questions.items()
    ]
    answers = asyncio.run(_gather(model, requests))
    refusals: dict[str, str] = {}
    new: list[Rule] = []
    for rule in rules:
        if rule.id in questions:
            proposal, problem = questions[rule.id].read(answers.get(rule.id))
            check, why = _try(rule, proposal) if proposal is not None else (None, problem)
            if check is None:
                refusals[rule.id] = why
            else:
                rule = replace(rule, check=check, why=f"proposed by {model.name}")  # noqa: PLW2901 - the rule, filled
        new.append(rule)
    return Outcome(tuple(new), refusals)


async def _gather(model: Model, requests: Sequence[Request]) -> dict[str, Response]:
    answers = {}
    async for response in model.respond(requests, Sampling(max_new_tokens=MOST_TOKENS)):
        answers[response.prompt_id] = response
    return answers


def _try(rule: Rule, proposal: Proposal) -> tuple[Check | None, str]:
    """Return a proposal's check if it judges the proposal's two sessions right; else None, and why not."""
    if proposal.check is None:
        return None, proposal.why or "no program decides it"
    try:
        check: Check = convert(proposal.check, Check)  # type: ignore[arg-type]
    except (msgspec.ValidationError, AdhereError) as error:
        return None, f"the check cannot be: {error}"
    for steps, expected in ((proposal.keeps, "kept"), (proposal.breaks, "broken")):
        session = session_of(steps)
        verdict = judge_rule(replace(rule, check=check), session, acts_of(session))
        outcome = verdict.outcome if verdict is not None else "undecided"
        if outcome != expected:
            return None, f"of the session that is {expected} the check says {outcome}"
    return check, ""


def session_of(steps: Sequence[Mapping[str, Json]]) -> Session:
    """Make a session of the steps that a proposal lists; steps of an unknown form are skipped."""
    recorder = Recorder(Session("proposal", "messages"))
    for number, step in enumerate(steps, start=1):
        key = f"step {number}"
        if "user" in step:
            recorder.say(number, "user", str(step["user"]))
        elif "says" in step:
            recorder.say(number, "assistant", str(step["says"]))
        elif "command" in step:
            code = step.get("exit_code", 0)
            recorder.call(number, key, "bash", {"command": str(step["command"])})
            recorder.result(number, key, "", exit_code=code if isinstance(code, int) else None)
        elif path := step.get("writes", step.get("reads")):
            tool = "write" if "writes" in step else "read"
            recorder.call(number, key, tool, {"path": str(path), "content": str(step.get("text", ""))})
            recorder.result(number, key, "", state="done")
    return recorder.finish()
