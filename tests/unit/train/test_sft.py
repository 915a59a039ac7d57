"""SFT: the loss, its independence of the cuts, order, determinism."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import Message, PairRow, SftRow  # noqa: E402
from adhere.train.methods.sft import (  # noqa: E402
    Mix,
    MoreSftSettings,
    SftSettings,
    batches,
    leave_out_long,
    planned_steps,
    sft,
    token_rows,
)
from adhere.train.packed.pack import TokenRow  # noqa: E402
from adhere.train.packed.rows import chosen_rows, sft_rows  # noqa: E402

TEXTS = ["the sea is wide", "no commas here", "the sea is deep and cold", "foxes jump", "lazy dogs sleep all day long"]


def rows(count: int = 10) -> list[SftRow]:
    return [
        SftRow(f"p{i}", f"Write about thing {i % 4}.", TEXTS[i % len(TEXTS)], "sampled", (), ()) for i in range(count)
    ]


def weights(model: Any) -> dict[str, Any]:
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


def train(load: Any, settings: SftSettings, *, seed: int = 0) -> tuple[dict[str, Any], Any]:
    model, tokenizer = load()
    result = sft(model, tokenizer, rows(), settings, seed=seed)
    return weights(model), result


@pytest.fixture
def load(tiny_qwen_dir: Any) -> Any:
    transformers = pytest.importorskip("transformers")

    def loaded() -> tuple[Any, Any]:
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_qwen_dir, dtype=torch.float32)
        return model, transformers.AutoTokenizer.from_pretrained(tiny_qwen_dir)

    return loaded


def test_the_first_loss_is_the_mean_over_completion_tokens_of_the_batch(load: Any) -> None:
    model, tokenizer = load()
    data = sft_rows(tokenizer, rows())
    total, count = 0.0, 0
    with torch.no_grad():
        for row in data:
            ids = torch.tensor([row.prompt + row.completion])
            logits = model(input_ids=ids, use_cache=False).logits[0, len(row.prompt) - 1 : -1]
            total -= float(logits.log_softmax(-1)[range(len(row.completion)), list(row.completion)].sum())
            count += len(row.completion)
    result = sft(model, tokenizer, rows(), SftSettings(batch_rows=10, epochs=1), seed=0)
    assert len(result.log) == 1
    assert result.log[0]["loss"] == pytest.approx(total / count, rel=1e-5)
    assert result.ledger.tokens_trained == count


def test_completions_end_the_turn_and_prompts_open_the_answer(load: Any) -> None:
    _, tokenizer = load()
    row = sft_rows(tokenizer, rows(1))[0]
    assert row.completion[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(row.completion[:-1]) == TEXTS[0]
    assert tokenizer.decode(row.prompt).endswith("Write about thing 0.<|im_end|>\n<|im_start|>assistant\n")


def test_loss_falls(load: Any) -> None:
    _, result = train(load, SftSettings(learning_rate=3e-3, epochs=6, batch_rows=5))
    assert result.log[-1]["loss"] < 0.7 * result.log[0]["loss"]
    assert [row["step"] for row in result.log] == list(range(1, 13))


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(load: Any) -> None:
    settings = SftSettings(learning_rate=1e-3, batch_rows=3)
    first, again, other = (train(load, settings, seed=seed)[0] for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_weights_do_not_depend_on_where_micro_batches_are_cut(load: Any) -> None:
    whole, small = (
        train(load, SftSettings(learning_rate=1e-4, batch_rows=5, tree_tokens=size))[0] for size in (10_000, 60)
    )
    for name, value in whole.items():
        torch.testing.assert_close(small[name], value, atol=2e-5, rtol=0, msg=name)


def test_the_ledger_counts(load: Any) -> None:
    _, tokenizer = load()
    data = sft_rows(tokenizer, rows())
    _, result = train(load, SftSettings(epochs=2, batch_rows=4))
    ledger = result.ledger
    assert ledger.steps == len(result.log) == planned_steps(10, SftSettings(epochs=2, batch_rows=4)) == 6
    assert ledger.prompts == 20
    assert ledger.tokens_trained == 2 * sum(len(row.completion) for row in data)
    flat = 2 * sum(len(row.prompt) + len(row.completion) for row in data)
    assert ledger.tokens_trained < ledger.tokens_processed < flat
    assert ledger.peak_memory_bytes > 50_000_000
    assert ledger.seconds > 0


def test_each_pass_sees_every_row_once_in_its_own_order() -> None:
    data = [TokenRow((1, 2), (place,)) for place in range(10)]
    made = batches(data, SftSettings(epochs=2, batch_rows=4), seed=0)
    assert [len(batch) for batch in made] == [4, 4, 2, 4, 4, 2]
    first, second = ([row for batch in made[part] for row in batch] for part in (slice(0, 3), slice(3, 6)))
    assert sorted(first) == sorted(second) == data
    assert first != second


def test_more_sft_passes_over_the_data_until_its_compute_is_spent(load: Any) -> None:
    budget = 2000
    _, result = train(load, MoreSftSettings(equivalent_tokens=budget, batch_rows=4))
    largest = max(row["mean_tokens"] for row in result.log) * 4 + 4 * 60
    assert budget <= result.ledger.equivalent_tokens < budget + largest
    assert result.ledger.prompts > 10


def test_no_rows_and_empty_completions_are_refused(load: Any) -> None:
    model, tokenizer = load()
    with pytest.raises(UsageError, match="no rows"):
        sft(model, tokenizer, [], SftSettings(), seed=0)
    empty = SftRow("p9", "Write.", "  ", "sampled", (), ())
    with pytest.raises(UsageError, match="completion for prompt 'p9' is empty"):
        sft(model, tokenizer, [empty], SftSettings(), seed=0)


def test_chosen_rows_are_the_chosen_half() -> None:
    pair = PairRow("p", "Write.", "good", "bad", "repaired", ("length:words",), ({"at_most": 3},))
    assert chosen_rows([pair]) == [SftRow("p", "Write.", "good", "repaired", ("length:words",), ({"at_most": 3},))]


def test_two_stages_short_and_then_short_with_long(load: Any) -> None:
    """Section 4.4 of the Qwen2.5 report: first short rows alone, then both; long ones are left out whole, not cut."""
    model, tokenizer = load()
    long = SftRow("long", "Write about all things.", " ".join(TEXTS * 2), "sampled", (), ())
    data = [*rows(), long]
    lengths = [len(row.prompt) + len(row.completion) for row in sft_rows(tokenizer, data)]
    first = SftSettings(epochs=1, batch_rows=4, longest=max(lengths[:-1]))
    assert leave_out_long(token_rows(tokenizer, data, first), first) == sft_rows(tokenizer, rows())
    log = sft(model, tokenizer, data, first, seed=0).log
    assert [row.get("rows_left_out") for row in log] == [1, None, None]
    second = SftSettings(epochs=1, batch_rows=4, longest=max(lengths), mix=Mix(above=max(lengths[:-1]), share=0.25))
    log = sft(model, tokenizer, data, second, seed=0).log
    assert [row.get("rows_left_out") for row in log] == [0], "one long and three short rows: a step of four"
    said = (Message("user", "a"), Message("assistant", "b"), Message("user", "Write about all things."))
    talk = SftRow("talk", "-", long.completion, "sampled", (), (), turns=said)
    log = sft(model, tokenizer, [talk], SftSettings(epochs=1, longest=max(lengths[:-1]), answers="all"), seed=0).log
    assert log[0]["rows_left_out"] == 1, "of its two answers the long one"
    with pytest.raises(UsageError, match=r"all 11 rows have more than longest = 3 tokens \(the shortest has \d+\)"):
        sft(model, tokenizer, data, SftSettings(longest=3), seed=0)
    with pytest.raises(UsageError, match="finds 0 long and 11 short rows"):
        sft(model, tokenizer, data, SftSettings(mix=Mix(above=max(lengths), share=0.5)), seed=0)


@pytest.mark.parametrize(("share", "long", "short"), [(0.5, 4, 4), (0.25, 3, 10), (0.8, 4, 1)])
def test_a_mix_keeps_its_share_and_draws_the_others_anew_each_pass(share: float, long: int, short: int) -> None:
    data = [TokenRow((1,), (place,) * (9 if place < 4 else 1)) for place in range(14)]
    settings = SftSettings(epochs=8, batch_rows=100, mix=Mix(above=5, share=share))
    made = batches(data, settings, seed=0)
    assert [sum(len(row.completion) == 9 for row in batch) for batch in made] == [long] * 8
    assert [len(batch) for batch in made] == [long + short] * 8
    assert all(len(set(batch)) == len(batch) for batch in made)
    assert len({frozenset(batch) for batch in made}) > 1, "each pass draws its own"
    assert made == batches(data, settings, seed=0)


def test_response_tuning_learns_answers_to_an_empty_turn(load: Any) -> None:
    model, tokenizer = load()
    plain, bare = (token_rows(tokenizer, rows(), SftSettings(prompt=prompt)) for prompt in ("given", "empty"))
    assert [row.completion for row in bare] == [row.completion for row in plain]
    assert len({row.prompt for row in bare}) == 1
    assert "Write about" not in tokenizer.decode(bare[0].prompt)
    assert "assistant" in tokenizer.decode(bare[0].prompt)
    first = sft(model, tokenizer, rows(), SftSettings(epochs=1, batch_rows=10, prompt="empty"), seed=0).log[0]["loss"]
    assert first != sft(*load(), rows(), SftSettings(epochs=1, batch_rows=10), seed=0).log[0]["loss"]
