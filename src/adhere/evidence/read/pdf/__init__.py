"""Read PDF pages with pdfplumber: words with their places, rules, fonts; from these, lines of text and tables.

A table is found by its numbers: lines that hold two or more, one above the other in columns. Its header is what stands
above the first of them, up to the rule (or the gap) over it; each word of a header belongs to the column below it, so
names that are broken over several lines come together again. A short rule inside a header says over which columns the
words above it stand.
"""

from __future__ import annotations

import io
import re
from statistics import median
from typing import Any

from adhere.errors import UsageError
from adhere.evidence.read.pdf.page import CAPTION, Bar, Block, PageLine, PageTable, Word, to_lines
from adhere.evidence.read.pdf.parts import split_beside, split_page, split_wrapped
from adhere.evidence.read.pdf.tables import find_tables
from adhere.evidence.read.pdf.words import find_rules, is_white, join_pieces, upright, without_line_numbers
from adhere.extras import need

_BOLD = re.compile(r"bold|black|cmbx|-bd\b|medi\b", re.IGNORECASE)
_FILLER = re.compile(r"[0X±.]+")
MAX_PAGES = 2000
MAX_CHARACTERS = 400_000
MAX_PATHS = 5_000  # drawn on one page; rules of tables come before the curves of a plot, which are left out anyway


