"""Register published kinds: instructions of published suites, judged as their code does, under their names.

A `Kind` is one published id with its parameters as published. `constraint` turns an id and stored parameters into a
`PublishedConstraint`, which checks texts as a `Constraint` does. Where profiles of one suite differ (`ifbench-2025` and
`ifbench-2026`), each has its own Kind under the same id.

What the published code would draw at random (an absent threshold, the letter `#`) is `undecided`, always for the same
stated reason. `random_seed` is the compatibility switch: those parameters are then drawn from that seed, once, and both
views use the same draw, so that such an instruction has a verdict, and the same one in every process.

`mode="fixed"` judges with the listed defects of the published code mended (`fixes.py`); kinds without a listed defect
are judged as in reference mode, and nothing is ever drawn.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from adhere.constraints.finding import FinalFailure, Finding
from adhere.constraints.published.shared.features import Text
from adhere.errors import AdhereError, BadParameter, UnknownName, nearest
from adhere.schema import ConstraintRef, Json, Mode

if TYPE_CHECKING:
    import random

Check = Callable[[Text], Finding]
PROFILES = (
    "ifeval", "ifbench-2026", "ifbench-2025", "iftrain", "followbench", "m-ifeval", "ruler", "multi-if", "mathif",
    "reasonif", "logicif", "judged", "iheval", "ifscale", "needlebench", "mmifeval", "structeval", "jsonschemabench",
    "agentif", "ifevalpp",
)  # fmt: skip
STRIPPED = frozenset({"iheval"})
"""Profiles whose published runner strips an answer before any rule sees it."""

EMPTY = Finding("fail", "the answer is empty")


def _is_absent(value: Json, _params: Mapping[str, Json]) -> bool:
    return value is None


def is_absent_or_negative(value: Any, _params: Mapping[str, Json]) -> bool:
    """Tell for `Param.is_drawn` that a number is absent or negative."""
    return value is None or value < 0


def is_falsy(value: Json, _params: Mapping[str, Json]) -> bool:
    """Tell for `Param.is_drawn` that a value is absent, empty or 0."""
    return not value


def is_never_drawn(_value: Json, _params: Mapping[str, Json]) -> bool:
    """Tell for `Param.is_drawn` that an absent value stays absent."""
    return False


class Param(NamedTuple):
    """Describes a published parameter.

    `choices` are all values that the published code accepts; others make it raise, and so does the lack of a `required`
    parameter. `is_drawn` tells for which values (None: absent) it draws another one at random, and `draw` draws it.
    """

    type: Literal["integer", "number", "string", "strings", "pairs"]
    required: bool = False
    choices: tuple[str, ...] = ()
    is_drawn: Callable[[Json, Mapping[str, Json]], bool] = _is_absent
    draw: Callable[[random.Random, Mapping[str, Json]], Json] | None = None


class Kind(NamedTuple):
    """Describes one published instruction id.

    `compile` gets parameters that are validated and complete, and returns the check, which takes linear time and never
    raises.
    """

    id: str
    profiles: tuple[str, ...]
    params: Mapping[str, Param]
    compile: Callable[[Mapping[str, Json]], Check]
    describe: Callable[[Mapping[str, Json]], str]
    version: int = 1


def declare(
    id: str,  # noqa: A002 - the field's word
    profiles: tuple[str, ...],
    compile: Callable[[Mapping[str, Json]], Check],  # noqa: A002 - Kind's word
    description: str,
    *,
    version: int = 1,
    **params: Param,
) -> Kind:
    """Make a Kind whose description is filled with the parameters by name; an absent one reads "None"."""

    def describe(values: Mapping[str, Json]) -> str:
        return description.format(**{name: values.get(name) for name in params})

    return Kind(id, profiles, params, compile, describe, version)


def judge_by(rule: Callable[[Text, Mapping[str, Any]], Finding]) -> Callable[[Mapping[str, Json]], Check]:
    """Turn a rule of text and parameters, which prepares nothing, into a Kind's `compile`."""

    @functools.wraps(rule)
    def compile_rule(values: Mapping[str, Json]) -> Check:
        return lambda text: rule(text, values)

    return compile_rule


def _module_of(profile: str) -> str:
    """Return the module of a profile: `ifbench` for `ifbench-2026`, `mifeval` for `m-ifeval`."""
    return profile.partition("-20")[0].replace("-", "")


