"""What the places of words on a page say: turned and lowered text, tables beside running text, captions."""

from __future__ import annotations

import pytest

from adhere.evidence.check import findings_of, gather
from adhere.evidence.claims.names import benchmark_name
from adhere.evidence.findings import Claim
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.pdf.page import PageLine, Rule, Word, to_lines
from adhere.evidence.read.pdf.parts import split_page, split_wrapped
from adhere.evidence.read.pdf.rows import rows_of
from adhere.evidence.read.pdf.tables import find_tables
from adhere.evidence.read.pdf.words import join_pieces, upright

PROSE = "these are six words of text"


def word(text: str, left: float, *, top: float = 100.0, size: float = 10.0, gap: float = 5.0) -> Word:
    return Word(text, left, left + gap * len(text), top, top + size, size, bold=False)


def row(top: float, *texts: tuple[str, float]) -> list[Word]:
    return [word(text, left, top=top) for text, left in texts]


def cells_of(page: list[Word] | list[PageLine], rules: list[Rule]) -> list[list[str]]:
    lines = to_lines([w for w in page if isinstance(w, Word)]) or [line for line in page if isinstance(line, PageLine)]
    (table,) = find_tables(lines, rules)
    return [found.cells for found in rows_of(table)[0]]


def test_what_is_turned_is_read_upwards_and_stands_in_the_middle_of_its_rows() -> None:
    letters = [Word(text, 10, 20, 150 - 5 * at, 155 - 5 * at, 5, bold=False) for at, text in enumerate("Input")]
    (turned,) = upright(letters)
    assert (turned.text, turned.left, turned.top) == ("Input", 10, 137.5)
    page = [
        *row(100, ("Probe", 40), ("GCG", 120), ("MSJ", 170)),
        *row(120, ("Mean", 40), ("16.4", 120), ("90.1", 170)),
        *row(137, ("LogReg", 40), ("92.3", 120), ("91.1", 170)),
        *row(154, ("MLP", 40), ("95.6", 120), ("92.1", 170)),
        turned,
    ]
    rules = [Rule(5, 200, top) for top in (95, 115, 170)]
    assert cells_of(page, rules)[1:] == [
        ["Input", "Mean", "16.4", "90.1"],
        ["", "LogReg", "92.3", "91.1"],
        ["", "MLP", "95.6", "92.1"],
    ]


def test_a_page_of_nothing_but_turned_text_is_read() -> None:
    assert join_pieces([]) == []


def test_what_is_set_smaller_behind_a_number_is_its_spread_or_no_part_of_it() -> None:
    def pieces(*small: str) -> list[Word]:
        found = [word(text, 30 * at, top=80) for at, text in enumerate(PROSE.split())] + [word("48.93", 100)]
        for text in small:
            found.append(word(text, max(w.right for w in found if w.top >= 100), top=105, size=6, gap=3))
        return found

    assert [w.text for w in join_pieces(pieces("-", "7.07"))][-1:] == ["48.93"]
    assert [w.text for w in join_pieces(pieces("(", "±", "0.35", ")"))][-1] == "48.93 ±0.35"
    assert [w.text for w in join_pieces(pieces("max"))][-1] == "48.93max"


def test_numbers_that_name_groups_of_rows_are_labels() -> None:
    page = [
        *row(100, ("Ratio", 10), ("Method", 60), ("QuizA", 150), ("QuizB", 200)),
        *row(120, ("Random", 60), ("60.1", 150), ("61.1", 200)),
        *row(132, ("50%", 10), ("Greedy", 60), ("62.1", 150), ("63.1", 200)),
        *row(144, ("Ours", 60), ("64.1", 150), ("65.1", 200)),
    ]
    rules = [Rule(5, 230, top) for top in (95, 115, 160)]
    assert cells_of(page, rules)[:2] == [["Ratio", "Method", "QuizA", "QuizB"], ["50%", "Random", "60.1", "61.1"]]


