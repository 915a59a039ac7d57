"""Tell whether a text reads as an answer.

Such a text responds to its request, ends where a sentence ends, and no edit cut a sentence. A passing verdict says
nothing of this: programs that repair an answer can keep every rule and leave a fragment behind.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from adhere.constraints.kinds.shared.json_shape import texts
from adhere.pipeline.intent.gate import dictates
from adhere.pipeline.responding.others import Others
from adhere.pipeline.responding.respond import Exchange, responds
from adhere.schema import Prompt
from adhere.text.words import sentence_spans, words

Fault = Literal["does not respond", "stops in a sentence", "holds a fragment", "holds filler"]
FAULTS: tuple[Fault, ...] = ("does not respond", "stops in a sentence", "holds a fragment", "holds filler")

_KEYED = ("answer:", "exact:", "code:")
FEWEST_OF_A_SENTENCE = 12  # a shorter answer may be a name, a title or a number, which no full stop ends
_RUN = 2  # a run of so many of the original's words is taken from it; a single word may be there by chance
_MOST_ADDED = 2  # words that neither the model nor a rule said
_MOST_MISSING = 2  # a sentence may lose a forbidden word or two and still be that sentence
_CLOSERS = "\"'”’»)]}>*_`~ \n\t"
_STOPS = ".!?…。！？:"
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def fault_of(prompt: Prompt, text: str, *, original: str | None = None, others: Others | None = None) -> Fault | None:
    """Return why a passing text does not read as an answer; None if no fault is found.

    Args:
        prompt: The prompt that `text` answers.
        text: The answer, or an edited one.
        original: The text before editing; None: not edited.
        others: The answers to other prompts; None: no comparison with them.
    """
    if is_keyed(prompt):
        return None
    if original is None and not ends_whole(prompt, text):
        return "stops in a sentence"
    if original is not None and not keeps_sentences(original, text):
        return "holds a fragment"
    if original is not None and adds_filler(prompt, original, text):
        return "holds filler"
    exchange = Exchange(prompt.text, text, prompt.constraints)
    return "does not respond" if responds(exchange, others=others).outcome == "no" else None


def is_keyed(prompt: Prompt) -> bool:
    """Tell whether a constraint knows the right answer or runs the text; such texts get no other check."""
    return any(ref.id.startswith(_KEYED) for ref in prompt.constraints)


def ends_whole(prompt: Prompt, text: str) -> bool:
    """Tell whether a text stops where a sentence, an item or a data structure stops.

    Strings that a constraint asks for are taken off the end first. Texts of few words pass, as they may be names or
    numbers.
    """
    text = text.rstrip()
    for ending in _strings(prompt):
        if text.lower().endswith(ending.lower()):
            text = text[: -len(ending)].rstrip()
    body = text.rstrip(_CLOSERS)
    if not body or len(words(text)) < FEWEST_OF_A_SENTENCE:
        return True
    return body[-1] in _STOPS or _value(text) is not None or _ITEM.match(text.splitlines()[-1]) is not None


def _strings(prompt: Prompt) -> Iterator[str]:
    for ref in prompt.constraints:
        yield from (value for value in ref.params.values() if isinstance(value, str) and value.strip())


def adds_filler(prompt: Prompt, original: str, edit: str) -> bool:
    """Tell whether an edit adds more than two words that are neither in the original nor in a rule.

    A repair that writes *A good keyword here is lamp* keeps a rule about *lamp* and says nothing. If a rule dictates
    the text, nothing is filler.
    """
    if any(dictates(ref) for ref in prompt.constraints):
        return False
    rule_texts = [text for ref in prompt.constraints for text in texts(dict(ref.params))]
    rule_words = {word.lower() for text in rule_texts for word in words(text)}
    added_words = Counter(word.lower() for word in words(edit)) - Counter(word.lower() for word in words(original))
    return sum(count for word, count in added_words.items() if word not in rule_words) > _MOST_ADDED


def keeps_sentences(original: str, edit: str) -> bool:
    """Tell whether every piece of `edit` holds whole sentences of `original`, or none of its words.

    Pieces are lines, and the texts of a JSON value. Case and punctuation may change; words may be added; a sentence may
    be left out whole, or lose at most two words.
    """
    original_words, bounds = _sentences(original)
    return all(_is_whole(original_words, bounds, [word.lower() for word in words(piece)]) for piece in _pieces(edit))


def _sentences(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return a text's lower-case words, and each sentence's (first, last + 1) places among them."""
    all_words: list[str] = []
    bounds: list[tuple[int, int]] = []
    for line in text.splitlines():
        for start, end in sentence_spans(line):
            piece = [word.lower() for word in words(line[start:end])]
            if piece:
                bounds.append((len(all_words), len(all_words) + len(piece)))
                all_words += piece
    return all_words, bounds


def _is_whole(original_words: Sequence[str], bounds: Sequence[tuple[int, int]], piece: Sequence[str]) -> bool:
    """Tell whether a piece takes each sentence of `original_words` whole or not at all."""
    blocks = SequenceMatcher(None, original_words, piece, autojunk=False).get_matching_blocks()
    runs, common = (
        {place for block in blocks if block.size >= shortest for place in range(block.a, block.a + block.size)}
        for shortest in (_RUN, 1)
    )
    for start, end in bounds:
        missing = sum(place not in common for place in range(start, end))
        if missing > min(_MOST_MISSING, (end - start) // 4) and not runs.isdisjoint(range(start, end)):
            return False
    return True


def _pieces(text: str) -> list[str]:
    value = _value(text)
    if value is not None:
        return list(texts(value))  # a rule names the keys
    return [_ITEM.sub("", line, count=1) for line in text.splitlines() if line.strip()]


def _value(text: str) -> object | None:
    """Return the JSON object or list that a text is, without a code fence; None if it is none."""
    body = re.sub(r"\A```\w*\n|\n?```\Z", "", text.strip())
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None
