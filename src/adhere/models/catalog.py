"""Opens Models by name: `local/NAME`, `hf/ID_OR_PATH`, endpoints, `scripted/…`.

Engines are imported when they are opened.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from adhere.errors import MissingModel, UnknownName, UsageError, nearest
from adhere.extras import install_command, need
from adhere.models.base import Model
from adhere.models.http.providers import PROVIDERS
from adhere.models.local.fetch import EMBEDDED, gguf_path, model_dir, model_home
from adhere.models.wrap.names import known_methods, open_wrapped, steer_factor, wrapped_form

if TYPE_CHECKING:
    from adhere.models.http.batch import BatchModel, Form
    from adhere.models.http.options import EndpointOptions

PREFIXES = ("local", "hf", *PROVIDERS, "scripted", "vllm")
ENGINES = ("openvino", "transformers")
REMOTE = frozenset({"http:", "https:", *PROVIDERS})


def is_endpoint(name: str) -> bool:
    """Tell whether a model of this name is behind an endpoint, so that endpoint options apply to it."""
    form = wrapped_form(name)
    return is_endpoint(form[1]) if form else name.partition("/")[0] in REMOTE


class Here(NamedTuple):
    """Describes how a model runs on this machine; None: the engine's default.

    Attributes:
        engine: `openvino` or `transformers`.
        precision: `fp32`, `bf16` or `auto`.
        threads: CPU threads.
        device: `auto`, `cpu`, `cuda` or `mps`, for the transformers engine.
        cache: The folder of fetched models.
    """

    engine: str | None = None
    precision: str | None = None
    threads: int | None = None
    device: str | None = None
    cache: Path | None = None


def open_model(
    name: str,
    *,
    engine: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    device: str | None = None,
    cache: Path | None = None,
    endpoint: EndpointOptions | None = None,
    say: Callable[[str], None] = lambda _line: None,
) -> Model:
    """Open a model by name.

    Args:
        name: `local/smollm2-135m` (fetched), `hf/ID_OR_PATH`, `hf/BASE+ADAPTER`, `vllm/DIR_OR_ID` (a server that is
            started and stopped), `http://127.0.0.1:8000/v1#NAME`, `openrouter/AUTHOR/SLUG`, `openai/NAME`,
            METHOD(MODEL) as `majority-5(local/smollm2-135m)`, `scripted/echo`, `scripted/fixed:TEXT`,
            `scripted/file:PATH`.
        engine: `openvino` or `transformers`; None: openvino for local/…, transformers for hf/….
        precision: `fp32`, `bf16` or `auto`, for the transformers engine; None: fp32.
        threads: CPU threads; None: the engine's default.
        device: `auto`, `cpu`, `cuda` or `mps`, for the transformers engine; None: `auto`, which takes a CUDA GPU.
        cache: The folder of fetched models; None: `$ADHERE_CACHE` or ~/.cache/adhere.
        endpoint: Options of the endpoint; only for models behind one, and vllm/….
        say: Called with a line when something is waited for: an endpoint, or weights that are read.

    Raises:
        UnknownName: There is no such provider, model or engine.
        UsageError: An option does not apply to this model, or this machine has no such device.
        MissingModel: The files are not here; the message has the command that fetches them.
        MissingExtra: The engine is not installed.
    """
    machine = Here(engine, precision, threads, device, cache)
    if form := wrapped_form(name):
        method, inner = form
        if (factor := steer_factor(method)) is not None:
            return _steer(name, inner, factor, machine=machine, say=say)
        return open_wrapped(name, partial(open_model, **machine._asdict(), endpoint=endpoint, say=say))
    provider, _, rest = name.partition("/")
    if engine is not None and engine not in ENGINES:
        raise UnknownName(f"Unknown engine {engine!r}.{nearest(engine, ENGINES)} Engines: {', '.join(ENGINES)}")
    if provider in REMOTE:
        if machine._replace(cache=None) != Here():
            raise UsageError(f"{name} runs elsewhere: engine, precision, threads and device are not ours to set")
        from adhere.models.http.client import EndpointModel

        return EndpointModel(name, options=endpoint, say=say)
    if provider == "vllm" and rest:
        return _open_vllm(name, machine, endpoint, say)
    if endpoint is not None:
        raise UsageError(f"{name} runs on this machine: endpoint options do not apply to it")
    return _open_here(name, machine, say)


def _open_vllm(name: str, machine: Here, endpoint: EndpointOptions | None, say: Callable[[str], None]) -> Model:
    if machine.engine is not None or machine.threads is not None or machine.device is not None:
        raise UsageError(
            f"{name} runs on vLLM, which chooses its device: --engine, --threads and --device are not for it. "
            "ADHERE_VLLM_ARGUMENTS has more arguments of `vllm serve`"
        )
    from adhere.models.local.vllm import VllmModel

    return VllmModel(name.partition("/")[2], name=name, precision=machine.precision, options=endpoint, say=say)


def _open_here(name: str, machine: Here, say: Callable[[str], None]) -> Model:
    provider, _, rest = name.partition("/")
    match provider:
        case "local":
            model_home(name, machine.cache)  # an unknown name is refused before the options are looked at
            if machine.engine == "transformers":
                return _transformers(model_dir(name, machine.cache), name, machine, say=say)
            for option, value in (("precision", machine.precision), ("device", machine.device)):
                if value not in {None, "auto", "cpu"} or (option == "precision" and value is not None):
                    raise UsageError(
                        f"{option}={value!r} is set by the openvino engine itself; add --engine transformers"
                    )
            from adhere.models.local.embedded import OpenVinoModel

            return OpenVinoModel(gguf_path(name, machine.cache), name=name, threads=machine.threads, say=say)
        case "hf":
            if machine.engine == "openvino":
                raise UsageError("hf/… runs on the transformers engine only")
            base, adapter = base_and_adapter(rest)
            return _transformers(base, name, machine, adapter=adapter, say=say)
        case "scripted":
            from adhere.models.fake.scripted import open_scripted

            return open_scripted(name)
    providers = ", ".join(f"{provider}/…" for provider in PREFIXES)
    raise UnknownName(f"Unknown provider {provider!r} in model {name!r}.{_suggest(name)} Providers: {providers}")


def base_and_adapter(rest: str) -> tuple[Path, Path | None]:
    """Return the directories of `BASE+ADAPTER`; the second is None if `rest` names a model without an adapter.

    Raises:
        MissingModel: One of them is missing.
    """
    base, plus, adapter = rest.rpartition("+")
    if not plus or (Path(rest).expanduser() / "config.json").exists():
        return local_directory(rest), None
    if base.startswith("local/"):
        return model_dir(base), local_directory(adapter, marker="adapter_config.json")
    return local_directory(base), local_directory(adapter, marker="adapter_config.json")


def open_batched(
    name: str, form: Form, *, endpoint: EndpointOptions | None, say: Callable[[str], None] = lambda _line: None
) -> BatchModel:
    """Open a model behind an endpoint for batches: through its batch API, or as files that a person runs.

    Raises:
        UsageError: The model is not behind an endpoint, or `name` puts a method around it.
    """
    if name.partition("/")[0] not in REMOTE:
        raise UsageError(f"{name}: only models behind an endpoint are asked in batches, without a method around them")
    from adhere.models.http.batch import BatchModel

    model = BatchModel(name, options=endpoint, say=say)
    model.form = form
    return model


def _suggest(name: str) -> str:
    """Return a hint what a name of no known provider was meant to be; empty if nothing is similar."""
    provider, slash, _ = name.partition("/")
    short = {model.removeprefix("local/"): model for model in EMBEDDED}
    matches = [full for part, full in short.items() if f"{part}-".startswith(f"{name}-")]
    suggestion = nearest(provider, PREFIXES)
    if name.startswith(("/", ".", "~")) or Path(name).is_dir():
        suggestion = f" Weights in a directory are hf/PATH: hf/{name}."
    elif not slash and matches:
        suggestion = f" Did you mean {matches[0]!r}?"
    elif not slash and re.match(r"gpt-|o[134](-|$)|chatgpt", name):
        suggestion = f" Did you mean 'openai/{name}'?"
    elif re.match(r"[\w.-]+:\d+(/|$)|localhost(/|$)", name):
        suggestion = f" A server's URL begins with http://, and #NAME ends it: http://{name}#NAME."
    elif not suggestion and name.count("/") == 1:
        suggestion = f" A model of the Hugging Face hub is hf/{name}, one of OpenRouter openrouter/{name}."
    return suggestion


def _transformers(
    directory: Path,
    name: str,
    machine: Here,
    *,
    say: Callable[[str], None],
    factor: int | None = None,
    adapter: Path | None = None,
) -> Model:
    need("torch", extra="train")
    from adhere.models.local.decoder.device import resolve_device
    from adhere.models.local.decoder.steering import Steering
    from adhere.models.local.transformers import TransformersModel, unknown_architecture

    if machine.precision not in {None, "fp32", "bf16", "auto"}:
        raise UnknownName(f"Unknown precision {machine.precision!r}. It is fp32, bf16 or auto")
    chosen: Any = machine.precision or "fp32"
    device = resolve_device(machine.device or "auto")
    if why := unknown_architecture(directory):
        if factor is not None:
            raise UsageError(f"{name}: attention is steered in our decoder only. {why}")
        from adhere.models.local.generate import GenerateModel

        return GenerateModel.deferred(
            directory, name=name, precision=chosen, device=device, adapter=adapter, why=why, say=say
        )
    steering = None if factor is None else Steering(math.log(factor))
    return TransformersModel.deferred(
        directory,
        name=name,
        precision=chosen,
        threads=machine.threads,
        device=device,
        steering=steering,
        adapter=adapter,
        say=say,
    )


def _steer(name: str, inner: str, factor: int, *, machine: Here, say: Callable[[str], None]) -> Model:
    """Open a local model on the transformers engine, with attention to the request weighted by `factor`."""
    provider, _, rest = inner.partition("/")
    if provider not in {"local", "hf"}:
        raise UsageError(
            f"{name}: attention is steered inside a local model, so local/… or hf/… must stand directly in it"
        )
    if machine.engine == "openvino":
        raise UsageError(
            f"{name}: attention is steered on the transformers engine; leave --engine out or give transformers"
        )
    if provider == "local":
        return _transformers(model_dir(inner, machine.cache), name, machine, say=say, factor=factor)
    base, adapter = base_and_adapter(rest)
    return _transformers(base, name, machine, say=say, factor=factor, adapter=adapter)


def local_directory(id_or_path: str, *, marker: str = "config.json") -> Path:
    """Return a directory of transformers weights: a path, or a model of the hub, downloaded if need be.

    Args:
        id_or_path: The path or the hub's id, as on the command line.
        marker: The file that such a directory must contain.

    Raises:
        MissingModel: It is neither a directory nor a model that the hub provides.
    """
    path = Path(id_or_path).expanduser()
    if (path / marker).exists():
        return path
    if path.exists() or id_or_path.startswith((".", "/", "~")):
        if (path / "adapter_config.json").exists():
            raise MissingModel(f"{path}: an adapter, whose base lies elsewhere. Give both: hf/BASE+{id_or_path}")
        raise MissingModel(f"{path}: no model is there (no {marker}). Give a directory that `save_pretrained` wrote")
    hub = need("huggingface_hub", extra="train")
    try:
        return Path(hub.snapshot_download(id_or_path))
    except (OSError, ValueError, RuntimeError) as error:  # the hub's errors are of many families; all derive from these
        raise MissingModel(f"hf/{id_or_path}: not a directory, and the hub did not give it: {error}") from error


def resolve_weights(name: str, cache: Path | None = None) -> tuple[Path, str]:
    """Return the directory of a model's transformers weights, and their sha256.

    Raises:
        UsageError: The model has no such weights: it cannot be trained.
        MissingModel: The weights are not on this machine.
    """
    provider, _, rest = name.partition("/")
    if provider == "local":
        directory = model_dir(name, cache)
    elif provider == "hf":
        directory = local_directory(rest)
    else:
        raise UsageError(f"{name}: only local/… and hf/… have weights that can be read or trained")
    from adhere.models.local.digest import weights_sha256

    return directory, weights_sha256(directory)


def known_models(cache: Path | None = None) -> list[dict[str, str]]:
    """List the rows of `adhere list models`: embedded models with their state, and the forms of other names."""
    rows = []
    for name, model in EMBEDDED.items():
        home = model_home(name, cache)
        if not (home / "model.gguf").exists():
            state = f"not fetched: adhere fetch {name}"
        elif not (home / "weights" / "config.json").exists():
            state = f"fetched, to measure; to train it: {install_command('train')} && adhere fetch {name}"
        else:
            state = "fetched"
        rows.append({"name": name, "state": state, "about": model.about})
    return [
        *rows,
        {"name": "hf/ID_OR_PATH", "state": "–", "about": "transformers weights in a directory or of the hub"},
        {"name": "hf/BASE+ADAPTER", "state": "–", "about": "the same with a LoRA adapter, merged when it is read"},
        {
            "name": "vllm/DIR_OR_ID",
            "state": "–",
            "about": "starts `vllm serve`, asks, and stops it; a vLLM of its own environment in $ADHERE_VLLM",
        },
        {"name": "BASE_URL#NAME", "state": "–", "about": "any server with OpenAI's chat completions"},
        *(
            {
                "name": f"{provider.name}/{provider.model}",
                "state": "–",
                "about": f"{provider.about}; key in ${provider.variable}",
            }
            for provider in PROVIDERS.values()
        ),
        {
            "name": "METHOD(MODEL)",
            "state": "–",
            "about": f"an inference-time method around a model: {', '.join(known_methods())}",
        },
        {"name": "scripted/echo", "state": "–", "about": "public fake: answers with the prompt"},
        {"name": "scripted/fixed:TEXT", "state": "–", "about": "public fake: answers TEXT"},
        {"name": "scripted/solver", "state": "–", "about": "public fake: acts in worlds as their own solvers do"},
        {
            "name": "scripted/file:PATH",
            "state": "–",
            "about": "public fake: answers stored in JSON lines (key, response)",
        },
    ]
