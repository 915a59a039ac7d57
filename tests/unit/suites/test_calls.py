"""The family `calls`.

A scripted model that calls as it should passes all, one that calls otherwise fails, and the page has its rows.
"""

from __future__ import annotations

import msgspec
import pytest

from adhere.models.base import Request
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.fake.scripted import ScriptedModel
from adhere.models.http.client import EndpointModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.report.pages import stored_in
from adhere.schema import Message, ToolCall, read_whole
from adhere.store.run import Run
from adhere.suites import load
from adhere.suites.generated.tasks.calls import FAMILY, TOOLS

LEVELS = [level.name for level in FAMILY.levels]


def solver(turned=lambda calls: calls):
    """A model that makes the calls given with each item, after `turned`."""
    answers = {drawn.prompt.id: drawn.answers[0] for drawn in FAMILY.stream(0, 4)}

    def answer(request: Request) -> Message:
        assert [tool.name for tool in request.tools] == [tool.name for tool in TOOLS]
        whole = read_whole(answers[request.prompt_id])
        return Message("assistant", whole.text, turned(whole.calls))

    return ScriptedModel(answer, name="scripted/calls")


def passed(run: Run) -> dict[str, int]:
    found = dict.fromkeys(LEVELS, 0)
    failing = {
        verdict.prompt_id for verdict in run.verdicts() if verdict.view == "strict" and verdict.outcome != "pass"
    }
    for prompt in run.prompts():
        found[prompt.tags["slice"]] += prompt.id not in failing
    return found


def other_number(calls):
    return tuple(
        msgspec.structs.replace(one, arguments={**one.arguments, "minutes": 601, "degrees": 99, "text": ""})
        for one in calls
    )


def with_a_risk(calls):
    risks = [
        ToolCall("r", "unlock_door", {"seconds": 5}),
        ToolCall("s", "order_taxi", {}),
        ToolCall("t", "delete_list", {}),
    ]
    return (*calls, *risks)


@pytest.mark.parametrize(
    ("turned", "wanted"),
    [
        (lambda calls: calls, [4, 4, 4, 4, 4, 4]),
        (lambda calls: calls[::-1], [4, 4, 0, 4, 4, 4]),  # only where the order counts
        (lambda calls: calls[1:], [0, 0, 0, 0, 4, 0]),
        (other_number, [0, 0, 0, 0, 4, 0]),
        (with_a_risk, [0, 0, 0, 0, 0, 0]),
    ],
)
def test_calls_are_compared_one_by_one(turned, wanted, tmp_path):
    run = evaluate_sync(solver(turned), load("calls:x4"), tmp_path / "run")
    assert passed(run) == dict(zip(LEVELS, wanted, strict=True))


def test_an_endpoint_is_told_of_the_tools_and_the_page_shows_what_it_called(tmp_path):
    suite = load("calls:x2")
    model = solver()
    by_text = {prompt.text: prompt for prompt in suite.prompts}

    def reply(body):
        prompt = by_text[body["messages"][-1]["content"]]
        return model.script(Request(prompt.id, 0, 0, prompt.messages(), 0, tools=prompt.tools))

    with FakeEndpoint({"m": FakeModel(reply=reply)}) as endpoint:
        run = evaluate_sync(EndpointModel(f"{endpoint.url}#m"), suite, tmp_path / "run")
        assert {tool["function"]["name"] for tool in endpoint.seen[-1]["tools"]} == {tool.name for tool in TOOLS}
    assert run.summary().overall.prompt_strict.passed == len(suite.prompts)
    lazy = evaluate_sync(ScriptedModel(lambda _: "Of course.", name="scripted/lazy"), suite, tmp_path / "lazy")
    assert lazy.summary().overall.prompt_strict.passed == 0
    page = stored_in([tmp_path / "run", tmp_path / "lazy"]).html()
    for shown in ("calls:exactly", "calls:never", "calls:valid", "calls:asks_first", *LEVELS):
        assert shown in page, shown
    assert "not called: " in stored_in([tmp_path / "lazy"]).html()
