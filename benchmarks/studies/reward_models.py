"""Reward models three ways.

The held-out pairs that they order rightly, what they choose among n answers, the policy that learns from them.

    python -m benchmarks.studies.reward_models [--seeds 2] [--steps 12] [--start random/2m] [--data FOLDER] > TABLE.md

The Qwen2.5 report warns that a reward model's score on a benchmark need not tell which policy comes of it (arXiv
2412.15115, section 5.2.3); the table puts the three beside each other. Per seed: the start is trained by SFT, answers
are drawn, the judge makes pairs of them (half of the prompts are held out), and reward models are trained on few pairs,
on all, and on all with a third turned round. Each is then measured on pairs, as chooser (best of n) and as GRPO's
reward; the policy is always measured by the judge, never by the model that it learned from.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from adhere.models.chat import end_ids
from adhere.models.local.decoder.decode import Decoder, DecodeRow
from adhere.models.local.transformers import load_weights
from adhere.schema import PairRow, RlRow, derive_seed
from adhere.train.batch.rollout import Answer
from adhere.train.methods.grpo import GrpoSettings, grpo
from adhere.train.methods.reward_model import RewardModelSettings, reward_model
from adhere.train.methods.sft import SftSettings, sft
from adhere.train.packed.rows import prompt_ids
from adhere.train.recipe.data import load_rows, open_start, prepare_start
from adhere.train.stage.scoring import learned_scorer, scorer

NEW_TOKENS = 48
Scorer = Callable[[str, Sequence[Answer]], list[float | None]]


class Drawn(NamedTuple):
    """The answers to one prompt, and what the judge gives them."""

    row: RlRow
    answers: list[Answer]
    scores: list[float]


class Measured(NamedTuple):
    """One reward, three ways; rates in [0, 1]. `pairs` None: it is no model."""

    pairs: float | None
    best_of: float
    policy: float


def draw(model: Any, tokenizer: Any, rows: Sequence[RlRow], judge: Scorer, *, each: int, seed: int) -> list[Drawn]:
    decoder = Decoder(model, end_ids=end_ids(model, tokenizer), rows=64)
    decoder.refresh()
    asked = [
        DecodeRow(prompt_ids(tokenizer, row.prompt), derive_seed(seed, row.prompt_id, k))
        for row in rows
        for k in range(each)
    ]
    decoded = decoder.decode(asked, max_new_tokens=NEW_TOKENS, temperature=1.0)
    answers = [
        Answer(str(tokenizer.decode(list(one.ids), skip_special_tokens=True)), not one.stopped) for one in decoded
    ]
    found = []
    for place, row in enumerate(rows):
        own = answers[place * each : (place + 1) * each]
        found.append(Drawn(row, own, [value or 0.0 for value in judge(row.prompt_id, own)]))
    return found


def pairs_of(drawn: Sequence[Drawn], most: int) -> list[PairRow]:
    """Answers of different scores, the widest difference first, at most `most` a prompt."""
    pairs = []
    for row, answers, scores in drawn:
        found = sorted(
            (
                (scores[a] - scores[b], a, b)
                for a in range(len(scores))
                for b in range(len(scores))
                if scores[a] > scores[b]
            ),
            key=lambda one: (-one[0], one[1], one[2]),
        )
        pairs += [
            PairRow(
                row.prompt_id,
                row.prompt,
                answers[a].text,
                answers[b].text,
                "sampled",
                row.instruction_id_list,
                row.kwargs,
            )
            for _, a, b in found
            if answers[a].text.strip() and answers[b].text.strip()
        ][:most]
    return pairs


def turned(pairs: Sequence[PairRow], *, seed: int) -> list[PairRow]:
    """The pairs with every third one the wrong way round."""
    order = list(range(len(pairs)))
    random.Random(seed).shuffle(order)
    wrong = set(order[: len(order) // 3])
    return [
        PairRow(p.prompt_id, p.prompt, p.rejected, p.chosen, p.origin, p.instruction_id_list, p.kwargs)
        if i in wrong
        else p
        for i, p in enumerate(pairs)
    ]


def best_of(drawn: Sequence[Drawn], score: Scorer) -> float:
    """The judge's mean score of what `score` likes best, prompt by prompt."""
    chosen = []
    for row, answers, scores in drawn:
        liked = [value if value is not None else 0.0 for value in score(row.prompt_id, answers)]
        chosen.append(scores[liked.index(max(liked))])
    return mean(chosen)


