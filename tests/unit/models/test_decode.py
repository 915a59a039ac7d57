"""The decoder says what `generate` says, whatever stands beside a row in the batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from adhere.errors import Divergence, UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere.models.local.decoder.decode import DecodedAnswer, Decoder, DecodeRow  # noqa: E402
from adhere.models.local.decoder.forward import Forward  # noqa: E402
from adhere.models.local.decoder.weights import places_of  # noqa: E402
from adhere.models.local.quiet import quiet  # noqa: E402
from adhere.models.local.transformers import load_weights  # noqa: E402

LIMIT = 20
KINDS = ("llama", "qwen2", "qwen3", "mistral", "mistral, sliding", "gemma3")
WINDOW = 14  # tokens; prompts and answers are longer


def _shaped(kind: str, tiny_llama_dir: Path, tiny_qwen_dir: Path) -> Any:
    """A tiny random model of each supported architecture."""
    if kind == "llama":
        return load_weights(tiny_llama_dir)[0]
    if kind == "qwen2":
        return load_weights(tiny_qwen_dir)[0]
    shape = {
        "vocab_size": 300,
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 16,  # not hidden / heads: Qwen3 and Mistral set it apart
        "max_position_embeddings": 256,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "initializer_range": 0.2,
    }
    with torch.random.fork_rng():
        torch.manual_seed(2)
        if kind == "qwen3":
            model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**shape))
            for layer in model.model.layers:
                torch.nn.init.uniform_(layer.self_attn.q_norm.weight, 0.5, 1.5)
                torch.nn.init.uniform_(layer.self_attn.k_norm.weight, 0.5, 1.5)
        elif kind == "gemma3":
            kinds = ["sliding_attention", "full_attention"]
            config = transformers.Gemma3TextConfig(
                **shape, sliding_window=WINDOW, layer_types=kinds, query_pre_attn_scalar=20, tie_word_embeddings=False
            )
            model = transformers.Gemma3ForCausalLM(config)
            for name, weight in model.named_parameters():
                if "norm" in name:
                    torch.nn.init.uniform_(weight, -0.5, 0.5)
        else:
            window = WINDOW if "sliding" in kind else None
            model = transformers.MistralForCausalLM(transformers.MistralConfig(**shape, sliding_window=window))
    return model.eval()


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Threads only wait for each other on models this small, for milliseconds an operation where cores are shared."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tiny_llama_dir: Path, tiny_qwen_dir: Path) -> Any:
    return _shaped(request.param, tiny_llama_dir, tiny_qwen_dir)


@pytest.fixture(scope="module")
def llama(tiny_llama_dir: Path) -> Any:
    return load_weights(tiny_llama_dir)[0]


def _prompts(count: int, *, shared: int = 5) -> list[tuple[int, ...]]:
    """Prompts of 6 to 30 tokens with a common beginning."""
    random = torch.Generator().manual_seed(3)
    beginning = torch.randint(3, 290, (shared,), generator=random).tolist()
    lengths = torch.randint(1, 26, (count,), generator=random).tolist()
    return [(*beginning, *torch.randint(3, 290, (n,), generator=random).tolist()) for n in lengths]


def _generate(model: Any, ids: tuple[int, ...], end_ids: list[int], limit: int = LIMIT) -> DecodedAnswer:
    """What transformers says to one prompt alone, greedily."""
    with quiet(), torch.no_grad():
        out = model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=limit,
            do_sample=False,
            eos_token_id=end_ids,
            pad_token_id=0,
        )
    new = out[0, len(ids) :].tolist()
    stopped = new[-1] in end_ids
    return DecodedAnswer(tuple(new[:-1] if stopped else new), stopped, new[-1] if stopped else None)


def _end_ids(model: Any, prompts: list[tuple[int, ...]]) -> list[int]:
    """Ends that these random models really reach at different times: tokens that occur in some of their answers."""
    said = Counter(token for ids in prompts[:6] for token in _generate(model, ids, [2]).ids[3:])
    return [token for token, _ in said.most_common(3)]


class Greedy(NamedTuple):
    prompts: list[tuple[int, ...]]
    end_ids: list[int]
    wanted: list[DecodedAnswer]


@pytest.fixture(scope="module")
def greedy(model: Any) -> Greedy:
    """12 prompts and what transformers says to each."""
    prompts = _prompts(12)
    end_ids = _end_ids(model, prompts)
    return Greedy(prompts, end_ids, [_generate(model, ids, end_ids) for ids in prompts])


@pytest.mark.parametrize("rows", [1, 3, 7, 64])
def test_greedy_is_what_generate_says_at_every_width(model: Any, greedy: Greedy, rows: int) -> None:
    prompts, end_ids, wanted = greedy
    assert {one.stopped for one in wanted} == {True, False}, "the test needs both kinds of end"
    assert len({len(one.ids) for one in wanted}) > 3, "the test needs rows that end at different steps"
    got = Decoder(model, end_ids=end_ids, rows=rows).decode(
        [DecodeRow(ids, 0) for ids in prompts], max_new_tokens=LIMIT
    )
    assert got == wanted


@pytest.mark.parametrize("rows", [3, 64])
def test_steps_of_one_shape_say_the_same(model: Any, greedy: Greedy, rows: int) -> None:
    """What a CUDA GPU records as graphs, here run as it is: padded rows and a padded reach change nothing."""
    prompts, end_ids, wanted = greedy
    decoder = Decoder(model, end_ids=end_ids, rows=rows, static=True)
    for _ in range(2):  # the second time in the memory of the first
        assert decoder.decode([DecodeRow(ids, 0) for ids in prompts], max_new_tokens=LIMIT) == wanted
    sampled = {
        static: Decoder(model, end_ids=end_ids, rows=rows, static=static).decode(
            [DecodeRow(ids, seed) for seed, ids in enumerate(prompts)], max_new_tokens=LIMIT, temperature=1.0
        )
        for static in (True, False)
    }
    assert sampled[True] == sampled[False]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_changed_weights_are_seen_in_memory_that_does_not_move(tiny_llama_dir: Path, precision: Any) -> None:
    model = load_weights(tiny_llama_dir)[0]
    rows = [DecodeRow(ids, 0) for ids in _prompts(9) if len(ids) > WINDOW]
    decoder = Decoder(model, end_ids=[2], rows=4, precision=precision, static=True)
    before = decoder.decode(rows, max_new_tokens=8)
    head = decoder._weights.head.weight.data_ptr()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(-1.3)
    decoder.refresh()
    assert decoder._weights.head.weight.data_ptr() == head, "a recorded graph reads the old place"
    after = decoder.decode(rows, max_new_tokens=8)
    assert after != before
    assert after == Decoder(model, end_ids=[2], rows=4, precision=precision, static=True).decode(rows, max_new_tokens=8)


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_sampled_rows_depend_on_prompt_and_seed_only(model: Any, top_p: float) -> None:
    rows = [DecodeRow(ids, seed) for ids in _prompts(4) for seed in range(4)]
    settings: dict[str, Any] = {"max_new_tokens": LIMIT, "temperature": 1.0, "top_p": top_p}
    wide = Decoder(model, end_ids=[2], rows=64).decode(rows, **settings)
    narrow = Decoder(model, end_ids=[2], rows=7).decode(rows[::-1], **settings)[::-1]
    alone = [Decoder(model, end_ids=[2], rows=1).decode([row], **settings)[0] for row in rows[:5]]
    assert wide == narrow
    assert wide[:5] == alone
    assert len({one.ids for one in wide[:4]}) == 4, "four seeds, four answers"


def test_log_probs_are_those_that_the_model_gives_to_what_was_drawn(model: Any) -> None:
    prompts = _prompts(6)
    rows = [DecodeRow(ids, seed) for ids in prompts for seed in range(3)]
    out = Decoder(model, end_ids=[2, 7, 9], rows=5).decode(rows, max_new_tokens=LIMIT, temperature=0.8, log_probs=True)
    assert {one.stopped for one in out} == {True, False}, "the test needs both kinds of end"
    for row, one in zip(rows, out, strict=True):
        assert one.drawn[-1] in {2, 7, 9} or not one.stopped
        with torch.no_grad():
            logits = model(torch.tensor([row.ids + one.drawn])).logits[0, len(row.ids) - 1 : -1]
        given = (logits / 0.8).log_softmax(-1).gather(1, torch.tensor(one.drawn)[:, None])[:, 0]
        torch.testing.assert_close(torch.tensor(one.log_probs), given, atol=2e-5, rtol=1e-5)
    with pytest.raises(UsageError, match="log_probs need a temperature above 0"):
        Decoder(model, end_ids=[2]).decode(rows, max_new_tokens=2, log_probs=True)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_both_layouts_compute_the_same_products(model: Any, precision: Any) -> None:
    rows = [DecodeRow(ids, seed) for ids in _prompts(4) for seed in range(3)]
    found = [
        Decoder(model, end_ids=[2], rows=7, precision=precision, layout=layout).decode(
            rows, max_new_tokens=3, temperature=1.0, log_probs=True
        )
        for layout in ("columns", "rows")
    ]
    alike = [(a, b) for a, b in zip(*found, strict=True) if a.drawn == b.drawn]
    assert len(alike) >= (12 if precision == "fp32" else 9)
    for a, b in alike:
        assert a.log_probs == pytest.approx(b.log_probs, abs=1e-5 if precision == "fp32" else 0.1)


def test_first_token_follows_the_model_s_distribution(llama: Any) -> None:
    ids = _prompts(1)[0]
    with torch.no_grad():
        chances = (llama(torch.tensor([ids])).logits[0, -1] / 1.5).softmax(-1)
    draws = 4000
    decoder = Decoder(llama, end_ids=[2], rows=500)
    out = decoder.decode([DecodeRow(ids, seed) for seed in range(draws)], max_new_tokens=1, temperature=1.5)
    seen = Counter(one.ids[0] if one.ids else 2 for one in out)
    likely = chances.topk(8)
    for chance, token in zip(likely.values.tolist(), likely.indices.tolist(), strict=True):
        deviation = (chance * (1 - chance) / draws) ** 0.5
        assert abs(seen[token] / draws - chance) < 4 * deviation


def test_results_come_in_order_and_are_announced_once(llama: Any) -> None:
    rows = [DecodeRow(ids, 0) for ids in _prompts(9)]
    told: list[tuple[int, DecodedAnswer]] = []
    got = Decoder(llama, end_ids=[2], rows=4).decode(
        rows, max_new_tokens=5, on_done=lambda index, one: told.append((index, one))
    )
    assert sorted(told) == list(enumerate(got))
    assert Decoder(llama, end_ids=[2]).decode([], max_new_tokens=5) == []


def test_prompts_of_very_different_lengths(llama: Any) -> None:
    """They are decoded in parts, so that short ones do not pay for the cache of long ones."""
    prompts = [*_prompts(5), tuple(range(3, 250)), (7,)]
    wanted = [_generate(llama, ids, [2]) for ids in prompts]
    assert (
        Decoder(llama, end_ids=[2], rows=4).decode([DecodeRow(i, 0) for i in prompts], max_new_tokens=LIMIT) == wanted
    )


def test_a_small_cache_narrows_the_batch_and_changes_nothing(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [DecodeRow(ids, 0) for ids in _prompts(12)]
    wide = Decoder(llama, end_ids=[2]).decode(rows, max_new_tokens=8)
    assert Decoder(llama, end_ids=[2], cache_bytes=40_000).decode(rows, max_new_tokens=8) == wide
    assert Decoder(llama, end_ids=[2], cache_bytes=1).decode(rows, max_new_tokens=8) == wide
    monkeypatch.setattr("adhere.models.local.decoder.decode.available_bytes", lambda device: 80_000)
    by_memory = Decoder(llama, end_ids=[2])
    assert by_memory.decode(rows, max_new_tokens=8) == wide
    assert by_memory.cache_bytes == 40_000, "half of what is free"


def test_a_decoder_is_used_again_and_sees_changed_weights(tiny_llama_dir: Path) -> None:
    model = load_weights(tiny_llama_dir)[0]
    rows = [DecodeRow(ids, 0) for ids in _prompts(6)]
    decoder = Decoder(model, end_ids=[2], rows=4)
    before = decoder.decode(rows, max_new_tokens=8)
    assert decoder.decode(rows, max_new_tokens=8) == before
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=torch.Generator().manual_seed(4)) * 0.3)
    decoder.refresh()
    after = decoder.decode(rows, max_new_tokens=8)
    assert after != before
    assert after == [_generate(model, row.ids, [2], 8) for row in rows]


def test_fp32_weights_are_views_and_bf16_weights_follow_refresh(tiny_llama_dir: Path) -> None:
    model = load_weights(tiny_llama_dir)[0]
    exact, rounded = Decoder(model, end_ids=[2]), Decoder(model, end_ids=[2], precision="bf16")
    source = model.model.layers[0].self_attn.q_proj.weight
    assert exact._weights.layers[0].qkv[0].weight.data_ptr() == source.data_ptr()
    with torch.no_grad():
        source.zero_()
    queries = rounded._weights.layers[0].qkv[0].weight[: len(source)]  # fused with keys and values
    assert queries.abs().sum() > 0
    rounded.refresh()
    assert queries.abs().sum() == 0
    keys = model.model.layers[0].self_attn.k_proj.weight
    assert torch.equal(rounded._weights.layers[0].qkv[0].weight[len(source) :][: len(keys)], keys.bfloat16())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_recorded_step_finds_refreshed_weights_where_they_lay(tiny_qwen_dir: Path, precision: Any) -> None:
    """A CUDA graph reads memory by its address: fused biases and rotary tables were made anew at every refresh."""
    model = load_weights(tiny_qwen_dir)[0]
    decoder = Decoder(model, end_ids=[2], precision=precision, static=True)
    decoder.decode([DecodeRow((5, 6, 7), 0)], max_new_tokens=4)
    graphs, places = decoder._forward._graphs, places_of(decoder._weights)
    graphs[64] = "recorded"
    with torch.no_grad():
        model.model.layers[0].self_attn.v_proj.bias.fill_(3.0)
    decoder.refresh()
    assert places_of(decoder._weights) == places
    assert graphs
    biases = torch.cat([projection.bias for projection in decoder._weights.layers[0].qkv])
    assert biases[-1] == 3.0
    model.model.norm.weight.data = model.model.norm.weight.data.clone()
    decoder.refresh()
    assert not graphs, "what lies elsewhere now is recorded again"


def test_bf16_computes_nearly_the_same_logits(llama: Any) -> None:
    ids = _prompts(1)[0]
    logits = []
    for precision in ("fp32", "bf16"):
        decoder = Decoder(llama, end_ids=[2], rows=1, precision=precision)
        forward = decoder._cache([DecodeRow(ids, 0)], 0, 4)
        with torch.inference_mode():
            logits.append(forward.prefill([ids], [0])[:, 0].clone())
    assert torch.nn.functional.cosine_similarity(logits[0], logits[1], dim=0) > 0.999
    assert not torch.equal(logits[0], logits[1])


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_nothing_is_drawn_from_numbers_that_are_not_finite(
    tiny_llama_dir: Path, broken: float, temperature: float
) -> None:
    model = load_weights(tiny_llama_dir)[0]
    decoder = Decoder(model, end_ids=[2])
    norm = model.model.norm.weight
    kept = norm.detach().clone()
    with torch.no_grad():
        norm[0] = broken
    rows = [DecodeRow((5, 6, 7), 0)]
    with pytest.raises(Divergence, match="not finite"):
        decoder.decode(rows, max_new_tokens=4, temperature=temperature)
    with torch.no_grad():
        norm.copy_(kept)
    assert decoder.decode(rows, max_new_tokens=4), "a mended model decodes again"


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        ([DecodeRow((), 0)], {}, "0 prompt tokens"),
        ([DecodeRow(tuple([5] * 510), 0)], {}, "510 prompt tokens; with 4 new tokens this model takes 1 to 508"),
        ([DecodeRow((5, 100_000), 0)], {}, "outside 0"),
        ([DecodeRow((5,), 0)], {"max_new_tokens": 0}, "max_new_tokens=0"),
        ([DecodeRow((5,), 0)], {"temperature": -1.0}, "temperature=-1.0"),
        ([DecodeRow((5,), 0)], {"temperature": float("nan")}, "temperature=nan"),
        ([DecodeRow((5,), 0)], {"top_p": 0.0}, "top_p=0.0"),
    ],
)
def test_refuses_what_cannot_be_decoded(
    llama: Any, rows: list[DecodeRow], settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Decoder(llama, end_ids=[2]).decode(rows, **{"max_new_tokens": 4, **settings})


def test_refuses_architectures_that_it_would_compute_wrongly() -> None:
    small = transformers.GPT2LMHeadModel(transformers.GPT2Config(n_embd=8, n_layer=1, n_head=1, vocab_size=10))
    with pytest.raises(UsageError, match=r"LlamaForCausalLM.*this model is a GPT2LMHeadModel"):
        Decoder(small, end_ids=[2])


def test_a_window_counts_where_it_slides(tiny_llama_dir: Path, tiny_qwen_dir: Path) -> None:
    """Beyond it the answers are others than with full attention, within it the same; the positions are the limit."""
    slides, full = (_shaped(kind, tiny_llama_dir, tiny_qwen_dir) for kind in ("mistral, sliding", "mistral"))
    short, long = (
        [DecodeRow(ids[: WINDOW - 8], 0) for ids in _prompts(4)],
        [DecodeRow(ids, 0) for ids in _prompts(9) if len(ids) > WINDOW],
    )
    ours, others = Decoder(slides, end_ids=[2]), Decoder(full, end_ids=[2])
    assert ours.longest_prompt(8) == others.longest_prompt(8) == 248
    assert ours.decode(short, max_new_tokens=8) == others.decode(short, max_new_tokens=8)
    assert ours.decode(long, max_new_tokens=8) != others.decode(long, max_new_tokens=8)


def test_what_gemma_may_not_have_is_refused(tiny_llama_dir: Path, tiny_qwen_dir: Path) -> None:
    model = _shaped("gemma3", tiny_llama_dir, tiny_qwen_dir)
    model.config.final_logit_softcapping = 30.0
    with pytest.raises(UsageError, match="does not know final_logit_softcapping"):
        Decoder(model, end_ids=[2])


def test_an_old_cache_is_gone_before_a_new_one_is_made(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both together took all memory that was free: on a GPU the short prompts after the long ones were lost."""
    made: list[Forward] = []

    def make(*args: Any, **settings: Any) -> Forward:
        assert decoder._forward is None
        made.append(Forward(*args, **settings))
        return made[-1]

    monkeypatch.setattr("adhere.models.local.decoder.decode.Forward", make)
    decoder = Decoder(llama, end_ids=[2], rows=4)
    prompts = [tuple(range(3, 250)), tuple(range(4, 250)), (7, 8), (8, 7)]
    decoder.decode([DecodeRow(ids, 0) for ids in prompts], max_new_tokens=4)
    assert [one.capacity for one in made] == [251, 6]
