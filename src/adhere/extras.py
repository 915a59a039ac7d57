"""Optional packages: asked for by name where they are used, with the command that installs them when absent."""

from __future__ import annotations

import importlib
from types import ModuleType

from adhere.errors import MissingExtra


def need(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say how to get it.

    Args:
        module: Dotted name, e.g. `"torch"`.
        extra: The extra of this package that brings it, e.g. `"train"`.

    Raises:
        MissingExtra: The module, or something it needs, is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"This needs the package {error.name or module!r}, which is not installed. "
            f"Run: pip install 'adhere[{extra}]' -c constraints.txt"
        ) from error
