"""The command line of environments that are servers: the suite, how it is judged, and the port."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from adhere.environments.environment import Environment, env
from adhere.environments.worlds import WorldEnvironment, insist_on_no_gate, is_world
from adhere.errors import AdhereError
from adhere.pipeline.reward import REWARD_KINDS
from adhere.suites import load


class ServedEnvironment(NamedTuple):
    """Holds the environment to be served, and where; `rows` is a file for the prompts, written instead of serving."""

    environment: Environment | WorldEnvironment
    host: str
    port: int
    rows: str | None


def parse(module: str, arguments: list[str] | None, *, worlds: bool = False) -> ServedEnvironment:
    """Read the arguments of `python -m MODULE`; with `worlds`, a suite of episodes is accepted as such.

    Raises:
        SystemExit: The arguments are wrong (the reason is printed), or `--help` was asked.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("suite", help="as `adhere eval --suite` takes it: core:x20+seed7, ifeval:input_data.jsonl")
    parser.add_argument("--mode", choices=("reference", "fixed"), default="reference")
    parser.add_argument("--reward", choices=REWARD_KINDS, default="dense")
    parser.add_argument("--traps", action="store_true", help="0 for answers that keep the letter and not the intent")
    parser.add_argument("--limit", type=int, help="at most so many prompts")
    parser.add_argument("--seed", type=int, help="for generated suites")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--rows", metavar="FILE", help="write the prompts as the trainer's rows to FILE and end")
    options = parser.parse_args(arguments)
    try:
        suite = load(options.suite, limit=options.limit, seed=options.seed)
        if options.traps and worlds:
            insist_on_no_gate(suite)
        environment: Environment | WorldEnvironment = (
            WorldEnvironment(suite, reward=options.reward)
            if worlds and is_world(suite)
            else env(suite, mode=options.mode, reward=options.reward, traps=options.traps)
        )
    except AdhereError as error:
        parser.error(str(error))
    return ServedEnvironment(environment, options.host, options.port, options.rows)
