from __future__ import annotations

import io
from pathlib import Path

import pytest

from adhere.errors import UsageError
from adhere.evidence.claims.printed import is_absent, number_of, plain
from adhere.evidence.read.document import Document
from adhere.evidence.read.documents import MAX_BYTES, parse_document, read_document, repair
from adhere.evidence.read.text import split_sentences


def read(text: str, suffix: str = ".md") -> Document:
    return parse_document(text.encode(), name="a", suffix=suffix)


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("82.3", 82.3, 1),
        ("**82.3**", 82.3, 1),
        (r"$\mathbf{82.3}$", 82.3, 1),
        (r"$76.8_{\pm 0.3}$", 76.8, 1),
        ("82.3 ± 0.4", 82.3, 1),
        ("−0.4", -0.4, 1),
        ("+15.5", 15.5, 1),
        ("1,234", 1234.0, 0),
        ("82.30%", 82.3, 2),
        ("82.3†", 82.3, 1),
        (r"$7\times10^{-6}$", 7e-6, 6),
        ("70.6 (-0.1)", 70.6, 1),
    ],
)
def test_a_number_keeps_its_value_and_its_decimals(text: str, value: float, decimals: int) -> None:
    number = number_of(text)
    assert number is not None
    assert number.value == pytest.approx(value)
    assert number.decimals == decimals


