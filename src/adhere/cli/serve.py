"""`adhere serve local/NAME`."""

from __future__ import annotations

import sys
from functools import partial

import click

from adhere.cli.offer import fetch_and_use, model_names
from adhere.cli.options import option
from adhere.errors import UsageError
from adhere.progress import for_terminal
from adhere.terminal import show


@click.command("serve")
@click.argument("name", metavar="MODEL", shell_complete=model_names)
@option("--port", type=click.IntRange(0, 65535), default=0, help="0 takes any port that is free.")
@option("--queue", type=click.IntRange(0), default=8, help="Requests that may wait; more are rejected (429).")
@option("--max-new-tokens", type=click.IntRange(1), default=512, help="Length of answers to requests that set none.")
@option("--engine", help="openvino or transformers, where a model has both [local/…: openvino].")
@option("--precision", type=click.Choice(["fp32", "bf16", "auto"]), help="Of the transformers engine [fp32].")
@option("--threads", type=click.IntRange(1), help="CPU threads [all].")
def command(
    name: str, port: int, queue: int, max_new_tokens: int, engine: str | None, precision: str | None,
    threads: int | None,
) -> None:  # fmt: skip
    """Serve a local model (local/…, hf/…, scripted/…) as OpenAI's chat completions, on 127.0.0.1 only.

    Prints the base URL, and serves until Ctrl-C.
    """
    import asyncio

    from adhere.models.catalog import is_endpoint, open_model
    from adhere.serve.server import ModelServer

    if is_endpoint(name):
        raise UsageError(f"{name} is served elsewhere already; serve takes local/…, hf/… and scripted/… models")
    model = fetch_and_use(
        partial(open_model, name, engine=engine, precision=precision, threads=threads), for_terminal()
    )

    async def serve() -> None:
        try:
            async with ModelServer(model, port=port, most_waiting=queue, max_new_tokens=max_new_tokens) as server:
                show(server.url)
                sys.stdout.flush()
                show(
                    f"{name} answers one request at a time; Ctrl-C ends it. In another terminal:\n"
                    f"  adhere sweep {server.url} --suite core:in-family --limit 20 --max-new-tokens 64 "
                    "--model-concurrency 1 --timeout 60",
                    err=True,
                )
                await asyncio.Event().wait()
        except OSError as error:
            raise UsageError(
                f"Port {port} cannot be used: {error.strerror or error}. --port 0 takes a free one"
            ) from error

    try:
        asyncio.run(serve())
    except KeyboardInterrupt:
        show(f"{name} is no longer served.", err=True)
        sys.exit(130)
    finally:
        model.close()
