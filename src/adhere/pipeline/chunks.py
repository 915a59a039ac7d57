"""Choose which prompts are decoded together where an answer depends on its neighbours; only the suite decides.

Some engines give other greedy answers when other prompts share their batch (`local/…`: OpenVINO's products depend on
how many rows they have). Such an engine says in `chunk` how many prompts it takes at a time. The prompts are then asked
in chunks that follow the suite's order, one chunk at a time, each draw by itself. A chunk is always asked whole. After
an interruption, stored answers of a chunk are drawn again together with the missing ones. Prompts that `--limit` leaves
out are drawn together with those that it takes, and dropped. So an interrupted run equals one that was not, and a
smaller limit takes answers of a larger one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adhere.models.base import Model
from adhere.schema import Prompt
from adhere.store.run import Key
from adhere.suites.base import order_of_limits


class Chunks:
    """Divides the prompts of a suite into chunks.

    Args:
        prompts: All prompts of the suite, also those that are not asked.
        size: Number of prompts in a chunk.
    """

    def __init__(self, prompts: Sequence[Prompt], size: int) -> None:
        self._by_id = {prompt.id: prompt for prompt in prompts}
        order = order_of_limits(prompts)
        self._parts = [order[start : start + size] for start in range(0, len(order), size)]
        self._number = {prompt_id: number for number, part in enumerate(self._parts) for prompt_id in part}

    def number(self, prompt_id: str) -> int:
        """Return the number of the chunk that holds a prompt, from 0."""
        return self._number[prompt_id]

    def whole(self, keys: Iterable[Key]) -> tuple[dict[str, Prompt], list[Key]]:
        """Return the prompts (by id) of every chunk that holds one of `keys`, and all keys of these chunks.

        A chunk's keys are those of all its prompts and turns, for each draw that `keys` has of the chunk.
        """
        draws: dict[int, set[int]] = {}
        for prompt_id, _, draw in keys:
            draws.setdefault(self._number[prompt_id], set()).add(draw)
        prompts: dict[str, Prompt] = {}
        chunk_keys: list[Key] = []
        for number in sorted(draws):
            for prompt_id in self._parts[number]:
                prompt = prompts[prompt_id] = self._by_id[prompt_id]
                chunk_keys += [
                    (prompt_id, turn, draw) for turn in range(len(prompt.turns)) for draw in sorted(draws[number])
                ]
        return prompts, chunk_keys


def chunks_of(model: Model, prompts: Sequence[Prompt], *, whole: Sequence[Prompt] = ()) -> Chunks | None:
    """Return the chunks in which a model is asked, or None if its answers do not depend on the batch.

    Args:
        model: The model that is asked; its `chunk`, if it has one, is the size.
        prompts: The prompts that may be asked.
        whole: All prompts of the suite. Where it lacks one of `prompts` (as when empty), the chunks are of `prompts`.
    """
    size = getattr(model, "chunk", None)
    if not isinstance(size, int):
        return None
    is_of_them = {prompt.id for prompt in prompts} <= {prompt.id for prompt in whole}
    return Chunks(whole if is_of_them else prompts, size)


def batch_invariant(settings: Mapping[str, object]) -> str:
    """Return whether answers depend on their batch, in the engine's own words; `not said` if the settings lack it."""
    return str(settings.get("batch_invariant", "not said"))
