"""Find the kinds of a published suite that a study's training asked for, by meaning rather than by name.

A suite has its own names for what our kinds ask: IFEval's `change_case:english_lowercase` is our `case:lower`. A rate
on a suite mixes kinds that were trained, not trained, and forgotten; this module separates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from adhere.constraints.published.iftrain.twins import TWINS
from adhere.schema import Prompt
from adhere.study.design.spec import StudySpec
from adhere.suites.generated.core.deal import kinds_of

Part = Literal["trained", "mixed", "untrained"]
PARTS: tuple[Part, ...] = ("trained", "mixed", "untrained")

# Our kind -> the published ids that ask for the same thing, or for it and more.
MEANS: Mapping[str, tuple[str, ...]] = {
    "case:capital_words": ("change_case:capital_word_frequency",),
    "case:lower": ("change_case:english_lowercase",),
    "case:upper": ("change_case:english_capital",),
    "keywords:forbid": ("keywords:forbidden_words",),
    "keywords:include": ("keywords:existence",),
    "keywords:times": ("keywords:frequency",),
    "length:at_least": ("length_constraints:number_words",),
    "length:at_most": ("length_constraints:number_words",),
    "length:between": ("length_constraints:number_words",),
    # The first word of a paragraph is asked for together with a number of paragraphs.
    "length:paragraphs": ("length_constraints:number_paragraphs", "length_constraints:nth_paragraph_first_word"),
    "paragraphs:paragraphs": ("length_constraints:number_paragraphs", "length_constraints:nth_paragraph_first_word"),
    "length:sentences": ("length_constraints:number_sentences",),
    "punctuation:no_commas": ("punctuation:no_comma",),
    "startend:end_phrase": ("startend:end_checker",),
    "startend:quotes": ("startend:quotation",),
    "structure:bullets": ("detectable_format:number_bullet_lists",),
    "structure:json_object": ("detectable_format:json_format",),
}


def trained_kinds(spec: StudySpec) -> frozenset[str]:
    """Return the ids, ours and published, of all kinds that ask for something that a stage of the study trained.

    Kinds of plug-ins that no longer load are left out.
    """
    if not spec.trains:
        return frozenset()  # nobody noted here what others trained on
    data = spec.data
    asked_for = {kind.id for kind in kinds_of("train", data.kinds)} | set(data.long.kinds if data.long else [])
    own = {TWINS[name].own if name in TWINS else name for name in asked_for}
    return frozenset(asked_for | own | {published_id for name in own for published_id in MEANS.get(name, ())})


def own_trained_kinds(spec: StudySpec) -> list[str]:
    """Return the kinds that the study both trained and measures with prompts of its own."""
    return [kind.id for kind in kinds_of("train", spec.data.kinds)] if spec.trains else []


def part_of(prompt: Prompt, trained: frozenset[str]) -> Part:
    """Tell whether a prompt asks for trained kinds alone, for none of them, or for both.

    The language that M-IFEval puts before an id (`es:`, `ja:`) does not count.
    """
    is_trained = [_without_language(ref.id) in trained for turn in prompt.turns for ref in turn.constraints]
    if is_trained and all(is_trained):
        return "trained"
    return "mixed" if any(is_trained) else "untrained"


def _without_language(id: str) -> str:  # noqa: A002 - the field's word
    first, colon, rest = id.partition(":")
    return rest if colon and len(first) == 2 and ":" in rest else id