def test_rules_that_begin_right_of_a_column_part_the_groups_of_the_others_alone() -> None:
    page: list[Word] = row(100, ("Set", 10), ("Split", 60), ("Way", 120), ("F1", 200), ("Acc", 250))
    for at, name in enumerate(("Random", "Popular")):
        page += row(120 + 36 * at, ("Plain", 120), ("60.1", 200), ("61.1", 250))
        page += row(125 + 36 * at, (name, 60))
        page += row(132 + 36 * at, ("VCD", 120), ("62.1", 200), ("63.1", 250))
        page += row(144 + 36 * at, ("Ours", 120), ("64.1", 200), ("65.1", 250))
    page += row(150, ("COCO", 10))
    rules = [*(Rule(5, 290, top) for top in (95, 115, 195)), Rule(55, 290, 155.2)]
    assert [cells[:3] for cells in cells_of(page, rules)[1:]] == [
        ["COCO", "Random", "Plain"],
        ["", "", "VCD"],
        ["", "", "Ours"],
        ["", "Popular", "Plain"],
        ["", "", "VCD"],
        ["", "", "Ours"],
    ]


def test_a_tick_is_of_its_row_and_a_column_of_dashes_is_one() -> None:
    page = [
        *row(100, ("GCM", 10), ("LGM", 50), ("QuizA", 100), ("QuizB", 150), ("QuizC", 200)),
        *row(120, ("60.1", 100), ("-", 160), ("61.1", 200)),
        *row(132, ("✓", 15), ("62.1", 100), ("-", 160), ("63.1", 200)),
        *row(144, ("✓", 55), ("64.1", 100), ("-", 160), ("65.1", 200)),
    ]
    rules = [Rule(5, 290, top) for top in (95, 115, 160)]
    assert cells_of(page, rules) == [
        ["GCM", "LGM", "QuizA", "QuizB", "QuizC"],
        ["", "", "60.1", "-", "61.1"],
        ["✓", "", "62.1", "-", "63.1"],
        ["", "✓", "64.1", "-", "65.1"],
    ]


def test_two_numbers_around_a_bar_are_one_column_wherever_the_others_stand() -> None:
    page = [
        *row(100, ("Set", 10), ("Foo-7B", 100), ("Bar-7B", 200)),
        *row(120, ("QuizA", 10), ("80.0", 100), ("/", 123), ("22.0", 131), ("81.0", 200), ("/", 223), ("17.0", 231)),
        *row(132, ("Mean", 10), ("51.0", 98), ("49.0", 215)),
    ]
    assert cells_of(page, [])[1:] == [["QuizA", "80.0 / 22.0", "81.0 / 17.0"], ["Mean", "51.0", "49.0"]]


def test_a_line_of_numbers_above_the_rule_of_a_header_is_of_the_header() -> None:
    page = [
        *row(80, ("CIFAR", 150)),
        *row(87, ("Methods", 10)),
        *row(94, ("500", 100), ("2000", 150), ("5000", 200)),
        *row(112, ("PTD", 10), ("18.9", 100), ("26.5", 150), ("39.0", 200)),
        *row(124, ("SOP", 10), ("37.2", 100), ("54.6", 150), ("67.4", 200)),
    ]
    rules = [*(Rule(5, 230, top) for top in (77, 108, 140)), Rule(95, 230, 91)]
    assert cells_of(page, rules)[-2:] == [["PTD", "18.9", "26.5", "39.0"], ["SOP", "37.2", "54.6", "67.4"]]
    assert all("18.9" not in cells and "500" not in cells[0] for cells in cells_of(page, rules)[:-2])


