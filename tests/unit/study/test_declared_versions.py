"""Whatever a cell's key names by a version computes what it did when that version was stored (`computed`)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

import pytest

pytest.importorskip("torch", reason="stages need the train extra")

from tests.unit.study import computed
from tests.unit.study.computed import Computed, compute, load, problem


def trouble(part: str, name: str) -> str | None:
    here = compute(part, name)
    values = computed.builtins(here)["values"]
    return problem(name, load(part).get(name), here._replace(values=values))


@pytest.mark.parametrize("name", sorted(computed.SHARED))
def test_the_decoder_the_judge_the_rows_and_the_loop_compute_what_is_stored(name: str) -> None:
    assert trouble("shared", name) is None


@pytest.mark.parametrize("name", sorted(computed.methods_of_ours()))
def test_every_method_trains_what_is_stored(name: str) -> None:
    assert trouble("methods", name) is None


def test_every_method_of_ours_is_stored() -> None:
    assert computed.methods_of_ours() == {*load("methods")}, "python -m tests.unit.study.computed stores new methods"
    assert {*computed.VARIANTS} <= computed.methods_of_ours()


def test_every_kind_decides_what_is_stored() -> None:
    assert {*computed.new_cases()} == {*load("kinds")}, "python -m tests.unit.study.computed stores new kinds"
    stored = load("kinds")
    here = {name: computed.kind(name, cases) for name, cases in computed.stored_cases().items()}
    assert [found for name in here if (found := problem(name, stored[name], here[name])) is not None] == []


# One constant of each, changed. A place is a module, what stands there once, and what stands there then.
METHODS = "adhere.train.methods."
MUTATIONS = [
    ("methods", "sft", METHODS + "sft", ".sum() / tokens", ".sum() / tokens / 1.001"),
    ("methods", "more-sft", METHODS + "sft", "tokens_spent += sum(", "tokens_spent += 2 * sum("),
    ("methods", "continue", METHODS + "continued", "(sum(tokens_learned.values()) + 1)", "(sum(tokens_learned.values()) + 60)"),
    ("methods", "rft", METHODS + "rft", "answer.score == 1.0", "answer.score == 0.0"),
    ("methods", "dpo", METHODS + "dpo", "sigmoid(sums, beta=settings", "sigmoid(sums, beta=1.01 * settings"),
    ("methods", "kto", "adhere.train.batch.objectives", "(1 - torch.sigmoid(margin))", "(1.01 - torch.sigmoid(margin))"),
    ("methods", "kto", METHODS + "kto", "(1.0, 0.0)", "(0.0, 1.0)"),
    ("methods", "online-dpo", METHODS + "online_dpo", "* step / len(order)", "* step / len(order) / 4"),
    ("methods", "grpo", METHODS + "grpo", "+ 1e-4 if", "+ 2e-4 if"),
    ("methods", "grpo", METHODS + "grpo", "1 + settings.clip_high)\n", "1.001 + settings.clip_high)\n"),
    ("methods", "rloo", METHODS + "grpo", "(n - 1)\n        scale *= others", "(n - 1)\n        scale *= 1.01 * others"),
    ("methods", "reward-model", METHODS + "reward_model", ".sum() / size", ".sum() / size / 1.001"),
    ("shared", "loop", "adhere.train.loop", "math.cos(math.pi * done)) / 2", "math.cos(math.pi * done)) / 2.001"),
    ("shared", "loop", "adhere.train.packed.lora", "bound = 1 /", "bound = 1.001 /"),
    ("shared", "decoder", "adhere.models.local.decoder.pick", "draws * kept_mass", "draws * 0.5 * kept_mass"),
    ("shared", "decoder", "adhere.models.local.decoder.forward", "keepdim=True).add_(shape", "keepdim=True).add_(1e-3).add_(shape"),
    ("shared", "judge", "adhere.pipeline.guard", "self.repetition > 0.5", "self.repetition > 0.9"),
    ("shared", "judge", "adhere.pipeline.reward", 'float(outcome == "pass")', 'float(outcome == "fail")'),
    ("shared", "judge", "adhere.pipeline.judge", "if text.is_blank:\n        return EMPTY", "if not text.is_blank:\n        return EMPTY"),
    ("shared", "rows", "adhere.build.filter", "best = len(remaining) // 2", "best = len(remaining) // 3"),
    ("kinds", "length:at_least own", "adhere.constraints.kinds.trained.length", "count_words(text), self.least, ", "count_words(text), self.least + 1, "),
]  # fmt: skip


@contextmanager
def changed(module: str, before: str, after: str) -> Iterator[None]:
    """The functions of a module as they would be with `before`, which stands there once, written as `after`."""
    room = importlib.import_module(module)
    source = inspect.getsource(room)
    assert source.count(before) == 1, f"{module}: {before!r} stands there {source.count(before)} times"
    codes = dict(_codes(compile(source.replace(before, after), str(room.__file__), "exec", dont_inherit=True)))
    put = [
        (one, one.__code__)
        for one in _functions(room)
        if codes.get(one.__code__.co_qualname, one.__code__) != one.__code__
    ]
    assert put, "nothing changes"
    try:
        for function, known in put:
            function.__code__ = codes[known.co_qualname]
        yield
    finally:
        for function, known in put:
            function.__code__ = known


def _codes(code: CodeType) -> Iterator[tuple[str, CodeType]]:
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield inner.co_qualname, inner
            yield from _codes(inner)


def _functions(room: Any) -> Iterator[FunctionType]:
    own = [one for one in vars(room).values() if getattr(one, "__module__", None) == room.__name__]
    members = [member for one in own if inspect.isclass(one) for member in vars(one).values()]
    for one in (*own, *members):
        function = inspect.unwrap(getattr(one, "fget", None) or getattr(one, "__func__", one))
        if isinstance(function, FunctionType) and function.__code__.co_filename == room.__file__:
            yield function


@pytest.mark.parametrize(("part", "name", "module", "before", "after"), MUTATIONS)
def test_a_constant_cannot_change_under_the_same_version(
    part: str, name: str, module: str, before: str, after: str
) -> None:
    with changed(module, before, after):
        found = trouble(part, name)
    assert found is not None
    assert "Raise" in found


def test_a_version_that_rose_is_stored_anew_and_nothing_else_is(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(computed, "STORED", tmp_path)
    one = Computed("1", "the version of it", {"a": 1.0})
    assert computed._settle("shared", {"it": one}, {}) == []
    assert computed._settle("shared", {"it": one._replace(values={"a": 1.0 + 1e-7, "b": 2})}, {}) == []
    assert computed._settle("shared", {"it": one._replace(values={"a": 1.1})}, {}) == ["it: raise the version of it"]
    assert load("shared")["it"]["values"] == {"a": 1.0}
    risen = one._replace(version="2", values={"a": 1.1})
    assert "stored is 1" in str(problem("it", load("shared")["it"], risen))
    assert computed._settle("shared", {"it": risen}, {}) == []
    assert problem("it", load("shared")["it"], risen) is None
    assert "Raise the version of it" in str(problem("it", load("shared")["it"], risen._replace(values={"a": 3})))
