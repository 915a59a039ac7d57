"""The examiner examined.

Clean documents are consistent when recomputed from their text, planted ones differ where they say they do.
"""

from __future__ import annotations

import itertools
import re
from decimal import Decimal

import pytest

from evidence_documents.document import Document, Paragraph, Sentence, Table, render
from evidence_documents.generator import clean_documents, scored
from evidence_documents.planted import Case, clean_case, planted_case
from evidence_documents.slips import TYPES, PlantType

SEEDS = range(30)
MEANS = {"Avg.", "Average", "Mean", "AVG", "Macro avg."}
ROUNDING = {0: Decimal("0.55"), 1: Decimal("0.11"), 2: Decimal("0.011")}


def numbers(text: str) -> list[Decimal]:
    return [Decimal(number.replace(",", "")) for number in re.findall(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?", text)]


def pipe_tables(text: str) -> list[tuple[str, list[list[str]]]]:
    """Tables of a Markdown text read anew: the nearest caption and the rows of cells, the divider left out."""
    lines = text.splitlines()
    found = []
    for is_table, group in itertools.groupby(enumerate(lines), lambda pair: pair[1].startswith("|")):
        if not is_table:
            continue
        rows = list(group)
        near = [*lines[rows[-1][0] + 1 : rows[-1][0] + 5], *lines[max(0, rows[0][0] - 2) : rows[0][0]]]
        captions = [line for line in near if re.search(r"^\W*Table \d+", line) and not line.startswith("|")]
        cells = [[cell.strip() for cell in row.strip("|").split("|")] for _, row in rows]
        content = [row for row in cells if not set(row[0]) <= set(":- ") or row[0] == ""]
        found.append((captions[-1] if captions else "", content[1:] if "Open-weight models" in content[0] else content))
    return found


def value(cell: str) -> Decimal | None:
    found = numbers(re.sub(r"_\{\\pm.*|±.*|\\textbf|\\mathbf|[*${}]", "", cell))
    return found[0] if len(found) == 1 else None


def places(number: Decimal) -> int:
    return -int(number.as_tuple().exponent)


def markdown_documents() -> list[Document]:
    return [
        document
        for seed in SEEDS
        for document in clean_documents(seed)
        if document.look.markup == "md" and not document.look.mojibake
    ]


def test_same_seed_same_documents() -> None:
    assert clean_case(7) == clean_case(7)
    assert planted_case(3, ("swap",)) == planted_case(3, ("swap",))
    assert clean_case(7) != clean_case(8)


def tables_with_plain_means() -> list[tuple[str, list[list[str]]]]:
    return [
        (document.name, rows)
        for document in markdown_documents()
        for caption, rows in pipe_tables(render(document).text)
        if not re.search("weighted|official|micro-average", caption)
    ]


def test_average_columns_of_clean_documents_hold_when_recomputed() -> None:
    checked = 0
    for name, rows in tables_with_plain_means():
        for column in [index for index, head in enumerate(rows[0]) if head in MEANS]:
            for row in rows[1:]:
                mean = value(row[column])
                aside = {0, column} | {index for index, head in enumerate(rows[0]) if head in {"Rank", "# Params"}}
                others = [value(cell) for index, cell in enumerate(row) if index not in aside]
                known = [other for other in others if other is not None]
                if mean is not None and len(known) == len(row) - len(aside) and " − " not in row[0]:
                    assert abs(mean - sum(known) / len(known)) <= ROUNDING[places(mean)], (name, row)
                    checked += 1
    assert checked > 60


def test_average_rows_of_clean_documents_hold_when_recomputed() -> None:
    checked = 0
    for name, rows in tables_with_plain_means():
        by_section = any(row[0].split(" (")[0] in MEANS and "(" in row[0] for row in rows)
        above: list[list[str]] = []
        for row in rows[1:]:
            if row[0].split(" (")[0] in MEANS:
                for column in range(1, len(row)):
                    mean, parts = value(row[column]), [value(other[column]) for other in above]
                    printed = [part for part in parts if part is not None]
                    if mean is not None and printed:
                        assert abs(mean - sum(printed) / len(printed)) <= ROUNDING[places(mean)], (name, row)
                        checked += 1
                above = []
            elif not any(row[1:]) or (row[0] == "" and all(value(cell) is None for cell in row[1:])):
                above = [] if by_section else above  # a section heading
            elif not row[0].startswith("#"):
                above.append(row)
    assert checked > 60


def test_differences_totals_and_shares_of_clean_documents_hold() -> None:
    differences = totals = 0
    for document in markdown_documents():
        for caption, rows in pipe_tables(render(document).text):
            if "ontamination" in caption or "near-duplicates" in caption:
                for row in rows[2:]:
                    for start in range(2, len(row), 3):
                        before, after, delta = (value(cell) for cell in row[start : start + 3])
                        assert before is not None
                        assert after is not None
                        assert delta is not None
                        assert abs(after - before - delta) <= Decimal("0.11"), (document.name, row)
                        differences += 1
            if rows[0][1:2] == ["# Examples"]:
                counts = [value(row[1]) for row in rows[1:]]
                shares = [value(row[2]) for row in rows[1:]]
                total = counts.pop()
                assert sum(count for count in counts if count is not None) == total
                for count, share in zip(counts, shares, strict=False):
                    assert count is not None
                    assert total is not None
                    assert share is not None
                    assert abs(100 * count / total - share) <= Decimal("0.051")
                totals += 1
    assert differences > 30
    assert totals > 1


def test_bold_marks_of_clean_documents_are_on_the_best_of_their_row() -> None:
    checked = 0
    for document in markdown_documents():
        for caption, rows in pipe_tables(render(document).text):
            if not re.search(r"Best results are in bold|best score of each row is bold", caption) or "ower" in caption:
                continue
            for row in rows[1:]:
                cells = [cell for cell in row[1:] if "+" not in cell and not cell.startswith("-")]
                shown = {index: number for index, cell in enumerate(cells) if (number := value(cell)) is not None}
                marked = {index for index in shown if "**" in cells[index] or "bf" in cells[index]}
                if row[0].startswith("#") or not marked:
                    continue
                assert marked == {index for index, number in shown.items() if number == max(shown.values())}, (
                    document.name,
                    row,
                )
                checked += 1
    assert checked > 50


def test_two_clean_documents_agree_on_every_score_both_print() -> None:
    compared = 0
    for seed in SEEDS:
        documents = clean_documents(seed)
        if len(documents) < 2:
            continue
        first, second = (scored(document) for document in documents)
        for key in first.keys() & second.keys():
            for (_, one), (_, other) in itertools.product(first[key], second[key]):
                assert abs(one - other) <= (Decimal("0.5") if 0 in {places(one), places(other)} else 0), (seed, key)
                compared += 1
    assert compared > 300


def spoken(documents: list[Document]) -> list[tuple[Document, Sentence]]:
    return [
        (document, sentence)
        for document in documents
        for block in document.blocks
        if isinstance(block, Paragraph)
        for sentence in block.sentences
    ]


def used(document: Document, sentence: Sentence) -> list[Decimal]:
    values = []
    for place in sentence.uses:
        table = document.blocks[place.block]
        assert isinstance(table, Table)
        values.append(table.cell(place.row, place.column).values[0])
    return values


def test_sentences_of_clean_documents_say_what_their_tables_say() -> None:
    """Each wording is read back with its own pattern and recomputed from the cells.

    Every false version must fail the same reading.
    """
    checked = dict.fromkeys(("gain", "pair", "range", "count", "relative"), 0)

    def holds(kind: str, text: str, cells: list[Decimal]) -> bool:
        if kind == "gain":
            gap = re.search(r"([\d.]+)[ -]point", text)
            assert gap is not None
            return Decimal(gap[1]) == abs(cells[0] - cells[1])
        if kind == "pair":
            pair = re.search(r"\(([\d.]+) (?:vs\.|versus) ([\d.]+)\)", text)
            assert pair is not None
            better = any(
                verb in text for verb in ("surpasses", "outperforms", "better", "exceeds", "beats", "ahead of")
            )
            return [Decimal(pair[1]), Decimal(pair[2])] == cells[:2] and better == (cells[0] > cells[1])
        if kind == "range":
            bounds = re.search(r"from ([\d.]+) to ([\d.]+)\.", text)
            assert bounds is not None
            return (Decimal(bounds[1]), Decimal(bounds[2])) == (min(cells), max(cells))
        if kind == "relative":
            gain = re.search(r"of ([\d.]+)%", text)
            assert gain is not None
            return abs(Decimal(gain[1]) - 100 * (cells[0] - cells[1]) / cells[1]) <= Decimal("0.051")
        words = [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
        ]
        found = re.search(r"on (\w+) (?:of the|of|out of) (\w+) ", text)
        assert found is not None
        wins, total = (words.index(word) if word in words else int(word) for word in found.groups())
        half = len(cells) // 2
        return total == half and wins == sum(
            mine > other for mine, other in zip(cells[:half], cells[half:], strict=True)
        )

    for seed in range(60):
        for document, sentence in spoken(clean_documents(seed)):
            patterns = {
                "gain": r"by \d+\.\d+ points|\d\.\d+ points (?:over|ahead|lower)|\d-point",
                "pair": r" (?:vs\.|versus) [\d.]+\)",
                "range": "range from",
            }
            patterns |= {
                "relative": "relative improvement",
                "count": r"(?:outperforms|surpasses|wins against|leads) \S+ on \w+ (?:of|out of)",
            }
            kinds = [kind for kind, pattern in patterns.items() if sentence.uses and re.search(pattern, sentence.text)]
            for kind in kinds:
                cells = used(document, sentence)
                assert holds(kind, sentence.text, cells), (document.name, sentence.text, cells)
                checked[kind] += 1
    assert all(count >= 5 for count in checked.values()), checked


def changed_lines(case: Case) -> set[tuple[str, int]]:
    changed = set()
    for planted, clean in zip(case.documents, case.clean, strict=True):
        pairs = zip(planted.text.splitlines(), clean.text.splitlines(), strict=True)
        changed |= {(planted.name, number) for number, (new, old) in enumerate(pairs, start=1) if new != old}
    return changed


@pytest.mark.parametrize("kind", TYPES)
def test_planted_documents_differ_from_their_twins_on_planted_lines_only(kind: PlantType) -> None:
    for seed in range(6):
        case = planted_case(seed, (kind,))
        changed = changed_lines(case)
        (plant,) = case.plants
        assert plant.type == kind
        assert changed, case.name
        assert changed <= plant.lines, (case.name, plant, changed - plant.lines)
        assert not plant.lines & plant.consequences
        if kind in {"swap", "emphasis"} and all(name.endswith(".md") for name, _ in plant.lines):
            assert changed == plant.lines
        if kind == "cross_document":
            assert len({document for document, _ in plant.lines}) == 2


@pytest.mark.parametrize("kind", ["cross_document", "arithmetic", "invariant"])
def test_ground_truth_names_the_line_with_the_new_number(kind: PlantType) -> None:
    for seed in range(6):
        case = planted_case(seed, (kind,))
        (plant,) = case.plants
        (said,) = plant.cells
        name, new = said.split(", ")[0], said.rsplit(" -> ", 1)[1]
        (line,) = [line for document, line in changed_lines(case) if document == name]
        text = next(document.text for document in case.documents if document.name == name).splitlines()[line - 1]
        assert Decimal(new) in numbers(strip(text)), (new, text)


def test_a_swap_exchanges_two_numbers_of_one_row() -> None:
    for seed in range(8):
        case = planted_case(seed, ("swap",), markup="md")
        for name, line in [place for place in case.plants[0].lines if place[0].endswith(".md")]:
            new, old = (
                next(document.text for document in documents if document.name == name).splitlines()[line - 1]
                for documents in (case.documents, case.clean)
            )
            different = [(a, b) for a, b in zip(numbers(strip(old)), numbers(strip(new)), strict=True) if a != b]
            assert len(different) == 2
            assert different[0] == different[1][::-1]


def strip(text: str) -> str:
    return re.sub(r"[*${}<>|]|mathbf|textbf|\\|</?t[dr]>", " ", text.replace("−", "-").replace("‚àí", "-"))


def test_a_rotation_moves_headers_and_leaves_the_numbers() -> None:
    for seed in range(6):
        case = planted_case(seed, ("header_rotation",))
        (changed,) = changed_lines(case)
        texts = [
            next(document.text for document in documents if document.name == changed[0]).splitlines()[changed[1] - 1]
            for documents in (case.documents, case.clean)
        ]
        new, old = (re.split(r"\s{2,}|\||</?th>", text) for text in texts)
        assert sorted(part.strip() for part in new if part.strip()) == sorted(
            part.strip() for part in old if part.strip()
        )
        assert new != old


def test_several_errors_keep_clear_of_each_other() -> None:
    case = planted_case(1, ("cross_document", "arithmetic", "emphasis"))
    assert [plant.type for plant in case.plants] == ["cross_document", "arithmetic", "emphasis"]
    for one, other in itertools.combinations(case.plants, 2):
        assert not one.lines & (other.lines | other.consequences)
        assert not other.lines & one.consequences


def test_documents_come_in_every_format_and_the_kinds_of_error_in_every_detail() -> None:
    formats = {document.look.markup for seed in SEEDS for document in clean_documents(seed)}
    assert formats == {"md", "html", "txt"}
    kinds = {planted_case(seed, ("arithmetic",)).plants[0].detail for seed in range(6)}
    assert {"mean", "sum", "share"} < kinds
