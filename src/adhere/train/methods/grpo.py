"""GRPO: answers that score above the mean of their group become more likely, those below it less.

Each step is one episode: some prompts, several answers each from the current policy, the judge's score as reward, and
one optimizer step, as the Qwen2.5 report has it (2048 samples an episode, batch 2048). The answers then come from the
very weights that are updated: the importance ratio is 1 and clipping does nothing, until `updates_per_episode` exceeds
1.

Source: arXiv 2402.03300 (GRPO), 2503.14476 (DAPO's loss), 2503.20783 (Dr. GRPO's). Equal to TRL's GRPOTrainer on the
same answers and advantages (tests/parity/test_trl_parity.py). How ours differs: the default loss is DAPO's, the
paper's is `loss_type = "grpo"`; groups of equal scores are not computed, which changes no number. The whole of DAPO
is `clip_high = 0.28`, `rounds`, `overlong_tokens`. Our rounds draw as many prompts as groups are missing; DAPO's
draw whole batches and drop the surplus. After the last round ours learns from the groups it has, while DAPO draws
on.

Notation: K tokens of the rows of a part, one row after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from msgspec import Meta

from adhere.errors import UsageError
from adhere.progress import Progress, Silent
from adhere.schema import RlRow
from adhere.train.batch.rollout import (
    Group,
    PartScorer,
    Rollout,
    RolloutSettings,
    Sampler,
    Scorer,
    measures,
    online_work,
    part_measures,
    prompts_from,
    spread,
)
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import Learner, frozen_copy, learning
from adhere.train.packed.pack import Part, TokenRow, cut, log_probs
from adhere.train.parallel import gather, share
from adhere.train.settings import Count, Positive, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class GrpoSettings(RolloutSettings, frozen=True):
    """GRPO.

    Attributes:
        advantages: `sum`: of the reward; `each`: every constraint is a reward of its own, normalised in its group, and
            their sum over the episode (GDPO). Only where the judge is the reward.
        baseline: `mean`: an answer's advantage is its score minus the mean of its group; `others`: minus the mean of
            the other answers of its group (leave one out).
        scale_rewards: `group`: advantages are divided by the group's standard deviation + 1e-4; `none`: they are not.
        loss_type: What the token losses are divided by. `dapo`: the completion tokens of the episode; `grpo`: each
            answer's own tokens, then the number of answers; `dr_grpo`: the number of answers times `max_new_tokens`;
            `sequence`: the number of answers, so that an answer's token losses add up.
        importance: Whether the ratio to the policy that drew the answer is taken for each `token` or for the
            whole `sequence` (geometric mean over tokens, GSPO).
        updates_per_episode: Optimizer steps on the same answers. Above 1 the ratio to the policy that drew them is
            clipped.
        clip_low: The ratio is not rewarded for falling below 1 - clip_low.
        clip_high: The ratio is not rewarded for rising above 1 + clip_high.
        kl_beta: Weight of the KL to the policy as the stage found it (k3 estimator, importance weighted as in TRL); 0
            keeps no reference.
        importance_cap: Where the sampler computes other log-probs than the trainer (bf16, another engine), each token's
            loss is multiplied by the ratio of the trainer's probability to the sampler's, at most this much (truncated
            importance sampling, as TRL's `token_truncate`).
        max_trained_groups: Learn from at most this many groups an episode, those whose scores vary most; the others are
            left out as if not drawn. None: from all. Halving it about halves the time of training on a CPU.
        rounds: Above 1 (DAPO's dynamic sampling) groups whose scores are all equal are thrown away, and further prompts
            are drawn in their place, until `prompts_per_step` groups vary or this many rounds of drawing are over.
        overlong_tokens: The last tokens before `max_new_tokens` in which an answer's reward falls (DAPO's soft overlong
            punishment); 0: none. The judge's scores, and which groups vary for `rounds`, are as without.
        overlong_penalty: What is taken from the reward of an answer that fills `max_new_tokens`. The paper takes 1 from
            rewards of 1 and -1; the judge's lie between 0 and 1, so half of that is the same.
        trained_tokens: Completion tokens to train on in the whole stage, so that stages of other methods can be
            given as many; None: all. Each episode learns from the groups whose scores vary most, until its share and
            what earlier episodes did not spend are used up. The other groups are left out as if not drawn.
        mask_truncated: Answers that hit the limit count in their group's mean and are not learned from (DAPO's overlong
            filtering, as TRL's `mask_truncated_completions`).
    """

    learning_rate: Positive = 3e-6
    advantages: Literal["sum", "each"] = "sum"
    baseline: Literal["mean", "others"] = "mean"
    scale_rewards: Literal["group", "none"] = "group"
    loss_type: Literal["dapo", "grpo", "dr_grpo", "sequence"] = "dapo"
    importance: Literal["token", "sequence"] = "token"
    updates_per_episode: Count = 1
    clip_low: Positive = 0.2
    clip_high: Positive = 0.2
    kl_beta: Annotated[float, Meta(ge=0)] = 0.0
    importance_cap: Positive = 2.0
    max_trained_groups: Count | None = None
    trained_tokens: Count | None = None
    rounds: Count = 1
    overlong_tokens: Annotated[int, Meta(ge=0)] = 0
    overlong_penalty: Positive = 0.5
    mask_truncated: bool = False


PROVENANCE = {
    "answers_per_prompt": Provenance("8", "8", "as stated"),
    "order": Provenance(
        "descending variance of scores, as evaluated by the reward model",
        "variance",
        "as stated, with the judge's score in place of a reward model's",
    ),
    "prompts_per_step": Provenance("256 (2048 samples)", "16 (128 samples)", "scaled: what two cores draw in seconds"),
    "updates_per_episode": Provenance("1 (batch 2048 = episode 2048)", "1", "as stated"),
    "learning_rate": Provenance(None, "3e-6", "scaled: TRL's 1e-6 is for models ten times larger"),
    "kl_beta": Provenance(None, "0", "TRL's default"),
    "loss_type": Provenance(None, "dapo", "TRL's default; no bias towards short or long answers"),
    "scale_rewards": Provenance(None, "group", "the GRPO paper's and TRL's default"),
    "steps": Provenance(None, "15", "scaled: minutes on two cores"),
    "rounds": Provenance(None, "1", "the GRPO paper; DAPO draws until the batch is full"),
    "overlong_tokens": Provenance(None, "0", "the GRPO paper; DAPO: 4,096 of 20,480"),
}


class WeightedAnswer(NamedTuple):
    """Holds an answer to learn from: its tokens, its advantage, and the factor of its token losses.

    `log_probs` are its tokens' as the sampler computed them, empty where there is nothing to correct.
    """

    row: TokenRow
    advantage: float
    weight: float
    log_probs: tuple[float, ...] = ()


class Episode(NamedTuple):
    """Holds the answers that one episode learns from, and how many `groups` whose rewards vary they belong to.

    `left_out` counts the groups that vary but were dropped for a limit.
    """

    answers: list[WeightedAnswer]
    groups: int
    left_out: int


class TokenMeasures(NamedTuple):
    """Holds detached sums over the tokens of a part, for the log."""

    tokens: int  # their number
    log_prob: float
    clipped: int  # tokens without gradient because their ratio is clipped
    kl: float
    importance: float
    cut: int  # tokens whose importance is above the cap


def grpo(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[RlRow],
    settings: GrpoSettings,
    *,
    seed: int,
    score: Scorer,
    progress: Progress | None = None,
    name: str = "grpo",
) -> StageResult:
    """Train `model` in place on its own scored answers to `rows`. `name` is the stage's name in messages.

    Raises:
        UsageError: There is no prompt, the scorer's answer cannot be used, or settings contradict each other.
        Divergence: A step's loss is not finite; the message names the step.
    """
    settings = check_settings(settings)
    if settings.overlong_tokens > settings.max_new_tokens:
        raise UsageError(
            f"{name}: overlong_tokens = {settings.overlong_tokens} are the last of max_new_tokens = "
            f"{settings.max_new_tokens}, so they cannot be more"
        )
    parts = _part_scorer(score, settings, name)
    tally, log = Tally(), StepLog()
    steps = settings.steps * settings.updates_per_episode
    with ExitStack() as stack:
        reference = frozen_copy(model, settings.precision) if settings.kl_beta else None
        learner = stack.enter_context(learning(model, settings, stage=name, steps=steps))
        bar = stack.enter_context((progress or Silent()).step(name, settings.steps, "steps"))
        learner.describe(tally)
        sampler = Sampler(model, tokenizer, settings, score=score, seed=seed, tally=tally, parts=parts)
        for step in learner.remaining(range(1, settings.steps + 1), tally, log, bar):
            drawn_groups = _draw(sampler, rows, settings, step=step)
            row = {"step": step} | measures(drawn_groups.groups) | part_measures(drawn_groups.groups)
            if settings.rounds > 1:
                row |= {
                    "rounds": drawn_groups.rounds,
                    "groups_thrown_away": len(drawn_groups.groups) - len(drawn_groups.kept),
                }
            # The budget grows in equal shares a step; what an episode leaves unspent is there for the next.
            room = (
                None
                if settings.trained_tokens is None
                else settings.trained_tokens * step / settings.steps - tally.tokens_trained
            )
            episode = select(drawn_groups.kept, settings, room=room)
            row |= _learn(model, reference, learner, episode, settings=settings, tally=tally)
            log.append(row | {"step": step})  # an episode's, of which each may have several updates
            bar.advance(note=f"reward {row['reward_mean'] or 0:.2f}, pass {row['pass_rate'] or 0:.2f}")
    return StageResult(log, tally.close())


def _part_scorer(score: Scorer, settings: GrpoSettings, name: str) -> PartScorer | None:
    """Return the function that scores each component of a reward, if they are normalised apart (`advantages = "each"`).

    Raises:
        UsageError: The reward has no components, or a setting is about one whole reward.
    """
    if settings.advantages == "sum":
        return None
    plain = GrpoSettings()
    # Each component has a mean and a scale of its own, so settings of the one scalar reward would do nothing.
    for setting in ("baseline", "scale_rewards", "overlong_tokens"):
        if getattr(settings, setting) != getattr(plain, setting):
            raise UsageError(f"{name}: {setting} is about one reward, and advantages = 'each' has several. Take it out")
    part_scorer: PartScorer | None = getattr(score, "parts", None)
    if part_scorer is None:
        raise UsageError(f"{name}: advantages = 'each' needs the judge as the reward: reward = 'dense' or 'binary'")
    return part_scorer


class _DrawnGroups(NamedTuple):
    """Holds all groups of an episode, those to learn from (`kept`), and the number of rounds of drawing."""

    groups: list[Group]
    kept: list[Group]
    rounds: int


def _draw(sampler: Sampler, rows: Sequence[RlRow], settings: GrpoSettings, *, step: int) -> _DrawnGroups:
    """Draw the groups of an episode.

    With several rounds, groups that do not vary are replaced (2503.14476, eq. 11: 0 < passing answers < G). The
    ledger's count of prompts decides which come next, so a resumed stage goes on with the same ones.
    """

    def more(count: int, again: int) -> list[Group]:
        batch = prompts_from(rows, settings, seed=sampler.seed, start=sampler.tally.prompts, count=count)
        return sampler.draw(batch, step=step, again=again)

    groups = more(settings.prompts_per_step, 0)
    if settings.rounds == 1:
        return _DrawnGroups(groups, groups, 1)
    varying, done = [group for group in groups if group.varies], 1
    while len(varying) < settings.prompts_per_step and done < settings.rounds:
        round_groups = more(settings.prompts_per_step - len(varying), done)
        groups, varying = [*groups, *round_groups], [*varying, *(group for group in round_groups if group.varies)]
        done += 1
    sampler.tally.groups_thrown_away += len(groups) - len(varying)
    return _DrawnGroups(groups, varying, done)


def overlong(tokens: int, settings: GrpoSettings) -> float:
    """Return what the reward of an answer of so many tokens loses (2503.14476, eq. 13, times `overlong_penalty`)."""
    if not settings.overlong_tokens:
        return 0.0
    # With L the length, M = max_new_tokens and C = overlong_tokens: 0 up to M - C, then (L - (M - C)) / C, at most 1.
    free = settings.max_new_tokens - settings.overlong_tokens
    return settings.overlong_penalty * min(1.0, max(0, tokens - free) / settings.overlong_tokens)


def select(groups: Sequence[Group], settings: GrpoSettings, *, room: float | None = None) -> Episode:
    """Choose the answers to learn from, weighted so that their losses add up to the loss of the whole episode.

    `room` is the number of completion tokens that the episode may train, all updates together; None: no limit.

    Groups whose rewards are all equal have advantage 0. They are computed only if there is a KL term, but they always
    count in the divisor of the loss, as in TRL. Answers without a score are no part of their group.
    """
    # One scored answer has no group to be compared with.
    usable = [_reward_group(group, settings) for group in groups if len(group.scores) >= 2]
    varying = sorted((group for group in usable if group.spread > 0), key=lambda group: group.spread, reverse=True)
    keep = len(varying) if settings.max_trained_groups is None else settings.max_trained_groups
    if room is not None:
        keep = min(keep, _groups_within(varying, settings, room / settings.updates_per_episode))
    # Dropped groups are left out of the divisor, too; groups of equal rewards stay in it.
    dropped_ids = {id(group) for group in varying[keep:]}
    present = [group for group in usable if id(group) not in dropped_ids]
    present_answers = [answer for group in present for answer in group.answers]
    tokens = sum(len(answer.row.completion) for answer in present_answers if _is_learned(answer, settings))
    # GDPO normalises twice: each component within its group (`sum_of_parts`), and the sums over the episode.
    whole = iter(over_episode([reward for group in present for reward in group.rewards]))
    advantages = [
        [next(whole) for _ in group.rewards]
        if settings.advantages == "each"
        else advantages_of(group.rewards, settings)
        for group in present
    ]
    answers = [
        WeightedAnswer(
            answer.row, advantage, _weight(answer.row, tokens, len(present_answers), settings), answer.log_probs
        )
        for group, own in zip(present, advantages, strict=True)
        if group.spread > 0 or settings.kl_beta
        for answer, advantage in zip(group.answers, own, strict=True)
        if _is_learned(answer, settings)
    ]
    return Episode(answers, sum(group.spread > 0 for group in present), len(dropped_ids))


def _groups_within(groups: Sequence[_RewardedGroup], settings: GrpoSettings, room: float) -> int:
    """Return how many of the groups, in their order, are learned from within `room` tokens; the last may exceed it."""
    tokens = 0
    for place, group in enumerate(groups):
        if tokens >= room:
            return place
        tokens += sum(len(answer.row.completion) for answer in group.answers if _is_learned(answer, settings))
    return len(groups)


class _RewardedGroup(NamedTuple):
    """Holds the measured answers of a group, their rewards, and the rewards' standard deviation."""

    answers: list[Rollout]
    rewards: list[float]
    spread: float


def _reward_group(group: Group, settings: GrpoSettings) -> _RewardedGroup:
    answers = group.measured
    if settings.advantages == "each":
        rewards = sum_of_parts([answer.parts for answer in answers])
        return _RewardedGroup(answers, rewards, spread(rewards))
    penalties = [overlong(len(answer.row.completion), settings) for answer in answers]
    rewards = [score - penalty for score, penalty in zip(group.scores, penalties, strict=True)]
    return _RewardedGroup(answers, rewards, spread(rewards))


def sum_of_parts(parts: Sequence[Mapping[str, float | None]]) -> list[float]:
    """Normalise each component of a group's rewards within the group, and return the sum for each answer.

    Normalised: (value - mean) / (unbiased standard deviation + 1e-4), over the answers that have the component. A
    component that was not measured adds nothing. Source: GDPO, arXiv 2601.05242; TRL's `normalize_then_sum`.
    """
    total = [0.0] * len(parts)
    for name in dict.fromkeys(name for part in parts for name in part):
        places = [place for place, part in enumerate(parts) if part.get(name) is not None]
        values = [float(parts[place][name] or 0.0) for place in places]
        if len(values) < 2:
            continue
        mean, scale = sum(values) / len(values), spread(values) + 1e-4
        for place, value in zip(places, values, strict=True):
            total[place] += (value - mean) / scale
    return total


def over_episode(sums: Sequence[float]) -> list[float]:
    """Return the advantages of an episode: (sum of components - mean) / (unbiased standard deviation + 1e-4)."""
    if len(sums) < 2:
        return [0.0] * len(sums)
    mean, scale = sum(sums) / len(sums), spread(sums) + 1e-4
    return [(value - mean) / scale for value in sums]


def _is_learned(answer: Rollout, settings: GrpoSettings) -> bool:
    return not (settings.mask_truncated and answer.answer.truncated)


def advantages_of(scores: Sequence[float], settings: GrpoSettings) -> list[float]:
    """Return each score minus its baseline; scaled, divided by the group's unbiased standard deviation + 1e-4."""
    mean, others = sum(scores) / len(scores), len(scores) - 1
    # As in TRL, the constant keeps a group of nearly equal scores from having huge advantages.
    scale = spread(scores) + 1e-4 if settings.scale_rewards == "group" else 1.0
    if settings.baseline == "others":  # score - (sum - score) / (n - 1)
        scale *= others / len(scores)
    return [(score - mean) / scale for score in scores]


def _weight(row: TokenRow, tokens: int, answers: int, settings: GrpoSettings) -> float:
    """Return the factor of an answer's token losses.

    `tokens` counts the tokens that are learned, `answers` all answers that count in the divisor.
    """
    match settings.loss_type:
        case "dapo":  # 2503.14476: one mean over all tokens, so each token weighs the same
            return 1 / tokens
        case "grpo":  # 2402.03300: mean over an answer's tokens, then over answers, so a long answer's weigh less
            return 1 / (len(row.completion) * answers)
        case "dr_grpo":  # 2503.20783: a constant in place of the length, so that length has no effect on the weight
            return 1 / (answers * settings.max_new_tokens)
        case "sequence":  # sum over an answer's tokens: log p of the answer, as REINFORCE has it
            return 1 / answers


def _learn(
    model: PreTrainedModel,
    reference: PreTrainedModel | None,
    learner: Learner,
    episode: Episode,
    *,
    settings: GrpoSettings,
    tally: Tally,
) -> LogRow:
    """Update the model on one episode. If no group varies, the steps change nothing (`loss` is None)."""
    row: LogRow = {"groups_trained": episode.groups, "groups_left_out": episode.left_out}
    if not episode.answers:  # every update counts as a step of the schedule; the last one's row is logged
        return row | [learner.skip() for _ in range(settings.updates_per_episode)][-1]
    parts = cut([[answer.row] for answer in episode.answers], tree_tokens=settings.tree_tokens)
    base = None if reference is None else _reference(reference, parts, settings, tally)
    drawn_log_probs: dict[int, torch.Tensor] = {}  # log-probs under the policy that drew the answers, by part
    measures_by_part: list[TokenMeasures] = []

    def loss_of(place: int) -> torch.Tensor:
        policy_log_probs = log_probs(
            model, parts[place].tree, temperature=settings.temperature, precision=settings.precision
        )
        if place not in drawn_log_probs:  # the first update of the episode: this *is* the policy that drew them
            drawn_log_probs[place] = policy_log_probs.detach()
        loss, token_measures = grpo_loss(
            policy_log_probs,
            [episode.answers[item] for item in parts[place].items],
            drawn_log_probs=drawn_log_probs[place],
            reference=base[place] if base is not None else None,
            settings=settings,
        )
        measures_by_part.append(token_measures)
        return loss

    updates = []
    for _ in range(settings.updates_per_episode):
        updates.append(learner.update(range(len(parts)), loss_of))
        tally.steps += 1
        tally.tokens_trained += sum(len(answer.row.completion) for answer in episode.answers)
        tally.tokens_processed += sum(len(part.tree) for part in parts)
    measures_by_part = gather(measures_by_part)
    tokens = sum(part.tokens for part in measures_by_part)
    row |= learner.row(
        updates[-1]._replace(loss=sum(update.loss for update in updates) / len(updates)),
        mean_log_prob=sum(part.log_prob for part in measures_by_part) / tokens,
        clipped_share=sum(part.clipped for part in measures_by_part) / tokens,
    )
    if settings.sampler_differs:
        row |= {
            "importance_mean": sum(part.importance for part in measures_by_part) / tokens,
            "importance_cut_share": sum(part.cut for part in measures_by_part) / tokens,
        }
    return row | ({"kl": sum(part.kl for part in measures_by_part) / tokens} if reference is not None else {})


def _reference(
    model: PreTrainedModel, parts: Sequence[Part], settings: GrpoSettings, tally: Tally
) -> dict[int, torch.Tensor]:
    """Compute the log-probs under the stage's start model, by part, of the parts that this process learns from."""
    import torch

    from adhere.train.sharding import idle

    tally.tokens_scored += sum(len(part.tree) for part in parts)
    log_probs_by_part = {}
    with torch.no_grad():
        for place in share(range(len(parts))):
            if place is None:
                idle(model)
            else:
                tree = parts[place].tree
                log_probs_by_part[place] = log_probs(
                    model, tree, temperature=settings.temperature, precision=settings.precision
                )
    return log_probs_by_part


def grpo_loss(
    policy_log_probs: torch.Tensor,
    answers: Sequence[WeightedAnswer],
    *,
    drawn_log_probs: torch.Tensor,
    reference: torch.Tensor | None,
    settings: GrpoSettings,
) -> tuple[torch.Tensor, TokenMeasures]:
    """Return this part's share of the episode's loss, and sums over its tokens.

    Args:
        policy_log_probs: Log-probs of the answers' tokens under the policy (K), with gradient.
        answers: The answers whose tokens K runs over, in order.
        drawn_log_probs: Log-probs of the same tokens under the policy that drew them, as the trainer computes
            them (K). The ratio to these is clipped. Where an answer has the sampler's own log-probs, the difference
            between the two is corrected.
        reference: Log-probs of the same tokens under the stage's start model (K); None: no KL term.
        settings: Those of the stage.
    """
    import torch

    lengths = torch.tensor([len(answer.row.completion) for answer in answers], device=policy_log_probs.device)
    advantages, weights = (  # (K) each
        policy_log_probs.new_tensor(values).repeat_interleave(lengths)
        for values in ([answer.advantage for answer in answers], [answer.weight for answer in answers])
    )
    change = policy_log_probs - drawn_log_probs  # (K)
    if settings.importance == "sequence":
        means = torch.stack(
            [answer_change.mean() for answer_change in torch.split(change, lengths.tolist())]
        ).repeat_interleave(lengths)
        # Its value is the sequence's, its gradient each token's own: GSPO-token, which for equal advantages is GSPO.
        change = means.detach() + change - change.detach()
    ratio = change.exp()  # (K) policy / policy that drew
    clipped_ratio = ratio.clamp(1 - settings.clip_low, 1 + settings.clip_high)
    # PPO's lower bound, min(r A, clip(r) A): clipping ends the gradient only where moving on would still pay, which is
    # above 1 + clip_high for A > 0 and below 1 - clip_low for A < 0. The way back is never clipped.
    losses = -torch.minimum(ratio * advantages, clipped_ratio * advantages)
    importance = torch.ones_like(drawn_log_probs)  # (K) of the policy as the trainer computes it against the sampler
    # Neither log-prob has a gradient, so this is a weight. Its cap bounds the variance at the price of a small bias.
    if any(answer.log_probs for answer in answers):
        sampler_log_probs = drawn_log_probs.new_tensor([value for answer in answers for value in answer.log_probs])
        importance = (drawn_log_probs - sampler_log_probs).exp()
        losses = losses * importance.clamp(max=settings.importance_cap)
    kl = torch.zeros_like(policy_log_probs)
    if reference is not None:
        # k3 = exp(x) - x - 1 with x = log ref - log p: never negative, and with the policy's own draws its mean is
        # KL(p || ref). `ratio` reweighs draws of an older policy.
        kl = ((reference - policy_log_probs).exp() - (reference - policy_log_probs) - 1) * ratio
        losses = losses + settings.kl_beta * kl
    # The tokens whose clipped term is the smaller one, so that they have no gradient.
    is_clipped = ((ratio < 1 - settings.clip_low) & (advantages < 0)) | (
        (ratio > 1 + settings.clip_high) & (advantages > 0)
    )
    token_measures = TokenMeasures(
        len(policy_log_probs),
        float(policy_log_probs.detach().sum()),
        int(is_clipped.sum()),
        float(kl.detach().sum()),
        float(importance.sum()),
        int((importance > settings.importance_cap).sum()),
    )
    return (losses * weights).sum(), token_measures


def grpo_work(settings: GrpoSettings, data: Shape) -> Work:
    """Estimate the cost of `grpo`."""
    return online_work(
        settings,
        data,
        answers=settings.answers_per_prompt,
        updates=settings.updates_per_episode,
        groups=settings.max_trained_groups,
        rounds=settings.rounds,
        has_reference=settings.kl_beta > 0,
    )


STAGE = Stage(
    "grpo",
    "GRPO (online RL); DAPO, Dr. GRPO and GSPO by its settings",
    "arXiv 2402.03300",
    GrpoSettings,
    "rl",
    lambda pool, _: pool.rl,
    grpo,
    grpo_work,
    PROVENANCE,
    version=1,
)
