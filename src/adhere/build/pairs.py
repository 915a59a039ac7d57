"""Preference pairs: an answer that keeps the rules against one that breaks them, to the same prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from adhere.build.filter import Answer, Candidate, breaks_one
from adhere.schema import Prompt
from adhere.text.words import count_words


class Pair(NamedTuple):
    """`chosen` passes and `rejected` fails under the judge."""

    chosen: str
    rejected: str
    origin: str


def pairs(
    prompt: Prompt, answers: Sequence[Answer], passing: Sequence[Candidate], repairs: Sequence[Candidate], count: int
) -> list[Pair]:
    """At most `count` pairs of one prompt.

    Both sides are the model's own where it passed at least once; only prompts without such a pair get a repaired answer
    against its original.

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
    """Each passing answer against the unused failing one nearest to it in length. So length does not tell them apart.

    Answers that ended by themselves are used before cut ones; a cut one counts only if its text breaks a rule by
    itself.
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
