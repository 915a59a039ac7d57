"""Show any suite of texts as pictures.

Prompts and judge stay the same, so that the difference is that between reading and seeing. After VIM (arXiv
2311.17647), which draws instructions into images to ask whether a model follows what it sees as it follows what it
reads.

    adhere eval MODEL --suite core                 # told
    adhere eval MODEL --suite core --as-image      # shown
    adhere compare RUN_SHOWN RUN_TOLD              # the modality gap, paired by prompt
"""

from __future__ import annotations

import functools
import io
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from adhere import media
from adhere.constraints.kinds.shared.shapes import COLOURS, SIDE, Shape
from adhere.errors import UsageError
from adhere.extras import need
from adhere.schema import Media, Prompt, Turn, content_hash
from adhere.suites.base import Suite

if TYPE_CHECKING:
    from PIL import Image, ImageFont

DRAWN = "drawn"
"""The tag that holds the key of the text that a prompt's picture shows."""
ASK = "The picture shows your instructions. Follow them, as if they were written here."
WIDTH, MARGIN, POINTS, COLUMNS = 1024, 24, 22, 84
_LONGEST_SIDE = 8000  # what endpoints take


def drawn_key(prompt: Prompt) -> str:
    """Return a hash of a prompt's text and constraints, the same for a prompt and its picture."""
    return content_hash([prompt.system, [[turn.text, turn.constraints] for turn in prompt.turns]])[:16]


def as_image(suite: Suite, font: Path | None = None) -> Suite:
    """Return the suite with every user turn drawn as a picture; ids, constraints, systems and slices stay.

    Args:
        suite: A suite of texts.
        font: A TrueType or OpenType file; None: Pillow's own, which has the characters of ASCII.

    Raises:
        UsageError: A prompt has pictures already, is too long for a picture, or has characters that the font lacks.
        MissingExtra: Pillow is not installed.
    """
    face = _face(font)
    lacking = _lacking(suite, face)
    prompts = []
    for prompt in suite.prompts:
        if any(turn.media for turn in prompt.turns):
            raise UsageError(
                f"{suite.name}: prompt {prompt.id!r} shows a picture already, so its text cannot be shown as another"
            )
        turns = tuple(
            Turn(ASK, turn.constraints, (_picture(prompt, turn.text, face, lacking),)) for turn in prompt.turns
        )
        prompts.append(msgspec.structs.replace(prompt, turns=turns, tags={**prompt.tags, DRAWN: drawn_key(prompt)}))
    settings = suite.settings | {"as_image": font.name if font else "Pillow's font"}
    return msgspec.structs.replace(
        suite, name=f"{suite.name}+as-image", prompts=tuple(prompts), whole=(), settings=settings
    )


@functools.lru_cache(maxsize=4)
def _face(font: Path | None) -> ImageFont.FreeTypeFont:
    module: Any = need("PIL.ImageFont", extra="pictures")
    try:
        face: ImageFont.FreeTypeFont = (
            module.load_default(POINTS) if font is None else module.truetype(str(font), POINTS)
        )
    except OSError as error:
        raise UsageError(f"{font}: no font that Pillow reads ({error})") from error
    return face


def _picture(prompt: Prompt, text: str, face: ImageFont.FreeTypeFont, lacking: frozenset[str]) -> Media:
    lines = [
        part for line in text.split("\n") for part in (textwrap.wrap(line, COLUMNS, drop_whitespace=False) or [""])
    ]
    height = 2 * MARGIN + round(1.35 * POINTS) * len(lines)
    if height > _LONGEST_SIDE:
        raise UsageError(
            f"Prompt {prompt.id!r} has {len(lines)} lines of {COLUMNS} characters: too long for one "
            "picture. Leave it out"
        )
    if unseen := next((sign for sign in text if sign in lacking), ""):
        raise UsageError(
            f"Prompt {prompt.id!r} has the character {unseen!r}, which the font lacks, so it would not be seen. "
            "Name a font that has it: --font FILE"
        )
    image, pen = _canvas(WIDTH, height)
    for number, line in enumerate(lines):
        pen.text((MARGIN, MARGIN + number * round(1.35 * POINTS)), line, font=face, fill="black")
    return png(image)


def _lacking(suite: Suite, face: ImageFont.FreeTypeFont) -> frozenset[str]:
    """Return the characters of a suite that the font draws like a character that no font has."""
    unknown = bytes(face.getmask("\U000e0fff"))
    characters = {sign for prompt in suite.prompts for turn in prompt.turns for sign in turn.text if not sign.isspace()}
    return frozenset(sign for sign in characters if bytes(face.getmask(sign)) == unknown)


def _canvas(width: int, height: int) -> tuple[Image.Image, Any]:
    image: Any = need("PIL.Image", extra="pictures")
    pen: Any = need("PIL.ImageDraw", extra="pictures")
    canvas: Image.Image = image.new("RGB", (width, height), "white")
    return canvas, pen.Draw(canvas)


def png(image: Image.Image) -> Media:
    """Store a picture as PNG."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return media.keep(file.getvalue(), "image/png")


def scene(shapes: Sequence[Shape], labels: Sequence[tuple[float, float, str]] = (), *, size: int = 512) -> Media:
    """Draw a picture of plain shapes and words, in the units of `constraints.kinds.shared.shapes`.

    Args:
        shapes: The shapes, drawn in this order.
        labels: (x, y, word), with x and y of the word's upper left corner.
        size: Width and height in pixels.
    """
    image, pen = _canvas(size, size)
    scale = size / SIDE
    for shape in shapes:
        box = [scale * value for value in (shape.left, shape.top, shape.right, shape.bottom)]
        colour = COLOURS[shape.colour]
        if shape.points:
            pen.polygon([(scale * x, scale * y) for x, y in shape.points], fill=colour)
        elif shape.name in {"circle", "ellipse"}:
            pen.ellipse(box, fill=colour)
        else:
            pen.rectangle(box, fill=colour)
    for x, y, word in labels:
        pen.text((scale * x, scale * y), word, font=_face(None), fill="black")
    return png(image)
