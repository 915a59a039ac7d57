"""Compute statistics: numbers in, numbers out. What cannot be computed is None with a reason.

No interval has width zero.

proportions.py   one rate, or one whose trials come in clusters: Wilson
adjusted.py      a paired difference at equal length of answers
bootstrap.py     BCa over prompts or clusters
crossed.py       paired differences over seeds and clustered prompts: what a study's verdict uses
incomplete.py    paired differences where every seed draws its own kinds and prompts
fragile.py       on what a difference over seeds depends: single seeds, their signs, the kinds of constraint
seeds.py         one number per training seed
multiple.py      Holm
draws.py         several draws of one prompt: pass@k and pass^k
agreement.py     two judges of the same answers: Cohen's kappa
spread.py        several forms of one thing: how far their rates differ
ranks.py         many models measured on the same prompts: ranges of ranks
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adhere.stats.adjusted import AtEqualLength, length_controlled
    from adhere.stats.agreement import cohens_kappa
    from adhere.stats.bootstrap import Estimate, paired_bootstrap, unanimous_bound
    from adhere.stats.crossed import Crossed, fit_crossed
    from adhere.stats.fragile import fit_kinds, leave_kinds_out, leave_one_out, sign_flip_p
    from adhere.stats.incomplete import Incomplete, fit_incomplete
    from adhere.stats.multiple import holm
    from adhere.stats.proportions import ClusterSums, Interval, wilson_clustered
    from adhere.stats.seeds import SeedSummary, over_seeds
    from adhere.stats.spread import spread_of_variants

__all__ = [
    "AtEqualLength", "ClusterSums", "Crossed", "Estimate", "Incomplete", "Interval", "SeedSummary", "cohens_kappa",
    "fit_crossed", "fit_incomplete", "fit_kinds", "holm", "leave_kinds_out", "leave_one_out", "length_controlled",
    "over_seeds", "paired_bootstrap", "sign_flip_p", "spread_of_variants", "unanimous_bound", "wilson_clustered",
]  # fmt: skip
# A module is imported when one of its names is first used: most of them bring scipy, which takes 0.3 s.
_HOMES = {
    **dict.fromkeys(("AtEqualLength", "length_controlled"), "adjusted"),
    **dict.fromkeys(("Estimate", "paired_bootstrap", "unanimous_bound"), "bootstrap"),
    **dict.fromkeys(("Crossed", "fit_crossed"), "crossed"),
    **dict.fromkeys(("Incomplete", "fit_incomplete"), "incomplete"),
    **dict.fromkeys(("fit_kinds", "leave_kinds_out", "leave_one_out", "sign_flip_p"), "fragile"),
    **dict.fromkeys(("ClusterSums", "Interval", "wilson_clustered"), "proportions"),
    **dict.fromkeys(("SeedSummary", "over_seeds"), "seeds"),
    "cohens_kappa": "agreement",
    "holm": "multiple",
    "spread_of_variants": "spread",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