# Modules by the profiles they hold, in the order in which an id is looked for; a later one is imported only for an id
# that no earlier one has.
_MODULES = {
    module: tuple(profile for profile in PROFILES if _module_of(profile) == module)
    for module in dict.fromkeys(map(_module_of, PROFILES))
}
_kinds: dict[str, dict[str, Kind]] = {}
_loaded_modules: set[str] = set()


def register(*kinds: Kind) -> None:
    """Add kinds; two of one id and profile are an error that names them."""
    for kind in kinds:
        by_profile = _kinds.setdefault(kind.id, {})
        for profile in kind.profiles:
            if profile not in PROFILES:
                raise AdhereError(f"{kind.id}: unknown profile {profile!r}; there are {', '.join(PROFILES)}")
            if by_profile.setdefault(profile, kind) is not kind:
                raise AdhereError(f"Two published kinds are called {kind.id!r} in profile {profile!r}")


def _load(module: str) -> None:
    if module not in _loaded_modules:
        if module != "ifeval":  # whose ids others share: without a profile an id is its own kind
            _load("ifeval")
        importlib.import_module(f"adhere.constraints.published.{module}.table")
        _loaded_modules.add(module)


def ids(profile: str | None = None) -> list[str]:
    """Return all published ids, or those of one profile, sorted."""
    for module, profiles in _MODULES.items():
        if profile is None or profile in profiles:
            _load(module)
    return sorted(name for name, by_profile in _kinds.items() if profile is None or profile in by_profile)


def is_published(id: str) -> bool:  # noqa: A002 - the field's word
    """Tell whether some profile has the id."""
    return _profiles_of(id) is not None


def is_loaded(id: str) -> bool:  # noqa: A002
    """Tell whether the id is published and found without an import; IFEval's ids always are."""
    _load("ifeval")
    return id in _kinds


def _profiles_of(id: str, profile: str | None = None) -> dict[str, Kind] | None:  # noqa: A002
    """Return the kinds of an id by profile, in the modules loaded so far and that of `profile`; None if unknown."""
    for module, profiles in _MODULES.items():
        if profile in profiles:
            _load(module)
    for module in _MODULES:
        _load(module)
        if id in _kinds:
            return _kinds[id]
    return None


def is_in(id: str, profile: str) -> bool:  # noqa: A002
    """Tell whether the profile has the id."""
    return profile in (_profiles_of(id, profile) or ())


def find(id: str, *, profile: str | None = None) -> Kind:  # noqa: A002
    """Return the kind called `id`, of the newest profile unless `profile` names one.

    Raises:
        UnknownName: No published suite has the id, or not in that profile.
    """
    by_profile = _profiles_of(id, profile)
    if by_profile is None:
        raise UnknownName(f"Unknown published constraint {id!r}.{nearest(id, ids())} (adhere list constraints)")
    if profile is None:
        return next(iter(by_profile.values()))
    if profile not in by_profile:
        raise UnknownName(f"{id!r} is not in profile {profile!r}; it is in {', '.join(by_profile)}")
    return by_profile[profile]


class PublishedConstraint:
    """Holds a published kind with its parameters; checks, describes and is stored as a Constraint is."""

    __slots__ = ("id", "judge", "kind", "mode", "params")
    reads_calls = False

    def __init__(self, kind: Kind, params: Mapping[str, Json], judge: Check, mode: Mode = "reference") -> None:
        self.id = kind.id
        self.mode: Mode = mode
        self.kind = kind
        self.params = dict(params)
        self.judge = judge

    def check(self, text: str) -> Finding:
        """Judge `text` under the strict view: an answer without a visible character fails, as in the published code."""
        return EMPTY if not text or text.isspace() else self.judge(Text(text))

    def both_views(self, text: Text) -> tuple[Finding, Finding]:
        """Return (strict, loose) for one answer; the constraints of a prompt should share one Text."""
        return both_views(self.judge, text)

    def describe(self, phrasing: int = 0) -> str:
        """Say the rule in the published words, which are the only ones."""
        return self.kind.describe(self.params)

    def ref(self) -> ConstraintRef:
        """Return the form in which the constraint is stored."""
        return ConstraintRef(self.id, self.params)

    def __repr__(self) -> str:
        mode = "" if self.mode == "reference" else f", mode={self.mode!r}"
        return f"PublishedConstraint({self.id!r}, {self.params!r}{mode})"


