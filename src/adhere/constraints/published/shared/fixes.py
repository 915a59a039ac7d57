"""Define the `fixed` mode: each defect of the published code has an id, a definition and a source.

A `Fix` is one listed defect of one published id. The rules are in `ifeval/fixed_*.py`, `ifbench/fixed.py` and
`iftrain/fixed.py`; each takes the parameters and the set of fixes that are switched on, so that the effect of one fix
can be measured alone, and with none switched on it judges as in reference mode. `mended` is the kind with all its fixes
on.

What counts as a defect, and what a mended rule says, is one careful reading of the published prompts, not a consensus;
`docs/reference/fixes.md` shows what each fix changes on real answers (`benchmarks/pages/fixes.py` makes that page).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from adhere.constraints.finding import Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check, Kind, Param, PublishedConstraint, fill, find
from adhere.errors import AdhereError, UnknownName, nearest
from adhere.schema import Json

Values = Mapping[str, Any]
On = frozenset[str]
"""The ids of the fixes that are switched on."""
FixedRule = Callable[[Values, On], Check]


class Fix(NamedTuple):
    """Describes one defect of one published id, and mends it.

    Attributes:
        id: Its name, such as `fix:bullets-minus`.
        constraint_id: The id that it mends.
        what: One sentence: what the published code does wrong, and what fixed mode does.
        source: Where the defect is described.
        rule: The mended rule, which judges with any of the id's fixes switched on.
        params: Parameters that the mended rule takes differently.
    """

    id: str
    constraint_id: str
    what: str
    source: str
    rule: FixedRule
    params: Mapping[str, Param] = {}

    def compile(self, params: Mapping[str, Json]) -> Check:
        """Return the check with this fix alone; the parameters must be validated and complete."""
        return self.rule(params, frozenset([self.id]))

    def alone(self, params: Mapping[str, Json], *, profile: str | None = None) -> PublishedConstraint:
        """Return the constraint with this fix alone.

        Raises:
            BadParameter: A parameter is wrong, as for `modes.constraint`.
        """
        return fill(in_fixed_mode(find(self.constraint_id, profile=profile), only={self.id}), params, mode="fixed")


class _FixedRule(NamedTuple):
    fixes: tuple[Fix, ...]
    rule: FixedRule
    version: int


# Modules by the suite whose ids they mend; `_kinds` of `published` is keyed by the same names.
_MODULES = {
    "ifeval": ("ifeval.fixed_words", "ifeval.fixed_format"),
    "ifbench": ("ifbench.fixed",),
    "iftrain": ("iftrain.fixed",),
}
_fixed_rules: dict[str, _FixedRule] = {}
_loaded_suites: set[str] = set()


class Draft(NamedTuple):
    """Holds a fix before `fixed_rule` joins it to its rule."""

    id: str
    what: str
    source: str
    params: Mapping[str, Param]


def fix(name: str, defect: str, source: str, **params: Param) -> Draft:
    """Declare a fix; `name` is its id without `fix:`, `params` are those that the mended rule takes differently."""
    return Draft(f"fix:{name}", defect, source, params)


def fixed_rule(constraint_id: str, *drafts: Draft, version: int = 1) -> Callable[[FixedRule], FixedRule]:
    """Declare a function of the parameters and the switched-on fixes as the mended rule of a published id.

    The function is called only with one fix or more; without any the published rule judges.
    """

    def register(rule: FixedRule) -> FixedRule:
        @functools.wraps(rule)
        def rule_or_none(values: Values, on: On) -> Check:
            return rule(values, on) if on else find(constraint_id).compile(values)

        if constraint_id in _fixed_rules:
            raise AdhereError(f"Two mended rules are declared for {constraint_id!r}; put their fixes into one")
        known_ids = {other.id for known_rule in _fixed_rules.values() for other in known_rule.fixes}
        twice = [draft.id for draft in drafts if draft.id in known_ids]
        if twice:
            raise AdhereError(f"{constraint_id}: the fix {twice[0]!r} is declared twice; each defect has its own id")
        new_fixes = tuple(
            Fix(draft.id, constraint_id, draft.what, draft.source, rule_or_none, draft.params) for draft in drafts
        )
        _fixed_rules[constraint_id] = _FixedRule(new_fixes, rule_or_none, version)
        return rule

    return register


def fixed_check(constraint_id: str, draft: Draft) -> Callable[[Callable[[Text, Values], Finding]], FixedRule]:
    """Declare a function that judges a text by the parameters as the mended rule of an id that has one fix."""

    def register(judge: Callable[[Text, Values], Finding]) -> FixedRule:
        @functools.wraps(judge)
        def rule(values: Values, _on: On) -> Check:
            return lambda text: judge(text, values)

        return fixed_rule(constraint_id, draft)(rule)

    return register


def _load(suite: str) -> None:
    if suite not in _loaded_suites:
        for module in _MODULES.get(suite, ()):
            importlib.import_module(f"adhere.constraints.published.{module}")
        _loaded_suites.add(suite)


def in_fixed_mode(kind: Kind, *, only: Collection[str] | None = None) -> Kind:
    """Return the kind with its fixes on, or only those in `only`; a kind without fixes is unchanged.

    Raises:
        UnknownName: `only` names a fix that the kind does not have.
    """
    suite = kind.profiles[0].partition("-")[0]
    _load(suite)
    known_rule = _fixed_rules.get(kind.id) if suite in _MODULES else None  # others share ids, not defects
    fix_by_id = {fix.id: fix for fix in known_rule.fixes} if known_rule else {}
    on = frozenset(fix_by_id if only is None else only)
    unknown = sorted(on.difference(fix_by_id))
    if unknown:
        raise UnknownName(f"{kind.id} has no fix {unknown[0]!r}.{nearest(unknown[0], fix_by_id)}")
    if known_rule is None or not on:
        return kind
    rule = known_rule.rule
    params = dict(kind.params)
    for name in sorted(on):
        params.update(fix_by_id[name].params)
    return kind._replace(params=params, compile=lambda values: rule(values, on), version=known_rule.version)


def fixes(suite: str | None = None) -> tuple[Fix, ...]:
    """Return all fixes, or those of `ifeval`, `ifbench` or `iftrain`, in the order of their declaration.

    Raises:
        UnknownName: The suite has no fixes.
    """
    if suite is not None and suite not in _MODULES:
        raise UnknownName(f"No fixes for {suite!r}.{nearest(suite, _MODULES)} There are: {', '.join(_MODULES)}")
    for name in _MODULES:
        _load(name)
    modules = {
        f"adhere.constraints.published.{module}"
        for name, module_names in _MODULES.items()
        if suite in {None, name}
        for module in module_names
    }
    return tuple(
        fix for known_rule in _fixed_rules.values() for fix in known_rule.fixes if known_rule.rule.__module__ in modules
    )
