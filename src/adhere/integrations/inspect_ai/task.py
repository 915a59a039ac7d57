"""Our suites as an inspect task, and our judge as its scorer.

    inspect eval adhere/follow --model openai/gpt-4o-mini -T suite=core -T limit=100
    inspect eval src/adhere/integrations/inspect_ai/task.py@follow …        from a checkout

Source: UKGovernmentBEIS/inspect_ai 0.3.285 (`Task`, `solver`, `scorer`); NaN is its word for "not scored".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adhere import suites
from adhere.calls import calls_of
from adhere.integrations import need_harness
from adhere.integrations.inspect_ai.read import STOPS
from adhere.integrations.shared.messages import messages_for
from adhere.integrations.shared.scoring import SCORES, SaidAnswer, columns, prompt_of, score_answers, verdict_rows
from adhere.schema import CutAnswers, Mode, Prompt, Status, Tool

if TYPE_CHECKING:
    import inspect_ai
    import inspect_ai.dataset
    import inspect_ai.model
    import inspect_ai.scorer
    import inspect_ai.solver
    import inspect_ai.tool
else:
    inspect_ai = need_harness("inspect_ai", "inspect-ai")
    for _part in ("dataset", "model", "scorer", "solver", "tool"):
        need_harness(f"inspect_ai.{_part}", "inspect-ai")

_ANSWERS = "adhere_answers"


@inspect_ai.task
def follow(suite: str = "core", limit: int | None = None, seed: int | None = None, mode: Mode = "reference") -> Any:
    """Ask and judge one of our suites as `adhere eval` does.

    Args:
        suite: Its name as in `adhere list suites`: `core`, `diagnostic:x5+seed7`, `ifeval:PATH`.
        limit: Most prompts, an even share of each slice.
        seed: Seed of generated suites.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
    """
    own_suite = suites.load(suite, limit=limit, seed=seed)
    own_suite.insist_on_no_episodes("adhere eval plays them")
    sampling = own_suite.sampling
    return inspect_ai.Task(
        dataset=inspect_ai.dataset.MemoryDataset(
            [_sample(prompt) for prompt in own_suite.prompts], name=f"adhere:{suite}"
        ),
        solver=turns(),
        scorer=judge(cut_answers=own_suite.cut_answers, mode=mode),
        config=inspect_ai.model.GenerateConfig(
            max_tokens=sampling.max_new_tokens, temperature=sampling.temperature, top_p=sampling.top_p
        ),
        version=own_suite.version,
        metadata={"suite": suite, "sha256": own_suite.sha256, "slices": list(own_suite.slices)},
    )


@inspect_ai.solver.solver
def turns() -> Any:
    """Ask every turn of a prompt in its conversation, each after the answer to the one before."""

    async def solve(state: Any, generate: Any) -> Any:
        prompt = prompt_of(state.metadata)
        if prompt.tools:
            state.tools = [_tool(tool) for tool in prompt.tools]
        answers = []
        for number, turn in enumerate(prompt.turns):
            if number:
                state.messages.append(inspect_ai.model.ChatMessageUser(content=turn.text))
            state = await generate(state, tool_calls="none")
            answers.append(_last(state))
        state.store.set(_ANSWERS, answers)
        return state

    return solve


@inspect_ai.scorer.metric
def over_instructions(name: str) -> Any:
    """Compute the rate over all instructions of all samples, as IFEval does, not the mean over samples."""

    def rate(scores: Sequence[Any]) -> float:
        weighted_scores = [(sample.score.as_float(), sample.score.metadata["decided"][name]) for sample in scores]
        decided_scores = [(value, n) for value, n in weighted_scores if not math.isnan(value)]
        total = sum(n for _, n in decided_scores)
        return sum(value * n for value, n in decided_scores) / total if total else math.nan

    return rate


def _metrics(name: str) -> list[Any]:
    if name.startswith("inst_level"):
        return [over_instructions(name)]
    return [inspect_ai.scorer.mean(), inspect_ai.scorer.stderr()]


@inspect_ai.scorer.scorer(metrics={name: _metrics(name) for name in SCORES}, name="adhere")
def judge(cut_answers: CutAnswers = "judge", mode: Mode = "reference") -> Any:
    """Score IFEval's four numbers with our judge; NaN for an undecided prompt, so that no metric counts it.

    It works in any task whose samples hold what `columns` returns; a task with its own solver is judged by its last
    answer.

    Args:
        cut_answers: Whether an answer that hit the token limit fails, or is judged like others.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
    """

    async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 - called so by inspect
        prompt = prompt_of(state.metadata)
        stored_answers = state.store.get(_ANSWERS)
        answers = [_as_said(*answer) for answer in stored_answers or [_last(state)]]
        conversation = score_answers(prompt, answers, cut_answers=cut_answers, mode=mode)
        return inspect_ai.scorer.Score(
            value={name: conversation.scores.get(name, math.nan) for name in SCORES},
            answer=answers[-1].text,
            explanation=conversation.failures,
            metadata={
                "verdicts": verdict_rows(conversation.verdicts),
                "decided": {name: conversation.weight(name) for name in SCORES},
            },
        )

    return score


def _last(state: Any) -> tuple[str, Status, list[dict[str, Any]]]:
    """Return the last answer as text, status and calls, in a form that inspect can store."""
    output = state.output
    tool_calls = output.message.tool_calls if output.choices else None
    calls = [{"id": call.id, "name": call.function, "arguments": call.arguments} for call in tool_calls or ()]
    return output.completion, STOPS.get(output.stop_reason, "ok"), calls


def _as_said(text: str, status: Status, calls: Sequence[Any] = ()) -> SaidAnswer:
    return SaidAnswer(text, status, calls_of({"tool_calls": list(calls)}))


def _sample(prompt: Prompt) -> Any:
    message_types = {
        "system": inspect_ai.model.ChatMessageSystem,
        "user": inspect_ai.model.ChatMessageUser,
        "assistant": inspect_ai.model.ChatMessageAssistant,
        "tool": inspect_ai.model.ChatMessageTool,
    }
    messages: list[Any] = [message_types[row["role"]](**row) for row in messages_for(prompt.messages(), "inspect")]
    return inspect_ai.dataset.Sample(input=messages, id=prompt.key, metadata=columns(prompt))


def _describe(schema: Any) -> Any:
    """Add a description to every parameter of a JSON schema: inspect refuses one without."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return schema
    parameters = {name: {"description": name.replace("_", " "), **_describe(part)} for name, part in properties.items()}
    return {**schema, "properties": parameters}


def _tool(tool: Tool) -> Any:
    """Return a tool that the model is told of. It is never run, because the prompt contains its answers."""

    async def told(**_: Any) -> str:
        raise RuntimeError(f"{tool.name}: what a given tool said stands in the prompt; it is not called")

    parameters = inspect_ai.tool.ToolParams(**_describe(tool.parameters))
    return inspect_ai.tool.ToolDef(told, name=tool.name, description=tool.description, parameters=parameters)
