"""The part of FollowBench that a program decides: profile `followbench`, one kind for each way of its code to decide.

Each judges a whole answer at one level; the rules of a level are those of the level below and one more, as the
published functions are written. Quirks are kept: a sentence is what stands between `.`, `!` and `?`, blanks too; words
are the pieces between single blanks; `-ly` in format 30 is looked for with its hyphen; the last level of format 22
counts four blocks, where the others count three, and its levels 4 and 5 ask for numbers ("1.") whose stop makes a
sentence of one word, where each needs more than 20: none can pass.

Source: Y. Jiang et al., arXiv 2310.20410; `code/rule_based_evaluation.py` at 0bbc4d7, written anew.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Callable, Mapping
from functools import partial

from adhere.constraints.finding import Finding, verdict
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Param, declare, register
from adhere.schema import Json

PROFILES = ("followbench",)
Rule = tuple[str, Callable[[str], bool]]  # what a level adds, and whether an answer keeps it

_STOPS = re.compile(r"[.!?]")
_LAST = {
    "BBH_logical": re.compile(r"\([A-Z]\)"),
    "BBH_time": re.compile(r"\d{2}/\d{2}/\d{4}"),
    "gsm_8k": re.compile(r"\$\d+"),
}


def _sentences(text: str) -> list[str]:
    return [piece for piece in _STOPS.split(text) if piece]


def _has(text: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", text) is not None


def _in_sentence(text: str, number: int, word: str) -> bool:
    sentences = _sentences(text)
    return len(sentences) >= number and _has(sentences[number - 1], word)


def _is_perfect(text: str, number: int) -> bool:
    sentences = _sentences(text)
    return len(sentences) >= number and re.search(r"\b(has|have)\s+\w+", sentences[number - 1]) is not None


def _words(text: str) -> int:
    return len(text.split(" "))


def _marks(text: str) -> int:
    return sum(character in string.punctuation for character in text)


def _blocks(count: int) -> Callable[[str], bool]:
    return lambda text: len(text.split("\n\n")) == count


def _first_blocks_are_short(text: str) -> bool:
    blocks = text.split("\n\n")[:3]
    return len(blocks) == 3 and all(len(_sentences(block)) < 3 for block in blocks)


def _blocks_are_numbered(text: str) -> bool:
    blocks = (block.lstrip() for block in text.split("\n\n"))
    return all(re.match(r"\d+\.", block) for block in blocks if block)


_FORMAT_30_SENTENCES = re.compile(r"(?<!\w\.\w.)(?<![A-Z][a-z]\.)(?<=\.|\?)\s")


def _numbered_sentences_are_short(text: str) -> bool:
    pieces = _FORMAT_30_SENTENCES.split(text)
    numbered = [piece for piece in pieces if any(f"{number}." in piece for number in range(1, 6))]
    return all(len(piece.split(".")) < 3 for piece in numbered)


def _is_last(form: re.Pattern[str], text: str, target: str) -> bool:
    return form.findall(text)[-1:] == [target]


SUMMARIES: dict[str, tuple[Rule, ...]] = {
    "cnn_dailymail": (
        ("three sentences", lambda text: len(_sentences(text)) == 3),
        ("fewer than 15 words a sentence", lambda text: all(len(piece.split()) < 15 for piece in _sentences(text))),
        (
            "Potter, actor and films in sentences 1, 2 and 3",
            lambda text: all(_in_sentence(text, at, word) for at,
                word in enumerate(("Potter", "actor", "films"), start=1)),
        ),
        ("no lavish in sentence 2", lambda text: not _in_sentence(text, 2, "lavish")),
        ("sentence 3 in the present perfect", lambda text: _is_perfect(text, 3)),
    ),
    "xsum": (
        ("one sentence", lambda text: len(_sentences(text)) == 1),
        ("fewer than 20 words", lambda text: _words(text) < 20),
        ("no Newton Stewart", lambda text: not _has(text, "Newton Stewart")),
        ("the present continuous", lambda text: re.search(r"\b(am|is|are)\s+\w+ing\b", text) is not None),
        ("the word operation", lambda text: _has(text, "operation")),
    ),
    "samsum": (
        ("one sentence", lambda text: len(_sentences(text)) == 1),
        ("fewer than 15 words", lambda text: _words(text) < 15),
        ("the word stuff", lambda text: _has(text, "stuff")),
        ("no form of procrastinate", lambda text: re.search("procrast", text, re.IGNORECASE) is None),
        ("one punctuation mark", lambda text: _marks(text) == 1),
    ),
    "gigaword": (
        ("eight words", lambda text: _words(text) == 8),
        ("no punctuation mark", lambda text: not _marks(text)),
        ("lower case", str.islower),
        ("no bus", lambda text: not _has(text, "bus")),
        ("the word in", lambda text: _has(text, "in")),
    ),
    "arxiv": (
        ("one sentence", lambda text: len(_sentences(text)) == 1),
        ("at most 20 words", lambda text: _words(text) <= 20),
        ("We at the start", lambda text: text[:2] == "We"),
        ("the word activations", lambda text: _has(text, "activations")),
        ("no transformer", lambda text: not _has(text, "transformer")),
    ),
    "format 30": (
        ("the marker **", lambda text: "**" in text),
        ("five points such as **1. Growth:", lambda text: len(re.findall(r"\*\*[\d].+?:", text)) == 5),
        ("points of fewer than two sentences", _numbered_sentences_are_short),
        ("sentences of 10 to 15 words",
            lambda text: all(10 <= len(s.split()) <= 15 for s in _FORMAT_30_SENTENCES.split(text))),
        ("no word in -ly", lambda text: not any(word.endswith("-ly") for word in text.split())),
    ),
    "format 22": (
        ("three blocks", _blocks(3)),
        ("at most two sentences a block", _first_blocks_are_short),
        ("more than 20 words a sentence", lambda text: all(len(piece.split()) > 20 for piece in _sentences(text))),
        ("numbered blocks", _blocks_are_numbered),
        ("Those are suggestions at the end", lambda text: text.endswith("Those are suggestions")),
    ),
}  # fmt: skip
"""Sources whose rules are written out: source -> what each of its five levels adds."""

ANSWERS: dict[str, Callable[[str, str], bool]] = {
    "E2E": lambda text, target: text == target,
    "text_editing": lambda text, target: text == target,
    "WIKIEVENTS": lambda text, target: set(text.split("\n")) <= set(target.split("\n")),
    "CONLL2003": lambda text, target: text in (choices(target) or ()),
    "self_made_space": lambda text, target: target in text,
    **{name: partial(_is_last, form) for name, form in _LAST.items()},
}
"""Sources with a target: source -> how an answer is compared with the target."""


def choices(target: str) -> list[str] | None:
    """Return the answers that a target in Python's notation lists; None if it is no list."""
    try:
        literal = ast.literal_eval(target)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        literal = None
    return [str(choice) for choice in literal] if isinstance(literal, list) else None


