"""Kinds of ours that ask for what an IFTrain kind asks for: with them prompts are composed and answers repaired.

The IFTrain kind judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from adhere.constraints.base import Constraint, Finding, from_ref, registry
from adhere.constraints.published.shared.features import Text
from adhere.constraints.published.shared.registry import find
from adhere.errors import UnknownName, nearest
from adhere.schema import ConstraintRef, Json

DIVIDED = "paragraphs:paragraphs"  # two parts with *** between them, which no kind of ours asks for


@cache
def _make_divided() -> type[Constraint]:
    """Made of our paragraphs, which are looked up and not imported.

    Who asks for neither does not depend on either's code.
    """
    paragraphs = registry.get("length:paragraphs")

    class Divided(paragraphs):  # type: ignore[misc,valid-type]
        id = DIVIDED

        def judge(self, text: str) -> Finding:
            return find(DIVIDED, profile="iftrain").compile({})(Text(text))

        def repairs(self, text: str) -> Iterator[str]:
            return (edited.replace("\n\n", "\n\n***\n\n") for edited in super().repairs(text))

    return Divided


class _Twin(NamedTuple):
    """`names`: our parameter -> the published one.

    `fixed` are parameters of ours that the published kind has no choice in, `more` its own.
    """

    own: str
    names: Mapping[str, str] = {}
    fixed: Mapping[str, Json] = {}
    more: Mapping[str, Json] = {}

    @property
    def kind(self) -> type[Constraint]:
        return _make_divided() if self.own == DIVIDED else registry.get(self.own)


TWINS: Mapping[str, _Twin] = {
    "keywords:word_once": _Twin("keywords:exactly", {"word": "keyword"}, {"count": 1}),
    "keywords:word_count_different_numbers": _Twin(
        "keywords:times", {"word": "keyword", "count": "frequency"}, more={"relation": "at least"}
    ),
    "keywords:exclude_word_harder": _Twin("keywords:forbid", {"words": "keyword"}),
    "first_word:first_word_answer": _Twin("startend:first_word", {"word": "first_word"}),
    "last_word:last_word_answer": _Twin("startend:last_word", {"word": "last_word"}),
    "punctuation:punctuation_dot": _Twin("punctuation:no_periods"),
    "punctuation:punctuation_exclamation": _Twin("punctuation:no_exclamation"),
    DIVIDED: _Twin(DIVIDED, fixed={"count": 2}),
    "paragraphs:paragraphs2": _Twin("length:paragraphs", fixed={"count": 2}),
}


def twin_kind(id: str) -> type[Constraint]:  # noqa: A002 - the field's word
    """The kind of ours that stands for `id`: of an IFTrain id its twin, else the kind itself.

    Raises:
        UnknownName: Neither ours nor an IFTrain kind with a twin.
    """
    if id in TWINS:
        return TWINS[id].kind
    if id not in registry:
        names = [*TWINS, *registry]
        raise UnknownName(
            f"Unknown kind {id!r}.{nearest(id, names)} IFTrain kinds that prompts can be made with: {', '.join(TWINS)}"
        )
    return registry.get(id)


def published_ref(id: str, constraint: Constraint) -> ConstraintRef:  # noqa: A002
    """How a constraint that was drawn for `id` is stored: under that id, with its parameters."""
    if id not in TWINS:
        return constraint.ref()
    twin, params = TWINS[id], constraint.ref().params
    values = {theirs: params[ours] for ours, theirs in twin.names.items()}
    one = {name: value[0] if isinstance(value, list) else value for name, value in values.items()}
    return ConstraintRef(id, {**one, **twin.more})


def as_own(ref: ConstraintRef) -> Constraint:
    """A stored constraint as a kind of ours: itself, or the twin of an IFTrain kind.

    Raises:
        UnknownName, BadParameter: As `from_ref`; also a published kind without a twin.
    """
    if ref.id not in TWINS:
        return from_ref(ref)
    twin = TWINS[ref.id]
    values = {ours: ref.params[theirs] for ours, theirs in twin.names.items()}
    if "words" in values:
        values["words"] = [values["words"]]
    return twin.kind(**{**values, **twin.fixed})
