"""Prefix trees give the log-probs and gradients of each row computed alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

import numpy as np  # noqa: E402
from tests.unit.train.conftest import load  # noqa: E402

from adhere.errors import UsageError  # noqa: E402
from adhere.train.packed import attention, pack  # noqa: E402
from adhere.train.packed.attention import register  # noqa: E402
from adhere.train.packed.pack import TokenRow, cut, grow, log_probs, row_sums  # noqa: E402

SYSTEM = tuple(range(5, 27))


@pytest.fixture(params=["tiny_llama_dir", "tiny_qwen_dir"])
def model(request: pytest.FixtureRequest) -> Any:
    directory: Path = request.getfixturevalue(request.param)
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    return model.train(False)


def tokens(rng: random.Random, low: int, high: int) -> tuple[int, ...]:
    return tuple(rng.randrange(3, 300) for _ in range(rng.randint(low, high)))


def group(rng: random.Random, answers: int) -> list[TokenRow]:
    prompt = SYSTEM + tokens(rng, 5, 12)
    opening = tokens(rng, 1, 4)
    return [TokenRow(prompt, opening * (place % 2) + tokens(rng, 1, 15)) for place in range(answers)]


def sft_batch() -> list[TokenRow]:
    rng = random.Random(0)
    return [row for _ in range(6) for row in group(rng, 1)]


def pairs_batch() -> list[TokenRow]:
    rng = random.Random(1)
    return [row for _ in range(3) for row in group(rng, 2)]


def groups_batch() -> list[TokenRow]:
    rng = random.Random(2)
    return [row for _ in range(2) for row in group(rng, 8)]


def nested_batch() -> list[TokenRow]:
    """Rows that are prefixes of one another, a row twice, a completion that is another's prompt, no shared start."""
    prompt = (*SYSTEM, 40, 41)
    return [
        TokenRow(prompt, (50, 51, 52)),
        TokenRow(prompt, (50, 51)),
        TokenRow(prompt, (50, 51, 52)),
        TokenRow(prompt, (50,)),
        TokenRow((*prompt, 50, 51), (52, 53)),
        TokenRow(SYSTEM, (40, 41, 50, 99)),
        TokenRow((200,), (201, 202)),
    ]


def alone(model: Any, row: TokenRow) -> Any:
    """The plain forward over one row: log-probs of its completion tokens."""
    ids = torch.tensor([row.prompt + row.completion])
    logits = model(input_ids=ids, use_cache=False).logits[0, len(row.prompt) - 1 : -1]
    return logits.log_softmax(-1)[range(len(row.completion)), list(row.completion)]


def gradients(model: Any) -> dict[str, Any]:
    found = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return found


BATCHES = [sft_batch, pairs_batch, groups_batch, nested_batch]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_log_probs_equal_those_of_each_row_alone(model: Any, batch: Any, attention: str) -> None:
    rows = batch()
    model.set_attn_implementation(attention)
    with torch.no_grad():
        packed = log_probs(model, grow(rows))
        plain = torch.cat([alone(model, row) for row in rows])
    assert packed.shape == plain.shape
    torch.testing.assert_close(packed, plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("batch", BATCHES)
def test_gradients_equal_those_of_the_rows_alone_wherever_the_batch_is_cut(model: Any, batch: Any) -> None:
    rows = batch()
    weights = [0.5 + place for place in range(len(rows))]  # every row pulls differently, so a mix-up shows
    total = sum(weight * alone(model, row).sum() for weight, row in zip(weights, rows, strict=True)) / 100
    total.backward()
    plain = gradients(model)
    for size in (40, 100, 10_000):
        for part in cut([[row] for row in rows], tree_tokens=size):
            sums = row_sums(log_probs(model, part.tree), part.tree)
            (sums @ torch.tensor([weights[item] for item in part.items]) / 100).backward()
        packed = gradients(model)
        assert packed.keys() == plain.keys()
        for name, gradient in plain.items():
            scale = gradient.abs().max().item()
            torch.testing.assert_close(packed[name], gradient, atol=1e-5 * max(1.0, scale), rtol=1e-4, msg=name)


@pytest.mark.parametrize("kinds", [["sliding_attention"] * 2, ["sliding_attention", "full_attention"]])
def test_a_sliding_window_slides_over_rows_and_not_over_the_tree(kinds: list[str], monkeypatch: Any) -> None:
    """A row longer than the window, among others: as that row alone; where masks are too large, a clear error."""
    shape = {"vocab_size": 300, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "head_dim": 8}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "sliding_window": 8, "initializer_range": 0.2}
    with torch.random.fork_rng():
        torch.manual_seed(4)
        if "full_attention" in kinds:
            config = transformers.Gemma3TextConfig(**shape, **heads, layer_types=kinds, tie_word_embeddings=False)
            model = transformers.Gemma3ForCausalLM(config).eval()
        else:
            model = transformers.MistralForCausalLM(transformers.MistralConfig(**shape, **heads)).eval()
    model.set_attn_implementation("sdpa")
    rows = [*nested_batch(), TokenRow(tuple(range(20, 40)), (50, 51, 52))]
    assert max(len(row.prompt) for row in rows) > 8
    with torch.no_grad():
        packed = log_probs(model, grow(rows))
        torch.testing.assert_close(packed, torch.cat([alone(model, row) for row in rows]), atol=1e-5, rtol=1e-5)
        monkeypatch.setattr(model.config, "sliding_window", 100)
        everything = log_probs(model, grow(rows))
        assert not torch.allclose(packed, everything, atol=1e-3), "the window matters to these rows"
        monkeypatch.setattr(model.config, "sliding_window", 8)
        monkeypatch.setattr(pack, "LONG", 8)
        model.set_attn_implementation(register(low=False))
        with pytest.raises(UsageError, match=r"sliding window of 8.*tree_tokens"):
            log_probs(model, grow(rows))


