"""Read a published suite's file.

Loaders are imported only when they are called, because they import the published kinds.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from adhere.suites.base import Suite
from adhere.suites.published.catalog import ListedSuite


def loader(listed_suite: ListedSuite) -> Callable[[str | None, int | None], Suite]:
    """Return the loader of one suite; it ignores the seed, as published suites draw nothing."""

    def load_file(argument: str | None, seed: int | None) -> Suite:  # noqa: ARG001 - the protocol of `Source.load`
        module = importlib.import_module(f"adhere.suites.published.{listed_suite.module}")
        if listed_suite.constant is None:
            own: Callable[[str | None], Suite] = getattr(module, listed_suite.function)
            return own(argument)
        from adhere.suites.published.rows import load as load_rows

        return load_rows(getattr(module, listed_suite.constant), argument)

    return load_file
