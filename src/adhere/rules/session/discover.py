"""Find the sessions of one repository where the tools keep them; no other folder is opened.

| tool | folder |
|---|---|
| Claude Code | `~/.claude/projects/`, the folder that is named for the repository |
| Codex | `~/.codex/sessions/` (`CODEX_HOME`), files whose first line names the repository as `cwd` |
| Gemini CLI | `~/.gemini/tmp/`, the folder that is named by the hash of the repository's path |
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path

_HEAD_BYTES = 1 << 16


def own_sessions(repo: Path) -> list[Path]:
    """Return the files of sessions that worked in `repo`, tool by tool."""
    home = Path.home()
    repo = repo.resolve()
    return [*_claude(home, repo), *_codex(home, repo), *_gemini(home, repo)]


def _claude(home: Path, repo: Path) -> list[Path]:
    folder = Path(os.environ.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "projects"
    return sorted((folder / re.sub(r"[^A-Za-z0-9]", "-", str(repo))).glob("*.jsonl"))


def _codex(home: Path, repo: Path) -> list[Path]:
    folder = Path(os.environ.get("CODEX_HOME") or home / ".codex") / "sessions"
    return [file for file in sorted(folder.rglob("rollout-*.jsonl")) if _names(file, repo)]


def _names(file: Path, repo: Path) -> bool:
    """Tell whether the first line of a rollout says that it began in the repository or in a folder below."""
    with file.open("rb") as source:
        line = source.readline(_HEAD_BYTES)
    match = re.search(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)*")', line)
    if match is None:
        return False
    try:
        cwd = Path(json.loads(match[1]))
    except ValueError:
        return False
    return cwd == repo or repo in cwd.parents


def _gemini(home: Path, repo: Path) -> list[Path]:
    mark = hashlib.sha256(str(repo).encode()).hexdigest()
    folder = home / ".gemini" / "tmp" / mark
    return sorted([*folder.glob("chats/session-*.json*"), *folder.glob("checkpoint*.json")])