def fill(
    kind: Kind, params: Mapping[str, Json], *, mode: Mode = "reference", random_seed: int | None = None
) -> PublishedConstraint:
    """Make a constraint of a kind and its parameters; see `modes.constraint`."""
    values = _validate(kind, params)
    rng = None
    if random_seed is not None:
        import random  # most judging draws nothing

        rng = random.Random(random_seed)
    reasons = []
    for name, param in kind.params.items():
        value = values.get(name)
        if not param.is_drawn(value, values):
            continue
        if rng is not None and param.draw is not None:
            values[name] = param.draw(rng, values)
        else:
            reasons.append(f"{name} is missing" if value is None else f"{name} is {value!r}")
    if reasons:
        reason = f"{' and '.join(reasons)}, and then the published code draws one at random"
        undecided = Finding("undecided", reason if mode == "reference" else f"{reason}; fixed mode draws nothing")
        return PublishedConstraint(kind, values, lambda text: undecided, mode)  # noqa: ARG005
    return PublishedConstraint(kind, values, kind.compile(values), mode)


def _validate(kind: Kind, params: Mapping[str, Json]) -> dict[str, Json]:
    values: dict[str, Json] = {}
    for name, value in params.items():
        if value is None:
            continue
        if name not in kind.params:
            takes = ", ".join(kind.params) or "none"
            raise BadParameter(f"{kind.id}: unknown parameter {name!r}.{nearest(name, kind.params)} It takes: {takes}")
        values[name] = _convert_type(kind, name, value)
    missing = [name for name, param in kind.params.items() if param.required and not values.get(name)]
    if missing:
        raise BadParameter(f"{kind.id}: missing parameter {', '.join(missing)}")
    return values


def _convert_type(kind: Kind, name: str, value: Any) -> Json:
    """Return the value as its declared type.

    Files carry whole numbers as floats, and stored constraints carry lists as tuples.
    """
    param = kind.params[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    elif isinstance(value, tuple):
        value = list(value)
    if param.choices and value not in param.choices:
        raise BadParameter(
            f"{kind.id}: {name}={value!r} must be one of {', '.join(map(repr, param.choices))}."
            + (nearest(value, param.choices) if isinstance(value, str) else "")
        )
    if not _TYPES[param.type](value):
        raise BadParameter(f"{kind.id}: {name}={value!r} must be {_WORDS[param.type]}")
    json_value: Json = value
    return json_value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "pairs": lambda value: isinstance(value, dict) and all(isinstance(x, str) for x in (*value, *value.values())),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    # A text where a list belongs is taken for its characters, as the published code does.
    "strings": lambda value: (
        isinstance(value, str) or (isinstance(value, list) and all(isinstance(x, str) for x in value))
    ),
}
_WORDS = {
    "pairs": "an object of texts",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "strings": "a list of texts",
}


def both_views(judge: Check, text: Text) -> tuple[Finding, Finding]:
    """Return (strict, loose) for one text."""
    strict = EMPTY if text.is_blank else judge(text)
    return strict, loosely(judge, text, strict)


def loosely(judge: Check, text: Text, strict: Finding) -> Finding:
    """Return the loose finding of a text whose strict finding is known.

    Loose passes if any variant of the text passes, so a strict pass is a loose pass. It is undecided if no variant
    passes but one could not be judged. Only strict failures are judged again, on variants that differ from the text and
    from each other.
    """
    if strict.outcome == "pass" or isinstance(strict, FinalFailure) or text.is_blank:
        return strict
    undecided = strict if strict.outcome == "undecided" else None
    for variant in text.variants():
        finding = judge(variant)
        if finding.outcome == "pass":
            # The span lies in the variant, not in the text that is shown, so it is not kept.
            return finding._replace(reason=f"{finding.reason} (in a loose variant of the answer)", span=None)
        if finding.outcome == "undecided":
            undecided = undecided or finding
    return undecided or strict


def kinds(profile: str) -> Iterator[Kind]:
    """Yield the kinds of one profile, by id."""
    for name in ids(profile):
        yield _kinds[name][profile]
