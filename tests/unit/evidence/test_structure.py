"""What the form of a table says of its labels, before any list of words does."""

from __future__ import annotations

import pytest

from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Findings
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.latex_text import Macro, latex_text
from adhere.evidence.read.pdf import in_order
from adhere.evidence.read.pdf.page import Bar, PageLine, Rule, Word, to_lines
from adhere.evidence.read.pdf.parts import split_beside
from adhere.evidence.read.pdf.rows import rows_of
from adhere.evidence.read.pdf.tables import find_tables
from adhere.evidence.read.pdf.words import join_pieces


def found(text: str, suffix: str = ".md") -> Findings:
    return findings_of(gather([parse_document(text.encode(), name="a", suffix=suffix)]))


def html(*rows: str) -> str:
    return f"<html><table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table></html>"


def test_base_is_a_size_beside_large_and_a_tuning_beside_instruct() -> None:
    sized = "| Model | QuizA |\n|---|---|\n| FooBERT-base | 50.1 |\n| FooBERT-large | 60.1 |\n"
    assert [(c.model, c.tuning) for c in found(sized).claims] == [("FooBERT-base", ""), ("FooBERT-large", "")]
    tuned = "| Model | QuizA |\n|---|---|\n| Foo-7B-Base | 50.1 |\n| Foo-7B-Instruct | 60.1 |\n"
    assert [c.tuning for c in found(tuned).claims] == ["base", "instruct"]
    mixed = "| Model | MMLU |\n|---|---|\n| Base mix | 50.1 |\n| Ablate chat | 60.1 |\n"
    assert [c.tuning for c in found(mixed).claims] == ["", ""]


def test_counts_are_no_scores() -> None:
    tokens = "| Model | MMLU | Seen in training |\n|---|---|---|\n| A-7B | 50.1 | 275B |\n| B-7B | 60.1 | 1.5T |\n"
    assert [c.benchmark for c in found(tokens).claims] == ["MMLU", "MMLU"]
    items = (
        "| Task | Dataset | Train | Test |\n|---|---|---|---|\n| QA | QuizA | 62,697 | 4,420 |\n"
        "| QA | QuizB | 8,939 | 1,118 |\n"
    )
    assert list(found(items).claims) == []


def test_a_cell_may_name_its_values_and_a_heading_the_benchmark() -> None:
    text = "#### DRXD 阅读理解 Reading Comprehension (F1, EM)：\n\n| 模型 | 开发集（dev) | 测试集（test) |\n|---|---|---|\n"
    text += "| FooBERT | F1:92.30 EM:86.60 | F1:91.46 EM:85.49 |\n| BarNet | F1:93.30 EM:87.60 | F1:92.46 EM:86.49 |\n"
    claims = [c for c in found(text).claims if c.model == "FooBERT"]
    assert [(c.benchmark, c.variant, c.metric, c.setting, c.value) for c in claims] == [
        ("DRXD", "开发集(dev)", "F1", "", 92.3),
        ("DRXD", "开发集(dev)", "EM", "", 86.6),
        ("DRXD", "测试集(test)", "F1", "", 91.46),
        ("DRXD", "测试集(test)", "EM", "", 85.49),
    ]


ROWS = ("A-7B", "B-7B", "C-7B", "D-7B")


@pytest.mark.parametrize(
    "cells",
    [
        # A mark over a whole cell does not say which of its numbers is the best.
        ["60.1 / **70.1**", "61.1 / 69.1", "**63.1 / 68.1**", "**62.1** / 60.0"],
    ],
)
def test_a_mark_over_several_numbers_accuses_none(cells: list[str]) -> None:
    head = "| Model | " + " | ".join(f"Quiz{c} (EM/F1)" for c in "ABCD") + " |\n|" + "---|" * 5 + "\n"
    text = head + "".join(
        f"| {row} | " + " | ".join([cell] * 4) + " |\n" for row, cell in zip(ROWS, cells, strict=True)
    )
    assert not [c for c in found(text).conflicts if c.type == "emphasis" and c.severity == "error"]


def test_a_tabular_inside_a_macro_is_a_label_and_a_broken_name_goes_on() -> None:
    macros = {"hd": Macro(1, r"\begin{tabular}[b]{@{}c@{}}#1\end{tabular}")}
    assert latex_text(r"\hd{\textbf{Long-}\\\textbf{Bench}\\(Acc)}", macros).replace("*", "") == "Long-Bench (Acc)"
    assert latex_text(r"\hd{Two\\words}", macros) == "Two words"


