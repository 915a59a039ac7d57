"""Kinds of the family `markdown` about lists or quotes, and the base of all kinds of the family."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self

from adhere.constraints.base import Constraint, Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import HeldOut, accept, decide, exactly, plural, quoted_list, reject, topic_words
from adhere.text.markdown import bullets, prose_lines
from adhere.text.words import has_words

_SHAPE = frozenset({"shape", "wrap"})
_LEAD = re.compile(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")
_TASK = re.compile(r"\[([ xX])\][ \t]+(?=.*[^\W_])")
_QUOTE = re.compile(r" {0,3}>[ \t]?")


class Markdown(HeldOut):
    """Is the base of the family's kinds: held out, and in conflict with plain text."""

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether the two conflict; `markdown:plain` conflicts with all kinds of the family."""
        return super().conflicts_with(other) or other.id == "markdown:plain"


@kind
class NestedBullets(Markdown):
    r"""`outer` bullets with exactly `inner` indented bullets under each. With (1, 1): "- Cats\n  - Tom" passes."""

    id = "markdown:nested_bullets"
    version = 2
    claims = _SHAPE
    order = 55
    phrasings = (
        "Answer with a nested list: {outer} bullet(s), each with exactly {inner} indented sub-bullet(s).",
        "Use {outer} main bullet(s) and, below every one, {inner} bullet(s) that are indented by two or more blanks.",
        "Write a two-level bulleted list of {outer} point(s) with {inner} sub-point(s) each.",
        "Your answer must have {outer} top-level bullet(s). Indent {inner} further bullet(s) under each of them.",
        "I want two levels of bullets: {outer} at the margin, {inner} below each of these.",
    )
    passing = ({"outer": 1, "inner": 1}, "- Cats\n  - Tom")
    failing = ({"outer": 1, "inner": 1}, "- Cats\n- Tom")

    outer: int = param(Whole(1, 50))
    inner: int = param(Whole(1, 50))

    def judge(self, text: str) -> Finding:
        every = bullets(text)
        if not every:
            return reject("found no bullets", score=0)
        margin = every[0].indent
        groups: list[int] = []
        for bullet in every:
            if bullet.indent < margin + 2 or not groups:
                groups.append(0)
            else:
                groups[-1] += 1
        right = groups.count(self.inner)
        counts = ", ".join(map(str, groups[:10]))
        reason = (
            f"found {plural(len(groups), 'bullet')} with {counts} below, needed {self.outer} with {self.inner} each"
        )
        score = min(right, self.outer) / max(len(groups), self.outer)
        return decide(groups == [self.inner] * self.outer, reason, measured=groups[:50], score=score)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(2, rng.choice((1, 2)))

    def repairs(self, text: str) -> Iterator[str]:
        width = self.inner + 1
        pieces = edits.split_into(text, self.outer * width) or []
        yield "\n".join(f"{'  ' if number % width else ''}- {piece}" for number, piece in enumerate(pieces))

    def witness(self) -> str:
        return "\n".join(["\n".join(["- Cats", *["  - Tom"] * self.inner])] * self.outer)

    def fewest_words(self) -> int:
        return 2 * self.outer * (self.inner + 1)


@kind
class Checkboxes(Markdown):
    r"""`count` task-list items, of which `done` are ticked. With (2, 1): "- [x] Cats\n- [ ] Dogs" passes."""

    id = "markdown:checkboxes"
    version = 2
    claims = _SHAPE
    order = 55
    phrasings = (
        'Answer with a checklist of exactly {count} items ("- [ ] …"), of which exactly {done} ticked ("- [x] …").',
        "Write a Markdown task list with {count} boxes; tick {done} of them.",
        "Your answer must have {count} checkboxes, {done} of them with an x.",
        "Use - [ ] and - [x] to make a list of {count} tasks where {done} can be seen as done.",
        "I expect {count} lines with a checkbox; the number of boxes that hold an x is {done}.",
    )
    passing = ({"count": 2, "done": 1}, "- [x] Cats\n- [ ] Dogs")
    failing = ({"count": 2, "done": 1}, "- [ ] Cats\n- [ ] Dogs")

    count: int = param(Whole(1, 200), drawn=(2, 3, 3))
    done: int = param(Whole(0, 200), drawn=(0, 1, 2))

    def problem(self) -> str | None:
        return None if self.done <= self.count else f"done={self.done} must not be above count={self.count}"

    def judge(self, text: str) -> Finding:
        ticks = [hit[1] for bullet in bullets(text) if (hit := _TASK.match(bullet.text))]
        if len(ticks) != self.count:
            return exactly(len(ticks), self.count, "checkbox")
        done = sum(tick != " " for tick in ticks)
        return decide(
            done == self.done,
            f"{done} of {self.count} boxes are ticked, needed {self.done}",
            measured=done,
            needed=self.done,
            score=1 - abs(done - self.done) / self.count,
        )

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        yield "\n".join(f"- [{'x' if number < self.done else ' '}] {piece}" for number, piece in enumerate(pieces))

    def witness(self) -> str:
        return "\n".join(f"- [{'x' if number < self.done else ' '}] Cats" for number in range(self.count))

    def fewest_words(self) -> int:
        return 3 * self.count


@kind
class Definitions(Markdown):
    r"""A line "**term**: text" for each of `terms`, in order.

    With ("cat",): "**cat**: a pet" passes, "cat: a pet" fails.
    """

    id = "markdown:definitions"
    version = 2
    claims = frozenset({"shape", "wrap"})
    order = 55
    phrasings = (
        "For each of {terms}, in this order, write a line of a glossary: the term in bold, a colon, and your text.",
        "Define {terms} one after the other, each on a line that begins with **term**: and goes on with your text.",
        "Your answer must hold the lines of a glossary, in this order and with bold terms: {terms}.",
        "Give a line for each of {terms}, in turn: the term between double asterisks, a colon, what you say about it.",
        "There has to be a small dictionary with the bold entries {terms}, in this order, a line and a colon for each.",
    )
    passing = ({"terms": ("cat",)}, "**cat**: a pet")
    failing = ({"terms": ("cat",)}, "cat: a pet")

    terms: tuple[str, ...] = param(ListOf(Words(60), 1, 10))

    def problem(self) -> str | None:
        wrong = next((term for term in self.terms if "*" in term or ":" in term or not has_words(term)), None)
        return wrong and f"terms: {wrong!r} must hold a letter or digit, no asterisk and no colon"

    def wording(self) -> dict[str, Any]:
        return {"terms": quoted_list(self.terms)}

    def judge(self, text: str) -> Finding:
        at = 0
        for line in prose_lines(text):
            if at == len(self.terms):
                break
            if "**" not in line:
                continue
            bare = line.strip()
            marker = edits.MARKER.match(bare)
            bare = bare[marker.end() if marker else 0 :]
            if not bare.startswith("**"):
                continue
            term, stars, rest = bare[2:].partition("**")
            is_term = term.rstrip(": ").casefold() == self.terms[at].casefold()
            at += bool(stars and is_term and has_words(rest) and (term.endswith(":") or rest.lstrip().startswith(":")))
        if at == len(self.terms):
            return accept(f"found {quoted_list(self.terms)}", measured=at, needed=at, score=1)
        reason = f'found no line that starts with "**{self.terms[at]}**:" and goes on, after {at} of {len(self.terms)}'
        return reject(reason, measured=at, needed=len(self.terms), score=at / len(self.terms))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(topic_words(rng, words, rng.choice((1, 2))))

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, len(self.terms)) or []
        yield "\n".join(f"**{term}**: {piece}" for term, piece in zip(self.terms, pieces, strict=False))

    def witness(self) -> str:
        return "\n".join(f"**{term}**: cats" for term in self.terms)

    def literals(self) -> tuple[str, ...]:
        return (*self.terms, "*")

    def fewest_words(self) -> int:
        return 4 * len(self.terms)


@kind
class BlockQuote(Markdown):
    r"""Exactly `count` lines of a block quote. With 1: "> Cats\nThey sleep." passes, "Cats" fails."""

    id = "markdown:block_quote"
    version = 2
    order = 68
    phrasings = (
        'Write exactly {lines} as a Markdown block quote (starting with ">").',
        'Your answer must contain {lines} that begin with ">", no more and no fewer.',
        "Set {lines} as a quotation, with a > in front of each.",
        "Use the block quote of Markdown for precisely {lines} of your answer.",
        'The number of lines with a leading ">" has to be {count}.',
    )
    passing = ({"count": 1}, "> Cats\nThey sleep.")
    failing = ({"count": 1}, "Cats")

    count: int = param(Whole(1, 100), drawn=(1, 1, 2), noun="line")

    def judge(self, text: str) -> Finding:
        quoted = sum(1 for line in prose_lines(text) if ">" in line and _QUOTE.match(line) and has_words(line))
        return exactly(quoted, self.count, "line of a block quote")

    def repairs(self, text: str) -> Iterator[str]:
        yield "\n".join(f"> {piece}" for piece in edits.split_into(text, self.count) or ())

    def witness(self) -> str:
        return "\n".join(["> Cats"] * self.count)

    def fewest_words(self) -> int:
        return 2 * self.count


@kind
class BoldLeads(Markdown):
    r"""Exactly `count` bullets, each with a bold phrase first.

    With 1: "- **Cats** sleep" passes, "- Cats sleep" fails.
    """

    id = "markdown:bold_leads"
    version = 2
    claims = _SHAPE
    order = 55
    phrasings = (
        "Answer in exactly {bullets} that each begin with a phrase in bold (**like this**).",
        "Use {bullets}; start every one of them with a few words between double asterisks.",
        "Write a list of {bullets} and set the first words of each in bold.",
        'Your answer must have {bullets} of the form "- **key phrase** text".',
        "Every bullet, of which there are {count}, has to open with bold text in Markdown.",
    )
    passing = ({"count": 1}, "- **Cats** sleep")
    failing = ({"count": 1}, "- Cats sleep")

    count: int = param(Whole(1, 100), drawn=(2, 2, 3), noun="bullet")

    def judge(self, text: str) -> Finding:
        every = bullets(text)
        bold = sum(1 for bullet in every if (hit := _LEAD.match(bullet.text)) and has_words(hit.group()))
        reason = f"{bold} of {plural(len(every), 'bullet')} begin in bold, needed {self.count} of {self.count}"
        score = min(bold, self.count) / max(len(every), self.count)
        return decide(bold == len(every) == self.count, reason, measured=bold, needed=self.count, score=score)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [piece.replace("*", "").partition(" ") for piece in edits.split_into(text, self.count) or ()]
        yield "\n".join(f"- **{first}**{blank}{rest}" for first, blank, rest in pieces)

    def witness(self) -> str:
        return "\n".join(["- **Cats** sleep"] * self.count)

    def literals(self) -> tuple[str, ...]:
        return ("*",)

    def fewest_words(self) -> int:
        return 3 * self.count
