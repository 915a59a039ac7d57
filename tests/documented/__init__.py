"""What is written runs: every command of README, tutorials, guides and notebooks, and how each is tried.

`commands.toml` has what is not plain: a page's preparations, words that stand for a reader's own, and commands that are
not run as they stand. A command that nothing says anything of is run.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "guide").glob("*.md")),
]
_PROGRAMS = "adhere|pip|make|python|torchrun|vllm|inspect|lm_eval|evalscope|curl"
_COMMAND = re.compile(rf"(?:[A-Z_]+=\S+ )*(?:{_PROGRAMS})(?= |$)")
_LINE = re.compile(r"export |source |cp ")  # a shell's own, run with the others and not counted
_SAVED = re.compile(
    r"`([\w-]+\.(?:md|toml|jsonl|py))`[^`\n]*(?:`[^`\n]*`[^`\n]*)*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

Class = Literal["run", "plan", "key"]


class Command(NamedTuple):
    """One command of a page.

    Attributes:
        page: Its path below the repository.
        text: As written, on one line, without its comment.
        shown: The block that stands below it as what it prints; empty: none does.
        counts: Whether it is a command of ours or of another program, and no line of the shell's own.
    """

    page: str
    text: str
    shown: str
    counts: bool


class How(NamedTuple):
    """How a command is tried.

    Attributes:
        kind: `run` as it is written; `plan`: with `--plan` or `--dry-run`, because it takes hours; `key`: against a fake
            in place of the provider.
        instead: What is run in its place; empty: the command, with the page's words and `adds`.
        adds: Options that make it smaller, or a plan.
        then: What a page says in words after it.
        elsewhere: The test that runs it.
        code: What it ends with.
        compare: `exact`: prints the block below it; `shape`: the same but for numbers, which the processor decides; `no`.
    """

    kind: Class = "run"
    instead: str = ""
    adds: str = ""
    then: str = ""
    elsewhere: str = ""
    code: int = 0
    compare: Literal["exact", "shape", "no"] = "exact"


class Page(NamedTuple):
    """How a page is tried.

    Attributes:
        before: What is done first, in a shell.
        words: Text of its commands -> what stands in its place.
        background: A server that runs meanwhile.
        is_quick: Whether it runs with the default tests.
        needs: `data` where published files are read, `model` for the embedded one.
    """

    before: str = ""
    words: dict[str, str] = {}
    background: str = ""
    is_quick: bool = False
    needs: tuple[str, ...] = ()


def _read() -> tuple[dict[str, Page], list[tuple[str, str, How]]]:
    table = tomllib.loads((Path(__file__).parent / "commands.toml").read_text(encoding="utf-8"))
    pages, hows = {}, []
    for name, said in table.items():
        rows = said.pop("command", [])
        said["needs"] = tuple(said.get("needs", ()))
        pages[name] = Page(**said)
        hows += [(name, row.pop("begins"), How(**row)) for row in rows]
    return pages, hows


TRIED, EXCEPTIONS = _read()


def saved_files(page: str) -> dict[str, str]:
    """Files that a page tells its reader to save, by name."""
    return dict(_SAVED.findall((ROOT / page).read_text(encoding="utf-8")))


def commands(path: Path) -> list[Command]:
    """All commands of a page, in order."""
    page = str(path.relative_to(ROOT))
    blocks = list(_blocks(path.read_text(encoding="utf-8")))
    found = []
    for at, (language, lines) in enumerate(blocks):
        if language not in {"", "text", "bash"}:
            continue
        after = blocks[at + 1] if at + 1 < len(blocks) else ("", [])
        own = [_parts(line.removeprefix("$ ")) for line in lines]
        is_session = any(line.startswith("$ ") for line in lines)
        rest = [line for line, parts in zip(lines, own, strict=True) if not parts] if is_session else []
        shown = "\n".join(rest or (after[1] if after[0] == "text" and not any(map(_parts, after[1])) else []))
        texts = [(text, counts) for parts in own for text, counts in parts]
        found += [Command(page, text, shown if text == texts[-1][0] else "", counts) for text, counts in texts]
    return found


def how(command: Command) -> How:
    """How one is tried; what is said of several holds for the longest beginning."""
    said = [
        (begins, one) for page, begins, one in EXCEPTIONS if page == command.page and command.text.startswith(begins)
    ]
    return max(said, key=lambda row: len(row[0]))[1] if said else How()


def script(command: Command) -> str:
    """What is run for a command."""
    said = how(command)
    text = said.instead or f"{_smallest(command.text)} {said.adds}".strip()
    for word, stands_for in TRIED.get(command.page, Page()).words.items():
        text = text.replace(word, stands_for)
    return text


def _smallest(synopsis: str) -> str:
    """A synopsis without what may be left out, and with the first of alternatives."""
    while (shorter := re.sub(r" \[[^\[\]]*\]", "", synopsis)) != synopsis:
        synopsis = shorter
    shorter = re.sub(r"(?<=[A-Za-z}\]])(?:…|\.\.\.)(?=[^=\w]|$)", "", synopsis)
    return re.sub(r"(?<= )(\w+)\|[\w|-]+", r"\1", shorter)


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """(language, lines) of fenced blocks and of those that are indented by four columns, continued lines joined."""
    fence, language, lines, indented = "", "", list[str](), list[str]()
    for line in text.replace("\\\n", " ").splitlines():
        if fence:
            if line == fence:
                yield language, lines
                fence, lines = "", []
            else:
                lines.append(line)
            continue
        if line.startswith("    ") and not line.lstrip().startswith(("-", "|")):
            indented.append(line.removeprefix("    "))
            continue
        if indented:
            yield "", indented
            indented = []
        if opened := re.match(r"(`{3,})([^`]*)$", line):
            fence, language = opened[1], opened[2].strip()


def _parts(line: str) -> list[tuple[str, bool]]:
    """The commands of a line, each with whether it counts; none where it is no command."""
    found = []
    for part in re.split(r"\s{3,}", line.strip()):
        text = re.split(r"\s+#\s?", part)[0].strip() if not part.startswith("#") else ""
        text = re.sub(r" +", " ", text).removesuffix(" &")
        if _COMMAND.match(text) and not re.match(r"lm-eval's", text):
            found.append((text, True))
        elif not found and _LINE.match(text):
            found.append((text, False))
        elif found and text.startswith("--"):
            found[-1] = (f"{found[-1][0]} {text}", True)
    return found


def words_of(text: str) -> list[str]:
    """A command's words, as a shell reads them."""
    return shlex.split(text)
