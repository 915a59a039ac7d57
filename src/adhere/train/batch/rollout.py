"""Scored answers of the current policy, from which the online stages learn.

All stages draw the same prompts in the same order with the same seed for each answer. Arms therefore differ only in
what they learn from the answers.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta

from adhere.errors import IntegrityError, UsageError
from adhere.pipeline.responding import Exchange, read, share_alike, style_leaks
from adhere.pipeline.responding.content import Request
from adhere.schema import ConstraintRef, RlRow, derive_seed
from adhere.train.budget.cost import Shape, Work, tree_tokens_of
from adhere.train.budget.ledger import LogRow, Tally
from adhere.train.packed.pack import TokenRow, grow, log_probs
from adhere.train.packed.rows import end_of_turn, prompt_ids
from adhere.train.parallel import divide, first_says, is_sharding, share
from adhere.train.settings import Count, OptimizerSettings, Positive, Precision

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from adhere.models.local.decoder.decode import DecodedAnswer

Order = Literal["variance", "ascending", "random"]
PART = "part: "  # begins the columns of a log that are components of the reward
CHECKED_TOKENS = 16
MOST_APART = 0.5  # nats a token; bf16 alone made 0.03 to 0.05 (six answers of SmolLM2-135M), fp32 nothing

NO_PARTS: Mapping[str, float | None] = {}  # never changed; a plain mapping, because rollouts travel between processes


class Answer(NamedTuple):
    """Holds the text of a drawn answer; `truncated` says whether it hit the token limit before its turn ended."""

    text: str
    truncated: bool


Scorer = Callable[[str, Sequence[Answer]], list[float | None]]
"""score(prompt_id, answers) -> a score in [0, 1] for each answer.

