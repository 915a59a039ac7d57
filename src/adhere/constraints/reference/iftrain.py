"""The 29 IFTrain instructions of open-instruct's `IFEvalG`, profile `iftrain` (Apache-2.0), strict view only as published."""

from __future__ import annotations

from adhere.constraints.reference import iftrain_format, iftrain_words
from adhere.constraints.reference.published import register

register(*iftrain_words.KINDS, *iftrain_format.KINDS)
