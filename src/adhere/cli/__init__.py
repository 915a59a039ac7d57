"""The command line: one file a command, no logic.

Commands are imported when they run, so `adhere --help` stays instant.
"""

from __future__ import annotations

import errno
import importlib
import os
import sys

import click

from adhere import __version__
from adhere.errors import EXIT_CODES, AdhereError

# name -> (module, what --help says). The line stands here so that listing the commands imports none of them.
COMMANDS = {
    "study": ("adhere.cli.study", "Prove what training bought: arms × seeds from one start on equal data."),
    "reproduce": ("adhere.cli.reproduce", "Compute a committed study again from its records, without a model."),
    "train": ("adhere.cli.train", "Train a model by a recipe: SFT, offline RL, reward model, online RL, in any order."),
    "eval": ("adhere.cli.eval", "Measure models on a suite of prompts whose constraints a program checks."),
    "sweep": (
        "adhere.cli.sweep",
        "Measure every model of an endpoint: one leaderboard, what it cost, and what failed.",
    ),
    "verify": ("adhere.cli.verify", "Judge answers that you already have."),
    "floors": ("adhere.cli.floors", "What answerers without a model pass of a suite: below that a rate says nothing."),
    "traps": ("adhere.cli.traps", "How often answers keep the letter of their instructions and not the intent."),
    "audit": ("adhere.cli.audit", "What a reward of anybody's pays to answers that nobody wrote for the prompt."),
    "rescore": ("adhere.cli.rescore", "Judge a stored run again, without the model."),
    "judge": ("adhere.cli.judge", "Let a model judge what no program decides, beside the stored run."),
    "compare": ("adhere.cli.compare", "Paired statistics between stored runs."),
    "stable": ("adhere.cli.stable", "How many greedy answers change with what is asked beside them."),
    "perplexity": ("adhere.cli.perplexity", "How well models predict plain text, which following must not cost."),
    "report": ("adhere.cli.report", "Draw stored runs or a study as HTML, or print them."),
    "export": (
        "adhere.cli.export",
        "Write stored runs as logs of inspect, lm-eval or EvalScope, or as records of Every Eval Ever.",
    ),
    "claims": ("adhere.cli.claims", "Check the numbers that documents print."),
    "view": ("adhere.cli.view", "Browse stored runs, sweeps and studies in the browser, live while they run."),
    "build": ("adhere.cli.build", "Build verified data from a model's own answers; let a model write checks."),
    "draw": ("adhere.cli.draw", "Draw answers to files of prompts, from one or several endpoints."),
    "decontaminate": ("adhere.cli.decontaminate", "Leave out of training data what repeats a test item."),
    "compact": ("adhere.cli.compact", "Copy a large store into Parquet, for questions about all its answers at once."),
    "serve": ("adhere.cli.serve", "Serve a local model as an OpenAI-compatible endpoint on 127.0.0.1."),
    "fetch": ("adhere.cli.fetch", "Get an embedded model, pinned by hash, or the file of a published suite."),
    "example": ("adhere.cli.example", "Write an example spec, so that nothing needs the clone."),
    "explain": ("adhere.cli.explain", "What a kind of constraint means, with wordings and examples."),
    "list": ("adhere.cli.list", "List constraints, suites, models, stages or runs."),
    "doctor": ("adhere.cli.doctor", "Check this machine and installation."),
}


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
"""Not our bugs, wherever they arise: the disk is full, read-only, closed to us or broken."""
PATH_TROUBLE = frozenset({errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR})
"""A path that somebody gave cannot be what it should be: a file stands where a folder goes, or its name is too long."""


class LazyGroup(click.Group):
    """A group whose commands are imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of COMMANDS: the main job first."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a command and return its `command`."""
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        loaded: click.Command = importlib.import_module(module).command
        return loaded

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the nearest name where a command is misspelt."""
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
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
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
    callback=lambda *asked: importlib.import_module("adhere.cli.completion").run(*asked),
    help="Complete commands, suites and models in this shell, or in the one named; then leave.",
)
def adhere() -> None:
    """Measure whether language models do what they are told, and prove which training makes them do so more often."""


def main() -> None:
    """Entry point. Users' mistakes print without a traceback; our own bugs keep it."""
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

        if (told := missing(error)) is None:
            raise
        _leave(f"Error: {told}", told.exit_code)
    except BrokenPipeError:  # the reader of our stdout (head, less) went away: not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
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
    """The same error, with our word where it is about an option that another tool has."""
    ours = OTHER_WORDS.get(error.option_name) if isinstance(error, click.NoSuchOption) else None
    if ours is None or not isinstance(error, click.NoSuchOption):
        return error
    return click.UsageError(f"No such option: {error.option_name}. Here it is {ours}", error.ctx)


def _leave(message: str, code: int) -> None:
    from adhere.terminal import show

    show(message, err=True)
    sys.exit(code)