None: the answer was not measured, so it is left out, not scored 0.
"""

PartScorer = Callable[[str, Sequence[Answer]], list[dict[str, float | None]]]
"""parts(prompt_id, answers) -> for each answer, the components of its reward by name."""


class Rollout(NamedTuple):
    """Holds a drawn answer with its tokens (end token included if drawn) and its score.

    `log_probs` are those of the drawn tokens as the sampler computed them (K of this row). They are empty where sampler
    and trainer compute the same, so that nothing needs correction.
    """

    row: TokenRow
    answer: Answer
    score: float | None
    log_probs: tuple[float, ...] = ()
    parts: Mapping[str, float | None] = NO_PARTS
    """Components of the reward (`rewards.parts`), if the stage learns from each; None: a component was not measured."""


class Group(NamedTuple):
    """Holds the answers drawn for one prompt; `request` is its text and rules, None if unknown."""

    prompt_id: str
    answers: tuple[Rollout, ...]
    request: Request | None = None

    @property
    def measured(self) -> list[Rollout]:
        """Answers that have a score and at least one drawn token."""
        return [answer for answer in self.answers if answer.score is not None and answer.row.completion]

    @property
    def scores(self) -> list[float]:
        """Scores of the `measured` answers."""
        return [answer.score for answer in self.measured if answer.score is not None]

    @property
    def varies(self) -> bool:
        """Whether two scores differ, so that there is something to learn."""
        return len(set(self.scores)) > 1


class RolloutSettings(OptimizerSettings, frozen=True):
    """Holds the settings that all online stages share.

    Attributes:
        steps: Episodes; each answers `prompts_per_step` prompts.
        prompts_per_step: Prompts in an episode.
        answers_per_prompt: Answers to a prompt.
        max_new_tokens: Most tokens in an answer.
        temperature: Temperature of the draws, and of the log-probs in training.
        order: `variance`: prompts whose scores vary most under the start model first; `ascending`: least first;
            `random`. When the prompts run out, they begin again.
        decode_rows: Answers drawn at the same time.
        rollout_precision: Precision of drawing. None: as the study or recipe decides (`settings.settle`), else fp32.
        rollout_layout: Layout of the decoder's products. None: likewise, else `columns`.
        generator: What draws: `ours` on the model's device, `vllm` in this process, or a vLLM `server` (see
            `decoder.generator`).
    """

    steps: Count = 15
    prompts_per_step: Count = 16
    answers_per_prompt: Annotated[int, Meta(ge=2)] = 8
    max_new_tokens: Count = 64
    temperature: Positive = 1.0
    order: Order = "variance"
    decode_rows: Count = 64
    rollout_precision: Precision | None = None
    rollout_layout: Literal["columns", "rows"] | None = None
    generator: Literal["ours", "vllm", "server"] = "ours"

    @property
    def sampler_differs(self) -> bool:
        """Whether sampler and trainer compute log-probs that differ beyond fp32 rounding: another policy draws."""
        setup = (self.generator, self.rollout_precision or "fp32", self.precision or "fp32")
        return setup != ("ours", "fp32", "fp32")


def episodes(rows: Sequence[RlRow], settings: RolloutSettings, *, seed: int) -> Iterator[list[RlRow]]:
    """Yield the prompts of each episode.

    Prompts with equal variance are shuffled by `seed`, anew on each pass over the rows.

    Raises:
        UsageError: There is no prompt.
    """
    count = settings.prompts_per_step
    for step in range(settings.steps):
        yield prompts_from(rows, settings, seed=seed, start=step * count, count=count)


def prompts_from(rows: Sequence[RlRow], settings: RolloutSettings, *, seed: int, start: int, count: int) -> list[RlRow]:
    """Return `count` prompts of the endless order over `rows`, from position `start` on.

    Raises:
        UsageError: There is no prompt.
    """
    if not rows:
        raise UsageError("There are no prompts for online training")
    passed, offset = divmod(start, len(rows))
    # From the pass that `start` lies in, as many passes as hold `offset + count` rows, rounded up.
    passes = range(passed, passed - (-(offset + count) // len(rows)))
    queue = [
        row for number in passes for row in in_order(rows, settings.order, seed=derive_seed(seed, "order", number))
    ]
    return queue[offset : offset + count]


def in_order(rows: Sequence[RlRow], order: Order, *, seed: int) -> list[RlRow]:
    """Sort the rows by `order`; rows with equal variance are shuffled by `seed`."""
    shuffled_rows = list(rows)
    random.Random(seed).shuffle(shuffled_rows)
    if order == "random":
        return shuffled_rows
    return sorted(shuffled_rows, key=lambda row: row.score_variance, reverse=order == "variance")


def insist_on_room(
    rows: Sequence[RlRow], settings: RolloutSettings, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
) -> None:
    """Refuse a prompt that leaves no room for an answer, before anything is drawn.

    Raises:
        UsageError: A prompt is too long; the message names it.
    """
    longest = int(model.config.max_position_embeddings) - settings.max_new_tokens
    for row in rows:
        if (tokens := len(prompt_ids(tokenizer, row.asked))) > longest:
            raise UsageError(
                f"Prompt {row.prompt_id!r} has {tokens} tokens; with max_new_tokens = {settings.max_new_tokens} the "
                f"model takes at most {longest}. Leave it out, or lower max_new_tokens"
            )


class Sampler:
    """Draws answers from the current policy and lets them be scored."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        settings: RolloutSettings,
        *,
        score: Scorer,
        seed: int,
        tally: Tally,
        parts: PartScorer | None = None,
    ) -> None:
        from adhere.models.local.decoder.generator import open_generator

        if is_sharding() and settings.generator != "server":
            raise UsageError(
                f"generator = {settings.generator!r} reads whole weights, and these are cut over the processes. "
                "Use generator = 'server', or run without --shard"
            )
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        self.score, self.seed, self.tally, self.parts = score, seed, tally, parts
        tally.rollout_precision = settings.rollout_precision or "fp32"
        self._is_checked = False
        end_of_turn(tokenizer)  # refused here, where nothing has been drawn
        self.generator = open_generator(
            model,
            tokenizer,
            kind=settings.generator,
            rows=settings.decode_rows,
            precision=settings.rollout_precision or "fp32",
            layout=settings.rollout_layout or "columns",
            state=self._state,
        )

    def _require_one_model(self, prompt: tuple[int, ...]) -> None:
        """Check, on one drawn answer, that decoder and trainer compute the same log-probs.

        A decoder that reads the model otherwise than the trainer draws answers that teach nothing; only rewards that
        never rise would show this.

        Raises:
            IntegrityError: Their log-probs differ by more than `MOST_APART` nats a token.
        """
        import torch

        from adhere.models.local.decoder.decode import DecodeRow

        heat = self.settings.temperature
        row = DecodeRow(prompt, derive_seed(self.seed, "one model"))
        (answer,) = self.generator.decode([row], max_new_tokens=CHECKED_TOKENS, temperature=heat, log_probs=True)
        tree = grow([TokenRow(prompt, answer.drawn)])
        with torch.no_grad():
            trained = log_probs(self.model, tree, temperature=heat, precision=self.settings.precision).cpu()
        gap = float((trained - torch.tensor(answer.log_probs)).abs().mean())
        if not gap <= MOST_APART:  # so that NaN is refused, too
            raise IntegrityError(
                f"The decoder and the model in training disagree by {gap:.1f} nats a token about one answer: answers "
                "would be drawn from another model than the one that learns. Take generator = 'server', and report "
                "this with the model's config.json"
            )

    def draw(self, rows: Sequence[RlRow], *, step: int, again: int = 0) -> list[Group]:
        """Draw one Group for each row from the current weights; the processes share drawing and judging.

        Args:
            rows: The prompts; one that occurs twice gets other answers the second time.
            step: Number of the step, part of the seeds.
            again: Number of the further round within the step, part of the seeds.
        """
        from adhere.models.local.decoder.decode import DecodeRow

        start_s = time.perf_counter()
        self.generator.refresh()
        per_prompt = self.settings.answers_per_prompt
        names = [row.prompt_id for row in rows]
        prompts = {row.prompt_id: prompt_ids(self.tokenizer, row.asked) for row in rows}
        if not self._is_checked and self.settings.generator == "ours":
            self._require_one_model(prompts[names[0]])
            self._is_checked = True
        requests = {row.prompt_id: read(Exchange(row.prompt, "", refs_of_row(row))) for row in rows}
        # The number of draws of the same prompt before this place, so that no two of its answers share a seed.
        before = [per_prompt * names[:place].count(name) for place, name in enumerate(names)]
        others = (again,) if again else ()  # nothing in the first round: its seeds do not depend on `rounds`

        def decode(places: Sequence[int]) -> dict[int, list[DecodedAnswer]]:
            decode_rows = [
                DecodeRow(
                    prompts[names[place]],
                    derive_seed(self.seed, "rollout", step, names[place], before[place] + draw, *others),
                )
                for place in places
                for draw in range(per_prompt)
            ]
            answers = self.generator.decode(
                decode_rows,
                max_new_tokens=self.settings.max_new_tokens,
                temperature=self.settings.temperature,
                log_probs=self.settings.sampler_differs,
            )
            return {place: answers[at * per_prompt : (at + 1) * per_prompt] for at, place in enumerate(places)}

        # A server's answers depend on what else it is asked, so that several processes must have them from one.
        is_servers = self.settings.generator == "server"
        every = range(len(rows))
        mine = every if is_servers else [place for place in share(every) if place is not None]
        answers_by_place = first_says(lambda: decode(mine)) if is_servers else decode(mine)
        self.tally.seconds_generating += time.perf_counter() - start_s

        def scored(place: int) -> Group:
            answers = answers_by_place[place]
            return self._score_group(
                names[place],
                [TokenRow(prompts[names[place]], answer.drawn) for answer in answers],
                [Answer(self._text(answer.ids), not answer.stopped) for answer in answers],
                [answer.log_probs for answer in answers],
            )._replace(request=requests[names[place]])

        groups = divide(every, scored, same=[step, names])
        self.tally.prompts += len(rows)
        self.tally.answers_generated += per_prompt * len(rows)
        self.tally.answers_unmeasured += sum(answer.score is None for group in groups for answer in group.answers)
        self.tally.tokens_generated += sum(len(answer.row.completion) for group in groups for answer in group.answers)
        return groups

    def _state(self) -> dict[str, torch.Tensor] | None:
        """Return all weights as a model without adapters has them, for a server.

        With sharded weights, only the process that talks to the server gets them; the others get None.
        """
        from adhere.train.packed.lora import merged_state
        from adhere.train.sharding import whole_state

        whole = whole_state(self.model)
        return None if whole is None else merged_state(self.model, whole)

    def _text(self, ids: Sequence[int]) -> str:
        text = self.tokenizer.decode(list(ids), skip_special_tokens=True)
        return text if isinstance(text, str) else "".join(text)  # a list only for a batch of ids

    def _score_group(
        self,
        prompt_id: str,
        rows: Sequence[TokenRow],
        answers: Sequence[Answer],
        log_probs: Sequence[tuple[float, ...]],
    ) -> Group:
        start_s = time.perf_counter()
        scores = self.score(prompt_id, answers)
        self.tally.seconds_scoring += time.perf_counter() - start_s
        if len(scores) != len(answers):
            raise UsageError(
                f"The scorer gave {len(scores)} scores for the {len(answers)} answers to prompt {prompt_id!r}; "
                "it must give one each, None where there is no measurement"
            )
        parts: Sequence[Mapping[str, float | None]] = [NO_PARTS] * len(answers)
        if self.parts is not None:
            parts = self.parts(prompt_id, answers)
        return Group(
            prompt_id, tuple(Rollout(*five) for five in zip(rows, answers, scores, log_probs, parts, strict=True))
        )