def test_a_table_that_text_flows_around_is_read_apart_from_it() -> None:
    def text(top: float, words: str = PROSE) -> list[Word]:
        return [word(one, 10 + 30 * at, top=top, gap=4.5) for at, one in enumerate(words.split())]

    beside = [one for top in range(103, 180, 12) for one in text(top)]
    wide = [one for top in (80, 200) for one in text(top, f"{PROSE} that goes on over its whole width")]
    table = [
        *row(100, ("Table", 210), ("1:", 240), ("Scores.", 255)),
        *row(130, ("Model", 210), ("QuizA", 260)),
        *row(147, ("Foo-7B", 210), ("60.1", 260)),
        *row(159, ("Bar-7B", 210), ("62.1", 260)),
    ]
    rules = [Rule(208, 290, top) for top in (126, 143, 172)]
    above, own, others = split_wrapped([*beside, *wide, *table], rules)
    assert [w.text for w in own] == [w.text for w in table]
    assert {w.top for w in above} == {80}
    assert len(others) == len(beside) + len(wide) // 2
    assert not split_wrapped([*beside, *wide, *table], [*rules, Rule(8, 290, 130)])  # the rule holds them together
    assert not split_wrapped([*beside, *wide, *table[3:]], rules)  # without a caption it may be a part of something


def test_the_last_line_of_a_caption_over_both_columns_may_be_short() -> None:
    def text(top: float, left: float, words: str) -> list[Word]:
        return [word(one, left + 45 * at, top=top, gap=8) for at, one in enumerate(words.split())]

    caption = [*text(20, 40, f"Table 1: {PROSE} {PROSE[:20]}"), *text(32, 40, "the best is bold")]
    table = [w for at in (60, 75, 90) for w in row(at, ("A-7B", 40), ("60.1", 200), ("61.1", 330), ("62.1", 500))]
    columns = [one for top in range(150, 500, 14) for left in (40, 320) for one in text(top, left, PROSE)]
    parts = split_page([*caption, *table, *columns], [Rule(30, 570, 50), Rule(30, 570, 105)], 610)
    assert {w.text for w in caption} <= {w.text for w in parts[0]}


def test_captions_stand_where_most_tables_of_the_document_have_them() -> None:
    table = "| Model | QuizA |\n|---|---|\n| Foo-7B | 50.1 |\n| Bar-7B | 60.1 |\n"
    first, second, third = (f"Table {number}: Scores.\n" for number in (1, 2, 3))
    text = (
        f"{table}\n{first}\n{table}\n{second}\n{table}\nText.\n\n{third}\n{table}\nText.\n\nTable 4: More.\n\n{table}"
    )
    labels = [found.label for found in parse_document(text.encode(), name="a", suffix=".md").tables]
    assert labels == ["", "Table 1", "Table 2", "Table 3", "Table 4"]


def test_a_header_whose_rows_are_ruled_begins_below_the_caption() -> None:
    page = [
        *row(60, ("Table", 10), ("1:", 40), ("Scores.", 55)),
        *row(80, ("Extractor", 10), ("WER", 190)),
        *row(95, ("Type", 10), ("Name", 60), ("clean", 150), ("other", 220)),
        *row(112, ("Fixed", 10), ("Gamma", 60), ("3.0", 150), ("7.1", 220)),
        *row(124, ("NN", 10), ("Mel", 60), ("2.9", 150), ("6.9", 220)),
    ]
    rules = [Rule(5, 250, top) for top in (76, 92, 108, 121, 136)]
    upper, *_, lower = cells_of(page, rules)[:-2]
    assert (upper[2:], lower) == (["WER", "WER"], ["Type", "Name", "clean", "other"])


def test_a_blank_column_before_the_first_one_of_numbers_is_none() -> None:
    page = [
        *row(100, ("Layers", 10), ("Dim", 60), ("QuizA", 110)),
        *row(112, ("6", 20), ("512", 60), ("60.1", 110)),
        *row(124, ("64", 62), ("61.1", 110)),
    ]
    assert cells_of(page, []) == [["Layers", "Dim", "QuizA"], ["6", "512", "60.1"], ["", "64", "61.1"]]


def test_marks_behind_a_citation_are_none_of_its_name_and_an_accent_is_of_its_letter() -> None:
    usual = [word(text, 40 * at, top=60) for at, text in enumerate(PROSE.split())]
    small = [word(text, 45 + 9 * at, top=98, size=6) for at, text in enumerate(("w,", "p"))]
    assert [w.text for w in join_pieces([*usual, word("(2017)", 15), *small])][-1] == "(2017)"
    assert [w.text for w in join_pieces([*usual, word("Ta\u00a8ck", 15)])][-1] == "T\u00e4ck"


