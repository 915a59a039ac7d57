"""What a request may cost at most: known before it is sent, so that a cap can be kept."""

from __future__ import annotations

from adhere.models.base import Request
from adhere.models.http.wire import Prices
from adhere.schema import encode

MEDIA_TOKENS = 1500
"""Of a picture or a short sound, rather too many.

Endpoints take 85 to 1,500 for a picture of a thousand pixels a side.
"""


def text_of(request: Request) -> str:
    """Everything that the model reads, with blanks for what it sees and hears."""
    texts = [message.content for message in request.messages]
    made = [call for message in request.messages for call in message.calls]
    if made or request.tools:
        texts.append(encode([made, request.tools]).decode())
    texts += [" " * (3 * MEDIA_TOKENS) for message in request.messages for _ in message.media]
    return "\n".join(texts)


def tokens_of(text: str) -> int:
    """About how many tokens a text has, rather too many than too few: one for every three bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 8


def dollars(amount: float) -> str:
    """`$0.35`; below a cent two digits that say something, `$0.0012`."""
    return f"${amount:.2f}" if not 0 < amount < 0.01 else f"${amount:.2g}"


def most_tokens(request: Request, max_new_tokens: int) -> int:
    """How many tokens a request and its answer may have."""
    return tokens_of(text_of(request)) + max_new_tokens


def most_cost_usd(prices: Prices | None, prompt: str, max_new_tokens: int) -> float:
    """What an answer may cost at most; 0 where no price is said, so a cap asks for a price first."""
    if prices is None:
        return 0.0
    return prices.request + tokens_of(prompt) * prices.prompt + max_new_tokens * prices.completion


__all__ = ["dollars", "most_cost_usd", "most_tokens", "text_of", "tokens_of"]
