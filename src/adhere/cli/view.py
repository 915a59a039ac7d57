"""`adhere view [DIR]`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhere.cli.options import EXISTING_FOLDER, flag, option
from adhere.errors import UsageError
from adhere.terminal import show


@click.command("view")
@click.argument("directory", type=EXISTING_FOLDER, default=Path(), metavar="[DIR]")
@option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes any port that is free.")
@flag("--open", "opens", help="Open it in the browser of this desktop.")
def command(directory: Path, port: int, opens: bool) -> None:
    """Browse the runs, sweeps and studies below DIR (default: here), live while they run.

    Prints an address on 127.0.0.1 with a random token; only who has it can look. Nothing is written. Ctrl-C ends it.
    """
    import asyncio
    import webbrowser

    from adhere.serve.browser import Browser

    folder = directory.resolve()

    async def serve() -> None:
        try:
            async with Browser(directory, port=port) as browser:
                show(browser.url)
                sys.stdout.flush()
                show(f"Showing what is stored below {folder}. Ctrl-C ends it.", err=True)
                if opens:
                    await asyncio.to_thread(webbrowser.open, browser.url)
                await asyncio.Event().wait()
        except OSError as error:
            raise UsageError(
                f"Port {port} cannot be used: {error.strerror or error}. --port 0 takes a free one"
            ) from error

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        show("No longer shown.", err=True)
        sys.exit(130)
