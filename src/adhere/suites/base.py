"""Define the Suite: a named, pinned set of Prompts and how its results are sliced."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from adhere.errors import UsageError
from adhere.schema import CutAnswers, Prompt, Record, Sampling, content_hash_of_list


class Suite(Record, frozen=True):
    """Holds a set of Prompts with its identity.

    Args:
        name: As given on the command line: `core`, `ifeval:PATH`.
        version: Goes up when the same name and seed give other prompts.
        prompts: In a fixed order, ids unique.
        slices: Values of `prompt.tags["slice"]` that results are reported by, in order.
        cut_answers: How an answer that hit the token limit is judged: `fail` (an unfinished answer is no answer) or
            `judge` (its text is judged as it stands, as the published harnesses do).
        settings: What the suite was generated from, e.g. the seed.
        citation: The citation of its paper.
        whole: All prompts of a suite that was cut to a limit, so that batches do not depend on the limit; empty: not
            cut.
        sampling: How answers are drawn by default: token limit, temperature, top-p. A published
            suite has its published setting. `sha256` does not cover the sampling, as a Run's spec has its own.
    """

    name: str
    version: str
    prompts: tuple[Prompt, ...]
    slices: tuple[str, ...] = ()
    cut_answers: CutAnswers = "judge"
    settings: dict[str, int | str] = {}
    citation: str = ""
    sampling: Sampling = Sampling(max_new_tokens=1024)
    whole: tuple[Prompt, ...] = ()

    def sampled(
        self,
        *,
        max_new_tokens: int | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        seed: int = 0,
    ) -> Sampling:
        """Return the suite's own sampling with the given changes; None keeps the suite's value."""
        own = self.sampling
        return Sampling(
            max_new_tokens=own.max_new_tokens if max_new_tokens is None else max_new_tokens,
            temperature=own.temperature if temperature is None else temperature,
            top_p=own.top_p if top_p is None else top_p,
            seed=seed,
        )

    def cut(self, limit: int | None) -> Suite:
        """Return the suite with at most `limit` prompts, an even share of each slice (`first_of_slices`)."""
        if limit is None:
            return self
        prompts = first_of_slices(self.prompts, limit)
        return msgspec.structs.replace(self, prompts=prompts, whole=self.whole or self.prompts)

    def insist_on_no_episodes(self, instead: str) -> None:
        """Refuse a suite with episodes in worlds, for callers that ask prompts turn by turn.

        There an episode would end after its first answer.

        Args:
            instead: What to use instead, for the message.

        Raises:
            UsageError: A prompt is an episode.
        """
        episode_id = next((prompt.id for prompt in self.prompts if "world" in prompt.tags), None)
        if episode_id is not None:
            raise UsageError(
                f"{self.name}: {episode_id!r} is an episode in a world, which cannot be played here: {instead}"
            )

    @property
    def sha256(self) -> str:
        """The hash of the suite's name without arguments, version, `cut_answers` and prompts."""
        return content_hash_of_list([self.name.partition(":")[0], self.version, self.cut_answers], self.prompts)


def first_of_slices(prompts: Sequence[Prompt], limit: int | None) -> tuple[Prompt, ...]:
    """Return at most `limit` prompts (None: all), an even share of each slice, in the suite's order.

    A larger limit takes all that a smaller one takes. If programs judge some prompts of a slice and a model the others,
    the two sorts are taken in turn.

    Raises:
        UsageError: `limit` is below 1.
    """
    if limit is None:
        return tuple(prompts)
    if limit < 1:
        raise UsageError(f"limit={limit} must be at least 1")
    ids = set(order_of_limits(prompts)[:limit])
    return tuple(prompt for prompt in prompts if prompt.id in ids)


def order_of_limits(prompts: Sequence[Prompt]) -> list[str]:
    """Return the ids of prompts in the order in which a growing limit takes them."""
    from adhere.constraints.published.judged.table import JUDGED  # published kinds load with it

    by_slice: dict[str, tuple[list[str], list[str]]] = {}
    for prompt in prompts:
        by_program, by_judge = by_slice.setdefault(prompt.tags.get("slice", ""), ([], []))
        needs_judge = any(ref.id == JUDGED for turn in prompt.turns for ref in turn.constraints)
        (by_judge if needs_judge else by_program).append(prompt.id)
    in_turn = [_in_turn(*(parts if at % 2 == 0 else parts[::-1])) for at, parts in enumerate(by_slice.values())]
    return [ids[rank] for rank in range(max(map(len, in_turn), default=0)) for ids in in_turn if rank < len(ids)]


def _in_turn(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return one entry of each list in turn, then the rest of the longer one."""
    return [prompt_id for pair in zip_longest(first, second) for prompt_id in pair if prompt_id is not None]
