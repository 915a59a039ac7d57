"""Documents made to take long: each is read in time that grows with its length."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable

import pytest

from adhere.errors import UsageError
from adhere.evidence.check import findings_of, gather
from adhere.evidence.read import pdf
from adhere.evidence.read.documents import parse_document

HOSTILE: dict[str, Callable[[int], str]] = {
    "comments.md": lambda n: "# T\n\n" + "<!-- " * (200 * n),
    "comments.html": lambda n: "<html>" + "<!-- a\n" * (200 * n),
    "bars.md": lambda n: "# T\n\n" + "|" * (4000 * n),
    "opened.tex": lambda n: "\\documentclass{article}\n" + "\\begin{tabular}{ll}\n" * (50 * n),
    "tabulars.tex": lambda n: (
        "\\documentclass{article}\n"
        + "\\begin{tabular}{ll} Model & MMLU \\\\ A-7B & 5.0 \\\\ \\end{tabular}\n" * (2 * n)
    ),
    "opened.html": lambda n: "<table>" * (100 * n),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_time_grows_with_the_length_and_not_with_its_square(name: str) -> None:
    def seconds(size: int) -> float:
        text = HOSTILE[name](size).encode()
        begun = time.process_time()
        findings_of(gather([parse_document(text, name=name, suffix="." + name.partition(".")[2])]))
        return time.process_time() - begun

    seconds(1)
    assert seconds(160) < 10 * seconds(20) + 0.5  # eight times the length; 64 times if it were quadratic


def test_cells_that_span_very_much_make_no_very_wide_table() -> None:
    rows = "".join(f"<tr>{'<td colspan=100000 rowspan=1000>1.5</td>' * 12}</tr>" for _ in range(300))
    document = parse_document(f"<table>{rows}</table>".encode(), name="a.html", suffix=".html")
    assert max(len(row.cells) for table in document.tables for row in table.rows) <= 700


def one_page(lines: int) -> bytes:
    """A PDF of one page, whose compressed content says one line over and over."""
    content = zlib.compress(b"BT /F1 10 Tf 10 700 Td (Model 12.5 and 13.5) Tj ET\n" * lines, 9)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>\nstream\n%s\nendstream" % (len(content), content),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return body + b"xref\n0 6\n0000000000 65535 f \n%strailer\n<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (
        table,
        len(body),
    )


def test_a_pdf_that_unfolds_to_more_text_than_the_limit_is_refused_with_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf, "MAX_CHARACTERS", 1000)
    assert parse_document(one_page(10), name="a.pdf", suffix=".pdf").sentences
    with pytest.raises(UsageError, match="holds more than 1,000 characters"):
        parse_document(one_page(1000), name="a.pdf", suffix=".pdf")
