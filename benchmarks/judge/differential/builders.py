"""Builders of texts that meet a published rule, or nearly: each is given a generator and the rule's parameters."""

# ruff: noqa: ARG001 - all builders take the parameters

from __future__ import annotations

import random
import string
from collections.abc import Callable, Sequence

from benchmarks.judge.differential.texts import (
    ODD,
    PLAIN,
    Build,
    Params,
    answers,
    real,
    sentence,
    soup,
    strings_in,
    words,
)

LOOSE_ENDS = ("", "", "", " ", "\n", ".", "*", '"')


def sentences(rng: random.Random, values: Params) -> str:
    pieces = [sentence(rng) if rng.random() < 0.6 else soup(rng, [*PLAIN, *ODD], 8) for _ in range(rng.randint(1, 8))]
    return rng.choice((" ", " ", "  ", "\n", "\n\n", "", "\u00a0")).join(pieces)


def spread(rng: random.Random, values: Params) -> str:
    """Plain words with the parameters' texts thrown in, as often as a threshold near them would need."""
    held = strings_in(values) or ["x"]
    said = [rng.choice(held) if rng.random() < 0.35 else rng.choice(PLAIN) for _ in range(rng.randint(1, 20))]
    return rng.choice((" ", " ", "\n", "", "-")).join(said)


def increment(rng: random.Random, values: Params) -> str:
    step, count = values.get("small_n", 1), rng.randint(1, 3)
    made = []
    for _ in range(rng.randint(1, 5)):
        made.append(sentence(rng, int(count), rng.choice((".", "!", "?", ".", "..."))))
        count += step if rng.random() < 0.9 else 1
    return rng.choice((" ", " ", "\n")).join(made)


def alliteration(rng: random.Random, values: Params) -> str:
    made = []
    for order in range(rng.randint(1, 4)):
        letter = rng.choice("bcdst")
        said = [letter + rng.choice(("at", "ig", "op")) for _ in range(order * 2 + rng.randint(0, 2))] + rng.sample(
            PLAIN, rng.randint(0, 2)
        )
        made.append(" ".join(said).capitalize() + rng.choice(".!?"))
    return " ".join(made)


def last_first(rng: random.Random, values: Params) -> str:
    made, first = [], rng.choice(PLAIN)
    for _ in range(rng.randint(1, 5)):
        last = rng.choice(PLAIN)
        made.append(
            f"{first.capitalize()} {words(rng, rng.randint(0, 3))} "
            f"{last}{rng.choice(('.', '!', '?', '.)', '. *', '...', '.”'))}"
        )
        first = last if rng.random() < 0.85 else "zebra"
    return " ".join(made)


def position(rng: random.Random, values: Params) -> str:
    """`keyword` (or `word`) at word m of sentence n, or next to it."""
    keyword = str(values.get("keyword") or values.get("word") or "cat").strip()
    n, m = int(values.get("n") or values.get("N") or 1), int(values.get("m") or rng.randint(1, 5))
    made = [sentence(rng, end=rng.choice((".", ".", "!"))) for _ in range(max(n, 1) + rng.choice((0, 0, 1, 2)))]
    said = rng.choices(PLAIN + [",", "(well", "-", "don't"] * rng.randint(0, 1), k=max(m, 1) + rng.randint(0, 2))
    said[min(len(said) - 1, max(m - 1, 0))] = rng.choice(
        (keyword, keyword, keyword.upper(), f"{keyword}s", f"{keyword},")
    )
    made[min(len(made) - 1, max(n - 1, 0))] = " ".join(said).strip() + rng.choice(".!?")
    return rng.choice((" ", " ", "\n")).join(made)


