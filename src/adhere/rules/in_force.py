"""Tell which rules held when a session ran: by git, or by the rule file that the session read; else unknown.

Git is asked for texts only (`log`, `cat-file`), never to run a filter or a hook of the repository.
"""

from __future__ import annotations

import functools
import re
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Protocol

from adhere.rules.checks.spec import Rule
from adhere.rules.session.acts import command_of
from adhere.rules.session.model import Call, Session

_TIMEOUT_S = 20


class Validity(Protocol):
    """Knows which rules held in a session.

    Attributes:
        differ: Whether sessions have rules of their own; then two rules need not hold together.
    """

    differ: bool

    def absent(self, rule: Rule, session: Session) -> str:
        """Say why a rule did not hold in a session; empty: it held, or this is unknown."""

    def source(self, session: Session) -> str:
        """Say how the rules of a session are known: `session`, `git` or `unknown`."""


class Versions:
    """Knows the versions of a rule file.

    Args:
        path: The file; its versions are those in its git repository.
    """

    differ = False

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._name = path.name

    def absent(self, rule: Rule, session: Session) -> str:
        text = self._told(session)
        text = text if text is not None else self._by_git(session)
        if text is None or not rule.quote or _bare(rule.quote) in _bare(text):
            return ""
        if rule.file and Path(rule.file).name != self._name:
            return ""  # imported from elsewhere
        return f"it was not in {self._name} when the session began"

    def source(self, session: Session) -> str:
        if self._told(session) is not None:
            return "session"
        return "git" if self._by_git(session) is not None else "unknown"

    def _told(self, session: Session) -> str | None:
        """Return the rule file as the session read it whole; None if the log does not show that it did."""
        for call in session.events:
            if isinstance(call, Call) and call.result and len(call.result) < 3900 and call.state in {"done", "unknown"}:
                text = str(
                    call.arguments.get("file_path") or call.arguments.get("path") or command_of(call.arguments)[0]
                )
                is_read = re.fullmatch(rf"(?:cat )?(?:\S*[/\\])?{re.escape(self._name)}", text.strip())
                if is_read and "offset" not in call.arguments and "limit" not in call.arguments:
                    return re.sub(r"^\s*\d+[→\t]", "", call.result, flags=re.MULTILINE)
        return None

    def _by_git(self, session: Session) -> str | None:
        moment = _moment(session.started)
        return None if moment is None else self._at(int(moment.timestamp()) // 60)

    @functools.cached_property
    def _commits(self) -> list[tuple[int, str]]:
        """The changes of the file as (Unix time in seconds, commit), newest first."""
        out = self._git("log", "--format=%ct %H", "--", self._name)
        rows = [line.split() for line in (out or "").splitlines()]
        return [(int(seconds), commit) for seconds, commit in rows]

    @functools.lru_cache(maxsize=256)  # noqa: B019 - one object a run
    def _at(self, minute: int) -> str | None:
        commit = next((commit for seconds, commit in self._commits if seconds <= minute * 60 + 59), None)
        return None if commit is None else self._git("cat-file", "blob", f"{commit}:./{self._name}")

    def _git(self, *words: str) -> str | None:
        command = ["git", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "--no-pager", *words]
        try:
            done = subprocess.run(  # noqa: S603 - our own words
                command, cwd=self._path.parent, capture_output=True, timeout=_TIMEOUT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None  # no git here: which version held is unknown
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def _moment(text: str) -> datetime | None:
    try:
        if text.isdigit():  # OpenTelemetry's nanoseconds
            return datetime.fromtimestamp(int(text) / 1e9).astimezone()
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo is not None else moment.astimezone()


def _bare(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()
