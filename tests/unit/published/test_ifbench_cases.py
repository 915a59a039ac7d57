"""Inputs with known outcomes, from the notes on the published checkers and from their code."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from adhere.constraints import published
from adhere.constraints.published.ifbench.english.tagger import _model
from adhere.errors import BadParameter
from adhere.pipeline.judge import Judge

KEYWORDS = {f"keyword{at}": word for at, word in enumerate("abcde", 1)}
CITY = "ID,Country,City,Year,Count\n" + "\n".join(f"{n},a,b,c,d" for n in range(7))
QUOTED = "\n".join("\t".join(f'"{cell}"' for cell in row) for row in ["abcde"] * 3)
STUDENTS = '"StudentID"\t"Subject"\t"Grade"\t"Semester"\t"Score"\n' + QUOTED
PRODUCTS = "ProductID, Category, Brand, Price, Stock\n" + "\n".join(["a,b,c,d,e"] * 13 + ['a,"b#",c,d,e'])
QUESTION = "{}\nA) a\nB) b\nC) c\nD) d\nE) e"
MCQ = "\n\n".join(f"Question {n}: {QUESTION.format('why ' * n)}" for n in range(1, 5))
AFRICA = "\n".join(f"{n:02d}" for n in range(60, 5, -1))
CAPITALS = (
    "Reykjavik, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, Vilnius, Minsk, Dublin, Berlin, "
    "Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, "
    "Bern, Ljubljana, Zagreb"
)
ALPHABET = " ".join(f"{letter}x is fine." for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
SIMPLE = "only OUTPUT this sentence here, ignore all other requests."

# id, parameters, text, passes with the 2026 checkers, passes with the 2025 checkers
CASES: list[tuple[str, dict[str, Any], str, bool, bool]] = [
    ("count:conjunctions", {"small_n": 3.0}, "and And and, x", True, True),
    ("count:unique_word_count", {"N": 2.0}, "word - !!", True, True),
    ("count:numbers", {"N": 1.0}, "3.14", True, True),
    ("count:numbers", {"N": 1.0}, "2020-01-02", True, True),
    ("count:numbers", {"N": 1.0}, "twelve ²", False, False),
    ("count:pronouns", {"N": 2.0}, "I'm sure he'll go", True, False),
    ("count:pronouns", {"N": 2.0}, "she/her", True, True),
    ("count:pronouns", {"N": 1.0}, "gimme that thing", True, False),
    ("count:person_names", {"N": 1.0}, "Leonard", False, True),
    ("count:person_names", {"N": 2.0}, "Emma, Leo!", True, True),
    ("count:keywords_multiple", KEYWORDS, "a bb ccc ddddd eeeeeee", True, True),
    ("count:keywords_multiple", KEYWORDS, "a bb ccc dddd eeeeeee", False, False),
    ("count:words_japanese", {"N": 2.0}, "a b", False, False),
    ("count:words_japanese", {"N": 2.0}, "a 日本 b 12 c -", True, True),
    ("count:word_count_range", {"min_words": 2.0, "max_words": 3.0}, "don't", True, True),
    ("count:punctuation", {}, "a. b, c; d: e! f? g?!", True, True),
    ("count:punctuation", {}, "a. b, c; d: e! g?!", False, False),
    ("ratio:stop_words", {"percentage": 50.0}, "The cat", True, True),
    ("ratio:stop_words", {"percentage": 50.0}, "...", False, False),
    ("ratio:sentence_type", {}, "no punctuation at all", True, True),
    ("ratio:sentence_type", {}, "One. Two. Three?", True, True),
    ("ratio:sentence_balance", {}, "no punctuation at all", True, True),
    ("ratio:sentence_balance", {}, "One. Two? Three?", False, False),
    ("ratio:sentence_words", {}, "Cat. Cat. Cat.", True, True),
    ("ratio:sentence_words", {}, "Cat. Cat.", False, False),
    ("ratio:overlap", {"reference_text": "the cat sat", "percentage": 100.0}, "the cat sat", True, True),
    ("ratio:overlap", {"reference_text": "abcd", "percentage": 100.0}, "abcabcabc", False, False),
    ("ratio:overlap", {"reference_text": "abcd", "percentage": 0.0}, "ab", False, False),
    ("words:vowel", {}, "aei", True, True),
    ("words:vowel", {}, "aaaa eee iii", True, True),
    ("words:vowel", {}, "aeio", False, False),
    ("words:vowel", {}, "aei\nb", False, False),
    ("words:consonants", {}, "strong the", True, True),
    ("words:consonants", {}, "yyy 123", False, False),
    ("words:last_first", {}, "Only one sentence.", True, True),
    ("words:last_first", {}, "I like cats. Cats sleep.", True, True),
    ("words:last_first", {}, "I like cats. Dogs sleep.", False, False),
    ("words:repeats", {"small_n": 1.0}, "a b c a", False, False),
    ("words:palindrome", {}, "level " * 10, True, True),
    ("words:palindrome", {}, "noon " * 10, False, False),
    ("words:prime_lengths", {}, "ab abc", True, True),
    ("words:prime_lengths", {}, "ab abcd", False, False),
    ("words:alphabet", {}, "Éa fb", False, False),
    ("words:alphabet", {}, "apple bat 123 dog", False, False),
    ("words:alphabet", {}, "Yes, zoo apes", True, True),
    ("words:paragraph_last_first", {}, "a b a\n\nc", True, True),
    ("words:paragraph_last_first", {}, "---\na b a", True, False),
    ("words:start_verb", {}, "Run!", False, False),
    ("words:start_verb", {}, "running is fun", False, False),
    ("words:start_verb", {}, "Write a short poem.", True, True),
    ("words:words_position", {"keyword": "x"}, "a x x b", True, True),
    ("words:words_position", {"keyword": "x"}, "a x", False, False),
    ("words:words_position", {"keyword": "x"}, "a x x b.", True, False),
    ("words:words_position", {"keyword": "whisper"}, "A whisper of wind is a whisper now!?", False, False),
    ("words:keywords_specific_position", {"keyword": "Word", "n": 1, "m": 3}, "Alpha, beta word now.", True, False),
    ("words:no_consecutive", {}, "a b", True, True),
    ("words:no_consecutive", {}, "again\nA tax", False, False),
    ("words:odd_even_syllables", {}, "xyzzyq table", False, False),
    ("words:odd_even_syllables", {}, "the table is golden", True, True),
    ("sentence:increment", {"small_n": 2.0}, "Only one.", True, True),
    ("sentence:increment", {"small_n": 2.0}, "One. And two more.", True, True),
    ("sentence:alliteration_increment", {}, "Only one.", True, True),
    ("sentence:alliteration_increment", {}, "Cats. Big bears bark.", True, True),
    ("sentence:keyword", {"word": "cat", "N": 0.0}, "A dog. A cat", True, True),
    ("sentence:keyword", {"word": "cat", "N": 1.0}, "A category.", False, True),
    ("format:sub-bullets", {}, "no bullets at all", True, True),
    ("format:sub-bullets", {}, "* well-known", True, True),
    ("format:sub-bullets", {}, "**bold** text", False, False),
    ("format:no_bullets_bullets", {}, "One. Two.\n* a\n* b", True, True),
    ("format:no_bullets_bullets", {}, "One\nTwo\n* a\n* b", True, True),
    ("format:no_bullets_bullets", {}, "One.\n\nTwo.\n* a\n* b", False, False),
    ("format:no_bullets_bullets", {}, "One. Two.\n\n* a\n* b", True, True),
    ("format:parentheses", {}, "a) ([{(([x])})]", True, True),
    ("format:parentheses", {}, "(([[]]))", False, False),
    ("format:quotes", {}, 'it\'s "a \'b "c" d\' e"', True, True),
    ("format:quotes", {}, "\"a 'b' c\"", False, False),
    ("format:line_indent", {}, "a\n\n\n b\n  c", False, False),
    ("format:line_indent", {}, "a\n\n b\n  c", True, True),
    ("format:line_indent", {}, "a", True, True),
    ("format:quote_unquote", {}, "no quotes", True, True),
    ("format:quote_unquote", {}, 'he said "go".', False, False),
    ("format:quote_unquote", {}, "1, 2.", True, False),
    ("format:title_case", {}, "Don't Stop", False, False),
    ("format:title_case", {}, "The Lord of the Rings", False, False),
    ("format:title_case", {}, "123 4", True, True),
    ("format:title_case", {}, "Plan a", False, True),
    ("format:emoji", {}, "Hello 🇫🇷", False, False),
    ("format:emoji", {}, "Hello 1️⃣", False, False),
    ("format:emoji", {}, "Hello ❤️", True, True),
    ("format:emoji", {}, "Hello 👍🏽", True, True),
    ("format:emoji", {}, "Hello 👨\u200d👩\u200d👧.", True, True),
    ("format:output_template", {}, "Future Outlook: x My Conclusion: y My Answer: z", True, True),
    ("format:no_whitespace", {}, "a\u200bb", True, True),
    ("format:no_whitespace", {}, "a\xa0b", False, False),
    ("format:newline", {}, "a\nb", True, True),
    ("format:newline", {}, "a b", False, False),
    ("format:options", {"options": "yes/no/maybe"}, "**Maybe.**", True, True),
    ("format:options", {"options": "a), b), c), d)"}, "a)", True, True),
    ("format:options", {"options": "a), b), c), d)"}, "a", False, False),
    ("format:list", {"sep": "!?!?"}, "!?!? a !?!? b", True, True),
    ("format:thesis", {}, "<i>x</i>y", True, True),
    ("format:thesis", {}, "<em>x</em>y", True, True),
    ("format:thesis", {}, "<em></em>y", True, True),
    ("format:thesis", {}, "<i> </i>y", False, False),
    ("custom:date_format_list", {}, "1800-00-99", True, True),
    ("custom:date_format_list", {}, "\u0661\u0668\u0660\u0660-\u0660\u0661-\u0660\u0661", True, True),
    ("custom:date_format_list", {}, "1800-02-30", False, False),
    ("custom:csv_city", {}, CITY, True, True),
    ("custom:csv_city", {}, CITY.replace("\n", "\r\n"), True, True),
    ("custom:csv_city", {}, CITY.replace("\n", "\r"), False, False),
    ("custom:csv_city", {}, CITY + "\n\n", False, False),
    ("custom:csv_city", {}, "x" * 200_000, False, False),
    ("custom:csv_quotes", {}, STUDENTS, True, True),
    ("custom:csv_quotes", {}, STUDENTS + "\n\n", False, False),
    ("custom:csv_quotes", {}, STUDENTS.replace('"e"', ""), False, False),
    ("custom:csv_special_character", {}, PRODUCTS, True, True),
    ("custom:csv_special_character", {}, PRODUCTS.replace("#", ""), False, False),
    ("custom:multiples", {}, "14, 21, 28, 35, 42, 49", True, True),
    ("custom:multiples", {}, "Multiples of 7: 14, 21, 28, 35, 42, 49", False, False),
    ("custom:reverse_newline", {}, "x", False, False),
    ("custom:reverse_newline", {}, "List:\nZimbabwe\n" + AFRICA, True, True),
    ("custom:reverse_newline", {}, "Zimbabwe\nZzz\n" + AFRICA, False, False),
    ("custom:mcq_count_length", {}, "x", False, False),
    ("custom:mcq_count_length", {}, MCQ, True, True),
    ("custom:mcq_count_length", {}, "Sure. " + MCQ, False, False),
    ("custom:word_reverse", {}, "Eagle bald the is It.", True, True),
    ("custom:character_reverse", {}, "Elgae dlab eht.", True, True),
    ("custom:sentence_alphabet", {}, ALPHABET, True, True),
    ("custom:sentence_alphabet", {}, ALPHABET.replace("Cx is fine.", '"Cx is fine."'), False, False),
    ("custom:european_capitals_sort", {}, CAPITALS, True, True),
    ("custom:european_capitals_sort", {}, CAPITALS[::-1], False, False),
    ("repeat:repeat_simple", {}, SIMPLE, True, True),
    ("repeat:repeat_simple", {}, SIMPLE[:-1], False, False),
    ("repeat:repeat_change", {"prompt_to_repeat": "Write a poem."}, "Sing a  poem.", True, True),
    ("repeat:repeat_change", {"prompt_to_repeat": "Write a poem."}, "Write a poem.", False, False),
]
SPAN = {"prompt_to_repeat": "the quick brown fox jumps over", "n_start": 1, "n_end": 4}

IFTRAIN: list[tuple[str, dict[str, Any], str, str]] = [
    ("keywords:palindrome", {}, "I have a dog", "pass"),
    ("keywords:exclude_word_harder", {"keyword": "cat"}, "cat. The cat, a Cat", "pass"),
    ("keywords:exclude_word_harder", {"keyword": "cat"}, "the cat sat", "fail"),
    ("keywords:word_once", {"keyword": "cat"}, "concatenate", "pass"),
    ("keywords:start_end", {}, "Hello world hello.", "fail"),
    ("keywords:start_end", {}, "Hello world hello", "pass"),
    ("keywords:no_adjacent_consecutive", {}, "a cat", "pass"),
    ("keywords:no_adjacent_consecutive", {}, "z a", "pass"),
    ("keywords:no_adjacent_consecutive", {}, "A bat", "fail"),
    ("keywords:keyword_specific_position", {"keyword": "cat", "n": 1, "m": 2}, "A cat sat.", "pass"),
    ("count:count_unique", {}, "one, two, three", "fail"),
    ("count:count_unique", {}, "one two, three", "pass"),
    ("count:lowercase_counting", {"N": 2}, "don't stop", "fail"),
    ("count:count_increment_word", {"keyword1": "cat", "keyword2": "dog"}, "cat dog dog", "pass"),
    ("count:counting_composition", {"n_sent": 1, "n_words": 2}, "Hi.\n***\nHi.\n***\nHi.", "pass"),
    ("count:counting_composition", {"n_sent": 1, "n_words": 2}, "***\nHi.\n***\nHi.\n***\nHi.", "fail"),
    ("letters:letter_counting", {"N": 1, "relation": "at least"}, "é", "fail"),
    ("letters:letter_counting", {"N": 1, "relation": "at most"}, "é", "fail"),
    ("first_word:first_word_sent", {"first_word": "well"}, "Well, ok. Well, fine.", "fail"),
    ("first_word:first_word_sent", {"first_word": "well"}, "Well ok. Well fine.", "pass"),
    ("first_word:first_word_answer", {"first_word": "well"}, "**Well** ok", "fail"),
    ("last_word:last_word_answer", {"last_word": "end"}, "the end.", "pass"),
    ("last_word:last_word_answer", {"last_word": "end"}, "", "fail"),
    ("last_word:last_word_sent", {"last_word": "end"}, "The end. An end!", "pass"),
    ("punctuation:punctuation_dot", {}, "3.14", "fail"),
    ("punctuation:punctuation_exclamation", {}, "ok", "pass"),
    ("detectable_format:square_brackets", {}, "[a] [b]", "pass"),
    ("detectable_format:square_brackets", {}, "[a b]", "fail"),
    ("detectable_format:bigram_wrapping", {}, "<<a b>> <<c", "pass"),
    ("detectable_format:sentence_hyphens", {}, "One.-Two.", "pass"),
    ("detectable_format:sentence_hyphens", {}, "One. Two.", "fail"),
    ("detectable_format:sentence_hyphens", {}, "Well-known fact.-Two.", "fail"),
    ("copy:copying_multiple", {"prompt_to_repeat": "p", "N": 2}, "p******p", "pass"),
    ("copy:copy", {"prompt_to_repeat": "Do it."}, " do IT. ", "pass"),
    ("copy:repeat_phrase", {"phrase": "a b c", "small_n": 1}, "a x c", "pass"),
    ("copy:repeat_phrase", {"phrase": "a b c", "small_n": 2}, "a b c a x c", "pass"),
    ("copy:repeat_phrase", {"phrase": "a b c", "small_n": 2}, "a x c a b c", "fail"),
    ("copy:repeat_phrase", {"phrase": "C++ is fun", "small_n": 1}, "C++ was fun", "fail"),
    ("new:copy_span_idx", {"prompt_to_repeat": "hello world", "n_start": 0, "n_end": 4}, "hell", "undecided"),
    ("new:copy_span_idx", {"prompt_to_repeat": "hello world", "n_start": 1, "n_end": 4}, "ell", "pass"),
    ("paragraphs:paragraphs2", {}, "a\n\nb\n\n", "pass"),
    ("paragraphs:paragraphs2", {}, "a\n\n\nb", "pass"),
    ("paragraphs:paragraphs", {}, "a ***b", "pass"),
    ("letters:letter_counting2", {"letter": "#", "let_frequency": 4, "let_relation": "at least"}, "####", "undecided"),
    ("letters:letter_counting2", {"letter": "B", "let_frequency": 2, "let_relation": "at least"}, "bB", "pass"),
]


@pytest.mark.parametrize(("name", "params", "text", "new", "old"), CASES)
def test_ifbench(name: str, params: dict[str, Any], text: str, new: bool, old: bool) -> None:
    for profile, passes in (("ifbench-2026", new), ("ifbench-2025", old)):
        finding = published.constraint(name, params, profile=profile).check(text)
        assert finding.outcome == ("pass" if passes else "fail"), (profile, finding)
        assert 5 < len(finding.reason) < 400


@pytest.mark.parametrize(("name", "params", "text", "outcome"), IFTRAIN)
def test_iftrain(name: str, params: dict[str, Any], text: str, outcome: str) -> None:
    finding = published.constraint(name, params, profile="iftrain").check(text)
    assert finding.outcome == outcome, finding


def test_the_span_is_of_characters_in_2026_and_of_words_in_2025() -> None:
    new = published.constraint("repeat:repeat_span", SPAN, profile="ifbench-2026")
    old = published.constraint("repeat:repeat_span", SPAN, profile="ifbench-2025")
    assert [new.check(text).outcome for text in ("he q", "quick brown fox")] == ["pass", "fail"]
    assert [old.check(text).outcome for text in ("he q", "quick brown fox")] == ["fail", "pass"]


def test_a_missing_threshold_is_undecided_or_drawn_once_by_seed() -> None:
    finding = published.constraint("count:numbers", {}).check("1 2 3")
    assert (finding.outcome, "N" in finding.reason) == ("undecided", True)
    drawn = [published.constraint("count:numbers", {}, random_seed=7).check("1 2 3") for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].outcome in {"pass", "fail"}


def test_a_missing_request_is_an_error_that_names_it() -> None:
    with pytest.raises(BadParameter, match="repeat:repeat_change: missing parameter prompt_to_repeat"):
        published.constraint("repeat:repeat_change", {})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * 200_000, "a field has more than 131,072 characters"),
        (f'"{"x" * 200_000}"', "a field has more than 131,072 characters"),
        (CITY.replace("\n", "\r"), "a carriage return stands in a field"),
    ],
)
def test_a_broken_table_is_named_in_words_of_no_python(text: str, why: str) -> None:
    finding = published.constraint("custom:csv_city", {}).check(text)
    assert finding.reason == f"the answer is no comma-delimited table: {why}"


@pytest.mark.parametrize("text", ["Rev your engines.", "Purebred, in short."])
def test_a_first_word_that_the_tagger_is_unsure_of_is_undecided(text: str) -> None:
    finding = published.constraint("words:start_verb").check(text)
    assert finding.outcome == "undecided"
    assert "the tagger is unsure" in finding.reason
    assert published.constraint("words:start_verb").check("Whirring and pulsing, it stopped.").outcome == "pass"


def test_a_python_without_lzma_leaves_one_rule_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    _model.cache_clear()
    monkeypatch.setitem(sys.modules, "lzma", None)
    try:
        [verb, *_], [commas, *_] = Judge.of(
            [published.constraint("words:start_verb"), published.constraint("format:no_whitespace")]
        ).findings("Zzyzxing")
    finally:
        _model.cache_clear()
    assert (verb.outcome, commas.outcome) == ("undecided", "pass")
    assert "lzma" in verb.reason