# ── PDF ──


def word(text: str, left: float, *, top: float = 100.0, size: float = 10.0, gap: float = 5.0) -> Word:
    return Word(text, left, left + gap * len(text), top, top + size, size, bold=False)


def test_words_go_on_where_only_the_font_changes() -> None:
    small = [word("C", 10, gap=7), word("AMEM", 17, top=102, size=8, gap=4), word("BERT", 33.1, size=10, gap=6)]
    assert [w.text for w in join_pieces(small)] == ["CAMEMBERT"]
    spread = [word("98.5", 10), word("±", 31.5, gap=6), word("0.1", 39)]
    assert [w.text for w in join_pieces(spread)] == ["98.5 ± 0.1"]
    raised = [word("60.2", 10), word("∗", 30.2, top=98, size=6)]
    assert [w.text for w in join_pieces(raised)] == ["60.2"]


def row(texts: str, top: float, lefts: tuple[float, ...] = (10, 150, 200, 250)) -> list[Word]:
    return [word(text, left, top=top) for text, left in zip(texts.split("|"), lefts, strict=False) if text]


def lines(*rows: list[Word]) -> list[PageLine]:
    return [PageLine(words) for words in rows]


def rules(*tops: float) -> list[Rule]:
    return [Rule(5, 290, top) for top in tops]


def test_a_title_in_the_middle_under_a_rule_may_name_a_size() -> None:
    page = lines(
        row("Model|QuizA|QuizB|QuizC", 100),
        [word("~8B", 125, top=125), word("Models", 142, top=125)],
        row("A-7B|60.1|61.1|62.1", 150),
        row("B-7B|70.1|71.1|72.1", 165),
        [word("13B+", 122, top=190), word("Models", 144, top=190)],
        row("C-14B|60.1|61.1|62.1", 215),
    )
    (table,) = find_tables(page, rules(95, 118, 142, 183, 207, 230))
    cells, headers = rows_of(table)
    assert headers == 1
    assert [r.cells[0] for r in cells] == ["Model", "~8B Models", "A-7B", "B-7B", "13B+ Models", "C-14B"]


def test_a_vertical_rule_parts_columns_of_labels_that_stand_in_the_middle() -> None:
    page = lines(
        row("Kind|FooX|FooY", 100, (40, 150, 200)),
        row("Long Task|QuizA|60.1|61.1", 125, (10, 58, 150, 200)),
        row("|QuizLong|70.1|71.1", 140, (0, 58, 150, 200)),
        row("Short|QuizB|50.1|51.1", 155, (10, 66, 150, 200)),
        row("Overall|60.1|61.1", 170, (40, 150, 200)),
    )
    bars = [Bar(56.5, top - 2, top + 12) for top in (125, 140, 155)]
    (table,) = find_tables(page, rules(95, 118, 190), bars)
    assert [r.cells[:2] for r in rows_of(table)[0][1:4]] == [
        ["Long Task", "QuizA"],
        ["", "QuizLong"],
        ["Short", "QuizB"],
    ]
    (table,) = find_tables(page, rules(95, 118, 190))
    assert rows_of(table)[0][1].cells[0] == "Long Task QuizA"


def test_a_name_broken_at_its_hyphen_goes_on_in_the_next_line() -> None:
    page = lines(
        row("Model|QuizA|QuizB", 100, (10, 150, 200)),
        row("Foo-|60.1|61.1", 125, (10, 150, 200)),
        row("8x22B", 137, (10,)),
        row("Bar-7B|70.1|71.1", 149, (10, 150, 200)),
    )
    (table,) = find_tables(page, rules(95, 118, 170))
    assert [r.cells for r in rows_of(table)[0][1:]] == [["Foo-8x22B", "60.1", "61.1"], ["Bar-7B", "70.1", "71.1"]]


