"""Find where training prompts overlap held-out prompts, and which of them must go.

What is compared:

* **Query part.** What is asked, without the constraint sentences. Equality after normalisation means that the split
  itself is broken, and so does a shared topic: both are *overlaps*, which fail the report.
* **Near-duplicates**, by the subsequence rule (`text.repeats`). The training prompt is *dropped*. The rule is applied
  twice: to query parts, and to whole prompts. In whole prompts a match can also come from the constraint sentences,
  which are templates; such a training prompt is dropped as well, because a drop costs little. `rule` says which of the
  two matched. A text of fewer than 13 tokens can never match; short queries are what the exact comparison is for.
* **Families.** A training prompt with a kind that is held out, or of a family that a held-out prompt of the slice
  `new-family` has: an overlap.
* **Wordings.** A training prompt that says a constraint in the wording kept for held-out prompts: an overlap.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from adhere.constraints.published.iftrain.twins import as_own, twin_kind
from adhere.errors import ContaminationError
from adhere.schema import Prompt, Record
from adhere.suites.generated.core.templates import query_texts
from adhere.text.repeats import SubsequenceRule


class Drop(Record, frozen=True):
    """Describes a training prompt that is too similar to a held-out one.

    `common` is the length of the longest common subsequence in tokens, `shorter` the length of the shorter text.
    """

    rule: Literal["query", "whole prompt"]
    training_id: str
    training_text: str
    held_out_id: str
    held_out_text: str
    common: int
    shorter: int


class Overlap(Record, frozen=True):
    """Describes something that both parts have and must not share."""

    what: Literal["query", "topic", "family", "wording"]
    training_id: str
    held_out_id: str | None
    detail: str


class Report(Record, frozen=True):
    """Holds the result of a comparison: how much was compared, and what was found.

    Leaving the training prompts of `drops` out is enough; `overlaps` mean that the split itself is wrong.
    """

    training: int
    held_out: int
    query_pairs: int
    prompt_pairs: int
    drops: tuple[Drop, ...]
    overlaps: tuple[Overlap, ...]
    failed: bool
    message: str

    @property
    def dropped_ids(self) -> frozenset[str]:
        """The ids of the training prompts to leave out."""
        return frozenset(drop.training_id for drop in self.drops)

    def kept(self, prompts: Sequence[Prompt]) -> list[Prompt]:
        """Return the training prompts without the dropped ones.

        Raises:
            ContaminationError: There are overlaps.
        """
        if self.failed:
            raise ContaminationError(self.message)
        return [prompt for prompt in prompts if prompt.id not in self.dropped_ids]


def decontaminate(training: Sequence[Prompt], held_out: Sequence[Prompt], *, whole_prompts: bool = True) -> Report:
    """Compare every training prompt with every held-out prompt; an empty side matches nothing.

    Without `whole_prompts`, only query parts are searched for near-duplicates. This is for held-out prompts that use
    the wordings of training on purpose (`slices`, `new-topic`), where templates alone would match.
    """
    overlaps = [
        *_same_queries(training, held_out),
        *_same_topics(training, held_out),
        *_held_out_families(training, held_out),
        *_held_out_wordings(training),
    ]
    drops = [
        *_near_duplicates(training, held_out, "query"),
        *(_near_duplicates(training, held_out, "whole prompt") if whole_prompts else ()),
    ]
    pairs = len(training) * len(held_out)
    return Report(
        training=len(training),
        held_out=len(held_out),
        query_pairs=pairs,
        prompt_pairs=pairs if whole_prompts else 0,
        drops=tuple(drops),
        overlaps=tuple(overlaps),
        failed=bool(overlaps),
        message=_message(training, held_out, drops, overlaps),
    )


def query_part(prompt: Prompt) -> str:
    """Return what a prompt asks, without its constraints.

    This is the query's text if the prompt was made from one of ours, else the prompt's whole text.
    """
    text = query_texts().get(prompt.tags.get("query", ""))
    return text if text is not None and prompt.text.startswith(text) else prompt.everything


def normalise(text: str) -> str:
    """Return the casefolded words in NFKC form, one blank between; equal results are the same query."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def _same_queries(training: Sequence[Prompt], held_out: Sequence[Prompt]) -> Iterator[Overlap]:
    by_query = {normalise(query_part(prompt)): prompt for prompt in held_out}
    for prompt in training:
        twin = by_query.get(normalise(query_part(prompt)))
        if twin is not None:
            yield Overlap("query", prompt.id, twin.id, f"both ask: {query_part(prompt)}")


