"""Texts and parameters on which two judges of one published instruction may disagree; used by `compare.py`.

Deterministic and without dependencies, so that both sides can make the same texts themselves. Three sources: real
answers and what mutations leave of them; soups of the marks and words that a rule looks at; and builders that meet a
rule, or nearly, for the rules that no soup ever meets.
"""

# ruff: noqa: RUF001 - look-alike characters are what tells two judges apart

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from benchmarks.sources import DATA, rows

LOOSE_SOURCES = ("ifeval/responses/*.jsonl", "ifbench/sample_output.jsonl", "*/cross.texts.jsonl", "m_ifeval/*/*.jsonl")
PARAMETER_SOURCES = {
    "ifeval": ("ifeval/input_data.jsonl",),
    "ifbench": ("ifbench/IFBench_test.jsonl",),
    "iftrain": ("iftrain/cross.verdicts.jsonl",),
}
# Of two prompts; the published code replaces them by random letters, as its 2025 version does an index of 0.
DRAWN_LETTERS = {"#", "!"}
Params = dict[str, Any]
Build = Callable[[random.Random, Params], str]


@cache
def answers() -> tuple[str, ...]:
    """Every answer of the data, once, in a fixed order."""
    found = [
        row["response"]
        for pattern in LOOSE_SOURCES
        for path in sorted(DATA.glob(pattern))
        for row in rows(path)
        if isinstance(row.get("response"), str)
    ]
    return tuple(sorted(set(found)))


@cache
def published_params(suite: str) -> Mapping[str, tuple[Params, ...]]:
    """All parameters that the published prompts give each id."""
    found: dict[str, dict[str, Params]] = {}
    for name in PARAMETER_SOURCES[suite]:
        for row in rows(DATA / name):
            ids = row.get("instruction_id_list") or [row["instruction_id"]]
            kwargs = row["kwargs"] if isinstance(row["kwargs"], list) else [row["kwargs"]]
            for id_, values in zip(ids, kwargs, strict=True):
                if values.get("letter") in DRAWN_LETTERS or values.get("n_start") == 0:
                    continue
                given = {key: value for key, value in values.items() if value is not None}
                found.setdefault(id_, {})[json.dumps(given, sort_keys=True)] = given
    return {id_: tuple(known[key] for key in sorted(known)) for id_, known in found.items()}


# --- Words ---------------------------------------------------------------------------------------------------------

_PLAIN_WORDS = (
    "the cat sat on a mat and I went to see my old friend at home but she was not there so we ate apple pie "
    "tomorrow level radar madam civic refer kayak rotor it is what they said about him dog day new work time "
    "people data first here end well one two three happy because running quickly strong three world text"
)
PLAIN = _PLAIN_WORDS.split()
_ODD_WORDS = (
    "Mr. Dr. e.g. i.e. U.S. U.S.A. Ph.D. a.m. p.m. etc. vs. Inc. Co. Jr. St. No. Fig. J. K. I. A. 1. 2. 10. "
    "3.14 1,000 $5 5% 50% 2020-01-02 10:30 don't can't I'm we'll they've 'tis 'twas cannot gonna gimme lemme "
    "wanna gotta d'ye more'n O'Brien rock'n'roll 'em 'quoted' \"quoted\" “curly” ‘single’ «guillemets» "
    "well-known state-of-the-art snake_case CAPS NASA iPhone A1 B2B C-3PO Ⅷ ① ½ ² é É naïve straße STRASSE ẞ "
    "İstanbul ıI ΟΔΟΣ ſ K ǅ ﬁne e\u0301tude http://a.b/c?d=e me@x.org www.site.com #tag @me (note) [x] {y} <z> "
    "<b>bold</b> *em* **bold** _it_ `code` ``q'' ... .. … . ! ? ?! !? ?!?! , ; : - -- — – / \\ | & % $ # @ ~ ^ "
    "+ = ' \" '' `` '\"' \"' 'n' n't N'T 's 'S 你好 世界。 猫が好きです。 これはテスト です 안녕하세요 привет мир שלום مرحبا नमस्ते สวัสดี "
    "😀 👍🏽 ❤️ 🇫🇷 1️⃣ 👨\u200d👩\u200d👧 ٣ ３"
)
ODD = _ODD_WORDS.split()
BLANKS = (
    (" ",) * 24
    + ("\n",) * 5
    + ("\n\n",) * 3
    + ("",) * 4
    + (
        "  ",
        "\t",
        "\r\n",
        "\r",
        "\r\n\r\n",
        "\n\n\n",
        "\n \n",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x85",
        "\u200b",
        " \n",
    )
)


