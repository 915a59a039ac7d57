"""Choose documents that are worth pre-training on, as far as programs can tell.

The criteria are repetition, language, and how much of a text instructs. Repetition is decided by the rules and limits
of Gopher (arXiv 2112.11446, table A1): lines and paragraphs that occur twice, n-grams that occur often. N-grams are of
words separated by white space. How ours differs: none of its rules of quality (stop words, symbols, bullets) is here.

The density of instructions is ours: the share of sentences that ask (end in a question mark), begin with one of a few
dozen verbs in the imperative, or number a step. It sorts texts roughly, for data that should hold more or less of
how-to.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from adhere.build.transforms.base import Row, Transform, UnfitRow, each
from adhere.constraints.published.shared.language import detect
from adhere.text.words import sentence_spans

_TWICE_LINES, _TWICE_LINE_CHARACTERS = 0.30, 0.20  # of paragraphs the same
_TOP = {2: 0.20, 3: 0.18, 4: 0.16}  # share of the characters that the commonest n-gram covers
_AGAIN = {5: 0.15, 6: 0.14, 7: 0.13, 8: 0.12, 9: 0.11, 10: 0.10}  # share of them in n-grams that stand again
_IMPERATIVE = re.compile(
    r"(?:(?:first|then|next|now|finally|please),?\s+)?(?:add|answer|apply|ask|avoid|call|change|check|choose|click|"
    r"close|combine|compare|connect|"
    r"consider|copy|create|define|delete|describe|do not|don't|draw|ensure|enter|explain|find|fill|follow|give|go|"
    r"imagine|install|keep|let|list|"
    r"look|make|mix|move|name|note|open|place|pour|press|put|read|remember|remove|repeat|replace|run|save|select|send|"
    r"set|show|start|stop|"
    r"summarize|take|think|translate|try|turn|type|use|wait|write)\b",
    re.IGNORECASE,
)
_STEP = re.compile(r"(?:step\s+\d+|\d{1,2}[.)])\s", re.IGNORECASE)


def repetition(text: str) -> str | None:
    """Return why a text repeats itself too much, with the measure and its limit; None if it does not."""
    for noun, pieces in (
        ("paragraphs", [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]),
        ("lines", [line.strip() for line in text.split("\n") if line.strip()]),
    ):
        again = _again(pieces)
        share, characters = (
            len(again) / len(pieces) if pieces else 0.0,
            sum(map(len, again)) / max(1, sum(map(len, pieces))),
        )
        if share > _TWICE_LINES or characters > _TWICE_LINE_CHARACTERS:
            return (
                f"{share:.0%} of its {noun} ({characters:.0%} of their characters) stand in it "
                "before; at most 30 % (20 %)"
            )
    words = text.split()
    size = max(1, sum(map(len, words)))
    for n, limit in _TOP.items():
        grams = Counter(zip(*(words[at:] for at in range(n)), strict=False))
        if grams:
            gram, count = grams.most_common(1)[0]
            share = count * sum(map(len, gram)) / size
            if count > 1 and share > limit:
                return f"{' '.join(gram)[:60]!r} makes {share:.0%} of its characters; at most {limit:.0%} for {n} words"
    for n, limit in _AGAIN.items():
        share = _covered_again(words, n) / size
        if share > limit:
            return (
                f"{share:.0%} of its characters are in runs of {n} words that stand in it before; at most {limit:.0%}"
            )
    return None


def _again(pieces: Sequence[str]) -> list[str]:
    """Return the pieces without the first of each that are equal."""
    seen: set[str] = set()
    return [piece for piece in pieces if piece in seen or seen.add(piece)]  # type: ignore[func-returns-value]


def _covered_again(words: Sequence[str], n: int) -> int:
    """Count the characters of words in n-grams that occurred before; no word is counted twice."""
    seen: set[tuple[str, ...]] = set()
    covered_chars, end = 0, 0
    for at in range(len(words) - n + 1):
        gram = tuple(words[at : at + n])
        if gram in seen:
            covered_chars += sum(map(len, words[max(at, end) : at + n]))
            end = at + n
        seen.add(gram)
    return covered_chars


def instruction_density(text: str) -> float:
    """Return the share of sentences that ask, tell to do something or number a step; 0 without sentences."""
    sentences = [text[start:end].lstrip("-*# \t") for start, end in sentence_spans(text)]
    instructing = [s for s in sentences if s.rstrip("\"')").endswith("?") or _IMPERATIVE.match(s) or _STEP.match(s)]
    return len(instructing) / len(sentences) if sentences else 0.0


def _keep(row: Row, _rng: random.Random, options: Mapping[str, Any]) -> Row:
    text = row.get("text")
    if not isinstance(text, str) or not text.strip():
        raise UnfitRow("it has no text")
    if (why := repetition(text)) is not None:
        raise UnfitRow(why)
    language = detect(text) if options["language"] else None
    if language != (options["language"] or None):
        raise UnfitRow(f"its language is {language or 'not to be told'}, not {options['language']}")
    density = instruction_density(text)
    if not options["least_density"] <= density <= options["most_density"]:
        raise UnfitRow(
            f"{density:.0%} of its sentences instruct; wanted are {options['least_density']:.0%} to "
            f"{options['most_density']:.0%}"
        )
    return row


TRANSFORM = Transform(
    "documents",
    1,
    "arXiv 2112.11446, table A1 (repetition); arXiv 2406.14491 (what they are for)",
    ("text",),
    "Plain text for the stage `continue`: leaves out what repeats itself, is in another language, "
    "or instructs too little or too much.",
    each(_keep),
    {"language": "", "least_density": 0.0, "most_density": 1.0},
)