@pytest.mark.parametrize("text", ["Yes", "14/2", "2024-08-06", "v1", "-", "n/a", "Apache 2.0", "8192 to 16384"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert number_of(text) is None


def test_a_difference_and_a_spread_behind_a_number_are_kept_apart() -> None:
    assert number_of("70.6 (-0.1)").beside.value == -0.1
    assert number_of("82.3 ± 0.4").spread == 0.4


def test_dashes_say_that_nothing_was_measured() -> None:
    assert all(is_absent(text) for text in ("-", "–", "—", "N/A", "", "**-**"))
    assert not is_absent("0.0")


def test_markup_goes_and_multiplication_stays() -> None:
    assert plain(r"$|s_t| \ge 13$ and **bold** _word_") == r"|s_t| \ge 13 and bold word"


def test_a_pipe_table_with_two_header_rows_sections_caption_and_note() -> None:
    document = read(
        "# Title\n\n**Table 3: Scores.** [p. 4] Higher is better.\n\n"
        "| Set | A-7B | | B-7B | |\n|---|---|---|---|---|\n| | Original | Delta | Original | Delta |\n"
        "| | *Coding* | | | |\n| MBPP | 1.0 / **2.0** | - | 3.0 | 4.0 |\n\n*Note: x is without and y is with it.*\n"
    )
    table = document.tables[0]
    assert table.name == "Table 3"
    assert table.caption == "Table 3: Scores. Higher is better."
    assert table.headers == [["Set", "A-7B", "A-7B", "B-7B", "B-7B"], ["", "Original", "Delta", "Original", "Delta"]]
    assert table.rows[0].section == "Coding"
    assert table.rows[0].line == 9
    parts = table.rows[0].cells[1].parts
    assert [(part.number.value, part.bold) for part in parts] == [(1.0, False), (2.0, True)]
    assert table.notes[0].text.startswith("Note: x is without")


def test_captions_below_are_found_past_a_footnote() -> None:
    document = read(
        "# T\n\n| M | X |\n|---|---|\n| A | 1 |\n\n† own report\n\n**Table 1: first.**\n\n| M | X |\n|---|---|\n"
        "| A | 2 |\n\n**Table 2: second.**\n"
    )
    assert [table.label for table in document.tables] == ["Table 1", "Table 2"]


def test_a_sentence_that_begins_with_a_table_is_no_caption() -> None:
    document = read("Table 1 lists the scores.\n\n| M | X |\n|---|---|\n| A | 1 |\n")
    assert document.tables[0].caption == ""
    assert document.sentences[0].text == "Table 1 lists the scores."


def test_a_broken_row_is_kept_and_reported() -> None:
    document = read("| M | X | Y |\n|---|---|---|\n| A | 1 |\n| B | 1 | 2 | 3 |\n| C | 1 | 2 |\n")
    assert [len(row.cells) for row in document.tables[0].rows] == [2, 4, 3]
    assert [(problem.line, "cells" in problem.message) for problem in document.problems] == [(3, True), (4, True)]


def test_tabs_and_aligned_columns_and_grids_are_tables_in_text() -> None:
    tabs = read("Claim\tVerified\nx\tno\ny\tyes\n")
    aligned = read(
        "Model      MMLU    GSM8K\n---------------------\nCoding\nA-7B       71.0    80.0\nB-7B       72.0    -\n",
        ".txt",
    )
    grid = read("| Model | MMLU |\n+-------+------+\n| A-7B  | 71.0 |\n| B-7B  | 72.0 |\n", ".txt")
    assert [len(document.tables[0].rows) for document in (tabs, aligned, grid)] == [2, 2, 2]
    assert aligned.tables[0].rows[0].section == "Coding"
    assert aligned.tables[0].headers == [["Model", "MMLU", "GSM8K"]]


def test_html_tables_with_spans_bold_and_caption() -> None:
    document = read(
        "<!doctype html><body><h1>T</h1><table><caption>Table 2: S</caption><tr><th rowspan=2>M</th><th "
        "colspan=2>A-7B</th></tr><tr><th>x</th><th>y</th></tr><tr><td>MBPP</td><td><b>1.5</b></td><td>2.5</td></tr>"
        "<tr><td colspan=3>Coding</td></tr><tr><td>GSM8K</td><td>3</td><td>4</td></tr></table><p>One. Two.</p></body>",
        ".html",
    )
    table = document.tables[0]
    assert table.label == "Table 2"
    assert table.headers == [["M", "A-7B", "A-7B"], ["M", "x", "y"]]
    assert table.rows[0].cells[1].parts[0].bold
    assert table.rows[1].section == "Coding"
    assert [sentence.text for sentence in document.sentences] == ["One.", "Two."]


def test_utf8_read_as_mac_roman_is_repaired() -> None:
    assert repair("IFEval (Zhou et al., 2023)¬≤, rate Œ∑, Lebr√≥n") == "IFEval (Zhou et al., 2023)², rate η, Lebrón"
    assert repair("naïve café") == "naïve café"


def test_abbreviations_and_initials_end_no_sentence() -> None:
    text = "We follow Smith et al. (2024) and A. Author, e.g. on MultiPL-E. In Table 1 it is 3.5. Next."
    assert split_sentences(text) == [
        "We follow Smith et al. (2024) and A. Author, e.g. on MultiPL-E.",
        "In Table 1 it is 3.5.",
        "Next.",
    ]


def test_text_between_fences_is_prose_not_tables() -> None:
    assert read("```\n| A | B |\n|---|---|\n| 1 | 2 |\n```\n").tables == []


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"  \n", "empty"), (bytes(range(256)) * 50, "binary data"), (b"%PDF-1.4 rubbish", "PDF")],
)
def test_what_cannot_be_read_is_refused_with_the_reason(tmp_path, data: bytes, says: str) -> None:
    path = tmp_path / "x.md"
    path.write_bytes(data)
    if says == "PDF":
        pytest.importorskip("pdfplumber")
    with pytest.raises(UsageError, match=says):
        read_document(path)


def test_a_missing_file_a_directory_and_a_huge_file_are_refused(tmp_path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_document(tmp_path / "none.md")
    with pytest.raises(UsageError, match="a directory"):
        read_document(tmp_path)
    huge = tmp_path / "huge.md"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UsageError, match="64 MiB"):
        read_document(huge)


def test_an_encrypted_pdf_is_refused_and_a_plain_one_without_text_too(tmp_path) -> None:
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(width=200, height=200)
    writer.write(tmp_path / "blank.pdf")
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(tmp_path / "locked.pdf")
    with pytest.raises(UsageError, match="holds no text"):
        read_document(tmp_path / "blank.pdf")
    with pytest.raises(UsageError, match="encrypted"):
        read_document(tmp_path / "locked.pdf")