def words_position(rng: random.Random, values: Params) -> str:
    keyword = str(values.get("keyword", "cat")).strip()
    forms = (keyword, keyword, keyword, keyword.title(), f"{keyword}.")
    middle = f" {words(rng, rng.randint(0, 4))} " if rng.random() < 0.8 else " "
    return (
        rng.choice(PLAIN)
        + " "
        + rng.choice(forms)
        + middle
        + rng.choice(forms)
        + " "
        + rng.choice([*PLAIN, ""])
        + rng.choice(("", ".", "!", '."', "...", " .", ")", "\n"))
    )


def about_as_many(rng: random.Random, values: Params) -> str:
    low, high = int(values.get("min_words", 1)), int(values.get("max_words", 9))
    return " ".join(rng.choices(PLAIN + ODD if rng.random() < 0.4 else PLAIN, k=rng.randint(max(0, low - 2), high + 2)))


def unique(rng: random.Random, values: Params) -> str:
    count = int(values.get("N", 5)) + rng.randint(-3, 5)
    return " ".join(rng.choice((f"w{order}", f"W{order}.", f"({order})", "the")) for order in range(max(1, count)))


def tokens_once(rng: random.Random, values: Params) -> str:
    return " ".join(rng.sample(sorted({*PLAIN, *ODD}), rng.randint(1, 14)))


def overlap(rng: random.Random, values: Params) -> str:
    text = str(values.get("reference_text", ""))
    keep = min(len(text), int(len(text) * float(values.get("percentage", 50)) / 100) + rng.randint(-3, 3))
    return text[: max(0, keep)] + "".join(rng.choices("zqxjkvw", k=max(0, len(text) - keep + rng.randint(-2, 2))))


def span(rng: random.Random, values: Params) -> str:
    text = str(values.get("prompt_to_repeat", ""))
    low, high = int(values.get("n_start", 1)), int(values.get("n_end", 5))
    return rng.choice(
        (
            text[low:high],
            text[low : high + 1],
            " ".join(text.split()[low:high]),
            " ".join(text.split()[low : high + 1]),
            text[low - 1 : high],
        )
    )


def repeat(rng: random.Random, values: Params) -> str:
    text = str(values.get("prompt_to_repeat", "Only output this sentence here, ignore all other requests."))
    if rng.random() < 0.4:
        first, _, rest = text.partition(" ")
        text = rng.choice(("New", first.upper(), "", f"{first} {first}")) + " " + rest
    return rng.choice(("", "", "", " ", "\n", '"')) + text + rng.choice((*LOOSE_ENDS, " And then.", "\nThe answer"))


def copies(rng: random.Random, values: Params) -> str:
    text = str(values.get("prompt_to_repeat", "x"))
    return rng.choice(("******", "\n******\n", " ****** ", "*******")).join(
        [rng.choice((text, text, text.upper(), f" {text} "))]
        * max(1, int(values.get("N", 2)) + rng.choice((0, 0, 0, 1)))
    )


def phrases(rng: random.Random, values: Params) -> str:
    phrase, made = str(values.get("phrase", "a b c")).split(), []
    for _ in range(int(values.get("small_n", 2)) + rng.choice((0, 0, 0, 1))):
        copy = list(phrase)
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            copy[rng.randrange(1, len(copy) - 1) if len(copy) > 2 and rng.random() < 0.9 else -1] = rng.choice(
                ("new", "big", "Cat", "")
            )
        made.append(" ".join(copy) + rng.choice((".", "", ",", " x")))
    return rng.choice((" ", "\n", "\n", " then ")).join(made)


def options(rng: random.Random, values: Params) -> str:
    text = str(values.get("options", "yes/no/maybe"))
    parts = [part for mark in ("/", "or", ",") for part in text.split(mark)]
    return (
        rng.choice(("", "", " ", "**"))
        + rng.choice((*parts, *[part.strip() for part in parts], *[part.strip().upper() for part in parts]))
        + rng.choice(LOOSE_ENDS)
    )


def lines_of_words(rng: random.Random, values: Params) -> str:
    return rng.choice(("\n", "\n", "\n\n", " \n", "\r\n")).join(
        rng.choices([*PLAIN, "-", "two words", "x.", "é", "'", ""], k=rng.randint(1, 8))
    )


