"""What a Suite is: a named, pinned set of Prompts and how its results are sliced."""

from __future__ import annotations

from typing import Literal

from adhere.schema import Prompt, Record, content_hash


class Suite(Record, frozen=True):
    """A set of Prompts with its identity.

    Args:
        name: As given on the command line: `core`, `ifeval:PATH`.
        version: Raised when the same name and seed would give other prompts.
        prompts: In a fixed order, ids unique.
        slices: Values of `prompt.tags["slice"]` that results are reported by, in order.
        cut_answers: What an answer that hit the token limit counts as: `fail` (an unfinished answer is no answer) or
            `judge` (its text is judged as it stands, as the published harnesses do).
        settings: What it was generated from, e.g. the seed.
    """

    name: str
    version: str
    prompts: tuple[Prompt, ...]
    slices: tuple[str, ...] = ()
    cut_answers: Literal["fail", "judge"] = "judge"
    settings: dict[str, int | str] = {}
    citation: str = ""

    @property
    def sha256(self) -> str:
        """The hash of the prompts and of how they are judged."""
        return content_hash([self.name.partition(":")[0], self.version, self.cut_answers, list(self.prompts)])
