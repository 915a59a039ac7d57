"""Make a suite of episodes: `world:NAME[:xN][+text][+seedS][+stepsN][+tokensN][+secondsN]`, an episode a seed.

`world:repo` also has `+rulesK`, which becomes part of the world's own name: `repo:rules16`.
"""

from __future__ import annotations

import re

import msgspec

from adhere.errors import UsageError
from adhere.schema import ConstraintRef, GivenMessages, Json, Prompt, Sampling, Turn, derive_seed
from adhere.suites.base import Suite
from adhere.suites.generated.names import read_argument
from adhere.worlds import Limits, open_world
from adhere.worlds.replay import FORMS, Form, introduction

USUAL, MOST = 50, 100_000
TOKENS = 512
"""The default token limit of one answer."""
_PART = re.compile(r"(?:x|seed-?|steps|tokens|seconds|rules)\d+|tools|text")
RULES = "rules"


def load_world(argument: str | None, seed: int | None) -> Suite:
    """Load `world:ARGUMENT`.

    Args:
        argument: NAME, and behind another colon the number of episodes, the form (`tools`, `text`), the seed, and
            limits of an episode (`steps20`, `tokens4000`, `seconds600`).
        seed: Used if the argument has no seed.

    Raises:
        UnknownName: There is no such world.
        UsageError: A part behind the name is none of these.
    """
    argument = argument or "shop"
    name, _, rest = (
        argument.rpartition(":") if ":" in argument else (argument.partition("+")[0], "", argument.partition("+")[2])
    )
    if name and rest and not any(map(_PART.fullmatch, rest.split("+"))):
        name, rest = argument, ""
    limits = (*Limits._fields, *([RULES] if name == "repo" else []))
    parts = read_argument(f"world:{name}", rest or None, seed=seed, counts="episodes", choices=FORMS, limits=limits)
    most = dict(parts.limits)
    if (count := most.pop(RULES, None)) is not None:
        name = f"{name}:{RULES}{count}"
    if len(parts.chosen) > 1:
        raise UsageError(f"world:{argument}: an episode has one form, {' or '.join(FORMS)}")
    form = parts.chosen[0] if parts.chosen else None
    return world_suite(name, parts.number, form=form, seed=parts.seed, limits=Limits(**most))


def world_suite(
    name: str, episodes: int | None = None, *, form: str | None = None, seed: int = 0, limits: Limits | None = None
) -> Suite:
    """Make a suite of episodes of a world.

    Args:
        name: The world's name, as for `open_world`.
        episodes: Number of episodes, each with its own seed; None: the usual number. A world of given tasks plays them
            in their order; None: all.
        form: `tools` or `text`; None: `tools` if the world has any, else `text`.
        seed: The seed from which the episodes' seeds derive.
        limits: Limits of one episode; None: the usual ones.

    Raises:
        UnknownName: There is no such world.
        UsageError: The number is out of range.
    """
    world, limits = open_world(name), limits or Limits()
    task_count: int | None = getattr(world, "episodes", None)
    usual_number, most = task_count or USUAL, task_count or MOST
    episodes = usual_number if episodes is None else episodes
    if not 1 <= episodes <= most:
        raise UsageError(
            f"world:{name}: {episodes} episodes: must be 1 to {most:,}, e.g. world:{name}:x{min(most, 50)}"
        )
    usual: Form = "tools" if world.tools else "text"
    chosen = next((choice for choice in FORMS if choice == form), usual)
    system, tools = introduction(world, chosen)
    prompts = []
    for number in range(episodes):
        own = number if task_count else derive_seed("episode", name, seed, number) % 2**31
        params: dict[str, Json] = {"world": name, "seed": own, "form": chosen}
        tags = {
            "slice": name, "world": name, "world_seed": str(own), "form": chosen, "most_steps": str(limits.steps),
            **({} if limits.tokens is None else {"most_tokens": str(limits.tokens)}),
            **({} if limits.seconds is None else {"most_seconds": f"{limits.seconds:g}"}),
        }  # fmt: skip
        wants = world.reset(own)
        rules = tuple(ConstraintRef("world:keeps", {**params, "rule": rule}) for rule in world.rules)
        turn = Turn(wants, (ConstraintRef("world:solved", params), *rules))
        given_messages = GivenMessages(tools=tools) if tools else msgspec.UNSET
        prompts.append(Prompt(f"world:{name}:{own}", (turn,), system, "world", tags, given_messages))
    parts = [
        f"x{episodes}" if episodes != usual_number else "",
        chosen if chosen != usual else "",
        f"seed{seed}" if seed else "",
        *(f"{kind}{most:g}" for kind, most, free in zip(Limits._fields, limits, Limits(), strict=True) if most != free),
    ]
    ending = "+".join(part for part in parts if part)
    return Suite(
        name=f"world:{name}:{ending}" if ending else f"world:{name}",
        version=f"1.{world.version}",
        prompts=tuple(prompts),
        slices=(name,),
        settings={"seed": seed, "episodes": episodes, "form": chosen},
        citation="Worlds: adhere; the user's part after tau2-bench (arXiv 2506.07982).",
        sampling=Sampling(max_new_tokens=TOKENS),
    )


def played_by(suite: Suite, user: str) -> Suite:
    """Return the suite with a model that plays the users; `user` is its name.

    Raises:
        UsageError: A prompt is no episode, or its world has no user.
    """

    def played(prompt: Prompt) -> Prompt:
        if "world" not in prompt.tags or not open_world(prompt.tags["world"]).has_user:
            raise UsageError(
                f"{suite.name}: there is no user in {prompt.id}, so no model can play it; leave --user out"
            )
        refs = tuple(ConstraintRef(ref.id, {**ref.params, "user": user}) for ref in prompt.constraints)
        turn = Turn(prompt.text, refs)
        return msgspec.structs.replace(prompt, turns=(turn,), tags={**prompt.tags, "user": user})

    return msgspec.structs.replace(suite, prompts=tuple(map(played, suite.prompts)), whole=())