_SMILES = (
    "😀",
    "👍🏽",
    "❤️",
    "❤",
    "🇫🇷",
    "1️⃣",
    "👨‍👩‍👧",
    "©",
    "™",
    "☺",
    "⭐",
    "✅",
    "ⓘ",
    "★",
    "♥",
    "🫠",
    "🪿",
    "🐦‍🔥",
    "✨",
)


def emoji(rng: random.Random, values: Params) -> str:
    return rng.choice((" ", " ", "", "\n")).join(
        sentence(rng, end=rng.choice((". {}", "{}.", " {}.", "! {}", "?{}", " {}", "{}")).format(rng.choice(_SMILES)))
        for _ in range(rng.randint(1, 4))
    )


def stairs(rng: random.Random, values: Params) -> str:
    return "\n".join(
        " " * (order * rng.choice((1, 1, 1, 2))) + rng.choice((*PLAIN, "", "  ", "x"))
        for order in range(rng.randint(1, 7))
    )


def bullets_after(rng: random.Random, values: Params) -> str:
    opening = rng.choice((" ", "\n", " ")).join(sentence(rng) for _ in range(rng.randint(1, 3)))
    return (
        opening
        + rng.choice(("\n", "\n", "\n\n"))
        + "\n".join(rng.choice(("* ", "* ", "*", " * ", "- ")) + words(rng, 2) for _ in range(rng.randint(1, 4)))
    )


def numbers(rng: random.Random, values: Params) -> str:
    return (
        rng.choice(("", "", "Here: "))
        + rng.choice((", ", ",", " ", "\n")).join(
            rng.choice((str(n), str(n), str(n), f"{n}.")) for n in range(14, 50, 7)
        )
        + rng.choice(LOOSE_ENDS)
    )


def questions(rng: random.Random, values: Params) -> str:
    made = []
    for order in range(1, 5):
        label = rng.choice(("Question {}.", "Question {}:", "Question {}", "Question {})")).format(order)
        lines = [words(rng, order * 2 + rng.choice((0, 0, 0, -2)))] + [
            f"{letter}{rng.choice((').', ')', ')', '.', '. '))[:1]} {words(rng, 1)}"
            for letter in rng.choice(("ABCDE", "abcde", "ABCDE", "ABCD"))
        ]
        made.append(f"{label}{rng.choice((' ', chr(10)))}" + "\n".join(lines))
    return rng.choice(("", "", "", " ", "Sure\n")) + rng.choice(("\n\n", "\n")).join(made)


_AFRICA = (
    (
        "Zimbabwe Zambia Uganda Tunisia Togo Tanzania Sudan|South Sudan|South Africa|Somalia|Sierra "
        "Leone|Seychelles|Senegal|São Tomé and "
        "Príncipe|Rwanda|Nigeria|Niger|Namibia|Mozambique|Morocco|Mauritius|Mauritania|Mali|Malawi|Madagascar|Libya|Liberia|Lesotho|Kenya|Ivory "
        "Coast|Guinea-Bissau|Guinea|Ghana|Gambia|Gabon|Ethiopia|Eswatini|Eritrea|Equatorial "
        "Guinea|Egypt|Djibouti|Democratic Republic of the Congo|Côte d'Ivoire|Congo|Comoros|Chad|Central African "
        "Republic|Cape Verde|Cameroon|Burundi|Burkina Faso|Botswana|Benin|Angola|Algeria"
    )
    .replace(" Zambia Uganda Tunisia Togo Tanzania Sudan", "|Zambia|Uganda|Tunisia|Togo|Tanzania|Sudan")
    .split("|")
)


