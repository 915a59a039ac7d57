"""What decontamination finds: test items hidden in other text in nine ways, and text in which none is hidden.

    python -m benchmarks.data.injections --data DATA --clean 1000000
    python -m benchmarks.data.injections --data DATA --scale            index memory and rows a second at 10^3, 10^4, 10^5
                                                                   items

The items are those of IFBench and of our suite `core`; the text is cut from models' answers to IFEval, which asks for
neither. The set is drawn from one seed and was frozen before the rules were measured on it: its hash is asserted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.sources import DATA, answer_words

from adhere import suites
from adhere.text.repeats import NgramRule, SubsequenceRule, tokens
from adhere.text.spans import SpanRule

FROZEN = "71e37f4f01db70b9bf57519acc29238a43c33410087199957f6a9321271debd9"
ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MARKS = str.maketrans({"'": "’", '"': "”", ",": ";", ".": "!", ":": " -", "?": " ?"})


class Texts:
    """Words of real answers, and pieces of them."""

    def __init__(self, data: Path, seed: int) -> None:
        self.words = answer_words(data)
        self.rng = random.Random(seed)

    def piece(self, fewest: int, most: int) -> str:
        length = self.rng.randrange(fewest, most)
        start = self.rng.randrange(len(self.words) - length)
        return " ".join(self.words[start : start + length])


def whole(item: str, _texts: Texts) -> list[str]:
    return [item]


def embedded(item: str, texts: Texts) -> list[str]:
    return [f"{texts.piece(150, 1000)}\n\n{item}\n\n{texts.piece(150, 1000)}"]


def rewrapped(item: str, texts: Texts) -> list[str]:
    lines, line = [], ""
    width = texts.rng.randrange(25, 60)
    for word in item.split():
        if len(line) + len(word) > width:
            lines.append(f"  > {line}")
            line = ""
        line = f"{line} {word}".strip()
    return [f"{texts.piece(20, 60)}\n" + "\n".join([*lines, f"  > {line}"]) + f"\n{texts.piece(20, 60)}"]


def recased(item: str, texts: Texts) -> list[str]:
    return [f"{texts.piece(20, 60)} {texts.rng.choice([item.upper(), item.title(), item.lower(), item.swapcase()])}"]


def repunctuated(item: str, texts: Texts) -> list[str]:
    return [
        f"{texts.piece(20, 60)} "
        + re.sub(r"\s", lambda one: texts.rng.choice([one[0], one[0], " - ", " * "]), item.translate(MARKS))
    ]


def renumbered(item: str, texts: Texts) -> list[str]:
    """Numbers in words, or in Arabic-Indic digits."""
    found = re.sub(
        r"\d+",
        lambda one: (
            ONES[int(one[0])]
            if len(one[0]) < 3 and int(one[0]) < 13
            else "".join(chr(0x660 + int(digit)) for digit in one[0])
        ),
        item,
    )
    return [f"{texts.piece(20, 60)} {found}"]


def paraphrased(item: str, texts: Texts) -> list[str]:
    """Of its words one in ten gone, one in ten another, one in twenty before its neighbour."""
    words, made = item.split(), []
    for word in words:
        chance = texts.rng.random()
        if chance < 0.1:
            continue
        made.append(texts.rng.choice(texts.words) if chance < 0.2 else word)
        if 0.2 <= chance < 0.25 and len(made) > 1:
            made[-1], made[-2] = made[-2], made[-1]
    return [f"{texts.piece(20, 60)} {' '.join(made)} {texts.piece(20, 60)}"]


def chatted(item: str, texts: Texts) -> list[str]:
    begin, between, end = texts.rng.choice(
        [
            ("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"),
            ("### Human: ", "\n### Assistant: ", ""),
            ("[INST] ", " [/INST] ", "</s>"),
        ]
    )
    return [f"{begin}{item}{between}{texts.piece(50, 400)}{end}"]


def split(item: str, texts: Texts) -> list[str]:
    """Over two rows, each with other text; found where one of them is."""
    words = item.split()
    half = len(words) // 2
    return [f"{texts.piece(20, 60)} {' '.join(words[:half])}", f"{' '.join(words[half:])} {texts.piece(20, 60)}"]


WAYS: list[Callable[[str, Texts], list[str]]] = [
    whole,
    embedded,
    rewrapped,
    recased,
    repunctuated,
    renumbered,
    paraphrased,
    chatted,
    split,
]


def loaded(data: Path) -> list[str]:
    names = (f"ifbench:{data / 'ifbench/IFBench_test.jsonl'}", "core")
    texts = [prompt.everything for name in names for prompt in suites.load(name).prompts]
    return list(dict.fromkeys(text for text in texts if len(tokens(text)) >= 13))


def found_by(rule: SubsequenceRule | NgramRule | SpanRule, texts: list[str]) -> list[bool]:
    if isinstance(rule, NgramRule):
        return [rule.first(text) is not None for text in texts]
    return [match is not None for match in rule.matches(texts)]


def recall(data: Path, clean: int) -> None:
    items, texts = loaded(data), Texts(data, seed=20261122)
    ways = {
        way.__name__: [way(item, texts) for item in items if way is not renumbered or re.search(r"\d", item)]
        for way in WAYS
    }
    frozen = hashlib.sha256(json.dumps(ways).encode()).hexdigest()
    assert frozen == FROZEN, f"the set is another one: {frozen}"
    rows = [texts.piece(20, 300) for _ in range(clean)]
    long = [texts.piece(800, 2500) for _ in range(clean // 20)]
    print(
        f"{len(items)} items; {sum(map(len, ways.values()))} injections; clean: "
        f"{len(rows):,} rows of 20 to 300 words, {len(long):,} of 800 to 2500; set {frozen[:12]}"
    )
    for rule in (SubsequenceRule(items), NgramRule(items), SpanRule(items)):
        shares, hits, injected = [], 0, 0
        for name, made in ways.items():
            flat = iter(found_by(rule, [row for one in made for row in one]))
            caught = [sum(next(flat) for _ in one) > 0 for one in made]
            hits, injected = hits + sum(caught), injected + len(caught)
            shares.append(f"{name} {sum(caught) / len(caught):.3f}")
        started = time.process_time()
        false = sum(found_by(rule, rows))
        taken = time.process_time() - started
        false_long = sum(found_by(rule, long))
        print(
            f"{type(rule).__name__:15} {', '.join(shares)}; all {hits / injected:.3f}; clean rows dropped: "
            f"{false} short, {false_long} long; precision {hits / (hits + false):.4f}, "
            f"with the long ones {hits / (hits + false + false_long):.4f}; {len(rows) / taken:,.0f} short clean rows "
            "a second of one core",
            flush=True,
        )


def scale(data: Path) -> None:
    """Items of 40 words and documents of 200 from different halves of the answers."""
    texts = Texts(data, seed=7)
    middle = len(texts.words) // 2
    starts = [texts.rng.randrange(middle - 40) for _ in range(100_000)]
    items = [" ".join(texts.words[start : start + 40]) for start in starts]
    documents = [
        " ".join(texts.words[start : start + 200])
        for start in (texts.rng.randrange(middle, len(texts.words) - 200) for _ in range(10_000))
    ]
    for count in (1_000, 10_000, 100_000):
        for kind in (SubsequenceRule, NgramRule, SpanRule):
            if os.fork():  # each in a process of its own, whose memory nobody has used before
                os.wait()
                continue
            before, started = _memory_mb(), time.process_time()
            rule = kind(items[:count])
            made, held = time.process_time() - started, _memory_mb() - before
            some = documents if kind is SpanRule else documents[: max(400, 10_000_000 // count)]
            started = time.process_time()
            dropped = sum(found_by(rule, some))
            taken = time.process_time() - started
            print(
                (
                    f"{count:>7,} items {kind.__name__:15} index {made:5.1f} s, {held:6.0f} MB; "
                    f"{len(some) / taken:8,.0f} rows a second of one core ({len(some)} rows, {dropped} dropped)"
                ),
                flush=True,
            )
            os._exit(0)


def _memory_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--clean", type=int, default=1_000_000)
    parser.add_argument("--scale", action="store_true")
    arguments = parser.parse_args()
    scale(arguments.data) if arguments.scale else recall(arguments.data, arguments.clean)


if __name__ == "__main__":
    main()