def learned_from(
    model: Any, tokenizer: Any, rows: Sequence[RlRow], score: Scorer, *, options: argparse.Namespace, seed: int
) -> Any:
    policy = copy.deepcopy(model)
    settings = GrpoSettings(
        steps=options.steps,
        prompts_per_step=8,
        answers_per_prompt=8,
        max_new_tokens=NEW_TOKENS,
        learning_rate=options.rate,
    )
    grpo(policy, tokenizer, rows, settings, seed=seed, score=score)
    return policy


def of_seed(seed: int, options: argparse.Namespace) -> dict[str, Measured]:
    rows = load_rows(Path(options.data), ["sft", "rl"])
    with tempfile.TemporaryDirectory() as scratch:
        prepare_start(options.start, rows=rows, scratch=Path(scratch))
        start = open_start(options.start, base=Path(), scratch=Path(scratch))
        model, tokenizer = load_weights(start.directory)
    judge = scorer(rows.rl, "dense")
    sft(
        model,
        tokenizer,
        rows.sft,
        SftSettings(epochs=options.sft_epochs, learning_rate=options.sft_rate, freeze_embeddings_and_head=False),
        seed=seed,
    )
    prompts = list(rows.rl)
    random.Random(derive_seed(seed, "split")).shuffle(prompts)
    learned, held = prompts[: len(prompts) // 2], prompts[len(prompts) // 2 :]
    drawn = draw(model, tokenizer, learned, judge, each=options.answers, seed=seed)
    asked = draw(model, tokenizer, held, judge, each=options.answers, seed=seed)
    pairs, measured = pairs_of(drawn, 4), pairs_of(asked, 4)
    print(f"seed {seed}: {len(pairs)} pairs to learn from, {len(measured)} held out", file=sys.stderr)

    def policy(score: Scorer) -> float:
        trained = learned_from(model, tokenizer, learned, score, options=options, seed=seed)
        again = draw(trained, tokenizer, held, judge, each=options.answers, seed=seed + 1)
        return mean(value for one in again for value in one.scores)

    now = mean(value for one in asked for value in one.scores)
    found = {
        "none: the policy as it is": Measured(None, now, now),
        "the judge itself": Measured(None, best_of(asked, judge), policy(judge)),
    }
    for name, some in {
        "a model of an eighth of the pairs": pairs[: max(2, len(pairs) // 8)],
        "a model of all pairs": pairs,
        "a model of all pairs, a third turned round": turned(pairs, seed=seed),
    }.items():
        settings = RewardModelSettings(
            epochs=options.epochs,
            learning_rate=options.model_rate,
            held_out_share=0.0,
            freeze_embeddings_and_head=False,
        )
        made = reward_model(model, tokenizer, some, settings, seed=seed).artefact
        with tempfile.TemporaryDirectory() as folder:
            made.save(Path(folder))  # type: ignore[union-attr]
            score = learned_scorer(rows.rl, Path(folder))
        numbers = made.scores([(p.prompt, text) for p in measured for text in (p.chosen, p.rejected)])  # type: ignore[union-attr]
        right = mean(float(a > b) for a, b in zip(numbers[::2], numbers[1::2], strict=True))
        found[name] = Measured(right, best_of(asked, score), policy(score))
    return found


def table(seeds: Sequence[dict[str, Measured]], answers: int) -> str:
    """Markdown: the mean over seeds, and lowest to highest."""

    def cell(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        if not known:
            return "–"
        return f"{100 * mean(known):.0f}" + (
            f" ({100 * min(known):.0f}–{100 * max(known):.0f})" if len(known) > 1 else ""
        )

    lines = [
        (
            f"| reward | held-out pairs ordered rightly, % | best of {answers} by it, judge's score, "
            "% | policy after GRPO on it, judge's score, % |"
        ),
        "|---|---|---|---|",
    ]
    for place in range(len(seeds[0])):
        name = list(seeds[0])[place]
        ways = [list(one.values())[place] for one in seeds]
        lines.append(f"| {name} | " + " | ".join(cell([way[k] for way in ways]) for k in range(3)) + " |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=12, help="GRPO's episodes")
    parser.add_argument("--answers", type=int, default=8, help="drawn a prompt")
    parser.add_argument("--start", default="random/2m")
    parser.add_argument("--data", default="examples/smoke-data")
    parser.add_argument("--sft-epochs", type=int, default=16)
    parser.add_argument("--sft-rate", type=float, default=2e-3)
    parser.add_argument("--epochs", type=int, default=4, help="of a reward model")
    parser.add_argument("--model-rate", type=float, default=3e-4)
    parser.add_argument("--rate", type=float, default=1e-4, help="GRPO's")
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    print(table([of_seed(seed, given) for seed in range(given.seeds)], given.answers))