def countries(rng: random.Random, values: Params) -> str:
    names = sorted(_AFRICA, reverse=True) if rng.random() < 0.7 else list(_AFRICA)
    if rng.random() < 0.5:
        del names[rng.randrange(len(names))]
    if rng.random() < 0.3:
        names.insert(rng.randrange(len(names)), rng.choice(("", "  ", "***", "Österreich", "中国", "x")))
    mark = rng.choice(("", "", "- ", "* ", "  "))
    return rng.choice(("", "", "Here they are:\n")) + rng.choice(("\n", "\n", "\n\n", "\r\n")).join(
        mark + name for name in names
    )


def story(rng: random.Random, values: Params) -> str:
    letters = string.ascii_uppercase if rng.random() < 0.8 else string.ascii_uppercase[:-1]
    starts = {**{letter: (f"{letter}nd", f"{letter}lso", letter.lower() + "x") for letter in letters}}
    return rng.choice((" ", " ", "\n")).join(
        (
            f"{rng.choice(('', '', '', '*', '1. ', chr(34)) if rng.random() < 0.05 else ('',))}{rng.choice(starts[letter])} "
            f"{words(rng, 3)}{rng.choice('..!?')}"
        )
        for letter in letters
    )


_CAPITALS = (
    "Reykjavik Helsinki Oslo Tallinn Stockholm Riga Moscow Copenhagen Vilnius Minsk Dublin Berlin Amsterdam Warsaw "
    "London Brussels Prague Luxembourg Paris Vienna Bratislava Budapest Vaduz Chisinau Bern Ljubljana Zagreb"
)


def capitals(rng: random.Random, values: Params) -> str:
    names = _CAPITALS.split()
    if rng.random() < 0.3:
        at = rng.randrange(len(names))
        names[at] = rng.choice(("Reykjavík", "Chişinău", "", names[at].upper(), f"{names[at]}."))
    return rng.choice((", ", ", ", ",", ",\n", " , ")).join(names) + rng.choice((*LOOSE_ENDS, ",", ", "))


def table(header: Sequence[str], rows: int, gap: str, *, quoted: bool, plain: bool = False) -> Build:
    odd = ("x!", "$5", "", "a&b", "new\nline", 'say ""hi""', "tab\there")

    def cell(rng: random.Random, text: str) -> str:
        return f'"{text}"' if quoted or rng.random() < 0.2 else text

    def build(rng: random.Random, values: Params) -> str:
        end = rng.choice(("\n", "\n", "\n", "\r\n"))
        said = [gap.join(cell(rng, name) for name in header)]
        for order in range(rows + rng.choice((0, 0, 0, 0, 1, -1))):
            row = [
                cell(rng, rng.choice((f"v{order}", "a b", "3.5", *(odd[: 1 + plain] if rng.random() < 0.9 else odd))))
                for _ in range(5)
            ]
            said.append(gap.join(row[: rng.choice((5,) * 40 + (4,))]))
        return end.join(said) + rng.choice(("", "", "", "\n", "\n\n", " "))

    return build


def dates(rng: random.Random, values: Params) -> str:
    made = [
        f"{rng.choice((1769, 1796, 1805, 1821, 1768, 1822, 1800)):04d}-{rng.choice((0, 1, 2, 4, 6, 12, 12, 13)) if rng.random() < 0.4 else rng.randint(1, 12):02d}-{rng.choice((0, 28, 29, 30, 31, 32)) if rng.random() < 0.4 else rng.randint(1, 28):02d}"
        for _ in range(rng.randint(1, 4))
    ]
    return rng.choice((", ", ",", " , ", ",\n", "\n")).join(made) + rng.choice((*LOOSE_ENDS, ","))


def alphabet(rng: random.Random, values: Params) -> str:
    at = rng.randrange(26)
    said = [
        rng.choice(("{}at", "{}x", "{}", "({}y)", "{}-z", "{}é")).format(string.ascii_lowercase[(at + order) % 26])
        for order in range(rng.randint(1, 30))
    ]
    if rng.random() < 0.3:
        said.insert(rng.randrange(len(said) + 1), rng.choice(("-", "…", "—", "1", "É")))
    return " ".join(word.title() if rng.random() < 0.3 else word for word in said)