def test_the_lines_of_a_caption_over_a_table_of_small_letters_are_no_headings() -> None:
    caption = [word("Table", 10, top=50), word("4", 40, top=50), word("Scores", 50, top=50)]
    page = lines(
        caption,
        [word("of", 10, top=63), word("two", 25, top=63), word("models", 45, top=63)],
        *([w._replace(size=6, bottom=w.top + 6) for w in row(text, top)] for text, top in (
            ("Model|QuizA|QuizB", 100), ("A-7B|60.1|61.1", 109), ("B-7B|70.1|71.1", 118), ("C-7B|70.1|71.1", 127)
        )),
    )  # fmt: skip
    blocks = in_order(page, find_tables(page, []))
    assert [(len(b.lines), b.table is None, b.is_heading) for b in blocks] == [(2, True, False), (4, False, False)]


def test_a_line_of_sizes_below_the_names_is_a_row_of_the_header() -> None:
    page = lines(
        row("|Foo-|Bar|Baz", 100),
        row("Set|Chat||", 111),
        row("Budget|100K|64K|32K", 135),
        row("QuizA|60.1|61.1|62.1", 165),
        row("QuizB|70.1|71.1|72.1", 180),
    )
    (table,) = find_tables(page, rules(95, 155, 200))
    cells, headers = rows_of(table)
    assert [r.cells for r in cells[:headers]] == [["Set", "Foo-Chat", "Bar", "Baz"], ["Budget", "100K", "64K", "32K"]]


GROUPED = (40, 120, 200, 250)


def cells_of(page: list[PageLine], page_rules: list[Rule]) -> list[list[str]]:
    (table,) = find_tables(page, page_rules)
    return [r.cells for r in rows_of(table)[0]]


def test_names_that_stand_beside_the_first_of_their_rows_stay_there() -> None:
    page = lines(
        row("Model|Metric|EN|ZH", 100, GROUPED),
        *(row(f"{name}|{metric}|60.1|61.1", 125 + 12 * at, GROUPED)
          for at, (name, metric) in enumerate([("A-7B", "x"), ("", "y"), ("B-7B", "x"), ("", "y"), ("C-7B", "x")])),
    )  # fmt: skip
    assert [cells[0] for cells in cells_of(page, rules(95, 118, 190))[1:]] == ["A-7B", "", "B-7B", "", "C-7B"]


def test_groups_of_groups_and_names_of_several_lines() -> None:
    def values(top: float, metric: str) -> list[Word]:
        return row(f"||{metric}|60.1|61.1", top, (10, 60, 150, 200, 250))

    page = lines(
        row("Set|Model|Metric|EN|ZH", 100, (10, 60, 150, 200, 250)),
        values(125, "k8"),
        [word("Foo-VL-", 60, top=131)],
        values(137, "k1"),
        [word("7B", 60, top=143)],
        values(149, "k2"),
        [word("Math", 10, top=155)],
        values(161, "k8"),
        [word("Bar-VL", 60, top=167)],
        values(173, "k1"),
    )
    assert [cells[:3] for cells in cells_of(page, rules(95, 118, 190))[1:]] == [
        ["Math", "Foo-VL-7B", "k8"], ["", "", "k1"], ["", "", "k2"], ["", "Bar-VL", "k8"], ["", "", "k1"]
    ]  # fmt: skip


def test_values_behind_bars_are_told_apart_by_what_stands_below_the_name_of_their_group() -> None:
    def values(name: str, top: float, left: float) -> list[Word]:
        return [
            word(name, 120, top=top),
            *(word(text, left + at, top=top) for text, at in (("60.1", 0), ("|", 24), ("61.1", 33))),
        ]

    page = lines(
        row("Benchmark|Model|Performance", 100, (10, 120, 200)),
        values("Foo-7B", 125, 190),
        [word("QuizBench", 10, top=131)],
        values("Bar-7B", 137, 205),
        [word("Easy", 10, top=143), word("|", 33, top=143), word("Hard", 41, top=143)],
        values("Baz-7B", 149, 200),
    )
    assert cells_of(page, rules(95, 118, 170))[1:] == [
        ["QuizBench (Easy | Hard)", "Foo-7B", "60.1 | 61.1"],
        ["", "Bar-7B", "60.1 | 61.1"],
        ["", "Baz-7B", "60.1 | 61.1"],
    ]


