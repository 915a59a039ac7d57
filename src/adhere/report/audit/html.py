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
        witnesses=[script for script in audit.scripts if script.witness is not None],
    )
