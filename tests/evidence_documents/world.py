"""The synthetic field: model families, benchmarks with their variants, and one exact score for each pair.

Names are those a reader of model reports meets (some families are invented); every score is synthetic. A score is a
pure function of the seed, the model, the benchmark and its variant, so two documents of one seed agree wherever they
print the same thing.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple


class Key(NamedTuple):
    """What one score is about."""

    model: str
    benchmark: str
    variant: str


@dataclass(frozen=True)
class Model:
    """One model: a family at a size, base or tuned.

    Attributes:
        suffix: what the family calls its tuned models (Instruct, Chat, it); "" for a model sold under one name only.
    """

    family: str
    size: str
    suffix: str
    organisation: str
    tuned: bool
    ability: float

    @property
    def id(self) -> str:
        parts = [self.family, self.size, self.suffix if self.tuned else ""]
        return "-".join(part for part in parts if part)

    def name(self, style: str) -> str:
        """The name in a style of writing; ``short`` drops the tuned suffix, which a caption must then explain."""
        bare = "-".join(part for part in (self.family, self.size) if part)
        full = self.id
        compact = re.sub(r"^([A-Za-z]+)-(?=\d)", r"\1", self.family) + full.removeprefix(self.family)
        return {
            "full": full,
            "short": bare,
            "spaced": full.replace("-", " "),
            "compact": compact,
            "lower": full.lower(),
            "path": f"{self.organisation}/{full}" if self.size else full,
            "base": full if self.tuned or not self.suffix else f"{bare} (base)",
            "base-suffix": full if self.tuned or not self.suffix else f"{bare}-Base",
        }[style]


class Family(NamedTuple):
    """A family of models and the strength of its recipe (log-odds)."""

    name: str
    organisation: str
    suffix: str
    sizes: tuple[str, ...]
    strength: float
    predecessor: str = ""


FAMILIES = (
    Family("Qwen1.5", "Qwen", "Chat", ("0.5B", "1.8B", "7B", "14B", "32B", "72B", "110B"), -0.3),
    Family("Qwen2", "Qwen", "Instruct", ("0.5B", "1.5B", "7B", "57B-A14B", "72B"), 0.1, "Qwen1.5"),
    Family("Qwen2.5", "Qwen", "Instruct", ("0.5B", "1.5B", "3B", "7B", "14B", "32B", "72B"), 0.55, "Qwen2"),
    Family("Llama-3", "meta-llama", "Instruct", ("8B", "70B"), 0.0),
    Family("Llama-3.1", "meta-llama", "Instruct", ("8B", "70B", "405B"), 0.25, "Llama-3"),
    Family("Mixtral", "mistralai", "Instruct", ("8x7B", "8x22B"), -0.1),
    Family("Mistral", "mistralai", "Instruct", ("7B",), -0.2),
    Family("Gemma-2", "google", "it", ("2B", "9B", "27B"), 0.15),
    Family("Yi-1.5", "01-ai", "Chat", ("6B", "9B", "34B"), -0.1),
    Family("GLM-4", "THUDM", "Chat", ("9B",), 0.0),
    Family("InternLM2.5", "internlm", "Chat", ("7B", "20B"), 0.1),
    Family("OLMo-2", "allenai", "Instruct", ("7B", "13B", "32B"), 0.05),
    Family("Kestrel", "avian-lab", "Chat", ("3B", "7B", "13B", "34B", "70B"), -0.2),
    Family("Kestrel-2", "avian-lab", "Instruct", ("3B", "7B", "13B", "34B", "70B"), 0.35, "Kestrel"),
    Family("Nimbus-1.5", "cloudlab", "Instruct", ("8B", "30B", "70B"), 0.1),
    Family("Tarn-3", "tarn-ai", "it", ("4B", "12B", "27B"), 0.2),
    Family("Osprey", "riverine", "Instruct", ("8B", "65B"), -0.15),
    Family("Merlin-1", "avalon", "Chat", ("1B", "6B", "14B", "72B"), -0.25),
    Family("Merlin-2.5", "avalon", "Chat", ("1B", "6B", "14B", "72B"), 0.3, "Merlin-1"),
)
PROPRIETARY = ("GPT-4o-mini", "GPT-4-Turbo", "Claude-3-Opus", "Gemini-1.5-Flash")


def billions(size: str) -> float:
    """Parameters in billions as the size's name says: 0.5B, 8x22B (the product), 57B-A14B (the total)."""
    numbers = [float(number) for number in re.findall(r"[\d.]+", size.split("-", maxsplit=1)[0])]
    return math.prod(numbers) if numbers else 120.0


def model(family: Family, size: str, *, tuned: bool) -> Model:
    ability = family.strength + 0.75 * math.log10(billions(size) / 10)
    return Model(family.name, size, family.suffix, family.organisation, tuned, ability)


def proprietary(name: str) -> Model:
    return Model(name, "", "", "", tuned=True, ability=1.0 if "mini" not in name else 0.5)


@dataclass(frozen=True)
class Benchmark:
    """One benchmark: how reports write it, and how hard it is.

    Attributes:
        offset: log-odds of an average model; slope: how much ability counts.
        scale: the highest score (100, 10 or 5).
        variants: variant id → the ways reports write the benchmark in it; "" is the plain name.
    """

    id: str
    section: str
    offset: float
    slope: float = 1.0
    scale: int = 100
    aliases: tuple[str, ...] = ()
    variants: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def labels(self, variant: str = "") -> tuple[str, ...]:
        """Every way the benchmark is written in a variant; the first is the usual one."""
        return dict(self.variants).get(variant, ()) if variant else (self.id, *self.aliases)


