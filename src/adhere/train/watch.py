"""Greedy answers to held-out prompts while a stage trains, judged as an evaluation judges them.

with watching(Watch(…)):                the stage inside is judged before its first step, every K steps and at the
    stage.run(…)                        end, and ends with the weights that did best

Used by recipes (`[watch]`); a stage that stops by such a score (`Stage.watches_itself`) evaluates itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from adhere.errors import UsageError
from adhere.models.chat import end_ids
from adhere.pipeline.reward import RewardKind
from adhere.rewards.rows import reward_of
from adhere.schema import ConstraintRef
from adhere.suites.base import Suite
from adhere.train.budget.ledger import Tally
from adhere.train.packed.rows import prompt_ids
from adhere.train.parallel import divide, share

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SCORE, PASSED = "watch_score", "watch_pass_rate"  # columns of the log
KINDS: tuple[RewardKind, RewardKind] = ("dense", "binary")


class HeldOutPrompt(NamedTuple):
    """Holds a held-out prompt: its tokens, and the constraints that its answer must satisfy."""

    prompt: tuple[int, ...]
    refs: tuple[ConstraintRef, ...]
    profile: str | None = None


class Watch(NamedTuple):
    """Evaluates a model in training.

    Attributes:
        tokenizer: The model's tokenizer.
        asked: The prompts.
        every: Optimizer steps between two evaluations.
        max_new_tokens: Limit of an answer; one that is cut fails.
    """

    tokenizer: PreTrainedTokenizerBase
    asked: Sequence[HeldOutPrompt]
    every: int
    max_new_tokens: int

    def look(self, model: PreTrainedModel, tally: Tally) -> tuple[float, float]:
        """Return the share of constraints kept, and the share of prompts whose answer keeps all.

        Prompts that could not be judged are left out.

        Raises:
            UsageError: The judge can decide no prompt.
        """
        scores = greedy_scores(
            model, self.tokenizer, self.asked, KINDS, max_new_tokens=self.max_new_tokens, tally=tally
        )
        dense, binary = ([row[at] for row in scores] for at in range(len(KINDS)))
        return _mean(dense), _mean(binary)


_current: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(watch: Watch | None) -> Iterator[None]:
    """Let `watch` evaluate the stage that runs inside; None: no evaluation."""
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)


def watcher() -> Watch | None:
    """Return the watch of the stage that is about to run; None without one."""
    return _current.get()


def asked_of(suite: Suite, tokenizer: PreTrainedTokenizerBase) -> list[HeldOutPrompt]:
    """Tokenize the prompts of a suite.

    Raises:
        UsageError: A prompt has several turns, has tools, or has no constraint that a program judges.
    """
    prompts = []
    for prompt in suite.prompts:
        if len(prompt.turns) != 1 or not prompt.constraints or prompt.tools:
            raise UsageError(
                f"watch.suite: {suite.name} has prompts of several turns, with tools, "
                f"or that no program judges ({prompt.id}), which cannot be watched while training. "
                "Name one such as `core`"
            )
        ids = prompt_ids(tokenizer, prompt.messages())
        prompts.append(HeldOutPrompt(ids, prompt.constraints, prompt.tags.get("profile")))
    return prompts


def greedy_scores(
    model: Any,
    tokenizer: Any,
    prompts: Sequence[HeldOutPrompt],
    kinds: Sequence[RewardKind],
    *,
    max_new_tokens: int,
    tally: Tally,
    rows: int = 64,
) -> list[list[float | None]]:
    """Answer every prompt greedily, in fp32 as in evaluation; return for each the rewards of its answer, by `kinds`.

    The processes share the drawing.

    Args:
        model: The model as it is now.
        tokenizer: The model's tokenizer.
        prompts: The prompts.
        kinds: The kinds of reward.
        max_new_tokens: Limit of an answer; one that is cut has reward 0.
        tally: Counts the answers.
        rows: Answers drawn at the same time.
    """
    from adhere.models.local.decoder.decode import Decoder, DecodeRow

    decoder = Decoder(model, end_ids=end_ids(model, tokenizer), rows=rows, precision="fp32", layout="columns")
    decoder.refresh()
    mine = [place for place in share(range(len(prompts))) if place is not None]
    decode_rows = [DecodeRow(prompts[place].prompt, 0) for place in mine]
    answer_by_place = dict(zip(mine, decoder.decode(decode_rows, max_new_tokens=max_new_tokens), strict=True))

    def judged(place: int) -> tuple[int, list[float | None]]:
        answer, prompt = answer_by_place[place], prompts[place]
        text = str(tokenizer.decode(list(answer.ids), skip_special_tokens=True))
        is_cut = not answer.stopped
        return len(answer.drawn), [
            reward_of(text, prompt.refs, kind=kind, mode="reference", profile=prompt.profile, is_cut=is_cut)
            for kind in kinds
        ]

    outcomes = divide(range(len(prompts)), judged, same=[prompt.prompt for prompt in prompts])
    tally.answers_generated += len(outcomes)
    tally.tokens_generated += sum(tokens for tokens, _ in outcomes)
    return [scores for _, scores in outcomes]


def _mean(scores: Sequence[float | None]) -> float:
    numbers = [score for score in scores if score is not None]
    if not numbers:
        raise UsageError(f"watch: the judge can decide none of the {len(scores)} answers. Watch another suite")
    return sum(numbers) / len(numbers)
