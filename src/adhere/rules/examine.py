"""Hold sessions against rules: what `adhere rules` prints.

rules      read from a TOML file, or compiled from a rule file
sessions   read one after another; only the verdicts of each are kept
verdicts   for a rule and a session: kept, broken, untriggered, undecided
rates      kept among kept and broken: over all, by rule, agent, model, version
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
from adhere.rules.in_force import Validity, Versions
from adhere.rules.rates import Pairing, Rate, pair, rate_of, rates_by
from adhere.rules.session.acts import acts_of
from adhere.rules.session.model import Call, Session
from adhere.rules.session.read import read_sessions
from adhere.rules.session.secrets import redact
from adhere.rules.tasks import TaskNames, Way, request_of, task_names, way_of
from adhere.schema import Record, encode

CHARACTERS_A_TOKEN = 4
"""Characters of English text in a token of today's tokenizers, about; estimates a rule's tokens."""


class SessionInfo(Record, frozen=True):
    """Describes a session that was read.

    `calls` counts its calls, `unread` its lines that could not be read. `rules_version` says how the version of the
    rules that the session was told is known: `git`, `session`, or `unknown`. `task` names the task, `solved` says
    whether it was solved (None: the log does not say), `told` counts the rules with a check that the session was told.
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
    solved: bool | None = None
    told: int = 0


class ToldRate(Record, frozen=True):
    """Holds the rate of kept rules over sessions told `told` rules; of `known` tasks, `solved` were solved."""

    told: int
    rate: Rate
    solved: int
    known: int


class Examination(Record, frozen=True):
    """Holds the rules, sessions and verdicts of an examination.

    `tasks_by` is the sort of name by which the tasks of two sets were matched; `differ` says whether sessions have
    rules of their own.
    """

    rules: tuple[Rule, ...]
    sessions: tuple[SessionInfo, ...]
    verdicts: tuple[RuleVerdict, ...]
    against: tuple[SessionInfo, ...] = ()
    against_verdicts: tuple[RuleVerdict, ...] = ()
    tasks_by: Way = "request"
    differ: bool = False

    @property
    def overall(self) -> Rate:
        """The rate over all rules and sessions."""
        return rate_of("all", self.verdicts)

    @property
    def of_solved(self) -> Rate | None:
        """The rate over the sessions that solved their task; None where no log says whether it did."""
        is_solved = {session.session: session.solved for session in self.sessions if session.solved is not None}
        verdicts = [verdict for verdict in self.verdicts if is_solved.get(verdict.session)]
        return rate_of("solved", verdicts) if is_solved else None

    def by_rule(self) -> list[Rate]:
        """Return the rate of each rule that has a check."""
        rates = {rate.name: rate for rate in rates_by(self.verdicts, lambda verdict: verdict.rule)}
        return [rates.get(rule.id) or rate_of(rule.id, ()) for rule in self.rules if rule.check is not None]

    def by(self, field: str) -> list[Rate]:
        """Return the rate of each group of sessions that have the same `field`: "agent", "model" or "version"."""
        names = {session.session: str(getattr(session, field)) for session in self.sessions}
        return rates_by(self.verdicts, lambda verdict: names.get(verdict.session, ""))

    def by_told(self) -> list[ToldRate]:
        """Return a ToldRate for each number of rules that sessions were told, fewest first."""
        told_rates = []
        for n_told in sorted({session.told for session in self.sessions}):
            own = [session for session in self.sessions if session.told == n_told]
            names = {session.session for session in own}
            outcomes = [session.solved for session in own if session.solved is not None]
            rate = rate_of(f"told {n_told}", [verdict for verdict in self.verdicts if verdict.session in names])
            told_rates.append(ToldRate(n_told, rate, sum(outcomes), len(outcomes)))
        return told_rates

    def conflicts(self) -> list[Conflict]:
        """Return the rules that cannot be kept together; none where sessions have rules of their own."""
        return [] if self.differ else conflicts_of(self.rules)

    def never_fired(self) -> list[str]:
        """Return the ids of rules with a check that no session triggered."""
        triggered_ids = {verdict.rule for verdict in self.verdicts if verdict.outcome != "untriggered"}
        return [rule.id for rule in self.rules if rule.check is not None and rule.id not in triggered_ids]

    def pairs(self) -> list[Pairing]:
        """Return the differences from the sessions of `--against`, paired by task; empty without them."""
        tasks = {session.session: session.task for session in (*self.sessions, *self.against)}
        return pair(self.verdicts, self.against_verdicts, tasks) if self.against else []

    def encoded(self) -> bytes:
        """Encode as JSON: rules, verdicts, sessions, rates, conflicts, and the comparison with `--against`."""
        document: dict[str, Any] = {
            "rules": [rule_row(rule) for rule in self.rules],
            "verdicts": msgspec.to_builtins(self.verdicts),
            "sessions": msgspec.to_builtins(self.sessions),
            "rates": {
                "overall": msgspec.to_builtins(self.overall),
                **({} if self.of_solved is None else {"solved": msgspec.to_builtins(self.of_solved)}),
                "by_rule": msgspec.to_builtins(self.by_rule()),
                **{f"by_{name}": msgspec.to_builtins(self.by(name)) for name in ("agent", "model", "version")},
                "by_told": msgspec.to_builtins(self.by_told()),
            },
            "conflicts": msgspec.to_builtins(self.conflicts()),
            "never_fired": self.never_fired(),
        }
        if self.against:
            document |= {
                "against": {
                    "sessions": msgspec.to_builtins(self.against),
                    "verdicts": msgspec.to_builtins(self.against_verdicts),
                    "tasks_by": self.tasks_by,
                    "pairs": msgspec.to_builtins(self.pairs()),
                }
            }
        return encode(document)


