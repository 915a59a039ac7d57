"""Answers to the diagnostic items from their text alone.

A second implementation, which shares nothing with the templates. `solve(test, text)` gives the answer as text;
`keeps_rules(test, text, answer)` judges an answer where many are right.
"""

from __future__ import annotations

import ast
import csv
import datetime as dt
import decimal
import itertools
import json
import re
from collections import defaultdict


def block(text, number):
    """The paragraph of that number, from 0."""
    return text.split("\n\n")[number]


def numbers(text):
    return [int(found) for found in re.findall(r"\d+", text)]


def sort_unique(text):
    separator = re.search(r"\((.)\), without spaces", text)[1]
    words, kept = block(text, 1).split(" "), []
    while words:
        smallest = min(words)
        kept.append(smallest)
        words = [word for word in words if word != smallest]
    return separator.join(kept)


def nth_letters(text):
    place = int(re.search(r"the (\d)(?:nd|rd|th) letter", text)[1])
    return "".join(re.sub(rf"^.{{{place - 1}}}(.).*$", r"\1", word) for word in block(text, 1).split(" ")).upper()


def shift_then_drop_vowels(text):
    by = int(re.search(r"comes (\d) places later", text)[1])
    shifted = [mark if mark == "-" else chr((ord(mark) - 97 + by) % 26 + 97) for mark in block(text, 1)]
    return re.sub("[aeiou]", "", "".join(shifted))


def chained_transform(text):
    every = int(re.search(r"Remove every (\d)", text)[1])
    words = block(text, 1).split(" ")[::-1]
    words[::2] = [word.upper() for word in words[::2]]
    marks = list("_".join(words))
    del marks[every - 1 :: every]
    marks.reverse()
    return "".join(marks)


