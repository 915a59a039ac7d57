"""Plain answers: without constraints, ended, as many and about as long as the rows that they are like."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.build.function_model import FunctionModel, answer

from adhere.build.decontaminate.parts import decontaminate
from adhere.build.plain import build_plain_pool, plain_prompts
from adhere.build.pool import load_pool
from adhere.errors import Incomplete
from adhere.models.base import Request
from adhere.progress import Silent
from adhere.schema import Prompt, Response, Sampling, SftRow
from adhere.suites.generated.core.slices import study_prompts
from adhere.suites.generated.core.templates import query_texts

SAMPLING = Sampling(max_new_tokens=64, temperature=1.0, seed=3)


def query(prompt: Prompt) -> str:
    return query_texts()[prompt.tags["query"]]


def built(directory: Path, lengths: list[int], *, reply: object = None):  # type: ignore[no-untyped-def]
    prompts = plain_prompts(study_prompts(0, 20), query)
    like = [SftRow(f"p{n}", "?", "word " * length, "sampled", (), ()) for n, length in enumerate(lengths)]
    model = FunctionModel(reply) if reply else FunctionModel(words)  # type: ignore[arg-type]
    return prompts, build_plain_pool(
        model,
        prompts,
        like=like,
        tokens=lambda text: len(text.split()),
        sampling=SAMPLING,
        directory=directory,
        contamination=decontaminate((), ()),
        progress=Silent(),
    )


def words(request: Request) -> Response:
    """Between 1 and 30 words, by the draw's own seed."""
    return answer(request, "so " * (1 + request.seed % 30))


def test_every_query_is_asked_once_without_its_constraints() -> None:
    composed = study_prompts(0, 400)  # more prompts than queries
    prompts = plain_prompts(composed, query)
    assert {prompt.text for prompt in prompts} == {query(prompt) for prompt in composed}
    assert len(prompts) < len(composed)
    assert not any(prompt.constraints for prompt in prompts)


def test_rows_are_as_many_and_as_long_as_those_they_are_like(tmp_path: Path) -> None:
    lengths = [5, 20, 20, 1, 12, 28, 9, 16]
    _, pool = built(tmp_path, lengths)
    got = [len(row.completion.split()) for row in pool.sft]
    assert len(got) == len(lengths)
    assert all(abs(one - wanted) <= 4 for one, wanted in zip(got, lengths, strict=True)), (got, lengths)
    assert abs(sum(got) - sum(lengths)) <= 0.1 * sum(lengths)
    assert {row.origin for row in pool.sft} == {"plain"}
    assert load_pool(tmp_path).sft == pool.sft


def test_too_few_answers_that_end_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match=r"0 of .* plain answers .* ended by themselves, 8 are needed"):
        built(tmp_path, [3] * 8, reply=lambda request: answer(request, "so so", "truncated"))
