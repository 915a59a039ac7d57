"""Find the part of speech of an answer's first token, by the averaged perceptron.

Source: Honnibal's averaged perceptron tagger as in NLTK's `PerceptronTagger`: words with one clear tag are looked up,
else the tag with the highest sum of feature weights wins, ties by name. NLTK runs it over the whole answer; the tag of
token 0 depends on tokens 0 to 2 alone, so ours looks at these. Ours differs in its weights: those of
textblob-aptagger's model (MIT), the one that NLTK's was ported from, because NLTK's own file is in no package and has
no stated licence. `benchmarks/package/tagger.py` makes the file from that package, whose hash it checks.

So `words:start_verb` is the one rule of IFBench that is not bit for bit:

* A first word whose best verb tag and best other tag lie less than CLOSE apart is undecided: 0.1 % of 13,813 beginnings
  of the reference answers and their loose variants. CLOSE is the smallest distance at which a reference verdict
  confirms ours.
* A token without a letter or digit that it would call a verb (in one of twenty answers that begin with a mark) is
  called SYM: of 45 such beginnings with reference verdicts, NLTK calls none a verb.

With that, all 112 strict and loose reference verdicts at hand agree. On 13,920 other verdicts, inspection found 7 that
differ.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from importlib import resources

CLOSE = 4
"""The distance below which two tags are too close to decide, in tenths of a weight, as in the model's file."""
_WEIGHT = re.compile(r"([^\s\d-]\S*?|-[LR]RB-)(-?\d+)(?: |\Z)")


@functools.cache
def _model() -> dict[str, str]:
    """Return feature -> "tag+weight …"; weights are in tenths and parsed only when used."""
    import lzma  # some Pythons are built without it; then this rule is undecided, and no other

    packed = (resources.files(__package__) / "tagger.xz").read_bytes()
    rows = (line.partition("\t") for line in lzma.decompress(packed).decode("utf-8").split("\n"))
    return {feature: weights for feature, _, weights in rows}


@functools.lru_cache(maxsize=4096)
def _weights(feature: str) -> tuple[tuple[str, int], ...]:
    return tuple((tag, int(weight)) for tag, weight in _WEIGHT.findall(_model().get(feature, "")))


def first_tag(tokens: Sequence[str]) -> tuple[str, bool]:
    """Return the Penn Treebank tag of `tokens[0]`, and whether it is clear if the token is a verb.

    Args:
        tokens: The first three tokens of the answer (fewer if it has no more).
    """
    word = tokens[0]
    only_tag = _model().get(f"= {word}")
    if only_tag:
        return only_tag, True
    current, after, then = ([*map(_normal, tokens[:3]), "-END-", "-END2-"])[:3]
    features = (f"s {word[-3:]}", f"p {word[0]}", f"w {current}", f"1 {after}", f"e {after[-3:]}", f"2 {then}")
    scores = dict(_weights(""))
    for feature in features:
        for tag, weight in _weights(feature):
            scores[tag] += weight
    tag = max(scores, key=lambda tag: (scores[tag], tag))
    if not any(map(str.isalnum, word)):
        return (tag if "VB" not in tag else "SYM"), True
    rival = max(score for other, score in scores.items() if ("VB" in other) != ("VB" in tag))
    return tag, scores[tag] - rival >= CLOSE


def _normal(word: str) -> str:
    """Return one text for all hyphenated words, for all years and for all numbers; other words in lower case."""
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    if word[0].isdigit():
        return "!DIGITS"
    return word.lower()
