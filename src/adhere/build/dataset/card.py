"""The card of a data set: card.json for programs, README.md for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from adhere.build.dataset.spec import DataSpec
from adhere.build.draws import Ledger
from adhere.build.scorers import FilterReport, filtered_text
from adhere.config import front_matter
from adhere.errors import IntegrityError
from adhere.models.local.fetch import hub_origin
from adhere.schema import EngineInfo, Json, Prompt, Record, content_hash, decode

CARD = "card.json"
CARD_VERSION = 1

# Which of our kinds ask for what a published kind asks for: a model trained on them has practised that benchmark's
# type.
PUBLISHED_TYPES = {
    "case:capital_words": "ifeval change_case:capital_word_frequency",
    "case:lower": "ifeval change_case:english_lowercase",
    "case:upper": "ifeval change_case:english_capital",
    "copying:repeat_request": "ifeval combination:repeat_prompt",
    "keywords:exactly": "ifeval keywords:frequency",
    "keywords:forbid": "ifeval keywords:forbidden_words",
    "keywords:include": "ifeval keywords:existence",
    "keywords:times": "ifeval keywords:frequency",
    "length:at_least": "ifeval length_constraints:number_words",
    "length:at_most": "ifeval length_constraints:number_words",
    "length:between": "ifbench count:word_count_range",
    "length:paragraphs": "ifeval length_constraints:number_paragraphs",
    "length:sentences": "ifeval length_constraints:number_sentences",
    "punctuation:no_commas": "ifeval punctuation:no_comma",
    "startend:end_phrase": "ifeval startend:end_checker",
    "startend:first_word": "iftrain first_word:first_word_answer",
    "startend:last_word": "iftrain last_word:last_word_answer",
    "startend:quotes": "ifeval startend:quotation",
    "structure:bullets": "ifeval detectable_format:number_bullet_lists",
    "structure:json_object": "ifeval detectable_format:json_format",
}

_SIZES = [
    (1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"), (10_000_000, "1M<n<10M"),
    (float("inf"), "10M<n<100M"),
]  # fmt: skip
"""The hub's size categories: (exclusive upper limit of the number of rows, name)."""


class Stage(Record, frozen=True):
    """Describes one step of the build: how many entered, how many are left, and why the others were dropped."""

    stage: str
    unit: str
    entered: int
    left: int
    dropped: dict[str, int] = {}

    @property
    def share(self) -> float | None:
        """`left` over `entered`; None where nothing entered."""
        return self.left / self.entered if self.entered else None


class Card(Record, frozen=True):
    """Describes how a data set was made and what is in it.

    `kinds` counts prompts by kind of constraint. `published_types` gives, for each kind that practises a published
    type, that type and the number of prompts. `cost_usd` and the ledger's tokens are None if the model did not report
    them. `sha256` covers all other fields but `ledger` and `cost_usd`.
    """

    version: int
    name: str
    spec: DataSpec
    model: str
    engine: EngineInfo
    sources: dict[str, str]
    verifiers: dict[str, str]
    stages: tuple[Stage, ...]
    rows: dict[str, int]
    files: dict[str, str]
    kinds: dict[str, int]
    constraints_per_prompt: dict[str, int]
    published_types: dict[str, tuple[str, int]]
    decontaminated_against: dict[str, int]
    filtering: FilterReport | None
    cost_usd: float | None
    ledger: Ledger
    sha256: str = ""

    def sealed(self) -> Card:
        """Return a copy with its hash, which covers neither ledger nor cost."""
        bare = msgspec.structs.replace(self, sha256="", ledger=Ledger(0, None, 0.0), cost_usd=None)
        return msgspec.structs.replace(self, sha256=content_hash(bare))


def histograms(prompts: Sequence[Prompt]) -> tuple[dict[str, int], dict[str, int], dict[str, tuple[str, int]]]:
    """Return three counts over the last turns of prompts.

    These are kind -> uses, number of constraints in a prompt -> prompts, and kind -> (published type, uses).
    """
    kinds = Counter(ref.id for prompt in prompts for ref in prompt.turns[-1].constraints)
    numbers = Counter(str(len(prompt.turns[-1].constraints)) for prompt in prompts)
    published_types = {
        kind: (PUBLISHED_TYPES[kind], count) for kind, count in sorted(kinds.items()) if kind in PUBLISHED_TYPES
    }
    return dict(sorted(kinds.items())), dict(sorted(numbers.items())), published_types


