"""Registries of named things, filled by the package and by entry points of other packages.

The name of an entry point is the name of its thing, so a plug-in is imported only when its own name is looked up. An
error in it is raised then, and affects nothing else.

* Two plug-ins of one name: looking it up is an error that names both.
* A plug-in with a name of the package: the package's thing is what is meant; listing the names says who else claims it.
* A plug-in that cannot be imported, or holds something that does not belong here: looking it up is an error that names
  the distribution, the entry point and what is wrong. Listing the names leaves it out, with a warning that says so.
* An unknown name is an error that suggests the nearest one.
"""

from __future__ import annotations

import importlib
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from adhere.errors import AdhereError, UnknownName, nearest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class PluginWarning(UserWarning):
    """A plug-in is left out of a listing; the message says which and why."""


class Registry(Generic[T]):
    """Maps names to things of one kind.

    Modules of the package and entry points of others are imported when a name needs them.

    Args:
        noun: What a thing is called in messages: `"constraint"`.
        group: Entry-point group of third parties: `"adhere.constraints"`; each names one thing and loads it.
        listing: The command that lists the names: `"adhere list constraints"`.
        modules: The package's own modules by the part of the name before the colon; importing one must call `add`.
        constant: The name of the variable in each of these modules that holds its one thing, which is then added.
        problem: Returns what is wrong with a thing that a plug-in offers under a name, as "must be …", or None.
        elsewhere: By name, the folder of this repository whose package, not installed, has the thing; for the message.
    """

    def __init__(
        self,
        noun: str,
        *,
        group: str,
        listing: str,
        modules: Mapping[str, str] | None = None,
        constant: str = "",
        problem: Callable[[str, Any], str | None] | None = None,
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.noun, self.group, self.listing = noun, group, listing
        self._modules = dict(modules or {})
        self._constant = constant
        self._problem = problem
        self._elsewhere = dict(elsewhere or {})
        self._things: dict[str, T] = {}
        self._owners: dict[str, str] = {}
        self._points: dict[str, list[EntryPoint]] | None = None
        self._lock = threading.RLock()

    def add(self, name: str, member: T, *, owner: str) -> None:
        """Register `member`; `owner` (a module or distribution) is named when two clash.

        Raises:
            AdhereError: Another thing has that name.
        """
        if not _is_ours(owner):
            self._import_family(name)  # so that nobody takes a name of the package before the package does
        if name in self._things and self._things[name] is not member:
            raise AdhereError(f"Two {self.noun}s are called {name!r}: one from {self._owners[name]}, one from {owner}")
        self._things[name] = member
        self._owners.setdefault(name, owner)

    def own(self, name: str) -> T | None:
        """Return the thing with that name if the package has it or it was added; None otherwise. Loads no plug-in."""
        if name not in self._things:
            self._import_family(name)
        return self._things.get(name)

    def get(self, name: str) -> T:
        """Return the thing called `name`.

        Raises:
            UnknownName: Nothing has that name; unknown names fail closed.
            AdhereError: The plug-in that has it is broken, or two have it.
        """
        if self.own(name) is None:
            points = self._plugins().get(name)
            if points is None:
                raise UnknownName(f"Unknown {self.noun} {name!r}.{self._hint(name)} ({self.listing})")
            self._load(name, points)
        return self._things[name]

    def _hint(self, name: str) -> str:
        """Return a hint where a missing name is to be had, or the nearest name."""
        if (folder := self._elsewhere.get(name)) is not None:
            return f" A package in adhere's repository has it: pip install ./{folder}"
        return nearest(name, self._names())

    def __contains__(self, name: str) -> bool:
        """Tell whether the name exists; a broken plug-in has its name, too, and `get` says what is wrong with it."""
        return self.own(name) is not None or name in self._plugins()

    def __iter__(self) -> Iterator[str]:
        names = self._names()
        for name, points in self._plugins().items():
            try:
                self._load(name, points)
            except AdhereError as error:
                warnings.warn(str(error), PluginWarning, stacklevel=2)
                names.discard(name)
        return iter(sorted(names | self._things.keys()))

    def _names(self) -> set[str]:
        """Return all names, without importing a plug-in."""
        for family in self._modules:
            self._import_family(family)
        return {*self._things, *self._plugins()}

    def _import_family(self, name: str) -> None:
        family = name.partition(":")[0]
        if family in self._modules:
            module = importlib.import_module(self._modules[family])
            if self._constant and family not in self._things:
                self.add(family, getattr(module, self._constant), owner=module.__name__)

    def _plugins(self) -> dict[str, list[EntryPoint]]:
        """Return the entry points of the group by name; none is loaded."""
        with self._lock:
            if self._points is None:
                from importlib.metadata import entry_points  # 45 ms, which only a look-up of a foreign name should pay

                points: dict[str, list[EntryPoint]] = {}
                for point in entry_points(group=self.group):
                    points.setdefault(point.name, []).append(point)
                self._points = points
            return self._points

    def _load(self, name: str, points: list[EntryPoint]) -> None:
        """Load and register the thing of a name's entry points, of which there should be one."""
        if len(points) > 1:
            owners = " and ".join(map(_owner, points))
            raise AdhereError(f"Two {self.noun}s are called {name!r}: {owners} both have it. Uninstall one of them")
        point = points[0]
        try:
            member = point.load()
        except Exception as error:
            raise AdhereError(
                f"The {self.noun} plug-in {name!r} of {_owner(point)} cannot be loaded ({point.value}): {error!r}"
            ) from error
        problem = self._problem(name, member) if self._problem is not None else None
        if problem is not None:
            raise AdhereError(f"The {self.noun} plug-in {name!r} of {_owner(point)} ({point.value}): {problem}")
        self.add(name, member, owner=_owner(point))


def _owner(point: EntryPoint) -> str:
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def _is_ours(owner: str) -> bool:
    return owner.partition(".")[0] == __name__.partition(".")[0]
