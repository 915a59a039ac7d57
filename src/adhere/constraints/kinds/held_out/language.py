"""Held-out family: languages, scripts and spellings that a program can tell. Never trained on."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from adhere.constraints.base import Choice, Finding, Whole, kind, param
from adhere.constraints.kinds.shared import edits, phrases
from adhere.constraints.published.shared.language import detect
from adhere.constraints.rule import HeldOut, accept, at_least, decide, plural, reject
from adhere.text.scripts import SCRIPTS, count_letters, first_foreign, letters_beyond_ascii
from adhere.text.words import has_words, paragraphs

# A sample is what a witness says; the detector names each of them rightly.
_SAMPLES: Mapping[str, tuple[str, str]] = {
    "German": ("de", "Katzen schlafen den größten Teil des Tages, weil die Jagd viel Kraft kostet."),
    "French": ("fr", "Les chats dorment presque toute la journée, parce que la chasse demande beaucoup d'énergie."),
    "Spanish": ("es", "Los gatos duermen casi todo el día porque la caza les cuesta mucha energía."),
    "Italian": ("it", "I gatti dormono quasi tutto il giorno perché la caccia richiede molta energia."),
    "Portuguese": ("pt", "Os gatos dormem quase o dia inteiro porque a caça exige muita energia e não há pressa."),
    "Dutch": ("nl", "Katten slapen het grootste deel van de dag omdat de jacht veel energie kost."),
    "English": ("en", "Cats sleep for most of the day because hunting takes a lot of energy."),
    "Polish": ("pl", "Koty śpią przez większą część dnia, ponieważ polowanie wymaga dużo energii."),
    "Russian": ("ru", "Кошки спят большую часть дня, потому что охота отнимает много сил и времени."),
    "Swedish": (
        "sv",
        "Katter sover större delen av dagen eftersom jakten kräver mycket energi och det är skönt att vila.",
    ),
    "Turkish": ("tr", "Kediler günün büyük bölümünde uyur çünkü avlanmak çok fazla enerji gerektirir."),
    "Japanese": ("ja", "猫は狩りに多くの力を使うので、一日のほとんどを眠って過ごします。"),
}
_DRAWN = tuple(
    _SAMPLES
)  # what `draw` takes; later languages can be asked for by name only, so that suites stay as they are
_SAMPLES = {
    **_SAMPLES,
    "Arabic": ("ar", "تنام القطط معظم اليوم لأن الصيد يحتاج إلى طاقة كثيرة."),
    "Chinese": ("zh-cn", "猫一天中大部分时间都在睡觉，因为捕猎需要很多体力。"),
    "Greek": ("el", "Οι γάτες κοιμούνται το μεγαλύτερο μέρος της ημέρας, επειδή το κυνήγι χρειάζεται πολλή ενέργεια."),  # noqa: RUF001
    "Hebrew": ("he", "חתולים ישנים רוב שעות היום כי הציד דורש הרבה מאוד אנרגיה."),
    "Hindi": ("hi", "बिल्लियाँ दिन का अधिकतर समय सोती हैं, क्योंकि शिकार करने में बहुत ताकत लगती है।"),
    "Korean": ("ko", "고양이는 사냥에 많은 힘이 들기 때문에 하루의 대부분을 잠으로 보냅니다."),
    "Thai": ("th", "แมวนอนเกือบทั้งวันเพราะการล่าสัตว์ต้องใช้พลังงานมาก"),
}
SAMPLES: Mapping[str, str] = {name: sample for name, (_, sample) in _SAMPLES.items()}
"""Language -> a sentence in it, for every language that can be asked for."""
_LANGUAGES = tuple(_SAMPLES)
_FEWEST_LETTERS = 20


def _in_language(text: str, language: str) -> tuple[bool, str]:
    """Return (whether the text is in that language, why); a text with too few letters is in none."""
    letters = count_letters(text[:10_000])[1]
    if letters < _FEWEST_LETTERS:
        return False, f"{plural(letters, 'letter')} are too few to tell the language (at least {_FEWEST_LETTERS})"
    code = detect(text)
    language_name = next((name for name, (own_code, _) in _SAMPLES.items() if own_code == code), code or "none")
    return code == _SAMPLES[language][0], f"looks like {language_name}, needed {language}"


@kind
class AnswerIn(HeldOut):
    """The answer is in that language, as langdetect tells; a text of fewer than 20 letters fails.

    With "German": "Katzen schlafen den ganzen Tag." passes, "Cats sleep for most of the day." fails.
    """

    id = "language:answer_in"
    version = 2
    claims = frozenset({"language"})
    phrasings = (
        "Answer in {language}.",
        "Write your whole answer in {language}, whatever language this request is in.",
        "Your answer must be in {language}.",
        "Please reply in {language} only.",
        "The reader knows nothing but {language}: use that language.",
    )
    passing = ({"language": "German"}, "Katzen schlafen den ganzen Tag.")
    failing = ({"language": "German"}, "Cats sleep for most of the day.")

    language: str = param(Choice(_LANGUAGES), drawn=_DRAWN)

    def judge(self, text: str) -> Finding:
        ok, reason = _in_language(text, self.language)
        return decide(ok, f"the answer {reason}" if "looks" in reason else reason, needed=self.language)

    def witness(self) -> str:
        return _SAMPLES[self.language][1]

    def counter_witness(self) -> str:
        return _SAMPLES["French" if self.language == "English" else "English"][1]


@kind
class TwoLanguages(HeldOut):
    """Two paragraphs: one in the first language, then one in the second. Each needs 20 letters."""

    id = "language:two_languages"
    version = 2
    claims = frozenset({"language", "shape"})
    phrasings = (
        "Answer in two paragraphs with a blank line between them: the first in {first}, the second in {second}.",
        "Write one paragraph in {first} and then, after a blank line, one in {second}.",
        "Say it twice: in {first}, then an empty line, then in {second}.",
        "Your answer must consist of a paragraph in {first} followed by a paragraph in {second}.",
        (
            "I need the answer for two readers: a paragraph in {first} on top, one in {second} below, "
            "and a blank line in between."
        ),
    )
    passing = ({"first": "English", "second": "German"}, f"{_SAMPLES['English'][1]}\n\n{_SAMPLES['German'][1]}")
    failing = ({"first": "English", "second": "German"}, f"{_SAMPLES['German'][1]}\n\n{_SAMPLES['English'][1]}")

    first: str = param(Choice(_LANGUAGES))
    second: str = param(Choice(_LANGUAGES))

    def problem(self) -> str | None:
        return None if self.first != self.second else f"first and second must differ, both are {self.first!r}"

    def judge(self, text: str) -> Finding:
        pieces = [piece for piece in paragraphs(text) if has_words(piece)]
        if len(pieces) != 2:
            return reject(
                f"found {plural(len(pieces), 'paragraph')}, needed 2", measured=len(pieces), needed=2, score=0
            )
        checks = [_in_language(piece, name) for piece, name in zip(pieces, (self.first, self.second), strict=True)]
        right = sum(ok for ok, _ in checks)
        reason = "; ".join(f"paragraph {number}: {remark}" for number, (_, remark) in enumerate(checks, start=1))
        return decide(right == 2, reason, measured=right, needed=2, score=right / 2)

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(*rng.sample(_DRAWN, 2))

    def witness(self) -> str:
        return f"{_SAMPLES[self.first][1]}\n\n{_SAMPLES[self.second][1]}"


@kind
class ScriptShare(HeldOut):
    """At least `percent` % of the letters belong to the script.

    With ("Latin", 90): "Cats sleep." passes, "Кошки спят." fails.
    """

    id = "language:script_share"
    version = 2
    claims = frozenset({"language"})
    phrasings = (
        "At least {percent} % of the letters of your answer must be {script} letters.",
        "Write so that {percent} percent or more of all letters belong to the {script} script.",
        "Use the {script} script for no less than {percent} % of your letters.",
        "Your answer may mix scripts, but {percent} % of its letters at the least have to be {script}.",
        "Of every hundred letters in the answer, {percent} or more should be {script}.",
    )
    passing = ({"script": "Latin", "percent": 90}, "Cats sleep.")
    failing = ({"script": "Latin", "percent": 90}, "Кошки спят.")

    script: str = param(Choice(SCRIPTS), drawn=("Cyrillic", "Greek", "Han", "Arabic", "Devanagari", "Hangul"))
    percent: int = param(Whole(1, 100), drawn=(50, 60, 80, 90))

    def judge(self, text: str) -> Finding:
        count, letters = count_letters(text, self.script)
        share = 100 * count / letters if letters else 0.0
        reason = f"{share:.1f} % of {plural(letters, 'letter')} are {self.script}, needed at least {self.percent} %"
        span = first_foreign(text, self.script)
        return decide(
            share >= self.percent,
            reason,
            measured=round(share, 1),
            needed=self.percent,
            span=span,
            score=share / self.percent,
        )

    def witness(self) -> str:
        return _LETTERS[self.script] * 3

    def counter_witness(self) -> str:
        return "Кошки спят." if self.script == "Latin" else "Cats sleep."


_LETTERS = {
    "Latin": "cat", "Cyrillic": "кот", "Greek": "γάτα", "Han": "猫睡", "Kana": "ねこ", "Hangul": "고양이", "Arabic": "قطة",
    "Hebrew": "חתול", "Devanagari": "बलक", "Thai": "แมว",
}  # fmt: skip


@kind
class Ascii(HeldOut):
    """Only ASCII characters occur. "Cats - yes." passes, "Cats – yes." fails."""

    id = "language:ascii"
    version = 2
    order = 94
    phrasings = (
        "Use only ASCII characters: no accents, no typographic quotes or dashes, no emoji.",
        "Your answer must be pure ASCII.",
        "Write nothing that is not on a plain US keyboard.",
        "No character beyond code 127 may occur in your answer.",
        "The answer goes to an old terminal which shows ASCII and nothing else.",
    )
    passing = ({}, "Cats - yes.")
    failing = ({}, "Cats – yes.")
    _plain: ClassVar[dict[int, str]] = str.maketrans({
        "–": "-", "—": "-", "‘": "'", "’": "'", "“": '"', "”": '"', "…": "...", "\u00a0": " ", "•": "-", "é": "e",
        "è": "e", "ü": "ue", "ö": "oe", "ä": "ae", "ß": "ss", "ñ": "n", "ç": "c", "á": "a", "í": "i", "ó": "o",
        "ú": "u",
    })  # fmt: skip

    def judge(self, text: str) -> Finding:
        if text.isascii():
            return accept("every character is ASCII", measured=0, needed=0)
        hit = _NOT_ASCII.search(text)
        count = len(text) - len(_NOT_ASCII.sub("", text))
        first_character = ascii(hit.group()) if hit else ""
        reason = f"found {plural(count, 'character')} beyond ASCII, the first is {first_character}"
        return reject(reason, measured=count, needed=0, span=hit and hit.span(), score=1 - count / len(text))

    def repairs(self, text: str) -> Iterator[str]:
        yield text.translate(self._plain)

    def rules_out(self, literal: str) -> bool:
        return not literal.isascii()


_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@kind
class Accents(HeldOut):
    """At least `count` letters beyond a to z occur. With 1: "A café." passes, "A cafe." fails."""

    id = "language:accents"
    version = 2
    order = 41
    phrasings = (
        "Use at least {letters} that English does not have, such as é or ü.",
        "Your answer must contain {count} or more letters with an accent or from another alphabet.",
        "Let no fewer than {letters} be outside of A to Z.",
        "Use words such as café or naïve: {letters} or more have to be non-ASCII.",
        "I will count letters beyond the plain English alphabet; there must be {count} at least.",
    )
    passing = ({"count": 1}, "A café.")
    failing = ({"count": 1}, "A cafe.")

    count: int = param(Whole(1, 1000), drawn=(1, 1, 2), noun="letter")

    def judge(self, text: str) -> Finding:
        spans = [hit.span() for hit in letters_beyond_ascii(text)]
        return at_least(len(spans), self.count, "letter beyond a to z", span=spans[0] if spans else None)

    def repairs(self, text: str) -> Iterator[str]:
        yield edits.add_clause(text, ", voilà")
        yield edits.add_sentence(text, "Voilà, that is the whole résumé.")

    def witness(self) -> str:
        return f"Caf{'é' * self.count}."

    def conflicts_with(self, other: Any) -> bool:
        return super().conflicts_with(other) or isinstance(other, Ascii)


# British spelling: American spelling.
_SPELLINGS = {
    "colour": "color", "colours": "colors", "colourful": "colorful", "favourite": "favorite", "favourites": "favorites",
    "favour": "favor", "flavour": "flavor", "flavours": "flavors", "behaviour": "behavior", "behaviours": "behaviors",
    "neighbour": "neighbor", "neighbours": "neighbors", "honour": "honor", "labour": "labor", "harbour": "harbor",
    "humour": "humor", "rumour": "rumor", "vapour": "vapor", "odour": "odor", "centre": "center", "centres": "centers",
    "theatre": "theater", "fibre": "fiber", "litre": "liter", "litres": "liters", "organise": "organize",
    "organised": "organized", "realise": "realize", "realised": "realized", "recognise": "recognize",
    "recognised": "recognized", "apologise": "apologize", "analyse": "analyze", "analysed": "analyzed",
    "travelled": "traveled", "travelling": "traveling", "traveller": "traveler", "cancelled": "canceled",
    "modelling": "modeling", "jewellery": "jewelry", "aluminium": "aluminum", "aeroplane": "airplane", "grey": "gray",
    "defence": "defense", "offence": "offense", "catalogue": "catalog", "mould": "mold", "plough": "plow",
    "sceptical": "skeptical", "pyjamas": "pajamas", "moustache": "mustache",
}  # fmt: skip

# -ize is British as well (Oxford spelling), -yze is not.
_AMERICAN = tuple(american for american in _SPELLINGS.values() if not american.removesuffix("d").endswith("ize"))
_WRONG = {"British": phrases.any_of(_AMERICAN), "American": phrases.any_of(tuple(_SPELLINGS))}
_RIGHT = {"British": {american: british for british, american in _SPELLINGS.items()}, "American": _SPELLINGS}


@kind
class Spelling(HeldOut):
    """None of 51 listed words is spelled as in the other variety; "organize" is British, too.

    With "British": "A grey cat." passes, "A gray cat." fails.
    """

    id = "language:spelling"
    version = 3
    order = 15
    phrasings = (
        "Use {variety} spelling.",
        "Spell all words as in {variety} English.",
        "Your answer must follow {variety} spelling throughout.",
        "Write for a reader who is used to {variety} English and its spelling.",
        "Where British and American spelling differ, choose the {variety} one.",
    )
    passing = ({"variety": "British"}, "A grey cat.")
    failing = ({"variety": "British"}, "A gray cat.")

    variety: str = param(Choice(("British", "American")), drawn=("British", "American"))

    def judge(self, text: str) -> Finding:
        hit = _WRONG[self.variety].search(text)
        if hit is None:
            return accept(f"found none of the listed words in another spelling than {self.variety}")
        right = edits.like(hit.group(), _RIGHT[self.variety][hit.group().lower()])
        return reject(f'found "{hit.group()}", in {self.variety} spelling "{right}"', span=hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        right = _RIGHT[self.variety]
        yield _WRONG[self.variety].sub(lambda hit: edits.like(hit.group(), right[hit.group().lower()]), text)

    def witness(self) -> str:
        return "A grey cat." if self.variety == "British" else "A gray cat."

    def counter_witness(self) -> str:
        return "A gray cat." if self.variety == "British" else "A grey cat."

    def rules_out(self, literal: str) -> bool:
        return _WRONG[self.variety].search(literal) is not None


_CONTRACTIONS = {
    "don't": "do not", "doesn't": "does not", "didn't": "did not", "isn't": "is not", "aren't": "are not",
    "wasn't": "was not", "weren't": "were not", "can't": "cannot", "couldn't": "could not", "won't": "will not",
    "wouldn't": "would not", "shouldn't": "should not", "hasn't": "has not", "haven't": "have not", "hadn't": "had not",
    "mustn't": "must not", "needn't": "need not", "i'm": "I am", "i've": "I have", "i'll": "I will", "i'd": "I would",
    "you're": "you are", "you've": "you have", "you'll": "you will", "you'd": "you would", "he's": "he is",
    "she's": "she is", "it's": "it is", "it'll": "it will", "we're": "we are", "we've": "we have", "we'll": "we will",
    "we'd": "we would", "they're": "they are", "they've": "they have", "they'll": "they will", "they'd": "they would",
    "that's": "that is", "there's": "there is", "here's": "here is", "what's": "what is", "who's": "who is",
    "where's": "where is", "let's": "let us", "he'll": "he will", "she'll": "she will", "he'd": "he would",
    "she'd": "she would", "it'd": "it would", "that'll": "that will", "that'd": "that would", "there'll": "there will",
    "there'd": "there would", "what'll": "what will", "who'll": "who will", "who'd": "who would", "who've": "who have",
    "how's": "how is", "when's": "when is", "why's": "why is", "could've": "could have", "should've": "should have",
    "would've": "would have", "might've": "might have", "must've": "must have", "shan't": "shall not",
    "mightn't": "might not", "ain't": "is not", "y'all": "you all",
}  # fmt: skip
_CONTRACTED = phrases.any_of(tuple(_CONTRACTIONS))
_FULL = phrases.any_of(
    tuple(full for full in _CONTRACTIONS.values() if " is" in full or " not" in full or " are" in full)
)
_SHORT = {full.lower(): short for short, full in reversed(_CONTRACTIONS.items())}


@kind
class NoContractions(HeldOut):
    """No contraction such as "don't" occurs (69 are listed). "It is a cat." passes, "It's a cat." fails."""

    id = "language:no_contractions"
    version = 3
    claims = frozenset({"contractions"})
    order = 16
    phrasings = (
        'Do not use contractions such as "don\'t" or "it\'s".',
        "Write every verb in full, without contractions.",
        "Your answer must not contain a single contraction.",
        'Be formal: "do not" and not "don\'t".',
        "Contracted forms (can't, we're and the like) are not allowed in your answer.",
    )
    passing = ({}, "It is a cat.")
    failing = ({}, "It's a cat.")

    def judge(self, text: str) -> Finding:
        hit = _CONTRACTED.search(text)
        return decide(hit is None, f'found "{hit.group()}"' if hit else "found no contraction", span=hit and hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        yield _CONTRACTED.sub(
            lambda hit: edits.like(hit.group(), _CONTRACTIONS[hit.group().lower().replace("’", "'")]), text
        )

    def rules_out(self, literal: str) -> bool:
        return _CONTRACTED.search(literal) is not None


@kind
class Contractions(HeldOut):
    """At least `count` listed contractions occur. With 1: "It's a cat." passes, "It is a cat." fails."""

    id = "language:contractions"
    version = 3
    claims = frozenset({"contractions"})
    order = 42
    phrasings = (
        'Use at least {contractions}, such as "it\'s" or "don\'t".',
        "Your answer must contain {count} or more contractions.",
        "Sound casual: no fewer than {contractions}.",
        "Shorten some verbs; {contractions} or more have to occur.",
        "I expect {contractions} (like we're or can't) at the very least.",
    )
    passing = ({"count": 1}, "It's a cat.")
    failing = ({"count": 1}, "It is a cat.")
    wrong_text = "It is a cat."

    count: int = param(Whole(1, 200), drawn=(1, 2, 2), noun="contraction")

    def judge(self, text: str) -> Finding:
        hits = [hit.span() for hit in _CONTRACTED.finditer(text)]
        return at_least(len(hits), self.count, "contraction", span=hits[0] if hits else None)

    def repairs(self, text: str) -> Iterator[str]:
        missing = self.count - sum(1 for _ in _CONTRACTED.finditer(text))
        yield _FULL.sub(lambda hit: edits.like(hit.group(), _SHORT[" ".join(hit.group().lower().split())]), text)
        if missing <= 3:
            closing = ("That's it.", "That's it, and it's enough.", "That's it, and it's enough, isn't it?")
            yield edits.add_sentence(text, closing[max(0, missing - 1)])

    def witness(self) -> str:
        return " ".join(["It's a cat."] * self.count)


_ABBREVIATIONS = {"eg": "for example", "ie": "that is", "etc": "and so on", "cf": "compare"}
_ABBREVIATION = re.compile(r"(?<![^\W_])(?:(?:e\.[ ]?g|i\.[ ]?e|etc)\b\.?|cf\.)", re.IGNORECASE)


@kind
class NoLatinAbbreviations(HeldOut):
    """None of "e.g.", "i.e.", "etc." and "cf." occurs. "For example, cats." passes, "Pets, e.g. cats." fails."""

    id = "language:no_latin_abbreviations"
    version = 3
    order = 17
    phrasings = (
        'Do not use the abbreviations "e.g.", "i.e.", "etc." and "cf.".',
        'Write "for example" and "that is" instead of Latin abbreviations such as "e.g." or "i.e.".',
        "Your answer must be free of Latin abbreviations (e.g., i.e., etc., cf.).",
        "Avoid e.g., i.e., cf. and etc. altogether.",
        "Latin abbreviations like etc. or e.g. are not allowed.",
    )
    passing = ({}, "For example, cats.")
    failing = ({}, "Pets, e.g. cats.")

    def judge(self, text: str) -> Finding:
        hit = _ABBREVIATION.search(text)
        reason = f'found "{hit.group()}"' if hit else "found no Latin abbreviation"
        return decide(hit is None, reason, span=hit and hit.span())

    def repairs(self, text: str) -> Iterator[str]:
        edited = _ABBREVIATION.sub(lambda hit: _ABBREVIATIONS[re.sub(r"[. ]", "", hit.group().lower())], text)
        yield edits.end_sentence(edited)

    def rules_out(self, literal: str) -> bool:
        return _ABBREVIATION.search(literal) is not None
