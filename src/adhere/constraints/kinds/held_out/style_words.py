"""Kinds of the family `style` that forbid the words of a list, with their lists."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from adhere.constraints.base import Constraint, Finding, kind
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.kinds.trained.data_json import WHOLE
from adhere.constraints.rule import HeldOut, accept, decide, plural, reject
from adhere.text.words import sentence_spans, words


class _Without(HeldOut):
    """Is the base of the kinds that forbid listed words; `_instead` maps a word to its replacement ("": none)."""

    order = 12
    passing = ({}, "Cats sleep.")
    _pattern: ClassVar[re.Pattern[str]]
    _noun = ""
    _instead: ClassVar[dict[str, str]] = {}

    def judge(self, text: str) -> Finding:
        hit = self._pattern.search(text)
        if hit is None:
            return decide(ok=True, reason=f"found no {self._noun}", measured=0, needed=0)
        count = sum(1 for _ in self._pattern.finditer(text))
        reason = f'found {plural(count, self._noun)}, the first is "{hit.group()[:60]}"'
        return reject(reason, measured=count, needed=0, span=hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        if self._instead:
            edited = self._pattern.sub(
                lambda hit: edits.like(hit.group(), self._instead.get(hit.group().lower(), "")), text
            )
            yield re.sub(r"(?<=\S)[ \t]{2,}", " ", edited).replace(" ,", ",").replace(" .", ".").strip()
        clean = [text[start:end] for start, end in sentence_spans(text) if not self._pattern.search(text[start:end])]
        yield " ".join(clean)

    def rules_out(self, literal: str) -> bool:
        return self._pattern.search(literal) is not None


_FIRST_PERSON = ("I", "I'm", "I've", "I'll", "I'd", "me", "my", "mine", "myself", "we", "we're", "we've", "we'll",
    "we'd", "us", "let's",
                 "our", "ours", "ourselves")  # fmt: skip


@kind
class NoFirstPerson(_Without):
    """No pronoun of the first person (I, me, my, we, us, our, …). "Cats sleep." passes, "My cat sleeps." fails."""

    id = "style:no_first_person"
    version = 3
    phrasings = (
        "Do not use the first person (I, me, my, we, us, our).",
        "Write without any pronoun of the first person, singular or plural.",
        'Your answer must not contain words such as "I", "my", "we" or "our".',
        "Stay impersonal: never refer to yourself and never say we.",
        "Pronouns of the first person, from I to ourselves, are not allowed.",
    )
    failing = ({}, "My cat sleeps.")
    _noun = "pronoun of the first person"
    # the country is no pronoun, and neither is a Roman number at the head of a line or of a war
    _pattern = phrases.any_of(_FIRST_PERSON, unless=r"(?<=U)S\b|(?<=^I)\.[ \t]|(?<=\bWar I)\b|(?<=I)/O\b")


@kind
class NoHedging(_Without):
    """None of 18 listed hedges; "May" is a month. "Cats sleep." passes, "Perhaps cats sleep." fails."""

    id = "style:no_hedging"
    version = 3
    phrasings = (
        "Do not hedge: avoid words such as maybe, perhaps, might, could, probably, possibly, seems or generally.",
        'Be definite. Words like "perhaps", "might", "probably" or "somewhat" must not occur.',
        "Your answer must not contain hedging words (maybe, may, might, could, likely, seem and the like).",
        "State things plainly, without perhaps, possibly, apparently or any other hedge.",
        "No ifs and buts: hedges such as might, probably and generally are forbidden.",
    )
    failing = ({}, "Perhaps cats sleep.")
    _noun = "hedge"
    # "May" is the month
    _pattern = phrases.any_of((
        "maybe", "perhaps", "might", "may", "could", "probably", "possibly", "seem", "seems", "likely", "apparently",
        "somewhat", "generally", "arguably", "presumably", "supposedly", "I think", "I guess",
    ), unless=r"(?<=M)ay\b")  # fmt: skip
    _instead: ClassVar[dict[str, str]] = {"might": "can", "may": "can", "could": "can"}


@kind
class NoFillers(_Without):
    """None of 12 listed fillers. "Cats sleep." passes, "Cats really sleep." fails."""

    id = "style:no_fillers"
    version = 2
    phrasings = (
        "Avoid filler words such as very, really, just, quite, actually or basically.",
        'Do not use "very", "really", "just", "quite", "rather", "actually", "basically", "literally" or "simply".',
        "Your answer must be free of fillers (very, really, just, actually and so on).",
        "Cut empty words like very, quite, totally or basically.",
        "Fillers, for example just, really and literally, are forbidden in your answer.",
    )
    failing = ({}, "Cats really sleep.")
    _noun = "filler"
    _pattern = phrases.any_of((
        "very", "really", "just", "quite", "rather", "actually", "basically", "literally", "simply", "totally",
        "absolutely", "definitely",
    ))  # fmt: skip
    _instead: ClassVar[dict[str, str]] = {"very": ""}


@kind
class NoNegation(_Without):
    """No negation: not, no, never, none, nothing, nobody, nowhere, neither, nor, without, cannot, …n't.

    "Cats sleep." passes.
    """

    id = "style:no_negation"
    version = 2
    phrasings = (
        'Do not use negations such as "not", "no", "never" or "don\'t".',
        "Say everything in the positive: no not, never, none, nothing, without or cannot.",
        "Your answer must not contain a single word of negation (not, no, never, nor, n't …).",
        "Write only affirmative sentences, without not, no, never and the like.",
        "Words that negate, from no to nowhere, must not occur in the answer.",
    )
    failing = ({}, "Cats never sleep.")
    _noun = "negation"
    _pattern = re.compile(
        phrases.any_of(
            ("not", "no", "never", "none", "nothing", "nobody", "nowhere", "neither", "nor", "without", "cannot")
        ).pattern
        + r"|[nN](?<=[^\W_].)['’][tT](?![^\W_])"
    )


@kind
class NoToBe(_Without):
    """No form of "to be", contracted ones included. "Cats sleep." passes, "Cats are asleep." fails."""

    id = "style:no_to_be"
    version = 3
    phrasings = (
        'Do not use any form of the verb "to be" (am, is, are, was, were, be, been, being).',
        "Write in E-Prime: without is, are, was, were and every other form of to be.",
        'Your answer must not contain "is", "are", "was", "were", "be", "been", "being" or "am", contracted or not.',
        "Find stronger verbs than to be; none of its forms may occur.",
        "Every form of to be, such as is, it's, were or being, is forbidden.",
    )
    failing = ({}, "Cats are asleep.")
    _noun = 'form of "to be"'
    # "7 am" is a time
    _pattern = phrases.any_of((
        "am", "is", "are", "was", "were", "be", "been", "being", "I'm", "you're", "we're", "they're", "he's", "she's",
        "it's", "that's", "there's", "here's", "what's", "who's", "where's", "how's", "when's", "why's", "isn't", "aren't",
        "wasn't", "weren't", "ain't",
    ), unless=r"(?<=\d [aA])[mM]\b")  # fmt: skip


# Words in -ly that are no adverbs, or no other word could replace.
_NO_ADVERBS = (
    "family", "only", "early", "reply", "apply", "supply", "fly", "july", "italy", "lovely", "friendly", "likely",
    "holy", "ugly", "silly", "jelly", "belly", "bully", "rely", "ally", "daily", "lily", "assembly", "anomaly",
    "butterfly", "lonely", "elderly", "costly", "curly", "deadly", "lively", "orderly", "timely", "multiply", "comply",
    "imply", "monopoly", "bodily", "burly", "chilly", "cowardly", "cuddly", "dolly", "folly", "ghostly", "gully", "hilly",
    "homely", "jolly", "leisurely", "melancholy", "miserly", "molly", "emily", "sally", "kelly", "billy", "polly", "oily",
    "prickly", "rally", "saintly", "scholarly", "sickly", "smelly", "stately", "surly", "tally", "ungainly",
    "unfriendly", "unlikely", "unruly", "unsightly", "worldly", "wrinkly", "woolly", "brotherly", "motherly", "fatherly",
    "neighborly", "neighbourly", "heavenly", "beastly", "ghastly", "grisly", "comely", "measly",
)  # fmt: skip


@kind
class NoAdverbs(_Without):
    """No word in -ly of five letters or more, but 87 listed ones such as "family".

    "Cats sleep." passes, "Slowly!" fails.
    """

    id = "style:no_ly_adverbs"
    version = 3
    phrasings = (
        "Do not use adverbs that end in -ly.",
        "Write without a single adverb in -ly, such as quickly or usually.",
        "Your answer must not contain -ly adverbs (words like family or early are fine).",
        'Avoid "usually", "really", "slowly" and all other adverbs with -ly at the end.',
        "No adverb with the ending -ly may occur in the answer.",
    )
    failing = ({}, "Cats usually sleep.")
    _noun = "adverb in -ly"
    _pattern = re.compile(
        rf"[A-Za-z](?<![^\W_].)(?!{phrases.rests(_NO_ADVERBS)}(?![^\W_]))[A-Za-z]{{4,40}}(?<=[lL][yY])(?![^\W_])"
    )


_COMMON = frozenset(
    """
    the of and to a in is that it was for on are as with his they at be this from have or by one had not but what all were when
    we there can an your which their said if do will each about how up out them then she many some so these would other into
    has more her two like him see time could no make than first been its who now my over down only may after where most through
    before our me i you he us any also just even while because until off too here without between under again both few own such
    very though still yet every much never always
    """.split()
)


@kind
class Prose(HeldOut):
    """It reads like English prose, not like a heap of words.

    "There is a cat in the garden." passes, "cat garden sun tree" fails. Of the words, 20 to 80 % are among 117 common
    ones ("the", "of", "is", …), and no other word makes up more than 15 % of the answer and occurs more than four
    times. Real answers of 30 English words or more have a median of 42 to 49 % by model.
    """

    id = "style:prose"
    version = 2
    phrasings = (
        "Write whole English sentences.",
        "Your answer must be made of ordinary English sentences, not of loose words.",
        "Use complete sentences in English throughout.",
        "Say it in proper English sentences; a mere list of words does not count.",
    )
    passing = ({}, "There is a cat in the garden.")
    failing = ({}, "cat garden sun tree")

    def judge(self, text: str) -> Finding:
        every = [word.casefold() for word in words(text)]
        common = sum(word in _COMMON for word in every)
        share = common / len(every)
        if not 0.2 <= share <= 0.8:
            reason = f"{share:.0%} of the words are common ones (the, of, is, …); in prose it is 20 to 80 %"
            return reject(
                reason, measured=round(share, 3), needed="0.2 to 0.8", score=min(share / 0.2, (1 - share) / 0.2)
            )
        word, often = Counter(word for word in every if word not in _COMMON).most_common(1)[0]
        if often > max(4, 0.15 * len(every)):
            return reject(f'"{word[:60]}" is {often} of {len(every)} words', measured=often, needed=4, score=4 / often)
        return accept(f"{share:.0%} of the words are common ones, as in prose", measured=round(share, 3), score=1)

    def conflicts_with(self, other: Constraint) -> bool:
        """Tell whether the two conflict; so does any kind that fixes another language or a form without sentences."""
        return super().conflicts_with(other) or "language" in other.claims or other.claims >= WHOLE