def _shots(name: str, *counts: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return tuple((f"{count}-shot", (f"{name} ({count}-shot)", f"{name} {count}-shot")) for count in counts)


IFEVAL = (
    (
        "strict-prompt",
        ("IFEval *strict-prompt*", "IFEval (strict-prompt)", "IFEval (prompt-level strict)", "IFEval strict prompt"),
    ),
    (
        "loose-prompt",
        ("IFEval *loose-prompt*", "IFEval (loose-prompt)", "IFEval (prompt-level loose)", "IFEval loose prompt"),
    ),
)
WINDOWS = (
    ("v1", ("LiveCodeBench v1", "LiveCodeBench *v1*", "LiveCodeBench (v1)")),
    ("2305-2409", ("LiveCodeBench 2305-2409", "LiveCodeBench (2305-2409)")),
    ("2408-2501", ("LiveCodeBench 2408-2501", "LiveCodeBench (2408-2501)")),
)
BENCHMARKS = (
    Benchmark("MMLU", "General", 0.8, variants=_shots("MMLU", 5, 0)),
    Benchmark("MMLU-Pro", "General", -0.2, aliases=("MMLU-pro", "MMLU Pro"), variants=_shots("MMLU-Pro", 5, 0)),
    Benchmark("MMLU-redux", "General", 0.9, aliases=("MMLU-Redux",)),
    Benchmark("BBH", "General", 0.5, variants=_shots("BBH", 3, 0)),
    Benchmark("ARC-C", "General", 0.7, 0.6, aliases=("ARC-Challenge",), variants=_shots("ARC-C", 25, 0)),
    Benchmark("TruthfulQA", "General", 0.2, 0.3),
    Benchmark("HellaSwag", "General", 1.5, 0.4, aliases=("Hellaswag",)),
    Benchmark("LiveBench 0831", "General", -0.7),
    Benchmark("GPQA", "Mathematics & Science", -0.7, 0.5),
    Benchmark("TheoremQA", "Mathematics & Science", -0.9, 0.7, aliases=("Theorem QA",)),
    Benchmark("GSM8K", "Mathematics & Science", 1.4, 1.2, variants=_shots("GSM8K", 4, 8)),
    Benchmark("MATH", "Mathematics & Science", 0.0, 1.4, variants=_shots("MATH", 4, 0)),
    Benchmark("HumanEval", "Coding", 0.8, 1.0, aliases=("Human Eval",)),
    Benchmark("HumanEval+", "Coding", 0.4, 1.0),
    Benchmark("MBPP", "Coding", 0.7, 0.8),
    Benchmark("MBPP+", "Coding", 0.3, 0.8),
    Benchmark("MultiPL-E", "Coding", 0.3, 0.9),
    Benchmark("LiveCodeBench", "Coding", -1.0, 1.0, variants=WINDOWS),
    Benchmark("IFEval", "Alignment", 0.7, 1.0, variants=IFEVAL),
    Benchmark("Arena-Hard", "Alignment", -0.3, 1.3, aliases=("ArenaHard", "Arena Hard")),
    Benchmark("MT-Bench", "Alignment", 1.6, 0.4, scale=10, aliases=("MTbench", "MTBench", "MT Bench")),
    Benchmark("AlignBench", "Alignment", 0.9, 0.4, scale=10),
    Benchmark("MixEval", "Alignment", 1.1, 0.6),
)
SKILLS = tuple(
    Benchmark(name, "In-house", offset)
    for name, offset in (
        ("Knowledge", 0.6),
        ("Exam", 0.7),
        ("Comprehension", 0.5),
        ("Coding", -0.2),
        ("Math", 0.1),
        ("Reasoning", 0.3),
    )
)
LANGUAGES = (
    "Arabic",
    "French",
    "German",
    "Indonesian",
    "Japanese",
    "Korean",
    "Portuguese",
    "Russian",
    "Spanish",
    "Thai",
    "Turkish",
    "Vietnamese",
)
BY_ID = {benchmark.id: benchmark for benchmark in (*BENCHMARKS, *SKILLS)}


def rounded(value: Decimal, places: int) -> Decimal:
    """The value as a report prints it with so many decimals."""
    return value.quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class World:
    """The scores of one seed."""

    seed: int

    def exact(self, model: Model, benchmark: Benchmark, variant: str = "") -> Decimal:
        """The score to four decimals, before any report rounds it."""
        noise = random.Random(f"{self.seed}|{model.id}|{benchmark.id}|{variant}")
        if variant == "loose-prompt":  # the loose view forgives, so it never scores below the strict one
            return self.exact(model, benchmark, "strict-prompt") + rounded(Decimal(repr(noise.uniform(0.2, 1.4))), 4)
        if benchmark.id in {"HumanEval+", "MBPP+"}:  # the same problems with more tests
            plain = self.exact(model, BY_ID[benchmark.id.rstrip("+")])
            return plain * rounded(Decimal(repr(noise.uniform(0.82, 0.96))), 4)
        shift = {"0-shot": -0.3, "2408-2501": -0.5, "v1": 0.2}.get(variant, 0.0)
        logit = benchmark.offset + benchmark.slope * (model.ability + (0.35 if model.tuned else 0.0)) + shift
        rate = 1 / (1 + math.exp(-(logit + noise.gauss(0, 0.22))))
        low = 1.0 if benchmark.scale == 5 else 0.0
        return rounded(Decimal(repr(low + (benchmark.scale - low) * min(rate, 0.985))), 4)
