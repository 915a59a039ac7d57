"""Held-out family: Markdown that an answer is built of: tables, code, headings, lists. Never trained on.

`adhere.text.markdown` defines these pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from adhere.constraints.base import Choice, Constraint, Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.held_out.markdown_lists import Markdown
from adhere.constraints.kinds.shared import edits
from adhere.constraints.rule import accept, at_least, decide, exactly, plural, quoted_list, reject, topic_word
from adhere.text.markdown import code_blocks, headings, tables
from adhere.text.parts import BULLET_MARK
from adhere.text.words import has_words, lines

_SHAPE = frozenset({"shape", "wrap"})
_HEADERS = (
    ("Point", "Detail"), ("Name", "Meaning"), ("Question", "Answer"), ("Step", "Action", "Result"),
    ("Item", "Use", "Note"), ("Idea", "Example"),
)  # fmt: skip
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]{1,200})`(?!`)")
_LINK = re.compile(r'(?<!!)\[([^\[\]\n]{1,200})\]\((https?://[^\s()]{1,300})(?:[ \t]+"[^"\n]{0,200}")?\)')


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(header), _row(["---"] * len(header)), *map(_row, rows)])


@kind
class Table(Markdown):
    r"""One table of `columns` columns and `rows` rows below the header.

    "|A|B|\n|-|-|\n|cats|dogs|" passes with (2, 1).
    """

    id = "markdown:table"
    version = 3
    claims = _SHAPE | {"start", "end"}
    order = 55
    phrasings = (
        "Answer with one Markdown table of {columns} columns and {rows} (the header not counted).",
        "Your answer must contain exactly one Markdown table; it has {columns} columns and, below the header, {rows}.",
        "Put your answer into a table in Markdown: {columns} columns, {rows} plus a header row.",
        "Write a single table with | and ---; give it {columns} columns and {rows} of content.",
        "I need a Markdown table, {columns} columns wide and {rows} long without its header.",
    )
    passing = ({"columns": 2, "rows": 1}, "|A|B|\n|-|-|\n|cats|dogs|")
    failing = ({"columns": 2, "rows": 1}, "|A|B|\n|cats|dogs|")

    columns: int = param(Whole(1, 30), drawn=(2, 2, 3))
    rows: int = param(Whole(1, 200), drawn=(2, 3), noun="row")

    def judge(self, text: str) -> Finding:
        every = tables(text)
        if len(every) != 1:
            return reject(f"found {plural(len(every), 'table')}, needed exactly 1", measured=len(every), score=0)
        table = every[0]
        widths = [len(table.header), *map(len, table.rows)]
        odd = next((width for width in widths if width != self.columns), None)
        if odd is not None:
            reason = f"found a row of {plural(odd, 'cell')}, needed {self.columns} in each"
            return reject(reason, measured=odd, needed=self.columns, score=0.5)
        return exactly(sum(has_words("".join(row)) for row in table.rows), self.rows, "row")

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [piece.replace("|", "/") for piece in edits.split_into(text, self.rows) or ()]
        header = ["Part", "Content", "Note", "Source"][: self.columns]
        rest = ["–"] * (self.columns - 2)
        if 1 < self.columns <= 4:
            yield _table(header, [[str(number), piece, *rest] for number, piece in enumerate(pieces, start=1)])

    def witness(self) -> str:
        return _table(["Cats"] * self.columns, [["sleep"] * self.columns] * self.rows)

    def literals(self) -> tuple[str, ...]:
        return ("|",)

    def fewest_words(self) -> int:
        return self.columns * (self.rows + 1)


@kind
class TableHeader(Markdown):
    r"""A table whose header is `header`, with at least one row. With ("A", "B"): "|A|B|\n|-|-|\n|cats|dogs|" passes."""

    id = "markdown:table_header"
    version = 2
    claims = _SHAPE | {"start", "end", "case"}
    order = 55
    phrasings = (
        "Include a Markdown table with the column headers {header}, in this order.",
        "Your answer must contain a table in Markdown whose header row reads {header}.",
        "Use a Markdown table and call its columns {header}.",
        "Put what you say into a table with the columns {header} and at least one row of content.",
        "There has to be a Markdown table; the cells of its first row are {header}.",
    )
    passing = ({"header": ("A", "B")}, "|A|B|\n|-|-|\n|cats|dogs|")
    failing = ({"header": ("A", "B")}, "|B|A|\n|-|-|\n|cats|dogs|")

    header: tuple[str, ...] = param(ListOf(Words(60), 2, 10), drawn=_HEADERS)

    def problem(self) -> str | None:
        wrong = next((cell for cell in self.header if "|" in cell), None)
        return wrong and f"header: {wrong!r} must not hold |"

    def wording(self) -> dict[str, Any]:
        return {"header": quoted_list(self.header)}

    def judge(self, text: str) -> Finding:
        every = tables(text)
        if not every:
            return reject("found no Markdown table", score=0)
        for table in every:
            if tuple(cell.strip("*_` ") for cell in table.header) == self.header:
                has_content = any(has_words(cell) for row in table.rows for cell in row)
                return decide(
                    has_content, f"found the table{'' if has_content else ', but it has no row of content'}", score=0.75
                )
        header = " | ".join(every[0].header)[:80]
        return reject(f"the header of the table is {header!r}, needed {' | '.join(self.header)!r}", score=0.5)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = [piece.replace("|", "/") for piece in edits.split_into(text, len(self.header)) or ()]
        yield _table(self.header, [pieces])

    def witness(self) -> str:
        return _table(self.header, [["cats"] * len(self.header)])

    def literals(self) -> tuple[str, ...]:
        return (*self.header, "|")

    def fewest_words(self) -> int:
        return 2 * len(self.header)


@kind
class CodeLanguage(Markdown):
    r"""A fenced code block that names `language`.

    With "python": "```python\nrun()\n```" passes, "```\nrun()\n```" fails.
    """

    id = "markdown:code_language"
    version = 2
    claims = frozenset({"code"})
    order = 68
    phrasings = (
        "Include a fenced code block that is marked as {language}.",
        "Your answer must contain a code block that opens with ```{language} and is closed again.",
        "Put something into a Markdown code fence with the language tag {language}.",
        "Use triple backticks with {language} behind them, some content, and triple backticks to close.",
        "There has to be a closed code fence whose language is given as {language}.",
    )
    passing = ({"language": "python"}, "```python\nrun()\n```")
    failing = ({"language": "python"}, "```\nrun()\n```")
    right_text = "```{language}\ncats\n```"

    language: str = param(
        Choice(("python", "json", "bash", "text", "sql", "html", "yaml", "javascript")),
        drawn=("text", "text", "python", "bash", "yaml"),
    )

    def judge(self, text: str) -> Finding:
        blocks = code_blocks(text)
        if any(block.language == self.language and has_words(block.body) for block in blocks):
            return accept(f"found a code block marked as {self.language}")
        languages = ", ".join(block.language or "none" for block in blocks[:5])
        reason = f"found {plural(len(blocks), 'code block')}{f' (languages: {languages[:80]})' if blocks else ''}"
        return reject(f"{reason}, needed one marked as {self.language} that is not empty", score=0.5 if blocks else 0)

    def repairs(self, text: str) -> Iterator[str]:
        if self.language == "text":
            yield f"```text\n{text.strip()}\n```"


@kind
class CodeBlocks(Markdown):
    r"""Exactly `count` fenced code blocks. With 1: "```\ncats\n```" passes, "cats" fails."""

    id = "markdown:code_blocks"
    version = 2
    claims = frozenset({"code"})
    order = 68
    phrasings = (
        "Use exactly {code_blocks} fenced with triple backticks.",
        "Your answer must contain {code_blocks} in Markdown, no more and no fewer.",
        "Put parts of your answer between ``` and ```: I want to see {code_blocks}.",
        "There have to be precisely {code_blocks} (```) in your answer, each of them closed.",
        "The number of fenced code blocks in your answer has to be {count}.",
    )
    passing = ({"count": 1}, "```\ncats\n```")
    failing = ({"count": 1}, "cats")

    count: int = param(Whole(1, 100), drawn=(1, 1, 2), noun="code block")

    def judge(self, text: str) -> Finding:
        return exactly(sum(has_words(block.body) for block in code_blocks(text)), self.count, "code block")

    def repairs(self, text: str) -> Iterator[str]:
        if not code_blocks(text):
            yield "\n\n".join(f"```\n{piece}\n```" for piece in edits.split_into(text, self.count) or ())

    def witness(self) -> str:
        return "\n\n".join(["```\ncats\n```"] * self.count)


@kind
class Outline(Markdown):
    r"""One level-1 heading first, then exactly `count` level-2 headings.

    With 1: "# Cats\n## Sleep\nThey do." passes.
    """

    id = "markdown:outline"
    version = 2
    claims = frozenset({"shape", "title", "headings", "start"})
    order = 69
    phrasings = (
        'Give your answer one main heading ("# …") and exactly {count} second-level heading(s) ("## …") below it.',
        (
            "Your answer must have a level-1 Markdown heading first and then {count} level-2 heading(s), "
            "and no other headings."
        ),
        "Structure the answer with # for its title and ## for each of its {count} section(s).",
        "Use one # heading followed by {count} ## heading(s); headings of other levels are not allowed.",
        "Outline of the answer: a single heading with one #, then {count} with two.",
    )
    passing = ({"count": 1}, "# Cats\n## Sleep\nThey do.")
    failing = ({"count": 1}, "## Sleep\nThey do.")

    count: int = param(Whole(1, 50), drawn=(1, 2, 2))

    def judge(self, text: str) -> Finding:
        levels = [heading.level for heading in headings(text)]
        expected = [1, *[2] * self.count]
        level_list = ", ".join(map(str, levels[:10])) or "none"
        reason = (
            f"found headings of the levels {level_list}, needed 1 and then {plural(self.count, 'heading')} of level 2"
        )
        right = sum(level == expected_level for level, expected_level in zip(levels, expected, strict=False))
        return decide(levels == expected, reason, measured=levels[:50], score=right / max(len(levels), len(expected)))

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, self.count) or []
        sections = [f"## {edits.capitalise(edits.key_word(piece))}\n\n{piece}" for piece in pieces]
        yield "\n\n".join([f"# {edits.capitalise(edits.key_word(text))}", *sections])

    def witness(self) -> str:
        return "\n".join(["# Cats", *["## Sleep\nThey do."] * self.count])

    def fewest_words(self) -> int:
        return 1 + 4 * self.count


@kind
class HeadingTexts(Markdown):
    r"""The Markdown headings are exactly `titles`, in order. With ("A", "B"): "## A\nCats.\n## B\nDogs." passes."""

    id = "markdown:heading_texts"
    version = 2
    claims = frozenset({"shape", "title", "headings", "start"})
    order = 69
    phrasings = (
        "Use Markdown headings (#) with exactly these titles, in this order: {titles}.",
        "Your answer must be divided by the Markdown headings {titles} and by no others.",
        "Write one section under each of the headings {titles}, marked with # or ##.",
        "The headings of your answer, each with # in front, have to be {titles}, one after the other.",
        "Let {titles} be the headings, in Markdown; leave out none and add none.",
    )
    passing = ({"titles": ("A", "B")}, "## A\nCats.\n## B\nDogs.")
    failing = ({"titles": ("A", "B")}, "A\nCats.\nB\nDogs.")

    titles: tuple[str, ...] = param(
        ListOf(Words(60), 1, 10),
        drawn=(("Answer", "Reason"), ("Summary", "Details"), ("Facts", "Advice"), ("Short answer",)),
    )

    def problem(self) -> str | None:
        wrong = next((title for title in self.titles if not has_words(title) or title.strip("#*_ ") != title), None)
        return wrong and f"titles: {wrong!r} must hold a letter or digit and no marks at its ends"

    def wording(self) -> dict[str, Any]:
        return {"titles": quoted_list(self.titles)}

    def judge(self, text: str) -> Finding:
        titles = [heading.text.rstrip(":").casefold() for heading in headings(text)]
        expected = [title.casefold().rstrip(":") for title in self.titles]
        right = sum(title == expected_title for title, expected_title in zip(titles, expected, strict=False))
        title_list = quoted_list([title[:40] for title in titles[:6]]) if titles else "none"
        reason = f"found the headings {title_list}, needed {quoted_list(self.titles)}"
        return decide(
            titles == expected,
            reason,
            measured=right,
            needed=len(expected),
            score=right / max(len(titles), len(expected)),
        )

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, len(self.titles)) or []
        yield "\n\n".join(f"## {title}\n\n{piece}" for title, piece in zip(self.titles, pieces, strict=False))

    def witness(self) -> str:
        return "\n".join(f"# {title}\nCats sleep." for title in self.titles)

    def literals(self) -> tuple[str, ...]:
        return self.titles

    def fewest_words(self) -> int:
        return 4 * len(self.titles)


@kind
class Links(Markdown):
    """At least `count` Markdown links. With 1: "See [cats](https://example.com/cats)." passes, "See cats." fails."""

    id = "markdown:links"
    version = 3
    order = 68
    phrasings = (
        "Include at least {links} in Markdown, such as [text](https://example.com).",
        "Your answer must contain {count} or more links of the form [text](https://…).",
        "Link to something: no fewer than {links}, written in Markdown with a full address.",
        "Use Markdown syntax for {links} or more; each needs a text and an https address.",
        "I expect to find {links} at the very least, with square brackets and a URL in round ones.",
    )
    passing = ({"count": 1}, "See [cats](https://example.com/cats).")
    failing = ({"count": 1}, "See cats.")

    count: int = param(Whole(1, 100), drawn=(1, 1, 2), noun="link")

    def judge(self, text: str) -> Finding:
        hits = [hit.span() for hit in _LINK.finditer(text) if has_words(hit[1])]
        return at_least(len(hits), self.count, "link", span=hits[0] if hits else None)

    def witness(self) -> str:
        return " ".join(["[Cats](https://example.com)"] * self.count)

    def literals(self) -> tuple[str, ...]:
        return ("](http", ".")


@kind
class InlineCode(Markdown):
    """`word` stands between backticks. With "cat": "Use `cat` here." passes, "Use cat here." fails."""

    id = "markdown:inline_code"
    version = 2
    order = 68
    phrasings = (
        'Write the word "{word}" in inline code, between single backticks.',
        'Your answer must contain "{word}" set as code with a backtick on either side.',
        'Mention "{word}" and mark it up with backticks, as if it were a name in a program.',
        'Use Markdown inline code for the term "{word}" at least one time.',
        'Somewhere, "{word}" has to stand alone between a pair of backticks.',
    )
    passing = ({"word": "cat"}, "Use `cat` here.")
    failing = ({"word": "cat"}, "Use cat here.")
    right_text = "Use `{word}`."

    word: str = param(Words(60), drawn=topic_word)

    def problem(self) -> str | None:
        return (
            None
            if has_words(self.word) and "`" not in self.word
            else f"word={self.word!r} must hold a letter and no backtick"
        )

    def judge(self, text: str) -> Finding:
        word = self.word.casefold()
        hits = [hit for hit in _INLINE_CODE.finditer(text) if hit[1].strip().casefold() == word]
        if hits:
            return accept(f"found `{self.word}`", span=hits[0].span())
        return reject(f"found no `{self.word}` between backticks", needed=self.word)

    def repairs(self, text: str) -> Iterator[str]:
        yield re.sub(
            rf"(?<![\w`]){re.escape(self.word)}(?![\w`])",
            lambda hit: f"`{hit.group()}`",
            text,
            count=1,
            flags=re.IGNORECASE,
        )
        yield edits.add_clause(text, f" (keyword: `{self.word}`)")

    def literals(self) -> tuple[str, ...]:
        return (self.word,)


_MARKUP = (
    ("a heading", re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)),
    ("a bullet", re.compile(rf"^{BULLET_MARK}(?=\S)", re.MULTILINE)),
    ("a numbered line", re.compile(r"^[ \t]*+\d{1,3}[.)][ \t]++(?=\S)", re.MULTILINE)),
    ("a block quote", re.compile(r"^ {0,3}>", re.MULTILINE)),
    ("a table row", re.compile(r"^[ \t]*+\|", re.MULTILINE)),
    ("emphasis", re.compile(r"(?<![*\w])\*{1,3}[^\s*][^*\n]{0,200}\*|(?<![_\w])_{1,3}[^\s_][^_\n]{0,200}_(?!\w)")),
    ("code", re.compile(r"`")),
    ("a link or a picture", re.compile(r"\[[^\[\]\n]{0,200}\]\([^\s()]{1,300}")),
    ("text that is struck out", re.compile(r"~~[^\s~]")),
    ("a rule", re.compile(r"^ {0,3}(?:(?:-[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+)$", re.MULTILINE)),
)


@kind
class Plain(Markdown):
    """No Markdown: no headings, lists, quotes, tables, emphasis, code, links, pictures or rules.

    "Cats sleep." passes, "*Cats* sleep." fails.
    """

    id = "markdown:plain"
    version = 3
    claims = frozenset({"code", "headings"})
    order = 50
    phrasings = (
        "Write plain text without any Markdown.",
        "Do not use Markdown: no headings, lists, tables, bold or italic text, code or links.",
        "Your answer must be free of markup; prose only.",
        "No formatting, please: neither bullets nor numbering, nor asterisks for emphasis, nor headings.",
        "The answer will be read aloud, so it must not hold a single piece of Markdown.",
    )
    passing = ({}, "Cats sleep.")
    failing = ({}, "*Cats* sleep.")

    def judge(self, text: str) -> Finding:
        for name, pattern in _MARKUP:
            if hit := pattern.search(text):
                return reject(f"found {name}: {hit.group().strip()[:40]!r}", span=hit.span())
        return accept("found no Markdown")

    def repairs(self, text: str) -> Iterator[str]:
        bare = re.sub(r"[*`_|]", "", "\n".join(re.sub(r"\A[ \t>#]+", "", line) for line in lines(text)))
        yield bare
        yield edits.plain(bare)

    def rules_out(self, literal: str) -> bool:
        return any(mark in literal for mark in "`|*")

    def conflicts_with(self, other: Constraint) -> bool:
        lists = {
            "structure:bullets",
            "structure:numbered",
            "counting:bullet_words",
            "format:highlights",
            "format:sections",
        }
        return super().conflicts_with(other) or other.family() == self.family() or other.id in lists
