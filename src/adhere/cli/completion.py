"""`adhere --install-completion`: the scripts of completion, written where shells look for them."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from adhere.errors import UsageError
from adhere.terminal import show

SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
OF_THIS_SHELL = "this"


def install(shell: str, home: Path) -> list[str]:
    """Write the completion script of one shell below `home`, and make the shell read it.

    Returns a line for each file that changed. Doing it again changes nothing.
    """
    from adhere.cli import adhere

    source = SHELLS[shell](adhere, {}, "adhere", "_ADHERE_COMPLETE").source()
    file, start, line = {
        "bash": (home / ".bash_completions" / "adhere.sh", home / ".bashrc", "source ~/.bash_completions/adhere.sh"),
        "zsh": (home / ".zfunc" / "_adhere", home / ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
        "fish": (home / ".config" / "fish" / "completions" / "adhere.fish", None, ""),
    }[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(source, encoding="utf-8")
    lines = [f"Wrote {file}"]
    before = start.read_text(encoding="utf-8") if start is not None and start.exists() else ""
    if start is not None and line not in before.splitlines():
        start.write_text(
            f"{before}{'' if not before or before.endswith(chr(10)) else chr(10)}{line}\n", encoding="utf-8"
        )
        lines.append(f"Added to {start}: {line}")
    return lines


def run(context: click.Context, _option: click.Parameter, shell: str | None) -> None:
    """Install completion for the shell that was named, or that runs here, and exit; this is the option's callback.

    Raises:
        UsageError: click has no completion for the shell that runs here.
    """
    if shell is None or context.resilient_parsing:
        return
    if shell == OF_THIS_SHELL:
        shell = Path(os.environ.get("SHELL", "")).name
        if shell not in SHELLS:
            raise UsageError(
                f"$SHELL names {shell or 'no shell'!r}; say which: --install-completion {'|'.join(SHELLS)}"
            )
    for line in [*install(shell, Path.home()), f"Open a new {shell} to use it."]:
        show(line)
    context.exit()
