"""Estimates of the number of tokens in a text, at most and at least, without the model's tokenizer."""

from __future__ import annotations

import re

from adhere.models.base import Request
from adhere.schema import encode

MEDIA_TOKENS = 1500
"""Tokens assumed for a picture or a short sound, rather too many.

Endpoints count 85 to 1,500 for a picture of a thousand pixels a side.
"""
_RUN = re.compile(r"\S+")
_IDEOGRAPH = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")  # Thai, Lao, Burmese, Khmer


def text_of(request: Request) -> str:
    """Return everything that the model reads, with blanks in place of what it sees and hears."""
    texts = [message.content for message in request.messages]
    calls = [call for message in request.messages for call in message.calls]
    if calls or request.tools:
        texts.append(encode([calls, request.tools]).decode())
    texts += [" " * (3 * MEDIA_TOKENS) for message in request.messages for _ in message.media]
    return "\n".join(texts)


def tokens_of(text: str) -> int:
    """Estimate the number of tokens of a text, rather too high: one for every three bytes."""
    return len(text.encode("utf-8", "surrogatepass")) // 3 + 8


def least_tokens(text: str) -> int:
    """Return the least number of tokens that a text has with any tokenizer.

    Tokenizers cut at blanks first, so there is one for each run of letters between them. In scripts without blanks, a
    token holds at most a few characters: three ideographs or kana, eight letters.
    """
    unspaced_tokens = len(_IDEOGRAPH.findall(text)) // 3 + len(_UNSPACED.findall(text)) // 8
    return sum(1 for _ in _RUN.finditer(text)) + unspaced_tokens
