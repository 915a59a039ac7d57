"""`adhere audit package.module:reward`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from adhere.cli.options import EXISTING_FILE, PATH, flag, option
from adhere.progress import for_terminal
from adhere.schema import encode, write_atomic
from adhere.terminal import columns, show


@click.command("audit")
@click.argument("target", metavar="PACKAGE.MODULE:REWARD")
@option(
    "--rows",
    type=EXISTING_FILE,
    metavar="FILE",
    help="JSON lines: `prompt`, an honest answer (`honest`, `completion`) and the reward's columns [ten of ours].",
)
@option("--html", type=PATH, metavar="F", help="Write a page.")
@flag("--json", "as_json", help="Print one JSON object.")
def command(target: str, rows: Path | None, html: Path | None, as_json: bool) -> None:
    """Show what a reward pays to answers that nobody wrote for the prompt.

    Any Python reward: TRL's, verl's, verifiers', OpenRLHF's, an environment, or a function of (prompt, answer). Honest
    answers are paid beside nothing, constants, refusals, fillers, echoes, bots, honest answers copied, shuffled and
    cut, and exploits made from the constraints. Exit code 1 where one of these earns more than honest answers.

    A suite of worlds (world:shop:x20) is audited as a reward, too: each of these is then a policy of one fixed answer,
    and the world's own solver is honest.
    """
    from adhere.report.audit.html import audit_html
    from adhere.report.audit.text import audit_text
    from adhere.rewards.audit import audit, open_reward, own_rows, read_audit_rows
    from adhere.rewards.audit.world import world_rows

    if target.startswith("world:"):
        from adhere.environments.worlds import world_env
        from adhere.rewards.audit.ask import as_reward

        reward = as_reward(world_env(target), target)
    else:
        sys.path.insert(0, str(Path.cwd()))  # as `python -m` has it: a reward lies where its author works
        reward = open_reward(target)
    audit_rows = read_audit_rows(rows) if rows is not None else world_rows(reward) or own_rows()
    reward_audit = audit(reward, audit_rows, progress=for_terminal())
    if html is not None:
        write_atomic(html, audit_html(reward_audit).encode())
    show(encode(reward_audit.as_json()) if as_json else audit_text(reward_audit, width=columns()))
    if not reward_audit.holds:
        raise SystemExit(1)
