"""How far `sound` lies below passed for models that mean what they say: the price of counting sound answers.

    python -m benchmarks.traps.sound

IFEval's published answers in ../shared/data, judged here (strict view). What passes and is not sound is listed by the
rules of its prompt, for reading: a prompt may ask for one word, or for itself again.
"""

from __future__ import annotations

import json
from collections import Counter

from benchmarks.sources import DATA

from adhere.pipeline.check import check
from adhere.pipeline.guard import guard
from adhere.schema import Response
from adhere.suites import load


def main() -> None:
    """Print a row a model."""
    prompts = {str(prompt.key): prompt for prompt in load(f"ifeval:{DATA / 'ifeval' / 'input_data.jsonl'}").prompts}
    print(f"{'model':58} passed   sound  passed and not sound, by rule")
    for file in sorted((DATA / "ifeval" / "responses").glob("*.jsonl")):
        passed = sound = asked = 0
        rules: Counter[str] = Counter()
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            prompt = prompts[str(row["key"])]
            verdicts = check(prompt, Response(prompt.id, 0, 0, row["response"], "ok"))
            passes = all(one.outcome == "pass" for one in verdicts if one.view == "strict")
            is_sound = passes and not guard(prompt, row["response"]).is_letter_alone
            asked, passed, sound = asked + 1, passed + passes, sound + is_sound
            if passes and not is_sound:
                rules.update(ref.id.rpartition(":")[2] for ref in prompt.constraints)
        most = ", ".join(f"{name} {n}" for name, n in rules.most_common(4))
        print(f"{file.stem:58} {passed / asked:6.1%}  {sound / asked:6.1%}  {most}")


if __name__ == "__main__":
    main()