def test_a_caption_and_white_below_the_last_rule_end_a_table() -> None:
    upper = [row("Model|QuizA|QuizB", 100), row("A-7B|60.1|61.1", 120), row("B-7B|70.1|71.1", 132)]
    lower = [row("Model|QuizC|QuizD", 166), row("A-7B|50.1|51.1", 186), row("B-7B|55.1|56.1", 198)]
    caption = [word("Table", 10, top=150), word("9:", 40, top=150), word("More", 55, top=150)]
    assert len(find_tables(lines(*upper, caption, *lower), [])) == 2
    assert len(find_tables(lines(*upper, *lower), rules(95, 115, 145, 182, 210))) == 2
    rows = [row("C-7B|50.1|51.1", 150), row("D-7B|55.1|56.1", 162)]
    assert len(find_tables(lines(*upper, *rows), rules(95, 115, 145, 175))) == 1


def test_amounts_below_the_names_of_columns_are_rows_where_they_are_several() -> None:
    page = lines(
        row("Benchmark|Foo-3|Bar-2|Foo-3", 100),
        row("Active parameters|400M|1B|800M", 111),
        row("Total parameters|1B|2B|3B", 122),
        row("QuizA|60.1|61.1|62.1", 145),
        row("QuizB|70.1|71.1|72.1", 157),
    )
    wanted = [
        ["Benchmark", "Foo-3", "Bar-2", "Foo-3"],
        ["Active parameters", "400M", "1B", "800M"],
        ["Total parameters", "1B", "2B", "3B"],
    ]
    assert cells_of(page, rules(95, 138, 180))[:3] == wanted
    names = [word(text, left) for at in (130, 190, 250) for text, left in (("Foo", at), (f"0{at}", at + 18))]
    numbered = lines(  # names that hold numbers
        [word("Benchmark", 10), *names], *([*line.words] for line in page[1:])
    )
    assert [cells[0] for cells in cells_of(numbered, rules(95, 138, 180))[:3]] == [cells[0] for cells in wanted]


def test_one_word_between_two_rules_is_a_title_of_rows_and_not_the_header() -> None:
    page = lines(
        row("Model|QuizA|QuizB|QuizC", 100),
        [word("Closed", 133, top=123)],
        row("A-7B|60.1|61.1|62.1", 146),
        row("B-7B|70.1|71.1|72.1", 158),
    )
    assert cells_of(page, rules(95, 118, 141, 180))[:2] == [
        ["Model", "QuizA", "QuizB", "QuizC"],
        ["Closed", "", "", ""],
    ]


def test_a_page_of_thousands_of_rows_without_rules_is_divided_among_its_names() -> None:
    page = lines(row("Model|Metric|EN|ZH", 100, GROUPED))
    for at in range(1200):
        top = 125.0 + 24 * at
        page += lines(
            row("|Bleu|60.1|61.1", top, GROUPED),
            [word(f"Foo-{at}B", 40, top=top + 6)],
            row("|Comet|62.1|63.1", top + 12, GROUPED),
        )
    cells = cells_of(page, rules(95, 118, 30_000))[1:]
    assert [row[0] for row in cells[::2]] == [f"Foo-{at}B" for at in range(1200)]


def latex(head: str, *rows: str, caption: str = "Results.") -> Findings:
    lines = " \\\\\n".join([head, "\\midrule\n" + rows[0], *rows[1:]])
    text = f"\\begin{{table}}\\caption{{{caption}}}\n\\begin{{tabular}}{{lllll}}\n{lines} \\\\\n\\end{{tabular}}\\end{{table}}\n"
    return found(text, ".tex")


def test_whole_numbers_that_tell_rows_apart_are_a_label_and_no_score() -> None:
    rows = [f"Zeta-7B & {how} & {length} & {score}" for how, length, score in (
        ("full", 512, 29.5), ("full", 1024, 51.7), ("half", 512, 28.5), ("half", 1024, 41.7)
    )]  # fmt: skip
    claims = latex("Model & Cache & Ctx & Accuracy (95\\% CI)", *rows).claims
    assert [(c.benchmark, c.setting, c.value) for c in claims] == [
        ("Accuracy", "full, 512", 29.5),
        ("Accuracy", "full, 1024", 51.7),
        ("Accuracy", "half, 512", 28.5),
        ("Accuracy", "half, 1024", 41.7),
    ]


def test_counts_of_one_number_are_read_as_what_was_right() -> None:
    claims = latex("Model & ARC & MMLU", "Zeta-7B & 197/200 & 67.0", "Eta-9B & 192/200 & 64.4").claims
    assert [(c.benchmark, c.metric, c.value, c.unit) for c in claims] == [
        ("ARC", "correct", 197.0, "/200"),
        ("MMLU", "score", 67.0, ""),
        ("ARC", "correct", 192.0, "/200"),
        ("MMLU", "score", 64.4, ""),
    ]


