"""Make a published constraint in either mode.

`reference` judges as the published code does, `fixed` with its listed defects mended.
"""

from __future__ import annotations

from collections.abc import Mapping

from adhere.constraints.published.shared.registry import PublishedConstraint, fill, find
from adhere.errors import BadParameter, one_of
from adhere.schema import MODES, Json, Mode


def constraint(
    id: str,  # noqa: A002 - the field's word
    params: Mapping[str, Json] | None = None,
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    random_seed: int | None = None,
) -> PublishedConstraint:
    """Make a published constraint from its id and parameters; parameters that are None count as absent.

    Args:
        id: The published id, such as `length_constraints:number_words`.
        params: Parameters under their published names.
        mode: `reference` judges as the published code does, `fixed` with its listed defects mended.
        profile: The version of the suite, if there are several; None: the newest.
        random_seed: Draw what the published code would draw at random, as if it had been seeded with this number right
            before it built the instruction, instead of leaving the answer undecided. In reference mode only.

    Raises:
        UnknownName: There is no such id.
        UsageError: There is no such mode.
        BadParameter: A parameter is unknown, of the wrong type, or one with which the published code raises; or a
            random seed for fixed mode, which draws nothing.
    """
    mode = one_of(mode, MODES, "mode")
    kind = find(id, profile=profile)
    if mode == "reference":
        return fill(kind, params or {}, random_seed=random_seed)
    if random_seed is not None:
        raise BadParameter(
            f"{id}: random_seed={random_seed} has no meaning in fixed mode, which draws nothing; leave it out"
        )
    from adhere.constraints.published.shared.fixes import (
        in_fixed_mode,  # not needed by those who judge in reference mode only
    )

    return fill(in_fixed_mode(kind), params or {}, mode=mode)