def sequence(text):
    first, times, plus, count, _ = numbers(text)
    # In closed form: a(n) = a(0) m^n + c (m^n - 1) / (m - 1).
    terms = [first * times**at + plus * (times**at - 1) // (times - 1) for at in range(count)]
    return ", ".join(str(term) for term in terms)


def half_up(value, decimals):
    return str(value.quantize(decimal.Decimal(1).scaleb(-decimals), rounding=decimal.ROUND_HALF_UP))


def ordered_arithmetic(text):
    start, times, minus, divisor = (
        int(re.search(rf"{word} (\d+)", text)[1]) for word in ("Start with", "Multiply by", "Subtract", "Divide by")
    )
    plus = decimal.Decimal(re.search(r"Add (\d+\.\d\d)\.", text)[1])
    with decimal.localcontext(prec=60):
        return half_up(decimal.Decimal(start * times - minus) / divisor + plus, 2)


def base_conversion(text):
    number, base = numbers(text)[:2]
    digits = []
    power = 1
    while power * base <= number:
        power *= base
    while power:
        digits.append("0123456789ABCDEF"[number // power])
        number, power = number % power, power // base
    return "".join(digits)


def filtered_sum(text):
    divisor, bound = re.search(r"divisible by (\d).*than (\d+)", text).groups()
    multiples = range(0, 1000, int(divisor))
    return str(sum(number for number in numbers(block(text, 1)) if number in multiples and number > int(bound)))


def unit_change(text):
    rates = {unit: decimal.Decimal(rate) for unit, rate in re.findall(r"1 (\w+) = ([\d.]+) (?:metres|grams)", text)}
    plural = {unit: unit for unit in rates} | {f"{unit}s": unit for unit in rates}
    plural |= {"feet": "foot", "inches": "inch"}
    amounts = re.findall(r"(\d+) (\w+)", text.split(", and give")[0])
    assert len(amounts) == len(rates) == 3
    total = sum(int(count) * rates[plural[unit]] for count, unit in amounts)
    return half_up(total / 1000, 3)


def rename_keys(text):
    given = block(text, 1)
    for old, new in re.findall(r'"(\w+)" becomes "(\w+)"', text):
        given = given.replace(f'"{old}":', f'"{new}":')
    return given


def filter_sort_csv(text):
    bound = int(re.search(r"age is (\d+) or more", text)[1])
    header, *rows = block(text, 1).split("\n")
    kept = [row.split(",") for row in rows if int(row.split(",")[1]) >= bound]
    kept.sort(key=lambda row: row[0])
    kept.sort(key=lambda row: int(row[3]), reverse=True)  # stable: names stay in order
    return "\n".join([header, *(",".join(row) for row in kept)])


def dates(text):
    given = [dt.datetime.strptime(line, "%d/%m/%Y") for line in block(text, 1).split("\n")]  # noqa: DTZ007
    return "\n".join(sorted(date.strftime("%Y-%m-%d") for date in given))


def group_totals(text):
    totals = defaultdict(int)
    for row in csv.DictReader(block(text, 1).split("\n")):
        totals[row["region"]] += int(row["units"]) * int(row["price"]) * (row["status"] == "shipped")
    names = sorted(totals)
    names.sort(key=totals.get, reverse=True)
    return "\n".join(f"{name}: {totals[name]}" for name in names)


def merge_by_key(text):
    names = dict(row.split(",") for row in block(text, 1).split("\n")[1:])
    payments = [row.split(",") for row in block(text, 3).split("\n")[1:]]
    found = [
        f"{number},{names[number]},{sum(int(amount) for other, amount in payments if other == number)}"
        for number in sorted(names)  # all have three digits
        if any(other == number for other, _ in payments)
    ]
    return "\n".join(["id,name,total", *found])


def markdown_table(text):
    columns = re.search(r"columns (\w+), (\w+) and (\w+)", text).groups()
    records = [dict(pair.split("=") for pair in line.split("; ")) for line in block(text, 1).split("\n")]
    rows = [columns, ("-", "-", "-"), *(tuple(record[column] for column in columns) for record in records)]
    return "\n".join("|".join(row) for row in rows)


def csv_to_json(text):
    def typed(name, cell):
        if cell == "":
            return None
        return {"age": int, "member": {"yes": True, "no": False}.get}.get(name, str)(cell)

    rows = csv.DictReader(block(text, 1).split("\n"))
    return json.dumps([{name: typed(name, cell) for name, cell in row.items()} for row in rows], indent=1)


def json_to_paths(text):
    # From the indented text itself, line by line: what is open, and how many elements each open array has had.
    found, path = [], []
    for line in text[text.index("{\n") : text.index("\n}\n") + 2].split("\n")[1:-1]:
        key, _, value = re.fullmatch(r'\s*(?:"(\w+)"(: ))?(.+?),?', line).groups()
        if value in "}]":
            path.pop()
            continue
        if key is None:
            path[-1][1] += 1
        step = [f".{key}", -1] if key else [f"[{path[-1][1]}]", -1]
        if value in "{[":
            path.append(step)
        else:
            name = "".join(part for part, _ in [*path, step]).removeprefix(".")
            found.append(f"{name}: {value.strip(chr(34))}")
    return "\n".join(found)


def exact_output(text):
    return block(text, 1).removeprefix("BEGIN ").removesuffix(" END")


SOLVERS = {
    "string:sort_unique": sort_unique, "string:nth_letters": nth_letters,
    "string:shift_then_drop_vowels": shift_then_drop_vowels, "string:chained_transform": chained_transform,
    "math:sequence": sequence, "math:ordered_arithmetic": ordered_arithmetic, "math:base_conversion": base_conversion,
    "math:filtered_sum": filtered_sum, "math:unit_change": unit_change, "data:rename_keys": rename_keys,
    "data:filter_sort_csv": filter_sort_csv, "data:dates": dates, "data:group_totals": group_totals,
    "data:merge_by_key": merge_by_key, "format:markdown_table": markdown_table, "format:csv_to_json": csv_to_json,
    "format:json_to_paths": json_to_paths, "constraint:exact_output": exact_output,
}  # fmt: skip


def banned_letters(text):
    """Rows of letters that keep the rules.

    All with the first letter that one must have, then the letters that are left.
    """
    count, low = numbers(text)[:2]
    first, second = re.search(r"letter (\w) or the letter (\w)", text).groups()
    start = re.search(r"word starts with the letter (\w)", text)[1]
    letters = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in (first, second)]
    rows = itertools.product(letters, repeat=low - 1)
    return " ".join(itertools.islice((start + "".join(row) for row in rows), count))


def shaped_lines(text):
    banned = re.search(r"The letter (\w) stands nowhere", text)[1]
    filler = "b" if banned != "b" else "c"
    shapes = re.findall(r"Line \d starts with the letter (\w) and has exactly (\d) words", text)
    return "\n".join(" ".join([letter, *[filler] * (int(count) - 1)]) for letter, count in shapes)


BUILDERS = {"constraint:banned_letters": banned_letters, "constraint:shaped_lines": shaped_lines}


def keeps_banned_letters(text, answer):
    count, low, high = numbers(text)[:3]
    banned = set(re.search(r"letter (\w) or the letter (\w)", text).groups())
    words = answer.split(" ")
    place, start = re.search(r"The (\d)\w\w word starts with the letter (\w)", text).groups()
    place = int(place)
    return (
        re.fullmatch("[a-z ]+", answer) is not None
        and len(words) == count == len(set(words))
        and all(low <= len(word) <= high and not banned & set(word) for word in words)
        and words == sorted(words)
        and words[place - 1].startswith(start)
    )


def keeps_shaped_lines(text, answer):
    banned = re.search(r"The letter (\w) stands nowhere", text)[1]
    shapes = re.findall(r"Line \d starts with the letter (\w) and has exactly (\d) words", text)
    lines = answer.split("\n")
    return len(lines) == len(shapes) and all(
        re.fullmatch(rf"{letter}[a-z]*( [a-z]+){{{int(count) - 1}}}", line) is not None and banned not in line
        for line, (letter, count) in zip(lines, shapes, strict=True)
    )


RULES = {"constraint:banned_letters": keeps_banned_letters, "constraint:shaped_lines": keeps_shaped_lines}


def literal(text):
    """A JSON text of ours as a Python value, read by Python's own parser."""
    return ast.literal_eval(
        re.sub(r"\bnull\b", "None", re.sub(r"\btrue\b", "True", re.sub(r"\bfalse\b", "False", text)))
    )