def test_a_corner_that_names_a_benchmark_says_what_all_columns_were_measured_on() -> None:
    claims = latex("GSM8K & DAPO & VAPO", "Zeta-7B & 50.0 & 60.0", "Eta-9B & 73.0 & 79.0").claims
    assert [(c.model, c.benchmark, c.setting, c.value) for c in claims][:2] == [
        ("Zeta-7B", "GSM8K", "DAPO", 50.0),
        ("Zeta-7B", "GSM8K", "VAPO", 60.0),
    ]


def test_tables_side_by_side_on_a_page_are_two() -> None:
    def row(top: float, *texts: tuple[str, float]) -> list[Word]:
        return [word(text, left, top=top) for text, left in texts]

    words = [
        *row(100, ("Method", 100), ("MMLU", 160), ("Method", 350), ("GSM8K", 420)),
        *row(112, ("Zeta", 100), ("51.2", 160), ("Eta", 350), ("61.2", 420)),
        *row(124, ("Iota", 100), ("52.2", 160), ("Kappa", 350), ("62.2", 420)),
    ]
    lines = to_lines(words)
    tables = find_tables(lines, [])
    pieces = split_beside(tables[0], lines, [])
    assert [[word.text for word in piece] for piece in pieces if piece] == [
        ["Method", "MMLU", "Zeta", "51.2", "Iota", "52.2"],
        ["Method", "GSM8K", "Eta", "61.2", "Kappa", "62.2"],
    ]
    one = [word for word in words if word.text != "Method" or word.left < 200]
    assert not split_beside(find_tables(to_lines(one), [])[0], to_lines(one), [])
    # Between rules, a label and one number are a row: each half is a table of its own.
    rules = [Rule(98, 190, top) for top in (98, 110.5, 135)]
    assert len(find_tables(to_lines([word for word in words if word.left < 200]), rules)) == 1


def test_tables_side_by_side_in_pipes_are_two_and_a_dash_is_no_model() -> None:
    text = "| Model | QuizA | Model | QuizA |\n|---|---|---|---|\n| Foo-7B | 40.6 | Bar-7B | 44.3 |\n| Foo-9B | 28.2 | Bar-9B | 41.3 |\n"
    assert [(c.model, c.value) for c in found(text).claims] == [
        ("Foo-7B", 40.6),
        ("Foo-9B", 28.2),
        ("Bar-7B", 44.3),
        ("Bar-9B", 41.3),
    ]
    dashed = "| Kind | Model | MMLU | BBH |\n|---|---|---|---|\n| Open | Foo-7B | 40.6 | 1.5 |\n| Best ever | - | 50.6 | 2.5 |\n"
    assert [c.model for c in found(dashed).claims] == ["Foo-7B", "Foo-7B", "Best ever", "Best ever"]


def test_a_column_of_sizes_completes_names_unless_it_contradicts_the_sizes_that_they_state() -> None:
    head = "| Model | Params | QuizA |\n|---|---|---|\n| Foo | 7B | 50.1 |\n| Foo | 13B | 60.1 |\n"
    assert [c.model for c in found(head + "| Bar-v5 | 3B | 40.1 |\n").claims] == ["Foo 7B", "Foo 13B", "Bar-v5 3B"]
    counted = head + "| Bar-v5 | 3B | 40.1 |\n| Baz-8B | 7.6B | 55.1 |\n"
    assert [c.model for c in found(counted).claims] == ["Foo 7B", "Foo 13B", "Bar-v5", "Baz-8B"]
    files = "| Model | Size | MMLU |\n|---|---|---|\n| FooBERT | 417M | 50.1 |\n| BarBERT | 1.2G | 60.1 |\n"
    assert [c.model for c in found(files).claims] == ["FooBERT", "BarBERT"]


