"""Templates about data processing, five in all; every sort order and every tie has a stated rule."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import random
from collections.abc import Iterable, Sequence

from adhere.constraints.kinds.held_out.exact import JsonValue, Lines, TableRows
from adhere.suites.generated.diagnostic.items import CITIES, NAMES, WORDS, Item, Template

_REGIONS = ("North", "South", "East", "West", "Centre")
_FIELDS = (
    ("first_name", "given"), ("city", "town"), ("age", "years"), ("points", "score"), ("active", "enabled"),
    ("color", "shade"), ("weight", "grams"), ("team", "group"),
)  # fmt: skip


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, quoted only if necessary."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().rstrip("\n")


def rename_keys(rng: random.Random) -> Item:
    """Draw an item: rename some keys of a JSON object and keep its values."""
    fields = rng.sample(_FIELDS, 5)
    values: dict[str, object] = {
        "first_name": rng.choice(NAMES), "city": rng.choice(CITIES), "age": rng.randint(18, 90),
        "points": rng.randint(100, 9999), "active": rng.choice((True, False)), "color": rng.choice(WORDS),
        "weight": rng.randint(10, 999), "team": rng.choice(WORDS),
    }  # fmt: skip
    original = {old: values[old] for old, _ in fields}
    new_names = dict(rng.sample(fields, 3))
    changes = "\n".join(f'"{old}" becomes "{new}"' for old, new in new_names.items())
    text = (
        f"Here is a JSON object:\n\n{json.dumps(original)}\n\n"
        f"Rename three of its keys:\n{changes}\n\n"
        "The other keys and all values stay as they are. The order of the keys does not matter.\n\n"
        "Output only the resulting JSON object and nothing else."
    )
    return Item(
        text, JsonValue(json.dumps({new_names.get(old, old): value for old, value in original.items()}), "json")
    )


def filter_sort_csv(rng: random.Random) -> Item:
    """Draw an item: filter the rows of a CSV table by a condition and sort them by two columns."""
    bound = rng.randint(30, 50)
    scores = rng.sample(range(40, 100), 4)
    fitting = [[rng.randint(bound, 75), score] for score in (scores[0], *scores[:3])]  # two rows share a score
    left_out = [[rng.randint(18, bound - 1), rng.choice(scores)] for _ in range(4)]
    rows = [
        (name, age, city, score)
        for name, city, (age, score) in zip(
            rng.sample(NAMES, 8), rng.sample(CITIES, 8), [*fitting, *left_out], strict=True
        )
    ]
    rng.shuffle(rows)
    header = ("name", "age", "city", "score")
    text = (
        f"Here is a table as CSV:\n\n{csv_text([header, *rows])}\n\n"
        f"Keep only the rows whose age is {bound} or more. Sort them by score, from the highest to the lowest; "
        "rows with the same score are sorted by name, from A to Z.\n\n"
        "Output the result as CSV, with the same header and the same columns in the same order, and nothing else."
    )
    chosen = sorted((row for row in rows if row[1] >= bound), key=lambda row: (-row[3], row[0]))
    return Item(text, TableRows(csv_text([header, *chosen]), "csv"))


def dates(rng: random.Random) -> Item:
    """Draw an item: rewrite dates from day/month/year to year-month-day and sort them."""
    days = rng.sample(range(dt.date(1990, 1, 1).toordinal(), dt.date(2029, 12, 31).toordinal()), 6)
    six_dates = [dt.date.fromordinal(day) for day in days]
    listing = "\n".join(f"{date.day:02d}/{date.month:02d}/{date.year}" for date in six_dates)
    text = (
        f"Here are six dates, each written as day/month/year (the day comes first):\n\n{listing}\n\n"
        "Write each date as year-month-day with four digits for the year and two digits each for month and day "
        "(YYYY-MM-DD), and sort the dates from the earliest to the latest.\n\n"
        "Output only the six dates, one per line, and nothing else."
    )
    return Item(text, Lines("\n".join(date.isoformat() for date in sorted(six_dates)), "lines"))


def group_totals(rng: random.Random) -> Item:
    """Draw an item: sum a product by group over some of the rows, and sort by total."""
    regions = rng.sample(_REGIONS, 4)
    rows: list[tuple[str, str, int, int]] = []
    statuses = [*["shipped"] * len(regions), "cancelled", *rng.choices(("shipped", "shipped", "cancelled"), k=7)]
    for region, status in zip([*regions, *regions, *rng.choices(regions, k=4)], statuses, strict=True):
        rows.append((region, status, rng.randint(2, 12), rng.randint(3, 25)))
    rng.shuffle(rows)
    totals = dict.fromkeys(regions, 0)
    for region, status, units, price in rows:
        if status == "shipped":
            totals[region] += units * price
    text = (
        f"Here are orders as CSV:\n\n{csv_text([('region', 'status', 'units', 'price'), *rows])}\n\n"
        "Ignore the orders whose status is cancelled. The value of an order is its units multiplied by its price. "
        "Add up the values of each region. Sort the regions by their totals, from the highest to the lowest; "
        "regions with the same total are sorted by name, from A to Z.\n\n"
        "Output one line for each region, in the form REGION: TOTAL (the name of the region, a colon, one space, "
        "the total as digits), and nothing else."
    )
    order = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))
    return Item(text, Lines("\n".join(f"{region}: {total}" for region, total in order), "lines"))


def merge_by_key(rng: random.Random) -> Item:
    """Draw an item: join two lists by a number and add up repeated rows of the second."""
    numbers = rng.sample(range(101, 999), 8)
    # Two never paid, two are not known, three paid twice.
    member_ids, payment_ids = numbers[:6], [*numbers[2:], *rng.sample(numbers[2:6], 3)]
    people = list(zip(member_ids, rng.sample(NAMES, 6), strict=True))
    payments = [(number, rng.randint(11, 99)) for number in payment_ids]
    rng.shuffle(people)
    rng.shuffle(payments)
    sums: dict[int, int] = {}
    for number, amount in payments:
        sums[number] = sums.get(number, 0) + amount
    text = (
        f"List A, members, as CSV:\n\n{csv_text([('id', 'name'), *people])}\n\n"
        f"List B, payments, as CSV:\n\n{csv_text([('id', 'amount'), *payments])}\n\n"
        "For every id that stands in both lists, add up all amounts that list B has for it. "
        "Leave out every id that stands in only one of the lists. Sort by id, from the lowest to the highest.\n\n"
        "Output the result as CSV with the header id,name,total and one row for each id, and nothing else."
    )
    totals = [(number, name, sums[number]) for number, name in sorted(people) if number in sums]
    return Item(text, TableRows(csv_text([("id", "name", "total"), *totals]), "csv"))


TEMPLATES = (
    Template("data:rename_keys", "data-processing", "easy", "Rename keys of a JSON object", rename_keys),
    Template(
        "data:filter_sort_csv", "data-processing", "typical", "Filter and sort the rows of a CSV table", filter_sort_csv
    ),
    Template("data:dates", "data-processing", "typical", "Rewrite and sort dates", dates),
    Template("data:group_totals", "data-processing", "hard", "Totals by group, sorted by total", group_totals),
    Template("data:merge_by_key", "data-processing", "hard", "Join two lists by id and add up", merge_by_key),
)
