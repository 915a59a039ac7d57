"""Drawings decided by geometry: what is drawn, where, and what is refused because nobody can tell."""

from __future__ import annotations

import time

import pytest

from adhere.constraints import make
from adhere.constraints.kinds.shared.shapes import Unreadable, make_shape, read_svg

VIEW = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100">{}</svg>'


def judge(inner: str, *shapes: str, relation: str = "", centre: str = "") -> tuple[str, str]:
    finding = make("drawing:shows", shapes=shapes, relation=relation, centre=centre).check(
        f"Here:\n```svg\n{VIEW.format(inner)}\n```"
    )
    return finding.outcome, finding.reason


CIRCLE, SQUARE = (
    '<circle cx="20" cy="20" r="10" fill="red"/>',
    '<rect x="60" y="60" width="20" height="20" style="fill:#00f"/>',
)


@pytest.mark.parametrize(
    ("inner", "outcome"),
    [
        (CIRCLE + SQUARE, "pass"),
        ('<rect width="100" height="100" fill="white"/>' + CIRCLE + SQUARE, "pass"),  # a background
        (
            f'<g fill="blue">{CIRCLE}<polygon points="60,60 80,60 80,80 60,80"/></g>',
            "pass",
        ),  # colour from its group, four corners
        (f"<title>red circle, blue square</title>{CIRCLE}", "fail"),  # said, not drawn
        (CIRCLE + CIRCLE.replace("20", "50") + SQUARE, "fail"),
        (CIRCLE.replace("red", "green") + SQUARE, "fail"),
        (SQUARE + '<ellipse cx="20" cy="20" rx="10" ry="6" fill="red"/>', "fail"),
        (CIRCLE.replace("20", "900", 1) + SQUARE, "fail"),  # outside the view
        (CIRCLE + SQUARE.replace("60", "0").replace('"20"', '"70"'), "fail"),  # the circle is hidden
        (f'<g transform="scale(0)">{CIRCLE}{SQUARE}</g>', "fail"),
        (f"{CIRCLE}{SQUARE}<script>1</script>", "fail"),
        (CIRCLE.replace("/>", ' opacity="0"/>') + SQUARE, "fail"),
        (CIRCLE + SQUARE.replace("fill:#00f", "fill:#00f; visibility: hidden"), "fail"),
        (CIRCLE.replace('r="10"', 'r="0.1"') + SQUARE, "fail"),
    ],
)
def test_what_is_drawn_counts_not_what_is_said(inner: str, outcome: str) -> None:
    assert judge(inner, "1 red circle", "1 blue square")[0] == outcome, judge(inner, "1 red circle", "1 blue square")


def test_places() -> None:
    both = "1 red circle", "1 blue square"
    assert judge(CIRCLE + SQUARE, *both, relation="left of")[0] == "pass"
    assert judge(CIRCLE + SQUARE, *both, relation="above")[0] == "pass"
    assert judge(CIRCLE + SQUARE, *both, relation="below") == ("fail", "the red circle is not below the blue square")
    inside = '<rect x="10" y="10" width="60" height="60" fill="blue"/><circle cx="40" cy="40" r="5" fill="red"/>'
    assert judge(inside, *both, relation="inside")[0] == "pass"
    assert judge(CIRCLE, "1 red circle", centre="21 19")[0] == "pass"
    assert judge(CIRCLE, "1 red circle", centre="30 20") == (
        "fail",
        "the red circle is centred at 20, 20; needed 30, 20 (±2)",
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A red circle.", "0 drawings"),
        (2 * VIEW.format(CIRCLE), "2 drawings"),
        ('<svg viewBox="0 0 100 100"><circle</svg>', "no well-formed XML"),
        ('<svg viewBox="0 0 50 50"></svg>', "the viewBox must be"),
        ('<svg viewBox="0 0 100 100"><!ENTITY a "b"></svg>', "declarations and entities"),
        (VIEW.format("<path d='M0 0'/>"), "<path> is not read"),
        (VIEW.format(f'<g style="opacity: 0">{CIRCLE}</g>'), "opacity is not read"),
        (VIEW.replace("<svg", '<svg display="none"').format(CIRCLE), "display is not read"),
        (VIEW.format("<g>" * 300 + CIRCLE * 600 + "</g>" * 300), "more than 500 elements"),
        (VIEW.format('<circle cx="a" cy="1" r="2"/>'), "is no number"),
        ("<svg>" * 100_000, "more than 100,000 characters"),
    ],
)
def test_what_geometry_does_not_decide_is_said(text: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read_svg(text)


def test_a_shape_has_the_colour_of_the_whole_drawing_where_it_has_none() -> None:
    assert (
        read_svg(VIEW.replace("<svg", '<svg fill="red"').format('<circle cx="20" cy="20" r="9"/>'))[0].colour == "red"
    )


def test_points_in_shapes() -> None:
    triangle = make_shape("triangle", "red", 0, 0, 20)
    assert triangle.holds(10, 10)
    assert not triangle.holds(1, 1)
    circle = make("drawing:point_in", shape="red circle", left=10, top=10, size=20)
    for answer, outcome in (
        ("20, 20", "pass"),
        ("(20,20)", "pass"),
        ("20 %, 20%", "pass"),
        ("11, 11", "fail"),
        ("20, 20 or so", "fail"),
        ("20", "fail"),
    ):
        assert circle.check(answer).outcome == outcome, answer


def test_beginnings_without_an_end_take_no_time() -> None:
    """Each was searched to the end of the text: 14 seconds of processor for the longest that is read."""
    began = time.process_time()
    for text in ("<svg>" * 20_000, "<svg></svg " * 9_000, "</svg>" * 16_000):
        with pytest.raises(Unreadable):
            read_svg(text)
    assert time.process_time() - began < 2
