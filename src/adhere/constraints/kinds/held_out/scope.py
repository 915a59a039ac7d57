"""Constraints on a part of the answer: the first paragraph, the third line, each bullet point, the reasoning.

Never trained on. The inner constraint reads the part as if it were the whole answer. Without such a part the answer
fails.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

from adhere.constraints.base import Choice, Constraint, Finding, Whole, kind, param
from adhere.constraints.compose import draw_with_witness, mean_score
from adhere.constraints.kinds.shared import edits
from adhere.constraints.kinds.shared.json_shape import texts
from adhere.constraints.nested import NestedRule, Ref, name_reason, run, unfit_for_parts
from adhere.constraints.rule import MOST_SENTENCES, decide, plural, reject
from adhere.schema import ConstraintRef
from adhere.text.parts import Span, Unit, code_blocks, last_span, spans

OUTSIDE, REASONING = "text outside code blocks", "reasoning"
_UNITS: tuple[Unit, ...] = ("paragraph", "line", "sentence", "bullet point", "code block")
_ENDS: dict[str, tuple[str, Unit]] = {f"{end} {unit}": (end, unit) for unit in _UNITS[:3] for end in ("first", "last")}
# Kinds that mean something for a single sentence.
_DRAWN = ("case:lower", "keywords:include", "length:at_most", "punctuation:no_commas", "punctuation:no_exclamation")
_FILLER = "They wake up in the evening."
_GAPS: dict[Unit, str] = {"paragraph": "\n\n", "line": "\n", "sentence": " ", "bullet point": "\n", "code block": "\n"}
_THE_ANSWER = re.compile(
    r"\b(?:your|the) (?:(?:whole|entire|full|complete) )?(?:answer|response|reply)\b(['’]s)?", re.IGNORECASE
)


class Piece(NamedTuple):
    """Holds a part of the answer: its text, and its pieces as (start in the part, start in the answer)."""

    text: str
    starts: tuple[tuple[int, int], ...]

    def whole(self, span: Span | None) -> Span | None:
        """Convert a span of the part to one of the answer."""
        if span is None:
            return None
        start = self._at(span[0])
        return start, max(start, self._at(max(span[0], span[1] - 1)) + min(1, span[1] - span[0]))

    def _at(self, position: int) -> int:
        inside, outside = max(pair for pair in self.starts if pair[0] <= position)
        return outside + position - inside


def outside_code(text: str) -> Piece:
    """Return the text with an empty line for each code block, so that the blocks still divide paragraphs."""
    texts: list[str] = []
    starts: list[tuple[int, int]] = []
    length = at = 0
    for block in code_blocks(text):
        starts.append((length, at))
        texts += [text[at : block.outer[0]], "\n"]
        length += block.outer[0] - at + 1
        at = block.outer[1]
    return Piece("".join([*texts, text[at:]]), (*starts, (length, at)))


class _Scope(NestedRule):
    """Is the base of the kinds that hold one constraint."""

    constraint: ConstraintRef

    def inner_problem(self) -> str | None:
        return unfit_for_parts(self.inner, self.id, many=self.many_parts)

    def inner_wording(self, inner: Sequence[str]) -> dict[str, str]:
        """Return the inner rule with "it" for the answer, unless a parameter of the rule mentions the answer."""
        parameter_text = " ".join(texts(self.constraint.params))
        return {"rule": inner[0] if _THE_ANSWER.search(parameter_text) else _THE_ANSWER.sub(_it, inner[0])}

    def _own(self) -> Constraint | None:
        own = self.own_inner()
        return own[0] if own else None

    def literals(self) -> tuple[str, ...]:
        own = self._own()
        return own.literals() if own and not self.is_about_reasoning() else ()

    def fewest_words(self) -> int:
        own = self._own()
        return own.fewest_words() if own and not self.is_about_reasoning() else 1

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether the two conflict; an aspect that is fixed for a part cannot be fixed for the whole too."""
        own = self._own()
        claims = own.claims if own and not self.is_about_reasoning() else frozenset()
        return super().conflicts_with(other) or not claims.isdisjoint(other.claims)

    def texts(self) -> Iterator[str]:
        if (own := self._own()) is not None:
            yield from self.around(own.witness())
            yield from self.around(edits.end_sentence(own.witness()))

    def counter_texts(self) -> Iterator[str]:
        if (own := self._own()) is not None:
            yield from self.around(own.counter_witness())

    def around(self, part: str) -> Iterator[str]:
        """Yield answers in which the inner constraint reads `part`."""
        yield from ()

    def places(self, text: str) -> list[Span]:
        """Return the spans of the text that a repair may edit; none unless a kind overrides this."""
        return []

    def repairs(self, text: str) -> Iterator[str]:
        """Yield the text with each part repaired on its own."""
        own = self._own()
        if own is None:
            return
        edited = text
        for start, end in reversed(self.places(text)):
            part = text[start:end]
            if own.check(part).outcome != "pass":
                edited = edited[:start] + (own.repair(part) or part) + edited[end:]
        yield edited


