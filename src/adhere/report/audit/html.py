"""Render the page that shows the result of an audit of a reward."""

from __future__ import annotations

from adhere.report.audit.text import HEADINGS, rows_of, verdict_of
from adhere.report.page import render
from adhere.rewards.audit import Audit


def audit_html(audit: Audit) -> str:
    """Return one self-contained page."""
    return render(
        "audit/audit.html.jinja",
        audit=audit,
        verdict=verdict_of(audit),
        headings=HEADINGS,
        table=rows_of(audit),
        witnesses=[one for one in audit.scripts if one.witness is not None],
    )