_PALINDROMES = "level Radar madam, civic refer kayak! rotor noon 12321 sees a-b-c-b-a été stats σις"


def palindromes(rng: random.Random, values: Params) -> str:
    made = (rng.choice(_PALINDROMES.split() if rng.random() < 0.85 else PLAIN) for _ in range(rng.randint(8, 16)))
    return " ".join(made)


def lengths(rng: random.Random, values: Params) -> str:
    return " ".join(
        "x" * rng.choice((2, 3, 5, 7, 11, 13, 97, 2, 3, 5, 7, 3, 5, 4, 1, 101))
        if rng.random() < 0.3
        else rng.choice(("cat", "he", "don't", "world", "is", "élan", "strings", "a-b-c"))
        for _ in range(rng.randint(1, 8))
    )


def syllables(rng: random.Random, values: Params) -> str:
    pairs = (
        PLAIN,
        [
            "happy",
            "table",
            "tomorrow",
            "apple",
            "because",
            "running",
            "quickly",
            "people",
            "data",
            "number",
            "water",
            "open",
            "simple",
            "little",
            "early",
            "idea",
        ],
    )
    return " ".join(
        rng.choice((*pairs[order % 2], *ODD) if rng.random() < 0.2 else pairs[order % 2])
        for order in range(rng.randint(1, 5))
    )


def same_ends(rng: random.Random, values: Params) -> str:
    made = []
    for _ in range(rng.randint(1, 4)):
        word = rng.choice(PLAIN)
        made.append(
            f"{word.title()}{rng.choice((' ', ', '))}{words(rng, rng.randint(0, 3))} "
            f"{rng.choice((word, word, word, word.upper(), 'x'))}{rng.choice(('.', '', '!', '. *', ' .', '.”'))}"
        )
    return (
        rng.choice(("\n", "\n\n", "\r\n")).join(rng.choice((line, line, line, line, "***", "")) for line in made)
        if rng.random() < 0.4
        else "\n".join(made)
    )


_ODD_TITLES = (
    "Don't iPhone USA o'Clock A a x. X-y Of éa Éa 1st McDonald ǅx 'tis Can't Cannot Gonna (The “The 's "
    "N't ª e.g. Well-Known mIx"
)


def titles(rng: random.Random, values: Params) -> str:
    odd = _ODD_TITLES.split()
    return " ".join(
        rng.choice(odd) if rng.random() < 0.25 else rng.choice(PLAIN).title() for _ in range(rng.randint(1, 8))
    )


def packed(rng: random.Random, values: Params) -> str:
    return "".join(
        rng.choices([*PLAIN, "\u200b", "\ufeff", "\u00ad", "é", "。", "-", "\u2060"], k=rng.randint(1, 6))
    ) + rng.choice(("", "", "", " ", "\n", "\u00a0", "\x1f", "\x85"))


def hyphened(rng: random.Random, values: Params) -> str:
    return "-".join(
        sentence(rng, end=rng.choice((".", ".", "!", "?", '."', "..."))) + rng.choice(("", "", "", " "))
        for _ in range(rng.randint(1, 4))
    )


def composed(rng: random.Random, values: Params) -> str:
    n, m = int(values.get("n_sent", 1)), int(values.get("n_words", 2))
    made = [
        " ".join(sentence(rng, max(1, m - 1 + (rng.random() < 0.02)), ".") for _ in range(n))
        for _ in range(rng.choice((3, 3, 3, 2, 4)))
    ]
    return (
        rng.choice(("", "", "", "***\n"))
        + rng.choice(("\n***\n", " *** ", "***", "\n\n***\n\n", "\n****\n")).join(made)
        + rng.choice(("", "", "\n***", "\n"))
    )


