"""GRPO in one file: draw, judge, compare within the group, step. Then read `src/adhere/train/methods/grpo.py`.

    python examples/grpo_loop.py MODEL_DIR ROWS.jsonl --steps 20 --out trained

A row is `{"prompt": "…", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}`, as `adhere build` and IFEval
write them. Nothing of adhere is used but its judge. A test holds the loss equal to that of `adhere train`.

Sizes: P prompts a step, G answers a prompt, B = P·G answers, T tokens of the longest prompt and answer together.
Source: arXiv 2402.03300 (GRPO) without its KL term, the loss of arXiv 2503.14476 (DAPO): a mean over all answers' tokens.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch.nn.functional import log_softmax
from transformers import AutoModelForCausalLM, AutoTokenizer

import adhere


def advantages_of(rewards: torch.Tensor) -> torch.Tensor:
    """Center and scale the rewards (P, G) of each group: what is learned is which answer of a group was better.

    A group whose rewards are all equal teaches nothing: its advantages are 0.
    """
    center = rewards - rewards.mean(dim=1, keepdim=True)
    return center / (rewards.std(dim=1, keepdim=True) + 1e-4)  # a zero spread would divide by 0


def log_probs_of(
    model: torch.nn.Module, ids: torch.Tensor, attention: torch.Tensor, temperature: float
) -> torch.Tensor:
    """Return the log-probability of each token of `ids` (B, T) given those before it: (B, T), 0 for the first.

    At the temperature of the draws, because the policy that is learned is the one that was drawn from.
    """
    # Prompts are padded on the left, so positions are counted from each prompt's own first token.
    positions = (attention.cumsum(dim=1) - 1).clamp(min=0)  # (B, T)
    logits = model(input_ids=ids, attention_mask=attention, position_ids=positions).logits  # (B, T, V)
    # The logits at t say what comes at t + 1.
    all_log_probs = log_softmax(logits[:, :-1].float() / temperature, dim=-1)  # (B, T-1, V)
    log_probs = all_log_probs.gather(2, ids[:, 1:, None]).squeeze(2)  # (B, T-1)
    return torch.cat([torch.zeros_like(log_probs[:, :1]), log_probs], dim=1)


def loss_of(
    log_probs: torch.Tensor, old_log_probs: torch.Tensor, advantages: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Return the clipped policy loss, a scalar.

    Args:
        log_probs: Of every token under the policy (B, T), with gradient.
        old_log_probs: The same under the policy that drew the answers. Here each draw is learned from once, so they are equal.
        advantages: Of every answer (B).
        mask: 1 where a token is part of an answer that was measured, else 0 (B, T).
    """
    ratio = (log_probs - old_log_probs).exp()  # (B, T); 1 before a first step, with the gradient of log_probs
    a = advantages[:, None]
    losses = -torch.minimum(ratio * a, ratio.clamp(0.8, 1.2) * a)  # no reward for going further than 20 %
    return (losses * mask).sum() / mask.sum()  # a mean over tokens: no answer counts more for being short


def main() -> None:
    """Do it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder that transformers loads")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=8, help="P")
    parser.add_argument("--answers", type=int, default=8, help="G")
    parser.add_argument("--tokens", type=int, default=64, help="of an answer, at most")
    parser.add_argument("--rate", type=float, default=3e-6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("trained"))
    arguments = parser.parse_args()
    if arguments.answers < 2:
        parser.error("--answers: a group of one has nothing to be compared with")

    torch.manual_seed(arguments.seed)
    tokenizer = AutoTokenizer.from_pretrained(arguments.model, padding_side="left")
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    # In eval mode nothing is dropped, so that drawing and learning see the same policy.
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).eval()
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.rate, weight_decay=0.0)
    # dense: the share of the constraints kept. A cut answer is known by its last token and earns 0, so the judge asks
    # the model which tokens end an answer.
    reward = adhere.judge_reward("dense", end_tokens=model)
    rows = [json.loads(line) for line in arguments.rows.read_text(encoding="utf-8").splitlines()]

    for step in range(arguments.steps):
        batch = [rows[(step * arguments.prompts + place) % len(rows)] for place in range(arguments.prompts)]  # P
        texts = [
            tokenizer.apply_chat_template(
                [{"role": "user", "content": row["prompt"]}], tokenize=False, add_generation_prompt=True
            )
            for row in batch
        ]
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        # 1. Draw G answers to each prompt. With temperature 1 and no cut of the distribution they are from the policy.
        with torch.no_grad():
            ids = model.generate(
                **inputs, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=arguments.tokens,
                num_return_sequences=arguments.answers, pad_token_id=tokenizer.pad_token_id,
            )  # (B, T)  # fmt: skip
        start = inputs["input_ids"].shape[1]
        # An answer ends with its first end token; what generate put behind it is padding.
        ends = torch.isin(ids[:, start:], torch.as_tensor(model.generation_config.eos_token_id))
        is_kept = (ends.cumsum(dim=1) - ends.long()) == 0  # (B, T - start): up to and with the first end token
        attention = torch.cat([inputs["attention_mask"].repeat_interleave(arguments.answers, 0), is_kept.long()], dim=1)

        # 2. Judge every answer by the constraints of its prompt.
        answers = [row[keep] for row, keep in zip(ids[:, start:], is_kept, strict=True)]
        row_of = [row for row in batch for _ in range(arguments.answers)]  # B: the row of each answer
        scores = reward(  # called as TRL calls a reward: a list for each column, an entry for each answer
            prompts=[row["prompt"] for row in row_of],
            completions=tokenizer.batch_decode(answers, skip_special_tokens=True),
            completion_ids=[answer.tolist() for answer in answers],
            **{name: [row[name] for row in row_of] for name in ("instruction_id_list", "kwargs")},
        )
        # An answer that could not be judged is no 0: its whole group is left out of this step. `generate` keeps the
        # answers to a prompt beside each other, so the view has a group a row.
        numbers = [float("nan") if score is None else score for score in scores]
        rewards = torch.tensor(numbers).view(-1, arguments.answers)  # (P, G)
        is_measured = ~rewards.isnan().any(dim=1)
        advantages = advantages_of(rewards.nan_to_num()).view(-1)  # (B)
        mask = torch.zeros_like(ids, dtype=torch.float32)
        mask[:, start:] = is_kept & is_measured.repeat_interleave(arguments.answers)[:, None]  # (B, T - start) & (B, 1)

        # 3. One step on the answers just drawn: the policy that drew them is the policy itself.
        if mask.any():
            log_probs = log_probs_of(model, ids, attention, temperature=1.0)
            loss = loss_of(log_probs, log_probs.detach(), advantages, mask)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        print(f"step {step + 1}: mean reward {rewards.nanmean():.3f}, tokens {int(mask.sum())}", flush=True)

    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    print(f"Weights: {arguments.out}")


if __name__ == "__main__":
    main()
