"""Our own decoder over transformers weights: layouts, precisions, devices, picking tokens, and vLLM instead of it."""

from typing import Literal

DECODER_VERSION = 1  # raised when it draws other tokens or computes other log-probs

Layout = Literal["columns", "rows"]
"""Order in which a decoder multiplies.

`columns`: weight @ activations (features, N). `rows`: activations (N, features) @ weight.T.
"""
