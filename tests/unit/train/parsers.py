"""What another trainer's own config makes of the file that we emit.

Run by a Python in which that config can be imported, not by ours. python parsers.py verl RUN.SH MODEL | open-instruct
RUN.SH CHECKOUT | prime-rl RL.TOML CHECKOUT: prints as JSON what was parsed, by name, and what was refused. Not a test
itself.
"""

from __future__ import annotations

import copy
import importlib.machinery
import json
import shlex
import sys
from pathlib import Path
from typing import Any
from unittest import mock

# What open-instruct's classes import and its parser never asks: engines, trackers, clusters. Stood in for where it is
# not installed.
ELSEWHERE = {"vllm", "wandb", "beaker", "deepspeed", "litellm", "cached_path", "docker", "fastmcp", "gradio"}


def given(script: Path, model: str = "org/model") -> list[str]:
    """The arguments of the command in an emitted script, as its shell would give them."""
    _, _, command = script.read_text().partition("exec ")
    words = shlex.split(command.replace("\\\n", " ").replace('"${MODEL:-org/model}"', model).replace(' "$@"', ""))
    return words[3:]


def verl(script: Path, model: str) -> dict[str, Any]:
    """Its Hydra config with our overrides, every node as its dataclass, and its own checks of the whole."""
    from hydra import compose, initialize_config_module
    from omegaconf import OmegaConf
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    def refused(node: Any, path: str) -> dict[str, str]:
        found = {}
        if "_target_" in node:
            try:
                omega_conf_to_dataclass(node)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is compared with what is refused without us
                found[path] = f"{type(error).__name__}: {error}"
        for name in node:
            if not OmegaConf.is_missing(node, name) and OmegaConf.is_dict(node._get_node(name)):
                found |= refused(node._get_node(name), f"{path}.{name}")
        return found

    asked = given(script, model)
    with initialize_config_module("verl.trainer.config", version_base=None):
        ours = compose("ppo_trainer", overrides=asked)
        theirs = compose("ppo_trainer", overrides=[f"actor_rollout_ref.model.path={model}"])
    validate_config(ours, use_reference_policy=bool(ours.actor_rollout_ref.actor.use_kl_loss), use_critic=False)
    names = [one.partition("=")[0].lstrip("+") for one in asked]
    values = {name: OmegaConf.select(ours, name) for name in names}
    plain = {name: OmegaConf.to_container(one) if OmegaConf.is_config(one) else one for name, one in values.items()}
    before = refused(theirs, "")
    return {"values": plain, "refused": {path: why for path, why in refused(ours, "").items() if path not in before}}


class StandsIn:
    """Finds what is not installed."""

    def find_spec(self, name: str, *_: Any) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.machinery.ModuleSpec(name, self, is_package=True)
            if name.split(".", maxsplit=1)[0] in ELSEWHERE
            else None
        )  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Any:
        made = mock.MagicMock(name=spec.name)
        made.__spec__, made.__path__, made.__name__ = spec, [], spec.name
        return made

    def exec_module(self, _: Any) -> None:
        pass


def open_instruct(script: Path, checkout: str) -> dict[str, Any]:
    """Its parser, made of the classes of which grpo_fast makes it, with the same defaults."""
    sys.path.insert(0, checkout)
    sys.meta_path.append(StandsIn())
    from open_instruct import data_loader, grpo_utils
    from open_instruct.dataset_transformation import TokenizerConfig
    from open_instruct.environments.tools.utils import EnvsConfig
    from open_instruct.model_utils import ModelConfig
    from open_instruct.utils import ArgumentParserPlus

    held = (
        grpo_utils.GRPOExperimentConfig, TokenizerConfig, ModelConfig, data_loader.StreamingDataLoaderConfig,
        data_loader.VLLMConfig,
        EnvsConfig,
    )  # fmt: skip
    parser = ArgumentParserPlus(held)
    parser.set_defaults(exp_name="grpo", warmup_ratio=0.0, max_grad_norm=1.0, per_device_train_batch_size=1)
    asked = given(script)
    found = parser.parse_args_into_dataclasses(args=asked)
    names = [one.removeprefix("--") for one in asked if one.startswith("--")]
    values = {name: next(getattr(one, name) for one in found if hasattr(one, name)) for name in names}
    return {"values": values, "refused": {}}


def prime_rl(file: Path, checkout: str) -> dict[str, Any]:
    """Its pydantic model of the whole run, which looks our taskset up by name."""
    import tomllib

    sys.path.insert(0, f"{checkout}/packages/prime-rl-configs/src")
    from prime_rl.configs.rl import RLConfig

    asked = tomllib.loads(file.read_text())
    found = RLConfig.model_validate(copy.deepcopy(asked)).model_dump(mode="json")  # it writes into what it is given

    def flat(prefix: str, held: Any) -> dict[str, Any]:
        pairs = held.items() if isinstance(held, dict) else enumerate(held) if isinstance(held, list) else ()
        inner = [flat(f"{prefix}.{name}", value) for name, value in pairs]
        return {name: value for one in inner for name, value in one.items()} if inner else {prefix[1:]: held}

    known = flat("", found)
    said = {name: value for name, value in flat("", asked).items() if value != {}}  # an empty table asks for defaults
    return {"values": {name: known.get(name) for name in said}, "refused": {}, "asked": said}


if __name__ == "__main__":
    read = {"verl": verl, "open-instruct": open_instruct, "prime-rl": prime_rl}[sys.argv[1]]
    print("PARSED " + json.dumps(read(Path(sys.argv[2]), sys.argv[3]), default=str))  # noqa: T201 - what the test reads
