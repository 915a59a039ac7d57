"""Cut a rule file in Markdown into statements, each with its line and the files that it applies to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adhere.errors import SpecError
from adhere.rules.compile.events import is_path, pattern_of

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", ".cursorrules", "CONVENTIONS.md")
"""Names of rule files that are searched for in folders below."""
DEEPEST = 5
MOST_BYTES = 2_000_000
MOST_COMMANDS = 3
"""Most commands in a block of code below a sentence with a colon; a longer block is taken for an example."""
_IMPORT = re.compile(r"(?<![\w`@])@((?:~/|\.{0,2}/)?[\w./-]+\.(?:md|mdc|txt))\b")
_FENCE = re.compile(r"^\s*(```|~~~)")
_BULLET = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*$")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\"'])")
_SCOPE_HEADING = re.compile(r"(?:files? (?:in|under|matching)|for|in|under)\s+`([^`]+)`|^`([^`]+/?)`$", re.IGNORECASE)


class Statement(NamedTuple):
    """Holds one sentence or list item.

    Attributes:
        text: On one line, without list marks and emphasis; code keeps its backticks.
        file, line: Where it begins.
        heading: The heading of its section.
        scope: Patterns of files that its section or file is about; empty: all.
        lead: The sentence with a colon above its list; empty: none.
        behind: The sentence before it in the same item or paragraph; empty: none.
        code: The commands of the block of code below it, if it ends with a colon; empty: none.
    """

    text: str
    file: str
    line: int
    heading: str = ""
    scope: tuple[str, ...] = ()
    lead: str = ""
    behind: str = ""
    code: str = ""


def statements_of(path: Path, *, root: Path | None = None, with_nested: bool = True) -> Iterator[Statement]:
    """Yield every statement of a rule file, of files that it imports (`@` and a path), and of nested rule files.

    Args:
        path: The rule file.
        root: File names are shown relative to it; None: the file's own folder.
        with_nested: Whether to read rule files in folders below too; each applies to its own folder.

    Raises:
        SpecError: The file is absent, or is no UTF-8 text.
    """
    root = (root or path.parent).resolve()
    seen: set[Path] = set()
    yield from _of_file(path.resolve(), root, (), seen, 0)
    if with_nested and path.name in NAMES:
        for file in sorted(_below(path.parent.resolve())):
            if file.resolve() not in seen:
                folder = file.parent.resolve().relative_to(path.parent.resolve()).as_posix()
                yield from _of_file(file.resolve(), root, (f"{folder}/**",), seen, 0)


def _below(folder: Path) -> Iterator[Path]:
    """Yield the rule files in folders below, except hidden folders and those of packages and build output."""
    for child in sorted(folder.iterdir()):
        if (
            child.is_dir()
            and not child.is_symlink()
            and not child.name.startswith(".")
            and child.name not in {"node_modules", "vendor", "target", "dist", "build", "site-packages"}
        ):
            yield from (child / name for name in NAMES if (child / name).is_file())
            yield from _below(child)


def _of_file(path: Path, root: Path, scope: tuple[str, ...], seen: set[Path], deep: int) -> Iterator[Statement]:
    if path in seen or deep > DEEPEST:
        return
    seen.add(path)
    if path.is_dir():
        raise SpecError(f"{path}: a folder. Give a rule file, as {path.name}/AGENTS.md")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise SpecError(f"{path}: larger than {MOST_BYTES // 10**6} MB; a file of rules is not")
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise SpecError(f"{path}: no such file") from error
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    file = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    bare, offset, own = _front_matter(text)
    for statement in _of_text(bare, file, own or scope, offset=offset):
        yield statement
        for name in _IMPORT.findall(statement.text):
            target = (path.parent / name).resolve()
            if target.is_file() and (target.is_relative_to(root) or target.is_relative_to(path.parent)):
                yield from _of_file(target, root, scope, seen, deep + 1)


def _front_matter(text: str) -> tuple[str, int, tuple[str, ...]]:
    """Split off YAML front matter: return the text behind it, its number of lines, and the files that it names.

    Files are named by `globs`, `applyTo` or `paths`.
    """
    match = re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text, re.DOTALL)
    if match is None:
        return text, 0, ()
    globs = re.search(r"^(?:globs|applyTo|paths)\s*:\s*(.+(?:\n\s+-.+)*|(?:\n\s+-.+)+)", match[1], re.MULTILINE)
    scope = tuple(re.findall(r"[^\s,\[\]\"']+", re.sub(r"^\s+-", " ", globs[1], flags=re.MULTILINE))) if globs else ()
    return text[match.end() :], match[0].count("\n"), tuple(glob for glob in scope if glob not in {"**", "-"})


def _of_text(text: str, file: str, scope: tuple[str, ...], *, offset: int = 0) -> Iterator[Statement]:
    """Yield the statements of a text: items of lists with their continued lines, sentences of paragraphs."""
    heading, own = "", scope
    leads: list[tuple[int, str]] = []  # sentences with a colon, and how far they are indented
    block: list[tuple[int, str]] = []
    is_fenced = False
    lines = [*text.splitlines(), ""]
    for number, line in enumerate(lines, start=1 + offset):
        if _FENCE.match(line):
            is_fenced = not is_fenced
        is_text = not (is_fenced or _FENCE.match(line) or line.lstrip().startswith(("|", "<!--", ">")))
        title, bullet = _HEADING.match(line), _BULLET.match(line)
        if block and (title or bullet or not line.strip() or not is_text):
            code = _code_below(lines[number - 1 - offset :])
            yield from _of_block(block, leads, Statement("", file, 0, heading, own, code=code))
            block = []
        if title and is_text:
            heading, leads = _bare(title[1]), []
            scope_match = _SCOPE_HEADING.search(title[1])
            own = (
                (pattern_of(scope_match[1] or scope_match[2]),)
                if scope_match and is_path(scope_match[1] or scope_match[2])
                else scope
            )
        elif line.strip() and is_text:
            block.append((number, line if bullet else line.strip()))
        elif not is_fenced and line.lstrip().startswith("|"):
            yield from _of_table_row(line, Statement("", file, number, heading, own))


def _code_below(lines: list[str]) -> str:
    """Return the commands of a shell block that `lines` begin with, in backticks and joined.

    Empty if there is no such block, or it holds more than `MOST_COMMANDS` commands.
    """
    begin = next((place for place, line in enumerate(lines) if line.strip()), 0)
    opening = re.match(r"\s*(?:```|~~~)(?:bash|sh|shell|console|zsh)?\s*$", lines[begin])
    body = list(itertools.takewhile(lambda line: not _FENCE.match(line), lines[begin + 1 :])) if opening else []
    commands = [
        re.sub(r"\s#.*|^\$ ", "", line.strip()).strip()
        for line in body
        if line.strip() and not line.lstrip().startswith("#")
    ]
    link = " or " if any(re.search(r"#.*\bor\b", line, re.IGNORECASE) for line in body) else " and "
    return link.join(f"`{command}`" for command in commands) if len(commands) <= MOST_COMMANDS else ""


def _of_table_row(line: str, place: Statement) -> Iterator[Statement]:
    """Yield the sentences of a table row's last column; a ruler has none."""
    cells = [_bare(cell) for cell in line.strip().strip("|").split("|")]
    if cells and not set(cells[-1]) <= set(":- "):
        yield from (place._replace(text=text.strip()) for text in _SENTENCE.split(cells[-1]) if text.strip())


