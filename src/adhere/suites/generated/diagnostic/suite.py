"""Make the suite `diagnostic`: twenty templates in five categories whose answers a program checks exactly.

The categories and the two stages of scoring follow the study of 256 models (arXiv 2510.18892); the templates, their
wording and how many a category has (4, 5, 5, 3, 3) are our own. The public seed makes results comparable; a fresh seed
gives items that nobody can have memorised.

items.py       a template, an item, the words
constraint.py, data.py, format.py, math.py, string.py    the templates of one category
"""

from __future__ import annotations

import random

from adhere.errors import AdhereError, UsageError
from adhere.schema import Prompt, Turn, derive_seed
from adhere.suites.base import Suite
from adhere.suites.generated.diagnostic import constraint, data, format, math, string  # noqa: A004 - categories
from adhere.suites.generated.diagnostic.items import Item, Template
from adhere.suites.generated.names import name_of, read_argument

VERSION = "2"
DRAWN_AS = "1"  # the version whose draws these are: only the wording of one template was changed since
PUBLIC_SEED = 0
MOST_ITEMS = 1000
SLICES = (
    "string-manipulation", "mathematical-operations", "data-processing", "format-conversion", "constraint-compliance",
)  # fmt: skip
TEMPLATES: tuple[Template, ...] = (
    *string.TEMPLATES, *math.TEMPLATES, *data.TEMPLATES, *format.TEMPLATES, *constraint.TEMPLATES,
)  # fmt: skip
REDRAWS = 100


def diagnostic(seed: int = PUBLIC_SEED, items: int = 1) -> Suite:
    """Make the suite with `items` items of each template; the same arguments give the same prompts.

    An item depends only on the seed, its template and its number, so a larger suite begins with the prompts of a
    smaller one. All templates come once before any comes twice.

    Args:
        seed: The seed from which all draws derive.
        items: Items of each template, 1 to MOST_ITEMS.

    Raises:
        UsageError: `items` is out of range.
    """
    if not 1 <= items <= MOST_ITEMS:
        raise UsageError(f"diagnostic: {items} items a template: must be 1 to {MOST_ITEMS}, e.g. diagnostic:x25")
    items_by_template = [(template, draw_items(template, seed, items)) for template in TEMPLATES]
    prompts = [
        _prompt(template, template_items[number], seed, number + 1)
        for number in range(items)
        for template, template_items in items_by_template
    ]
    return Suite(
        name=suite_name(seed, items),
        version=VERSION,
        prompts=tuple(prompts),
        slices=SLICES,
        cut_answers="judge",
        settings={"seed": seed, "items_per_template": items},
        citation=(
            "Categories and scoring: R. J. Young, B. Gillins, A. M. Matthews, arXiv 2510.18892 (2025). Items: adhere."
        ),
    )


def suite_name(seed: int, items: int) -> str:
    """Return the name by which `load` finds the suite: `diagnostic`, `diagnostic:x25`, `diagnostic:x25+seed7`."""
    return name_of("diagnostic", f"x{items}" if items != 1 else "", f"seed{seed}" if seed != PUBLIC_SEED else "")


def load_diagnostic(argument: str | None, seed: int | None) -> Suite:
    """Load `diagnostic:ARGUMENT`.

    Args:
        argument: `x25` (items a template), `seed7`, or both with a `+` between; None is one item of each template.
        seed: Used if the argument has no seed; None is the public seed.

    Raises:
        UsageError: A part of the argument is none of these.
    """
    options = read_argument("diagnostic", argument, seed=seed, counts="items of each template")
    return diagnostic(options.seed, 1 if options.number is None else options.number)


def draw_items(template: Template, seed: int, count: int) -> list[Item]:
    """Return the first `count` items of a template, each with a different text.

    No text holds its answer, unless the task is to copy it.

    Raises:
        AdhereError: `REDRAWS` draws gave no new item.
    """
    items: dict[str, Item] = {}
    for number in range(1, count + 1):
        rng = random.Random(derive_seed(seed, "diagnostic", DRAWN_AS, template.id, number))
        for _ in range(REDRAWS):
            item = template.draw(rng)
            if item.text not in items and (template.copies or item.answer.expected not in item.text):
                break
        else:
            raise AdhereError(f"{template.id}: no new item number {number} for seed {seed} in {REDRAWS} draws")
        items[item.text] = item
    return list(items.values())


def _prompt(template: Template, item: Item, seed: int, number: int) -> Prompt:
    name = template.id.replace(":", "-").replace("_", "-") + (f"-v{template.version}" if template.version > 1 else "")
    return Prompt(
        id=f"{name}-s{seed}-{number:04d}",
        turns=(Turn(item.text, (item.answer.ref(),)),),
        source="diagnostic",
        tags={"slice": template.category, "test": template.id, "difficulty": template.difficulty},
    )
