"""Define the Constraint protocol.

A Constraint is a rule with its parameters filled. It can check a text, say itself in words and draw itself. A kind is
one frozen dataclass with its parameters declared by `param(domain)`. The contract suite
(`tests/contract/test_constraints.py`) puts every registered kind through the same tests.
"""

from __future__ import annotations

import dataclasses
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self, TypeVar, dataclass_transform

from adhere.constraints.finding import Finding
from adhere.errors import BadParameter, nearest
from adhere.plugins import Registry
from adhere.schema import ConstraintRef, Mode, Part


class Domain(Protocol):
    """Describes the values that a parameter may take."""

    def problem(self, value: object) -> str | None:
        """Say what is wrong with `value`, as "must be …"; None if nothing is."""

    def invalid(self) -> Sequence[object]:
        """Return values that `problem` rejects, for tests."""


@dataclasses.dataclass(frozen=True)
class Whole:
    """A whole number in [low, high]."""

    low: int
    high: int

    def problem(self, value: object) -> str | None:
        if type(value) is int and self.low <= value <= self.high:
            return None
        return f"must be a whole number from {self.low} to {self.high}"

    def invalid(self) -> Sequence[object]:
        return [self.low - 1, self.high + 1, 1.5, "three", None, True]


@dataclasses.dataclass(frozen=True)
class Words:
    """A text of 1 to `longest` characters on one line, without blanks at its ends."""

    longest: int = 200

    def problem(self, value: object) -> str | None:
        if (
            isinstance(value, str)
            and 0 < len(value) <= self.longest
            and value == value.strip()
            and len(value.splitlines()) == 1
        ):
            return None
        return f"must be one line of 1 to {self.longest} characters without blanks at its ends"

    def invalid(self) -> Sequence[object]:
        return ["", " a", "a\nb", "x" * (self.longest + 1), 3, None]


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def problem(self, value: object) -> str | None:
        return (
            None
            if value in self.names and isinstance(value, str)
            else f"must be one of {', '.join(map(repr, self.names))}"
        )

    def invalid(self) -> Sequence[object]:
        return ["no such name", 3, None]


@dataclasses.dataclass(frozen=True)
class ListOf:
    """A tuple of `fewest` to `most` different values of one domain."""

    item: Domain
    fewest: int
    most: int

    def problem(self, value: object) -> str | None:
        if not isinstance(value, tuple) or not self.fewest <= len(value) <= self.most or len(set(value)) != len(value):
            return f"must be {self.fewest} to {self.most} different values"
        return next((f"each {problem}" for item in value if (problem := self.item.problem(item))), None)

    def invalid(self) -> Sequence[object]:
        return [("x",) * (self.most + 1), "text", None, 3, (self.item.invalid()[0],) * max(1, self.fewest)]


Drawn = Sequence[Any] | Callable[[random.Random, Sequence[str]], Any]
"""Values to draw one of, or a function that draws one, given `rng` and the query's topic words."""


def param(
    domain: Domain, *, default: Any = dataclasses.MISSING, said: bool = True, drawn: Drawn = (), noun: str = ""
) -> Any:
    """Declare a parameter of a kind with the values that it may take.

    Args:
        domain: The values.
        default: The value if none is given; without it, the parameter is required.
        said: False if the model must not be told the value.
        drawn: How `Constraint.draw` draws the value, independently of other parameters; empty if the kind has its own
            `draw`.
        noun: What a number counts: in the package's own kinds, "sentence" makes {sentences} read "3 sentences".
    """
    return dataclasses.field(default=default, metadata={"domain": domain, "said": said, "drawn": drawn, "noun": noun})


