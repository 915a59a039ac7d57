"""An evaluation in one file: ask, judge, count, say how sure. Then read `src/adhere/pipeline/evaluate.py`.

    python examples/evaluate_loop.py MODEL_DIR PROMPTS.jsonl > verdicts.jsonl

A line of PROMPTS.jsonl is one of IFEval's: `{"key": 1, "prompt": "…", "instruction_id_list": […], "kwargs": […]}`.
Nothing of adhere is used but its judge. A test holds the verdicts equal to those of `adhere eval`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import adhere


def prompt_of(row: dict) -> adhere.Prompt:
    """Make a prompt of a line of IFEval; parameters that are null were not set."""
    refs = tuple(
        adhere.ConstraintRef(name, {key: value for key, value in (kwargs or {}).items() if value is not None})
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True)
    )
    return adhere.Prompt(str(row["key"]), (adhere.Turn(row["prompt"], refs),))


def answer_of(model: torch.nn.Module, tokenizer: object, text: str, tokens: int) -> tuple[str, bool]:
    """Draw the greedy answer to one prompt, and whether it was cut at the limit of tokens."""
    messages = [{"role": "user", "content": text}]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        drawn_ids = model.generate(**ids, do_sample=False, max_new_tokens=tokens, pad_token_id=tokenizer.eos_token_id)
    answer = drawn_ids[0, ids["input_ids"].shape[1] :]  # what follows the prompt
    ends = torch.as_tensor(model.generation_config.eos_token_id)
    was_cut = not bool(torch.isin(answer[-1:], ends).any())
    return tokenizer.decode(answer, skip_special_tokens=True), was_cut


def wilson(passed: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the 95 % interval of a rate (Wilson, J. Am. Stat. Assoc. 22, 1927): it never leaves 0 to 1."""
    rate, z2_n = passed / n, z * z / n
    middle = (rate + z2_n / 2) / (1 + z2_n)
    half = z * math.sqrt(rate * (1 - rate) / n + z2_n / (4 * n)) / (1 + z2_n)
    return middle - half, middle + half


def main() -> None:
    """Do it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder that transformers loads")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--tokens", type=int, default=512)
    parser.add_argument("--limit", type=int, help="the first N prompts")
    arguments = parser.parse_args()

    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    model = AutoModelForCausalLM.from_pretrained(arguments.model, dtype=torch.float32).eval()
    lines = arguments.prompts.read_text(encoding="utf-8").splitlines()[: arguments.limit]
    outcomes: list[bool | None] = []  # of each prompt; None: not measured
    statuses = Counter[str]()
    for line in lines:
        prompt = prompt_of(json.loads(line))
        try:
            text, was_cut = answer_of(model, tokenizer, prompt.turns[0].text, arguments.tokens)
        except RuntimeError as error:  # no memory, say. No measurement, no number: it is no failed prompt
            print(f"{prompt.id}: {error}", file=sys.stderr)
            statuses["error"] += 1
            outcomes.append(None)
            continue
        status = "truncated" if was_cut else "ok"
        statuses[status if text.strip() else "empty"] += 1  # a blank answer is empty, cut or not
        # The published code judges a cut answer as it stands, so that is what IFEval's numbers mean. The strict view is
        # the text as it came.
        verdicts = adhere.judge(prompt, text, views=["strict"])
        results = {verdict.outcome for verdict in verdicts}
        # One failed constraint fails the prompt, whatever the others are. Else one undecided leaves it unmeasured.
        if "fail" in results:
            outcomes.append(False)
        elif "undecided" in results:
            outcomes.append(None)
        else:
            outcomes.append(True)
        for verdict in verdicts:
            print(json.dumps({"key": prompt.id, "index": verdict.index, "instruction_id": verdict.constraint_id,
                "strict": verdict.outcome, "reason": verdict.reason}))  # fmt: skip

    measured = [outcome for outcome in outcomes if outcome is not None]
    accounts = " + ".join(f"{count} {status}" for status, count in statuses.items())
    print(f"n {len(outcomes)} = {accounts}", file=sys.stderr)
    if not measured:
        print("prompts passed (strict): – (nothing was measured)", file=sys.stderr)
        return
    low, high = wilson(sum(measured), len(measured))
    rate = 100 * sum(measured) / len(measured)
    print(
        f"prompts passed (strict) {sum(measured)}/{len(measured)}  {rate:.1f} %  {100 * low:.1f}…{100 * high:.1f}",
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
