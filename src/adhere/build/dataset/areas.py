"""The areas of data that the Qwen2.5 report names, as far as programs can make and judge them.

Source: arXiv 2412.15115, section 4.1.

    [[areas]]
    area = "coding"
    count = 40

An area is a family of our generated suites drawn from a seed of its own, with that family's verifier, or our queries
with constraints of one sort. What is trained on an area is no longer held out from the suite of that name: report
another one. `docs/guide/build.md` says which areas need others' data.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec

from adhere import suites
from adhere.build.dataset.spec import Area, AreaSpec
from adhere.build.transforms.system_prompts import draw_system
from adhere.constraints import Constraint, registry
from adhere.schema import Prompt, derive_seed
from adhere.suites.base import first_of_slices

SUITES: dict[Area, str] = {
    "long-answers": "length", "maths": "math", "coding": "code", "structured-data": "data", "reasoning": "logic",
}  # fmt: skip


def draw_area(spec: AreaSpec, *, name: str, seed: int) -> tuple[list[Prompt], int]:
    """Draw the prompts of an area that is a generated suite; return them and the suite's limit of new tokens.

    The suite's seed is derived from `seed`, so the prompts differ from the public suite's.
    """
    suite_name = SUITES[spec.area]
    suite = suites.load(f"{suite_name}:x{spec.count}+seed{1 + derive_seed(seed, 'area', spec.area) % 2**30}")
    prompts = [
        msgspec.structs.replace(
            prompt, id=f"{name}-s{seed}-{spec.area}-{number:05d}", source=name, tags=prompt.tags | {"area": spec.area}
        )
        for number, prompt in enumerate(first_of_slices(suite.prompts, spec.count), start=1)
    ]
    return prompts, suite.sampling.max_new_tokens


class AnswerAbroad:
    """The kind `language:answer_in` for any language but English, which our queries are in."""

    id = "language:answer_in"

    def family(self) -> str:
        return "language"

    def draw(self, rng: random.Random, *, words: Sequence[str]) -> Constraint:
        kind = registry.get(self.id)
        while (constraint := kind.draw(rng, words=words)).ref().params["language"] == "English":
            pass
        return constraint


def under_systems(prompts: Sequence[Prompt], *, seed: int) -> list[Prompt]:
    """Return the prompts, each with a system prompt drawn for it (`build.transforms.system_prompts`)."""
    systems = [draw_system(random.Random(derive_seed(seed, "system", prompt.id))) for prompt in prompts]
    return [msgspec.structs.replace(prompt, system=system) for prompt, system in zip(prompts, systems, strict=True)]
