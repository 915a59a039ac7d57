"""Statistics: numbers in, numbers out. What cannot be computed is None with a reason, and no interval has width zero.

proportions.py   one rate: Wilson, Clopper-Pearson
paired.py        two measurements of the same prompts: exact McNemar, score interval, sign flips
bootstrap.py     BCa over prompts or clusters; seeds × prompts
seeds.py         one number per training seed
multiple.py      Holm, Benjamini-Hochberg
power.py         minimum detectable effect, power, prompts needed
"""

from adhere.stats.bootstrap import (
    Estimate,
    paired_bootstrap,
    two_sided_p,
    two_way_bootstrap,
    two_way_interval,
    unanimous_bound,
)  # fmt: skip
from adhere.stats.multiple import benjamini_hochberg, holm
from adhere.stats.paired import PairedDifference, mcnemar_exact, paired_difference, score_interval, sign_flip
from adhere.stats.power import mde_from_error, mde_paired, mde_seeds, power_paired, prompts_needed
from adhere.stats.proportions import Interval, clopper_pearson, wilson, wilson_clustered
from adhere.stats.seeds import SeedSummary, over_seeds

__all__ = [
    "Estimate", "Interval", "PairedDifference", "SeedSummary", "benjamini_hochberg", "clopper_pearson", "holm",
    "mcnemar_exact", "mde_from_error", "mde_paired", "mde_seeds", "over_seeds", "paired_bootstrap", "paired_difference",
    "power_paired", "prompts_needed", "score_interval", "sign_flip", "two_sided_p", "two_way_bootstrap", "two_way_interval",
    "unanimous_bound", "wilson", "wilson_clustered",
]  # fmt: skip
