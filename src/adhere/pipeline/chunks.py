"""Choose which prompts are decoded together, where an answer depends on its neighbours: fixed by the suite alone.

An engine whose greedy answers change with what shares their batch (`local/…`: OpenVINO's products depend on how many
rows they have) says how many prompts it takes at a time, `chunk`. They are then asked in chunks that follow the suite's
own order, one chunk at a time, each draw by itself. A chunk is always asked whole: after an interruption answers that
are stored are drawn again beside those that are missing, and prompts that `--limit` leaves out are drawn beside those
that it takes, and dropped. So an interrupted run equals one that was not, and a smaller limit takes answers of a larger
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adhere.models.base import Model
from adhere.schema import Prompt
from adhere.store.run import Key
from adhere.suites.base import order_of_limits


class Chunks:
    """The chunks of a suite.

    Args:
        prompts: All that the suite has, also those that are not asked.
        size: Prompts of a chunk.
    """

    def __init__(self, prompts: Sequence[Prompt], size: int) -> None:
        self._by_id = {prompt.id: prompt for prompt in prompts}
        order = order_of_limits(prompts)
        self._parts = [order[start : start + size] for start in range(0, len(order), size)]
        self._number = {prompt_id: number for number, part in enumerate(self._parts) for prompt_id in part}

    def number(self, prompt_id: str) -> int:
        """Return which chunk a prompt is in."""
        return self._number[prompt_id]

    def whole(self, keys: Iterable[Key]) -> tuple[dict[str, Prompt], list[Key]]:
        """Return the prompts of all chunks in which a key lies, by id, and every key of them, of the same draws."""
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
    """Return the chunks in which a model is asked; None for a model whose answers do not need any.

    Args:
        model: Who is asked.
        prompts: Those that may be asked.
        whole: All of their suite; empty: they are.
    """
    size = getattr(model, "chunk", None)
    if not isinstance(size, int):
        return None
    is_of_them = {prompt.id for prompt in prompts} <= {prompt.id for prompt in whole}
    return Chunks(whole if is_of_them else prompts, size)


def batch_invariant(settings: Mapping[str, object]) -> str:
    """Return what an engine says of whether its answers depend on their batch; `not said` for one that does not say."""
    return str(settings.get("batch_invariant", "not said"))
