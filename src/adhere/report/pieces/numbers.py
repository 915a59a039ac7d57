"""Format numbers for readers. This is the only place where a rate becomes a percentage.

An undefined number (None) is always `DASH`; the text next to it gives the reason.
"""

from __future__ import annotations

from typing import Protocol

from adhere.text.words import plural_of

DASH = "–"
_MINUS = "\u2212"


def percent(rate: float | None, *, digits: int = 1) -> str:
    """Format `0.342` as `34.2 %`; 46 of 160 are 28.75 before rounding, not the 28.749999 of a float."""
    return DASH if rate is None else f"{round(100 * rate, 9):.{digits}f}\u00a0%".replace("-", _MINUS)


def points(difference: float | None, *, is_signed: bool = True) -> str:
    """Format a difference of rates in percentage points: `0.012` as `+1.2`, with a real minus sign."""
    if difference is None:
        return DASH
    size = f"{abs(100 * difference):.1f}"
    if size == "0.0" or (not is_signed and difference >= 0):
        return size
    return ("+" if difference > 0 else _MINUS) + size


def percent_change(share: float | None) -> str:
    """Format a relative change: `0.034` as `+3.4 %`, with a real minus sign."""
    return DASH if share is None else f"{100 * share:+.1f}\u00a0%".replace("-", _MINUS)


def percent_interval(low: float | None, high: float | None) -> str:
    """Format an interval of rates in percent: `28.1…40.9`."""
    return DASH if low is None or high is None else f"{100 * low:.1f}…{100 * high:.1f}".replace("-", _MINUS)


def points_interval(low: float | None, high: float | None) -> str:
    """Format an interval in percentage points: `−2.0…+4.4`."""
    return DASH if low is None or high is None else f"{points(low)}…{points(high)}"


class _Estimate(Protocol):
    @property
    def difference(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def points_and_interval(estimate: _Estimate) -> str:
    """Format a difference of rates with its interval, in percentage points: `+1.2 (−2.0…+4.4)`."""
    return f"{points(estimate.difference)} ({points_interval(estimate.low, estimate.high)})"


def count(value: int | None) -> str:
    """Format `1234567` as `1,234,567`."""
    return DASH if value is None else f"{value:,}".replace("-", _MINUS)


def decimal(value: float | None, *, digits: int = 1) -> str:
    """Format a number with thousands separators and a fixed number of decimals."""
    return DASH if value is None else f"{value:,.{digits}f}".replace("-", _MINUS)


def p_value(value: float | None) -> str:
    """Format a p-value with three decimals; `<0.001` below."""
    if value is None:
        return DASH
    return "<0.001" if value < 0.001 else f"{value:.3f}"


def significant(value: float | None) -> str:
    """Format a number of unknown size, such as a loss or a tick, with three significant digits."""
    if value is None:
        return DASH
    return f"{value:.3g}".replace("-", _MINUS)


def plural(value: int, noun: str) -> str:
    """Return a count with its noun: `1 seed`, `3 seeds`, `200 prompts`, `2 dashes`, `2 families`."""
    return f"{count(value)} {noun if value == 1 else plural_of(noun)}"
