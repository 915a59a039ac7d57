"""A reward model: it gives an answer one number, and is trained so that verified answers score above failed ones.

Loss of a pair: -log sigmoid(reward(chosen) - reward(rejected)) + centre * (sum of both)^2 (Bradley-Terry;
`objectives.bradley_terry`). The backbone is a copy of the model as the stage found it, with a linear head on the
last token of an answer; the model itself is left as it is. Part of the pairs is held out by prompt; their accuracy
is in the last log row. Source: arXiv 2412.15115, section 4.3, which states neither loss nor size; the loss is arXiv
2203.02155's, eq. 1, with TRL's centring. How ours differs from both: the head reads a copy of the policy in the same
run, and a share of criteria may stand in for the label. A better accuracy need not make a better policy (its section
5.2.3): measure the policy.

Pairs may carry ratings by the report's six criteria (`adhere build transform six_criteria`). With `labels = "criteria"`
a pair's label is the share of its criteria that prefer the chosen answer (a tie counts half), and the last log row has
the accuracy by each criterion.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from adhere.errors import MissingModel, UsageError
from adhere.progress import Progress, Silent
from adhere.schema import Message, PairRow, derive_seed
from adhere.train.batch.pairs import PairSettings, pairs_work
from adhere.train.budget.ledger import LogRow, StageResult, StepLog, Tally
from adhere.train.budget.provenance import Provenance
from adhere.train.loop import learning
from adhere.train.packed.pack import Part, TokenRow, cut, hidden_states
from adhere.train.packed.rows import TokenPair, completion_ids, pair_rows, prompt_ids, shuffled_batches
from adhere.train.parallel import divide, gather
from adhere.train.settings import Positive, Precision, check_settings
from adhere.train.stages import Stage

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


class RewardModelSettings(PairSettings, frozen=True):
    """A reward model.

    Attributes:
        centre: Weight of the term that keeps rewards around 0.
        held_out_share: Share of the prompts whose pairs are not learned from, only measured.
        labels: `order`: chosen is better. `criteria`: the share of a pair's rated criteria that prefer chosen;
            without ratings, as `order`.
    """

    learning_rate: Positive = 1e-5
    epochs: int = 2
    centre: Annotated[float, Meta(ge=0)] = 0.01
    held_out_share: Annotated[float, Meta(ge=0, lt=1)] = 0.1
    labels: Literal["order", "criteria"] = "order"


PROVENANCE = {
    "learning_rate": Provenance(None, "1e-5", "the report states no loss, size or rate of its reward model"),
    "centre": Provenance(None, "0.01", "TRL's suggestion"),
    "labels": Provenance(
        "six criteria; pairs by human and automatic labelling", "order", "how six labels become one pair is not stated"
    ),
}


class RewardModel:
    """A backbone with a head that gives an answer one number.

    It is saved as transformers' sequence classification with one label.
    """

    def __init__(self, backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        import torch

        self.backbone, self.tokenizer = backbone, tokenizer
        width = int(backbone.config.hidden_size)
        self.head = torch.nn.Linear(width, 1, bias=False, device=backbone.device)
        # Every answer starts at reward 0, so the first loss is ln 2, whatever the backbone is.
        torch.nn.init.zeros_(self.head.weight)
        backbone.reward_head = self.head  # so that it is trained, moved and counted with the backbone

    def rewards(self, part: Part, precision: Precision | None = None) -> torch.Tensor:
        """Compute the reward of each row of a part (R)."""
        ends = [
            nodes[-1] for nodes in part.tree.completions
        ]  # (R) the end-of-turn token, which has seen all of its row
        states = hidden_states(self.backbone, part.tree, ends, precision=precision)  # (R, width) in fp32
        rewards: torch.Tensor = self.head(states).squeeze(-1)
        return rewards

    def scores(
        self, exchanges: Sequence[tuple[str | Sequence[Message], str]], *, tree_tokens: int = 512
    ) -> list[float]:
        """Compute the reward of each (prompt, answer).

        Raises:
            UsageError: An answer is empty.
        """
        import torch

        rows = [
            TokenRow(prompt_ids(self.tokenizer, prompt), completion_ids(self.tokenizer, answer, name="answer"))
            for prompt, answer in exchanges
        ]
        reward_by_row: dict[int, float] = {}
        with torch.no_grad():
            for part in cut([[row] for row in rows], tree_tokens=tree_tokens):
                reward_by_row |= dict(zip(part.items, self.rewards(part).tolist(), strict=True))
        return [reward_by_row[index] for index in range(len(rows))]

    @classmethod
    def load(cls, directory: Path, device: str = "cpu") -> RewardModel:
        """Load what `save` wrote, in fp32.

        Raises:
            MissingModel: The directory holds no config.json.
        """
        from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

        from adhere.models.local.transformers import load_model, load_tokenizer

        if not (directory / "config.json").exists():
            raise MissingModel(f"{directory}: no reward model there. The stage `reward-model` leaves one")
        whole = load_model(AutoModelForSequenceClassification, directory)
        backbone: Any = AutoModelForCausalLM.from_config(whole.config)  # type: ignore[no-untyped-call]
        backbone.base_model.load_state_dict(whole.base_model.state_dict())
        judge = cls(backbone.to(device).train(mode=False), load_tokenizer(directory))
        judge.head.weight.data.copy_(whole.score.weight.data)
        return judge

    def save(self, directory: Path) -> None:
        """Write weights, head and tokenizer.

        `AutoModelForSequenceClassification.from_pretrained(directory)` reads them.
        """
        from transformers import AutoModelForSequenceClassification

        config, tokenizer = copy.deepcopy(self.backbone.config), copy.deepcopy(self.tokenizer)
        config.num_labels = 1
        # transformers reads the number at the last token that is no padding, and ours stands at the end of the turn.
        ids = (tokenizer.pad_token_id, *tokenizer.all_special_ids)
        padding = next((token for token in ids if token is not None and token != tokenizer.eos_token_id), None)
        config.pad_token_id = tokenizer.pad_token_id = padding
        whole: Any = AutoModelForSequenceClassification.from_config(config)  # type: ignore[no-untyped-call]
        weights = {
            name: value for name, value in self.backbone.base_model.state_dict().items() if "reward_head" not in name
        }
        whole.base_model.load_state_dict(weights)
        whole.score.weight.data.copy_(self.head.weight.data)
        whole.save_pretrained(directory)
        tokenizer.save_pretrained(directory)


def reward_model(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[PairRow],
    settings: RewardModelSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> StageResult:
    """Train a reward model on `rows` from a copy of `model`, which stays as it is; it is the result's artefact.

    Raises:
        UsageError: There is no pair to learn from.
        Divergence: A step's loss is not finite; the message names the step.
    """
    from adhere.train.batch import objectives

    settings = check_settings(settings)
    learned_rows, held_out = _split(rows, settings.held_out_share, seed=seed)
    if not learned_rows:
        raise UsageError("reward-model: no pairs to train on. Build a pool with more draws or with repair")
    judge = RewardModel(copy.deepcopy(model), tokenizer)
    pairs, held_out_pairs = pair_rows(tokenizer, learned_rows), pair_rows(tokenizer, held_out)
    shares = [_share(row) for row in learned_rows] if settings.labels == "criteria" else None
    order = shuffled_batches(
        len(pairs), size=settings.batch_pairs, epochs=settings.epochs, stage="reward-model", seed=seed
    )
    tally, log = Tally(), StepLog()
    with (
        learning(judge.backbone, settings, stage="reward-model", steps=len(order)) as learner,
        (progress or Silent()).step("reward-model", len(order), "steps") as bar,
    ):
        learner.describe(tally)
        for batch in learner.remaining(order, tally, log, bar):
            step_pairs = [pairs[index] for index in batch]
            label = None if shares is None else [shares[index] for index in batch]
            parts = cut(step_pairs, tree_tokens=settings.tree_tokens)
            right: list[float] = []

            # What changes from batch to batch is bound as a default, for the function is called later.
            def loss_of(
                part: Part, size: int = len(step_pairs), right: list[float] = right, label: list[float] | None = label
            ) -> torch.Tensor:
                rewards = judge.rewards(part, learner.precision).view(-1, 2)  # (P, 2): chosen, rejected
                right.extend((rewards[:, 0] > rewards[:, 1]).float().tolist())
                share = None if label is None else rewards.new_tensor([label[item] for item in part.items])
                return objectives.bradley_terry(*rewards.unbind(1), centre=settings.centre, share=share).sum() / size

            update = learner.update(parts, loss_of)
            tally.steps += 1
            tally.prompts += len(step_pairs)
            tally.tokens_trained += sum(len(row.completion) for pair in step_pairs for row in pair)
            tally.tokens_processed += sum(len(part.tree) for part in parts)
            right = gather(right)
            row = learner.row(update, accuracy=sum(right) / len(right))
            if learner.step == len(order):
                margins = _margins(judge, held_out_pairs, settings, learner.precision)
                row |= {
                    "held_out_accuracy": sum(m > 0 for m in margins) / len(margins) if margins else None,
                    "held_out_pairs": len(held_out_pairs),
                } | _by_criterion(held_out, margins)
            log.append(row)
            bar.advance(note=f"loss {update.loss:.3f}")
    return StageResult(log, tally.close(), judge)


def _margins(
    judge: RewardModel, pairs: Sequence[TokenPair], settings: RewardModelSettings, precision: Precision
) -> list[float]:
    """Compute the reward of chosen minus that of rejected, in the order of `pairs`."""
    import torch

    def of_part(part: Part) -> list[float]:
        rewards = judge.rewards(part, precision).view(-1, 2)
        margins: list[float] = (rewards[:, 0] - rewards[:, 1]).tolist()
        return margins

    parts = cut(pairs, tree_tokens=settings.tree_tokens)
    with torch.no_grad():
        margins_by_part = divide(parts, of_part, same=[part.items for part in parts])
    of_item = {
        item: margin
        for part, margins in zip(parts, margins_by_part, strict=True)
        for item, margin in zip(part.items, margins, strict=True)
    }
    return [of_item[index] for index in range(len(pairs))]


def _share(row: PairRow) -> float:
    """Return the share of the row's rated criteria that prefer its chosen answer; a tie counts half.

    Without ratings it is 1.
    """
    votes = [1.0 if first > second else 0.5 if first == second else 0.0 for first, second in row.criteria.values()]
    return sum(votes) / len(votes) if votes else 1.0


def _by_criterion(rows: Sequence[PairRow], margins: Sequence[float]) -> LogRow:
    """Return, for each criterion, the share of its untied held-out pairs that the rewards order likewise."""
    agreements: dict[str, list[bool]] = {}
    for row, margin in zip(rows, margins, strict=True):
        for name, (first, second) in row.criteria.items():
            if first != second:
                agreements.setdefault(name, []).append((margin > 0) == (first > second))
    return {f"held_out_{name}": sum(outcomes) / len(outcomes) for name, outcomes in agreements.items()}


def _split(rows: Sequence[PairRow], share: float, *, seed: int) -> tuple[list[PairRow], list[PairRow]]:
    """Split the pairs into learned and held-out ones; all pairs of a prompt are on one side."""
    prompts = sorted({row.prompt_id for row in rows})
    random.Random(derive_seed(seed, "held-out")).shuffle(prompts)
    apart = set(prompts[: round(share * len(prompts))])
    return [row for row in rows if row.prompt_id not in apart], [row for row in rows if row.prompt_id in apart]


STAGE = Stage(
    "reward-model",
    "a Bradley-Terry reward model beside the policy, which it leaves as it is",
    "arXiv 2412.15115",
    RewardModelSettings,
    "pairs",
    lambda pool, _: pool.pairs,
    reward_model,
    lambda settings, data: msgspec.structs.replace(pairs_work(settings, data, has_reference=False), copies=2),
    PROVENANCE,
    "reward-model",
    version=1,
)
