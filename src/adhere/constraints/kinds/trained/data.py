"""Train family: answers that a program reads whole, as JSON, CSV, XML or key-value lines.

The whole answer must be the data. Text or a code fence around the data fails, because a program would stop at either.
"""

from __future__ import annotations

import csv
import io
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any, Self
from xml.sax.saxutils import escape

from adhere.constraints.base import Finding, ListOf, Whole, Words, kind, param
from adhere.constraints.kinds.shared import edits
from adhere.constraints.kinds.trained.data_json import KEYS, Data
from adhere.constraints.rule import accept, exactly, plural, quoted_list, reject
from adhere.text.words import has_words, lines


@kind
class Csv(Data):
    r"""CSV with the row `header` and `rows` rows below it.

    With (("a", "b"), 1): "a,b\ncats,dogs" passes, "a,b\ncats" fails.
    """

    id = "data:csv"
    version = 3
    phrasings = (
        "Answer as CSV (comma-separated): a header with the columns {header}, then exactly {rows}, and nothing else.",
        "Your whole answer must be a CSV file with the columns {header} and {rows} below the header.",
        "Write CSV: the first line names the columns {header}; {rows} of values follow, one per line.",
        "Give a comma-separated table of {rows} plus a header line with {header}; quote a field that holds a comma.",
        "A spreadsheet will open your answer: CSV, header {header}, {rows}, no text before or after.",
    )
    passing = ({"header": ("a", "b"), "rows": 1}, "a,b\ncats,dogs")
    failing = ({"header": ("a", "b"), "rows": 1}, "a,b\ncats")

    header: tuple[str, ...] = param(ListOf(Words(40), 2, 12), drawn=KEYS)
    rows: int = param(Whole(1, 500), drawn=(2, 2, 3))

    def wording(self) -> dict[str, Any]:
        return {"header": quoted_list(self.header), "rows": plural(self.rows, "row")}

    def judge(self, text: str) -> Finding:
        try:
            reader = csv.reader(io.StringIO(text.strip(), newline=""), strict=True)
            table = list(itertools.islice(filter(None, reader), self.rows + 2))  # one more row than there may be
        except csv.Error as error:
            return reject(f"not readable as CSV: {error}", score=0)
        header = tuple(cell.strip() for cell in table[0])
        if header != self.header:
            return reject(f"the first row is {','.join(header)[:80]!r}, needed {','.join(self.header)!r}", score=0)
        odd = next((number for number, row in enumerate(table[1:], start=1) if len(row) != len(header)), None)
        if odd is not None:
            reason = f"row {odd} has {plural(len(table[odd]), 'field')}, the header has {len(header)}"
            return reject(reason, measured=len(table[odd]), needed=len(header), score=0.5)
        return exactly(sum(has_words("".join(row)) for row in table[1:]), self.rows, "row")

    def _write(self, pieces: Sequence[str]) -> str:
        file = io.StringIO()
        width = len(self.header)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([self.header, *[pieces[at : at + width] for at in range(0, len(pieces), width)]])
        return file.getvalue().rstrip("\n")

    def repairs(self, text: str) -> Iterator[str]:
        yield self._write(edits.split_into(text, self.rows * len(self.header)) or [])

    def witness(self) -> str:
        return self._write(["cats"] * (self.rows * len(self.header)))

    def literals(self) -> tuple[str, ...]:
        return (*self.header, ",")

    def fewest_words(self) -> int:
        return 3 * self.rows * len(self.header)


