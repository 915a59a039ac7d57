"""Make preference pairs: to one prompt, an answer that keeps the rules and one that breaks them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adhere.build.filter import Answer, Candidate, breaks_one
from adhere.schema import Prompt
from adhere.text.words import count_words


class Pair(NamedTuple):
    """Holds an answer that passes (`chosen`) and one that fails (`rejected`) under the judge.

    `origin` is `sampled` if the model wrote both, `repaired` if the first is an edit of the second.
    """

    chosen: str
    rejected: str
    origin: str


def pairs(
    prompt: Prompt, answers: Sequence[Answer], passing: Sequence[Candidate], repairs: Sequence[Candidate], count: int
) -> list[Pair]:
    """Return at most `count` pairs for one prompt.

    Both answers are the model's own if at least one such pair exists. Otherwise a repaired answer is paired with its
    original.

    Args:
        prompt: The prompt.
        answers: All judged draws.
        passing: Answers that pass as written, best first.
        repairs: Repaired answers, best first.
        count: The most pairs to make.
    """
    sampled_pairs = _pair_by_length(prompt, answers, passing, count)
    if sampled_pairs:
        return sampled_pairs
    return [Pair(repair.text, repair.original, "repaired") for repair in repairs[:count] if repair.original is not None]


def _pair_by_length(prompt: Prompt, answers: Sequence[Answer], passing: Sequence[Candidate], count: int) -> list[Pair]:
    """Pair each passing answer with the unused failing one nearest in length, so that length does not tell them apart.

    Answers that ended by themselves are used before cut ones. A cut one counts only if its text itself breaks a rule.
    """
    failing = {
        answer.text: answer
        for answer in sorted(
            answers, key=lambda answer: (answer.status == "ok", -answer.draw)
        )  # of equal texts, the last stays
        if not answer.passed and answer.text and breaks_one(prompt, answer.text)
    }
    sampled_pairs: list[Pair] = []
    for candidate in passing[:count]:
        if not failing:
            break
        length = count_words(candidate.text)
        rejected = min(
            failing.values(),
            key=lambda answer: (answer.status != "ok", abs(count_words(answer.text) - length), answer.draw),
        )
        del failing[rejected.text]
        sampled_pairs.append(Pair(candidate.text, rejected.text, "sampled"))
    return sampled_pairs
