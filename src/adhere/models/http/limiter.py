"""How many requests may be under way at once: found by trying, since servers do not say. Time comes in as a number.

Source: the controller measured in the notes on endpoints (2,000 items, true capacity 50: 21.8 s where 20.0 is ideal, 61
rejections, against 40.8 s and 8,101 with a fixed number and back-off). Three things matter. A rejected request goes
back to the queue and nothing sleeps. The limit is cut once per congestion episode, to which all requests sent before
the last cut belong. The limit grows only while it is fully used.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field


@dataclass
class Limiter:
    """Limits how many requests of one model, or of one endpoint, may be under way at once.

    Args:
        start: The first limit. It doubles with every round of successes until the first rejection, then grows by one.
        most: The user's cap; the limit never exceeds it.
    """

    start: int = 4
    most: int = 1_000
    limit: float = field(init=False)
    in_flight: int = field(init=False, default=0)
    cuts: int = field(init=False, default=0)
    _epoch: int = field(init=False, default=0)
    _successes: int = field(init=False, default=0)
    _is_slow_start: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        if min(self.start, self.most) < 1:
            raise ValueError(f"A limit is at least 1, got start={self.start}, most={self.most}")
        self.limit = min(self.start, self.most)

    @property
    def has_room(self) -> bool:
        """Whether one more request may be sent."""
        return self.in_flight < int(self.limit)

    def sent(self) -> int:
        """Count a request that is being sent; return its epoch, which `succeeded` and `rejected` need."""
        self.in_flight += 1
        return self._epoch

    def succeeded(self, epoch: int) -> None:
        """Count an answered request. Only a full round of them, sent since the last change, lets the limit grow."""
        was_full = self.in_flight >= int(self.limit)
        self.in_flight -= 1
        if epoch != self._epoch:
            return
        if not was_full and self._successes == 0:
            return  # unused room says nothing about more of it
        self._successes += 1
        if self._successes >= int(self.limit):
            self.limit = min(self.most, self.limit * 2 if self._is_slow_start else self.limit + 1)
            self._successes = 0

    def rejected(self, epoch: int) -> bool:
        """Count a request that the server had no room for; tell whether this began a new episode.

        The limit becomes 0.9 times the number of requests under way that are not rejected. The first rejection of an
        episode sets it so; every further one lowers it by 0.9.
        """
        before = self.in_flight
        self.in_flight -= 1
        if epoch != self._epoch:
            if epoch == self._epoch - 1:
                self.limit = max(1.0, self.limit - 0.9)
            return False
        self.limit = max(1.0, min(self.limit, 0.9 * (before - 1)))
        self._epoch += 1
        self._successes = 0
        self._is_slow_start = False
        self.cuts += 1
        return True

    def ended(self) -> None:
        """Count a request that ended without saying anything about room: a timeout, a failure, a cancellation."""
        self.in_flight -= 1


@dataclass
class Bucket:
    """Caps requests, or tokens, per minute. It refills evenly and holds at most `burst_s` seconds' worth.

    Args:
        per_minute: The user's cap.
        burst_s: How much of the cap may be used at once, in seconds.
    """

    per_minute: float
    burst_s: float = 1.0
    _level: float = field(init=False)
    _at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.per_minute <= 0:
            raise ValueError(f"A cap per minute is above 0, got {self.per_minute}")
        self._level = self._full

    @property
    def _full(self) -> float:
        return max(1.0, self.per_minute * self.burst_s / 60)

    def ready_at(self, now: float, amount: float = 1.0) -> float:
        """Return when `amount` may be taken: `now`, or later. For more than the bucket holds, it must be full."""
        self._refill(now)
        missing = min(amount, self._full) - self._level
        return now if missing <= 1e-9 else now + missing * 60 / self.per_minute

    def take(self, now: float, amount: float = 1.0) -> None:
        """Take `amount`; the level may fall below zero, so that later takers wait."""
        self._refill(now)
        self._level -= amount

    def _refill(self, now: float) -> None:
        if now > self._at:
            self._level = min(self._full, self._level + (now - self._at) * self.per_minute / 60)
        self._at = max(self._at, now)


@dataclass
class Breaker:
    """Stops asking a model that only fails, and tries again now and then.

    Args:
        failures: Number of failures in a row that open it.
        first_s: How long it stays open the first time; twice as long every time after that, up to `longest_s`.
        longest_s: See `first_s`.
    """

    failures: int = 20
    first_s: float = 30.0
    longest_s: float = 900.0
    closed_at: float = field(init=False, default=0.0)
    _in_a_row: int = field(init=False, default=0)
    _opened: int = field(init=False, default=0)

    @property
    def is_suspicious(self) -> bool:
        """Whether it has opened and no request succeeded since; then one request at a time is sent."""
        return self._opened > 0

    def succeeded(self) -> None:
        """Note that a request was answered, which closes the breaker."""
        self._in_a_row = self._opened = 0

    def failed(self, now: float) -> bool:
        """Note that a request failed; tell whether this opened the breaker."""
        self._in_a_row += 1
        if self._in_a_row < self.failures and not self._opened:
            return False
        if now < self.closed_at:
            return False  # sent before it opened
        self.closed_at = now + min(self.longest_s, self.first_s * 2**self._opened)
        self._opened += 1
        return True


def backoff_s(attempt: int, rng: random.Random, *, base_s: float = 1.0, longest_s: float = 60.0) -> float:
    """Draw the seconds until a failed request is tried again: full jitter, doubling. `attempt` counts from 1."""
    return rng.uniform(0, min(longest_s, base_s * 2 ** (attempt - 1)))
