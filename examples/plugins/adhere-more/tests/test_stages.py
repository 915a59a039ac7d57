"""Every stage through one suite on a tiny model, and what is particular to each."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adhere_more.methods import iopo as iopo_room  # noqa: E402
from adhere_more.methods.iopo import crossings  # noqa: E402
from tests.unit.train.test_methods import SMALL, pool, run, weights  # noqa: E402

from adhere.errors import UsageError  # noqa: E402
from adhere.schema import SftRow  # noqa: E402
from adhere.train.packed.rows import sft_rows  # noqa: E402
from adhere.train.stages import STAGES  # noqa: E402

UNTIL = {"epochs": 2, "batch_rows": 4, "every": 1, "max_new_tokens": 6}
OWN: dict[str, dict[str, Any]] = {"hir": SMALL["grpo"], "sft-until": UNTIL}
NAMES = ["hir", "iopo", "orpo", "sft-until", "simpo", "uft"]


def settings_of(name: str) -> Any:
    return STAGES.get(name).settings(**OWN.get(name, {}))


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_trains_the_same_bits_logs_and_counts(name: str, tiny_llama_dir: Path) -> None:
    found = []
    for _ in range(2):
        model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype="float32")
        before = weights(model)
        result = run(name, model, transformers.AutoTokenizer.from_pretrained(tiny_llama_dir), settings_of(name))
        found.append(weights(model))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    # `sft-until` goes back to its start: no score of a random model's answers rises
    assert any(not torch.equal(a, b) for a, b in zip(before, found[1], strict=True)) == (name != "sft-until")
    assert result.ledger.tokens_trained > 0
    assert any(row["loss"] is not None and math.isfinite(row["loss"]) for row in result.log)


@pytest.mark.parametrize("name", NAMES)
def test_no_rows_are_refused(name: str, tiny: tuple[Any, Any]) -> None:
    with pytest.raises(UsageError, match=r"no (rows|pairs|prompts|answers|two prompts)"):
        run(name, *tiny, settings_of(name), SimpleNamespace(sft=[], pairs=[], rl=[]))


def test_iopo_learns_the_answers_that_the_judge_has_crossed(
    tiny: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prompt may have further rows, whose answers nobody has put to the other prompt's rules."""
    model, tokenizer = tiny
    seen: list[Any] = []
    monkeypatch.setattr(iopo_room, "train_on_answers", lambda _, items, *__, **___: seen.extend(items))
    rows = pool(2).sft
    further = [msgspec.structs.replace(row, completion="Neither Nor") for row in rows]
    STAGES.get("iopo").run(model, tokenizer, [*rows, *further], settings_of("iopo"), seed=0)
    ((a, b, *_),) = (item.rows for item in seen)
    assert [a, b] == sft_rows(tokenizer, rows)


def test_crossings_are_rows_that_break_each_others_rules() -> None:
    found = crossings(pool().sft)
    assert len(found) == 4
    for one, other in found:
        assert one.instruction_id_list != other.instruction_id_list
    assert crossings([row for row in pool().sft if row.instruction_id_list == ("case:lower",)]) == []


def test_crossings_take_time_with_the_rows_and_not_with_their_square(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(iopo_room, "_fails", lambda text, row: bool(asked.append(row.prompt_id)))

    def compared(count: int) -> int:
        asked.clear()
        names = [f"{n // 30}x" for n in range(count)]  # thirty prompts share a word that no other has
        assert not crossings(
            [
                SftRow(f"p{n}", f"Write about {name} and {n}.", "a", "sampled", ("case:lower",), ({},))
                for n, name in enumerate(names)
            ]
        )
        return len(asked)

    few, many = compared(300), compared(1200)
    assert few > 300
    assert many < 5 * few, "four times the rows; their square would be sixteen"
