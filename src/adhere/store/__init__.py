"""Store Runs in directories: append-only segments of keyed rows that a crash cannot spoil and that anyone can read."""

from adhere.store.run import Run, RunSpec

__all__ = ["Run", "RunSpec"]
