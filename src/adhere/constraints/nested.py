"""Store, resolve, limit and describe constraints made of other constraints.

An inner constraint is stored as `{"id": …, "params": {…}}`, so a composition survives storage and fits into a `kwargs`
of IFEval's row format. Inner ids may be our own, published ones or plug-ins'.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias, final

from adhere.constraints.base import Constraint, Finding
from adhere.constraints.published.shared.registry import PublishedConstraint
from adhere.constraints.resolve import resolve
from adhere.constraints.rule import Rule
from adhere.errors import AdhereError, BadParameter, UnknownName
from adhere.schema import ConstraintRef, Json, Mode, Part
from adhere.text.words import has_words

Inner: TypeAlias = Constraint | PublishedConstraint

DEEPEST = 4  # compositions inside each other
LARGEST = 32  # constraints in one composition, inner and innermost ones alike
_DEEPEST_JSON = 40  # containers inside each other: more is refused before anything is resolved
_LONGEST_REASON = 240
# A short text that every kind of the package fails: it has no words.
WORDLESS = "..."


class Settings(NamedTuple):
    """Holds what the verdict of published inner constraints depends on besides their parameters; see `resolve`."""

    mode: Mode = "reference"
    profile: str | None = None
    random_seed: int | None = None


@dataclasses.dataclass(frozen=True)
class Ref:
    """One stored constraint, `{"id": …, "params": {…}}`; `params` may be left out."""

    def problem(self, value: object) -> str | None:
        """Check only the shape; ids and parameters are checked when the constraint is resolved."""
        return None if isinstance(value, ConstraintRef) else f"must be a constraint, {_SHAPE}"

    def invalid(self) -> Sequence[object]:
        return [
            "length:at_most",
            None,
            3,
            {},
            {"id": 3},
            {"id": "case:lower", "params": []},
            {"id": "case:lower", "x": 1},
        ]


@dataclasses.dataclass(frozen=True)
class Refs:
    """A tuple of `fewest` to `most` stored constraints."""

    fewest: int
    most: int

    def problem(self, value: object) -> str | None:
        if (
            isinstance(value, tuple)
            and self.fewest <= len(value) <= self.most
            and all(isinstance(item, ConstraintRef) for item in value)
        ):
            return None
        return f"must be a list of {self.fewest} to {self.most} constraints, each {_SHAPE}"

    def invalid(self) -> Sequence[object]:
        good = {"id": "case:lower", "params": {}}
        return ["text", None, 3, good, [good] * (self.most + 1), [good] * (self.fewest - 1), [good, *Ref().invalid()]]


_SHAPE = '{"id": …, "params": {…}}'


@dataclasses.dataclass(frozen=True)
class NestedRule(Rule):
    """Is the base of the kinds that are made of other constraints.

    Parameters whose domain is `Ref` or `Refs` hold the inner constraints as ConstraintRefs; they may also be given as
    Constraints or in stored form. Parameters that are null count as absent, as in IFEval's files.

    As every kind of the package, it fails an answer without letters and digits, whatever the inner ones find.

    Args:
        settings: How published inner constraints are resolved; no parameter, and not stored. See `with_mode`.

    Raises:
        BadParameter: A parameter is wrong, on construction; of an inner constraint the message names the place
            (`of[1]`).
        UnknownName: An inner id is unknown.
    """

    part: ClassVar[Part] = "held-out"
    is_made_of_others = True
    many_parts: ClassVar[bool] = False  # whether it runs the inner ones on many parts of the answer
    # Not fields, because they follow from the parameters; each object gets its own on construction.
    inner: ClassVar[tuple[Inner, ...]]
    depth: ClassVar[int]
    size: ClassVar[int]
    _settings: ClassVar[Settings]
    settings: dataclasses.InitVar[Settings] = dataclasses.field(default=Settings(), kw_only=True)

    def __post_init__(self, settings: Settings) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(field.metadata["domain"], Ref):
                object.__setattr__(self, field.name, _as_reference(value))
            elif isinstance(field.metadata["domain"], Refs) and isinstance(value, list | tuple):
                object.__setattr__(self, field.name, tuple(_as_reference(item) for item in value))
        super().__post_init__()
        inner = tuple(self._resolve(place, ref, settings) for place, ref in self._places())
        deepest = 1 + max((rule.depth for rule in inner if isinstance(rule, NestedRule)), default=0)
        size = sum(rule.size if isinstance(rule, NestedRule) else 1 for rule in inner) + 1
        if deepest > DEEPEST:
            raise BadParameter(
                f"{self.id}: compositions must be at most {DEEPEST} deep, these are {deepest}. Flatten them"
            )
        if size > LARGEST:
            raise BadParameter(
                f"{self.id}: a composition must hold at most {LARGEST} constraints, this one holds {size}. Split it"
            )
        if len({rule.reads_calls for rule in inner}) > 1:
            raise BadParameter(f"{self.id}: constraints on calls of tools and on text cannot stand in one composition")
        for name, attribute in {
            "inner": inner,
            "depth": deepest,
            "size": size,
            "_settings": settings,
            "reads_reasoning": self.is_about_reasoning()
            or any(isinstance(rule, Constraint) and rule.reads_reasoning for rule in inner),
            "reads_calls": all(rule.reads_calls for rule in inner),
        }.items():
            object.__setattr__(self, name, attribute)
        if problem := self.inner_problem():
            raise BadParameter(f"{self.id}: {problem}")

    def is_about_reasoning(self) -> bool:
        """Tell whether the inner constraints judge the reasoning."""
        return False

    def inner_problem(self) -> str | None:
        """Say what is wrong with the inner constraints together; None if nothing is."""
        return None

    def _places(self) -> Iterator[tuple[str, ConstraintRef]]:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, ConstraintRef):
                yield field.name, value
            elif isinstance(field.metadata["domain"], Refs):
                yield from ((f"{field.name}[{number}]", ref) for number, ref in enumerate(value))

    def _resolve(self, place: str, ref: ConstraintRef, settings: Settings) -> Inner:
        if _too_deep(ref.params):
            raise BadParameter(f"{self.id}: compositions must be at most {DEEPEST} deep; {place} is deeper. Flatten it")
        try:
            constraint = resolve(ref, **settings._asdict())
        except (BadParameter, UnknownName) as error:
            raise type(error)(f"{self.id}: {place}: {error}") from None
        return constraint.with_mode(**settings._asdict()) if isinstance(constraint, NestedRule) else constraint

    def with_mode(
        self, *, mode: Mode = "reference", profile: str | None = None, random_seed: int | None = None
    ) -> Self:
        """Return a copy that judges its published inner constraints in this mode; arguments as in `resolve`."""
        settings = Settings(mode, profile, random_seed)
        return self if settings == self._settings else dataclasses.replace(self, settings=settings)

    @final
    def judge(self, text: str) -> Finding:
        return self.judge_with(text, None)

    @final
    def check_with(self, text: str, reasoning: str | None) -> Finding:
        """Judge an answer with its reasoning; the answer must have words, the reasoning need not."""
        return self.judge_with(text, reasoning) if has_words(text) else self.check(text)

    @abstractmethod
    def judge_with(self, text: str, reasoning: str | None) -> Finding:
        """Judge a text that holds at least one letter or digit; `check_with` fails all others."""

    def ref(self) -> ConstraintRef:
        return ConstraintRef(
            self.id, {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}
        )

    def describe(self, phrasing: int = 0) -> str:
        """Say the rule with its inner rules; the last wording is filled with the inner ones' last wordings."""
        number = phrasing % len(self.phrasings)
        is_last = number == len(self.phrasings) - 1
        sentences = [describe(rule, number, is_last=is_last) for rule in self.inner]
        return self.phrasings[number].format(**{**self.wording(), **self.inner_wording(sentences)})

    @abstractmethod
    def inner_wording(self, inner: Sequence[str]) -> dict[str, str]:
        """Return what fills the phrasings besides the parameters, from the sentences of the inner constraints."""

    def own_inner(self) -> tuple[Constraint, ...] | None:
        """Return the inner constraints, or None if one is published and so has neither repair nor witness."""
        own = tuple(rule for rule in self.inner if isinstance(rule, Constraint))
        return own if len(own) == len(self.inner) else None

    def counter_witness(self) -> str:
        return next((text for text in self.counter_texts() if self.check(text).outcome == "fail"), WORDLESS)

    def counter_texts(self) -> Iterator[str]:
        """Yield texts that may serve as counter-witness (a text that fails), best first and unverified."""
        for rule in self.own_inner() or ():
            yield rule.counter_witness()

    def witness(self) -> str:
        """Return a text that passes this constraint with its inner ones.

        Raises:
            AdhereError: No such text was found: the inner constraints exclude each other, or a published one knows no
                text that passes.
        """
        for text in self.texts():
            if self.check(text).outcome == "pass":
                return text
        ids = ", ".join(rule.id for rule in self.inner)
        raise AdhereError(f"{self.id}: found no text that passes it, with {ids} inside")

    @abstractmethod
    def texts(self) -> Iterator[str]:
        """Yield texts that may serve as witness (a text that passes), best first and unverified."""


