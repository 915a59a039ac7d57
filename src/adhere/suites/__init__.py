"""Suites by name: `load("core")`, `names()`, `describe()`.

base.py       what a Suite is
generated/    our own: seeded, with held-out parts
published/    the field's
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from adhere.errors import UsageError, nearest
from adhere.plugins import Registry
from adhere.schema import Prompt, Record
from adhere.suites.base import Suite

__all__ = ["Description", "Source", "Suite", "describe", "load", "names", "registry"]


class Source(NamedTuple):
    """Where a suite comes from.

    Attributes:
        load: From what stands behind the colon of the name (None: nothing does) and the seed (None: not given).
        what: One sentence for `adhere list suites`.
        usage: The names it answers to.
    """

    load: Callable[[str | None, int | None], Suite]
    what: str
    usage: str


class Description(Record, frozen=True):
    """One row of `adhere list suites`."""

    name: str
    prompts: int
    slices: tuple[str, ...]
    sha256: str
    what: str
    usage: str


registry: Registry[Source] = Registry("suite", group="adhere.suites", listing="adhere list suites")


def names() -> list[str]:
    """The names that `load` takes, without what may follow a colon."""
    return list(registry)


def load(name: str, *, limit: int | None = None, seed: int | None = None) -> Suite:
    """The suite of a name.

    Args:
        name: `core`, `core:in-family`, `core:360+240`, …: see `adhere list suites`.
        limit: At most so many prompts, an even share of each slice; None takes all.
        seed: For generated suites; None is the suite's own default.

    Raises:
        UnknownName: No such suite.
        UsageError: What stands behind the colon, the limit or the seed means nothing to the suite.
    """
    prefix, colon, argument = name.partition(":")
    suite = registry.get(prefix).load(argument if colon else None, seed)
    if limit is None:
        return suite
    return msgspec.structs.replace(suite, prompts=_even_share(suite, limit))


def describe() -> list[Description]:
    """Every suite with its default settings."""
    rows = []
    for name in registry:
        suite, source = load(name), registry.get(name)
        rows.append(Description(name, len(suite.prompts), suite.slices, suite.sha256, source.what, source.usage))
    return rows


def _even_share(suite: Suite, limit: int) -> tuple[Prompt, ...]:
    """The first prompts of every slice, the slices in turn, in the suite's order."""
    if limit < 1:
        raise UsageError(f"{suite.name}: limit={limit} must be at least 1")
    by_slice: dict[str, list[str]] = {}
    for prompt in suite.prompts:
        by_slice.setdefault(prompt.tags.get("slice", ""), []).append(prompt.id)
    kept: set[str] = set()
    for rank in range(max(map(len, by_slice.values()), default=0)):
        for ids in by_slice.values():
            if rank < len(ids) and len(kept) < limit:
                kept.add(ids[rank])
    return tuple(prompt for prompt in suite.prompts if prompt.id in kept)


_SIZES = re.compile(r"(\d{1,6})\+(\d{1,6})")


def _core(argument: str | None, seed: int | None) -> Suite:
    from adhere.suites.generated.core import SLICES, core  # the registry of constraints loads with it

    root = 0 if seed is None else seed
    if argument is None:
        return core(root)
    sizes = _SIZES.fullmatch(argument)
    if sizes:
        return core(root, int(sizes[1]), int(sizes[2]))
    if argument not in SLICES:
        raise UsageError(
            f"core:{argument}: unknown part {argument!r}.{nearest(argument, SLICES)} "
            f"It is one of {', '.join(SLICES)}, or two sizes such as 360+240 (in-family + new-family)"
        )
    whole = core(root)
    prompts = tuple(prompt for prompt in whole.prompts if prompt.tags["slice"] == argument)
    return msgspec.structs.replace(whole, name=f"core:{argument}", prompts=prompts, slices=(argument,))


registry.add(
    "core",
    Source(
        _core,
        "Everyday questions with drawn constraints; topics and wordings are held out, and one slice has families "
        "that are never trained on.",
        "core, core:in-family, core:new-family, core:IN+NEW",
    ),
    owner=__name__,
)
