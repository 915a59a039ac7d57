"""Filters, searches and counts every answer of one Run, or of two side by side, for `adhere view`.

The table is made once for each state of the Runs. A query of the page (which rows, which prompt) then takes
milliseconds at 10⁵ rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from adhere.errors import UsageError
from adhere.pipeline.compare import compare_runs
from adhere.pipeline.outcomes import together
from adhere.report.pieces.numbers import percent, percent_interval, points, points_interval
from adhere.report.run.failures import Mark, marks_by_answer
from adhere.schema import Outcome, Prompt, Record, Response
from adhere.store.run import Key, Run

WAYS_OF_ONE = ("all", "failed", "kept", "undecided", "cut")
WAYS_OF_TWO = ("all", "gained", "lost", "neither", "both", "undecided")
MOST_ROWS = 200
_START = 110


class Row(Record, frozen=True):
    """Holds one prompt and draw of the list: its index, how each Run did (`way`), and how the prompt begins."""

    at: int
    id: str
    draw: int
    way: str
    start: str


class Side(Record, frozen=True):
    """Holds one Run's answer to one turn, with (outcome, kind, reason) of each constraint."""

    answer: str
    status: str
    marks: tuple[Mark, ...]


class Exchange(Record, frozen=True):
    """Holds one turn: its prompt, and each Run's answer or None."""

    prompt: str
    sides: tuple[Side | None, ...]


class ShownPrompt(Record, frozen=True):
    """Holds a prompt with all answers to it."""

    at: int
    id: str
    draw: int
    way: str
    names: tuple[str, ...]
    system: str
    turns: tuple[Exchange, ...]


class Count(Record, frozen=True):
    """Holds a name, how often it failed in each Run, and out of how many."""

    name: str
    failed: tuple[int, ...]
    n: int


class Page(Record, frozen=True):
    """Holds one page of a query's result.

    `rows` are some of the `matched` rows, from `start` on; `total` counts all rows. `ways` counts the rows that the
    search matches, by way; `kinds` and `slices` count failures among those of them that the query's `way` matches.
    `place` is the index, among the matching rows, of a row that was asked for; None if none was, or it does not match.
    """

    total: int
    matched: int
    start: int
    rows: tuple[Row, ...]
    ways: dict[str, int]
    kinds: tuple[Count, ...]
    slices: tuple[Count, ...]
    place: int | None = None
    version: str = ""


class Headline(Record, frozen=True):
    """Holds the result of Runs as text: a number, and what it means."""

    number: str
    note: str


class RowQuery(NamedTuple):
    """Describes the rows asked for: `words` occur in the prompt, an answer or a reason; `kind` failed in some Run."""

    words: str = ""
    way: str = "all"
    kind: str = ""


