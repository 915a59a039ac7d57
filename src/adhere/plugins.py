"""Registries of named things, filled by the package and by entry points of other packages.

A clash of names is an error that names both owners; an unknown name is an error that suggests the nearest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

from adhere.errors import AdhereError, UnknownName, nearest

T = TypeVar("T")


class Registry(Generic[T]):
    """Names to things of one kind. Entry points of `group` are loaded on the first look-up.

    Args:
        noun: What it holds, for messages: `"constraint"`.
        group: Entry-point group of third parties: `"adhere.constraints"`; loading one must call `add`.
        listing: The command that lists what there is: `"adhere list constraints"`.
    """

    def __init__(self, noun: str, *, group: str, listing: str) -> None:
        self.noun, self.group, self.listing = noun, group, listing
        self._things: dict[str, T] = {}
        self._owners: dict[str, str] = {}
        self._loaded = False

    def add(self, name: str, thing: T, *, owner: str) -> None:
        """Register `thing`; `owner` (a module or distribution) is named when two clash."""
        if name in self._things and self._things[name] is not thing:
            raise AdhereError(f"Two {self.noun}s are called {name!r}: one from {self._owners[name]}, one from {owner}")
        self._things[name] = thing
        self._owners[name] = owner

    def get(self, name: str) -> T:
        """The thing called `name`.

        Raises:
            UnknownName: Nothing has that name; unknown names fail closed.
        """
        self._load()
        try:
            return self._things[name]
        except KeyError:
            raise UnknownName(f"Unknown {self.noun} {name!r}.{nearest(name, self._things)} ({self.listing})") from None

    def __contains__(self, name: str) -> bool:
        self._load()
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        self._load()
        return iter(sorted(self._things))

    def _load(self) -> None:
        if self._loaded:
            return
        self._loaded = True
        from importlib.metadata import entry_points  # 45 ms, which only a look-up should pay

        for point in entry_points(group=self.group):
            owner = point.dist.name if point.dist else point.value
            try:
                thing = point.load()
            except Exception as error:
                raise AdhereError(
                    f"The {self.noun} plug-in {point.name!r} of {owner} cannot be loaded: {error!r}"
                ) from error
            self.add(point.name, thing, owner=owner)
