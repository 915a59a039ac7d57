"""Render the page that shows answers one after another, of one Run or of two side by side.

Its script loads the answers from `serve.answers`.
"""

from __future__ import annotations

from collections.abc import Sequence

from adhere.report.page import render


def answers_html(names: Sequence[str], ways: Sequence[str], *, up: str) -> str:
    """Return the page for the Runs called `names`, still without answers.

    `ways` are the outcomes by which answers can be chosen, `up` is the address of the list of all stored items.
    """
    return render(
        "answers/answers.html.jinja",
        style="answers/answers.css",
        script="answers/answers.js",
        asks_itself=True,
        names=names,
        ways=ways,
        up=up,
    )
