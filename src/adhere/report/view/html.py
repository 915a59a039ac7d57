"""Render the pages of `adhere view`.

Each is a frame that its script fills from JSON, as text only, again and again while a run goes on.
"""

from __future__ import annotations

from adhere.report.page import render


def index_html(directory: str) -> str:
    """Return the list of everything stored below a directory."""
    return _live(f"Runs, sweeps and studies in {directory}", "", is_index=True)


def item_html(name: str, kind: str) -> str:
    """Return the page of one run, sweep or study, as far as it has come."""
    return _live(name, kind, is_index=False)


def trouble_html(name: str, reason: str) -> str:
    """Return a page that says why there is no report."""
    return render("view/view_trouble.html.jinja", title=name, reason=reason)


def _live(title: str, kind: str, *, is_index: bool) -> str:
    return render(
        "view/view.html.jinja",
        style="view/view.css",
        script="view/view.js",
        asks_itself=True,
        title=title,
        kind=kind,
        is_index=is_index,
    )
