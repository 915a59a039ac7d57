"""IFTrain's rules with their defects mended: above all those that a policy can pass without doing what was asked.

Each function takes the parameters and the switched-on fixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench.english.splitter import pieces
from adhere.constraints.published.ifbench.english.tokens import iterate_tokens
from adhere.constraints.published.ifbench.features import find_repeat
from adhere.constraints.published.ifbench.kind import accept, quote, reject, verdict
from adhere.constraints.published.ifeval.fixed_words import is_no_character, keyword_times
from adhere.constraints.published.ifeval.words import unless_undecidable
from adhere.constraints.published.iftrain import format as iftrain_format
from adhere.constraints.published.iftrain import words as iftrain_words
from adhere.constraints.published.iftrain.phrases import literal_phrases, phrases
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import On, Values, fix, fixed_check, fixed_rule
from adhere.constraints.published.shared.registry import Check, Param, is_absent_or_negative
from adhere.constraints.published.shared.whole_words import (
    count,
    find,
    first_word,
    iterate_words,
    joined_words,
    whole_word,
)


@fixed_rule(
    "keywords:palindrome",
    fix(
        "palindrome-one-letter",
        "A word of one letter (`a`, `I`), or a mark, is a palindrome; here it has at least three letters.",
        "evaluation 2.2; verifiers 8.1",
    ),
    fix("palindrome-marks", "Marks and capitals hide a palindrome (`Level.`); here both are ignored.", "verifiers 8.1"),
)
def _palindrome(_values: Values, on: On) -> Check:
    long, bare = "fix:palindrome-one-letter" in on, "fix:palindrome-marks" in on

    def is_one(word: str) -> bool:
        if long and len(word) < 3:
            return False
        return word[0] == word[-1] and word == word[::-1] and (not long or sum(map(str.isalpha, word)) > 2)

    def check(text: Text) -> Finding:
        words: Iterable[str] = dict.fromkeys(text.lower.split() if bare else text.chunks)
        palindrome = next(filter(is_one, joined_words(" ".join(words)) if bare else words), None)
        phrase = "no palindrome" if palindrome is None else quote(palindrome)
        return verdict(palindrome is not None, f"found {phrase}", palindrome and palindrome[:40])

    return check


@fixed_rule(
    "keywords:exclude_word_harder",
    fix(
        "exclude-word-marks",
        "The keyword is found between two blanks only, and in one case (`cat. The cat, a Cat` holds none); here it is "
        "found wherever no letter or digit touches it, in any case.",
        "evaluation 2.2; verifiers 8.1",
    ),
)
def _exclude_word_harder(values: Values, _on: On) -> Check:
    word = values["keyword"].strip()
    pattern = whole_word(word)

    def check(text: Text) -> Finding:
        match = find(pattern, text)
        if match is not None:
            return reject(f"found {word!r}", span=match.span())
        return accept(f"found no {word!r}")

    return check


_SUBSTRING = (
    "The keyword is found inside longer words (`cat` in `concatenate`), and run as a regular expression; "
    "here it is a whole word, taken literally."
)


@fixed_rule("keywords:word_once", fix("word-once-whole-word", _SUBSTRING, "verifiers 8.1"))
def _word_once(values: Values, _on: On) -> Check:
    word = values["keyword"].strip()
    pattern = whole_word(word)

    def check(text: Text) -> Finding:
        times = count(pattern, text)
        return verdict(times == 1, f"found {word!r} {times} times, needed 1", times, 1)

    return check


@fixed_rule("keywords:word_count_different_numbers", fix("word-count-whole-word", _SUBSTRING, "verifiers 8.1"))
def _word_count_different_numbers(values: Values, on: On) -> Check:
    word, relation, limit = values["keyword"].strip(), values["relation"], values["frequency"]
    whole = bool(on)
    times = keyword_times(word, is_literal=whole, is_whole=whole)

    def check(text: Text) -> Finding:
        total = times(text)
        holds = total < limit if relation == "less than" else total >= limit
        return verdict(holds, f"found {total} times {word!r}, needed {relation} {limit}", total, f"{relation} {limit}")

    return unless_undecidable(check)


@fixed_rule("count:count_increment_word", fix("increment-word-whole-word", _SUBSTRING, "verifiers 8.1"))
def _count_increment_word(values: Values, _on: On) -> Check:
    keywords = [(values[name].strip(), times) for times, name in enumerate(("keyword1", "keyword2"), 1)]
    patterns = [(word, times, whole_word(word)) for word, times in keywords]

    def check(text: Text) -> Finding:
        for word, times, pattern in patterns:
            total = count(pattern, text)
            if total != times:
                return reject(f"found {word!r} {total} times, needed {times}", total, times)
        return accept("found the first keyword once and the second twice", [1, 2], [1, 2])

    return check


@fixed_check(
    "keywords:keyword_specific_position",
    fix(
        "keyword-position-marks",
        "Marks count as words of the sentence; here words are runs of letters and digits, as IFBench counts them since "
        "its commit 77fa122.",
        "evaluation 4.2 #29; verifiers 8.1",
    ),
)
def _keyword_specific_position(text: Text, values: Values) -> Finding:
    keyword, n, m = iftrain_words.only_word(values["keyword"]), values["n"], values["m"]
    sentences = pieces(text)
    if not 0 < n <= len(sentences):
        return reject(f"found {amount(len(sentences), 'sentences')}, needed at least {n}", len(sentences), n)
    words = list(islice(iterate_words(sentences[n - 1]), max(m, 0)))
    return iftrain_words.judge_word(words, n, m, keyword)


@fixed_check(
    "keywords:start_end",
    fix(
        "start-end-marks",
        "The mark at the end of the answer is its last word; here marks are set aside, "
        "one word or more may stand between.",
        "verifiers 8.1",
    ),
)
def _start_end(text: Text, _values: Values) -> Finding:
    words = joined_words(text.lower)
    if len(words) < 2:
        return reject(f"found {amount(len(words), 'words')}, needed at least 2", len(words), 2)
    reason = f"the answer begins with {quote(words[0])} and ends with {quote(words[-1])}, needed the same word"
    return verdict(words[0] == words[-1], reason, [words[0][:40], words[-1][:40]], "the same word")


@fixed_check(
    "count:count_unique",
    fix(
        "count-unique-marks",
        "Marks are words, so that a second comma is a repetition; here words are runs of letters and digits.",
        "verifiers 8.1",
    ),
)
def _count_unique(text: Text, _values: Values) -> Finding:
    words = joined_words(text.raw)
    word = find_repeat(words)
    if word is not None:
        return reject(f"{quote(word)} stands more than once", word[:40], "each word once")
    return accept(f"{len(words)} words stand once each", len(words))


@fixed_check(
    "count:lowercase_counting",
    fix("lowercase-apostrophe", "`don't` counts as two words in lower case; here as one.", "verifiers 8.1"),
)
def _lowercase_counting(text: Text, values: Values) -> Finding:
    limit = values["N"]
    lower = map(str.islower, iterate_words(text.raw))
    total = sum(lower)
    return verdict(
        total <= limit, f"found {amount(total, 'words in lower case')}, needed at most {limit}", total, limit
    )


_RELATION = Param("string", choices=("less than", "at least", "at most"))


@fixed_rule(
    "letters:letter_counting",
    fix("letters-beyond-ascii", "Letters beyond ASCII (`é`) are not counted; here they are.", "verifiers 8.1"),
    fix(
        "letters-relation",
        "A relation other than `less than` and `at least` fails every answer; "
        "here `at most` is judged and any other is an error.",
        "verifiers 8.1",
        relation=_RELATION,
    ),
)
def _letter_counting(values: Values, on: On) -> Check:
    limit, relation = values["N"], values["relation"]
    everywhere, at_most = "fix:letters-beyond-ascii" in on, "fix:letters-relation" in on

    def check(text: Text) -> Finding:
        total = len(_LETTER.findall(text.raw)) if everywhere else len(_ASCII_LETTER.findall(text.raw))
        holds = (
            total < limit
            if relation == "less than"
            else total >= limit
            if relation == "at least"
            else (at_most and relation == "at most" and total <= limit)
        )
        return verdict(
            holds, f"found {amount(total, 'letters')}, needed {relation} {limit}", total, f"{relation} {limit}"
        )

    return check


_LETTER, _ASCII_LETTER = re.compile(r"[^\W\d_]"), re.compile("[A-Za-z]")


@fixed_rule(
    "letters:letter_counting2",
    fix(
        "letter-counting2-any-character",
        "A letter outside a to z (`#`, `!`) is replaced by a random one; here the character given is counted.",
        "evaluation 4.1 #1; verifiers 5.2",
        letter=Param("string", is_drawn=is_no_character),
    ),
)
def _letter_counting2(values: Values, on: On) -> Check:  # noqa: ARG001 - the parameter's domain is what is mended
    return iftrain_words.letter_counting2.compile({**values, "letter": values["letter"].strip()})


@fixed_check(
    "first_word:first_word_sent",
    fix(
        "first-word-sentence-marks",
        "A comma after the word belongs to it (`Well,`); here marks around it are set aside.",
        "verifiers 8.1",
    ),
)
def _first_word_sent(text: Text, values: Values) -> Finding:
    expected = iftrain_words.only_word(values["first_word"])
    for order, sentence in enumerate(pieces(text), 1):
        word = _leading_word(sentence)
        if word.lower() != expected.lower():
            return reject(f"sentence {order} begins with {quote(word)}, needed {expected!r}", word[:40], expected)
    return accept(f"each sentence begins with {expected!r}", expected, expected)


@fixed_check(
    "first_word:first_word_answer",
    fix("first-word-answer-marks", "Emphasis and marks at the word belong to it (`**Well**`); here they are set aside.",
        "verifiers 8.1"),
)  # fmt: skip
def _first_word_answer(text: Text, values: Values) -> Finding:
    expected = values["first_word"].strip()
    word = _leading_word(text.raw)
    reason = f"the answer begins with {quote(word)}, needed {expected!r}"
    return verdict(word.lower() == expected.lower(), reason, word[:40], expected)


_MARKUP = re.compile(r"[\W_]*+")


def _leading_word(piece: str) -> str:
    """Return the first word, without marks before it; "" for a piece of marks only."""
    marks = _MARKUP.match(piece)
    start = marks.end() if marks else 0
    return first_word(piece[start : start + 200])


@fixed_rule(
    "detectable_format:square_brackets",
    fix("square-brackets-empty", "Brackets with no word inside (`[]`) pass; here each holds a letter or digit.",
        "evaluation 2.2"),
)  # fmt: skip
def _square_brackets(values: Values, _on: On) -> Check:
    original = iftrain_format.square_brackets.compile(values)

    def check(text: Text) -> Finding:
        finding = original(text)
        if finding.outcome == "pass":
            for order, word in enumerate(text.chunks, 1):
                if not any(map(str.isalnum, word)):
                    return reject(f"the brackets of word {order}, {quote(word)}, hold no word", word[:40])
        return finding

    return check


@fixed_rule(
    "detectable_format:bigram_wrapping",
    fix(
        "bigram-odd-word",
        "An odd last word, and so an answer of one word, need not be wrapped; here it stands in brackets of its own.",
        "evaluation 2.2; verifiers 8.1",
    ),
)
def _bigram_wrapping(values: Values, _on: On) -> Check:
    original = iftrain_format.bigram_wrapping.compile(values)

    def check(text: Text) -> Finding:
        finding = original(text)
        words = text.chunks
        if finding.outcome == "pass" and len(words) % 2:
            last = words[-1]
            if not (last.startswith("<<") and last.endswith(">>") and any(map(str.isalnum, last))):
                return reject(f"the last word, {quote(last)}, is not in double angular brackets", last[:40])
        return finding

    return check


_DIVIDER = re.compile(r"\s?\*\*\*\s?")


@fixed_rule(
    "count:counting_composition",
    fix(
        "composition-outer-divider",
        "A `***` before the first or after the last paragraph fails the answer; here it is forgiven.",
        "evaluation 2.2; verifiers 8.1",
    ),
    fix(
        "composition-marks",
        "Marks count as words of a sentence (`Hi.` has two); here words are runs of letters and digits.",
        "verifiers 8.1",
    ),
)
def _counting_composition(values: Values, on: On) -> Check:
    n_sent, n_words = values["n_sent"], values["n_words"]
    outer = "fix:composition-outer-divider" in on
    words_of = iterate_words if "fix:composition-marks" in on else iterate_tokens

    def check(text: Text) -> Finding:
        parts = _DIVIDER.split(text.raw)
        if outer:
            parts = parts[not parts[0].strip() :]
            parts = parts[: len(parts) - (bool(parts) and not parts[-1].strip())]
        return iftrain_format.judge_composition(parts, n_sent, n_words, words_of=words_of)

    return check


@fixed_rule(
    "new:copy_span_idx",
    fix(
        "copy-span-zero",
        "An index of 0 is replaced by a random one; here it is the first character.",
        "verifiers 5.2, 8.1",
        n_start=Param("integer", is_drawn=is_absent_or_negative),
        n_end=Param("integer", is_drawn=is_absent_or_negative),
    ),
)
def _copy_span_idx(values: Values, on: On) -> Check:  # noqa: ARG001 - the parameters' domain is what is mended
    return iftrain_format.copy_span_idx.compile(values)


@fixed_rule(
    "copy:repeat_phrase",
    fix(
        "repeat-phrase-escaped",
        "The first and last word of the phrase are run as regular expressions (`C++`); here they are taken literally.",
        "verifiers 8.1",
    ),
    fix(
        "repeat-phrase-each-changed",
        "Of several copies only the last must differ from the phrase; here each must, in one word.",
        "verifiers 8.1",
    ),
)
def _repeat_phrase(values: Values, on: On) -> Check:
    words, target = values["phrase"].split(), values["small_n"]
    if not on or not words:
        return iftrain_format.repeat_phrase.compile(values)
    is_literal, must_change = "fix:repeat-phrase-escaped" in on, "fix:repeat-phrase-each-changed" in on
    search = phrases(words[0], words[-1])

    def check(text: Text) -> Finding:
        copies = literal_phrases(f"{words[0]} ", f" {words[-1]}", text.raw) if is_literal else search(text.raw)
        if isinstance(copies, str):
            return Finding("undecided", copies)
        if len(copies) != target:
            return reject(f"found the phrase {len(copies)} times, needed {target}", len(copies), target)
        changed = 0
        for piece in copies:
            got = piece.split()
            changed = sum(left != right for left, right in zip(got, words, strict=False))
            if changed > 1 or len(got) > len(words) or (must_change and changed == 0):
                return reject(f"{quote(piece)} differs from the phrase in {changed} words, needed 1", changed, 1)
        return verdict(changed == 1, f"the last copy differs in {changed} words, needed 1", changed, 1)

    return check
