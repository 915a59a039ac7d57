"""Map IFTrain kinds to kinds of ours that ask for the same thing.

With ours prompts are composed and answers repaired, while the IFTrain kind judges.
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
    """Make the kind of paragraphs with dividers, on the base of our paragraphs.

    Our paragraphs are looked up, not imported, so that callers who need neither do not load them.
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
    """Maps an IFTrain kind to a kind of ours: `names` gives our parameter -> the published one.

    `fixed` holds parameters of ours that the published kind fixes; `more` holds parameters that only the published one
    has.
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
    """Return our kind that stands for `id`: the twin of an IFTrain kind, else the kind itself.

    Raises:
        UnknownName: The id is neither ours nor an IFTrain kind with a twin.
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
    """Return the stored form of a constraint that was drawn for `id`: under that id, with its parameters."""
    if id not in TWINS:
        return constraint.ref()
    twin, params = TWINS[id], constraint.ref().params
    values = {theirs: params[ours] for ours, theirs in twin.names.items()}
    single_values = {name: value[0] if isinstance(value, list) else value for name, value in values.items()}
    return ConstraintRef(id, {**single_values, **twin.more})


def as_own(ref: ConstraintRef) -> Constraint:
    """Return a stored constraint as a kind of ours: itself, or the twin of an IFTrain kind.

    Raises:
        UnknownName, BadParameter: `from_ref` raises it, also for a published kind without a twin.
    """
    if ref.id not in TWINS:
        return from_ref(ref)
    twin = TWINS[ref.id]
    values = {ours: ref.params[theirs] for ours, theirs in twin.names.items()}
    if "words" in values:
        values["words"] = [values["words"]]
    return twin.kind(**{**values, **twin.fixed})
