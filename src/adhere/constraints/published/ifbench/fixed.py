"""IFBench's rules with their defects mended. Each function takes the parameters and the switched-on fixes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable

from adhere.constraints.finding import Finding, amount
from adhere.constraints.published.ifbench import ratio as ifbench_ratio
from adhere.constraints.published.ifbench import words as ifbench_words
from adhere.constraints.published.ifbench.custom import judge_alphabet
from adhere.constraints.published.ifbench.features import find_repeat, without_marks
from adhere.constraints.published.ifbench.kind import accept, judge_copy, quote, reject, verdict
from adhere.constraints.published.ifbench.trigrams import lower_words, shared_words, trigrams
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.fixes import On, Values, fix, fixed_check, fixed_rule
from adhere.constraints.published.shared.registry import Check, find
from adhere.constraints.published.shared.whole_words import joined_words
from adhere.text.words import paragraphs


@fixed_check(
    "format:line_indent",
    fix(
        "line-indent-blank-lines",
        "The list of lines is shortened while it is walked, so that of two blank lines one stays and fails the stairs; "
        "here all blank lines are left out.",
        "evaluation 4.2 #19; verifiers 7.2, 7.3",
    ),
)
def _line_indent(text: Text, _values: Values) -> Finding:
    before = -1
    order = 0
    for line in text.lines:
        body = line.lstrip(" ")
        if not body or body.isspace():
            continue
        order += 1
        indent = len(line) - len(body)
        if indent <= before:
            return reject(
                f"step {order} is indented by {indent}, needed more than the {before} before", indent, before + 1
            )
        before = indent
    return accept(f"{order} lines are indented like stairs", order)


_CLOSERS = "\"'”’»)]}*_` "


def _strip_closers(text: Text) -> Iterable[str]:
    """Yield each sentence without the quotes, brackets and emphasis that close it."""
    return (sentence.rstrip(_CLOSERS) for sentence in text.sentences)


@fixed_rule(
    "ratio:sentence_type",
    fix(
        "sentence-type-vacuous",
        "An answer with neither statements nor questions has the ratio 0 to 0 and passes; here it needs a question.",
        "evaluation 4.2 #20; verifiers 7.2",
    ),
    fix(
        "sentence-type-quotes",
        "A question mark or full stop before a closing quotation mark is not seen; here closing quotes, brackets and "
        "emphasis are set aside.",
        "evaluation 4.2 #20",
    ),
)
def _sentence_type(_values: Values, on: On) -> Check:
    vacuous, quotes = "fix:sentence-type-vacuous" in on, "fix:sentence-type-quotes" in on

    def check(text: Text) -> Finding:
        return ifbench_ratio.judge_types(_strip_closers(text) if quotes else text.sentences, vacuous=not vacuous)

    return check


@fixed_rule(
    "ratio:sentence_balance",
    fix(
        "sentence-balance-vacuous",
        "An answer without any end mark has as many of each, none, and passes; here it needs one of each.",
        "verifiers 7.2, 7.3",
    ),
    fix(
        "sentence-balance-quotes",
        "An end mark before a closing quotation mark is not seen; here closing quotes, "
        "brackets and emphasis are set aside.",
        "evaluation 4.2 #20",
    ),
)
def _sentence_balance(_values: Values, on: On) -> Check:
    vacuous, quotes = "fix:sentence-balance-vacuous" in on, "fix:sentence-balance-quotes" in on

    def check(text: Text) -> Finding:
        return ifbench_ratio.judge_balance(_strip_closers(text) if quotes else text.sentences, vacuous=not vacuous)

    return check


@fixed_rule(
    "ratio:sentence_words",
    fix(
        "sentence-words-different",
        "That the sentences use different words is not looked at; here no word may stand twice.",
        "evaluation 4.2 #26; modelscope/evalscope#1675",
    ),
)
def _sentence_words(values: Values, _on: On) -> Check:
    original = find("ratio:sentence_words").compile(values)

    def check(text: Text) -> Finding:
        finding = original(text)
        word = find_repeat(joined_words(text.lower)) if finding.outcome == "pass" else None
        if word is None:
            return finding
        return reject(f"the word {quote(word)} stands twice, needed all different", word[:40], "different words")

    return check


@fixed_rule(
    "ratio:overlap",
    fix(
        "overlap-words",
        "Trigrams are taken of characters; here of words, as the prompt means them.",
        "evaluation 4.2 #24; allenai/IFBench PR 34",
    ),
)
def _overlap(values: Values, _on: On) -> Check:
    reference_trigrams = trigrams(lower_words(values["reference_text"]))
    return lambda text: ifbench_ratio.judge_overlap(
        shared_words(text, reference_trigrams), values["percentage"], "word"
    )


@fixed_check(
    "words:words_position",
    fix(
        "words-position-marks",
        "Marks count as words, but for one at the end; here words are runs of letters and digits.",
        "evaluation 4.2 #21",
    ),
)
def _words_position(text: Text, values: Values) -> Finding:
    keyword = values["keyword"].strip()
    lowered = keyword.lower()
    if lowered not in text.lower:
        return reject(f"found no {keyword!r}", needed=keyword)
    words = joined_words(text.raw)
    if len(words) < 2:
        return reject(
            f"found {amount(len(words), 'words')}, needed {keyword!r} as second and second to last", len(words), 2
        )
    reason = f"the second word is {quote(words[1])}, the second to last {quote(words[-2])}, needed {keyword!r}"
    holds = words[1].lower() == words[-2].lower() == lowered
    return verdict(holds, reason, [words[1][:40], words[-2][:40]], keyword)


@fixed_check(
    "words:vowel",
    fix(
        "vowel-soft-wrap",
        "A line break ends the paragraph; here only a blank line does.",
        "evaluation 4.2 #22; sieval PR 105",
    ),
)
def _vowel(text: Text, _values: Values) -> Finding:
    if "\n" in text.stripped:
        count = len(paragraphs(text.raw))
        if count > 1:
            return reject(f"found {amount(count, 'paragraphs')}, needed 1", count, 1)
    return ifbench_words.judge_vowels(text)


@fixed_check(
    "words:no_consecutive",
    fix(
        "no-consecutive-lines",
        "The last word of a line and the first of the next are neighbours; here neighbours stand on one line.",
        "evaluation 4.2 #28; LiveBench PR 468",
    ),
)
def _no_consecutive(text: Text, _values: Values) -> Finding:
    for line in without_marks(text.lower).split("\n"):
        if not line:
            continue
        for left, right in itertools.pairwise(line.split()):
            if left[0] == right[0]:
                return reject(f"{quote(left)} and {quote(right)} begin with the same letter")
    return accept("no two neighbouring words of a line begin with the same letter")


@fixed_rule(
    "repeat:repeat_span",
    fix(
        "repeat-span-words",
        "The indices are taken of characters; here of words, as the prompt says.",
        "evaluation 4.2 #23; allenai/IFBench PR 34",
    ),
)
def _repeat_span(values: Values, _on: On) -> Check:
    words = values["prompt_to_repeat"].split()[values["n_start"] : values["n_end"] + 1]
    span = " ".join(words)
    lowered = span.lower().split()
    return lambda text: judge_copy(text, span, is_same=text.lower.split() == lowered)


@fixed_check(
    "custom:sentence_alphabet",
    fix(
        "sentence-alphabet-marks",
        "A quotation mark before the first word is taken for its letter; here marks are set aside.",
        "evaluation 4.2 #25; allenai/IFBench PR 34",
    ),
)
def _sentence_alphabet(text: Text, _values: Values) -> Finding:
    return judge_alphabet(text.sentences, lambda sentence: next(filter(str.isalnum, sentence), "").lower())


_BULLET = re.compile(r"^[^\S\n]*+\*(?=[^\S\n])", re.MULTILINE)
_ANY_STAR = re.compile(r"\*")
_SUB_BULLET = re.compile(r"\n[^\S\n]*+-[^\S\n]")
_HYPHEN = re.compile("-")


@fixed_rule(
    "format:sub-bullets",
    fix(
        "sub-bullets-emphasis",
        "Every star is a bullet point, those of `**bold**` too; here a bullet point is a star at the start of a line, "
        "with a blank after it.",
        "evaluation 4.2 #27; verifiers 7.2; LiveBench PR 468",
    ),
    fix(
        "sub-bullets-hyphen",
        "Any hyphen is a sub-bullet (`early-morning`); here it stands at the start of a line, with a blank after it.",
        "evaluation 4.2 #27; verifiers 7.2",
    ),
    fix("sub-bullets-vacuous", "An answer without bullet points passes; here it fails.", "verifiers 7.2, 7.3"),
)
def _sub_bullets(_values: Values, on: On) -> Check:
    bullet = _BULLET if "fix:sub-bullets-emphasis" in on else _ANY_STAR
    holds: Callable[[str], object] = _SUB_BULLET.search if "fix:sub-bullets-hyphen" in on else _HYPHEN.search
    vacuous = "fix:sub-bullets-vacuous" in on

    def check(text: Text) -> Finding:
        raw = text.raw
        starts = [match.end() for match in bullet.finditer(raw)]
        if vacuous and not starts:
            return reject("found no bullet points (*)", 0, 1)
        for order, (start, end) in enumerate(zip(starts, [*starts[1:], len(raw)], strict=False), 1):
            if not holds(raw[start:end]):
                return reject(f"no - follows bullet point {order}: {quote(raw[start:end])}", span=(start - 1, end))
        return accept(f"a - follows each of {len(starts)} bullet points", len(starts))

    return check