@dataclasses.dataclass(frozen=True)
class Constraint(ABC):
    """Is the base of every kind; subclasses are frozen dataclasses registered by `@kind`.

    Judging needs `check` and `phrasings` (or a `describe` of its own). Generating prompts needs `draw`, `witness`,
    `counter_witness`, the examples and FEWEST_PHRASINGS wordings besides; `generation_problem` says what is missing.

    Class attributes:
        id: `family:kind`; never changes meaning.
        version: Goes up when `check` returns another outcome for any text.
        part: `train` kinds may be trained on; `held-out` kinds never are.
        phrasings: Ways to say the rule, as format strings over the parameters. The last one is for held-out prompts.
        passing, failing: (params, text) that passes and one that fails; the contract suite runs both.
        right_text, wrong_text: A text that passes and a short one that fails, as format strings over the parameters;
            empty if `witness` or `counter_witness` builds it.
        claims: Aspects of the answer that the kind fixes ("shape", "case", "start", …). Kinds that share one conflict.
        excludes: Ids of other kinds that conflict with this one, whatever they claim.
        order: When `repair_all` applies the repair: content (10-39), then shape (40-69), ends (70-79),
            case (80-89), marks (90-94), and text around the whole answer (95-99).
        reads_reasoning: Whether `check_with` looks at the model's reasoning, which is no part of the answer.
        reads_calls: Whether `check` gets the whole answer with its calls of tools, as JSON (`schema.Whole`). Such a
            kind has no loose view.
        runs_code: Whether `check` runs the answer's code; without a sandbox its verdicts are undecided.
        is_task: Whether the rule is a request of its own (write this function, make this plan). No other request takes
            such a rule.
        is_made_of_others: Whether the kind holds other constraints, on whose versions its verdicts depend
            (`nested.py`).

    Raises:
        BadParameter: A parameter is wrong, on construction; the message names constraint, parameter, value and what is
            allowed.
    """

    id: ClassVar[str]
    version: ClassVar[int] = 1
    part: ClassVar[Part] = "train"
    phrasings: ClassVar[tuple[str, ...]]
    passing: ClassVar[tuple[dict[str, Any], str]]
    failing: ClassVar[tuple[dict[str, Any], str]]
    right_text: ClassVar[str] = ""
    wrong_text: ClassVar[str] = ""
    claims: ClassVar[frozenset[str]] = frozenset()
    excludes: ClassVar[frozenset[str]] = frozenset()
    order: ClassVar[int] = 50
    is_task: ClassVar[bool] = False
    reads_reasoning: ClassVar[bool] = False
    reads_calls: ClassVar[bool] = False
    is_made_of_others: ClassVar[bool] = False
    runs_code: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            domain: Domain = field.metadata["domain"]
            value = getattr(self, field.name)
            if isinstance(value, list):
                value = tuple(value)
                object.__setattr__(self, field.name, value)
            problem = domain.problem(value)
            if problem:
                raise BadParameter(f"{self.id}: {field.name}={value!r} {problem}")
        if problem := self.problem():
            raise BadParameter(f"{self.id}: {problem}")

    def problem(self) -> str | None:
        """Say what is wrong with the parameters together, as "low=5 must be below high=3"; None if nothing is."""
        return None

    @classmethod
    def family(cls) -> str:
        """Return the part of the id before the colon."""
        return cls.id.partition(":")[0]

    @abstractmethod
    def check(self, text: str) -> Finding:
        """Judge `text` (any string, however odd) in linear time.

        This never raises, and never returns `pass` without having looked.
        """

    def check_with(self, text: str, reasoning: str | None) -> Finding:
        """Judge `text` as `check` does, given the model's reasoning too; called if `reads_reasoning` is true."""
        return self.check(text)

    def with_mode(self, *, mode: Mode, profile: str | None, random_seed: int | None) -> Constraint:
        """Return a copy whose inner published constraints are judged in this mode (see `resolve`), else itself."""
        return self

    def describe(self, phrasing: int = 0) -> str:
        """Say the rule as one sentence to the model; `phrasing` chooses the wording (modulo their number)."""
        return self.phrasings[phrasing % len(self.phrasings)].format(**self.wording())

    def wording(self) -> dict[str, Any]:
        """Return the values that fill the phrasings: the parameters, and what a kind derives from them."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        """Draw a constraint for a query with the topic words `words` (may be empty).

        By default each parameter is drawn as its `param` says, in their order.
        """
        if not cls.says_how_to_draw():
            raise NotImplementedError(f"{cls.id} has no draw(), so no prompt can be generated with it")
        ways = [(field.name, field.metadata["drawn"]) for field in dataclasses.fields(cls)]
        return cls(**{name: way(rng, words) if callable(way) else rng.choice(way) for name, way in ways})

    @classmethod
    def says_how_to_draw(cls) -> bool:
        """Tell whether each parameter says how it is drawn."""
        return all(field.metadata.get("drawn") for field in dataclasses.fields(cls))

    def repair(self, text: str) -> str | None:
        """Return a small edit of `text` that passes and keeps its content, or None if none is found."""
        return next((edited for edited in self.repairs(text) if self.check(edited).outcome == "pass"), None)

    def repairs(self, text: str) -> Iterator[str]:
        """Yield candidate edits, best first and unverified; kinds override this method."""
        yield from ()

    def tightened(self, level: int) -> Constraint:
        """Return a stricter constraint of this kind that leaves room for what other repairs add.

        `level` runs from 0 (unchanged) to 5 (the strictest).
        """
        return self

    def witness(self) -> str:
        """Return a text that passes, built for these parameters or, for a kind without parameters, its example."""
        return self._example(self.right_text, self.passing, "witness")

    def counter_witness(self) -> str:
        """Return a short non-empty text that fails, built for these parameters or taken from the example."""
        return self._example(self.wrong_text, self.failing, "counter_witness")

    def _example(self, template: str, example: tuple[dict[str, Any], str], method: str) -> str:
        if template:
            return template.format(**{field.name: getattr(self, field.name) for field in dataclasses.fields(self)})
        if dataclasses.fields(self):
            raise NotImplementedError(f"{self.id} has no {method}(), so no answer can be made for it")
        return example[1]

    def literals(self) -> tuple[str, ...]:
        """Return the texts that every passing answer contains, in some letter case."""
        return ()

    def rules_out(self, literal: str) -> bool:
        """Tell whether no passing answer can contain `literal`."""
        return False

    def fewest_words(self) -> int:
        """Return the number of words that any sensible passing answer has at least."""
        return 1

    def most_words(self) -> int | None:
        """Return the number of words that any passing answer has at most (None: no limit)."""
        return None

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether no sensible answer satisfies both, as far as this constraint knows; `conflict` asks both.

        By default two conflict if they are of one kind, share a claim, or this one excludes the other, rules out one of
        its literals or allows too few words for it.
        """
        most = self.most_words()
        return (
            self.id == other.id
            or not self.claims.isdisjoint(other.claims)
            or other.id in self.excludes
            or any(self.rules_out(literal) for literal in other.literals())
            or (most is not None and most < other.fewest_words())
        )

    def ref(self) -> ConstraintRef:
        """Return the form in which the constraint is stored."""
        params = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return ConstraintRef(
            self.id, {name: list(value) if isinstance(value, tuple) else value for name, value in params.items()}
        )