def _summary(values: Mapping[str, Json]) -> Check:
    source, level = str(values["source"]), int(str(values["level"]))
    rules = SUMMARIES[source]
    chosen = list(rules[:level])
    if source == "format 22" and level == len(rules):
        chosen[0] = ("four blocks", _blocks(4))

    def check(text: Text) -> Finding:
        broken = next((label for label, holds in chosen if not holds(text.raw)), None)
        return verdict(broken is None, "keeps every rule of its level" if broken is None else f"breaks: {broken}")

    return check


def _answer(values: Mapping[str, Json]) -> Check:
    source, target = str(values["source"]), str(values["target"])
    compare = ANSWERS[source]
    if source == "CONLL2003" and choices(target) is None:
        undecided = Finding(
            "undecided", "the target is no list in Python's notation, and then the published code raises"
        )
        return lambda text: undecided  # noqa: ARG005
    return lambda text: verdict(
        ok := compare(text.raw, target), f"the answer {'is' if ok else 'is not'} the target by the rule of {source}"
    )


def _template(values: Mapping[str, Json]) -> Check:
    target = str(values["target"]).replace("{instruction}\n", "")
    plain = target.replace("{{", "{").replace("}}", "}").replace("{answer}", ".*")
    form = re.compile(re.escape(plain).replace(r"\.\*", ".*"))
    return lambda text: verdict(
        ok := form.fullmatch(text.raw) is not None, f"the answer {'has' if ok else 'has not'} the form of the examples"
    )


_TEXT = Param("string", required=True)
_LEVELS = ("1", "2", "3", "4", "5")
register(
    declare(
        "followbench:summary",
        PROFILES,
        _summary,
        "Keep the rules of {source} up to level {level}.",
        source=Param("string", required=True, choices=tuple(SUMMARIES)),
        level=Param("string", required=True, choices=_LEVELS),
    ),
    declare(
        "followbench:answer",
        PROFILES,
        _answer,
        "Give the target answer, compared as {source} is.",
        source=Param("string", required=True, choices=tuple(ANSWERS)),
        target=_TEXT,
    ),
    declare("followbench:template", PROFILES, _template, "Answer in the form of the examples.", target=_TEXT),
)
