"""`adhere rules`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from adhere.cli.offer import model_names
from adhere.cli.options import EXISTING_FOLDER, FILE, PATH, Number, flag, option, spreading
from adhere.errors import GateError, UsageError
from adhere.progress import for_terminal
from adhere.schema import write_atomic
from adhere.terminal import columns, show

if TYPE_CHECKING:
    from adhere.rules.checks.spec import Rule


@click.command("rules", cls=spreading("--against"))
@click.argument("rules", metavar="RULES|compile|list")
@click.argument("sessions", nargs=-1, type=PATH, metavar="[SESSION]...")
@option(
    "--against",
    multiple=True,
    type=PATH,
    metavar="OTHER...",
    help="Sessions to compare with, by task; every path behind it.",
)
@option(
    "--repo",
    type=EXISTING_FOLDER,
    metavar="DIR",
    help="Where Makefile, package.json and the rule file's versions are read [the folder of RULES].",
)
@flag("--json", "as_json", help="Print one JSON object: rules, verdicts, rates.")
@option("--html", type=FILE, metavar="F", help="Write a page: rules as rows, sessions as columns.")
@option(
    "--fail-below",
    "least",
    type=Number(0, 1),
    metavar="RATE",
    help="Exit 6 where the share of rules kept, among triggered, lies below RATE with its whole interval.",
)
@option("--junit", type=FILE, metavar="F", help="Write the gates of --fail-below as JUnit's XML.")
@option(
    "--model",
    metavar="MODEL",
    shell_complete=model_names,
    help="With compile: a model proposes checks for what is left. The rule file's text is sent to it.",
)
def command(
    rules: str, sessions: tuple[Path, ...], against: tuple[Path, ...], repo: Path | None, as_json: bool,
    html: Path | None, least: float | None, junit: Path | None, model: str | None,
) -> None:  # fmt: skip
    """Hold sessions of agents against the rules that they were told: each is kept, broken, untriggered or undecided.

    RULES is a rule file in Markdown (AGENTS.md and the like), a rules.toml, or world:repo. A SESSION is a file, a
    folder or a run; without one the sessions of this repository are looked for in the folders of Claude Code, Codex and
    Gemini CLI.
    Nothing of a session is run, and secrets are hidden.

    \b
      adhere rules compile AGENTS.md > rules.toml   the rules, with a check where a program decides
      adhere rules list AGENTS.md                   the rules, and about what each costs in tokens
      A file of that name is ./compile or ./list.
    """  # noqa: D301 - click's mark
    if rules in {"compile", "list"}:
        _of_file(rules, sessions, model)
        return
    if model is not None:
        raise UsageError("--model proposes checks: adhere rules compile FILE --model MODEL")
    if junit is not None and least is None:
        raise UsageError("--junit writes gates: say --fail-below, too")
    _examine(Path(rules), sessions, against, repo, as_json=as_json, html=html, least=least, junit=junit)


def _of_file(word: str, files: tuple[Path, ...], model: str | None) -> None:
    """Run `adhere rules compile` or `list`."""
    from adhere.report.rules.text import rule_list
    from adhere.rules.checks.spec import rules_toml
    from adhere.rules.examine import read_rules

    if len(files) != 1:
        raise UsageError(f"adhere rules {word} takes one rule file, got {len(files)}")
    rules = read_rules(files[0])
    if word == "list":
        show(rule_list(rules, width=columns()))
        return
    if model is not None:
        rules = _propose(rules, model)
    open_rules = sum(rule.check is None for rule in rules)
    for_terminal().say(f"{len(rules)} rules, {len(rules) - open_rules} with a check. Read them before you use them")
    head = f"# Compiled from {files[0].name} by adhere rules compile. Read and correct it: a check is what is measured."
    show(rules_toml(rules, head=head).rstrip("\n"))


def _propose(rules: tuple[Rule, ...], name: str) -> tuple[Rule, ...]:
    """Let a model propose checks for rules without one, and say which were not accepted."""
    from adhere.models.catalog import open_model
    from adhere.rules.compile.propose import propose

    without_check = sum(rule.check is None for rule in rules)
    for_terminal().say(f"Sent to {name}: the sentences of {without_check} rules without a check, nothing else")
    model = open_model(name)
    try:
        outcome = propose(rules, model)
    finally:
        model.close()
    for rule, why in outcome.refused.items():
        for_terminal().say(f"Not taken: {rule}: {why}")
    return outcome.rules


def _examine(
    file: Path, sessions: tuple[Path, ...], against: tuple[Path, ...], repo: Path | None, *, as_json: bool,
    html: Path | None, least: float | None, junit: Path | None,
) -> None:  # fmt: skip
    """Read sessions, judge them and print the findings; check the gate last."""
    from adhere.pipeline.gates import junit as junit_xml
    from adhere.report.rules.html import rules_html
    from adhere.report.rules.text import rules_text
    from adhere.rules.examine import examine, open_rules
    from adhere.rules.gate import gates_of
    from adhere.rules.session.discover import own_sessions

    rules, versions = open_rules(file)
    folder = repo if repo is not None else file.resolve().parent
    paths = list(sessions) or own_sessions(folder)
    if not paths:
        raise UsageError(
            f"no session was given, and Claude Code, Codex and Gemini CLI have none of {folder}. "
            "Give files: adhere rules RULES SESSION…"
        )
    examination = examine(rules, paths, against=against, repo=folder, versions=versions)
    if html is not None:
        write_atomic(html, rules_html(examination).encode("utf-8", "replace"))
        for_terminal().say(f"Written: {html}")
    show(examination.encoded() if as_json else rules_text(examination, width=columns()))
    if least is None:
        return
    gates = gates_of(examination, least)
    if junit is not None:
        write_atomic(junit, junit_xml(gates).encode("utf-8", "replace"))
    for gate in gates:
        for_terminal().say(f"{gate.run}: {gate.outcome}: {gate.why}")
    if gates[0].outcome == "does not hold":
        raise GateError(f"A gate does not hold. {gates[0].why}")
