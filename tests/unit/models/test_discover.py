"""What an endpoint's list says, and which of it is wanted."""

import pytest

from adhere.errors import UsageError
from adhere.models.http.cost import most_cost_usd, tokens_of
from adhere.models.http.discover import parse_models, select
from adhere.models.http.wire import Prices

ROWS = [
    {"id": "qwen/small", "canonical_slug": "qwen/small-2026-01", "context_length": 32768,
     "pricing": {"prompt": "0.0000001", "completion": "0.0000002"},
     "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]}},
    {"id": "qwen/large", "context_length": 8192, "pricing": {"prompt": "0.00001", "completion": "0.00003",
        "request": "0.01"}},
    {"id": "art/painter", "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]}},
    {"id": "auto/router", "pricing": {"prompt": "-1", "completion": "-1"}, "max_model_len": 4096},
    {"id": "odd", "pricing": {"prompt": "free", "completion": None}, "context_length": "many", "architecture": 3},
    {"id": "odd", "pricing": None},
]  # fmt: skip


def test_rows_are_read_and_what_is_odd_is_not_said():
    models = {model.id: model for model in parse_models(ROWS)}
    assert list(models) == ["art/painter", "auto/router", "odd", "qwen/large", "qwen/small"]
    assert models["qwen/small"].canonical == "qwen/small-2026-01"
    assert models["qwen/small"].prices == Prices(1e-7, 2e-7, 0.0)
    assert models["qwen/large"].prices == Prices(1e-5, 3e-5, 0.01)
    assert models["auto/router"].prices is None
    assert models["auto/router"].context == 4096
    assert models["odd"].prices is None
    assert models["odd"].context is None
    assert models["art/painter"].outputs == ("image",)


def test_what_is_not_wanted_has_a_reason():
    models = parse_models(ROWS)
    kept, left = select(models, globs=["qwen/*", "!*large"])
    assert [model.id for model in kept] == ["qwen/small"]
    assert left["qwen/large"] == "left out by name"
    assert left["odd"] == "not asked for"
    kept, left = select(models, max_price=1.0)
    assert [model.id for model in kept] == ["qwen/small"]
    assert left["qwen/large"] == "$30 a million tokens, wanted at most $1"
    assert left["auto/router"] == "its price is not said"
    kept, left = select(models, min_context=16_000, modality="text")
    assert [model.id for model in kept] == ["odd", "qwen/small"]
    assert left["art/painter"] == "puts out image, wanted text"
    assert left["qwen/large"] == "reads 8192 tokens, wanted at least 16000"
    assert len(select(models)[0]) == 5


def test_a_glob_that_matches_nothing_is_a_mistake():
    with pytest.raises(UsageError, match=r"No model matches 'qwen/smal'. Did you mean 'qwen/small'\? 5 are listed"):
        select(parse_models(ROWS), globs=["qwen/smal"])


def test_costs_are_estimated_from_above():
    assert tokens_of("word " * 100) >= 100
    assert most_cost_usd(Prices(1e-6, 2e-6, 0.5), "word " * 100, 1000) == pytest.approx(0.5 + 174e-6 + 2e-3)
    assert most_cost_usd(None, "word", 1000) == 0.0
