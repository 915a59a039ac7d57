"""Documents made to take long: each is read in time that grows with its length."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from adhere.evidence.check import findings_of, gather
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
