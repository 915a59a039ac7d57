"""Check texts: replies, written files, commit messages, names of branches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adhere.constraints.published.ifbench.english.emoji import is_emoji
from adhere.pipeline.judge import judge_text
from adhere.rules.checks.order import Occasion
from adhere.rules.checks.spec import Text
from adhere.rules.session.acts import Act
from adhere.rules.session.paths import path_matches
from adhere.schema import ConstraintRef
from adhere.text.markdown import bullets, code_blocks, headings, tables

_CONVENTIONAL = re.compile(r"^(?:feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(?:\([^)]+\))?!?: \S")
_SHAPES = {
    "conventional": (_CONVENTIONAL, "of the form `type(scope): text`"),
    "kebab": (re.compile(r"^[a-z0-9]+(?:-[a-z0-9]+)*$"), "in kebab-case"),
    "snake": (re.compile(r"^[a-z0-9]+(?:_[a-z0-9]+)*$"), "in snake_case"),
    "capital": (re.compile(r"^[^a-z]*[A-Z]"), "with a capital letter first"),
    "imperative-ending": (re.compile(r"[^.\s]\s*$"), "without a full stop at its end"),
    "ticket": (re.compile(r"#\d+|\b[A-Z][A-Z0-9]+-\d+\b"), "with the number of an issue"),
}
_PLAIN_SIGNS = frozenset("©®™↔↕↩↪▪▫▶◀◻◼#*‼⁉〰〽\u2139") | frozenset("0123456789")
_KINDS = {"commits": "commit", "pull_requests": "pull_request", "branches": "branch"}
_INDENTS = {"tabs": r"^\t.*", "spaces": r"^ {2,}(?![ *]).+"}
FEWEST_LETTERS = 20
"""Fewest letters of a text whose language is judged."""


class _Piece(NamedTuple):
    act: Act
    text: str | None
    is_whole: bool = True


def texts(check: Text, acts: Sequence[Act]) -> Iterator[Occasion]:
    """Yield an occasion for each text that a check is about; with `at` = final only for the last state of each file."""
    pieces = list(_pieces(check, acts))
    if check.of == "files" and check.at == "final":
        pieces = list({piece.act.path: piece for piece in pieces}.values())
    for act, text, is_whole in pieces:
        if text is None:
            yield Occasion(None, "the log does not show the text", (act,))
            continue
        if _is_too_short(check, text) or (check.use and not any(word in text for word in (*check.use, *check.without))):
            continue
        part = text.strip().split("\n", 1)[0] if check.first_line else text
        is_kept, reason = _judge(check, part, is_whole=is_whole)
        if act.ran:
            yield Occasion(is_kept, reason, (act,))
        elif not is_kept:  # it keeps to it, if it was made at all
            yield Occasion(None, f"{reason}, if it was made", (act,))


def _is_too_short(check: Text, text: str) -> bool:
    """Tell whether a text has too few letters to tell its language: `Done.` may be English or German."""
    is_about = check.constraint is not None and check.constraint.id.startswith("language:")
    return is_about and sum(map(str.isalpha, text)) < FEWEST_LETTERS


def _pieces(check: Text, acts: Sequence[Act]) -> Iterator[_Piece]:
    for act in acts:
        if act.ran is False:
            continue
        if check.of in {"replies", "final"}:
            if act.kind == "reply" and not act.agent and (check.of == "replies" or act.final):
                yield _Piece(act, act.text)
        elif check.of == "files":
            if act.kind == "edit" and act.how != "delete" and path_matches(act.path, check.paths):
                yield from _file(check, act)
        elif act.kind == _KINDS[check.of]:
            yield _Piece(act, act.text if act.sure else None)


def _file(check: Text, act: Act) -> Iterator[_Piece]:
    """Yield the text of an edited file: whole, or only what the edit adds where that is enough to judge."""
    if _needs_whole(check) or check.at == "final":
        yield _Piece(act, act.whole if act.ran else None)
    elif act.added is not None and act.ran:
        if act.added.strip():
            yield _Piece(act, act.added, is_whole=False)
    elif not check.without or any(word in (act.text or "") for word in check.without) or not _shows_all(act):
        yield _Piece(act, None)


def _shows_all(act: Act) -> bool:
    """Tell whether the text of a `sed`, `perl` or `python` command shows everything that it puts into a file."""
    return act.run is not None and act.run.words[:1] in {("sed",), ("perl",), ("python",)} and "-f" not in act.run.words


def _needs_whole(check: Text) -> bool:
    return bool(check.constraint or check.has or check.begins or check.ends or check.shape or check.most_lines)


def _judge(check: Text, text: str, *, is_whole: bool) -> tuple[bool | None, str]:
    """Return whether a text keeps to a check (None: undecided), and why."""
    reasons = list(_faults(check, text))
    if reasons:
        return False, reasons[0]
    if check.constraint is not None:
        outcome, reason = _finding(check.constraint, text)
        if outcome == "undecided":
            return None, reason
        return outcome == check.must, reason
    return True, "the text keeps to it" if is_whole else "what was added keeps to it"


def _finding(constraint: ConstraintRef, text: str) -> tuple[str, str]:
    """Return the outcome and the reason of one verifier, in strict mode."""
    verdict = judge_text(text, [constraint], ("strict",))[0]
    return verdict.outcome, verdict.reason


def _faults(check: Text, text: str) -> Iterator[str]:
    for word in check.without:
        if _occurs(word, text, words=check.words, is_code=check.of == "files"):
            yield f"{word!r} stands in it"
    if check.has and not _occurs(check.has, text, words=check.words, is_code=check.of == "files"):
        yield f"{check.has!r} is not in it"
    bare = text.strip()
    if check.begins and not bare.lower().startswith(tuple(opening.lower() for opening in check.begins)):
        yield f"it begins with {bare[:30]!r}, not with {' or '.join(map(repr, check.begins[:3]))}"
    if check.ends and not bare.lower().endswith(tuple(ending.lower() for ending in check.ends)):
        yield f"it ends with {bare[-30:]!r}, not with {' or '.join(map(repr, check.ends[:3]))}"
    if check.shape:
        pattern, words = _SHAPES[check.shape]
        last = bare.rpartition("/")[2] if check.of == "branches" else bare
        if not pattern.search(last):
            yield f"{last[:60]!r} is not {words}"
    for feature in check.no:
        yield from _faults_of(feature, text)
    if check.longest_line is not None and (
        long := [line for line in text.splitlines() if len(line) > check.longest_line]
    ):
        yield f"a line of {len(long[0])} characters, allowed {check.longest_line}"
    if check.most_lines is not None and (n := len(text.rstrip("\n").splitlines())) > check.most_lines:
        yield f"{n} lines, allowed {check.most_lines}"


def _faults_of(feature: str, text: str) -> Iterator[str]:
    if feature == "emoji":
        sign = next((char for char in text if ord(char) > 0xA8 and char not in _PLAIN_SIGNS and is_emoji(char)), None)
        if sign is not None:
            yield f"the emoji {sign} stands in it"
    elif feature == "headings" and (titles := headings(text)):
        yield f"a heading stands in it: {str(titles[0])[:60]}"
    elif feature == "tables" and tables(text):
        yield "a table stands in it"
    elif feature == "bullets" and bullets(text):
        yield "bullet points stand in it"
    elif feature == "code" and code_blocks(text):
        yield "a block of code stands in it"
    elif feature in _INDENTS and (line := re.search(_INDENTS[feature], text, re.MULTILINE)):
        yield f"a line begins with {feature}: {line[0].strip()[:60]}"
    elif feature == "untyped" and _is_untyped(text):
        yield "a function has a parameter or a result without a type"


def _is_untyped(text: str) -> bool:
    """Tell whether a Python function in the text has a parameter or a result without a type."""
    for match in re.finditer(r"^[ \t]*(?:async )?def \w+\(([^()]*)\)\s*(->)?", text, re.MULTILINE):
        names = [parameter.strip() for parameter in re.sub(r"\[[^\]]*\]", "", match[1]).split(",")]
        if not match[2] or any(":" not in name for name in names if name and name not in {"self", "cls", "*", "/"}):
            return True
    return False


def _occurs(piece: str, text: str, *, words: bool, is_code: bool) -> bool:
    if not words:
        return piece in text
    if is_code:
        if re.fullmatch("[a-z]+", piece):  # a word, which comments and texts may hold
            text = re.sub(r"(?:#|//|^\s*\*).*|\"[^\"\n]*\"|'[^'\n]*'", "", text, flags=re.MULTILINE)
        before, behind = r"(?<!\w)" * piece[:1].isalnum(), r"(?!\w)" * piece[-1:].isalnum()
        return re.search(f"{before}{re.escape(piece)}{behind}", text) is not None
    return re.search(rf"(?<!\w){re.escape(piece.lower())}(?!\w)", text.lower().replace("’", "'")) is not None