def run(inner: Inner, text: str, reasoning: str | None) -> Finding:
    """Judge one text by one inner constraint."""
    if isinstance(inner, Constraint) and inner.reads_reasoning:
        return inner.check_with(text, reasoning)
    return inner.check(text)


def unfit_for_parts(inner: Sequence[Inner], outer: str, *, many: bool = True) -> str | None:
    """Say why one of `inner` cannot judge parts of the answer (`many` of them); None if all can.

    A constraint that looks at many parts would look at each part of each part, which is not linear in the text.
    """
    for rule in inner:
        if rule.reads_calls:
            return f"{rule.id} is about calls of tools, which have no parts, so it must not stand inside {outer}"
        if isinstance(rule, NestedRule):
            if rule.is_about_reasoning():
                return (
                    f"{rule.id} is about the reasoning, which is no part of the answer, "
                    f"so it must not stand inside {outer}"
                )
            if many and rule.many_parts:
                return (
                    f"{rule.id} looks at many parts of the answer, so it must not stand inside "
                    f"{outer}, which does so too"
                )
            if problem := unfit_for_parts(rule.inner, outer, many=many):
                return problem
    return None


def describe(inner: Inner, number: int, *, is_last: bool) -> str:
    """Say an inner constraint in words.

    With `is_last` the last wording is used, which is kept for held-out prompts, else another.
    """
    if isinstance(inner, PublishedConstraint):
        return inner.describe()
    others = len(inner.phrasings) - 1
    return inner.describe(others if is_last else number % others)


