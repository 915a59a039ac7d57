"""The 29 IFTrain instructions of open-instruct's `IFEvalG`, profile `iftrain` (Apache-2.0).

Strict view only, as published.
"""

from __future__ import annotations

from adhere.constraints.published.ifbench.kind import kinds_of
from adhere.constraints.published.iftrain import format, words  # noqa: A004 - a file
from adhere.constraints.published.shared.registry import register

register(*kinds_of(words), *kinds_of(format))
