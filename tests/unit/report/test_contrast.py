"""What axe would say of colours and headers, computed: numbers on shaded cells are read, and every header has a word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPORT = Path(__file__).parents[3] / "src" / "adhere" / "report"
COLOURS = (REPORT / "pieces" / "colours.css").read_text(encoding="utf-8").partition("@media")
CSS = (REPORT / "report.css").read_text(encoding="utf-8")
LEAST = 4.5
"""WCAG 2.2, 1.4.3: text of this size."""
RGB = tuple[float, float, float]


def colour(name: str, theme: str) -> RGB:
    (found,) = re.findall(rf"--{name}: #([0-9a-f]{{6}});", theme)
    return tuple(int(found[at : at + 2], 16) for at in (0, 2, 4))  # type: ignore[return-value]


def luminance(rgb: RGB) -> float:
    parts = [part / 255 for part in rgb]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: RGB, other: RGB) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_the_formula_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((0x77, 0x77, 0x77), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [COLOURS[0], COLOURS[2]], ids=["light", "dark"])
def test_counts_in_shaded_cells_are_readable(theme: str) -> None:
    (text,) = re.findall(r"\.heat td small \{[^}]*color: var\(--(\w+)\)", CSS)
    shades = [
        int(share) / 100 for share in re.findall(r"\.h\d \{ background: color-mix\(in srgb, var\(--heat\) (\d+)%", CSS)
    ]
    assert len(shades) == 10
    heat, paper, ink = (colour(name, theme) for name in ("heat", "paper", text))
    for share in shades:
        cell = tuple(share * one + (1 - share) * other for one, other in zip(heat, paper, strict=True))
        assert contrast(ink, cell) >= LEAST, share  # type: ignore[arg-type]


def test_no_header_is_empty() -> None:
    empty = [
        path.name
        for path in REPORT.glob("**/*.html.jinja")
        if re.search(r"<th[^>]*>\s*</th>", path.read_text(encoding="utf-8"))
    ]
    assert empty == []
