"""Make any constraint from its stored form: of our own kinds, of published ones, and of plug-ins.

No id belongs to two of these; a test keeps our own ids apart from the published ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adhere.constraints.published.shared import registry as published
from adhere.constraints.published.shared.modes import constraint
from adhere.errors import UnknownName, nearest, one_of
from adhere.schema import MODES, ConstraintRef, Mode

__all__ = [
    "Mode", "insist_on", "is_published", "known_ids", "resolve", "version_at_hand", "version_of", "version_of_ref",
]  # fmt: skip

if TYPE_CHECKING:
    from adhere.constraints.base import Constraint
    from adhere.constraints.published.shared.registry import PublishedConstraint


def resolve(
    ref: ConstraintRef, *, mode: Mode = "reference", profile: str | None = None, random_seed: int | None = None
) -> Constraint | PublishedConstraint:
    """Return the constraint that `ref` stores.

    Args:
        ref: Its id and parameters.
        mode: The mode of published kinds; our own have one semantics.
        profile: The version of a published suite, if there are several (`ifbench-2025`); None: the newest. A kind that
            is not in that profile is taken from the one that has it.
        random_seed: As for `constraints.published.shared.modes.constraint`.

    Raises:
        UnknownName: The id is unknown.
        BadParameter: A parameter is unknown, missing or outside its domain.
        UsageError: There is no such mode or profile.
    """
    insist_on(mode, profile)
    if is_published(ref.id):
        return constraint(ref.id, ref.params, mode=mode, profile=_profile(ref.id, profile), random_seed=random_seed)
    from adhere.constraints.base import from_ref

    return from_ref(ref).with_mode(mode=mode, profile=profile, random_seed=random_seed)


def insist_on(mode: str, profile: str | None) -> None:
    """Refuse an unknown mode or profile, which would change semantics if it were guessed.

    Raises:
        UsageError: There is no such mode or profile.
    """
    one_of(mode, MODES, "mode")
    if profile is not None:
        one_of(profile, published.PROFILES, "profile")


def is_published(id: str) -> bool:  # noqa: A002 - the field's word
    """Tell whether the id belongs to a published suite.

    Raises:
        UnknownName: The id is neither published nor ours nor a plug-in's.
    """
    if published.is_loaded(id):  # the ids of IFEval: no other module has to be imported for them
        return True
    from adhere.constraints.base import registry  # 12 ms that those who ask for IFEval's kinds only need not pay

    if registry.own(id) is not None:
        return False
    if published.is_published(id):
        return True
    if id in registry:
        return False
    raise UnknownName(f"Unknown constraint {id!r}.{nearest(id, known_ids())} (adhere list constraints)")


def known_ids() -> list[str]:
    """Return all ids: our own, plug-ins' and published ones, sorted."""
    from adhere.constraints.base import registry

    return sorted({*registry, *published.ids()})


def version_of(id: str, *, mode: Mode = "reference", profile: str | None = None) -> str:  # noqa: A002
    """Return the version of a kind's verdicts, apart from that of the judge.

    It is `"2"` for one of our own, `"ifbench-2026.1"` for a published one.

    Raises:
        UnknownName: The id is unknown.
        UsageError: There is no such mode or profile.
    """
    insist_on(mode, profile)
    if not is_published(id):
        from adhere.constraints.base import registry

        return str(registry.get(id).version)
    profile = _profile(id, profile)
    kind = published.find(id, profile=profile)
    if mode == "fixed":
        from adhere.constraints.published.shared.fixes import in_fixed_mode

        kind = in_fixed_mode(kind)
    return f"{'' if mode == 'reference' else 'fixed-'}{profile or kind.profiles[0]}.{kind.version}"


def version_of_ref(ref: ConstraintRef, *, mode: Mode = "reference", profile: str | None = None) -> str:
    """Return the version as `version_of`, with the versions of what a composition holds: `"1(1, ifeval.1)"`.

    Raises:
        UnknownName, BadParameter: `resolve` raises it; only a composition has to be made for this.
    """
    from adhere.constraints.base import registry

    if not is_published(ref.id) and registry.get(ref.id).is_made_of_others:
        return version_at_hand(resolve(ref, mode=mode, profile=profile), profile=profile)
    return version_of(ref.id, mode=mode, profile=profile)


def version_at_hand(constraint: Constraint | PublishedConstraint, *, profile: str | None = None) -> str:
    """Return the version, as `version_of_ref` does, of a constraint that is already made and may be unregistered."""
    if isinstance(constraint, published.PublishedConstraint):
        return version_of(constraint.id, mode=constraint.mode, profile=profile)
    inner: tuple[Constraint | PublishedConstraint, ...] = (
        getattr(constraint, "inner", ()) if constraint.is_made_of_others else ()
    )
    inside = ", ".join(version_at_hand(rule, profile=profile) for rule in inner)
    return f"{constraint.version}({inside})" if inside else str(constraint.version)


def _profile(id: str, profile: str | None) -> str | None:  # noqa: A002
    return profile if profile is not None and published.is_in(id, profile) else None
