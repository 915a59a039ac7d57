"""Templates about mathematics, five in all; everything is exact, and an item says how a result is rounded."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction

from adhere.constraints.kinds.held_out.exact import Lines, Number, Text
from adhere.suites.generated.diagnostic.items import Item, Template

_DIGITS = "0123456789ABCDEF"
_BASES = {2: "binary", 7: "", 8: "octal", 12: "", 16: "hexadecimal"}
_LENGTH = (("miles", "1609.344"), ("yards", "0.9144"), ("feet", "0.3048"), ("inches", "0.0254"))
_MASS = (("stones", "6350.29318"), ("pounds", "453.59237"), ("ounces", "28.349523125"))
_HALVES = "a digit 5 to 9 after the last kept decimal rounds up, 0 to 4 rounds down"


def round_half_up(value: Fraction, decimals: int) -> str:
    """Return a value from 0 on with `decimals` decimals; halves are rounded up."""
    scaled = (2 * value.numerator * 10**decimals + value.denominator) // (2 * value.denominator)
    digits = f"{scaled:0{decimals + 1}d}"
    return f"{digits[:-decimals]}.{digits[-decimals:]}" if decimals else digits


def sequence(rng: random.Random) -> Item:
    """Draw an item: the first terms of a sequence with a rule."""
    first, times, plus, count = rng.randint(2, 250), rng.randint(2, 3), rng.randint(1, 99), rng.randint(5, 7)
    terms = [first]
    while len(terms) < count:
        terms.append(terms[-1] * times + plus)
    text = (
        f"The first term of a sequence is {first}. Every following term is the term before it multiplied by {times}, "
        f"plus {plus}.\n\n"
        f"Output the first {count} terms (the term {first} is one of them), in order, separated by commas, "
        "and nothing else. Write the numbers as digits, without separators between thousands."
    )
    return Item(text, Lines(", ".join(map(str, terms)), "items"))


def ordered_arithmetic(rng: random.Random) -> Item:
    """Draw an item: five operations in the given order, rounded once at the end."""
    start, times, minus = rng.randint(120, 989), rng.randint(3, 9), rng.randint(11, 99)
    divisor, plus = rng.choice((6, 7, 8, 9, 11, 12, 13)), Decimal(rng.randint(105, 995)) / 100
    value = Fraction(start * times - minus, divisor) + Fraction(plus)
    text = (
        "Do these steps in this order, each with the result of the step before:\n"
        f"1. Start with {start}.\n"
        f"2. Multiply by {times}.\n"
        f"3. Subtract {minus}.\n"
        f"4. Divide by {divisor}. Do not round here.\n"
        f"5. Add {plus:.2f}.\n"
        f"6. Round the result to two decimals ({_HALVES}).\n\n"
        "Output only the resulting number, with exactly two decimals and a point as decimal "
        "separator, and nothing else."
    )
    return Item(text, Number(round_half_up(value, 2), "number"))


def in_base(number: int, base: int) -> str:
    """Return a positive number in a base up to 16."""
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = _DIGITS[digit] + digits
    return digits


def base_conversion(rng: random.Random) -> Item:
    """Draw an item: write a decimal number in another base."""
    base = rng.choice(tuple(_BASES))
    number = rng.randint(300, 8191) if base == 2 else rng.randint(1100, 65_000)
    base_name = f" ({_BASES[base]})" if _BASES[base] else ""
    letters = {
        12: "Use the capital letters A and B as digits for ten and eleven. ",
        16: "Use the capital letters A to F as digits for ten to fifteen. ",
    }
    text = (
        f"Write the decimal number {number} in base {base}{base_name}. {letters.get(base, '')}"
        "Write no prefix, no leading zeros, no spaces and no mark of the base.\n\n"
        "Output only the digits of the result and nothing else."
    )
    return Item(text, Text(in_base(number, base), "text"))


def filtered_sum(rng: random.Random) -> Item:
    """Draw an item: add up the numbers of a list that meet two conditions."""
    divisor, bound = rng.choice((2, 3, 4, 5, 6, 7)), rng.randint(30, 60)
    right = [number for number in range(bound + 1, 100) if number % divisor == 0]
    fitting = rng.sample(right, 4)
    large = rng.sample([number for number in range(bound + 1, 100) if number % divisor], 4)
    small = rng.sample([number for number in range(10, bound + 1) if number % divisor == 0], 3)
    numbers = [*fitting, *large, *small, rng.choice([number for number in range(10, bound) if number % divisor])]
    rng.shuffle(numbers)
    text = (
        f"Here is a list of numbers:\n\n{', '.join(map(str, numbers))}\n\n"
        f"Add up those numbers of the list that are divisible by {divisor} without remainder and at the same time "
        f"greater than {bound}.\n\n"
        "Output only the sum, as digits, and nothing else."
    )
    return Item(text, Number(str(sum(fitting)), "number"))


def unit_change(rng: random.Random) -> Item:
    """Draw an item: add up an amount in three units, convert it to a fourth and round."""
    (units, base, thousand) = rng.choice(((_LENGTH, "metres", "kilometres"), (_MASS, "grams", "kilograms")))
    chosen = [units[at] for at in sorted(rng.sample(range(len(units)), 3))]
    counts = [rng.randint(2, 12), rng.randint(13, 95), rng.randint(13, 95)]
    amounts = [f"{count} {unit}" for count, (unit, _) in zip(counts, chosen, strict=True)]
    rates = [f"1 {_SINGULAR[unit]} = {rate} {base}" for unit, rate in chosen]
    total = sum((count * Fraction(rate) for count, (_, rate) in zip(counts, chosen, strict=True)), Fraction(0))
    text = (
        f"Add up {amounts[0]}, {amounts[1]} and {amounts[2]}, and give the total in {thousand}.\n\n"
        f"Use exactly these values: {'; '.join(rates)}; 1000 {base} = 1 {_SINGULAR[thousand]}.\n"
        f"Round only the final result, to three decimals ({_HALVES}).\n\n"
        f"Output only the number of {thousand}, with exactly three decimals and a point as decimal separator, "
        "without the unit and without anything else."
    )
    return Item(text, Number(round_half_up(total / 1000, 3), "number"))


_SINGULAR = {
    "miles": "mile", "yards": "yard", "feet": "foot", "inches": "inch", "stones": "stone", "pounds": "pound",
    "ounces": "ounce", "kilometres": "kilometre", "kilograms": "kilogram",
}  # fmt: skip

TEMPLATES = (
    Template("math:sequence", "mathematical-operations", "easy", "First terms of a sequence with a rule", sequence),
    Template(
        "math:ordered_arithmetic", "mathematical-operations", "typical", "Five operations in order, two decimals",
        ordered_arithmetic,
    ),
    Template("math:base_conversion", "mathematical-operations", "typical", "A number in another base", base_conversion),
    Template("math:filtered_sum", "mathematical-operations", "typical", "Sum of the numbers that meet two conditions",
        filtered_sum),
    Template(
        "math:unit_change", "mathematical-operations", "hard", "Three units into one other, three decimals", unit_change
    ),
)  # fmt: skip