@kind
class Within(_Scope):
    r"""One part of the answer passes. With the first line, case:lower: "cats\nDogs" passes, "Cats\ndogs" fails.

    `place` is the first or last paragraph, line or sentence, the text outside code blocks (an empty line stands for
    each block), or the model's reasoning. Without the reasoning at hand, that is undecided.
    """

    id = "scope:within"
    version = 2
    phrasings = (
        "In the {place}: {rule}",
        "The {place} must follow this rule: {rule}",
        "This is asked of the {place} only, read as if there were nothing else: {rule}",
        "Look at the {place} alone; there, the following applies. {rule}",
        "A rule for the {place}, whatever the rest looks like: {rule}",
    )
    passing = ({"constraint": {"id": "case:lower"}, "place": "first line"}, "cats\nDogs")
    failing = ({"constraint": {"id": "case:lower"}, "place": "first line"}, "Cats\ndogs")

    constraint: ConstraintRef = param(Ref())
    place: str = param(Choice((*_ENDS, OUTSIDE, REASONING)))

    def is_about_reasoning(self) -> bool:
        return self.place == REASONING

    def wording(self) -> dict[str, Any]:
        return {"place": self.place}

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        inner = self.inner[0]
        if self.place == REASONING:
            if reasoning is None:
                return Finding("undecided", "the answer came without the model's reasoning")
            if not reasoning.strip():
                return reject("the reasoning is empty")
            finding = run(inner, reasoning, None)
            return finding._replace(reason=f"in the reasoning: {name_reason(inner, finding)}", span=None)
        piece = self._piece(text)
        if piece is None or not piece.text.strip():
            return reject(f"there is no {self.place}")
        finding = run(inner, piece.text, None)
        return finding._replace(
            reason=f"in the {self.place}: {name_reason(inner, finding)}", span=piece.whole(finding.span)
        )

    def _piece(self, text: str) -> Piece | None:
        if self.place == OUTSIDE:
            return outside_code(text)
        return next((Piece(text[start:end], ((0, start),)) for start, end in self.places(text)), None)

    def places(self, text: str) -> list[Span]:
        if self.place not in _ENDS:
            return []
        end, unit = _ENDS[self.place]
        if end == "first":
            return spans(text, unit, most=1)
        span = last_span(text, unit)
        return [] if span is None else [span]

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        """Draw a place and an inner constraint; not the reasoning, because not every model shows it."""
        place = rng.choice((*_ENDS, OUTSIDE))
        return draw_with_witness(rng, words, 1, lambda ref: cls(ref, place), among=_DRAWN)

    def around(self, part: str) -> Iterator[str]:
        if self.place == OUTSIDE:
            yield f"{part}\n```\nx = 1\n```"
        elif self.place in _ENDS:
            end, unit = _ENDS[self.place]
            yield _GAPS[unit].join((part, _FILLER) if end == "first" else (_FILLER, part))