def _same_topics(training: Sequence[Prompt], held_out: Sequence[Prompt]) -> Iterator[Overlap]:
    topics = {prompt.tags["topic"]: prompt for prompt in held_out if prompt.tags.get("topic")}
    for prompt in training:
        twin = topics.get(prompt.tags.get("topic", ""))
        if twin is not None:
            yield Overlap("topic", prompt.id, twin.id, f"both are about {prompt.tags['topic']!r}")


def _families(prompt: Prompt) -> set[str]:
    return {ref.id.partition(":")[0] for turn in prompt.turns for ref in turn.constraints}


def _held_out_families(training: Sequence[Prompt], held_out: Sequence[Prompt]) -> Iterator[Overlap]:
    unseen: dict[str, str] = {}
    for prompt in held_out:
        if prompt.tags.get("slice", "").startswith("new-family"):
            unseen.update(dict.fromkeys(_families(prompt), prompt.id))
    for prompt in training:
        for family in sorted(_families(prompt) & unseen.keys()):
            yield Overlap("family", prompt.id, unseen[family], f"both have the family {family!r}")
        for ref in (ref for turn in prompt.turns for ref in turn.constraints):
            if twin_kind(ref.id).part == "held-out":
                yield Overlap("family", prompt.id, None, f"{ref.id} is a held-out kind")


def _held_out_wordings(training: Sequence[Prompt]) -> Iterator[Overlap]:
    for prompt in training:
        for turn in prompt.turns:
            for ref in turn.constraints:
                constraint = as_own(ref)
                wording = constraint.describe(len(constraint.phrasings) - 1)
                if normalise(wording) in normalise(turn.text):
                    yield Overlap("wording", prompt.id, None, f"the wording kept for held-out prompts: {wording}")


def _near_duplicates(
    training: Sequence[Prompt], held_out: Sequence[Prompt], rule: Literal["query", "whole prompt"]
) -> Iterator[Drop]:
    """Yield a Drop for every training prompt with a near-duplicate, naming the nearest held-out prompt."""
    part: Callable[[Prompt], str] = query_part if rule == "query" else lambda prompt: prompt.everything
    texts, others = [part(prompt) for prompt in training], [part(prompt) for prompt in held_out]
    for prompt, text, match in zip(training, texts, SubsequenceRule(others).matches(texts), strict=True):
        if match is not None:
            twin = held_out[match.item].id
            yield Drop(rule, prompt.id, text, twin, others[match.item], match.common, match.shorter)


def _message(
    training: Sequence[Prompt], held_out: Sequence[Prompt], drops: Sequence[Drop], overlaps: Sequence[Overlap]
) -> str:
    comparison = f"{len(training)} training prompts against {len(held_out)} held-out prompts"
    n_dropped = len({drop.training_id for drop in drops})
    left_out = (
        f"{n_dropped} training prompts too like a held-out one are left out" if n_dropped else "no near-duplicates"
    )
    if not overlaps:
        return f"{comparison}: no overlap of queries, topics, families or wordings; {left_out}."
    counts = Counter(overlap.what for overlap in overlaps)
    kinds = ", ".join(f"{count} of {kind}" for kind, count in sorted(counts.items()))
    first = overlaps[0]
    against = f" and held-out {first.held_out_id}" if first.held_out_id else ""
    return (
        f"{comparison}: they overlap ({kinds}). The first: training {first.training_id}{against}: {first.detail}. "
        f"Remove these training prompts, or measure on other prompts; {left_out}."
    )
