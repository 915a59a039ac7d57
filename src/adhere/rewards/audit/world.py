"""Episodes as rows of an audit: the world's own solver is the honest answer; every script repeats one fixed answer."""

from __future__ import annotations

from adhere.rewards.audit.ask import AuditedReward
from adhere.rewards.audit.rows import AuditRow
from adhere.worlds import open_world
from adhere.worlds.replay import FORMS, as_answer

SOLVER = "(what the world's own solver does in {})"


def world_rows(reward: AuditedReward) -> list[AuditRow]:
    """Make a row of each episode of a world; empty if the reward is no world."""
    if reward.kind != "world":
        return []
    rows = []
    for prompt in reward.thing.prompts:
        world = open_world(prompt.tags["world"])
        world.reset(int(prompt.tags["world_seed"]))
        form = next(form for form in FORMS if form == prompt.tags["form"])
        steps = [
            as_answer(action, form, number, has_tools=bool(world.tools)) for number, action in enumerate(world.solver())
        ]
        rows.append(AuditRow(prompt.text, (SOLVER.format(prompt.id),), {"prompt_id": prompt.id, "solver": steps}))
    return rows
