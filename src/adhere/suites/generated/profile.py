"""Make the suite `profile`, a balanced slice of every generated family that any model can be asked.

It shows where a model follows and where it does not. All families give the same number of prompts, with their levels in
turn, so that a small profile has easy and hard prompts. Long texts and hundreds of words are left to their own suites:
`long`, `density`.
"""

from __future__ import annotations

import itertools

import msgspec

from adhere.errors import UsageError
from adhere.schema import Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.generated.family import Family, registry
from adhere.suites.generated.names import OWN, name_of, read_argument

VERSION = "2"
USUAL = 26  # prompts of each family; about 600 in all
MOST = 2000
MAX_NEW_TOKENS = 512


def profile(seed: int = 0, prompts: int = USUAL) -> Suite:
    """Make the suite with `prompts` prompts of each family of this package.

    Raises:
        UsageError: `prompts` is out of range.
    """
    if not 1 <= prompts <= MOST:
        raise UsageError(f"profile: {prompts} prompts of each family: must be 1 to {MOST:,}, e.g. profile:x10")
    families = [family for name in OWN if (family := registry.get(name)).in_profile]
    return Suite(
        name=name_of("profile", f"x{prompts}" if prompts != USUAL else "", f"seed{seed}" if seed else ""),
        version=VERSION,
        prompts=tuple(itertools.chain.from_iterable(_slice(family, seed, prompts) for family in families)),
        slices=tuple(family.name for family in families),
        settings={"seed": seed, "prompts_per_family": prompts},
        citation="Items: adhere; each family names the paper that it learns from.",
        sampling=Sampling(max_new_tokens=MAX_NEW_TOKENS),
    )


def load_profile(argument: str | None, seed: int | None) -> Suite:
    """Load `profile:ARGUMENT`.

    The argument is `x10` (prompts of each family), `seed7`, or both joined by `+`.

    Raises:
        UsageError: A part of the argument is none of these.
    """
    options = read_argument("profile", argument, seed=seed, counts="prompts of each family")
    return profile(options.seed, USUAL if options.number is None else options.number)


def _slice(family: Family, seed: int, count: int) -> list[Prompt]:
    """Return the family's first prompts, its levels in turn."""
    levels = family.level_names[: family.profile_levels or family.usual_levels or None]
    of_level: dict[str, list[Prompt]] = {name: [] for name in levels}
    per_level = -(-count // len(levels))
    for solved_prompt in family.stream(seed, per_level, levels):
        members = of_level[solved_prompt.prompt.tags["slice"]]
        if len(members) < per_level:
            members.append(solved_prompt.prompt)
        if all(len(level_prompts) == per_level for level_prompts in of_level.values()):
            break
    in_turn = [prompt for row in zip(*of_level.values(), strict=True) for prompt in row]
    return [_rename(prompt, family.name) for prompt in in_turn[:count]]


def _rename(prompt: Prompt, family: str) -> Prompt:
    """Return the prompt with its family as the slice that results are reported by."""
    tags = {**prompt.tags, "slice": family, "level_name": prompt.tags["slice"]}
    return msgspec.structs.replace(prompt, tags=tags)
