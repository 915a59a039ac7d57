"""The page that shows what an audit of a reward found."""

from __future__ import annotations

from adhere.report.audit.text import HEADINGS, rows_of, verdict_of
from adhere.report.page import render
from adhere.rewards.audit import Audit


def audit_html(found: Audit) -> str:
    """One self-contained page."""
    return render(
        "audit/audit.html.jinja",
        audit=found,
        verdict=verdict_of(found),
        headings=HEADINGS,
        table=rows_of(found),
        witnesses=[one for one in found.scripts if one.witness is not None],
    )