def test_amounts_between_the_rule_over_a_table_and_short_rules_are_its_header() -> None:
    page = [
        *row(60, ("Table", 10), ("1:", 40), ("Scores", 55)),
        *row(72, ("as", 10), ("cited.", 30)),
        *row(90, ("RULER", 10), ("128K", 100), ("512K", 150), ("1000K", 200)),
        *row(106, ("Foo-7B", 10), ("89.1", 100), ("78.4", 150), ("72.8", 200)),
        *row(118, ("Bar-7B", 10), ("93.9", 100), ("90.9", 150), ("84.5", 200)),
        *row(134, ("Baz-7B", 10), ("83.9", 100), ("80.9", 150), ("74.5", 200)),
    ]
    short = [Rule(left, right, top) for top in (102, 131) for left, right in ((8, 125), (130, 240))]
    head = Rule(5, 245, 40)  # of the page
    assert cells_of(page, [head, Rule(5, 245, 86), *short, Rule(5, 245, 148)])[0] == ["RULER", "128K", "512K", "1000K"]


@pytest.mark.parametrize("label", ["Table (2)", "TABLE II:", "Table 2."])
def test_labels_of_captions(label: str) -> None:
    text = f"{label} Scores.\n\n| Model | QuizA |\n|---|---|\n| Foo-7B | 50.1 |\n"
    (table,) = parse_document(text.encode(), name="a", suffix=".md").tables
    assert table.caption.startswith(label)
    assert table.label == {"TABLE II:": "Table II"}.get(label, "Table 2")


def claims_of(table: str) -> list[Claim]:
    return findings_of(gather([parse_document(table.encode(), name="a", suffix=".md")])).claims


def test_one_letter_beside_measures_is_set_and_a_word_over_measures_names_nothing() -> None:
    table = (
        "| Method | S | Acc | P | R | F1 |\n|---|---|---|---|---|---|\n| Foo-7B | 9.5 | 81.5 | 94.2 | 48.4 | 63.9 |\n"
    )
    assert [claim.value for claim in claims_of(table)] == [81.5, 94.2, 48.4, 63.9]
    over = "<table><tr><th></th><th colspan=2>Metrics</th></tr><tr><th>Model</th><th>Pass@1</th><th>Pass@3</th></tr>"
    body = "<tr><td>Foo-7B</td><td>9.5</td><td>81.5</td></tr></table>"
    found = findings_of(gather([parse_document((over + body).encode(), name="a", suffix=".html")])).claims
    assert [claim.benchmark for claim in found] == ["Pass@1", "Pass@3"]


def test_values_of_a_cell_may_be_named_beside_the_label_of_their_row() -> None:
    table = "| Dataset | Metric | Foo-7B | Bar-7B |\n|---|---|---|---|\n| QuizA | S / U | 80.0 / 22.0 | 81.0 / 17.0 |\n"
    assert [claim.setting for claim in claims_of(table)] == ["S", "U", "S", "U"]


def test_a_name_that_ends_in_base_says_nothing_of_models() -> None:
    table = "Table 1: Scores on SCI-Base.\n\n| Model | QuizA |\n|---|---|\n| ChatGLM | 50.1 |\n"
    assert [claim.tuning for claim in claims_of(table)] == [""]


def test_columns_of_pairs_of_languages_were_measured_on_models_of_any_name() -> None:
    table = "| SFT | EN⇒XX | XX⇒EN |\n|---|---|---|\n| Plain | 50.1 | 51.1 |\n| Tagged | 52.1 | 53.1 |\n"
    assert [claim.model for claim in claims_of(table)] == ["Plain", "Plain", "Tagged", "Tagged"]


