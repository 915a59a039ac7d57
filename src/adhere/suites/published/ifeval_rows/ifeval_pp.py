"""IFEval++: IFEval's prompts, each in ten variants that say nearly the same; is a model right on all ten?

`ifeval-pp:FILE` reads IFEval's rows whose keys are `1000:original`, `1000:rephrasing:2`, `1000:distractor:1` or
`1000:ct_alteration:3`. A variant is named by its kind and its place among the rows of that kind in its group, because
the numbers have gaps (variants that failed a check were dropped).

Official aggregation: reliable@10, the share of groups of which all ten prompts are passed (strict): the measure *worst
case*, where every group has every variant. A group without one is in no *worst case*, and fails there.

Source: J. Dong et al., arXiv 2512.14754; `evaluation_lib.calculate_reliable_at_k` of jianshuod/IFEval-pp.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from adhere.errors import SpecError
from adhere.schema import Prompt
from adhere.suites.base import Suite
from adhere.suites.published import rows

IFEVAL_PP = rows.PublishedFile(
    name="ifeval-pp",
    profile="ifevalpp",
    citation="J. Dong et al., Revisiting the Reliability of Language Models in Instruction-Following, arXiv 2512.14754",
)
_KEY = re.compile(r"([^:]+):(?:(original)|(rephrasing|distractor|ct_alteration):\d+)")


def load(argument: str | None) -> Suite:
    """Load the suite of the file that `argument` names.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, line and key.
    """
    suite = rows.load(IFEVAL_PP, argument)
    return msgspec.structs.replace(suite, prompts=tuple(_add_tags(suite)))


def _add_tags(suite: Suite) -> Iterator[Prompt]:
    """Yield the prompts with tags for their group and their variant."""
    places: Counter[tuple[str, str]] = Counter()
    for prompt in suite.prompts:
        key = _KEY.fullmatch(prompt.id)
        if key is None:
            raise SpecError(
                f"{suite.name}: key {prompt.id!r} is none of 1000:original, 1000:rephrasing:1, 1000:distractor:1 and "
                "1000:ct_alteration:1. Rows of IFEval itself are read by ifeval:FILE"
            )
        group, original, kind = key.groups()
        places[group, kind] += 1
        variant = original or f"{kind} {places[group, kind]}"
        yield msgspec.structs.replace(prompt, tags={**prompt.tags, "group": group, "variant": variant})
