"""The pictures of README and docs, drawn from the committed studies: docs/_static/STUDY-PICTURE-{light,dark}.svg.

    python -m benchmarks.pages.figures

A test compares the files with what this draws, so a picture cannot say what its study does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.sources import ROOT

from adhere import plot
from adhere.report.pieces.picture import Theme

DOCS = ROOT / "docs"
STUDIES = {"study": (plot.forest, plot.seeds), "study-4": (plot.seeds,), "zoo": (plot.forest,)}
THEMES: tuple[Theme, ...] = ("light", "dark")


def pictures() -> Iterator[tuple[Path, str]]:
    """(file, its SVG) of every picture."""
    for study, drawings in STUDIES.items():
        for draw in drawings:
            picture = draw(DOCS / "studies" / study)
            for theme in THEMES:
                yield DOCS / "_static" / f"{study}-{draw.__name__}-{theme}.svg", picture.svg(theme=theme)


if __name__ == "__main__":
    for file, svg in pictures():
        file.write_text(svg, encoding="utf-8")
        print(file)
