r"""Paths of a session as paths below the repository, and patterns of paths as gitignore writes them.

`C:\repo\src\main.go`, `/c/repo/src/main.go` and `src/main.go` are one path if the session began in `C:\repo`.
A path that leaves the repository stays absolute, so that no pattern of the repository matches it.
"""

from __future__ import annotations

import functools
import posixpath
import re

_DRIVE = re.compile(r"^([A-Za-z]):(?=/|$)")
_ELSEWHERE = ("/tmp/", "/var/", "/etc/", "/usr/", "/dev/", "/proc/", "/private/", "//")  # noqa: S108 - names, not opened
FLOATING = "//"
"""Prefix of a path whose repository is unknown: a pattern may match any end of the path."""
_MSYS = re.compile(r"^/([A-Za-z])(?=/)")


def plain_path(path: str) -> str:
    """Normalise a path: slashes for backslashes, the drive in lower case, `.` and `..` resolved."""
    path = path.strip().strip("\"'")
    if re.match(r"^([A-Za-z]:)?[^/]*\\", path):
        path = path.replace("\\", "/")
    path = _DRIVE.sub(lambda match: f"{match[1].lower()}:", path)
    return posixpath.normpath(path) if path else path


def below(path: str, *, cwd: str = "", root: str = "") -> str:
    """Return a path relative to `root`, or an absolute path if it lies elsewhere.

    Args:
        path: As it was logged.
        cwd: The folder that `path` is relative to; itself relative to `root` if it is not absolute.
        root: The folder in which the session began; empty: unknown.
    """
    root, path, cwd = plain_path(root), plain_path(path), plain_path(cwd)
    if not is_absolute(path):
        path = plain_path(f"{cwd}/{path}") if cwd else path
        if not is_absolute(path):
            if not path.startswith("../"):
                return path
            path = plain_path(f"{root}/{path}") if root else path
    drive = _DRIVE.match(root)
    if drive and (unix := _MSYS.match(path)) and unix[1].lower() == drive[1]:
        path = f"{drive[1]}:{path[2:]}"
    if not root and path.startswith("/") and not path.startswith(_ELSEWHERE):
        return f"/{path}"
    if root and (path == root or path.startswith(f"{root.rstrip('/')}/")):
        return path[len(root.rstrip("/")) + 1 :] or "."
    return path


def is_absolute(path: str) -> bool:
    """Tell whether a plain path is absolute."""
    return path.startswith(("/", "~")) or bool(_DRIVE.match(path))


@functools.lru_cache(maxsize=2048)
def _regex_of(pattern: str) -> re.Pattern[str]:
    pattern = plain_path(pattern) + ("/" if pattern.endswith("/") else "")
    is_anchored = "/" in pattern.rstrip("/")
    text = pattern.removeprefix("./").rstrip("/")
    out, place = [], 0
    while place < len(text):
        if text.startswith("**/", place):
            out.append("(?:[^/]+/)*")
            place += 3
        elif text.startswith("**", place):
            out.append(".*")
            place += 2
        elif text[place] == "*":
            out.append("[^/]*")
            place += 1
        elif text[place] == "?":
            out.append("[^/]")
            place += 1
        elif text[place] == "{" and "}" in text[place:]:
            end = text.index("}", place)
            out.append("(?:" + "|".join(map(re.escape, text[place + 1 : end].split(","))) + ")")
            place = end + 1
        else:
            out.append(re.escape(text[place]))
            place += 1
    begin = "" if is_anchored else "(?:.*/)?"
    return re.compile(f"{begin}{''.join(out)}(?:/.*)?", re.DOTALL)


def path_matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Tell whether one of the patterns matches a path below the repository.

    A pattern without a slash matches that name anywhere; a folder matches everything in it. A pattern with `!`
    excludes.
    """
    if path in {".", ""}:
        return "**" in patterns or "*" in patterns
    if path.startswith(FLOATING):
        ends = [path[place + 1 :] for place, char in enumerate(path) if char == "/" and place]
        inclusions = [glob for glob in patterns if not glob.startswith("!")]
        exclusions = [glob[1:] for glob in patterns if glob.startswith("!")]
        return _means(ends, inclusions) and not _means(ends, exclusions)
    outside = is_absolute(path) or path.startswith("../")
    inclusions = [glob for glob in patterns if not glob.startswith("!") and (not outside or is_absolute(glob))]
    exclusions = [glob[1:] for glob in patterns if glob.startswith("!")]
    return _means([path], inclusions) and not _means([path], exclusions)


def _means(paths: list[str], patterns: list[str]) -> bool:
    return any(_regex_of(glob).fullmatch(path) for glob in patterns for path in paths)


def may_match(path: str, patterns: tuple[str, ...], *, tree: bool) -> bool:
    """Tell whether a path that is not written out may stand for a path that the patterns match.

    Such a path has a glob or a variable in it, or with `tree` is a folder that stands for everything in it.
    """
    head = re.split(r"[$`*?\[{]", path, maxsplit=1)[0]
    if head == path and not tree:
        return False
    for glob in patterns:
        if glob.startswith("!"):
            continue
        fixed_head = re.split(r"[*?\[{]", plain_path(glob), maxsplit=1)[0].rstrip("/")
        if head == path:  # a folder, with all that is in it
            if "/" in glob.rstrip("/") and (path in {".", fixed_head} or fixed_head.startswith(f"{path}/")):
                return True
        elif fixed_head and (fixed_head.startswith(head) or head.startswith(fixed_head)) and "$" not in path:
            tail = re.split(r"[$`*?\[{\]}]", path)[-1]
            if not tail or "*" in glob or glob.endswith((tail, "/")):
                return True
    return False
