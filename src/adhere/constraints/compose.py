"""Define constraints made of others: all of them, any of them, one if another, one after the other.

They are never trained on. If an inner constraint is undecided, so is the whole, unless the others settle it: a fail
settles `all_of`, a pass settles `any_of` and, as the consequence, `if_then`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Self, TypeVar

from adhere.constraints.base import Choice, Constraint, Finding, conflict, kind, param, registry
from adhere.constraints.kinds.shared import edits
from adhere.constraints.nested import NestedRule, Ref, Refs, name_reason, quote, run, unfit_for_parts
from adhere.constraints.repair import repair_all
from adhere.constraints.rule import MOST_SENTENCES, decide, plural
from adhere.errors import AdhereError
from adhere.schema import ConstraintRef
from adhere.text.parts import Span, Unit, spans

Made = TypeVar("Made", bound=NestedRule)

# What is drawn inside: plain kinds of the train families, so that nothing but the composition is new to a trained
# model.
DRAWN = (
    "case:lower", "keywords:forbid", "keywords:include", "length:at_least", "length:at_most", "punctuation:no_commas",
    "punctuation:no_exclamation", "startend:end_phrase", "startend:start_phrase",
)  # fmt: skip
_REDRAWS = 50


def draw_with_witness(
    rng: random.Random, words: Sequence[str], count: int, make: Callable[..., Made], *, among: Sequence[str] = DRAWN
) -> Made:
    """Draw `count` constraints of different kinds, and return the composition that `make` makes of them.

    The draw is repeated until a text is known that passes.

    Raises:
        AdhereError: No such text was found, which the contract suite rules out for the package's kinds.
    """
    for _ in range(_REDRAWS):
        constraints = [registry.get(name).draw(rng, words=words) for name in rng.sample(among, count)]
        if any(conflict(rule, other) for number, rule in enumerate(constraints) for other in constraints[:number]):
            continue
        composition = make(*(rule.ref() for rule in constraints))
        if any(composition.check(text).outcome == "pass" for text in composition.texts()):
            return composition
    raise AdhereError(
        f"Drew {_REDRAWS} times {count} of {', '.join(among)}, and no text was found that passes them together"
    )


def number_rules(sentences: Sequence[str]) -> str:
    """Join sentences with numbers: `"(1) Use no commas. (2) Be brief."`."""
    return " ".join(f"({number}) {sentence}" for number, sentence in enumerate(sentences, start=1))


def mean_score(findings: Sequence[Finding]) -> float | None:
    """Return the mean of the scores, or None if there is no finding or one has no score."""
    scores = [finding.score for finding in findings if finding.score is not None]
    return sum(scores) / len(scores) if len(scores) == len(findings) > 0 else None


class _Several(NestedRule):
    """Is the base of the kinds that hold a list of constraints."""

    of: tuple[ConstraintRef, ...]

    def inner_wording(self, inner: Sequence[str]) -> dict[str, str]:
        return {"rules": number_rules(inner)}

    def _ids(self) -> str:
        return ", ".join(rule.id for rule in self.inner)


@kind
class AllOf(_Several):
    """Every inner constraint passes.

    With case:lower and punctuation:no_commas: "cats sleep." passes, "cats, dogs" fails. The first that fails decides;
    if none fails, the first that is undecided. The score is the mean of the inner ones.
    """

    id = "compose:all_of"
    version = 2
    phrasings = (
        "Follow all of these rules: {rules}",
        "Your answer must satisfy every one of the following: {rules}",
        "All of this applies to your answer at once: {rules}",
        "Do each of the following: {rules}",
        "None of these rules may be broken: {rules}",
    )
    passing = ({"of": [{"id": "case:lower"}, {"id": "punctuation:no_commas"}]}, "cats sleep.")
    failing = ({"of": [{"id": "case:lower"}, {"id": "punctuation:no_commas"}]}, "cats, dogs")

    of: tuple[ConstraintRef, ...] = param(Refs(2, 10))

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        findings = [run(rule, text, reasoning) for rule in self.inner]
        for outcome in ("fail", "undecided"):
            for rule, finding in zip(self.inner, findings, strict=True):
                if finding.outcome == outcome:
                    score = mean_score(findings) if outcome == "fail" else None
                    score = None if score is None else min(score, 0.99)
                    return finding._replace(reason=name_reason(rule, finding), score=score)
        return decide(ok=True, reason=f"all {len(findings)} rules hold: {self._ids()}", score=mean_score(findings))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return draw_with_witness(rng, words, rng.choice((2, 2, 3)), lambda *refs: cls(refs))

    def texts(self) -> Iterator[str]:
        own = self.own_inner() or ()
        for rule in own:
            if (text := repair_all(rule.witness(), own)) is not None:
                yield text

    def repairs(self, text: str) -> Iterator[str]:
        own = self.own_inner()
        if own and (edited := repair_all(text, own)) is not None:
            yield edited

    def literals(self) -> tuple[str, ...]:
        return tuple(literal for rule in self.inner if isinstance(rule, Constraint) for literal in rule.literals())

    def rules_out(self, literal: str) -> bool:
        return any(rule.rules_out(literal) for rule in self.inner if isinstance(rule, Constraint))

    def fewest_words(self) -> int:
        return max((rule.fewest_words() for rule in self.inner if isinstance(rule, Constraint)), default=1)

    def most_words(self) -> int | None:
        limits = [rule.most_words() for rule in self.inner if isinstance(rule, Constraint)]
        return min((limit for limit in limits if limit is not None), default=None)

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether `other` conflicts with one of the inner constraints, and so with all together."""
        inner = (rule for rule in self.inner if isinstance(rule, Constraint))
        return super().conflicts_with(other) or any(conflict(rule, other) for rule in inner)