def test_averages_that_miss_by_little_may_be_weighted_where_one_set_of_weights_explains_all() -> None:
    head = "| Model | Math | Code | Avg. |\n|---|---|---|---|\n"
    alike = "| A-7B | 10.0 | 10.0 | 10.0 |\n| B-7B | 20.0 | 20.1 | 20.1 |\n| C-7B | 50.0 | 50.0 | 50.0 |\n"
    one = "| D-7B | 40.0 | 50.0 | 45.3 |\n"
    another = "| E-7B | 60.0 | 70.0 | 65.3 |\n"
    far = "| F-7B | 30.0 | 40.0 | 39.0 |\n"
    other_weights = "| G-7B | 60.0 | 70.0 | 64.6 |\n"
    equal = "| H-7B | 20.0 | 60.0 | 40.0 |\n"

    def severities(*rows: str) -> list[str]:
        return [c.severity for c in found(head + alike + "".join(rows)).conflicts]

    assert severities(one) == ["error"]
    assert severities(one, another) == ["warning", "warning"]  # Code counts 53 of 100, which A, B and C cannot tell
    assert severities(one, far) == ["error", "error"]
    assert severities(one, other_weights) == ["error", "error"]  # more than half here, less there
    assert severities(one, another, equal) == ["error", "error"]  # a plain mean of numbers that differ settles it
    # Two averages of a table may have weights of their own: 53 of 100 here, 46 there.
    both = "| Model | Math | Code | Avg. | Chat | Logic | Avg. |\n|---|---|---|---|---|---|---|\n"
    for name, at in {"A": 10.0, "B": 20.0, "C": 50.0}.items():
        both += f"| {name}-7B |" + f" {at} |" * 6 + "\n"
    both += "| D-7B | 40.0 | 50.0 | 45.3 | 40.0 | 50.0 | 44.6 |\n| E-7B | 60.0 | 70.0 | 65.3 | 60.0 | 70.0 | 64.6 |\n"
    assert [c.severity for c in found(both).conflicts] == ["warning"] * 4


def test_a_raised_plus_belongs_to_its_name_and_a_raised_number_does_not() -> None:
    assert [w.text for w in join_pieces([word("MBPP", 10), word("+", 30.2, top=98, size=6)])] == ["MBPP+"]
    assert [w.text for w in join_pieces([word("MBPP", 10), word("2", 30.2, top=98, size=6)])] == ["MBPP"]


def test_a_title_of_rows_below_the_header_is_no_row_of_it() -> None:
    claims = latex(
        " & \\multicolumn{2}{c}{Maths} & \\multirow{2}{*}{} \\\\ Method & GSM8K & MATH & AVG",
        "\\multicolumn{4}{l}{\\textbf{Baseline}} \\\\ Plain & 0.95 & 0.63 & 0.79",
        "\\multicolumn{4}{l}{\\textbf{Pruning}} \\\\ Random & 0.91 & 0.47 & 0.69",
        "Saved & 18.8\\% & 22.6\\% & 20.7\\%",
        "Greedy & 0.92 & 0.48 & 0.70",
    ).claims
    assert {c.model for c in claims} == {"Plain", "Random", "Greedy"}  # what is saved is no score
    assert [c.value for c in claims][:3] == [0.95, 0.63, 0.79]


def test_a_cell_over_several_rows_may_be_written_in_the_last_of_them() -> None:
    rows = [
        " & Zeta-7B & 50.1",
        "\\multirow{-2}{*}{Maths} & Eta-7B & 60.1",
        " & Zeta-7B & 51.1",
        "\\multirow{-2}{*}{Code} & Eta-7B & 61.1",
    ]
    claims = latex("Field & Model & QuizA", *rows).claims
    assert [(c.model, c.setting) for c in claims] == [
        ("Zeta-7B", "Maths"),
        ("Eta-7B", "Maths"),
        ("Zeta-7B", "Code"),
        ("Eta-7B", "Code"),
    ]


def test_a_scale_of_the_caption_that_several_rows_break_is_not_the_tables() -> None:
    head = (
        "Table 1: Results; QuizA is rated on a scale from 1 to 5.\n\n| Benchmark | Foo-7B | Bar-7B |\n|---|---|---|\n"
    )
    of_one = head + "| QuizA | 4.4 | 3.6 |\n| QuizB | 36.6 | 46.6 |\n| QuizC | 0.6 | 0.9 |\n"
    assert not found(of_one).conflicts
    of_all = head + "| QuizA | 4.4 | 3.6 |\n| QuizB | 3.6 | 46.6 |\n| QuizC | 2.6 | 1.9 |\n"
    assert [(c.type, c.severity) for c in found(of_all).conflicts] == [("invariant", "error")]


