"""How many answers change with what is asked beside them is measured, stored, and told beside small differences."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from adhere.cli import adhere
from adhere.errors import UsageError
from adhere.models.base import Request
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.evaluate import evaluate_sync
from adhere.pipeline.stable import measure_stability
from adhere.report.tables.stable import stable_text
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn
from adhere.store.stability import store, stored_for
from adhere.suites.base import Suite

RULE = ConstraintRef("case:lower", {})
PROMPTS = tuple(Prompt(f"p{at}", (Turn(f"Say {at}.", (RULE,)),)) for at in range(20))
SUITE = Suite("test", "1", PROMPTS, (), sampling=Sampling(8))


class Swayed:
    """Answers p3 in capitals where it is not alone, and p5 with its neighbour's name."""

    def __init__(self, name: str = "swayed", extra: str = "") -> None:
        self.name, self.extra = name, extra
        self.engine = EngineInfo("test", "1", "none", None, {"batch_invariant": "no"})

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        ids = [one.prompt_id for one in requests]
        for one in requests:
            text = f"cats sleep{self.extra}"
            if one.prompt_id == "p3" and len(ids) > 1:
                text = "CATS SLEEP"
            if one.prompt_id == "p5":
                text += f" beside {ids[ids.index('p5') - 1]}"
            if one.prompt_id == "p9":
                yield Response(one.prompt_id, one.turn, one.draw, "", "error", error="boom")
            else:
                yield Response(one.prompt_id, one.turn, one.draw, text, "ok")

    def close(self) -> None:
        """Nothing to free."""


def test_texts_and_verdicts_that_change_are_counted() -> None:
    found = measure_stability(Swayed(), SUITE)
    assert [(way.way, way.answers, way.texts, way.verdicts) for way in found.ways] == [
        ("together", 19, 2, 1),
        ("in another order", 19, 2, 1),
    ]
    assert (found.prompts, found.failed, found.batch_invariant) == (20, 1, "no")
    assert (found.text_share, found.verdict_share) == (2 / 19, 1 / 19)
    text = stable_text(found)
    assert "2 (10.5" in text
    assert "1 prompt had a failed call" in text
    with pytest.raises(UsageError, match="at least two"):
        measure_stability(Swayed(), msgspec.structs.replace(SUITE, prompts=SUITE.prompts[:1]))


def test_it_is_told_beside_a_difference_that_is_no_larger(tmp_path: Path) -> None:
    one = evaluate_sync(Swayed(), SUITE, tmp_path / "a")
    other = evaluate_sync(Swayed("other"), SUITE, tmp_path / "b")
    assert not any("noise" in note for note in compare_runs(one, other).notes)
    store(measure_stability(Swayed(), SUITE), tmp_path)
    assert stored_for(other.spec, tmp_path) == (None, [])
    assert any("5.3 % of verdicts change" in note for note in compare_runs(one, other).notes)
    loud = evaluate_sync(Swayed("loud", extra=" LOUD"), SUITE, tmp_path / "c")
    assert not any("noise" in note for note in compare_runs(one, loud).notes)
    (damaged,) = (tmp_path / "stable").glob("*.json")
    damaged.write_bytes(damaged.read_bytes()[:40])
    assert [note for note in compare_runs(one, other).notes if "is damaged" in note] == [
        f"{damaged} is damaged, so what it said of an engine's noise is not known: run `adhere stable` again"
    ]


def test_from_the_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(adhere, ["stable", "scripted/echo", "--limit", "4", "--out", str(tmp_path), "--json"])
    assert done.exception is None, done.output
    found = msgspec.json.decode(done.stdout.splitlines()[-1])
    assert (found["prompts"], found["text_share"], found["verdict_share"]) == (4, 0.0, 0.0)
    assert len(list((tmp_path / "stable").glob("*.json"))) == 1
