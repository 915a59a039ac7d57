"""Renders templates to one self-contained page: escaping on, style sheet inlined and pinned by hash, no script at all.

Two nets lie under every expression of a template: autoescape, and a `finalize` that writes out hidden characters and
shows None as a dash. The policy forbids every request, every script and every style that is not ours.
"""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

import jinja2
from markupsafe import Markup

from adhere.report import numbers
from adhere.report.guards import guard_cells
from adhere.report.untrusted import marked, visible
from adhere.report.wording import level, reason_of, sentence

_TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **values: object) -> str:
    """A page as text that encodes as UTF-8; the same values give the same bytes."""
    css = _style_sheet()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    page: str = _environment().get_template(template).render(css=Markup(css), css_hash=f"sha256-{digest}", **values)  # noqa: S704 -- our own file
    return page


@functools.cache
def _style_sheet() -> str:
    return (_TEMPLATES / "report.css").read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": numbers.percent,
        "points": numbers.points,
        "percent_interval": numbers.percent_interval,
        "points_interval": numbers.points_interval,
        "count": numbers.count,
        "counted": numbers.counted,
        "decimal": numbers.decimal,
        "p_value": numbers.p_value,
        "reason_of": reason_of,
        "sentence": sentence,
        "guard_cells": guard_cells,
        "heat": _heat,
        "level": level,
        "marked": marked,
    }
    return environment


def _finalized(value: object) -> object:
    if value is None:
        return numbers.DASH
    if isinstance(value, Markup):
        return value
    return visible(value) if isinstance(value, str) else value


def _heat(rate: float) -> int:
    """The shade of a rate: 0 to 9."""
    return min(int(rate * 10), 9)