def refs_of_row(row: RlRow) -> tuple[ConstraintRef, ...]:
    """Return the constraints of a prompt."""
    pairs = zip(row.instruction_id_list, row.kwargs, strict=True)
    return tuple(ConstraintRef(name, dict(params)) for name, params in pairs)


def measures(groups: Sequence[Group]) -> LogRow:
    """Measure an episode's answers over all groups, whether learned from or not. None: nothing was measured.

    `reward_std` is the mean over groups of the standard deviation (unbiased) within the group; `pass_rate` counts
    answers with the full score 1. `one_answer_share` is the share of answers that other prompts of the episode got,
    too; `style_leak_share` is the share of answers in a form that nobody asked for (`pipeline.responding`).
    """
    exchanges = [(group.request, answer.answer.text) for group in groups if group.request for answer in group.answers]
    leaks = [bool(style_leaks(request.text, text)) for request, text in exchanges]
    answers = [answer for group in groups for answer in group.answers]
    scores = [score for group in groups for score in group.scores]
    spreads = [spread(group.scores) for group in groups if len(group.scores) >= 2]
    return {
        "reward_mean": sum(scores) / len(scores) if scores else None,
        "reward_std": sum(spreads) / len(spreads) if spreads else None,
        "pass_rate": sum(score >= 1.0 for score in scores) / len(scores) if scores else None,
        "frac_zero_variance": sum(value == 0.0 for value in spreads) / len(spreads) if spreads else None,
        "mean_tokens": sum(len(answer.row.completion) for answer in answers) / len(answers),
        "truncated_share": sum(answer.answer.truncated for answer in answers) / len(answers),
        "one_answer_share": share_alike(exchanges),
        "style_leak_share": sum(leaks) / len(leaks) if leaks else None,
        "unmeasured": sum(answer.score is None for answer in answers),
        "unmeasured_share": sum(answer.score is None for answer in answers) / len(answers),
    }