def conflict(a: Constraint, b: Constraint) -> bool:
    """Tell whether no sensible answer satisfies both constraints; the order does not matter."""
    return a.conflicts_with(b) or b.conflicts_with(a)


Kind = TypeVar("Kind", bound=type[Constraint])

FEWEST_PHRASINGS = 4
"""The wordings that a kind needs to generate prompts: training draws from all but the last."""

# The package's own kinds: the part of the id before the colon, and the module of this room that holds them.
FAMILIES = {
    "answer": "kinds.held_out.answer",
    "calls": "kinds.held_out.calls",
    "case": "kinds.trained.case",
    "code": "kinds.held_out.code",
    "compose": "compose",
    "copying": "kinds.trained.copying",
    "counting": "kinds.trained.counting",
    "data": "kinds.trained.data",
    "drawing": "kinds.held_out.drawing",
    "exact": "kinds.held_out.exact",
    "format": "kinds.held_out.format",
    "keywords": "kinds.trained.keywords",
    "language": "kinds.held_out.language",
    "length": "kinds.trained.length",
    "letters": "kinds.held_out.letters",
    "markdown": "kinds.held_out.markdown",
    "plan": "kinds.held_out.plan",
    "position": "kinds.trained.position",
    "punctuation": "kinds.trained.punctuation",
    "scope": "kinds.held_out.scope",
    "startend": "kinds.trained.start_end",
    "structure": "kinds.trained.structure",
    "style": "kinds.held_out.style",
    "world": "kinds.held_out.world",
    "written": "written",
}


def kind_problem(name: object, cls: object) -> str | None:
    """Say why `cls` cannot be the kind called `name`, in words for its author; None if it can."""
    if not (isinstance(cls, type) and issubclass(cls, Constraint)):
        return f"must be a subclass of adhere.constraints.Constraint, is {cls!r}"
    return next((f"{cls.__qualname__}{problem}" for problem in _problems(name, cls)), None)


