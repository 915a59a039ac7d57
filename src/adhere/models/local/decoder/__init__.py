"""Our own decoder over transformers weights: layouts, precisions, devices, picking tokens, and vLLM in its place."""

DECODER_VERSION = 1  # raised when it draws other tokens or computes other log-probs
