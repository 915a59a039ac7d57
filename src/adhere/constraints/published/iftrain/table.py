"""The 29 IFTrain instructions of open-instruct's `IFEvalG`, profile `iftrain` (Apache-2.0).

Strict view only, as published.
"""

from __future__ import annotations

from adhere.constraints.published.iftrain import format as iftrain_format
from adhere.constraints.published.iftrain import words as iftrain_words
from adhere.constraints.published.shared.registry import register

register(*iftrain_words.KINDS, *iftrain_format.KINDS)
