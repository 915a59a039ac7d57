"""The environment for NeMo Gym: a resources server by its HTTP contract, and rows for its agents.

    python -m adhere.integrations.nemo_gym.server core:x20 --rows rows.jsonl
    python -m adhere.integrations.nemo_gym.server core:x20 --port 8000

A row has `responses_create_params` (what the model is sent) and everything needed to judge its answer, so the server
holds no state. `/verify` takes a row with the model's `response` and returns it with `reward` and the verdicts.

An answer that could not be judged has no measured reward. The contract demands a number, so it is 0.0, together with
fields that tell NeMo Gym not to use it: `mask_sample` (left out of training) and `_ng_failure_class` (kept out of
results, asked again on resume).

The contract was read in NVIDIA-NeMo/Gym at 07d6b0d (`base_resources_server.py`, `judge.py`); its package needs Python
3.13, so the tests speak to this server with the client that verifiers 0.4.0 has for NeMo Gym.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from aiohttp import web

from adhere.environments.environment import Environment, judge_episode, messages_of
from adhere.errors import AdhereError, UsageError
from adhere.pipeline.reward import RewardKind
from adhere.rewards.parts import Parts, parts_of
from adhere.rewards.rows import asked_in, is_cut_by, refs_in
from adhere.schema import CutAnswers, Mode, Prompt, Record, Turn, convert, decode
from adhere.shapes.messages import field, is_listed, read_message

MASK, FAILURE, FAILURE_TEXT = "mask_sample", "_ng_failure_class", "_ng_failure_judge_error"
_MOST_BYTES = 64 * 2**20


class Judging(Record, frozen=True):
    """Describes how a row's answer is judged; it is stored in the row under `adhere`."""

    mode: Mode
    reward: RewardKind
    cut_answers: CutAnswers
    profile: str | None = None
    traps: bool = False
    parts: Parts | None = None


def rows_of(environment: Environment, *, parts: Parts | None = None) -> list[dict[str, Any]]:
    """Return the prompts as NeMo Gym's rows, one exchange each.

    Args:
        environment: The environment with the prompts.
        parts: The components of the reward that `/verify` returns, too (`rewards.parts`): under `parts`, None for
            one that was not measured, and as a number `part/NAME` for one that was.

    Raises:
        UsageError: A prompt has several turns, or tools.
    """
    environment.insist_on_one_turn()
    rows = []
    for prompt, row in zip(environment.prompts, environment.rows(), strict=True):
        judging = Judging(
            environment.mode,
            environment.reward,
            environment.cut_answers,
            prompt.tags.get("profile"),
            environment.traps,
            parts,
        )
        rows.append(
            {
                "id": prompt.id,
                "responses_create_params": {"input": messages_of(prompt)},
                "instruction_id_list": row["instruction_id_list"],
                "kwargs": row["kwargs"],
                "adhere": msgspec.to_builtins(judging),
            }
        )
    return rows


def verify(row: dict[str, Any]) -> dict[str, Any]:
    """Judge a row with its response; return the row with its reward.

    Raises:
        UsageError: The row lacks a response or its constraints.
        UnknownName, BadParameter: A constraint cannot be judged by anybody.
    """
    text, is_cut = _answer_of(row.get("response"))
    try:
        judging = convert(row.get("adhere", {"mode": "reference", "reward": "dense", "cut_answers": "judge"}), Judging)
    except msgspec.ValidationError as error:
        raise UsageError(f"The row's `adhere` says how it is judged: {error}") from error
    tags = {} if judging.profile is None else {"profile": judging.profile}
    prompt = Prompt(str(row.get("id", "")), (Turn(_asked_in(row), refs_in(row, where="The row")),), tags=tags)
    judgement = judge_episode(
        prompt,
        text,
        is_cut=is_cut,
        mode=judging.mode,
        reward=judging.reward,
        cut_answers=judging.cut_answers,
        traps=judging.traps,
    )
    verified_row: dict[str, Any] = {
        **row,
        "reward": 0.0 if judgement.score is None else judgement.score,
        "reasons": list(judgement.reasons),
    }
    if judgement.score is None:
        verified_row |= {
            MASK: True,
            FAILURE: "judge_failed",
            FAILURE_TEXT: "; ".join(judgement.reasons) or "no constraint",
        }
    if judging.parts is not None:
        refs = prompt.turns[0].constraints
        own = parts_of(
            text,
            refs,
            judging.parts,
            kind=judging.reward,
            mode=judging.mode,
            profile=judging.profile,
            is_cut=is_cut,
            cut_answers=judging.cut_answers,
            request=_asked_in(row),
        )
        verified_row |= {"parts": own, **{f"part/{name}": value for name, value in own.items() if value is not None}}
    return verified_row | judgement.metrics


