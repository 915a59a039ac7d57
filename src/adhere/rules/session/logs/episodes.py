"""Read episodes of our worlds: stored runs, and rows of their answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from adhere.calls import written_calls
from adhere.rules.session.logs.messages import Numbered, Row, read_one
from adhere.rules.session.model import Session
from adhere.store.sharded import load_run


def is_episode_row(row: Row) -> bool:
    """Tell whether a row is an answer with the steps of an episode."""
    return "prompt_id" in row and isinstance(row.get("steps"), list)


def read_rows(rows: Numbered, name: str) -> Iterator[Session]:
    """Yield a session for each answer with steps."""
    for line, row in rows:
        if is_episode_row(row):
            yield _session(row, f"{name}#{row['prompt_id']}-{row.get('draw', 0)}", start=line)


def read_run(directory: Path) -> Iterator[Session]:
    """Yield a session for each episode of a stored run, with its prompt at the beginning."""
    run = load_run(directory)
    prompts = {prompt.id: prompt for prompt in run.prompts()}
    is_solved = {
        (verdict.prompt_id, verdict.draw): verdict.outcome == "pass"
        for verdict in run.verdicts()
        if verdict.constraint_id == "world:solved" and verdict.view == "strict" and verdict.outcome != "undecided"
    }
    for response in run.responses():
        if not response.steps:
            continue
        prompt = prompts.get(response.prompt_id)
        before = [msgspec.to_builtins(message) for message in prompt.messages()] if prompt is not None else []
        row = {"steps": [*before, *msgspec.to_builtins(response.steps)], "prompt_id": response.prompt_id}
        session = _session(row, f"{directory}#{response.prompt_id}-{response.draw}", start=1)
        session.model, session.solved = run.manifest.spec.model, is_solved.get((response.prompt_id, response.draw))
        yield session


def _session(row: Row, name: str, *, start: int) -> Session:
    session = Session(name, "episode", agent="adhere world", task_id=str(row["prompt_id"]))
    return read_one(list(_messages([step for step in row["steps"] if isinstance(step, Mapping)])), session, start=start)


def _messages(steps: list[Row]) -> Iterator[Row]:
    """Yield an episode's steps as messages of an API; calls that were written as text become calls with results."""
    waiting: list[str] = []
    for number, step in enumerate(steps):
        text = str(step.get("content") or "")
        text_calls = written_calls(text)[1] if step.get("role") == "assistant" and not step.get("calls") else ()
        if text_calls:
            waiting = [f"step {number}: {call.id}" for call in text_calls]
            calls = [
                {"id": key, "name": call.name, "arguments": call.arguments}
                for key, call in zip(waiting, text_calls, strict=True)
            ]
            yield {"role": "assistant", "content": "", "calls": calls}
        elif waiting and step.get("role") == "user":
            yield from ({"role": "tool", "tool_call_id": key, "content": text} for key in waiting)
            waiting = []
        else:
            yield {**step, "tool_call_id": step.get("call_id")}  # our messages name a tool's call `call_id`
