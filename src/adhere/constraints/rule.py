"""Share code between the package's own kinds.

No answer without words passes, findings are worded alike, and draws have fallbacks.
"""

from __future__ import annotations

import dataclasses
import random
import zlib
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, final

from adhere.constraints.base import Constraint, Finding
from adhere.schema import Json, Part
from adhere.text.words import has_words, plural_of

T = TypeVar("T")

# Kinds that look at every sentence stop after so many: only a hostile text has more.
MOST_SENTENCES = 1000
# For queries that name no topic words.
COMMON_TOPICS = tuple("people time water world family energy food life city music health work".split())


class Rule(Constraint):
    """Is a Constraint whose `check` fails every text without a letter or digit before `judge` sees it.

    A new kind has version 1. Version 2 marks kinds that are older than two changes: of sentences that end in "No." or
    in a single letter (`text.words`), and of Unicode's letters (`text.scripts`).
    """

    @final
    def check(self, text: str) -> Finding:
        if not has_words(text):
            return Finding("fail", "the answer has no words")
        return self.judge(text)

    def repair(self, text: str) -> str | None:
        """Repair as Constraint does, but never a text without words, which has nothing to keep."""
        return super().repair(text) if has_words(text) else None

    def wording(self) -> dict[str, Any]:
        """Return the parameters, and for each number that has a noun its phrase: "3 sentences" for {sentences}.

        For the noun "time" the phrase is "once" or "3 times".
        """
        parameters = super().wording()
        for field in dataclasses.fields(self):
            if noun := field.metadata.get("noun"):
                count = plural(parameters[field.name], noun)
                parameters[plural_of(noun).replace(" ", "_")] = "once" if count == "1 time" else count
        return parameters

    @abstractmethod
    def judge(self, text: str) -> Finding:
        """Judge a text that holds at least one letter or digit; `check` fails all others."""

    def counter_witness(self) -> str:
        """Return a plain sentence, which breaks most rules that have parameters; other kinds have a `wrong_text`."""
        is_plain = dataclasses.fields(self) and not self.wrong_text
        return "Cats sleep." if is_plain else super().counter_witness()


class HeldOut(Rule):
    """Is a Rule of a family that is never trained on."""

    part: ClassVar[Part] = "held-out"


def decide(
    ok: bool,  # noqa: FBT001 - the verdict itself
    reason: str,
    *,
    measured: Json = None,
    needed: Json = None,
    span: tuple[int, int] | None = None,
    score: float | None = None,
) -> Finding:
    """Make a Finding; the score of a pass is 1 if the kind has scores at all, that of a failure at most 0.99."""
    if score is not None:
        score = 1.0 if ok else max(0.0, min(score, 0.99))
    return Finding("pass" if ok else "fail", reason, measured, needed, span, score)


def accept(reason: str, **details: Any) -> Finding:
    """Make a Finding that passes, with `decide`."""
    return decide(ok=True, reason=reason, **details)


def reject(reason: str, **details: Any) -> Finding:
    """Make a Finding that fails, with `decide`."""
    return decide(ok=False, reason=reason, **details)


def at_most(count: int, limit: int, unit: str) -> Finding:
    """Judge a count against an upper limit."""
    reason = f"found {plural(count, unit)}, allowed at most {limit}"
    return decide(count <= limit, reason, measured=count, needed=limit, score=limit / max(count, 1))


def at_least(count: int, fewest: int, unit: str, *, span: tuple[int, int] | None = None) -> Finding:
    """Judge a count against a lower limit."""
    reason = f"found {plural(count, unit)}, needed at least {fewest}"
    return decide(count >= fewest, reason, measured=count, needed=fewest, span=span, score=count / fewest)


def exactly(count: int, target: int, unit: str) -> Finding:
    """Judge a count against the only right number."""
    reason = f"found {plural(count, unit)}, needed exactly {target}"
    score = min(count, target) / max(count, target, 1)
    return decide(count == target, reason, measured=count, needed=target, score=score)


def plural(count: int, noun: str) -> str:
    """Return `"1 word"` or `"3 words"`; a noun phrase is pluralised at its first word: `"2 words in capitals"`."""
    if count == 1:
        return f"{count} {noun}"
    head, blank, rest = noun.partition(" ")
    if rest and not rest.startswith(("in ", "of ", "with ", "that ", "starting ", "beyond ")):
        return f"{count} {plural_of(noun)}"
    return f"{count} {plural_of(head)}{blank}{rest}"


def quoted_list(words: Sequence[str]) -> str:
    """Join words in quotes: `'"a"'`, `'"a" and "b"'`, `'"a", "b" and "c"'`."""
    quoted = [f'"{word}"' for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def topic_words(rng: random.Random, words: Sequence[str], count: int) -> tuple[str, ...]:
    """Draw `count` different topic words, with common words added if the query has too few."""
    pool = list(dict.fromkeys(word.lower() for word in words if word.strip()))
    rng.shuffle(pool)
    spare = [word for word in COMMON_TOPICS if word not in pool]
    rng.shuffle(spare)
    return tuple((pool + spare)[:count])


def topic_word(rng: random.Random, words: Sequence[str]) -> str:
    """Draw one topic word, or a common one if the query has none."""
    return topic_words(rng, words, 1)[0]


def pick(options: Sequence[T], *keys: str) -> T:
    """Choose one of `options` by the texts `keys`: choices vary between answers and are the same on every run."""
    return options[zlib.crc32("\x1f".join(keys).encode("utf-8", "surrogatepass")) % len(options)]