def _problems(name: object, cls: type[Constraint]) -> Iterator[str]:
    if not hasattr(cls, "id"):
        yield " must have the class attribute id"
    if cls.id != name or not isinstance(cls.id, str) or ":" not in cls.id:
        yield f".id must be the name of its entry point, 'family:kind'; it is {cls.id!r}, not {name!r}"
    if not cls.__module__.startswith("adhere."):  # the package's own ids are held apart by a test
        from adhere.constraints.published.shared import registry as published

        if published.is_published(cls.id):
            profiles = " and ".join(published.find(cls.id).profiles)
            yield f".id {cls.id!r} is taken: it is a published kind of {profiles}. Choose another family"
    if cls.__abstractmethods__:
        yield f" must define {', '.join(sorted(cls.__abstractmethods__))}"
    if cls.describe is Constraint.describe and not (
        isinstance(getattr(cls, "phrasings", None), tuple) and cls.phrasings
    ):
        yield " must say its rule in words: give it a tuple of phrasings, or a describe() of its own"
    if "__dataclass_params__" not in vars(cls) or not vars(cls)["__dataclass_params__"].frozen:
        yield " must be decorated with @dataclasses.dataclass(frozen=True)"
    for field in dataclasses.fields(cls):
        if "domain" not in field.metadata:
            yield f".{field.name} must declare its domain: `{field.name}: … = param(Whole(1, 10))`"


def generation_problem(cls: type[Constraint]) -> str | None:
    """Say what a kind lacks for generating prompts and answers, in words for its author; None if nothing."""
    bare = vars(Constraint)
    missing = [f"{name} (a pair of parameters and text)" for name in ("passing", "failing") if not hasattr(cls, name)]
    if dataclasses.fields(cls):
        declarations = {"draw": cls.says_how_to_draw(), "witness": cls.right_text, "counter_witness": cls.wrong_text}
        missing += [
            f"{name}()"
            for name, is_said in declarations.items()
            if not is_said and next(vars(base)[name] for base in cls.__mro__ if name in vars(base)) is bare[name]
        ]
    if missing:
        return f"{cls.__qualname__} must have {', '.join(missing)}"
    if len(getattr(cls, "phrasings", ())) < FEWEST_PHRASINGS:
        return (
            f"{cls.__qualname__}.phrasings must be {FEWEST_PHRASINGS} or more: "
            "the last one is kept for held-out prompts"
        )
    return None


registry: Registry[type[Constraint]] = Registry(
    "constraint",
    group="adhere.constraints",
    listing="adhere list constraints",
    modules={family: f"adhere.constraints.{module}" for family, module in FAMILIES.items()},
    problem=kind_problem,
)


@dataclass_transform(frozen_default=True, field_specifiers=(param,))
def kind(cls: Kind) -> Kind:
    """Register a Constraint class; make it a frozen dataclass if it is none yet.

    Raises:
        TypeError: The class cannot judge; the message names the methods or attributes that it lacks.
    """
    if "__dataclass_params__" not in vars(cls):
        dataclasses.dataclass(frozen=True)(cls)
    problem = kind_problem(getattr(cls, "id", None), cls)
    if problem is not None:
        raise TypeError(f"{cls.__module__}.{problem}")
    registry.add(cls.id, cls, owner=cls.__module__)
    return cls


def make(id: str, **params: Any) -> Constraint:  # noqa: A002 - the field's word
    """Make a constraint from its id and parameters.

    Raises:
        UnknownName: There is no such kind.
        BadParameter: A parameter is unknown, missing or outside its domain.
    """
    cls = registry.get(id)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    for name in params:
        if name not in fields:
            raise BadParameter(
                f"{id}: unknown parameter {name!r}.{nearest(name, fields)} It takes: {', '.join(fields) or 'none'}"
            )
    missing = [name for name, field in fields.items() if field.default is dataclasses.MISSING and name not in params]
    if missing:
        raise BadParameter(f"{id}: missing parameter {', '.join(missing)}")
    return cls(**params)


def from_ref(ref: ConstraintRef) -> Constraint:
    """Make a constraint from a stored reference, as `make` does from an id."""
    return make(ref.id, **ref.params)


__all__ = [
    "Choice", "Constraint", "Domain", "Finding", "ListOf", "Whole", "Words",
    "conflict", "from_ref", "kind", "make", "param", "registry",
]  # fmt: skip
