"""adhere: measures whether language models do what they are told, and proves what makes them do so more often."""

__version__ = "0.1.0"