def part_measures(groups: Sequence[Group]) -> LogRow:
    """Return the mean of each component of the reward over the answers that have it, by its name."""
    values_by_name: dict[str, list[float]] = {}
    for group in groups:
        for answer in group.answers:
            for name, value in answer.parts.items():
                if value is not None:
                    values_by_name.setdefault(name, []).append(value)
    return {f"{PART}{name}": sum(values) / len(values) for name, values in sorted(values_by_name.items())}


def spread(scores: Sequence[float]) -> float:
    """Return the unbiased standard deviation of two or more scores; exactly 0 if all are equal."""
    if len(set(scores)) == 1:  # the mean of equal scores may be off in the last bit, and the group would seem to vary
        return 0.0
    mean = sum(scores) / len(scores)
    return float((sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)) ** 0.5)


def online_work(
    settings: RolloutSettings,
    data: Shape,
    *,
    answers: int,
    updates: int = 1,
    groups: int | None = None,
    rounds: int = 1,
    has_reference: bool,
) -> Work:
    """Estimate the cost of an online stage; with `data.varied_share` 1 it is an upper bound in tokens.

    Args:
        settings: Those of the stage.
        data: The stage's prompts.
        answers: Answers of each prompt that are learned from.
        updates: Optimizer steps in an episode.
        groups: Most prompts of an episode that are learned from; None: all that vary.
        rounds: Most rounds of drawing in a step, the first included; each later one replaces prompts that do not
            vary.
        has_reference: Whether a second copy of the weights scores what is learned from.
    """
    filled_share = 1 - (1 - data.varied_share) ** rounds  # of the episode, after so many rounds
    varied_prompts = settings.prompts_per_step * filled_share
    draws = filled_share / data.varied_share if data.varied_share else rounds  # 1 + (1 - v) + … + (1 - v)^(rounds - 1)
    learned_prompts = min(varied_prompts, groups or varied_prompts)
    a_step = tree_tokens_of(learned_prompts * data.own_tokens(answers), settings.tree_tokens, data)
    answers_drawn = settings.steps * settings.prompts_per_step * settings.answers_per_prompt * draws
    return Work(
        steps=settings.steps * updates,
        answers=answers_drawn,
        generated=answers_drawn * data.answer_tokens,
        trained=settings.steps * updates * learned_prompts * answers * data.answer_tokens,
        processed=settings.steps * updates * a_step,
        scored=settings.steps * a_step if has_reference else 0,
        copies=2 if has_reference else 1,
    )
