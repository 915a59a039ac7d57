from __future__ import annotations

import pytest

from adhere.report.pieces import numbers


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (numbers.percent(0.342), "34.2\u00a0%"),
        (numbers.percent(1.0, digits=0), "100\u00a0%"),
        (numbers.percent(46 / 160), "28.8\u00a0%"),
        (numbers.percent(-0.666), "−66.6\u00a0%"),
        (numbers.percent_interval(-0.735, 0.1), "−73.5…10.0"),
        (numbers.points(0.012), "+1.2"),
        (numbers.points(-0.02), "−2.0"),
        (numbers.points(-0.0004), "0.0"),
        (numbers.points(0.0712, is_signed=False), "7.1"),
        (numbers.percent_interval(0.281, 0.409), "28.1…40.9"),
        (numbers.points_interval(-0.02, 0.044), "−2.0…+4.4"),
        (numbers.count(1_234_567), "1,234,567"),
        (numbers.decimal(-1234.56), "−1,234.6"),
        (numbers.p_value(0.0312), "0.031"),
        (numbers.p_value(0.0002), "<0.001"),
        (numbers.significant(0.0000123), "1.23e−05"),
        (numbers.plural(1, "seed"), "1 seed"),
        (numbers.plural(3, "seed"), "3 seeds"),
    ],
)
def test_numbers_as_a_reader_sees_them(shown: str, wanted: str) -> None:
    assert shown == wanted


def test_undefined_is_a_dash_everywhere() -> None:
    one = (numbers.percent, numbers.points, numbers.count, numbers.decimal, numbers.p_value, numbers.significant)
    assert {form(None) for form in one} == {"–"}
    for form in (numbers.percent_interval, numbers.points_interval):
        assert form(None, 0.4) == form(0.1, None) == "–"
