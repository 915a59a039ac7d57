"""Where a default comes from: what the Qwen2.5 report states, what we use at our scale, and why."""

from __future__ import annotations

from adhere.schema import Record


class Provenance(Record, frozen=True):
    """Describes the origin of one setting.

    Attributes:
        stated: What the report (arXiv 2412.15115, section 4) states; None where it states nothing.
        ours: What we use by default.
        why: Why our default differs, or where it comes from.
    """

    stated: str | None
    ours: str
    why: str
