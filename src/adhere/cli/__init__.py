"""The command line: one file for each command, no logic.

Commands are imported when they run, so `adhere --help` stays instant.
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from adhere import __version__
from adhere.errors import EXIT_CODES, AdhereError

# name -> what --help says, in a line. It stands here so that listing the commands imports none of them.
GROUPS = {
    "Measure": {
        "eval": "Measure models on prompts whose constraints a program checks.",
        "sweep": "Measure every model of an endpoint: one leaderboard.",
        "verify": "Judge answers that you already have.",
        "compare": "Paired statistics between stored runs.",
        "report": "Draw stored runs or a study as a page, or print them.",
        "view": "Browse runs, sweeps and studies in the browser, live.",
        "rescore": "Judge a stored run again, without the model.",
        "judge": "Let a model judge what no program decides.",
        "stable": "How many greedy answers change with their neighbours.",
        "perplexity": "How well models predict plain text.",
        "floors": "What answerers without a model pass of a suite.",
        "traps": "Answers that keep the letter and not the intent.",
    },
    "Train": {
        "build": "Build verified data from a model's own answers.",
        "decontaminate": "Leave out of training data what repeats a test item.",
        "draw": "Draw answers to files of prompts, from endpoints.",
        "audit": "What a reward pays to answers written for no prompt.",
        "train": "Train by a recipe: SFT, offline RL, reward model, online RL.",
        "serve": "Serve a local model as an OpenAI-compatible endpoint.",
    },
    "Prove": {
        "study": "Compare trainings: arms and seeds from one start, one rule.",
        "reproduce": "Compute a committed study again, without a model.",
    },
    "Check": {
        "claims": "Check the numbers that documents print.",
        "rules": "Hold agents' sessions against the rules they were told.",
    },
    "Tools": {
        "list": "List constraints, suites, models, stages or runs.",
        "explain": "What a kind of constraint means, with examples.",
        "example": "Write an example spec or notebook.",
        "fetch": "Get an embedded model, or a published suite's file.",
        "export": "Write runs as logs of inspect, lm-eval or EvalScope.",
        "compact": "Copy a large store into Parquet.",
        "doctor": "Check this machine and installation.",
    },
}
COMMANDS = {name: line for group in GROUPS.values() for name, line in group.items()}
EXAMPLES = (
    ("adhere eval local/smollm2-135m --suite core --limit 60", "a first number"),
    ("adhere compare runs/A runs/B", "are they different?"),
    ("adhere claims paper.md", "can they be right?"),
)

OTHER_WORDS = {
    "--model": "the argument MODEL: adhere eval MODEL --suite SUITE",
    "--model_args": "part of MODEL: hf/DIR, vllm/DIR, http://HOST/v1#NAME",
    "--tasks": "--suite",
    "--task": "--suite",
    "--output": "--out",
    "--output_path": "--out",
    "--num_fewshot": "nothing: suites say what is asked",
    "--batch_size": "nothing: engines choose it, and endpoints take --concurrency",
    "--max_tokens": "--max-new-tokens",
    "--max-tokens": "--max-new-tokens",
}
"""Options of other tools, and the words for them here."""
DISK_TROUBLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO})
"""Errors that are not our bugs, wherever they arise: the disk is full, read-only, closed to us or broken."""
PATH_TROUBLE = frozenset({errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR})
"""Errors of a path that somebody gave: a file stands where a folder is needed, or the name is too long."""


@contextlib.contextmanager
def _readers_may_leave() -> Iterator[None]:
    """Exit as a program ended by SIGPIPE does, if the reader of our output (head, less) has gone away.

    click would exit with 1, which here means that something was found.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            os.dup2(nowhere, stream.fileno())
        sys.exit(READER_LEFT)


READER_LEFT = 128 + 13
"""The exit code that a shell gives a program which SIGPIPE ended."""


class LazyGroup(click.Group):
    """Imports the commands of a group when they are used."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Make the context as click does, and survive a reader that leaves; `--help` prints here."""
        with _readers_may_leave():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command as click does."""
        with _readers_may_leave():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of GROUPS."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"adhere.cli.{cmd_name}").command
        return command

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write what adhere does, then three commands to begin with."""
        super().format_help_text(ctx, formatter)
        with formatter.section("Examples"):
            width = max(len(command) for command, _ in EXAMPLES)
            for command, why in EXAMPLES:
                formatter.write(f"  {command:<{width}}  {why}\n")

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands before the options, since people look for them."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the groups of commands, a line each, without importing them."""
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                for name, line in commands.items():
                    formatter.write(f"  {name:<{width}}  {line}\n")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does; an unknown name fails with the nearest known one."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from adhere.errors import nearest

            ctx.fail(f"No such command {args[0]!r}.{nearest(args[0], COMMANDS)}")
        return super().resolve_command(ctx, args)


def _exit_codes() -> str:
    codes = "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())
    return f"\b\nExit codes:\n{codes}"


@click.group(
    cls=LazyGroup,
    epilog=_exit_codes(),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
@click.version_option(__version__, prog_name="adhere")
@click.option(
    "--install-completion",
    is_flag=False,
    flag_value="this",
    type=click.Choice(["bash", "zsh", "fish", "this"]),
    metavar="[bash|zsh|fish]",
    is_eager=True,
    expose_value=False,
    callback=lambda *arguments: importlib.import_module("adhere.cli.completion").run(*arguments),
    help="Complete commands, suites and models in this shell, or in the one named; then leave.",
)
def adhere() -> None:
    """Measure whether language models do what they are told, and prove which training makes them do so more often."""


def main() -> None:
    """Run the command line. Users' mistakes print without a traceback; our own bugs keep it."""
    # Threads that spin while they wait make a busy laptop three times slower (docs/LOG.md, 2026-11-21). Torch reads
    # this once. With libgomp a spin of microseconds keeps what spinning buys on an idle machine
    # (benchmarks/training/threads.py).
    if os.environ.setdefault("OMP_WAIT_POLICY", "passive").lower() == "passive":
        os.environ.setdefault("GOMP_SPINCOUNT", "2000")
    try:
        adhere(standalone_mode=False)
    except click.exceptions.Abort:
        _leave("Interrupted. What was finished is stored; run the same command again to go on.", 130)
    except click.ClickException as error:
        _in_our_words(error).show()
        sys.exit(error.exit_code)
    except AdhereError as error:
        _leave(f"Error: {error}", error.exit_code)
    except KeyboardInterrupt:
        _leave("Interrupted. What was finished is stored; run the same command again to go on.", 130)
    except ModuleNotFoundError as error:
        from adhere.extras import missing

        if (problem := missing(error)) is None:
            raise
        _leave(f"Error: {problem}", problem.exit_code)
    except OSError as error:
        if error.errno in PATH_TROUBLE and error.filename:
            _leave(f"Error: {error.filename}: {error.strerror}. Give another path", 2)
        if error.errno not in DISK_TROUBLE:
            raise
        where = f"{error.filename}: " if error.filename else ""
        _leave(
            f"Error: {where}{error.strerror}. What was finished is stored; mend that and run the same command again.", 5
        )


def _in_our_words(error: click.ClickException) -> click.ClickException:
    """Return the error, with our word for an option that other tools have under another name."""
    ours = OTHER_WORDS.get(error.option_name) if isinstance(error, click.NoSuchOption) else None
    if ours is None or not isinstance(error, click.NoSuchOption):
        return error
    return click.UsageError(f"No such option: {error.option_name}. Here it is {ours}", error.ctx)


def _leave(message: str, code: int) -> None:
    from adhere.terminal import show

    show(message, err=True)
    sys.exit(code)