def load_card(directory: Path) -> Card:
    """Read the card of a finished data set.

    Raises:
        IntegrityError: The folder has no card, or the card was changed.
    """
    path = directory / CARD
    if not path.exists():
        raise IntegrityError(f"{path} is missing: {directory} holds no finished data set")
    card = decode(path.read_bytes(), Card)
    if card.sealed().sha256 != card.sha256:
        raise IntegrityError(f"{path} was changed after it was made. Build again: what was drawn is kept")
    return card


def yield_table(card: Card) -> str:
    """Return the stages as a Markdown table."""
    lines = ["| stage | in | out | share | left out |", "|---|---:|---:|---:|---|"]
    for stage in card.stages:
        share = "–" if stage.share is None else f"{stage.share:.0%}"
        reasons = ", ".join(f"{count:,} {why}" for why, count in stage.dropped.items()) or "–"
        lines.append(f"| {stage.stage} ({stage.unit}) | {stage.entered:,} | {stage.left:,} | {share} | {reasons} |")
    return "\n".join(lines)


def _filtering(card: Card) -> str:
    return "" if card.filtering is None else f"## Response filtering\n\n{filtered_text(card.filtering)}\n\n"


def _metadata(card: Card) -> dict[str, Json]:
    """Return the metadata that the hub shows: tables for its viewer, size and licence.

    The licence is named only if those of the queries and of the model's answers are known.
    """
    tables = [name for name in ("sft", "pairs", "rl") if f"{name}.{card.spec.output.format}" in card.rows]
    files = {name: f"{name}.{card.spec.output.format}" for name in tables}
    most = max((card.rows[file] for file in files.values()), default=0)
    source = card.spec.queries.source
    license_known = hub_origin(card.model).get("license") if source in {"ours", "bootstrap"} else None
    return {
        "pretty_name": card.name,
        **({"language": "en"} if source == "ours" else {}),
        **({"license": license_known} if license_known else {"license": "other", "license_name": "see-sources"}),
        "task_categories": ["text-generation"],
        "tags": ["adhere", "instruction-following", "synthetic"],
        "size_categories": next(name for size, name in _SIZES if most < size),
        "configs": [{"config_name": name, "data_files": file} for name, file in files.items()],
    }


def card_text(card: Card) -> str:
    """Return README.md of the data set."""
    kinds = "\n".join(
        f"| `{kind}` | {count:,} | {card.published_types.get(kind, ('–', 0))[0]} | {card.verifiers.get(kind, '–')} |"
        for kind, count in card.kinds.items()
    )
    files = "\n".join(f"| `{name}` | {card.rows.get(name, 0):,} | `{digest}` |" for name, digest in card.files.items())
    sources = "\n".join(f"* {subject}: {source}" for subject, source in card.sources.items())
    clean = ", ".join(f"{name} ({count:,} items)" for name, count in card.decontaminated_against.items()) or "nothing"
    cost = "not said by the model" if card.cost_usd is None else f"${card.cost_usd:.4f}"
    tokens = "–" if card.ledger.tokens_generated is None else f"{card.ledger.tokens_generated:,}"
    numbers = ", ".join(f"{count:,} with {number}" for number, count in card.constraints_per_prompt.items())
    return f"""{front_matter(_metadata(card))}# {card.name}

Made by `adhere build` from the model `{card.model}` ({card.engine.name} {card.engine.version}, {card.engine.precision}), seed {card.spec.seed}.
Every kept answer was passed by the judge that `adhere eval` measures with.

{sources}

## Yield

{yield_table(card)}

{card.ledger.answers_generated:,} answers, {tokens} tokens, {card.ledger.seconds:,.0f} s of drawing, cost {cost}.

{_filtering(card)}## Files

| file | rows | sha256 |
|---|---:|---|
{files}

## Constraints

Prompts by number of constraints: {numbers}.

| kind | prompts | practises the published type | verifier |
|---|---:|---|---|
{kinds}

Decontaminated (rule `{card.spec.decontaminate.rule}`) against {clean}.
"""