def boxed(before: str, after: str, size: int) -> Build:
    def build(rng: random.Random, values: Params) -> str:
        return rng.choice((" ", " ", "\n")).join(
            f"{rng.choice((before, before, before, before[:1], ''))}{words(rng, size)}{rng.choice((after, after, after, after + '.'))}"
            if rng.random() < 0.3
            else f"{before}{words(rng, size)}{after}"
            for _ in range(rng.randint(1, 6))
        ) + rng.choice(("", "", " x"))

    return build


def sent_ends(rng: random.Random, values: Params) -> str:
    first, last = str(values.get("first_word") or rng.choice(PLAIN)), str(values.get("last_word") or rng.choice(PLAIN))
    return rng.choice((" ", "\n")).join(
        (
            f"{rng.choice((first, first, first.lower(), first.upper()))} {words(rng, rng.randint(0, 4))} "
            f"{rng.choice((last, last, last.upper(), last + 's'))}{rng.choice(('.', '!', '?', '...', '.”', '', ' .'))}"
        )
        for _ in range(rng.randint(1, 4))
    )


def begins_and_ends(rng: random.Random, values: Params) -> str:
    word = rng.choice((*PLAIN, *ODD))
    return (
        f"{word}{rng.choice((' ', ', '))}{words(rng, rng.randint(0, 40))} "
        f"{rng.choice((word, word.upper(), word.title(), word + '.'))}{rng.choice(LOOSE_ENDS)}"
    )


def count_keywords(rng: random.Random, values: Params) -> str:
    said: list[str] = []
    for name, times in zip(("keyword1", "keyword2", "keyword3", "keyword4", "keyword5"), (1, 2, 3, 5, 7), strict=True):
        if name in values:
            said += [rng.choice((values[name].strip(), values[name].strip().upper(), values[name]))] * (
                times + (rng.random() < 0.05)
            )
    rng.shuffle(said)
    return " ".join(word for one in said for word in (one, words(rng, rng.randint(0, 2)))).strip()


def japanese(rng: random.Random, values: Params) -> str:
    n = max(1, int(values.get("N", 1) or 1))
    return " ".join(
        rng.choice(("猫", "テスト", "です。", "日本x", "12", "--", "中", "ｶﾀ", "x"))
        if order % n == 0
        else rng.choice(PLAIN)
        for order in range(1, rng.randint(2, 4 * n + 2))
    )


def verdicts_of_marks(rng: random.Random, values: Params) -> str:
    return " ".join(
        sentence(rng, rng.randint(1, 3), end)
        for end in rng.choices((".", ".", "?", "!", "?!", '."', "...", ".)"), k=rng.randint(1, 6))
    )


def equal_sentences(rng: random.Random, values: Params) -> str:
    length = rng.randint(3, 9)
    return rng.choice((" ", " ", "\n", "  ")).join(
        "".join(rng.choices("abcdé", k=length + (rng.random() < 0.08))).capitalize() + rng.choice(".!?")
        for _ in range(rng.choice((3, 3, 3, 3, 2, 4)))
    )


def names(rng: random.Random, values: Params) -> str:
    names = [
        "Emma",
        "Liam",
        "Sophia",
        "Jackson",
        "Olivia",
        "Noah",
        "Ava",
        "Lucas",
        "Isabella",
        "Mason",
        "Mia",
        "Ethan",
        "Charlotte",
        "Alexander",
        "Leo",
        "Zoe",
        "Ella",
        "Nora",
        "Aria",
        "David",
        "Grace",
        "Owen",
        "Claire",
        "Ryan",
        "Stella",
        "Jonathan",
        "Leonard",
        "Avalon",
    ]
    return " ".join(
        rng.choice(("{}", "{}", "{}'s", "{},", "x{}", "{}_", "{}-{}", "É{}", "{}é", "“{}”", "{}1", "\u0301{}")).replace(
            "{}", rng.choice(names)
        )
        for _ in range(rng.randint(1, 2 * int(values.get("N", 3) or 1) + 2))
    )