def pdf_blocks(data: bytes, where: str) -> tuple[list[Block], list[str]]:
    """Return the blocks of a PDF, and what could not be read: pages without text, or beyond 400,000 characters.

    Raises:
        UsageError: The PDF is encrypted, damaged, or holds no text.
    """
    pdfplumber: Any = need("pdfplumber", extra="claims")
    errors: Any = need("pdfminer.pdfdocument", extra="claims")
    parsing: Any = need("pdfminer.psparser", extra="claims")
    utils: Any = need("pdfplumber.utils.exceptions", extra="claims")
    if not data.startswith(b"%PDF-"):
        raise UsageError(f"{where}: called a PDF, but does not begin with %PDF-")
    blocks: list[Block] = []
    empty = n_unread = 0
    budget = _Budget(MAX_CHARACTERS)
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf:
            for number, page in enumerate(pdf.pages, start=1):
                if number > MAX_PAGES or not budget.lay_out(page):
                    n_unread = len(pdf.pages) - number + 1
                    break
                page_blocks = _page_blocks(page)
                empty += not page_blocks
                blocks += [block._replace(page=number) for block in page_blocks]
                page.close()
    except utils.PdfminerException as error:
        cause = error.args[0] if error.args else error
        if isinstance(cause, errors.PDFPasswordIncorrect | errors.PDFEncryptionError):
            raise UsageError(
                f"{where}: an encrypted PDF. Remove its password first, e.g. qpdf --decrypt --password=… IN OUT"
            ) from error
        raise UsageError(f"{where}: this PDF is damaged: {cause or type(cause).__name__}") from error
    except (parsing.PSException, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise UsageError(f"{where}: this PDF cannot be read ({type(error).__name__}: {error})") from error
    if not blocks and n_unread:
        raise UsageError(
            f"{where}: the first page of this PDF holds more than {MAX_CHARACTERS:,} characters. Split it."
        )
    if not blocks:
        raise UsageError(f"{where}: this PDF holds no text (scanned pages?). Run it through OCR first.")
    problems = [f"{empty} pages hold no text"] if empty else []
    if n_unread:
        problems.append(
            f"the last {n_unread} pages were not read: PDFs of up to {MAX_CHARACTERS:,} characters are. Split it"
        )
    return blocks, problems


class _Budget:
    """Counts how many characters may still be read; a small file can unfold to very many."""

    def __init__(self, characters: int) -> None:
        self.characters = characters

    def lay_out(self, page: Any) -> bool:
        """Lay out a page without the curves of its plots; return False if it holds more characters than may be read."""
        plumber: Any = need("pdfplumber.page", extra="claims")
        interpreters: Any = need("pdfminer.pdfinterp", extra="claims")
        budget = self

        class Device(plumber.PDFPageAggregatorWithMarkedContent):  # type: ignore[misc]
            paths = 0

            def paint_path(self, gstate: Any, stroke: bool, fill: bool, evenodd: bool, path: Any) -> None:  # noqa: FBT001 -- pdfminer's signature
                self.paths += 1
                if self.paths <= MAX_PATHS and len(path) <= 50 and all(part[0] in "mlh" for part in path):
                    super().paint_path(gstate, stroke, fill, evenodd, path)

            def render_char(self, *arguments: Any, **keywords: Any) -> Any:
                budget.characters -= 1
                if budget.characters < 0:
                    raise _TooMuchText
                return super().render_char(*arguments, **keywords)

        device = Device(page.pdf.rsrcmgr, pageno=page.page_number, laparams=page.pdf.laparams)
        try:
            interpreters.PDFPageInterpreter(page.pdf.rsrcmgr, device).process_page(page.page_obj)
        except _TooMuchText:
            return False
        page._layout = device.get_result()  # noqa: SLF001 -- where pdfplumber keeps what it laid out itself
        return True


class _TooMuchText(Exception):
    """Says that a document holds more characters than are read."""


def _page_blocks(page: Any) -> list[Block]:
    pieces: dict[bool, list[Word]] = {True: [], False: []}  # upright, and turned
    attributes = ["fontname", "size", "non_stroking_color"]
    for w in page.extract_words(x_tolerance_ratio=0.2, extra_attrs=attributes, char_dir_rotated="btt"):
        if not (is_white(w["non_stroking_color"]) and _FILLER.fullmatch(w["text"])):
            bold = bool(_BOLD.search(w["fontname"]))
            pieces[w["upright"]].append(Word(w["text"], w["x0"], w["x1"], w["top"], w["bottom"], w["size"], bold))
    if not any(pieces.values()):
        return []
    words = join_pieces(without_line_numbers(pieces[True])) + upright(pieces[False])
    rules = find_rules(page)
    bars = [Bar(e["x0"], e["top"], e["bottom"]) for e in page.edges if e["orientation"] == "v"]
    blocks: list[Block] = []
    parts = split_page(words, rules, page.width)
    while parts:
        part = parts.pop(0)
        if several := split_wrapped(part, rules):
            parts = [part for part in several if part] + parts
            continue
        lines = to_lines(part)
        tables = find_tables(lines, rules, bars)
        split = (split_beside(table, lines, rules) for table in tables)
        if several := next(filter(None, split), []):
            parts = [part for part in several if part] + parts
        else:
            blocks += in_order(lines, tables)
    return blocks


def in_order(lines: list[PageLine], tables: list[PageTable]) -> list[Block]:
    """Return the blocks of a part of a page in order, each table whole."""
    owner = {id(line): table for table in tables for line in table.lines}
    usual = median([line.height for line in lines if id(line) not in owner] or [lines[0].height])
    blocks: list[Block] = []
    paragraph: list[PageLine] = []
    done: set[int] = set()
    for line in lines:
        table = owner.get(id(line))
        gap = line.top - paragraph[-1].bottom if paragraph else 0.0
        is_heading = table is None and len(line.words) <= 12 and _is_heading(line, usual)
        if paragraph and (table is not None or gap > 0.8 * usual or is_heading):
            blocks.append(Block(paragraph, None, is_heading=False))
            paragraph = []
        if table is not None:
            if id(table) not in done:
                done.add(id(table))
                blocks.append(Block(table.lines, table, is_heading=False))
        elif is_heading:
            blocks.append(Block([line], None, is_heading=True))
        else:
            paragraph.append(line)
    if paragraph:
        blocks.append(Block(paragraph, None, is_heading=False))
    return blocks


def _is_heading(line: PageLine, usual: float) -> bool:
    return (
        (line.height > 1.15 * usual or all(word.bold for word in line.words))
        and not line.text.endswith((".", ",", ";"))
        and not CAPTION.match(line.text)
    )
