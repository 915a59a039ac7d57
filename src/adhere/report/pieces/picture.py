"""Save a chart as a picture of its own.

It is one SVG file with title, legend and colours, for a page, a slide or a notebook.
"""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from markupsafe import Markup

from adhere.errors import UsageError
from adhere.extras import need
from adhere.report.pieces.charts import element
from adhere.schema import write_atomic

Theme = Literal["auto", "light", "dark"]
_HERE = Path(__file__).parent
_FONT = "-apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', system-ui, sans-serif"
_LEFT, _RIGHT, _LINE = 20, 28, 19
_AXIS = 44
"""Pixels for the labels of an upward axis, to the left of the chart."""


@dataclass(frozen=True)
class Picture:
    """Holds a chart that a notebook shows and `save` writes; `alt` describes it in words.

    Attributes:
        title: The text above the chart.
        chart: A chart made by `report.pieces.charts`.
        legend: (colour, label) pairs that explain its colours; a colour is the number of a style class.
        note: A line below the title.
        alt: All of its numbers in words.
    """

    title: str
    chart: Markup
    legend: Sequence[tuple[int, str]] = ()
    note: str = ""
    alt: str = ""

    def svg(self, *, theme: Theme = "auto", width: int = 720) -> str:
        """Return the picture as an SVG document without variables, scripts or requests.

        Args:
            theme: `auto` follows the reader's preference for light or dark.
            width: Width in pixels; letters keep their size.
        """
        chart_match = re.search(r' class="chart (\S+)" .*?height="(\d+)"', self.chart)
        if chart_match is None:
            raise UsageError("What is drawn is no chart of adhere.report.pieces.charts")
        axis = _AXIS if chart_match[1] in {"spots", "scatter", "curve"} else 0
        head, y = [], 10
        for line in textwrap.wrap(self.title, (width - _LEFT - _RIGHT) // 9):
            y += 20
            head.append(element("text", line, x=_LEFT, y=y, class_="title"))
        for line in textwrap.wrap(self.note, (width - _LEFT - _RIGHT) // 6):
            y += _LINE
            head.append(element("text", line, x=_LEFT, y=y, class_="tick"))
        for tone, label in self.legend:
            y += _LINE
            head.append(element("rect", x=_LEFT, y=y - 10, width=11, height=11, rx=2, class_=f"bar t{tone}"))
            head.append(element("text", label, x=_LEFT + 18, y=y, class_="key"))
        inside = element(
            "svg",
            self.chart,
            x=_LEFT + axis,
            y=y + 18,
            width=width - _LEFT - axis - _RIGHT,
            height=chart_match[2],
            overflow="visible",
        )
        height = y + 18 + int(chart_match[2]) + 16
        return element(
            "svg",
            element("title", self.alt or self.title),
            element("style", Markup(_style(theme))),  # noqa: S704
            element("rect", width=width, height=height, class_="paper"),
            *head,
            inside,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            class_="adhere-picture",
            role="img",
        )

    def png(self, *, theme: Theme = "light", width: int = 720, scale: float = 2) -> bytes:
        """Return the picture as PNG, drawn by resvg (`pip install resvg-py`).

        Args:
            theme: As for `svg`; a PNG has no reader's preference, so `auto` is light.
            width: Width in pixels at a scale of 1.
            scale: Pixels of the PNG for each pixel of the SVG.

        Raises:
            MissingExtra: resvg-py is not installed.
        """
        resvg = need("resvg_py", extra="pictures")
        svg_text = self.svg(theme="light" if theme == "auto" else theme, width=width)
        return bytes(resvg.svg_to_bytes(svg_string=svg_text, width=round(width * scale)))

    def save(self, path: Path | str, *, theme: Theme = "auto", width: int = 720) -> Path:
        """Write the picture as an SVG or a PNG file, by the name's ending.

        Raises:
            UsageError: The name ends otherwise; a browser, Inkscape or `rsvg-convert` makes a PDF of an SVG.
            MissingExtra: resvg-py, needed for a PNG, is not installed.
        """
        file = Path(path)
        if file.suffix not in {".svg", ".png"}:
            raise UsageError(
                f"{file}: pictures are written as .svg or .png; `rsvg-convert -f pdf` makes a PDF of an SVG"
            )
        is_png = file.suffix == ".png"
        write_atomic(
            file, self.png(theme=theme, width=width) if is_png else self.svg(theme=theme, width=width).encode()
        )
        return file

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<Picture: {self.alt or self.title}>"


@functools.cache
def _style(theme: Theme) -> str:
    """Return the style rules of charts with colours filled in, limited to this picture."""
    light, _, dark = (_HERE / "colours.css").read_text(encoding="utf-8").partition("@media")
    rules = (_HERE / "charts.css").read_text(encoding="utf-8") + (
        f".adhere-picture {{ font-family: {_FONT}; font-size: 13px; fill: var(--ink); }} .paper {{ fill: "
        "var(--paper); } .title { font-size: 16px; font-weight: 600; } .tick, .key { fill: "
        "var(--quiet); font-size: 12px; }"
    )
    rules = re.sub(r"\.chart\.(curve|spots) \{[^}]*\}", "", rules)  # their margins on a page
    if theme == "auto":
        return f"{_fill_in(rules, light)} @media (prefers-color-scheme: dark) {{ {_fill_in(rules, dark, only=True)} }}"
    return _fill_in(rules, light if theme == "light" else dark)


def _fill_in(rules: str, colours: str, *, only: bool = False) -> str:
    """Return the rules with every variable replaced by its colour, and limited to this picture.

    With `only`, just the declarations that have a variable are kept.
    """
    values = dict(re.findall(r"(--[\w-]+): (#\w+)", colours))
    filled_rules = []
    for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules):
        declarations = [part.strip() for part in body.split(";") if part.strip() and ("var(" in part or not only)]
        if declarations:
            selector_text = ", ".join(
                selector if "adhere-picture" in selector else f".adhere-picture {selector}"
                for selector in map(str.strip, selectors.split(","))
            )
            body_text = re.sub(r"var\((--[\w-]+)\)", lambda name: values[name[1]], "; ".join(declarations))
            filled_rules.append(f"{selector_text} {{ {body_text} }}")
    return " ".join(filled_rules)