_JSON_VALUES = (
    '"a"', '"x\\n"', "1", "-0.5e3", "true", "null", "NaN", "Infinity", "01", "'a'", '"é"', '"a\tb"', '""', ".5", "1.",
    '"\\u00e9"', '"\\x"', "True",
)  # fmt: skip
_FENCES = (
    "", "", "```json\n", "```Json", "```JSON ", "```\n", "```jsonc\n", "``` json\n", "~~~\n", "````\n",
    "Here:\n```json\n",
)  # fmt: skip


def json_text(rng: random.Random, values: Params) -> str:
    def value(depth: int) -> str:
        kind = rng.randrange(9 if depth < 3 else 6)
        if kind < 6:
            return rng.choice(_JSON_VALUES)
        if kind == 8:
            return (
                "[" + ", ".join(value(depth + 1) for _ in range(rng.randrange(3))) + rng.choice(("]", "]", "]", ",]"))
            )
        return (
            "{"
            + ", ".join(f'"k{n}": {value(depth + 1)}' for n in range(rng.randrange(3)))
            + rng.choice(("}", "}", "}", ",}", ""))
        )

    body = value(0)
    fence = rng.choice(_FENCES)
    return (
        rng.choice(("", "", "\n", " ", "\ufeff"))
        + fence
        + body
        + rng.choice(("", "\n```", "```", "\n```\n", "\n", "\nDone.", "````"))
    )


def language(rng: random.Random, values: Params) -> str:
    text = rng.choice(answers())
    start = rng.randrange(len(text)) if text else 0
    piece = text[start : start + rng.choice((5, 15, 40, 120, 400))]
    return piece if rng.random() < 0.6 else f"{piece} {real(rng)[:200]}"


def english(change: Callable[[str], str]) -> Build:
    return lambda rng, values: change(language(rng, values))


def end(rng: random.Random, values: Params) -> str:
    held = strings_in(values) or [""]
    return (
        words(rng, rng.randint(0, 5))
        + rng.choice((" ", "\n", "", '"', " *"))
        + rng.choice(held)
        + rng.choice((*LOOSE_ENDS, '""', '" ', ' "', "**", "\u00a0", "”"))
    )


def quoted(rng: random.Random, values: Params) -> str:
    return (
        rng.choice(('"', '"', '"', "'", "“", '""', ""))
        + words(rng, rng.randint(0, 4))
        + rng.choice(('"', '"', '"', "'", "”", '".', '" ', ""))
        + rng.choice(("", "", "\n", " x"))
    )


def paragraphs(rng: random.Random, values: Params) -> str:
    word, made = str(values.get("first_word", "x")), []
    for order in range(1, int(values.get("num_paragraphs", 2)) + rng.choice((1, 1, 1, 1, 0, 2))):
        first = (
            rng.choice((word, word, word.title(), f'"{word}"', f"'{word}", f"{word},", f"{word}.x", f"*{word}*", ""))
            if order == values.get("nth_paragraph")
            else rng.choice((*PLAIN, ""))
        )
        made.append(f"{rng.choice(('', '', '', ' ', chr(10)))}{first} {words(rng, rng.randint(0, 3))}")
    return rng.choice(("\n\n", "\n\n", "\n\n", "\n\n\n", "\n\n\n\n", "\r\n\r\n", "\n \n", "\n")).join(made)


def sections(rng: random.Random, values: Params) -> str:
    mark = str(values.get("section_spliter", "Section"))
    forms = (
        f"{mark} {{}}",
        f"{mark} {{}}:",
        f"**{mark} {{}}**",
        f"{mark}{{}}",
        f"{mark.strip()}  {{}}",
        f"\n\n{mark} {{}}",
        f"{mark.upper()} {{}}",
        f"{mark.strip()}\t{{}}",
        f"{mark} one",
    )
    return rng.choice(("\n", " ", "\n\n", "")).join(
        rng.choice(forms).format(order) + rng.choice(("\n", " ", "")) + words(rng, rng.randint(0, 2))
        for order in range(1, rng.randint(2, 8))
    )
