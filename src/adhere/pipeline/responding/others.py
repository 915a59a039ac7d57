"""Tell, by the other answers of a run or batch, whether an answer is said to every request.

An answer's *frame* is its words without what its own request and rules bring: each stretch of the request's words
becomes one sign. An answer whose frame stands in answers to other requests answers none of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from functools import lru_cache

from adhere.pipeline.responding.content import Request, stem
from adhere.text.words import words

_RUN, _COPY = 3, 4
_FEWEST_RUNS = 3
_MOST_WORDS, _MOST_CHARACTERS = 100, 1500
_SHARE = 0.5
_FEWEST_REQUESTS = 2
_ONE_IN = 20
_OWN = "\x00"
# Answers whose runs are remembered, because they are read once to be known and once to be looked at; of short requests
# alone, because the request is remembered, too.
_REMEMBERED, _SHORT = 1024, 1024

Runs = frozenset[tuple[str, ...]]
_NOWHERE: dict[str, int] = {}  # never changed


def frame_of(request: Request, text: str) -> tuple[str, ...]:
    """Return the words of an answer, with one sign for each stretch from its request (topics, or copied words)."""
    answer_words = [word.lower() for word in words(text[:_MOST_CHARACTERS])[:_MOST_WORDS]]
    copied_places: set[int] = set()
    for at in range(len(answer_words) - _COPY + 1):
        if hash(tuple(answer_words[at : at + _COPY])) in request.runs:
            copied_places.update(range(at, at + _COPY))
    frame: list[str] = []
    for at, word in enumerate(answer_words):
        sign = _OWN if at in copied_places or word in request.listed or stem(word) in request.topics else word
        if sign != _OWN or frame[-1:] != [_OWN]:
            frame.append(sign)
    return tuple(frame)


def _runs_of(frame: Sequence[str]) -> Runs:
    runs = (tuple(frame[at : at + _RUN]) for at in range(len(frame) - _RUN + 1))
    return frozenset(run for run in runs if run.count(_OWN) < _RUN - 1)


def _runs_at(request: Request, beginning: str) -> Runs:
    return (_remembered if len(request.text) <= _SHORT else _read)(request, beginning)


def _read(request: Request, beginning: str) -> Runs:
    return _runs_of(frame_of(request, beginning))


_remembered = lru_cache(maxsize=_REMEMBERED)(_read)


class Others:
    """Holds the answers of a run or batch, by what each says beyond its own request.

    Args:
        answers: The answers, each with its request.
        most: How many answers to remember, the newest; None remembers all.
    """

    def __init__(self, answers: Iterable[tuple[Request, str]] = (), *, most: int | None = None) -> None:
        self._answers: deque[tuple[str, Runs]] = deque()
        self._most = most
        self._requests: Counter[str] = Counter()
        self._of_run: dict[tuple[str, ...], dict[str, int]] = {}
        for request, text in answers:
            self.add(request, text)

    def add(self, request: Request, text: str) -> None:
        """Remember one answer more, and forget the oldest if there are too many."""
        runs = _runs_at(request, text[:_MOST_CHARACTERS])
        self._answers.append((request.text, runs))
        self._requests[request.text] += 1
        for run in runs:
            of = self._of_run.setdefault(run, {})
            of[request.text] = of.get(request.text, 0) + 1
        if self._most is not None and len(self._answers) > self._most:
            self._forget(*self._answers.popleft())

    def _forget(self, name: str, runs: Runs) -> None:
        _take_one(self._requests, name)
        for run in runs:
            _take_one(self._of_run[run], name)
            if not self._of_run[run]:
                del self._of_run[run]

    def alike(self, request: Request, text: str) -> int:
        """Count the other requests to which most of this answer is said, too, word for word.

        The count is 0 if it is below the least number that counts, or if there is too little to compare.
        """
        runs = _runs_at(request, text[:_MOST_CHARACTERS])
        others = len(self._requests) - (request.text in self._requests)
        if len(runs) < _FEWEST_RUNS or others < _FEWEST_REQUESTS:
            return 0
        fewest = max(_FEWEST_REQUESTS, others // _ONE_IN)
        request_sets = (self._of_run.get(run, _NOWHERE) for run in runs)
        shared = [n for of in request_sets if (n := len(of) - (request.text in of)) >= fewest]
        return min(shared) if len(shared) >= _SHARE * len(runs) else 0


def _take_one(counts: dict[str, int], name: str) -> None:
    counts[name] -= 1
    if counts[name] <= 0:
        del counts[name]


def share_alike(answers: Sequence[tuple[Request, str]]) -> float | None:
    """Return the share of a batch's answers that are said to other requests of the batch, too.

    None for an empty batch, and for a batch with too few different requests to tell.
    """
    if len({request.text for request, _ in answers}) <= _FEWEST_REQUESTS:
        return None
    others = Others(answers)
    return sum(others.alike(request, text) > 0 for request, text in answers) / len(answers)