CLAIMS = [
    (
        "| GCM | LGM | QuizA |\n|---|---|---|\n| | | 50.1 |\n| ✓ | | 51.1 |\n| ✓ | ✓ | 52.1 |\n",
        ["w/o GCM, w/o LGM", "GCM", "GCM + LGM"],
    ),
    (
        "| Layers | Trainable | WER |\n|---|---|---|\n| 6 | yes | 50.1 |\n| | no | 51.1 |\n| 5 | yes | 52.1 |\n",
        ["Layers 6 Trainable yes", "Layers 6 Trainable no", "Layers 5 Trainable yes"],
    ),
    (
        "| lang. | de | es |\n|---|---|---|\n| Foo et al. (2012) | 50.1 | 1.5 |\n| Bar | 51.1 | 2.5 |\n",
        ["Foo et al. (2012)", "Foo et al. (2012)", "Bar", "Bar"],
    ),
]


@pytest.mark.parametrize(("table", "models"), CLAIMS)
def test_rows_without_a_known_name_are_what_they_tick_state_or_cite(table: str, models: list[str]) -> None:
    assert [claim.model for claim in claims_of(table)] == models


def test_a_measure_that_begins_with_the_name_of_another_is_its_own() -> None:
    assert benchmark_name("ACC+Perf").name == "ACC+Perf"


def test_the_first_group_below_the_rule_of_a_header_names_its_rows_and_no_columns() -> None:
    page = [
        *row(100, ("Model", 10), ("Clean", 150), ("Noisy", 200)),
        *row(121, ("Baselines", 10)),
        *row(135, ("Zero-shot", 10), ("2.23", 150), ("37.84", 200)),
        *row(147, ("Tuned", 10), ("1.19", 150), ("17.65", 200)),
        *row(161, ("Adapters", 10)),
        *row(175, ("A64", 10), ("1.71", 150), ("25.80", 200)),
        *row(187, ("A128", 10), ("1.64", 150), ("25.70", 200)),
    ]
    rules = [Rule(5, 230, top) for top in (95, 116, 119, 132, 159, 172, 200)]  # groups are ruled above and below
    (table,) = find_tables(to_lines(page), rules)
    rows, headers = rows_of(table)
    assert [found.cells for found in rows[:headers]] == [["Model", "Clean", "Noisy"]]
    assert rows[headers].cells == ["Baselines", "", ""]


def test_a_header_of_many_words_between_two_rules_is_read_once() -> None:
    names = [(f"M{at}", 20 + 40 * at) for at in range(14)]  # one stands in the middle of the page
    numbers = [(f"{at}.1", left) for at, (_, left) in enumerate(names)]
    columns = [
        one
        for at in range(20)
        for left in (30, 320)
        for one in row(200 + 12 * at, *((part, left + 45 * place) for place, part in enumerate(PROSE.split())))
    ]
    header = row(65, *names)
    page = [*row(54, ("SetA", 250), ("SetB", 350)), *header, *row(78, *numbers), *row(90, *numbers), *columns]
    parts = split_page(page, [Rule(30, 590, top) for top in (53, 64, 76, 110)], 610)
    assert len(parts) == 3
    assert [one.text for one in parts[0] if one in header] == [name for name, _ in names]


def test_captions_in_capitals_end_with_their_roman_number() -> None:
    page = [
        *row(100, ("TABLE", 60), ("V", 92)),
        *row(112, ("SIZE", 30), ("AND", 60), ("SCORES", 85)),
        *row(130, ("Size", 10), ("QuizA", 100), ("QuizB", 150)),
        *row(150, ("Small", 10), ("60.1", 100), ("61.1", 150)),
        *row(162, ("Large", 10), ("62.1", 100), ("63.1", 150)),
    ]
    (found,) = find_tables(to_lines(page), [Rule(5, 180, top) for top in (126, 145, 178)])
    assert found.lines[0].text.startswith("Size")
    text = "TABLE V SIZE AND SCORES\n\n| Model | QuizA |\n|---|---|\n| Foo-7B | 60.1 |\n| Bar-7B | 61.1 |\n"
    (read,) = parse_document(text.encode(), name="a", suffix=".md").tables
    assert read.name == "TABLE V" or read.name == "Table V"


