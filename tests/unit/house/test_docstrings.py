"""Every public method says what it does, in its own docstring or in that of the method it overrides."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

import adhere
from adhere.errors import MissingExtra


def own_methods(kind: type) -> Iterator[str]:
    """Names of the public functions, properties, class and static methods that the class itself defines."""
    for name, value in vars(kind).items():
        function = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        if not name.startswith("_") and isinstance(function, FunctionType):
            yield name


def classes() -> list[type]:
    found = []
    modules = (module.name for module in pkgutil.walk_packages(adhere.__path__, "adhere."))
    # Engines are optional; a module that needs one is read only where it is installed.
    for name in (module for module in modules if "__main__" not in module):
        module = pytest.importorskip(name) if name.startswith(("adhere.train", "adhere.models.local")) else None
        try:
            module = module or importlib.import_module(name)
        except MissingExtra:
            assert name.startswith(
                ("adhere.integrations.", "adhere.environments.", "adhere.harness.", "adhere.steps.datatrove")
            ), name  # of a package that is not installed
            continue
        found += [kind for _, kind in inspect.getmembers(module, inspect.isclass) if kind.__module__ == name]
    return found


def test_every_public_method_has_a_docstring_or_inherits_one() -> None:
    kinds = classes()
    protocols = [kind for kind in kinds if getattr(kind, "_is_protocol", False)]

    def is_said_by_a_protocol(kind: type[Any], method: str) -> bool:
        return any(
            inspect.getdoc(getattr(protocol, method, None))
            for protocol in protocols
            if all(hasattr(kind, name) for name in own_methods(protocol))
        )

    methods = [(kind, name) for kind in kinds if not kind.__name__.startswith("_") for name in own_methods(kind)]
    bare = [
        f"{kind.__module__}.{kind.__qualname__}.{name}"
        for kind, name in methods
        if not inspect.getdoc(getattr(kind, name)) and not is_said_by_a_protocol(kind, name)
    ]
    assert bare == []
    assert len(methods) > 800  # it did look