def test_temperature_divides_the_logits(model: Any) -> None:
    row = sft_batch()[0]
    ids = torch.tensor([row.prompt + row.completion])
    with torch.no_grad():
        logits = model(input_ids=ids, use_cache=False).logits[0, len(row.prompt) - 1 : -1] / 0.7
        expected = logits.log_softmax(-1)[range(len(row.completion)), list(row.completion)]
        torch.testing.assert_close(log_probs(model, grow([row]), temperature=0.7), expected, atol=1e-5, rtol=1e-5)


def test_a_tree_computes_what_rows_share_once() -> None:
    rows = groups_batch()[:8]
    shared = len(rows[0].prompt)
    openings = len({row.completion for row in rows})
    tree = grow(rows)
    assert openings == 8
    assert shared < len(tree) < shared + sum(len(row.completion) for row in rows)
    assert grow([rows[0], rows[0]]).tokens == grow([rows[0]]).tokens


def test_every_node_sees_exactly_its_own_row() -> None:
    rows = nested_batch()
    tree = grow(rows)
    sees = tree.sees()
    for row, nodes in zip(rows, tree.completions, strict=True):
        seen = sees[nodes[-1]].nonzero()[0].tolist()
        assert tuple(tree.tokens[node] for node in seen) == row.prompt + row.completion
        assert [tree.depths[node] for node in seen] == list(range(len(seen)))


def test_cut_keeps_items_whole_and_loses_none() -> None:
    rows = pairs_batch()
    pairs = [rows[place : place + 2] for place in range(0, len(rows), 2)]
    parts = cut(pairs, tree_tokens=60)
    assert len(parts) > 1
    assert sorted(item for part in parts for item in part.items) == [0, 1, 2]
    for part in parts:
        assert part.tree.lengths == [len(row.completion) for item in part.items for row in pairs[item]]
        assert len(part.tree) <= 60 or len(part.items) == 1


def test_cut_puts_answers_to_one_prompt_side_by_side() -> None:
    rows = groups_batch()
    mixed = [row for pair in zip(rows[:8], rows[8:], strict=True) for row in pair]
    assert sum(len(part.tree) for part in cut([[row] for row in mixed], tree_tokens=100)) == sum(
        len(part.tree) for part in cut([[row] for row in rows], tree_tokens=100)
    )


@pytest.mark.parametrize("row", [TokenRow((), (1,)), TokenRow((1,), ())])
def test_a_row_without_anything_to_predict_is_refused(row: TokenRow) -> None:
    with pytest.raises(UsageError, match="at least one token"):
        grow([row])


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_long_tree_without_a_mask_has_the_same_gradients(
    tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch, precision: Any
) -> None:
    """Blocks of queries against the keys that they see; a tree that branches twice, in blocks of a few queries."""
    shared, more = tuple(range(5, 45)), tuple(range(50, 70))
    rows = [
        TokenRow(shared, (3, 4, 5)),
        TokenRow(shared, (9, *more)),
        TokenRow(shared, (9, *more[:7], 3, 4)),
        TokenRow((7, 8), (9, 10)),
    ]

    def computed() -> tuple[Any, list[Any]]:
        model, _ = load(tiny_llama_dir)
        model.set_attn_implementation(register(low=precision == "bf16"))
        found = log_probs(model, grow(rows), precision=precision)
        (found * torch.linspace(-1, 1, len(found))).sum().backward()
        return found.detach(), [p.grad for p in model.parameters() if p.grad is not None]

    dense = computed()
    monkeypatch.setattr(pack, "LONG", 10)
    monkeypatch.setattr(attention, "SCORES", 5000)
    monkeypatch.setattr(pack.Tree, "sees", None)  # no mask is made
    long = computed()
    tolerance = {"fp32": 1e-5, "bf16": 3e-2}[precision]
    assert torch.allclose(dense[0], long[0], atol=tolerance)
    assert len(dense[1]) > 10
    for one, other in zip(dense[1], long[1], strict=True):
        assert torch.allclose(one, other, atol=tolerance * max(1.0, float(one.abs().max())))


def test_runs_see_what_the_mask_lets_them_see() -> None:
    tree = grow(
        [
            TokenRow((1, 2, 3), (4, 5)),
            TokenRow((1, 2, 3), (6, 7)),
            TokenRow((1, 9), (2,)),
            TokenRow((1, 2, 3), (6, 8, 9)),
        ]
    )
    sees = np.zeros((len(tree), len(tree)), dtype=bool)
    for run in tree.runs():
        for node in range(run.start, run.end):
            for start, end in (*run.sees, (run.start, node + 1)):
                sees[node, start:end] = True
    assert (sees == tree.sees()).all()