class Answers:
    """Holds the answers of one Run or of two as a table.

    Attributes:
        names: Names of the Runs.
        ways: The values of `way` that rows can be chosen by.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        """Read all answers and verdicts.

        Raises:
            UsageError: Two Runs are of different prompts.
            IntegrityError: A stored file is damaged.
        """
        if len({run.manifest.prompts_sha256 for run in runs}) > 1:
            raise UsageError(
                f"{' and '.join(str(run.directory) for run in runs)} were asked different prompts, "
                "so no answer can be set beside another"
            )
        self._prompts = runs[0].prompts()
        self._draws = min(run.spec.draws for run in runs)
        self._answers: list[dict[Key, Response]] = [{answer.key: answer for answer in run.responses()} for run in runs]
        self._marks = [marks_by_answer(run) for run in runs]
        self.names = names_of([(run.spec.model, run.directory) for run in runs])
        self._rows = [(prompt, draw) for prompt in self._prompts for draw in range(self._draws)]
        self._place = {(prompt.id, draw): at for at, (prompt, draw) in enumerate(self._rows)}
        self.ways = ways_of(len(runs))
        row_outcomes = [self._outcomes(prompt, draw) for prompt, draw in self._rows]
        self._way = np.array([self.ways.index(_way(outcomes)) for outcomes in row_outcomes], np.int8)
        self._fails = [
            np.array([outcomes[run] == "fail" for outcomes in row_outcomes], bool) for run in range(len(runs))
        ]
        self._decided = np.array(["undecided" not in outcomes for outcomes in row_outcomes], bool)
        self._cut = np.array([self._is_cut(prompt, draw) for prompt, draw in self._rows], bool)
        self._index()

    def _outcomes(self, prompt: Prompt, draw: int) -> list[Outcome]:
        """Return the outcome of one draw of a prompt in each Run."""
        count = sum(len(turn.constraints) for turn in prompt.turns)
        return [
            together(
                [mark.outcome for turn in range(len(prompt.turns)) for mark in marks.get((prompt.id, turn, draw), ())],
                count,
            )
            for marks in self._marks
        ]

    def _is_cut(self, prompt: Prompt, draw: int) -> bool:
        keys = [(prompt.id, turn, draw) for turn in range(len(prompt.turns))]
        return any(
            responses[key].status == "truncated" for responses in self._answers for key in keys if key in responses
        )

    def _index(self) -> None:
        """Index the kinds that each row failed or has, and join all rows into one lower-case text for searching."""
        texts: list[bytes] = []
        failed: dict[str, list[list[int]]] = {}
        self._n: dict[str, list[int]] = {}
        for at, (prompt, draw) in enumerate(self._rows):
            parts = [prompt.id]
            for turn, prompt_turn in enumerate(prompt.turns):
                key = (prompt.id, turn, draw)
                parts.append(prompt_turn.text)
                for kind in {ref.id for ref in prompt_turn.constraints}:
                    self._n.setdefault(kind, []).append(at)
                for number, (answers, marks) in enumerate(zip(self._answers, self._marks, strict=True)):
                    if key in answers:
                        parts.append(answers[key].said)
                    for mark in marks.get(key, ()):
                        parts.append(mark.reason)
                        if mark.outcome == "fail":
                            failed.setdefault(mark.kind, [[] for _ in self.names])[number].append(at)
            texts.append("\n".join(parts).lower().encode("utf-8", "replace").replace(b"\0", b" "))
        slices: dict[str, list[int]] = {}
        for at, (prompt, _) in enumerate(self._rows):
            slices.setdefault(prompt.tags.get("slice", "all"), []).append(at)
        self._slices = {name: np.array(rows, np.int64) for name, rows in slices.items()}
        self._text = b"\0".join(texts)
        self._starts = list(accumulate((len(text) + 1 for text in texts), initial=0))[:-1]
        self._failed = {
            kind: [np.unique(np.array(rows, np.int64)) for rows in runs] for kind, runs in sorted(failed.items())
        }

    def _find_rows(self, words: str) -> NDArray[np.bool_]:
        """Tell for each row whether it contains `words`; True for all if there are none."""
        matches = np.zeros(len(self._rows), bool)
        phrase = words.strip().lower().encode("utf-8", "replace").replace(b"\0", b" ")
        if not phrase:
            return ~matches
        at = self._text.find(phrase)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            matches[row] = True
            after = self._starts[row + 1] if row + 1 < len(self._starts) else len(self._text)
            at = self._text.find(phrase, after)
        return matches

    def _is_way(self, way: str) -> NDArray[np.bool_]:
        if way == "cut":
            return self._cut
        return np.ones(len(self._rows), bool) if way == "all" else self._way == self.ways.index(way)

    def page(
        self, query: RowQuery, *, start: int = 0, place_of: tuple[str, int] | None = None, version: str = ""
    ) -> Page:
        """Return the page of matching rows from `start` on, with counts.

        For the (prompt id, draw) in `place_of`, the page's `place` is its index among the matching rows.

        Raises:
            UsageError: `way` is unknown.
        """
        if query.way not in self.ways:
            raise UsageError(f"No way {query.way!r}; there are {', '.join(self.ways)}")
        matches = self._find_rows(query.words)
        ways = {way: int((matches & self._is_way(way)).sum()) for way in self.ways}
        matches &= self._is_way(query.way)
        slices = []
        for name, rows in self._slices.items():
            among = rows[matches[rows] & self._decided[rows]]
            slices.append(Count(name, tuple(int(fails[among].sum()) for fails in self._fails), len(among)))
        kinds = []
        for kind, runs in self._failed.items():
            n = int(matches[np.unique(self._n.get(kind, []))].sum()) if kind in self._n else 0
            counts = tuple(int(matches[rows].sum()) for rows in runs)
            if any(counts):
                kinds.append(Count(kind, counts, n))
        if query.kind:
            of_kind = np.zeros(len(self._rows), bool)
            for rows in self._failed.get(query.kind, []):
                of_kind[rows] = True
            matches &= of_kind
        places = np.flatnonzero(matches)
        page_places = places[start : start + MOST_ROWS]
        at = None if place_of is None else self._place.get(place_of)
        place = None if at is None or not matches[at] else int(np.searchsorted(places, at))
        kinds.sort(key=lambda count: (-max(count.failed), count.name))
        rows_ = tuple(self._row(int(page_place)) for page_place in page_places)
        return Page(len(self._rows), len(places), start, rows_, ways, tuple(kinds), tuple(slices), place, version)

    def _row(self, at: int) -> Row:
        prompt, draw = self._rows[at]
        return Row(at, prompt.id, draw, self.ways[self._way[at]], prompt.turns[-1].text[:_START])

    def shown(self, prompt_id: str, draw: int) -> ShownPrompt | None:
        """Return one prompt with every answer; None if there is no such prompt or draw."""
        at = self._place.get((prompt_id, draw))
        if at is None:
            return None
        prompt = self._rows[at][0]
        turns = tuple(
            Exchange(turn.text, tuple(self._side((prompt.id, number, draw), run) for run in range(len(self.names))))
            for number, turn in enumerate(prompt.turns)
        )
        return ShownPrompt(at, prompt.id, draw, self.ways[self._way[at]], self.names, prompt.system or "", turns)

    def _side(self, key: Key, run: int) -> Side | None:
        answer = self._answers[run].get(key)
        if answer is None:
            return None
        return Side(
            answer.error or "" if answer.status == "error" else answer.said,
            answer.status,
            self._marks[run].get(key, ()),
        )


def _way(outcomes: Sequence[Outcome]) -> str:
    if "undecided" in outcomes:
        return "undecided"
    if len(outcomes) == 1:
        return "kept" if outcomes[0] == "pass" else "failed"
    ways = {("fail", "pass"): "gained", ("pass", "fail"): "lost", ("pass", "pass"): "both", ("fail", "fail"): "neither"}
    return ways[outcomes[0], outcomes[1]]


def ways_of(runs: int) -> tuple[str, ...]:
    """Return the values of `way` by which rows of one Run, or of two, can be chosen."""
    return WAYS_OF_ONE if runs == 1 else WAYS_OF_TWO


def names_of(runs: Sequence[tuple[str, Path]]) -> tuple[str, ...]:
    """Name Runs of (model, directory) by the model, and by the folder, too, if models repeat."""
    models = tuple(model for model, _ in runs)
    return models if len(set(models)) == len(models) else tuple(f"{model} ({folder.name})" for model, folder in runs)


def result_of(runs: Sequence[Run]) -> Headline:
    """Return the rate of one sealed Run, or the difference of two; an empty number if one is not finished."""
    if not all(run.is_sealed for run in runs):
        return Headline("", "not finished: what is here so far")
    rates = [run.summary().overall.prompt_strict for run in runs]
    if len(runs) == 1:
        return Headline(
            percent(rates[0].of_all), f"of prompts passed ({percent_interval(rates[0].low, rates[0].high)})"
        )
    overall = compare_runs(runs[1], runs[0], across_engines=True).overall
    rates_text = f"points: {percent(rates[0].of_all)} → {percent(rates[1].of_all)} of prompts passed"
    return Headline(
        points(overall.difference),
        f"{rates_text}, 95 % interval of the difference {points_interval(overall.low, overall.high)}",
    )
