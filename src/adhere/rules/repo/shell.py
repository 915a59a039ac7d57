"""Run a command line on a repository in memory. Nothing is run on this machine.

A line is parsed by `rules.shell`. A command that is not supported gives an error as of a shell, with its exit code.
Each line begins at the repository's root.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence

from adhere.rules.repo.commands import COMMANDS
from adhere.rules.repo.git import git
from adhere.rules.repo.machine import Machine, ShellError
from adhere.rules.shell.forms import message_of
from adhere.rules.shell.parse import AndOr, Command, Redirect, Simple, Word, parse

MOST_SHOWN = 8_000


def run(machine: Machine, line: str) -> tuple[str, int]:
    """Run a command line; return what it prints (cut to `MOST_SHOWN` characters), and its exit code."""
    machine.cwd = ""
    script = parse(line)
    if script.problem:
        return f"sh: {script.problem}", 2
    out, code = list[str](), 0
    for chain in script.lists:
        code = _and_or(machine, chain, out)
    text = "".join(out)
    return (text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}\n… (cut)"), code


def _and_or(machine: Machine, chain: AndOr, out: list[str]) -> int:
    code = 0
    for place, pipeline in enumerate(chain.pipelines):
        if place and (code == 0) is (chain.operators[place - 1] == "||"):
            continue
        text = ""
        for command in pipeline:
            text, code = _command(machine, command, text)
        out.append(text)
    return code


def _command(machine: Machine, command: Command, stdin: str) -> tuple[str, int]:
    if not isinstance(command, Simple):
        return "sh: only plain commands, joined by && || ; and |, are known here\n", 2
    try:
        words = list(_expand(machine, command.words))
        for redirect in command.redirects:
            stdin = _input(machine, redirect, stdin)
        text, code = (_program(machine, words, stdin), 0) if words else ("", 0)
    except ShellError as error:
        text, code = f"{error}\n" * bool(str(error)), error.code
    try:
        return _redirect(machine, command.redirects, text), code
    except ShellError as error:
        return f"{error}\n", error.code


def _input(machine: Machine, redirect: Redirect, stdin: str) -> str:
    if redirect.operator in {"<<", "<<<"}:
        return f"{redirect.body}\n" if redirect.body else ""
    return machine.read(redirect.target) if redirect.operator == "<" else stdin


def _redirect(machine: Machine, redirects: Sequence[Redirect], text: str) -> str:
    for redirect in redirects:
        if redirect.operator in {">", ">>", ">|", "&>", "&>>"} and not redirect.target.startswith(("/dev/", "&")):
            before = machine.files.get(machine.path(redirect.target), "") if ">>" in redirect.operator else ""
            machine.write(redirect.target, before + text)
            text = ""
        elif redirect.operator in {">", "&>"}:
            text = ""
    return text


def _expand(machine: Machine, words: Sequence[Word]) -> Iterator[str]:
    for word in words:
        if not word.fixed:
            text = message_of(word)
            if text is None:
                raise ShellError(f"sh: {word.text[:60]}: variables and substitutions are not known here", 2)
            yield text
        elif word.bare and any(sign in word.text for sign in "*?["):
            yield from fnmatch.filter(sorted({*machine.files, *machine.folders()}), word.text) or [word.text]
        else:
            yield word.text


def _program(machine: Machine, words: list[str], stdin: str) -> str:
    while words[:1] in (["sudo"], ["env"], ["time"], ["command"]) or words[:2] == ["uv", "run"]:
        words = words[2:] if words[0] == "uv" else words[1:]
        while words and ("=" in words[0] or words[0].startswith("-")):
            words = words[1:]
    if words[:1] in (["python"], ["python3"]) and words[1:2] == ["-m"]:
        words = words[2:]
    if not words:
        return ""
    program = git if words[0] == "git" else COMMANDS.get(words[0])
    if program is None:
        raise ShellError(f"sh: {words[0]}: command not found", 127)
    return program(machine, words[1:], stdin)
