"""Documented overrides compose with verl's own trainer config."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path

import pytest

from adhere.integrations.houses import house_of

if importlib.util.find_spec("verl") is None:  # its own code alone: to import it takes Ray and CUDA
    pytest.skip("could not import 'verl': it is not installed", allow_module_level=True)
pytestmark = pytest.mark.slow

DOORS = {door.what: door.command.split() for door in house_of("verl").doors}


@pytest.mark.parametrize("door", DOORS)
def test_overrides_compose(door: str) -> None:
    hydra = importlib.import_module("hydra")
    spec = importlib.util.find_spec("verl")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0]) / "trainer" / "config"
    reward = DOORS["a reward function"][:2]
    wanted = [*([] if door == "a reward function" else reward), *DOORS[door]]
    with hydra.initialize_config_dir(version_base=None, config_dir=str(folder)):
        made = hydra.compose("ppo_trainer", overrides=wanted)
    assert made.reward.custom_reward_function.name == "compute_score"
    assert made.reward.custom_reward_function.reward_kwargs


def test_the_reward_is_found_where_the_command_says() -> None:
    from adhere.integrations.verl.reward import compute_score

    (path,) = (word.partition("=")[2] for word in DOORS["a reward function"] if ".path=" in word)
    assert path == f"pkg://{compute_score.__module__}"