def test_windows_1252_is_read_and_said(tmp_path) -> None:
    path = tmp_path / "w.md"
    path.write_bytes("| M | X |\n|---|---|\n| caf\xe9 | 1.5 |\n".encode("cp1252"))
    document = read_document(path)
    assert document.tables[0].rows[0].cells[0].text == "café"
    assert "Windows-1252" in document.problems[0].message


def one_page_pdf(lines: list[str]) -> bytes:
    """A PDF of one page that shows lines in Courier."""
    shown = " T* ".join(f"({line.replace('(', chr(92) + '(').replace(')', chr(92) + ')')}) Tj" for line in lines)
    stream = f"BT /F1 10 Tf 12 TL 40 740 Td {shown} ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 4 0 R >> "
            b">> /Contents 5 0 R >>"
        ),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)


def test_a_table_of_a_pdf_is_read_from_its_layout() -> None:
    pytest.importorskip("pdfplumber")
    lines = [
        "Table 1: Performance of instruction-tuned models.",
        "Model             MMLU    GSM8K   Avg.",
        "Qwen2-7B          70.5    85.7    78.1",
        "Llama-3-8B        68.4    79.6    74.0",
        "",
        "Qwen2-7B scores 70.5 on MMLU.",
    ]
    document = parse_document(one_page_pdf(lines), name="a.pdf", suffix=".pdf")
    table = document.tables[0]
    assert (table.label, table.page) == ("Table 1", 1)
    assert table.headers == [["Model", "MMLU", "GSM8K", "Avg."]]
    assert [cell.text for cell in table.rows[1].cells] == ["Llama-3-8B", "68.4", "79.6", "74.0"]
    assert document.sentences[-1].text == "Qwen2-7B scores 70.5 on MMLU."


def test_names_broken_over_lines_of_a_pdfs_header_come_together() -> None:
    pytest.importorskip("pdfplumber")
    lines = [
        "Some text stands above, and it runs on and on in one line without any gaps at all.",
        "",
        "                      Claude-3.5-   GPT-4o    DeepSeek",
        "Benchmark (Metric)    Sonnet-1022   0513      V3",
        "MMLU (EM)             88.3          87.2      88.5",
        "Coding",
        "LiveCodeBench         36.3          33.4      40.5",
        "C-Eval (EM)           76.7          -         86.5",
    ]
    document = parse_document(one_page_pdf(lines), name="a.pdf", suffix=".pdf")
    table = document.tables[0]
    assert table.headers == [["Benchmark (Metric)", "Claude-3.5-Sonnet-1022", "GPT-4o 0513", "DeepSeek V3"]]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [
        ["MMLU (EM)", "88.3", "87.2", "88.5"],
        ["LiveCodeBench", "36.3", "33.4", "40.5"],
        ["C-Eval (EM)", "76.7", "-", "86.5"],
    ]
    assert [row.section for row in table.rows] == ["", "Coding", "Coding"]
    assert document.line(table.rows[0].line) == "MMLU (EM)  88.3  87.2  88.5"


def test_numbers_that_no_measurement_has_are_none() -> None:
    assert number_of("9" * 400) is None
    assert number_of("1e999") is None


def test_an_address_is_told_apart_from_a_file() -> None:
    with pytest.raises(
        UsageError, match=r"https://x\.org/paper\.html: an address, not a file\. Download it first, e\.g\. curl -LO"
    ):
        read_document(Path("https://x.org/paper.html"))


def test_standard_input_is_read_by_what_it_holds(monkeypatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<!doctype html><h1>T</h1><p>A-7B scores 3.5.</p>")))
    document = read_document(Path("-"))
    assert (document.name, document.format, document.title) == ("stdin", "html", "T")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" ")))
    with pytest.raises(UsageError, match="standard input: empty"):
        read_document(Path("-"))
