"""Find the passages of sources that may speak of a statement.

Ranked by BM25 as SQLite's FTS5 computes it, which comes with Python: a search library would be one more dependency for
some thousand passages. Words are cut by `wording`, so that names, numbers and Chinese are found.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from adhere.errors import AdhereError
from adhere.evidence.claims.printed import plain
from adhere.evidence.read.document import Document, Table
from adhere.evidence.statements.wording import names_in, search_words

MAX_LETTERS = 4_000  # of a passage; a longer one is no sentence
BESIDE = 2  # sentences on each side
WORDS_OF_SENTENCE = 6  # in a cell that holds one
MAX_WORDS = 40  # of a search


class Passage(NamedTuple):
    """Holds a piece of a source: a sentence, a row of a table with its header, a caption or a note.

    `near` are the neighbouring sentences, `context` says what all this is about: the paragraph, the title, headings,
    the document's subjects. `around` is the part of the context that is searched.
    """

    file: str
    line: int
    text: str
    near: str = ""
    context: str = ""
    kind: str = "sentence"
    around: str = ""


def passages_of(document: Document) -> Iterator[Passage]:
    """Yield every passage of a document."""
    name, about, sentences = document.name, " . ".join([document.title, *subjects_of(document)]), document.sentences
    paragraphs: dict[int, str] = defaultdict(str)
    for sentence in sentences:
        paragraphs[sentence.paragraph] += (
            f" {sentence.text}" if len(paragraphs[sentence.paragraph]) < MAX_LETTERS else ""
        )
    for place, sentence in enumerate(sentences):
        beside = sentences[max(0, place - BESIDE) : place] + sentences[place + 1 : place + 1 + BESIDE]
        near = " ".join(other.text for other in beside if other.paragraph == sentence.paragraph)
        heads = " . ".join([about, *sentence.headings[-2:]])
        context = " . ".join([about, *sentence.headings[-2:], paragraphs[sentence.paragraph]])
        yield Passage(name, sentence.line, sentence.text[:MAX_LETTERS], near[:MAX_LETTERS], context, "sentence", heads)
    for note in document.notes:
        yield Passage(name, note.line, note.text[:MAX_LETTERS], "", about, "note")
    for table in document.tables:
        yield from _rows(document, table, about)


def subjects_of(document: Document) -> list[str]:
    """Return up to three names that occur in an eighth of a document's sentences: others leave them out."""
    name_counts = Counter(
        name.text for s in document.sentences for name in names_in(s.text[:MAX_LETTERS]) if name.is_sure
    )
    least = max(3, len(document.sentences) / 8)
    return [name for name, count in name_counts.most_common(3) if count >= least]


def _rows(document: Document, table: Table, about: str) -> Iterator[Passage]:
    context = " . ".join(filter(None, [about, *table.headings[-2:], table.caption]))[:MAX_LETTERS]
    if table.caption:
        yield Passage(
            document.name, table.caption_line or table.line, table.caption[:MAX_LETTERS], "", about, "caption"
        )
    heads = [
        " ".join(dict.fromkeys(plain(row[c]) for row in table.headers if c < len(row))) for c in range(table.width)
    ]
    for row in table.rows:
        cells = [plain(cell.text) for cell in row.cells]
        text = " | ".join(f"{head}: {cell}" if head else cell for head, cell in zip(heads, cells, strict=False) if cell)
        yield Passage(document.name, row.line, text[:MAX_LETTERS], "", f"{context} . {row.section}", "row")
        for cell in cells:
            if len(cell.split()) >= WORDS_OF_SENTENCE:
                yield Passage(document.name, row.line, cell[:MAX_LETTERS], "", context)


class Search:
    """Searches passages by words, names and numbers."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self.passages = passages
        self._database = sqlite3.connect(":memory:")
        try:
            self._database.execute(
                "CREATE VIRTUAL TABLE passages "
                "USING fts5(words, around, content='', tokenize=\"unicode61 tokenchars '_'\")"
            )
        except sqlite3.OperationalError as error:
            raise AdhereError(f"This Python's SQLite has no FTS5, by which passages are ranked ({error}).") from error
        rows = (
            (number, " ".join(search_words(passage.text)), " ".join(search_words(passage.around)))
            for number, passage in enumerate(passages)
        )
        self._database.executemany("INSERT INTO passages(rowid, words, around) VALUES (?, ?, ?)", rows)

    def best(self, text: str, most: int = 20) -> list[Passage]:
        """Return the passages that share most with a text, best first."""
        words = search_words(text)[:MAX_WORDS]
        if not words:
            return []
        query = " OR ".join(f'"{word}"' for word in words)
        rows = self._database.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY bm25(passages, 1.0, 0.3) LIMIT ?", (query, most)
        )
        return [self.passages[number] for (number,) in rows]