def test_ranks_and_intervals_beside_scores_are_of_their_cells() -> None:
    page = [
        *row(100, ("Model", 10), ("P1", 100), ("Probe", 115), ("Gap", 170)),
        *row(120, ("Foo", 10), (".995", 100), ("(1.5)", 128), ("84.2", 165), ("[82.0,", 190), ("85.7]", 225)),
        *row(132, ("Bar", 10), (".832", 100), ("(3)", 130), ("7.9", 165), ("[5.8,", 190), ("9.4]", 225)),
    ]
    rules = [Rule(5, 260, top) for top in (95, 115, 150)]
    assert cells_of(page, rules) == [
        ["Model", "P1 Probe", "Gap"],
        ["Foo", ".995 (1.5)", "84.2 [82.0, 85.7]"],
        ["Bar", ".832 (3)", "7.9 [5.8, 9.4]"],
    ]


def test_a_text_over_one_column_is_its_label_whole() -> None:
    page = [
        *row(100, ("Way", 10), ("All", 66), ("AUROC", 85.5), ("Aff.", 150)),
        *row(120, ("Longer-name-2", 10), ("0.8170", 80), ("0.792", 150)),
        *row(132, ("Other", 10), ("0.8190", 80), ("0.794", 150)),
    ]
    rules = [Rule(5, 200, top) for top in (95, 115, 150)]
    assert cells_of(page, rules)[0] == ["Way", "All AUROC", "Aff."]


def test_numbers_of_settings_in_a_name_are_no_columns() -> None:
    page = [
        *row(100, ("Model", 10), ("MATH", 150), ("AMC", 200)),
        *row(120, ("DPO", 10), ("(β", 28), ("=", 41), ("0.1)", 49), ("81.3", 150), ("58.5", 200)),
        *row(132, ("REDI", 10), ("(α", 33), ("=", 46), ("0.8)", 54), ("81.7", 150), ("58.8", 200)),
        *row(144, ("Plain", 10), ("(α", 38), ("=", 51), ("1.0)", 59), ("80.1", 150), ("57.1", 200)),
    ]
    rules = [Rule(5, 260, top) for top in (95, 115, 160)]
    assert cells_of(page, rules)[1:] == [
        ["DPO (β = 0.1)", "81.3", "58.5"],
        ["REDI (α = 0.8)", "81.7", "58.8"],
        ["Plain (α = 1.0)", "80.1", "57.1"],
    ]


def test_numbers_before_the_names_of_rows_say_which_rows_they_are() -> None:
    page = [
        *row(
            100,
            ("ID", 10),
            ("System", 30),
            ("and", 65),
            ("its", 85),
            ("type", 105),
            ("of", 130),
            ("P", 150),
            ("R", 200),
        ),
        *row(120, ("1", 10), ("Wren", 30), ("0.53", 145), ("0.52", 195)),
        *row(132, ("2", 10), ("Lark", 30), ("0.55", 145), ("0.49", 195)),
        *row(144, ("3", 10), ("Finch", 30), ("0.46", 145), ("0.47", 195)),
    ]
    rules = [Rule(5, 260, top) for top in (95, 115, 160)]
    assert cells_of(page, rules)[1:] == [
        ["1", "Wren", "0.53", "0.52"],
        ["2", "Lark", "0.55", "0.49"],
        ["3", "Finch", "0.46", "0.47"],
    ]


def test_a_header_set_as_closely_as_text_stands_over_its_columns() -> None:
    names = (
        ("ID", 10),
        ("Kind", 25),
        ("of", 50),
        ("the", 65),
        ("system", 85),
        ("used", 120),
        ("Prec", 145),
        ("Rec", 170),
    )
    page = [
        *row(100, *names, ("F1", 190)),
        *row(120, ("Wren", 10), ("0.53", 145), ("0.52", 167), ("0.52", 189)),
        *row(132, ("Lark", 10), ("0.55", 145), ("0.49", 167), ("0.51", 189)),
    ]
    rules = [Rule(5, 260, top) for top in (95, 115, 150)]
    assert cells_of(page, rules)[0][-2:] == ["Rec", "F1"]
