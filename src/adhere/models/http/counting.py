"""How many tokens a text has, at most and at least, where nobody has the model's tokenizer."""

from __future__ import annotations

import re

from adhere.models.base import Request
from adhere.schema import encode

MEDIA_TOKENS = 1500
"""Of a picture or a short sound, rather too many.

Endpoints take 85 to 1,500 for a picture of a thousand pixels a side.
"""
_RUN = re.compile(r"\S+")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer


def text_of(request: Request) -> str:
    """Return everything that the model reads, with blanks for what it sees and hears."""
    texts = [message.content for message in request.messages]
    calls = [call for message in request.messages for call in message.calls]
    if calls or request.tools:
        texts.append(encode([calls, request.tools]).decode())
    texts += [" " * (3 * MEDIA_TOKENS) for message in request.messages for _ in message.media]
    return "\n".join(texts)


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has, rather too many than too few: one for every three bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 8


def least_tokens(text: str) -> int:
    """Return how many tokens a text has at least, whatever the tokenizer.

    Tokenizers cut at blanks first, so there is one for each run of letters between them. Where a script writes none, a
    token holds at most a few characters: three ideographs or kana, eight letters.
    """
    unspaced_tokens = len(_IDEOGRAPH.findall(text)) // 3 + len(_UNSPACED.findall(text)) // 8
    return sum(1 for _ in _RUN.finditer(text)) + unspaced_tokens