def _of_block(block: list[tuple[int, str]], leads: list[tuple[int, str]], place: Statement) -> Iterator[Statement]:
    """Yield the statements of an item or paragraph; one that ends in a colon becomes the lead of those below it."""
    first = block[0][1]
    bullet = _BULLET.match(first)
    depth = len(bullet[1].expandtabs(4)) if bullet else -1
    while leads and leads[-1][0] >= depth:
        leads.pop()
    lead = leads[-1][1] if leads and bullet else ""
    pieces = [_bare(_BULLET.sub("", text, count=1)) for _, text in block]
    paragraph, starts = "", []
    for piece in pieces:
        starts.append(len(paragraph))
        paragraph += f"{piece} "
    at, last = 0, ""
    for sentence in _SENTENCE.split(paragraph):
        if sentence.strip():
            at = paragraph.index(sentence, at)
            row = max(number for number, start in enumerate(starts) if start <= at)
            behind, last = last, sentence.strip()
            code = place.code if last.endswith(":") and at + len(last) >= len(paragraph.rstrip()) else ""
            yield place._replace(text=last, line=block[row][0], lead=lead, behind=behind, code=code)
            at += len(sentence)
    if last.endswith(":"):
        leads.append((depth, last))


def _bare(text: str) -> str:
    """Return a text on one line without emphasis and links; code keeps its backticks."""
    parts = re.split(r"(`+[^`]*`+)", text)
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", parts[place])
        parts[place] = re.sub(r"\*\*|__|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", parts[place])
    return " ".join("".join(parts).split())