def rule_row(rule: Rule) -> dict[str, Any]:
    """Return a rule as a JSON object; `check` is null if no program decides the rule."""
    check = None if rule.check is None else msgspec.to_builtins(rule.check)
    return {
        "id": rule.id, "quote": redact(rule.quote), "file": rule.file, "line": rule.line, "check": check,
        "why": rule.why, "scope": list(rule.scope), "modality": rule.modality, "tokens_about": tokens_about(rule),
    }  # fmt: skip


def tokens_about(rule: Rule) -> int:
    """Estimate how many tokens a rule costs in every request: its characters over `CHARACTERS_A_TOKEN`, at least 1."""
    return max(1, round(len(rule.quote) / CHARACTERS_A_TOKEN))


OWN_WORLD = Path("world:repo")


def open_rules(path: Path) -> tuple[tuple[Rule, ...], Validity | None]:
    """Return the rules of a file, and an object that knows which of them held in a session (None: of a TOML file).

    `world:repo` stands for the rules of that world; each of its episodes has its own.

    Raises:
        SpecError, UsageError: See `read_rules`.
    """
    if path == OWN_WORLD:
        from adhere.rules.repo.rules import OfEpisodes, library, rules_of  # the world loads with it

        return rules_of(library()), OfEpisodes()
    return read_rules(path), None if path.suffix == ".toml" else Versions(path)


def read_rules(path: Path) -> tuple[Rule, ...]:
    """Read the rules of a TOML file, or compile those of a rule file.

    Raises:
        SpecError: The file cannot be read, or a check is invalid.
        UsageError: The file holds no rule.
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
    versions: Validity | None = None,
) -> Examination:
    """Hold the sessions of files, folders and runs against rules.

    Args:
        rules: The rules; those without a check get no verdict.
        paths: Where the sessions are.
        against: Where the sessions to compare with are; matched by task.
        repo: The repository on this machine, to look up what `make` and `npm` run; nothing in it is run.
        versions: Knows which rules held in a session; None: all held.

    Raises:
        UsageError, SpecError: See `read_sessions`.
    """
    own, other = _Set(), _Set()
    own.read(rules, paths, repo, versions)
    other.read(rules, against, repo, versions)
    way = way_of([own.tasks, other.tasks]) if other.infos else "request"
    return Examination(
        tuple(rules), own.named(way), tuple(own.verdicts), other.named(way), tuple(other.verdicts), way,
        versions is not None and versions.differ,
    )  # fmt: skip


class _Set:
    """Gathers what was found in one set of sessions: their infos, the names of their tasks, and the verdicts."""

    def __init__(self) -> None:
        self.infos: list[SessionInfo] = []
        self.tasks: list[TaskNames] = []
        self.verdicts: list[RuleVerdict] = []

    def read(self, rules: Sequence[Rule], paths: Iterable[Path], repo: Path | None, versions: Validity | None) -> None:
        """Judge the sessions at each path by `rules`, one after another, and add what is found."""
        for path, session in _each_once(paths):
            valid_rules = [rule for rule in rules if versions is None or not versions.absent(rule, session)]
            n_told = sum(rule.check is not None for rule in valid_rules)
            self.infos.append(msgspec.structs.replace(_info(session, versions), told=n_told))
            self.tasks.append(task_names(session, path))
            self.verdicts += judge_session(rules, session, repo=repo, versions=versions)

    def named(self, way: Way) -> tuple[SessionInfo, ...]:
        """Return the sessions' infos, with their tasks named in the way `way`."""
        pairs = zip(self.infos, self.tasks, strict=True)
        return tuple(msgspec.structs.replace(info, task=redact(getattr(task, way))) for info, task in pairs)


def _each_once(paths: Iterable[Path]) -> Iterator[tuple[Path, Session]]:
    """Yield every session with the path that it was found by; a path that is given twice counts once."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() not in seen:
            seen.add(path.resolve())
            yield from ((path, session) for session in read_sessions(path))


def judge_session(
    rules: Sequence[Rule], session: Session, *, repo: Path | None = None, versions: Validity | None = None
) -> list[RuleVerdict]:
    """Return the verdict on one session of each rule with a check.

    A rule that did not hold in the session is `untriggered`.
    """
    acts = acts_of(session, repo=repo)
    verdicts: list[RuleVerdict] = []
    for rule in rules:
        absent = versions.absent(rule, session) if versions is not None else ""
        if absent and rule.check is not None:
            verdicts.append(RuleVerdict(rule.id, session.name, "untriggered", absent))
        elif (verdict := judge_rule(rule, session, acts)) is not None:
            verdicts.append(verdict)
    return verdicts


def _info(session: Session, versions: Validity | None) -> SessionInfo:
    calls = sum(isinstance(event, Call) for event in session.events)
    replies = sum(not isinstance(event, Call) and event.who == "assistant" for event in session.events)
    source = versions.source(session) if versions is not None else "unknown"
    return SessionInfo(
        session.name, session.format, session.agent, session.version, session.model, session.started,
        redact(request_of(session)), calls, replies, len(session.gaps), session.cut, source, session.solved,
    )  # fmt: skip