@kind
class AnyOf(_Several):
    """At least one inner constraint passes.

    With case:lower and punctuation:no_commas: "Cats." passes, "Cats, dogs." fails. The first that passes decides; if
    none passes, the first that is undecided. The score is the highest of the inner ones.
    """

    id = "compose:any_of"
    version = 2
    phrasings = (
        "Follow at least one of these rules: {rules}",
        "Your answer must satisfy one or more of the following: {rules}",
        "Choose at least one of these rules and keep to it: {rules}",
        "Do this or that, or both: {rules}",
        "It is enough that your answer keeps one of these rules, but one it must keep: {rules}",
    )
    passing = ({"of": [{"id": "case:lower"}, {"id": "punctuation:no_commas"}]}, "Cats.")
    failing = ({"of": [{"id": "case:lower"}, {"id": "punctuation:no_commas"}]}, "Cats, dogs.")

    of: tuple[ConstraintRef, ...] = param(Refs(2, 10))

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        findings = []
        for rule in self.inner:
            finding = run(rule, text, reasoning)
            if finding.outcome == "pass":
                return finding._replace(reason=name_reason(rule, finding))
            findings.append(finding)
        for rule, finding in zip(self.inner, findings, strict=True):
            if finding.outcome == "undecided":
                return finding._replace(reason=name_reason(rule, finding), score=None)
        # The closest one speaks for all; without scores the first does.
        closest = max(range(len(findings)), key=lambda number: findings[number].score or 0.0)
        has_scores = all(finding.score is not None for finding in findings)
        reason = f"none of {len(findings)} rules holds; {name_reason(self.inner[closest], findings[closest])}"
        return findings[closest]._replace(reason=reason, score=findings[closest].score if has_scores else None)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return draw_with_witness(rng, words, 2, lambda *refs: cls(refs))

    def texts(self) -> Iterator[str]:
        for rule in self.inner:
            if isinstance(rule, Constraint):
                yield rule.witness()

    def counter_texts(self) -> Iterator[str]:
        counters = [rule.counter_witness() for rule in self.own_inner() or ()]
        yield from counters
        yield " ".join(counters)

    def repairs(self, text: str) -> Iterator[str]:
        for rule in self.inner:
            if isinstance(rule, Constraint):
                yield from rule.repairs(text)

    def rules_out(self, literal: str) -> bool:
        own = self.own_inner()
        return own is not None and all(rule.rules_out(literal) for rule in own)

    def fewest_words(self) -> int:
        return min((rule.fewest_words() for rule in self.own_inner() or ()), default=1)

    def most_words(self) -> int | None:
        limits = [rule.most_words() for rule in self.own_inner() or ()]
        known_limits = [limit for limit in limits if limit is not None]
        return max(known_limits) if known_limits and len(known_limits) == len(limits) else None

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether `other` conflicts with this kind itself or with every inner constraint."""
        own = self.own_inner()
        return super().conflicts_with(other) or (own is not None and all(conflict(rule, other) for rule in own))


@kind
class IfThen(NestedRule):
    """If the condition passes, the consequence does.

    With case:lower, no_commas: "Cats, dogs" passes, "cats, dogs" fails. An answer for which the condition does not hold
    passes, and the reason says so. An undecided condition leaves it undecided, unless the consequence passes anyway.
    """

    id = "compose:if_then"
    version = 2
    phrasings = (
        "If your answer keeps to the rule {if_rule}, then it must also keep to this one: {then_rule}.",
        "Should your answer happen to follow {if_rule}, it has to follow {then_rule} as well.",
        "An answer that satisfies {if_rule} must satisfy {then_rule}, too; any other answer is free to ignore this.",
        "You may ignore {if_rule}, but if you do follow it, then this is required as well: {then_rule}.",
        "The rule {then_rule} is binding for an answer to which {if_rule} applies, and for no other.",
    )
    passing = ({"condition": {"id": "case:lower"}, "consequence": {"id": "punctuation:no_commas"}}, "Cats, dogs")
    failing = ({"condition": {"id": "case:lower"}, "consequence": {"id": "punctuation:no_commas"}}, "cats, dogs")

    condition: ConstraintRef = param(Ref())
    consequence: ConstraintRef = param(Ref())

    def inner_wording(self, inner: Sequence[str]) -> dict[str, str]:
        return {"if_rule": quote(inner[0]), "then_rule": quote(inner[1])}

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        condition, consequence = self.inner
        premise = run(condition, text, reasoning)
        if premise.outcome == "fail":
            return Finding(
                "pass",
                f"the condition does not hold, so nothing is asked ({name_reason(condition, premise)})",
            )
        finding = run(consequence, text, reasoning)
        if premise.outcome == "undecided" and finding.outcome != "pass":
            return Finding("undecided", f"the condition could not be decided ({name_reason(condition, premise)})")
        start = "the condition holds, and" if premise.outcome == "pass" else "the condition could not be decided, but"
        return finding._replace(reason=f"{start} {name_reason(consequence, finding)}")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return draw_with_witness(rng, words, 2, cls)

    def texts(self) -> Iterator[str]:
        """Yield texts that may pass, first those to which the rule applies."""
        own = self.own_inner()
        if own is not None:
            for rule in own:
                if (text := repair_all(rule.witness(), own)) is not None:
                    yield text
        if isinstance(self.inner[1], Constraint):
            yield self.inner[1].witness()
        if isinstance(self.inner[0], Constraint):
            yield self.inner[0].counter_witness()

    def counter_texts(self) -> Iterator[str]:
        own = self.own_inner()
        if own is not None:
            yield own[1].counter_witness()
            yield own[0].witness()
            if (text := own[0].repair(own[1].counter_witness())) is not None:
                yield text

    def repairs(self, text: str) -> Iterator[str]:
        if isinstance(self.inner[1], Constraint):
            yield from self.inner[1].repairs(text)


_UNITS: dict[str, tuple[Unit, str]] = {
    "paragraphs": ("paragraph", "\n\n"),
    "lines": ("line", "\n"),
    "sentences": ("sentence", " "),
}


@kind
class InOrder(_Several):
    r"""Different parts of the answer pass one inner constraint each, in the order of these.

    Other parts may stand between. So there are parts p1 < p2 < … such that p1 passes the first constraint on its own,
    p2 the second, and so on. Only the first 1000 parts are looked at. With case:lower, case:upper by lines:
    "cats\nDOGS" passes, "DOGS\ncats" fails.
    """

    id = "compose:in_order"
    version = 2
    many_parts = True
    phrasings = (
        "Different {parts} of your answer must keep to these rules, one each and in this order: {rules}",
        (
            "Going through the {parts} of your answer, one must satisfy the first of these rules, "
            "a later one the next, and so on: {rules}"
        ),
        "Among the {parts} of your answer there must be, in this sequence, one for each of these rules: {rules}",
        "Write {parts} that follow these rules one after the other, each read on its own: {rules}",
        (
            "Take these rules in turn, and give each a place of its own among the {parts} of the answer, "
            "later rules further down: {rules}"
        ),
    )
    passing = ({"of": [{"id": "case:lower"}, {"id": "case:upper"}], "parts": "lines"}, "cats\nDOGS")
    failing = ({"of": [{"id": "case:lower"}, {"id": "case:upper"}], "parts": "lines"}, "DOGS\ncats")

    of: tuple[ConstraintRef, ...] = param(Refs(2, 10))
    parts: str = param(Choice(tuple(_UNITS)))

    def inner_problem(self) -> str | None:
        return unfit_for_parts(self.inner, f"compose:in_order by {self.parts}")

    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        """Judge by taking the earliest part for each constraint, which leaves most parts to the later ones."""
        unit = _UNITS[self.parts][0]
        places = spans(text, unit, most=MOST_SENTENCES)
        findings: dict[tuple[int, int], Finding] = {}
        part_numbers = self._plan(text, places, findings, {"pass"})
        reached = len(part_numbers)
        unsure = [key for key, finding in findings.items() if finding.outcome == "undecided"]
        if (
            reached < len(self.inner)
            and unsure
            and len(self._plan(text, places, findings, {"pass", "undecided"})) == len(self.inner)
        ):
            rule, number = unsure[0]
            reason = f"{unit} {number + 1}: {name_reason(self.inner[rule], findings[rule, number])}"
            return Finding("undecided", reason, reached, len(self.inner))
        if reached == len(self.inner):
            reason = f"the rules hold in {self.parts} {', '.join(str(number + 1) for number in part_numbers)}"
        else:
            missing = f"rule {reached + 1} of {len(self.inner)} ({self.inner[reached].id})"
            reason = (
                f"{unit} {part_numbers[-1] + 1} keeps to rule {reached}, but no later {unit} keeps to {missing}"
                if part_numbers
                else f"none of {plural(len(places), unit)} keeps to {missing}"
            )
        return decide(
            reached == len(self.inner),
            reason,
            measured=reached,
            needed=len(self.inner),
            span=(places[part_numbers[0]][0], places[part_numbers[-1]][1]) if part_numbers else None,
            score=reached / len(self.inner),
        )

    def _plan(
        self, text: str, places: Sequence[Span], findings: dict[tuple[int, int], Finding], outcomes: set[str]
    ) -> list[int]:
        """Return the numbers of the earliest parts that have one of `outcomes`, for one constraint after the other."""
        part_numbers: list[int] = []
        for number, (start, end) in enumerate(places):
            if len(part_numbers) == len(self.inner):
                break
            key = (len(part_numbers), number)
            if key not in findings:
                findings[key] = run(self.inner[len(part_numbers)], text[start:end], None)
            if findings[key].outcome in outcomes:
                part_numbers.append(number)
        return part_numbers

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        parts = rng.choice(tuple(_UNITS))
        return draw_with_witness(rng, words, 2, lambda *refs: cls(refs, parts))

    def texts(self) -> Iterator[str]:
        own = self.own_inner()
        if own is not None:
            yield _UNITS[self.parts][1].join(rule.witness() for rule in own)
            yield _UNITS[self.parts][1].join(edits.end_sentence(rule.witness()) for rule in own)

    def repairs(self, text: str) -> Iterator[str]:
        """Yield the answer with its first parts repaired, one for each constraint in turn."""
        unit, gap = _UNITS[self.parts]
        pieces = [text[start:end] for start, end in spans(text, unit, most=MOST_SENTENCES)]
        if len(pieces) < len(self.inner):
            pieces = edits.split_into(text, len(self.inner)) or []
        own = self.own_inner()
        if own is None or len(pieces) < len(own):
            return
        for number, rule in enumerate(own):
            if rule.check(pieces[number]).outcome != "pass":
                pieces[number] = rule.repair(pieces[number]) or pieces[number]
        yield gap.join(pieces)