def name_reason(inner: Inner, finding: Finding) -> str:
    """Return the reason of an inner finding, with the id of its constraint in front."""
    return f"{inner.id}: {shorten(finding.reason)}"


def shorten(reason: str) -> str:
    """Cut a reason to the length that another reason can hold."""
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}…"


def quote(sentence: str) -> str:
    """Put a sentence between quotation marks that it does not contain."""
    return f"‘{sentence}’" if "“" in sentence else f"“{sentence}”"


def _as_reference(value: object) -> object:
    """Turn an inner constraint into a ConstraintRef.

    A value that is no constraint stays as it is, for the domain to refuse.
    """
    if isinstance(value, Constraint | PublishedConstraint):
        value = value.ref()
    if isinstance(value, Mapping) and isinstance(value.get("id"), str) and set(value) <= {"id", "params"}:
        params = value.get("params")
        if params is None or isinstance(params, dict):
            value = ConstraintRef(value["id"], params or {})
    if not isinstance(value, ConstraintRef) or _too_deep(value.params):
        return value
    return ConstraintRef(value.id, {name: _plain(item) for name, item in value.params.items() if item is not None})


def _plain(value: Any) -> Json:
    """Return a parameter as JSON holds it."""
    if isinstance(value, ConstraintRef):
        return {"id": value.id, "params": _plain(value.params)}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    plain: Json = value
    return plain


def _too_deep(value: object) -> bool:
    """Tell whether more than `_DEEPEST_JSON` lists and objects are nested."""
    level: list[object] = [value]
    for _ in range(_DEEPEST_JSON):
        level = [
            item
            for container in level
            if isinstance(container, list | tuple | dict | ConstraintRef)
            for item in _items(container)
        ]
        if not level:
            return False
    return True


def _items(container: list[Any] | tuple[Any, ...] | dict[str, Any] | ConstraintRef) -> Iterator[Any]:
    if isinstance(container, ConstraintRef):
        return iter([container.params])
    return iter(container.values() if isinstance(container, dict) else container)
