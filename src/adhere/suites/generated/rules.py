"""Draw rules about the form of a free answer that go together, and write answers that keep them.

Most families use these rules. The first rule of a list fixes how many parts the answer has, so that an empty, constant
or copied answer breaks it. A request asks for whole sentences, and PROSE checks that, so that a mere heap of words
breaks it. `write` makes an answer from the constraints alone, so rules may be dropped, changed and put into any order.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable, Sequence

from adhere.constraints.base import FEWEST_PHRASINGS, Constraint
from adhere.constraints.kinds.held_out.language import Ascii
from adhere.constraints.kinds.held_out.letters import Avoid
from adhere.constraints.kinds.held_out.style_words import Prose
from adhere.constraints.kinds.trained.case import Lower, Upper
from adhere.constraints.kinds.trained.keywords import ExactTimes, Forbid, Include
from adhere.constraints.kinds.trained.length import AtLeastWords, AtMostWords
from adhere.constraints.kinds.trained.punctuation import NoCommas, NoExclamation
from adhere.constraints.kinds.trained.start_end import EndPhrase
from adhere.constraints.kinds.trained.structure import Bullets, Lines, Numbered
from adhere.suites.generated.diagnostic.items import WORDS, with_article
from adhere.text.words import count_words

SUBJECTS = (
    "a morning at the harbor", "a walk through an old town", "how bread is made", "a rainy day at home",
    "a small library", "planting a garden", "a long train journey", "learning to swim", "the market on Saturday",
    "a night under the stars", "repairing a bicycle", "a family dinner", "the first day of school", "a quiet museum",
    "crossing a desert", "a winter festival", "keeping bees", "a mountain hut", "moving to a new flat",
    "a street musician", "the life of a river", "cooking soup", "an island without cars", "a lost umbrella",
    "building a kite", "a visit to the dentist", "a chess club", "the smell of coffee", "a broken clock",
    "painting a wall", "a flea market", "a lighthouse keeper", "a game of cards", "the last bus home",
    "a letter from a friend", "a village without electricity", "a new pair of shoes", "feeding ducks",
    "an empty theatre", "a very old tree",
)  # fmt: skip
_FORMS = (
    "Write about {} in whole English sentences.",
    "Tell me something about {}. Use whole English sentences.",
    "Give me some thoughts on {}. Write whole English sentences.",
    "Say what comes to your mind about {}, in whole English sentences.",
)
PROSE = Prose()
"""The rule for every answer to a request: whole sentences, as the request says."""


def draw_request(rng: random.Random) -> str:
    """Draw a request for a free answer in whole sentences (PROSE)."""
    return rng.choice(_FORMS).format(rng.choice(SUBJECTS))


def draw_shape(rng: random.Random) -> Constraint:
    """Draw a rule on the number of parts of the answer: bullets, numbered items or lines."""
    return rng.choice((Bullets, Numbered, Lines))(rng.randint(3, 9))


def _include(rng: random.Random, free: list[str]) -> Constraint:
    return Include(tuple(sorted(_take(free, rng.randint(1, 3)))))


def _exactly(rng: random.Random, free: list[str]) -> Constraint:
    return ExactTimes(free.pop(), rng.randint(2, 4))


def _forbid(rng: random.Random, _: list[str]) -> Constraint:
    return Forbid(tuple(sorted(rng.sample(("the", "and", "very", "with", "that", "have", "from", "this"), 2))))


def _ends(_: random.Random, free: list[str]) -> Constraint:
    return EndPhrase(" ".join(("in short", *_take(free, 2))))


def _avoid(rng: random.Random, _: list[str]) -> Constraint:
    return Avoid(rng.choice("jqxzkv"))


def _case(rng: random.Random, _: list[str]) -> Constraint:
    return rng.choice((Lower, Upper))()


Option = Callable[[random.Random, list[str]], Constraint]
# What may be drawn once a list; each is compatible with all the others, but for what `_agree` mends.
_BESIDE_A_LABEL: tuple[Option, ...] = (
    _include,
    _exactly,
    _forbid,
    lambda rng, _: AtLeastWords(rng.randint(30, 60)),
    lambda rng, _: AtMostWords(rng.randint(90, 140)),
    lambda *_: NoCommas(),
    lambda *_: NoExclamation(),
    lambda *_: Ascii(),
)
_OPTIONS: tuple[Option, ...] = (*_BESIDE_A_LABEL, _ends, _avoid, _case)


def draw_rules(rng: random.Random, count: int, *, beside: str | None = None) -> list[Constraint]:
    """Draw `count` rules that can be kept together, up to nine; the first one fixes the shape.

    Args:
        rng: The source of randomness.
        count: Number of rules.
        beside: The text of a question, if the answer must also end with a line "Answer: " and a result; None: no such
            line. The shape is then a number of lines, and no rule is about case, letters or the end. No rule asks for a
            word of the question, because it may be the result.
    """
    free = [word for word in WORDS if not set(word) & set("jqxzkv") and (beside is None or word not in beside)]
    rng.shuffle(free)
    if beside is None:
        shape, options = draw_shape(rng), _OPTIONS
    else:
        shape, options = Lines(rng.randint(3, 9)), _BESIDE_A_LABEL
    return _agree([shape, *(option(rng, free) for option in rng.sample(options, count - 1))])


def _agree(drawn_rules: list[Constraint]) -> list[Constraint]:
    """Return the rules with lower instead of upper case if another rule quotes words in lower case."""
    if any(rule.literals() for rule in drawn_rules):
        return [Lower() if isinstance(rule, Upper) else rule for rule in drawn_rules]
    return drawn_rules


def say(constraints: Sequence[Constraint], rng: random.Random) -> str:
    """Return the rules on one line, each in a drawn wording, numbered if there are several.

    They are on one line so that a copied prompt has only one line.
    """
    sentences = [constraint.describe(rng.randrange(FEWEST_PHRASINGS)) for constraint in constraints]
    if len(sentences) == 1:
        return sentences[0]
    return " ".join(f"({at}) {sentence}" for at, sentence in enumerate(sentences, start=1))


def _take(free: list[str], count: int) -> list[str]:
    return [free.pop() for _ in range(count)]


def write_sentences(words: Iterable[str], least: int = 1) -> list[str]:
    """Write at least `least` sentences that hold the words in their order, two each; they mean little.

    They have none of the letters j, q, x, z, k and v, no mark but the full stop, and no word that a rule forbids.
    """
    remaining = iter(words)
    spare = itertools.cycle(("harbor", "garden", "candle", "bottle", "lemon", "mirror", "summit", "temple"))
    sentences: list[str] = []
    while (first := next(remaining, None)) is not None or len(sentences) < least:
        pair = [with_article(first or next(spare)), next(remaining, None) or next(spare)]
        frame = ("We saw {} near our {} today.", "You can find {} in our {}.")[len(sentences) % 2]
        sentences.append(frame.format(*pair))
    return sentences


def write(constraints: Sequence[Constraint], last_line: str = "") -> str:  # noqa: C901, PLR0912 - one branch a kind
    """Write an answer that keeps all constraints, of the kinds that this module draws; it means little.

    Args:
        constraints: Rules that can be kept together.
        last_line: A line that the answer must also end with, e.g. `Answer: 12`; it counts as one of the lines.

    Raises:
        TypeError: A constraint is of another kind.
    """
    parts, form = 1, "{}"
    content: list[str] = []
    forbidden: set[str] = set()
    letters = ""
    ending, least, most = "", 0, 10_000
    case: Callable[[str], str] = str
    for constraint in constraints:
        match constraint:
            case Bullets(count):
                parts, form = count, "- {}"
            case Numbered(count):
                parts, form = count, "#. {}"
            case Lines(count):
                parts = count
            case Include(words):
                content += words
            case ExactTimes(word, count):
                content += [word] * count
                forbidden.add(word)
            case EndPhrase(phrase):
                ending = phrase
            case Avoid(letter):
                letters += letter
            case AtLeastWords(count):
                least = count
            case AtMostWords(count):
                most = count
            case Lower():
                case = str.lower
            case Upper():
                case = str.upper
            case Forbid() | NoCommas() | NoExclamation() | Ascii() | Prose():
                pass
            case _:
                raise TypeError(f"rules.write cannot keep {constraint.id}")
    rows_free = max(1, parts - bool(last_line))
    count = max(rows_free, -(-len(content) // 2), -(-least // _FEWEST_WORDS))
    unfit = forbidden | {*content, *ending.split()}
    fit = [word for word in WORDS if word not in unfit and not set(word) & set(letters)]
    sentences = write_sentences([*content, *itertools.islice(itertools.cycle(fit), 2 * count - len(content))])
    rows = [" ".join(sentences[at::rows_free]) for at in range(rows_free)]
    if ending:
        rows[-1] = f"{rows[-1]} {ending}"
    text = "\n".join(form.replace("#", str(number)).format(row) for number, row in enumerate(rows, start=1))
    if count_words(text) > most:
        raise TypeError(f"rules.write needs more than {most} words")
    return case(f"{text}\n{last_line}" if last_line else text)


_FEWEST_WORDS = 7  # of a sentence that `write_sentences` makes
