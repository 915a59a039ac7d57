"""For each published id, what makes texts that meet it or nearly; used by `compare.py`."""

# ruff: noqa: RUF001 - look-alike characters are what tells two judges apart

from __future__ import annotations

import random

from benchmarks.judge.differential import builders as built
from benchmarks.judge.differential.texts import ODD, PLAIN, Build, Params, mutated, real, soup, strings_in


def of(*tokens: str, plain: int = 6, most: int = 24) -> Build:
    """A soup of these tokens, of the parameters' texts, and of some words."""

    def build(rng: random.Random, values: Params) -> str:
        return soup(rng, [*tokens, *strings_in(values), *rng.sample(PLAIN, plain), *rng.sample(ODD, 2)], most)

    return build


def near(build: Build) -> Build:
    """What `build` makes, half of the time with small damage."""

    def damaged(rng: random.Random, values: Params) -> str:
        text = build(rng, values)
        return text if rng.random() < 0.5 else mutated(rng, text, 2)

    return damaged


TARGETS: dict[str, Build] = {
    "keywords:existence": built.spread,
    "keywords:frequency": built.spread,
    "keywords:forbidden_words": built.spread,
    "keywords:letter_frequency": of("İ", "ẞ", "ﬁ", "é", "K", "a", "A", "E", most=12),
    "language:response_language": built.language,
    "length_constraints:number_sentences": built.sentences,
    "length_constraints:number_paragraphs": of(
        "***", "***", "\n***\n", "****", "******", "* * *", "*", "***x***", " *** "
    ),
    "length_constraints:number_words": built.about_as_many,
    "length_constraints:nth_paragraph_first_word": built.paragraphs,
    "detectable_content:number_placeholders": of("[", "]", "[x]", "[]", "[a [b]", "[x](y)", "\n", "]["),
    "detectable_content:postscript": of(
        "P.S.", "P.P.S", "p.s.", "P. S.", "P.P.S.", "PS", "p. p. s", "P.\u00a0S.", "tips.s.", "clip.s.x", "p.\ns."
    ),
    "detectable_format:number_bullet_lists": of(
        "* ", "*", "- ", "-", "** ", "\n* a", "\n- b", "\n", "\n  * c", "---", "\n* \n", "• ", "\u00a0* ", "\r* ", "***"
    ),
    "detectable_format:constrained_response": of(
        "My answer is yes.",
        "My answer is no.",
        "My answer is maybe.",
        "my answer is yes.",
        "My answer is",
        "*My answer is no.*",
        "My answer is **yes**.",
        most=6,
    ),
    "detectable_format:number_highlighted_sections": of(
        "*", "**", "***", "*a*", "**b**", "* ", " *", "**\n", "*\n*", "* *", "****", "_x_"
    ),
    "detectable_format:multiple_sections": built.sections,
    "detectable_format:json_format": built.json_text,
    "detectable_format:title": of("<<", ">>", "<<a>>", "<", ">", "<<\n", "<< >>", "<<<", ">>>", "<<a\nb>>", "\u00a0"),
    "combination:two_responses": of(
        "******", "******", "\n******\n", "***", "*", "*******", "************", " ", most=8
    ),
    "combination:repeat_prompt": built.repeat,
    "startend:end_checker": built.end,
    "startend:quotation": built.quoted,
    "change_case:capital_word_frequency": of(
        "CAPS",
        "DON'T",
        "I'M",
        "U.S.A.",
        "O'BRIEN",
        "CAN'T",
        "CANNOT",
        "A",
        "I",
        "GONNA",
        "X/Y",
        "WE’LL",
        "NASA's",
        "'TIS",
        "HE:SHE",
        "A--B",
        "“HI”",
        "N'T",
        "MORE'N",
        "D'YE",
        "GIMME",
        "A.B",
        "C++",
        "É",
        "END.",
        "Ⅷ",
        "ǅ",
        "ß",
        "Q.E.D.",
        "AT&T",
        "ROCK'N'ROLL",
        "'EM",
        "''IN''",
        'X."',
        "Y!)",
    ),
    "change_case:english_capital": built.english(str.upper),
    "change_case:english_lowercase": built.english(str.lower),
    "punctuation:no_comma": of(",", "，", "、", "1,000", "‚", most=8),
    "count:word_count_range": built.about_as_many,
    "count:unique_word_count": built.unique,
    "count:conjunctions": of(
        "and", "but", "for", "nor", "or", "so", "yet", "And", "AND,", "(but", "so.", "yet-", "*or*", "ſo", "“and”"
    ),
    "count:person_names": built.names,
    "count:numbers": of(
        "1", "2.5", "3,000", "4th", "٣", "３", "²", "½", "10:30", "2020-01-02", "a1b2", "-7", "1 2", "7\u0301", "8_9"
    ),
    "count:pronouns": of(
        "I",
        "me",
        "she/her/hers",
        "I'm",
        "he'll",
        "it's",
        "them.",
        "THEY",
        "(who)",
        "gimme",
        "lemme",
        "what's",
        "each",
        "none",
        "d'you",
        "“you”",
        "it—he",
        "all-in",
        "this.",
        "us...",
        "'em",
        "any'n't",
        "wanna",
        "someone's",
        "İt",
        "nothing",
        "non't",
        "some_one",
    ),
    "count:punctuation": of(".", ",", "!", "?", ";", ":", "?!", "!?", "‽", "?!!", ". , ! ? ; :"),
    "count:keywords_multiple": built.count_keywords,
    "count:words_japanese": built.japanese,
    "ratio:stop_words": of("the", "and", "don", "t", "I", "I'm", "ain't", "sſ", "THE", "s", "Will", "猫"),
    "ratio:sentence_type": built.verdicts_of_marks,
    "ratio:sentence_balance": built.verdicts_of_marks,
    "ratio:sentence_words": built.equal_sentences,
    "ratio:overlap": built.overlap,
    "words:alphabet": built.alphabet,
    "words:vowel": of("a", "e", "i", "bcd", "A", "É", "\n", "ı", "İ", "aei", "o", plain=1, most=6),
    "words:consonants": of(
        "strong", "black", "st", "xyz", "the", "BRR", "ñt", "a-bc", "ſt", "Kl", "12th", "--", "why", plain=1, most=6
    ),
    "words:palindrome": built.palindromes,
    "words:prime_lengths": built.lengths,
    "words:repeats": built.tokens_once,
    "words:no_consecutive": built.tokens_once,
    "words:odd_even_syllables": built.syllables,
    "words:last_first": built.last_first,
    "words:paragraph_last_first": built.same_ends,
    "words:keywords_specific_position": built.position,
    "words:words_position": built.words_position,
    "words:start_verb": of("Run", "is", "Go!"),
    "sentence:increment": built.increment,
    "sentence:alliteration_increment": built.alliteration,
    "sentence:keyword": built.position,
    "format:parentheses": of(*"()[]{}([{}])", "((((()))))", "([{([", "])}])", plain=1),
    "format:quotes": of('"', "'", '"', "'", "it's", "“", plain=1),
    "format:options": built.options,
    "format:newline": built.lines_of_words,
    "format:emoji": built.emoji,
    "format:line_indent": built.stairs,
    "format:quote_unquote": of('"a"', '"', "“b”", "'\"'", "12", "...", '""', "”", "“", "“” x", most=8),
    "format:list": of("...", "SEPARATOR", "!?!?", "-", "separator", "....", "!?!?!?", most=8),
    "format:thesis": of("<i>", "</i>", "<em>", "</em>", "<I>", "<b>", "<i>x</i>", "<em>y</em> z", " ", most=8),
    "format:sub-bullets": of("* a", "- b", "*", "-", "\n* c\n  - d", "–", "**e**", most=10),
    "format:no_bullets_bullets": built.bullets_after,
    "format:title_case": built.titles,
    "format:output_template": of(
        "My Answer:", "My Conclusion:", "Future Outlook:", "my answer:", "My Answer :", "**My Answer:**", plain=2
    ),
    "format:no_whitespace": built.packed,
    "custom:multiples": built.numbers,
    "custom:mcq_count_length": built.questions,
    "custom:reverse_newline": built.countries,
    "custom:word_reverse": of(
        "eagle bald", "bald eagle", "eagle", "bald", "EAGLE BALD", "eagle-bald", "eagle, bald.", "ſ", "Σ", most=5
    ),
    "custom:character_reverse": of("elgae dlab", "ELGAE DLAB", "elgae  dlab", "elgaE", "dlaB", "elgae\ndlab", most=5),
    "custom:sentence_alphabet": built.story,
    "custom:european_capitals_sort": built.capitals,
    "custom:csv_city": built.table(("ID", "Country", "City", "Year", "Count"), 7, ",", quoted=False),
    "custom:csv_special_character": built.table(
        ("ProductID", "Category", "Brand", "Price", "Stock"), 14, ",", quoted=False, plain=True
    ),
    "custom:csv_quotes": built.table(("StudentID", "Subject", "Grade", "Semester", "Score"), 3, "\t", quoted=True),
    "custom:date_format_list": built.dates,
    "repeat:repeat_change": built.repeat,
    "repeat:repeat_simple": built.repeat,
    "repeat:repeat_span": built.span,
    "copy:copy": built.repeat,
    "copy:copying_simple": built.repeat,
    "copy:copying_multiple": built.copies,
    "copy:repeat_phrase": built.phrases,
    "new:copy_span_idx": built.span,
    "detectable_format:sentence_hyphens": built.hyphened,
    "detectable_format:square_brackets": built.boxed("[", "]", 1),
    "detectable_format:bigram_wrapping": built.boxed("<<", ">>", 2),
    "keywords:no_adjacent_consecutive": built.tokens_once,
    "keywords:word_once": built.spread,
    "keywords:word_count_different_numbers": built.spread,
    "keywords:exclude_word_harder": built.spread,
    "keywords:palindrome": of("noon", "xy", "ab", "Level", "été", "1221", "of", "to", plain=1, most=5),
    "keywords:keyword_specific_position": built.position,
    "keywords:start_end": built.begins_and_ends,
    "paragraphs:paragraphs": of("***", "\n***\n", "****", "******", "* * *", "*", most=6),
    "paragraphs:paragraphs2": of("\n\n", "\n", "\n\n\n", "\r\n\r\n", "\n \n", most=6),
    "first_word:first_word_sent": built.sent_ends,
    "first_word:first_word_answer": built.sent_ends,
    "last_word:last_word_sent": built.sent_ends,
    "last_word:last_word_answer": built.sent_ends,
    "punctuation:punctuation_dot": of(".", "。", "3.14", "…", most=6),
    "punctuation:punctuation_exclamation": of("!", "！", "?!", "¡", most=6),
    "count:lowercase_counting": of("a", "don't", "é", "x1", "aé", "snake_case", "Cap", "A", "ſ", most=8),
    "letters:letter_counting": of("a", "é", "K", "ABC", "1", "_", most=5),
    "letters:letter_counting2": of("İ", "ẞ", "é", "K", "a", "A", "e", most=12),
    "count:counting_composition": built.composed,
    "count:count_unique": built.tokens_once,
    "count:count_increment_word": built.count_keywords,
}


def text_for(rng: random.Random, id_: str, values: Params) -> str:
    """A text for `id_` with these parameters: made for it, a soup of anything, or a real answer."""
    source = rng.random()
    if source < 0.55:
        return near(TARGETS[id_])(rng, values)
    if source < 0.7:
        return (
            built.sentences(rng, values) if rng.random() < 0.5 else soup(rng, [*PLAIN[:8], *ODD, *strings_in(values)])
        )
    return real(rng)
