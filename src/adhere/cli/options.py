"""Options that commands share: each set is given to a command by a decorator and reaches it as one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from adhere.cli.offer import suite_names
from adhere.errors import UsageError
from adhere.schema import MODES, Mode

if TYPE_CHECKING:
    from adhere.verify.sides import SideOptions

Command = Callable[..., Any]

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
EXISTING_FOLDER = click.Path(path_type=Path, file_okay=False, exists=True)


def option(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Make an option as click does, which shows its default if it has one."""
    return click.option(*names, show_default="default" in settings, **settings)


def flag(*names: str, **settings: Any) -> Callable[[Command], Command]:
    """Make an option that takes no value."""
    return click.option(*names, is_flag=True, **settings)


class Number(click.FloatRange):
    """Accepts finite numbers in a range. Click's own type accepts `nan`, with which no limit ever stops anything."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail as click does if it is not finite or out of range."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value!r} is no finite number.", param, ctx)
        return number


def spreading(option: str) -> type[click.Command]:
    """Return a class of commands whose `option` takes every argument after it, up to the next option."""

    class Spreading(click.Command):
        def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
            spread: list[str] = []
            is_behind = False
            for argument in args:
                is_option = argument.startswith("-") and argument != "-"
                if is_behind and not is_option and spread[-1] != option:
                    spread.append(option)
                is_behind = argument == option or (is_behind and not is_option)
                spread.append(argument)
            return super().parse_args(ctx, spread)

    return Spreading


def with_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    """Give a click command these options, in their order."""
    for option in reversed(options):
        command = option(command)
    return command


def as_one(
    name: str, kind: type[NamedTuple], options: Sequence[Callable[[Command], Command]]
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command these options; it receives them as one `kind` under `name`."""

    def give(command: Command) -> Command:
        @wraps(command)
        def called(**values: Any) -> Any:
            record = kind._make(values.pop(field) for field in kind._fields)
            return command(**values, **{name: record})

        return with_options(called, options)

    return give


class Asking(NamedTuple):
    """Names the suites to ask and how to ask them; None: as each suite says."""

    suites: tuple[str, ...]
    draws: int
    limit: int | None
    seed: int | None
    max_new_tokens: int | None
    temperature: float | None
    top_p: float | None
    mode: Mode
    min_coverage: float


def asking_options(*, suite: str, seed: int | None = None) -> Callable[[Command], Command]:
    """Give a command the options on what is asked; it receives one `asking: Asking`.

    Args:
        suite: The suite to ask if none is named.
        seed: The seed if none is given; None: the suites' public one.
    """
    options = (
        click.option(
            "--suite", "suites", multiple=True, shell_complete=suite_names, default=(suite,), show_default=True,
            help="A suite; may be repeated.",
        ),
        click.option("--draws", type=click.IntRange(1), default=1, show_default=True, help="Answers per prompt."),
        click.option("-n", "--limit", type=click.IntRange(1),
            help="Only so many prompts of each suite, an even share of each slice."),
        click.option(
            "--seed", type=int, default=seed, show_default=seed is not None,
            help="Of sampled answers, and of a generated suite's prompts"
            + ("." if seed is not None else " [the suites' public seed]."),
        ),
        click.option("--max-new-tokens", type=click.IntRange(1),
            help="Longer answers are cut [the suite's own limit]."),
        click.option("--temperature", type=Number(0), help="0 is greedy [the suite's own]."),
        click.option("--top-p", type=Number(0, 1, min_open=True),
            help="Of sampled answers [the suite's own]."),
        click.option(
            "--mode", type=click.Choice(MODES), default="reference", show_default=True,
            help="Judge published kinds as published, or with their defects mended.",
        ),
        click.option(
            "--min-coverage", type=Number(0, 1), default=0.98, show_default=True,
            help="Exit 3 below this share of answers with a verdict on every constraint.",
        ),
    )  # fmt: skip
    return as_one("asking", Asking, options)


class Sides(NamedTuple):
    """Names files with a harness's scores on other tasks, and how they are read."""

    paths: tuple[Path, ...]
    side_scores: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    pools: tuple[str, ...]
    called: tuple[str, ...]

    def options(self, **margins: float) -> SideOptions:
        """Return the options for `verify.sides`; `margins` are passed on.

        Raises:
            UsageError: A pair is not NAME=NAME.
        """
        from adhere.verify.sides import SideOptions

        return SideOptions(
            scores=pairs("--side-score", self.side_scores),
            lower_is_better=self.lower_is_better,
            pools=self.pools,
            called=pairs("--called", self.called),
            **margins,
        )


def side_options(*, side: str, called_help: tuple[str, str]) -> Callable[[Command], Command]:
    """Give a command the options of side measures; it receives one `sides: Sides`.

    Args:
        side: The help of `--side`.
        called_help: Metavar and help of `--called`.
    """
    options = (
        click.option("--side", "paths", multiple=True, type=PATH, metavar="PATH", help=side),
        click.option("--side-score", "side_scores", multiple=True, metavar="TASK=SCORE",
            help="Which score of a side task counts."),
        click.option("--lower-is-better", multiple=True, metavar="SCORE", help="A side score of which less is better."),
        click.option("--pool", "pools", multiple=True, metavar="PATTERN",
            help="Side tasks that are one measure: 'mmlu_*'."),
        click.option("--called", multiple=True, metavar=called_help[0], help=called_help[1]),
    )  # fmt: skip
    return as_one("sides", Sides, options)


def pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    """Read values of an option that have the form NAME=NAME.

    Raises:
        UsageError: A value has another form.
    """
    wrong = [text for text in texts if not all(text.partition("="))]
    if wrong:
        raise UsageError(f"{option} {wrong[0]}: write NAME=NAME")
    return {text.partition("=")[0]: text.partition("=")[2] for text in texts}
