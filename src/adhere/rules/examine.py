"""Hold sessions against rules: what `adhere rules` prints.

rules      of a TOML file, or compiled of a rule file
sessions   read one after another; what is kept of each is its verdicts
verdicts   a rule and a session: kept, broken, untriggered, undecided
rates      of kept among kept and broken: all, by rule, agent, model, version
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from adhere.errors import UsageError
from adhere.rules.checks.judge import RuleVerdict, judge_rule
from adhere.rules.checks.spec import Rule, load_rules
from adhere.rules.compile.compile import compile_file
from adhere.rules.conflicts import Conflict, conflicts_of
from adhere.rules.held import Versions
from adhere.rules.rates import Pairing, Rate, pair, rate_of, rates_by
from adhere.rules.session.acts import acts_of
from adhere.rules.session.model import Call, Session
from adhere.rules.session.read import read_sessions
from adhere.rules.session.secrets import redact
from adhere.schema import Record, encode

CHARACTERS_A_TOKEN = 4
"""Of English in today's tokenizers; a rule's tokens are said as about so many."""


class SessionInfo(Record, frozen=True):
    """A session that was read.

    `calls` counts calls, `unread` lines that could not be read; `rules_version` says how it is known which version of
    the rules it was told: `git`, `session`, or `unknown`.
    """

    session: str
    format: str
    agent: str
    version: str
    model: str
    started: str
    task: str
    calls: int
    replies: int
    unread: int
    cut: bool
    rules_version: str


class Examination(Record, frozen=True):
    """Everything that was found."""

    rules: tuple[Rule, ...]
    sessions: tuple[SessionInfo, ...]
    verdicts: tuple[RuleVerdict, ...]
    against: tuple[SessionInfo, ...] = ()
    against_verdicts: tuple[RuleVerdict, ...] = ()

    @property
    def overall(self) -> Rate:
        """Of all rules and sessions."""
        return rate_of("all", self.verdicts)

    def by_rule(self) -> list[Rate]:
        """Of each rule that has a check."""
        known = {one.name: one for one in rates_by(self.verdicts, lambda verdict: verdict.rule)}
        return [known.get(rule.id) or rate_of(rule.id, ()) for rule in self.rules if rule.check is not None]

    def by(self, field: str) -> list[Rate]:
        """Of each agent, model or version."""
        names = {one.session: str(getattr(one, field)) for one in self.sessions}
        return rates_by(self.verdicts, lambda verdict: names.get(verdict.session, ""))

    def conflicts(self) -> list[Conflict]:
        """Rules that nobody can keep at once."""
        return conflicts_of(self.rules)

    def never_fired(self) -> list[str]:
        """Rules with a check that no session triggered."""
        fired = {one.rule for one in self.verdicts if one.outcome != "untriggered"}
        return [rule.id for rule in self.rules if rule.check is not None and rule.id not in fired]

    def pairs(self) -> list[Pairing]:
        """Differences from the sessions of `--against`, by task."""
        tasks = {one.session: one.task for one in (*self.sessions, *self.against)}
        return pair(self.verdicts, self.against_verdicts, tasks) if self.against else []

    def encoded(self) -> bytes:
        """As JSON: the contract's `rules` and `verdicts`, and the numbers."""
        document: dict[str, Any] = {
            "rules": [rule_row(rule) for rule in self.rules],
            "verdicts": msgspec.to_builtins(self.verdicts),
            "sessions": msgspec.to_builtins(self.sessions),
            "rates": {
                "overall": msgspec.to_builtins(self.overall),
                "by_rule": msgspec.to_builtins(self.by_rule()),
                **{f"by_{name}": msgspec.to_builtins(self.by(name)) for name in ("agent", "model", "version")},
            },
            "conflicts": msgspec.to_builtins(self.conflicts()),
            "never_fired": self.never_fired(),
        }
        if self.against:
            document |= {
                "against": {
                    "sessions": msgspec.to_builtins(self.against),
                    "verdicts": msgspec.to_builtins(self.against_verdicts),
                    "pairs": msgspec.to_builtins(self.pairs()),
                }
            }
        return encode(document)


