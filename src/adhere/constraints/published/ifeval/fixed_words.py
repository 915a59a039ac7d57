"""IFEval's rules about words with their defects mended.

Each function takes the parameters and the switched-on fixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from adhere.constraints.finding import Finding, amount, verdict
from adhere.constraints.published.ifbench.features import feature
from adhere.constraints.published.ifeval import words
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import On, Values, fix, fixed_rule
from adhere.constraints.published.shared.patterns import Pattern, Undecidable, keyword_pattern, word_pattern
from adhere.constraints.published.shared.registry import Check, Param
from adhere.constraints.published.shared.whole_words import count, find, first_word, iterate_words, whole_word
from adhere.text.words import WORD_CHARACTER, has_words


@fixed_rule(
    "keywords:existence",
    fix(
        "keywords-word-boundary",
        "A keyword is found inside longer words (`member` in `remember`); here no letter or digit may touch it.",
        "evaluation 4.1 #8; verifiers 9",
    ),
    fix(
        "keywords-escaped",
        "A keyword is run as a regular expression (`c.t` finds `cat`, `$5` nothing); here it is taken literally.",
        "evaluation 4.1 #8; verifiers 6.4",
    ),
    fix(
        "keywords-one-text",
        "A text where a list of keywords belongs is taken for its letters; here it is one keyword.",
        "verifiers 6.4",
    ),
)
def _existence(values: Values, on: On) -> Check:
    keywords = values["keywords"]
    if isinstance(keywords, str) and "fix:keywords-one-text" in on:
        keywords = [keywords]
    is_literal, is_whole = "fix:keywords-escaped" in on, "fix:keywords-word-boundary" in on
    if not (is_literal or is_whole):
        return words.keywords_exist({"keywords": keywords})
    names = sorted(keywords)
    patterns = [
        whole_word(name.strip() if is_whole else name, is_literal=is_literal, is_whole=is_whole) for name in names
    ]
    total = len(patterns)

    def check(text: Text) -> Finding:
        try:
            missing = [name for name, pattern in zip(names, patterns, strict=True) if find(pattern, text) is None]
        except Undecidable as reason:
            return Finding("undecided", str(reason))
        n_found = total - len(missing)
        if missing:
            return Finding("fail", f"keyword {missing[0]!r} is missing", n_found, total, None, n_found / total)
        return Finding("pass", f"found all {total} keywords", n_found, total, None, 1.0)

    return check


def keyword_times(word: str, *, is_literal: bool, is_whole: bool) -> Callable[[Text], int]:
    """Return a function that counts the keyword, without fixes as the published code does.

    That function raises Undecidable if the keyword is a regular expression that cannot be run.
    """
    if not (is_literal or is_whole):
        return keyword_pattern(word).count
    pattern = whole_word(word, is_literal=is_literal, is_whole=is_whole)
    return lambda text: count(pattern, text)


@fixed_rule(
    "keywords:frequency",
    fix(
        "frequency-word-boundary",
        "Occurrences inside longer words count (`war` in `forward`); here no letter or digit may touch the keyword, "
        "so that a plural does not count either.",
        "evaluation 4.1 #8; verifiers 9",
    ),
    fix(
        "frequency-escaped",
        "The keyword is run as a regular expression; here it is taken literally.",
        "evaluation 4.1 #8; verifiers 9",
    ),
)
def _frequency(values: Values, on: On) -> Check:
    word = values["keyword"].strip()
    times = keyword_times(word, is_literal="fix:frequency-escaped" in on, is_whole="fix:frequency-word-boundary" in on)
    return words.unless_undecidable(
        words.check_count(times, values["relation"], values["frequency"], f"times {word!r}")
    )


@fixed_rule(
    "keywords:forbidden_words",
    fix(
        "forbidden-words-boundary",
        r"A forbidden word is looked for between `\b` and `\b`, which hides `thanks_a`, ` .NET` and `猫` in `有猫咪`; here "
        "it is found wherever no letter or digit touches it, and anywhere in scripts without blanks.",
        "evaluation 4.1 #8; verifiers 6.4",
    ),
    fix(
        "forbidden-words-escaped",
        r"A forbidden word is run as a regular expression (`a|b` escapes its `\b`); here it is taken literally.",
        "verifiers 6.4",
    ),
    fix(
        "forbidden-words-one-text",
        "A text where a list of forbidden words belongs is taken for its letters; here it is one word.",
        "verifiers 6.4",
    ),
)
def _forbidden_words(values: Values, on: On) -> Check:
    forbidden = values["forbidden_words"]
    if isinstance(forbidden, str) and "fix:forbidden-words-one-text" in on:
        forbidden = [forbidden]
    is_literal, is_whole = "fix:forbidden-words-escaped" in on, "fix:forbidden-words-boundary" in on

    def pattern_of(name: str) -> Pattern:
        if is_whole:
            return whole_word(name.strip(), is_literal=is_literal)
        return word_pattern(re.escape(name) if is_literal else name)

    return words.forbid(forbidden, pattern_of)


def is_no_character(value: Any, _values: Values) -> bool:
    """Tell whether a letter to be counted is missing or longer than one character."""
    return not isinstance(value, str) or len(value.strip()) != 1


@fixed_rule(
    "keywords:letter_frequency",
    fix(
        "letter-any-character",
        "A letter outside a to z (`#`, `!`) is replaced by a random one; here the character given is counted.",
        "evaluation 4.1 #1; verifiers 5.2, 9; google-research#3427",
        letter=Param("string", is_drawn=is_no_character),
    ),
)
def _letter_frequency(values: Values, on: On) -> Check:  # noqa: ARG001 - the parameter's domain is what is mended
    return words.letter_count(values)


@fixed_rule(
    "language:response_language",
    fix(
        "language-undetected",
        "A text without letters passes in any language; here it is undecided.",
        "evaluation 4.1 #4; verifiers 4.4",
    ),
)
def _response_language(values: Values, on: On) -> Check:
    judge = words.response_language(values)
    if "fix:language-undetected" not in on:
        return judge
    return lambda text: UNDETECTED if text.language in _NO_LANGUAGE else judge(text)


_NO_LANGUAGE = (None, "unknown")
UNDETECTED = Finding("undecided", "no language can be detected in the answer")


@feature
def _lowered_language(text: Text) -> str | None:
    """Detect the language of the text in lower case: langdetect ignores most of a word in capitals."""
    return Text(text.lower).language


_UNDETECTED_PASSES = "A text in which no language is detected counts as English; here it is undecided."


@fixed_rule(
    "change_case:english_capital",
    fix(
        "english-capital-lowered",
        "Language detection leaves out most letters of words in capitals, so that English in capitals is taken for "
        "Somali, German or Vietnamese; here the language of the lower-cased answer is detected.",
        "evaluation 4.1 #3; verifiers 5.2, 9; Mimino666/langdetect#120",
    ),
    fix("english-capital-undetected", _UNDETECTED_PASSES, "evaluation 1.3, 4.1 #4"),
)
def _english_capital(values: Values, on: On) -> Check:
    lowered, undetected = "fix:english-capital-lowered" in on, "fix:english-capital-undetected" in on
    return _english_case(
        words.english_capitals(values),
        str.isupper,
        _lowered_language if lowered else lambda text: text.language,
        passes_undetected=undetected,
    )


@fixed_rule(
    "change_case:english_lowercase", fix("english-lowercase-undetected", _UNDETECTED_PASSES, "evaluation 1.3, 4.1 #4")
)
def _english_lowercase(values: Values, on: On) -> Check:
    return _english_case(
        words.english_lowercase(values),
        str.islower,
        lambda text: text.language,
        passes_undetected="fix:english-lowercase-undetected" in on,
    )


def _english_case(
    original: Check, holds: Callable[[str], bool], language: Callable[[Text], str | None], *, passes_undetected: bool
) -> Check:
    def check(text: Text) -> Finding:
        if not holds(text.raw):
            return original(text)
        answer_language = language(text)
        if passes_undetected and answer_language in _NO_LANGUAGE:
            return UNDETECTED
        return words.english(answer_language)

    return check


@fixed_rule(
    "length_constraints:number_words",
    fix(
        "words-between-blanks",
        r"Words are runs of `\w`, so that `don't` is two and `state-of-the-art 3.14` six; here a word is what stands "
        "between blanks and holds a letter or digit.",
        "evaluation 4.1 #18; verifiers 9",
    ),
)
def _number_words(values: Values, on: On) -> Check:
    if "fix:words-between-blanks" not in on:
        return words.word_count(values)
    return words.check_count(
        lambda text: len(_HELD_WORD.findall(text.raw)), values["relation"], values["num_words"], "words"
    )


# From the first letter or digit of what stands between blanks to its end, so each such piece is found once.
_HELD_WORD = re.compile(r"[^\W_]\S*+")
_OTHER_STOP = re.compile(r"[。！？｡।॥؟\u06d4።]+")
_LIST_MARK = re.compile(r"[\W_]*(?:\d{1,3}|[A-Za-z])[.)][\W_]*")


@fixed_rule(
    "length_constraints:number_sentences",
    fix(
        "sentences-line-breaks",
        "A line break never ends a sentence, so that a heading or a list without full stops runs on; here it does "
        "unless the next line goes on in lower case, and a sentence holds a letter or digit.",
        "evaluation 4.1 #18",
    ),
    fix(
        "sentences-list-numbers",
        "The number of a list item (`1.`) counts as a sentence; here it does not.",
        "evaluation 4.1 #18",
    ),
    fix(
        "sentences-other-stops",
        "Full stops of other scripts (`。`, `！`, `।`, `؟`) end no sentence; here they do.",
        "verifiers 6.2, 6.3",
    ),
)
def _number_sentences(values: Values, on: On) -> Check:
    limit: int = values["num_sentences"]
    by_line = "fix:sentences-line-breaks" in on
    by_stop = "fix:sentences-other-stops" in on
    unnumbered = "fix:sentences-list-numbers" in on

    def parts(sentence: str) -> Iterator[str]:
        pieces: Iterable[str] = [sentence]
        if by_stop and not sentence.isascii():
            pieces = filter(has_words, _OTHER_STOP.split(sentence)) if has_words(sentence) else pieces
        if by_line:
            pieces = (line.group() for piece in pieces for line in _LINE.finditer(piece))
        if unnumbered:
            pieces = (part for part in pieces if not _LIST_MARK.fullmatch(part))
        return iter(pieces)

    def count_parts(text: Text) -> int:
        return sum(1 for sentence in text.sentences for _ in parts(sentence))

    return words.check_count(count_parts, values["relation"], limit, "sentences")


# A line that holds a letter or digit, and the lines after it that go on in lower case.
_LINE = re.compile(r"^(?:[^\w\n]|_)*+[^\W_][^\n]*+(?:\n[^\S\n]*+[a-zß-öø-ÿα-ωа-џ][^\n]*+)*+", re.MULTILINE)


@fixed_rule(
    "change_case:capital_word_frequency",
    fix(
        "capital-words-whole",
        "Contractions and `CANNOT` are two words, a word with a slash one; here words are runs of letters and digits "
        "joined by apostrophes, hyphens and points.",
        "verifiers 6.3, 9",
    ),
)
def _capital_words(values: Values, _on: On) -> Check:
    limit = values["capital_frequency"]

    def count_capitals(text: Text) -> int:
        return sum(map(str.isupper, iterate_words(text.raw)))

    # No word is longer than a line, and where a star goes two words become one: no variant has more words in capitals.
    return words.check_count(count_capitals, values["capital_relation"], limit, "words in capitals", only_shrinks=True)


_DIVIDER = re.compile(r"^[^\S\n]*\*\*\*[^\S\n]*$", re.MULTILINE)
_SPACED_DIVIDER = re.compile(r"^[^\S\n]*+\*[^\S\n]++\*[^\S\n]++\*[^\S\n]*+$", re.MULTILINE)


@fixed_rule(
    "length_constraints:number_paragraphs",
    fix(
        "paragraphs-divider-line",
        "`***` counts as a divider wherever it stands, in bold italics too; here it stands alone on its line.",
        "evaluation 4.1 #14; verifiers 9",
    ),
    fix(
        "paragraphs-spaced-divider",
        "`* * *`, the same rule in Markdown, is no divider; here it is.",
        "evaluation 4.1 #14",
    ),
    fix(
        "paragraphs-blank-pieces",
        "Two dividers in a row fail every count; here a blank piece is no paragraph.",
        "verifiers 6.3, 9",
    ),
)
def _number_paragraphs(values: Values, on: On) -> Check:
    target = values["num_paragraphs"]
    by_line = "fix:paragraphs-divider-line" in on
    spaced = "fix:paragraphs-spaced-divider" in on
    blank = "fix:paragraphs-blank-pieces" in on

    def check(text: Text) -> Finding:
        raw = _SPACED_DIVIDER.sub("***", text.raw) if spaced else text.raw
        pieces = _DIVIDER.split(raw) if by_line else raw.split("***")
        has_text = [bool(piece) and not piece.isspace() for piece in pieces]
        if not blank and not all(has_text[1:-1]):
            return Finding("fail", "a piece between two *** dividers is blank", None, target)
        total = sum(has_text)
        reason = f"found {amount(total, 'paragraphs')} between *** dividers, needed exactly {target}"
        score = 1.0 if total == target else min(total, target) / max(total, target)
        return verdict(total == target, reason, total, target, None, score)

    return check


_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_MARKUP = re.compile(r"\A[\W_]+")
_LETTER = re.compile(WORD_CHARACTER)


@fixed_rule(
    "length_constraints:nth_paragraph_first_word",
    fix(
        "nth-paragraph-blank-chunks",
        "Blank pieces are left out of the count of paragraphs but not of their order; here they are left out of both.",
        "evaluation 4.1 #2; verifiers 6.4, 9; sieval PR 104",
    ),
    fix(
        "nth-paragraph-line-ends",
        "Only two newline characters side by side separate paragraphs; here any blank line does, with CRLF too.",
        "verifiers 4.4, 6.4, 9",
    ),
    fix(
        "nth-paragraph-markup",
        "Emphasis, headings and brackets before the word belong to it; here they are set aside.",
        "evaluation 4.1 #2; verifiers 6.4",
    ),
    fix(
        "nth-paragraph-whole-word",
        "The first word is cut at an apostrophe and not at a colon; here it is a run of letters and digits that "
        "apostrophes and hyphens join.",
        "verifiers 6.4, 9",
    ),
)
def _nth_paragraph_first_word(values: Values, on: On) -> Check:
    total, nth = values["num_paragraphs"], values["nth_paragraph"]
    blank, ends = "fix:nth-paragraph-blank-chunks" in on, "fix:nth-paragraph-line-ends" in on
    markup, whole = "fix:nth-paragraph-markup" in on, "fix:nth-paragraph-whole-word" in on
    expected: str = values["first_word"].lower().replace("’", "'")
    several = first_word(expected) != expected  # the data may ask for more than a word; then the beginning must be that

    def first(piece: str) -> str:
        if markup:
            piece = _MARKUP.sub("", piece) or piece
        if not whole:
            word: str = words.first_word(piece)
            return word.rstrip("*_~`)]}") if markup else word
        lead = piece.lstrip().lstrip("'\"")[: 200 + len(expected)].lower().replace("’", "'")
        if several and lead.startswith(expected) and not _LETTER.match(lead, len(expected)):
            return expected
        return first_word(lead) or words.first_word(piece)

    def check(text: Text) -> Finding:
        pieces = _BLANK_LINES.split(text.raw.replace("\r\n", "\n")) if ends else text.raw.split("\n\n")
        full_pieces = [piece for piece in pieces if piece and not piece.isspace()]
        n_pieces = len(full_pieces)
        if n_pieces != total or nth > n_pieces:
            return Finding("fail", f"found {amount(n_pieces, 'paragraphs')}, needed exactly {total}", n_pieces, total)
        piece = (full_pieces if blank else pieces)[nth - 1]
        if not piece or piece.isspace():
            return Finding("fail", f"paragraph {nth} is blank", n_pieces, total)
        word = first(piece)
        reason = f"paragraph {nth} starts with {word[:40]!r}, needed {expected!r}"
        return verdict(word == expected, reason, word[:40], expected)

    return check