@kind
class KeyValues(Data):
    r"""One line "key: value" for each of `keys`, in order, and no other. With ("a", "b"): "a: cats\nb: dogs" passes."""

    id = "data:key_values"
    version = 2
    phrasings = (
        'Answer only with lines of the form "key: value"; the keys are {keys}, in this order, one line each.',
        "Your whole answer must be YAML with exactly these keys, in order and with a value on the same line: {keys}.",
        "Write one line per key, with a colon and your text behind it, and no other line: {keys}.",
        "Use the format of a simple YAML file; it has the keys {keys} in this order and plain texts as values.",
        (
            "A program reads key-value lines: give it {keys}, each followed by a colon, a blank and a "
            "value, and nothing more."
        ),
    )
    passing = ({"keys": ("a", "b")}, "a: cats\nb: dogs")
    failing = ({"keys": ("a", "b")}, "b: dogs\na: cats")

    keys: tuple[str, ...] = param(
        ListOf(Words(40), 1, 12), drawn=(*KEYS, ("topic", "summary", "tip"), ("who", "what", "why"))
    )

    def problem(self) -> str | None:
        wrong = next((key for key in self.keys if ":" in key), None)
        return wrong and f"keys: {wrong!r} must not hold a colon"

    def wording(self) -> dict[str, Any]:
        return {"keys": quoted_list(self.keys)}

    def judge(self, text: str) -> Finding:
        full_lines = [line for line in lines(text) if line and not line.isspace()]
        if len(full_lines) != len(self.keys):
            return exactly(len(full_lines), len(self.keys), "line")
        for number, (line, key) in enumerate(zip(full_lines, self.keys, strict=True)):
            name, colon, value = line.partition(":")
            if name.rstrip() != key or not colon or not value.startswith((" ", "\t")) or not has_words(value):
                reason = f"line {number + 1} is {line[:60]!r}, needed {f'{key}: …'!r}"
                return reject(reason, measured=number, needed=len(self.keys), score=number / len(self.keys))
        return accept(f"found {quoted_list(self.keys)}", measured=len(self.keys), needed=len(self.keys), score=1)

    def repairs(self, text: str) -> Iterator[str]:
        pieces = edits.split_into(text, len(self.keys)) or []
        yield "\n".join(f"{key}: {piece}" for key, piece in zip(self.keys, pieces, strict=False))

    def witness(self) -> str:
        return "\n".join(f"{key}: cats" for key in self.keys)

    def literals(self) -> tuple[str, ...]:
        return self.keys

    def fewest_words(self) -> int:
        return 4 * len(self.keys)


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")
_NO_XML = re.compile(r"<|&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9A-Fa-f]{1,6});)")
_TAG = re.compile(r"<(/?)([A-Za-z_][A-Za-z0-9_.-]*)>")


@kind
class Xml(Data):
    """One `root` tag around exactly `count` `item` tags that hold text. "<list><cat>Tom</cat></list>" may pass."""

    id = "data:xml"
    version = 3
    phrasings = (
        (
            "Answer as XML: a <{root}> element that contains exactly {count} <{item}> element(s) with "
            "text, and nothing else."
        ),
        "Your whole answer must stand between <{root}> and </{root}>, divided into {count} part(s) in <{item}> tags.",
        "Wrap everything in <{root}> tags; inside, put each point into <{item}> and </{item}>, {count} in total.",
        "Write balanced XML without attributes: {count} times <{item}>…</{item}> within a single <{root}>.",
        "A program expects <{root}> as the outer tag and {count} <{item}> tag(s) inside, no text outside of these.",
    )
    passing = ({"root": "list", "item": "cat", "count": 1}, "<list><cat>Tom</cat></list>")
    failing = ({"root": "list", "item": "cat", "count": 1}, "<list><cat>Tom</list>")

    root: str = param(Words(30))
    item: str = param(Words(30))
    count: int = param(Whole(1, 500))

    def problem(self) -> str | None:
        wrong = next((name for name in (self.root, self.item) if not _NAME.match(name)), None)
        if wrong is not None:
            return f"root and item must be tag names such as list, got {wrong!r}"
        return None if self.root != self.item else f"root and item must differ, both are {self.root!r}"

    def judge(self, text: str) -> Finding:
        body = text.strip()
        items = state = at = 0
        # nothing is open; the root is; an item is. Text stands in items alone.
        expected = [{(False, self.root)}, {(False, self.item), (True, self.root)}, {(True, self.item)}]
        for hit in _TAG.finditer(body):
            between, at = body[at : hit.start()], hit.end()
            closes, name = bool(hit[1]), hit[2]
            if (closes, name) not in expected[state]:
                return reject(f"found {hit.group()[:40]} where it does not belong", measured=items)
            if (state == 2) != has_words(between):
                where = "an empty item" if state == 2 else "text outside of the items"
                return reject(f"found {where} before {hit.group()[:40]}", measured=items)
            if mark := _NO_XML.search(between):
                return reject(f"found {mark.group()} in a text, where XML has &lt; and &amp;", measured=items)
            items += state == 2
            state = {0: 1, 1: 2 if name == self.item else 3, 2: 1}[state]
            if state == 3:
                break
        if state != 3 or body[at:].strip() or not body.startswith("<"):
            return reject(f"the answer is not one closed <{self.root}> element", measured=items, needed=self.count)
        return exactly(items, self.count, f"<{self.item}> element")

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        root, item = rng.choice((("answer", "point"), ("list", "item"), ("notes", "note"), ("facts", "fact")))
        return cls(root, item, rng.choice((2, 2, 3)))

    def _write(self, pieces: Sequence[str]) -> str:
        return "\n".join(
            [f"<{self.root}>", *[f"<{self.item}>{escape(piece)}</{self.item}>" for piece in pieces], f"</{self.root}>"]
        )

    def repairs(self, text: str) -> Iterator[str]:
        yield self._write(edits.split_into(text, self.count) or [])

    def witness(self) -> str:
        return self._write(["Cats sleep."] * self.count)

    def literals(self) -> tuple[str, ...]:
        return (self.root, self.item)

    def fewest_words(self) -> int:
        return 3 * self.count