def rule_row(rule: Rule) -> dict[str, Any]:
    """A rule as JSON; `check` is null where no program decides."""
    check = None if rule.check is None else msgspec.to_builtins(rule.check)
    return {
        "id": rule.id, "quote": redact(rule.quote), "file": rule.file, "line": rule.line, "check": check,
        "why": rule.why, "scope": list(rule.scope), "modality": rule.modality, "tokens_about": tokens_about(rule),
    }  # fmt: skip


def tokens_about(rule: Rule) -> int:
    """About how many tokens a rule costs in every request: its characters by four."""
    return max(1, round(len(rule.quote) / CHARACTERS_A_TOKEN))


def read_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a TOML file, or compiled of any other.

    Raises:
        SpecError: It cannot be read, or a check cannot be.
        UsageError: There is no rule in it.
    """
    rules = load_rules(path) if path.suffix == ".toml" else compile_file(path)
    if not rules:
        raise UsageError(f"{path}: no rule is in it: nothing there tells an agent to do something")
    return rules


def examine(
    rules: Sequence[Rule],
    paths: Iterable[Path],
    *,
    against: Iterable[Path] = (),
    repo: Path | None = None,
    versions: Versions | None = None,
) -> Examination:
    """Hold the sessions of files, folders and runs against rules.

    Args:
        rules: Those without a check have no verdict.
        paths: Of sessions.
        against: Of sessions to compare with, by task.
        repo: The repository on this machine, for make and npm; nothing in it is run.
        versions: Knows which rules held when; None: nobody asks.

    Raises:
        UsageError, SpecError: See `read_sessions`.
    """
    own, verdicts = _all(rules, paths, repo, versions)
    other, other_verdicts = _all(rules, against, repo, versions)
    return Examination(tuple(rules), tuple(own), tuple(verdicts), tuple(other), tuple(other_verdicts))


def _all(
    rules: Sequence[Rule], paths: Iterable[Path], repo: Path | None, versions: Versions | None
) -> tuple[list[SessionInfo], list[RuleVerdict]]:
    infos: list[SessionInfo] = []
    verdicts: list[RuleVerdict] = []
    for session in _each_once(paths):
        infos.append(_info(session, versions))
        verdicts += judge_session(rules, session, repo=repo, versions=versions)
    return infos, verdicts


def _each_once(paths: Iterable[Path]) -> Iterator[Session]:
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() not in seen:
            seen.add(path.resolve())
            yield from read_sessions(path)


def judge_session(
    rules: Sequence[Rule], session: Session, *, repo: Path | None = None, versions: Versions | None = None
) -> list[RuleVerdict]:
    """The verdict of each rule that has a check on one session."""
    acts = acts_of(session, repo=repo)
    verdicts: list[RuleVerdict] = []
    for rule in rules:
        absent = versions.absent(rule, session) if versions is not None else ""
        if absent and rule.check is not None:
            verdicts.append(RuleVerdict(rule.id, session.name, "untriggered", absent))
        elif (verdict := judge_rule(rule, session, acts)) is not None:
            verdicts.append(verdict)
    return verdicts


def _info(session: Session, versions: Versions | None) -> SessionInfo:
    calls = sum(isinstance(one, Call) for one in session.events)
    replies = sum(not isinstance(one, Call) and one.who == "assistant" for one in session.events)
    source = versions.source(session) if versions is not None else "unknown"
    return SessionInfo(
        session.name, session.format, session.agent, session.version, session.model, session.started,
        redact(session.task), calls, replies, len(session.gaps), session.cut, source,
    )  # fmt: skip


__all__ = ["Examination", "SessionInfo", "examine", "judge_session", "read_rules", "rule_row", "tokens_about"]