@kind
class Nth(_Scope):
    r"""The part with a number passes. With line 2, case:lower: "Cats\ndogs" passes, "cats\nDogs" fails."""

    id = "scope:nth"
    version = 2
    phrasings = (
        "In {unit} number {number}: {rule}",
        "The {unit} with the number {number}, counted from the top, must follow this rule: {rule}",
        "Count to {unit} {number} of your answer; this is asked of it alone: {rule}",
        (
            "Your answer needs {number} or more parts of the sort {unit}, and number {number} has a "
            "rule of its own: {rule}"
        ),
        "Reserved for {unit} no. {number}, and binding there: {rule}",
    )
    passing = ({"constraint": {"id": "case:lower"}, "unit": "line", "number": 2}, "Cats\ndogs")
    failing = ({"constraint": {"id": "case:lower"}, "unit": "line", "number": 2}, "cats\nDogs")

    constraint: ConstraintRef = param(Ref())
    unit: Unit = param(Choice(_UNITS))
    number: int = param(Whole(1, 100))

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        all_places = spans(text, self.unit, most=self.number)
        if len(all_places) < self.number:
            reason = f"found {plural(len(all_places), self.unit)}, so there is none with the number {self.number}"
            return reject(reason, measured=len(all_places), needed=self.number)
        start, end = all_places[-1]
        finding = run(self.inner[0], text[start:end], None)
        reason = f"in {self.unit} {self.number}: {name_reason(self.inner[0], finding)}"
        return finding._replace(reason=reason, span=Piece("", ((0, start),)).whole(finding.span))

    def places(self, text: str) -> list[Span]:
        found_places = spans(text, self.unit, most=self.number)
        return found_places[-1:] if len(found_places) == self.number else []

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        unit, number = rng.choice(_UNITS[:4]), rng.choice((2, 2, 3))
        return draw_with_witness(rng, words, 1, lambda ref: cls(ref, unit, number), among=_DRAWN)

    def around(self, part: str) -> Iterator[str]:
        yield _join(self.unit, [*[_FILLER] * (self.number - 1), part])


@kind
class Each(_Scope):
    r"""Every part of a sort passes, and there is one. With lines, case:lower: "cats\ndogs" passes, "cats\nDogs" fails.

    The first part that fails decides; if none fails, the first that is undecided. The score is the mean over the parts.
    More than 1000 parts fail: they are not looked at one by one.
    """

    id = "scope:each"
    version = 2
    many_parts = True
    phrasings = (
        "In each {unit}: {rule}",
        "Every {unit} of your answer must follow this rule: {rule}",
        "For each single {unit}, read on its own, this holds: {rule}",
        "Your answer needs at least one {unit}, and there must be no {unit} that breaks this rule: {rule}",
        "Without exception, any {unit} in the answer is bound by this: {rule}",
    )
    passing = ({"constraint": {"id": "case:lower"}, "unit": "line"}, "cats\ndogs")
    failing = ({"constraint": {"id": "case:lower"}, "unit": "line"}, "cats\nDogs")

    constraint: ConstraintRef = param(Ref())
    unit: Unit = param(Choice(_UNITS))

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        inner = self.inner[0]
        places = self.places(text)
        if not places:
            return reject(f"found no {self.unit}", measured=0, needed=1)
        if len(places) > MOST_SENTENCES:
            return reject(f"found more than {plural(MOST_SENTENCES, self.unit)}, too many to look at each")
        findings = [run(inner, text[start:end], None) for start, end in places]
        for outcome in ("fail", "undecided"):
            for number, (finding, (start, _)) in enumerate(zip(findings, places, strict=True), start=1):
                if finding.outcome != outcome:
                    continue
                score = mean_score(findings) if outcome == "fail" else None
                return finding._replace(
                    reason=f"in {self.unit} {number} of {len(places)}: {name_reason(inner, finding)}",
                    span=Piece("", ((0, start),)).whole(finding.span),
                    score=None if score is None else min(score, 0.99),
                )
        reason = f"{inner.id} holds in {plural(len(places), self.unit)} of {len(places)}"
        return decide(ok=True, reason=reason, measured=len(places), needed=len(places), score=mean_score(findings))

    def places(self, text: str) -> list[Span]:
        return spans(text, self.unit, most=MOST_SENTENCES + 1)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        unit = rng.choice(_UNITS[:4])
        return draw_with_witness(rng, words, 1, lambda ref: cls(ref, unit), among=_DRAWN)

    def around(self, part: str) -> Iterator[str]:
        yield _join(self.unit, [part, part])


def _join(unit: Unit, parts: Sequence[str]) -> str:
    """Return an answer made of these parts, each written as a `unit` is: a bullet with its mark, code in a fence."""
    forms = {"bullet point": "- {}", "code block": "```\n{}\n```"}
    return _GAPS[unit].join(forms.get(unit, "{}").format(part) for part in parts)


def _it(match: re.Match[str]) -> str:
    word = "its" if match.group(1) else "it"
    return word.capitalize() if match.group()[0].isupper() else word