def test_values_of_one_cell_are_parts_of_what_stands_before_their_names() -> None:
    text = """
| Benchmark | Foo-7B | Bar-7B |
|---|---|---|
| LibriSpeech clean / other | 1.57 / 4.01 | 1.22 / 2.48 |
| QuizBench | 60.1 | 61.1 |
"""
    assert [(c.benchmark, c.setting) for c in found(text).claims][:4] == [
        ("LibriSpeech", "clean"),
        ("LibriSpeech", "other"),
    ] * 2


def test_columns_of_one_name_are_told_apart_by_a_row_of_sizes() -> None:
    text = """
| Benchmark | Foo-3 | Bar-2 | Foo-3 |
|---|---|---|---|
| Total parameters | 1B | 2B | 3B |
| MMLU | 60.1 | 61.1 | 62.1 |
| GSM8K | 70.1 | 71.1 | 72.1 |
"""
    assert {c.model for c in found(text).claims} == {"Foo-3 1B", "Bar-2 2B", "Foo-3 3B"}


def test_where_only_an_average_tells_it_stands_beside_benchmarks() -> None:
    """Corner and labels name nothing known: columns that an average is over are benchmarks, and so are such rows."""
    across = "| | Harvest | Meadow | Orchard | Average |\n|---|---|---|---|---|\n| Sentry | 71.0 | 60.5 | 66.2 | 65.9 |\n| Warden | 73.5 | 62.0 | 67.1 | 67.5 |\n"
    assert {(c.model, c.benchmark) for c in found(across).claims} >= {("Sentry", "Harvest"), ("Warden", "Orchard")}
    down = "| Set Name | Alpha CTC | Alpha RNNT |\n|---|---|---|\n| Far Field | 4.5 | 3.9 |\n| Crowd Talk | 2.8 | 2.4 |\n| Phone Calls | 18.6 | 17.4 |\n| **Average** | 8.6 | 7.9 |\n"
    assert {(c.model, c.benchmark) for c in found(down).claims} >= {
        ("Alpha CTC", "Far Field"),
        ("Alpha RNNT", "Phone Calls"),
    }
    counts = "| Split | Documents | Sentences |\n|---|---|---|\n| train | 310 | 9120 |\n| dev | 40 | 1180 |\n| Total | 350 | 10300 |\n"
    assert not found(counts).claims
    sizes = "| | 100 | 500 |\n|---|---|---|\n| If early | 0.57 | 0.52 |\n| If late | 0.55 | 0.38 |\n| Average | 0.56 | 0.45 |\n"
    assert not found(sizes).claims, "numbers are no models"


def test_lines_of_zeros_say_nothing_about_how_a_total_is_formed() -> None:
    head = "| Model | QuizA | QuizB | Total |\n|---|---|---|---|\n"
    zeros = "".join(f"| {name}-7B | 0.0 | 0.0 | 0.0 |\n" for name in ("A", "B", "C", "D"))
    pooled = "| E-7B | 10.0 | 20.0 | 17.0 |\n| F-7B | 40.0 | 60.0 | 54.0 |\n"
    assert not found(head + zeros + pooled).conflicts


def test_a_corner_with_a_slash_says_what_both_axes_hold() -> None:
    text = "## af-en\n\n| Translator/Dataset | harvest-test | meadow-dev |\n|---|---|---|\n| brightline | 89.9 | 90.1 |\n| oldmill | 81.9 | 81.0 |\n"
    text += "\n" + text.replace("af-en", "ar-en").replace("89.9", "79.9")
    claims = found(text).claims
    assert {(c.model, c.setting) for c in claims} == {
        (m, s) for m in ("brightline", "oldmill") for s in ("af-en", "ar-en")
    }


def test_a_total_that_counts_every_row_is_right_whatever_a_row_is_called() -> None:
    names = (
        "count",
        "membership",
        "impact",
        "direct",
        "isolation",
        "transitive",
        "hops",
        "paths",
        "forward",
        "reverse",
    )
    numbers = (12, 20, 34, 25, 27, 29, 44, 36, 26, 42)
    rows = "".join(f"| {name} | {n} | {n / 2.95:.1f}% |\n" for name, n in zip(names, numbers, strict=True))
    head = "| Subtype | n | Share |\n|---|---|---|\n"
    assert not found(f"{head}{rows}| Total | 295 | 100% |\n").conflicts
    assert [c.severity for c in found(f"{head}{rows}| Total | 299 | 100% |\n").conflicts] == ["error"]
