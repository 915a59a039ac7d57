"""Count as M-IFEval does with language packages, which `pip install 'adhere[mifeval]'` installs.

These are words in Spanish and Japanese, and Japanese sentences. Spanish words are those of spaCy's *blank* Spanish
tokenizer: the published code loads `es_core_news_sm`, whose tokens are the same. Its sentences come from that model's
parser, which is on no package index, and stay undecided.

Packages: spaCy (MIT), Janome (Apache-2.0, with the IPA dictionary under its own free licence), ja_sentence_segmenter
(MIT).
"""

from __future__ import annotations

import functools
import importlib.util
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from adhere.constraints.finding import Finding
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import Check
from adhere.extras import need

Values = Mapping[str, Any]
Compile = Callable[[Values], Check]


class Token(NamedTuple):
    """Holds a Japanese word as Janome finds it, and its part of speech (`名詞,一般,*,*`)."""

    surface: str
    part_of_speech: str


@functools.cache
def _spanish_tokenizer() -> Any:
    return need("spacy", extra="mifeval").blank("es").tokenizer


_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def spanish_words(raw: str) -> list[str]:
    """Return the tokens that are no punctuation."""
    return [token.text for token in _spanish_tokenizer()(_encodable(raw)) if not token.is_punct]


def _encodable(raw: str) -> str:
    """Replace lone surrogates.

    The packages write UTF-8, which has none, and the published code raises on them.
    """
    return _LONE_SURROGATE.sub("\ufffd", raw)


@functools.cache
def _janome() -> Any:
    return need("janome.tokenizer", extra="mifeval").Tokenizer()


def japanese_tokens(raw: str) -> list[Token]:
    """Return every token, blanks and marks too."""
    return [Token(token.surface, token.part_of_speech) for token in _janome().tokenize(_encodable(raw))]


@functools.cache
def _japanese_pipeline() -> Callable[[str], Any]:
    def part(name: str) -> Any:
        return need(f"ja_sentence_segmenter.{name}", extra="mifeval")

    # A sentence that ends in `の` goes on in the next line, as in the segmenter's own example, which the published code
    # took over.
    joined = functools.partial(
        part("concatenate.simple_concatenator").concatenate_matching,
        former_matching_rule=r"^(?P<result>.+)(の)$",
        remove_former_matched=False,
    )
    splitter = part("split.simple_splitter")
    split = functools.partial(splitter.split_punctuation, punctuations="。!?")
    pipeline: Callable[[str], Any] = part("common.pipeline").make_pipeline(
        part("normalize.neologd_normalizer").normalize, splitter.split_newline, joined, split
    )
    return pipeline


def count_japanese_sentences(raw: str) -> int:
    """Count sentences as ja_sentence_segmenter splits them after its normalisation (a full-width `！` becomes `!`)."""
    return sum(1 for _ in _japanese_pipeline()(_encodable(raw)))


def compile_test(test: Callable[[str], bool], yes: str, no: str) -> Compile:
    """Return a compiler of checks that pass where a test of the text is true; `yes` and `no` are the reasons."""
    right, wrong = Finding("pass", yes), Finding("fail", no)
    return lambda _values: lambda text: right if test(text.raw) else wrong


def counted_with(module: str, package: str, compile_installed: Compile) -> Compile:
    """Return the check's compiler if `module` is installed, else one of undecided checks that say what to install."""
    undecided = Finding(
        "undecided", f"the published code counts with {package}, which is not installed: pip install 'adhere[mifeval]'"
    )

    def compile_here(values: Values) -> Check:
        if importlib.util.find_spec(module) is None:
            return lambda _text: undecided
        return compile_installed(values)

    return compile_here


def never_counted(package: str) -> Compile:
    """Return a compiler of undecided checks: the published code counts with something that is in no package."""
    undecided = Finding("undecided", f"the published code counts with {package}, which is in no package")
    return lambda _values: lambda _text: undecided


def number_of_words(test: Callable[[str], bool]) -> Callable[[Text], int]:
    """Return a function that counts the Spanish words of a text that pass a test."""
    return lambda text: sum(map(test, spanish_words(text.raw)))
