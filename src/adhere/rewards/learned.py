"""A trained reward model as a reward function, and as the chooser among several answers.

It reads what the stage `reward-model` stores, or any sequence-classification model with one label. A better reward
model need not make a better policy (arXiv 2412.15115, section 5.2.3): measure the policy with the judge, never with the
model that it was trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from adhere.errors import MissingModel, UsageError
from adhere.extras import need
from adhere.rewards.judge import RewardFunction
from adhere.rewards.rows import answer_of
from adhere.shapes.messages import read_message, without_calls
from adhere.text.reasoning import split_reasoning

Scores = Callable[[Sequence[tuple[list[dict[str, str]], str]]], list[float]]


def learned_reward(directory: str | Path, *, device: str = "cpu") -> RewardFunction:
    """Make a reward function `f(prompts, completions, **columns)` of a trained model's number, unbounded.

    Rewards are centred on 0. An empty answer has no reward: its row is None.

    Args:
        directory: Directory of a sequence-classification model with one label and a tokenizer with a chat template.
        device: Device that the model runs on.

    Raises:
        MissingModel: There is no such model.
        UsageError: The model has another number of labels, or no chat template. When called: prompts and
            completions do not match.
    """
    scores = _scores(Path(directory), device)

    def learned(
        prompts: Sequence[Any] | None = None,
        completions: Sequence[Any] = (),
        **columns: Any,  # noqa: ARG001 - TRL passes all columns
    ) -> list[float | None]:
        if prompts is None or len(prompts) != len(completions):
            raise UsageError(
                f"A reward model needs one prompt a completion, got {0 if prompts is None else len(prompts)} "
                f"for {len(completions)}"
            )
        answers = map(answer_of, completions)
        texts = [without_calls(split_reasoning(answer or "")[1]) for answer in answers]
        exchanges = [(_turns(prompt), text) for prompt, text in zip(prompts, texts, strict=True) if text.strip()]
        rewards = iter(scores(exchanges))
        return [next(rewards) if text.strip() else None for text in texts]

    return learned


def best_of(reward: RewardFunction, prompt: Any, answers: Sequence[str]) -> str:
    """Return the answer with the highest reward, the first of equals.

    Raises:
        UsageError: No answer has a reward.
    """
    values = reward(prompts=[prompt] * len(answers), completions=list(answers))
    ranking = [(value, -place) for place, value in enumerate(values) if value is not None]
    if not ranking:
        raise UsageError(f"best_of: none of {len(answers)} answers has a reward")
    return answers[-max(ranking)[1]]


def _turns(prompt: Any) -> list[dict[str, str]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return [
        {"role": message.role, "content": message.text or ""}
        for message in (read_message(turn, "A prompt") for turn in prompt)
    ]


def _scores(directory: Path, device: str) -> Scores:
    torch = need("torch", extra="train")
    transformers = need("transformers", extra="train")
    if not (directory / "config.json").exists():
        raise MissingModel(f"{directory}: no reward model there. The stage `reward-model` of `adhere train` leaves one")
    from adhere.models.local.transformers import load_model, load_tokenizer

    tokenizer = load_tokenizer(directory)
    model = load_model(transformers.AutoModelForSequenceClassification, directory)
    if model.config.num_labels != 1 or not tokenizer.chat_template:
        raise UsageError(
            f"{directory}: a reward model has one label and a chat template; this has {model.config.num_labels} labels"
        )
    model.train(False).to(device)  # noqa: FBT003 - torch's signature

    def scores(exchanges: Sequence[tuple[list[dict[str, str]], str]]) -> list[float]:
        rewards = []
        with torch.no_grad():
            for turns, text in exchanges:
                prompt = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
                ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
                ids += [*tokenizer(text, add_special_tokens=False)["input_ids"], tokenizer.eos_token_id]
                states = model.base_model(input_ids=torch.tensor([ids], device=device)).last_hidden_state
                rewards.append(float(model.score(states[0, -1])))
        return rewards

    return scores