def words(rng: random.Random, count: int) -> str:
    """Plain lower-case words."""
    return " ".join(rng.choices(PLAIN, k=count))


def sentence(rng: random.Random, count: int | None = None, end: str | None = None) -> str:
    """A sentence of `count` plain words."""
    said = words(rng, count if count is not None else rng.randint(1, 8))
    return (
        said[:1].upper()
        + said[1:]
        + (end if end is not None else rng.choice((".", ".", ".", "!", "?", "...", ".”", '."', "")))
    )


def soup(rng: random.Random, tokens: Sequence[str], most: int = 24) -> str:
    """Random tokens with random white space between."""
    pieces: list[str] = []
    for _ in range(rng.randint(1, most)):
        pieces += (rng.choice(tokens), rng.choice(BLANKS))
    return "".join(pieces[:-1] if rng.random() < 0.8 else pieces)


# --- Mutations -----------------------------------------------------------------------------------------------------

Mutation = Callable[[random.Random, str], str]


def _cut(rng: random.Random, text: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _window(rng: random.Random, text: str) -> str:
    start = rng.randrange(len(text) + 1)
    return text[start : start + rng.randint(0, 400)]


def _insert(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return (
        text[:at]
        + rng.choice([*ODD, "", "\n", "\n\n", " ", "*", "***", "******", "\ufeff", "\x00", "\ud800"])
        + text[at:]
    )


def _drop(rng: random.Random, text: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + text[at + rng.randint(1, 3) :]


def _wrap(rng: random.Random, text: str) -> str:
    before, after = rng.choice(
        (
            ('"', '"'),
            ("'", "'"),
            ("“", "”"),
            ("«", "»"),
            ("*", "*"),
            ("**", "**"),
            ("***", "***"),
            ("```\n", "\n```"),
            ("```json\n", "\n```"),
            ("<<", ">>"),
            ("[", "]"),
            ("(", ")"),
            ("<p>", "</p>"),
            ('```json\n{"a": "', '"}\n```'),
            ("<<Title>>\n", ""),
            ("Sure!\n", ""),
            ("", "\n\nP.S. bye"),
            ("* ", ""),
            ("- ", ""),
            ("# ", ""),
            ("> ", ""),
        )
    )
    return before + text + after


_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
MUTATIONS: dict[str, Mutation] = {
    "crlf": lambda _, text: text.replace("\n", "\r\n"),
    "cr": lambda _, text: text.replace("\n", "\r"),
    "upper": lambda _, text: text.upper(),
    "lower": lambda _, text: text.lower(),
    "title": lambda _, text: text.title(),
    "swapcase": lambda _, text: text.swapcase(),
    "capitalize": lambda _, text: text.capitalize(),
    "strip-lines": lambda _, text: "\n".join(map(str.strip, text.split("\n"))),
    "double": lambda rng, text: text + rng.choice(("", " ", "\n", "\n\n", "\n******\n", "\n***\n", "-")) + text,
    "reverse-lines": lambda _, text: "\n".join(text.split("\n")[::-1]),
    "reverse-words": lambda _, text: " ".join(text.split()[::-1]),
    "cut": _cut,
    "half": lambda _, text: text[: len(text) // 2],
    "window": _window,
    "first-line": lambda _, text: text.split("\n")[0],
    "last-line": lambda _, text: text.split("\n")[-1],
    "lead": lambda rng, text: rng.choice(("\n\n", " ", "   ", "\t", "\n", "\u00a0", "\ufeff", "\r\n")) + text,
    "trail": lambda rng, text: text + rng.choice(("\n\n", " ", "   ", "\t", "\n", "\u00a0", "\r\n", "\x0b")),
    "wrap": _wrap,
    "bullets": lambda rng, text: rng.choice(("* ", "- ", "• ", "+ ", "1. ", "  - ", "*", "-")).join(
        ["", *text.splitlines(keepends=True)]
    ),
    "stars-to-dashes": lambda _, text: text.replace("*", "-"),
    "add-stars": lambda rng, text: re.sub(r"\w+", lambda m: f"*{m[0]}*" if rng.random() < 0.3 else m[0], text),
    "star-dividers": lambda rng, text: text.replace(
        "\n\n", rng.choice(("\n\n***\n\n", "***", " *** ", "\n******\n", "\n* * *\n"))
    ),
    "no-comma": lambda _, text: text.replace(",", ""),
    "no-stop": lambda rng, text: text.replace(".", rng.choice(("", "!", "?", "...", "。"))),
    "nbsp": lambda _, text: text.replace(" ", "\u00a0"),
    "tabs": lambda _, text: text.replace(" ", "\t"),
    "zero-width": lambda _, text: text.replace(" ", " \u200b"),
    "join": lambda _, text: text.replace(". ", "."),
    "space-marks": lambda _, text: re.sub(r"([.!?,])", r" \1", text),
    "wide-blanks": lambda rng, text: text.replace(" ", rng.choice(("  ", "\n", " \n", "\u3000", "\u2009"))),
    "curly": lambda _, text: text.replace('"', "”").replace("'", "’"),
    "straight": lambda _, text: text.replace("”", '"').replace("“", '"').replace("’", "'"),
    "full-width": lambda _, text: text.translate(_FULL_WIDTH),
    "emoji": lambda rng, text: re.sub(
        r"[.!?]", lambda m: rng.choice(("{} 😀", "{}😀", " 😀{}", "❤️{}", "{}")).format(m[0]), text
    ),
    "loud": lambda rng, text: re.sub(
        r"[.!?]", lambda m: rng.choice(("...", "?!", "!!", m[0] + '"', m[0] + ")", "?”")), text
    ),
    "numbers": lambda rng, text: re.sub(
        r"\b\w{1,3}\b", lambda m: rng.choice(("1", "2.5", "1,000", "3.", m[0], m[0])), text
    ),
    "insert": _insert,
    "insert-more": lambda rng, text: _insert(rng, _insert(rng, _insert(rng, text))),
    "drop": _drop,
    "accents": lambda _, text: text.translate(str.maketrans("aeiou", "áéíóú")),
    "dotless": lambda _, text: text.replace("i", "ı").replace("I", "İ").replace("s", "ſ"),
}


def mutated(rng: random.Random, text: str, most: int = 3) -> str:
    """`text` after up to `most` mutations; never longer than 20,000 characters."""
    for _ in range(rng.randint(0, most)):
        text = rng.choice(list(MUTATIONS.values()))(rng, text)[:20_000]
    return text


def real(rng: random.Random) -> str:
    """A real answer, mostly a stretch of one, perhaps mutated."""
    text = rng.choice(answers())
    if rng.random() < 0.6:
        start = rng.randrange(len(text) + 1) if rng.random() < 0.5 else 0
        text = text[start : start + rng.choice((60, 200, 500))]
    return mutated(rng, text)


# --- Parameters ----------------------------------------------------------------------------------------------------

KEYWORDS = (
    "cat",
    "Cat",
    "the",
    "AND",
    "work time",
    "old friend",
    "don't",
    "well-known",
    "e.g.",
    "U.S.",
    "C",
    "C#",
    ".NET",
    "#tag",
    "a.c",
    "café",
    "straße",
    "İstanbul",
    "猫",
    "data ",
    " dog",
    "1",
    "3.14",
    "snake_case",
    "o",
    "I",
    "'s",
    "n't",
    "can",
    "not",
    "?",
    "it",
    "K",
    "ſ",
)
RELATIONS = ("less than", "at least")
SPLITTERS = (
    "Section",
    "SECTION",
    "Day",
    "Part",
    "Chapter",
    "PARAGRAPH",
    "Audience",
    "Ex.",
    "§",
    "Section ",
    "#",
    "**Section",
)
MARKERS = ("P.S.", "P.P.S", "P.P.S.", "PS", "PS:", "N.B.", "p.s.", "P.S. ")
COUNTS = (0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 10, 12, 20, 40, 100)
LETTERS = "abcdefghijklmnopqrstuvwxyzAEISOKZ"
LANGUAGES = [
    "en",
    "en",
    "en",
    "en",
    "en",
    "en",
    "fr",
    "fr",
    "ja",
    "ja",
    "es",
    "hi",
    "en",
    "es",
    "pt",
    "ar",
    "hi",
    "fr",
    "ru",
    "de",
    "ja",
    "it",
    "bn",
    "uk",
    "th",
    "ur",
    "ta",
    "te",
    "bg",
    "ko",
    "pl",
    "he",
    "fa",
    "vi",
    "ne",
    "sw",
    "kn",
    "mr",
    "gu",
    "pa",
    "ml",
    "fi",
]
NUMBERS = frozenset(
    [
        "num_sentences",
        "num_paragraphs",
        "num_words",
        "num_placeholders",
        "num_bullets",
        "num_highlights",
        "num_sections",
        "capital_frequency",
        "frequency",
        "let_frequency",
        "N",
        "small_n",
    ]
)
# For these the published code draws 0 at random, so none is given.
ZERO_IS_DRAWN = frozenset(
    [
        "count:lowercase_counting",
        "letters:letter_counting",
        "copy:copying_multiple",
        "copy:repeat_phrase",
        "count:words_japanese",
    ]
)
PHRASES = (
    "as well as the others",
    "in the middle of nowhere",
    "the end of it",
    "cat dog",
    "a b c",
    "Don't judge a book by cover",
)
REPEATED = (
    "Write a poem about the cat.",
    "Hello  world\n\nagain, friend!",
    "abcdef",
    "Tell me: what is 2 + 2?",
    "über ALLES im Café ",
    " Is it? ",
)


Draw = Callable[[random.Random], Any]


def one_of(*choices: Any) -> Draw:
    """Draws one of these."""
    return lambda rng: rng.choice(choices)


def _keywords(rng: random.Random) -> list[str]:
    return rng.sample(KEYWORDS, rng.randint(1, 3))


def _small(rng: random.Random) -> int:
    return rng.randint(1, 6)


FRESH: dict[str, Draw] = {
    "keywords": _keywords,
    "forbidden_words": _keywords,
    **dict.fromkeys(("relation", "let_relation", "capital_relation"), one_of(*RELATIONS)),
    **dict.fromkeys(("n", "m", "n_sent", "n_words"), _small),
    **dict.fromkeys(NUMBERS, one_of(*COUNTS)),
    "letter": one_of(*LETTERS),
    "language": one_of(*LANGUAGES),
    "section_spliter": one_of(*SPLITTERS),
    "postscript_marker": one_of(*MARKERS),
    "prompt_to_repeat": one_of(*REPEATED),
    "reference_text": lambda rng: rng.choice((*REPEATED, words(rng, 12), words(rng, 40))),
    "percentage": one_of(0, 1, 5, 10, 20, 25, 33, 37.5, 40, 50, 60, 75, 98, 100),
    "end_phrase": one_of("The end.", "Any other questions?", "bye", '"Bye"', " end ", "Fin!", "café"),
    "sep": one_of("...", "SEPARATOR", "!?!?", "-", "*", "|", "a", "\n"),
    "options": one_of(
        "yes/no/maybe", "I know or I don't know", "a), b), c), d)", "red, green, blue", "A, B, C", "Yes / No"
    ),
    "phrase": one_of(*PHRASES),
}


def fresh_params(rng: random.Random, id_: str, names: Sequence[str]) -> Params:
    """New values for the parameters that the published prompts give `id_`."""
    found: Params = {name: FRESH.get(name, one_of(*KEYWORDS))(rng) for name in names}
    if id_ in ZERO_IS_DRAWN:
        found = {name: value or 2 for name, value in found.items()}
    if "nth_paragraph" in found:
        found["num_paragraphs"] = rng.randint(1, 5)
        found["nth_paragraph"] = rng.randint(1, found["num_paragraphs"])
    if "n_end" in found:
        found["n_start"] = rng.randint(1, 6)
        found["n_end"] = found["n_start"] + rng.randint(1, 8)
    if "max_words" in found:
        found["min_words"] = rng.randint(0, 12)
        found["max_words"] = found["min_words"] + rng.randint(0, 6)
    return found


def params(rng: random.Random, suite: str, id_: str) -> Params:
    """Published or new parameters of an id."""
    known = published_params(suite)[id_]
    given = rng.choice(known)
    names = sorted({name for values in known for name in values})
    return fresh_params(rng, id_, names) if names and rng.random() < 0.6 else dict(given)


def strings_in(values: Params) -> list[str]:
    """All texts among the parameters, with a few variants each."""
    found: list[str] = []
    for value in values.values():
        found += (
            [value]
            if isinstance(value, str)
            else [x for x in value if isinstance(x, str)]
            if isinstance(value, list)
            else []
        )
    return [
        form
        for text in found
        for form in (
            text,
            text.strip(),
            text.lower(),
            text.upper(),
            text.title(),
            f"{text}s",
            f"x{text}",
            f"{text},",
            f'"{text}"',
            text[:-1],
        )
    ]
