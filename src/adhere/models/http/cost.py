"""The highest cost of a request, estimated before it is sent, so that a cap can be kept."""

from __future__ import annotations

from adhere.models.base import Request
from adhere.models.http.counting import text_of, tokens_of
from adhere.models.http.wire import Prices


def dollars(amount: float) -> str:
    """Format an amount as `$0.35`, below a cent with two significant digits as `$0.0012`."""
    return f"${amount:.2f}" if not 0 < amount < 0.01 else f"${amount:.2g}"


def most_tokens(request: Request, max_new_tokens: int) -> int:
    """Estimate the most tokens that a request and its answer may have."""
    return tokens_of(text_of(request)) + max_new_tokens


def most_cost_usd(prices: Prices | None, prompt: str, max_new_tokens: int) -> float:
    """Estimate the most an answer may cost, in USD; 0 without a price, which a cap therefore requires."""
    if prices is None:
        return 0.0
    return prices.request + tokens_of(prompt) * prices.prompt + max_new_tokens * prices.completion


__all__ = ["dollars", "most_cost_usd", "most_tokens", "text_of", "tokens_of"]
