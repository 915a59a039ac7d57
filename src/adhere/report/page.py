"""Render templates to one self-contained page: escaping on, style sheet and script inlined and pinned by hash.

Every expression of a template is autoescaped, and a `finalize` shows hidden characters, and None as a dash. The content
policy forbids requests, and all scripts and styles but ours; most pages have no script at all.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

import jinja2
from markupsafe import Markup

from adhere.report.pieces import numbers
from adhere.report.pieces.charts import meter
from adhere.report.pieces.glossary import words
from adhere.report.pieces.guards import guard_cells
from adhere.report.pieces.untrusted import mark_hidden, visible
from adhere.report.pieces.wording import level, reason_of, sentence

STYLES = ("pieces/colours.css", "report.css", "pieces/charts.css")
_TEMPLATES = Path(__file__).parent  # a folder a page; what all pages share lies here


def render(
    template: str, *, style: str | None = None, script: str | None = None, asks_itself: bool = False, **values: object
) -> str:
    """Render a page as text that encodes as UTF-8; the same values give the same bytes.

    Args:
        template: The template's file.
        style: A file of style rules that come after those of every page.
        script: The file of the page's one script.
        asks_itself: Whether that script may make requests to the page's own server.
        values: What the template shows.
    """
    css = "".join(map(_own, STYLES)) + (_own(style) if style else "")
    code = _own(script) if script else ""
    policy = f"script-src '{_hash(code)}'; " if code else ""
    page: str = (
        _environment()
        .get_template(template)
        .render(
            css=Markup(css),  # noqa: S704 -- our own files
            css_hash=_hash(css),
            script=Markup(code),  # noqa: S704
            more_policy=Markup(policy + ("connect-src 'self'; " if asks_itself else "")),  # noqa: S704
            **values,
        )
    )
    return page


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@functools.cache
def _own(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    formats = (
        numbers.percent, numbers.points, numbers.percent_interval, numbers.points_interval, numbers.count,
        numbers.plural, numbers.decimal, numbers.p_value, reason_of, sentence, guard_cells, level, mark_hidden, meter,
    )  # fmt: skip
    environment.filters |= {function.__name__: function for function in formats}
    environment.filters |= {"heat": _heat, "explained": words}
    return environment


def _finalize(value: object) -> object:
    if value is None:
        return numbers.DASH
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else value


def _heat(rate: float) -> int:
    """Return the shade of a rate: 0 to 9."""
    return min(int(rate * 10), 9)
