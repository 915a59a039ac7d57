"""EuroEval#756: batch APIs are written, submitted, polled, resumed after a kill, and billed.

Against fakes that behave as documented.
"""

import asyncio
import json

import pytest
from click.testing import CliRunner

from adhere.cli.eval import command
from adhere.errors import Incomplete, UsageError
from adhere.models.base import ResumableModel
from adhere.models.catalog import open_batched
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel
from adhere.models.http.batch import BatchModel
from adhere.models.http.options import EndpointOptions
from adhere.models.http.wire import Prices
from adhere.pipeline.evaluate import EvalSpec, evaluate, evaluate_sync
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites.base import Suite

LOWER = ConstraintRef("case:lower")
SUITE = Suite("mine", "1", tuple(Prompt(f"p{at}", (Turn(f"say {at}", (LOWER,)),)) for at in range(6)))
PRICE = Prices(1e-3, 1e-2)


class Killed(Exception):
    pass


def batched(fake, folder, *, form="api", **options):
    model = open_batched(f"{fake.url}#m", form, endpoint=EndpointOptions(price=PRICE, **options))
    model.folder, model.first_poll_s = folder / "batches", 0.01
    return model


def texts(run):
    return {response.prompt_id: response.text for response in run.responses()}


@pytest.fixture
def fake():
    with FakeEndpoint({"m": FakeModel()}) as found:
        yield found


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_euroeval_756_a_batch_is_submitted_polled_read_and_billed(fake, tmp_path, dialect):
    fake.apis.patience = 2
    model = batched(fake, tmp_path, dialect=dialect)
    assert isinstance(model, ResumableModel)
    run = evaluate_sync(model, SUITE, tmp_path)
    assert texts(run) == {f"p{at}": f"say {at}" for at in range(6)}
    assert run.state == "complete"
    assert (len(fake.apis.sent), len(fake.seen)) == (1, 0)
    costs = [response.usage.cost_usd for response in run.responses()]
    # half the price of single requests; Anthropic's fake says 15 and 7 tokens, OpenAI's counts words
    assert costs == pytest.approx([0.5 * (15e-3 + 7e-2 if dialect == "anthropic" else 2e-3 + 2e-2)] * 6)
    assert model.spent_usd == pytest.approx(sum(costs))
    assert run.responses()[0].latency_s is None


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_euroeval_756_what_was_killed_goes_on_with_the_same_batch(fake, tmp_path, dialect, monkeypatch):
    fake.apis.patience = 3

    async def killed(*_arguments):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(asyncio, "sleep", killed)
        with pytest.raises(Killed):
            evaluate_sync(batched(fake, tmp_path, dialect=dialect), SUITE, tmp_path)
    run = evaluate_sync(batched(fake, tmp_path, dialect=dialect), SUITE, tmp_path)
    assert len(texts(run)) == 6
    assert len(fake.apis.sent) == 1


def test_euroeval_756_a_batch_that_was_submitted_just_before_the_kill_is_found_by_its_name(fake, tmp_path, monkeypatch):
    def killed(model, folder, batch):
        if batch.id:
            raise Killed
        return keep(model, folder, batch)

    keep = BatchModel._keep
    with monkeypatch.context() as patch:
        patch.setattr(BatchModel, "_keep", killed)
        with pytest.raises(Killed):
            evaluate_sync(batched(fake, tmp_path, dialect="openai"), SUITE, tmp_path)
    run = evaluate_sync(batched(fake, tmp_path, dialect="openai"), SUITE, tmp_path)
    assert len(texts(run)) == 6
    assert len(fake.apis.sent) == 1


@pytest.mark.parametrize("dialect", ["openai", "anthropic"])
def test_what_a_batch_could_not_answer_is_an_error_and_asked_in_another(fake, tmp_path, dialect):
    fake.apis.batch_faults, fake.apis.batch_end = [None, "expired", "500", "400", "missing", None], "expired"
    run = evaluate_sync(batched(fake, tmp_path, dialect=dialect), SUITE, tmp_path)
    counts = run.summary().accounting
    assert (counts.ok, counts.error) == (2, 4)
    why = {response.prompt_id: (response.failure, response.error) for response in run.responses() if response.error}
    assert why["p3"][0] == "final"
    assert [why[name][0] for name in ("p1", "p2", "p4")] == ["passing"] * 3
    assert "without it" in why["p4"][1]
    fake.apis.batch_faults = [None]
    run = evaluate_sync(batched(fake, tmp_path, dialect=dialect), SUITE, tmp_path)
    assert [len(rows) for rows in fake.apis.sent] == [6, 3]
    assert run.summary().accounting.ok == 5


def test_a_later_turn_waits_for_the_batch_of_the_earlier(fake, tmp_path):
    suite = Suite("talk", "1", (Prompt("p", (Turn("one", (LOWER,)), Turn("two", (LOWER,)))),))
    run = evaluate_sync(batched(fake, tmp_path), suite, tmp_path)
    assert [response.text for response in run.responses()] == ["one", "two"]
    assert [message["role"] for message in fake.apis.sent[1][0]["body"]["messages"]] == ["user", "assistant", "user"]


def test_a_cap_on_cost_is_kept_before_anything_is_submitted(fake, tmp_path):
    fake.models["m"].listing = {"pricing": {"prompt": "0.001", "completion": "0.01"}}
    with pytest.raises(Incomplete, match="Nothing was submitted"):
        evaluate_sync(batched(fake, tmp_path, max_cost_usd=0.5), SUITE, tmp_path)
    assert fake.apis.sent == []


def test_euroeval_756_files_for_vllm_are_written_and_read(fake, tmp_path):
    asked = EvalSpec(SUITE)
    with pytest.raises(Incomplete, match=r"vllm run-batch -i .*request.jsonl -o .*result.jsonl --model m"):
        asyncio.run(evaluate(batched(fake, tmp_path, form="files"), asked, tmp_path))
    (folder,) = (tmp_path / "batches").iterdir()
    rows = [json.loads(line) for line in (folder / "request.jsonl").read_text().splitlines()]
    assert rows[0]["url"] == "/v1/chat/completions"
    lines = [json.dumps({"custom_id": row["custom_id"], **fake.apis._line(row, None)[0]}) for row in rows]
    (folder / "result.jsonl").write_text("\n".join(lines))
    run = asyncio.run(evaluate(batched(fake, tmp_path, form="files"), asked, tmp_path))
    assert len(texts(run)) == 6
    assert fake.seen == []


def test_the_command(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(BatchModel, "first_poll_s", 0.01)
    arguments = [f"{fake.url}#m", "--suite", "core:2+0", "--out", str(tmp_path), "--batch", "--min-coverage", "0"]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == 0, result.output
    assert len(fake.apis.sent) == 1
    with pytest.raises(UsageError, match="behind an endpoint"):
        open_batched("scripted/echo", "api", endpoint=None)
