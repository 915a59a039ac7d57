"""Keep the episodes in worlds of a sweep: every model's stored steps, and the worlds that are open.

    steps/           every answer within an episode and what the world said to it, append-only

An ended episode is one answer in the journal. An episode that was begun goes on before another begins, so that a model
has no more worlds open than requests under way. It goes on from its last stored step even if a process was killed.
"""

from __future__ import annotations

from pathlib import Path

from adhere.models.base import Request
from adhere.pipeline.episodes import Play
from adhere.pipeline.respond import settle
from adhere.schema import Message, Prompt, Record, Response, Sampling
from adhere.store.run import EpisodeStep, in_order
from adhere.store.segments import Damage, SegmentWriter, read_segments

Which = tuple[str, int, str, int]
"""Name of an episode: (model, place of the suite, prompt, draw)."""
SEEN = 1_500
"""Characters that a world is assumed to say to an action, for the cost of an episode; rather too many."""


class StepRow(Record, frozen=True):
    """Holds one step of an episode: the model, the suite (its place in the spec), and the step."""

    model: str
    suite: int
    step: EpisodeStep


class Episodes:
    """Keeps the episodes of one sweep.

    Args:
        directory: Directory of the sweep.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "steps"
        self.writer: SegmentWriter[StepRow] = SegmentWriter(self.directory)
        self._stored: dict[Which, list[EpisodeStep]] = {}
        self._under_way: dict[Which, Play] = {}

    def read(self, damage: Damage) -> None:
        """Read the steps that earlier processes stored."""
        rows: dict[tuple[str, int], list[EpisodeStep]] = {}
        for row in read_segments(self.directory, StepRow, damage):
            rows.setdefault((row.model, row.suite), []).append(row.step)
        self._stored = {
            (model, place, *key): steps for (model, place), own in rows.items() for key, steps in in_order(own).items()
        }

    def ended(self, which: Which, prompt: Prompt) -> Response | None:
        """Return the whole episode if its stored steps end it, as when a process was killed at the end; else None."""
        steps = self._stored.get(which)
        if not steps:
            return None
        play = Play(prompt, which[3], steps)
        return play.response(play.ended) if play.ended else None

    def request(self, which: Which, prompt: Prompt, sampling: Sampling) -> Request:
        """Return the request for the next answer of an episode that is not over.

        Raises:
            IntegrityError: The world says something other than what is stored.
        """
        play = self._under_way.get(which)
        if play is None:
            play = self._under_way[which] = Play(prompt, which[3], self._stored.pop(which, ()))
        return play.request(sampling)

    def take(self, which: Which, answer: Response) -> tuple[StepRow | None, Response | None]:
        """Take the model's answer, and return the episode's new step and, if it ends here, the whole episode.

        The step is None if the call failed; the episode is None while it goes on.
        """
        play = self._under_way[which]
        over = play.go_on(settle(answer), None)
        step_row = None if answer.status == "error" else StepRow(which[0], which[1], play.steps[-1])
        if over is not None:
            del self._under_way[which]
            if over.status == "error" and play.steps:  # it goes on from here, should it be asked for again
                self._stored[which] = play.steps
        return step_row, over


def longest(prompt: Prompt, sampling: Sampling) -> list[Request]:
    """Return the requests of an episode whose every answer is as long as possible, for its highest cost.

    They are never sent.
    """
    play = Play(prompt, 0)
    first = play.request(sampling)
    step = (Message("assistant", "x" * 3 * sampling.max_new_tokens), Message("user", "x" * SEEN))
    return [first._replace(messages=(*first.messages, *step * number)) for number in range(play.setting.limits.steps)]