def _asked_in(row: dict[str, Any]) -> str:
    """Return the text of a row's last user message."""
    params = row.get("responses_create_params")
    return asked_in(params.get("input") or "") if isinstance(params, dict) else ""


_CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call", "web_search_call", "file_search_call"})


def _answer_of(response: Any) -> tuple[str, bool]:
    """Return the text of the model's last turn in a Responses API object, and whether it was cut.

    A turn is what the model wrote between two tool results or messages of others; a turn that only calls tools is an
    empty answer.
    """
    if not isinstance(response, dict) or not is_listed(response.get("output")):
        raise UsageError(
            "A row to verify has the model's `response`, an object of the Responses API with an `output` list"
        )
    turns: list[list[str | None]] = [[]]
    for item in response["output"]:
        kind = field(item, "type") or "message"
        if kind in _CALLS:
            turns[-1].append(None)
        elif kind == "message" and read_message(item, "The response's output").role == "assistant":
            turns[-1].append(read_message(item, "The response's output").text or "")
        elif kind != "reasoning" and turns[-1]:  # somebody else's word: a tool's, a user's
            turns.append([])
    last = next((turn for turn in reversed(turns) if turn), [])
    texts = [text for text in last if text is not None]
    is_cut = is_cut_by({**response, "status": None}) or response.get("status") == "incomplete"
    return texts[-1] if texts else "", is_cut


def make_app() -> web.Application:
    """Make the resources server: `/seed_session`, `/verify`, `/aggregate_metrics`, `/reverify_mode`."""

    async def seed_session(_: web.Request) -> web.Response:
        return web.json_response({})

    async def verified(request: web.Request) -> web.Response:
        try:
            row = decode(await request.read(), dict[str, Any])
            return web.Response(body=msgspec.json.encode(verify(row)), content_type="application/json")
        except AdhereError as error:
            # 422 as FastAPI answers what does not fit its model: the row is wrong, so the trainer should stop.
            return web.json_response({"detail": str(error)}, status=422)

    async def aggregated(request: web.Request) -> web.Response:
        try:
            body = decode(await request.read(), dict[str, list[dict[str, Any]]])
        except AdhereError as error:
            return web.json_response({"detail": str(error)}, status=422)
        rows = [row for row in body.get("verify_responses", []) if not row.get(MASK)]
        rewards = [float(row["reward"]) for row in rows]
        mean = sum(rewards) / len(rewards) if rewards else None
        return web.json_response(
            {
                "agent_metrics": {
                    "mean/reward": mean,
                    "judged": len(rows),
                    "masked": len(body.get("verify_responses", [])) - len(rows),
                },
                "key_metrics": {"mean/reward": mean},
                "group_level_metrics": [],
            }
        )

    async def reverify_mode(_: web.Request) -> web.Response:
        return web.json_response("stateless")

    app = web.Application(client_max_size=_MOST_BYTES)
    app.add_routes(
        [
            web.post("/seed_session", seed_session),
            web.post("/verify", verified),
            web.post("/aggregate_metrics", aggregated),
            web.get("/reverify_mode", reverify_mode),
        ]
    )
    return app


def main(arguments: list[str] | None = None) -> None:
    """Write rows or serve; see the module's first lines."""
    from adhere.environments.command import parse

    options = parse("adhere.integrations.nemo_gym.server", arguments)
    assert isinstance(options.environment, Environment)  # noqa: S101 - `parse` makes another only where worlds are taken
    if options.rows is not None:
        lines = [msgspec.json.encode(row) + b"\n" for row in rows_of(options.environment)]
        Path(options.rows).write_bytes(b"".join(lines))
        return
    web.run_app(make_app(), host=options.host, port=options.port)


if __name__ == "__main__":
    main(sys.argv[1:])
