"""Pick the answers that a leaderboard page can open.

They are read from the stored Runs, limited in size, and escaped. Each row of the board gets its own `<script
type="application/json">`, which the page reads on demand. It contains no `<`, `>` or `&`, so the browser never sees
markup of an answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from adhere.schema import Prompt, Response
from adhere.store.files import inside
from adhere.store.tables.readout import Mark, Readout, RunReader
from adhere.sweep.board import Leaderboard, Row, SuiteFacts
from adhere.sweep.board_run import cut

MOST_PER_CELL = 250
MOST_BYTES = 16 << 20
_PROMPT_BYTES = 2 << 20
_LONGEST, _SHORTEST = 4000, 400
_LONGEST_PROMPT = 3000
# What could end a script or begin markup; and what hides or reorders text, so that the file's source shows what it
# holds.
_HIDDEN = [*range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x2070),
    0xFEFF,
           *range(0xE0000, 0xE0080)]  # fmt: skip
_TABLE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"} | {code: json.dumps(chr(code))[1:-1] for code in _HIDDEN}
Key = tuple[str, int, int]


class Islands(NamedTuple):
    """Holds the answers that the page contains as data, and how many they are.

    Attributes:
        html: The data, for the end of the page.
        shown: Number of answers in it.
        total: Number of answers stored.
        longest: Characters after which an answer is cut.
        unreadable: Models whose Run could not be read, with the reason.
    """

    html: Markup
    shown: int
    total: int
    longest: int
    unreadable: dict[str, str]


class _Room(NamedTuple):
    """Holds the limits of one row: characters of an answer, bytes in all, answers to one test."""

    longest: int
    most_bytes: int
    most_per_cell: int


class _Answer(NamedTuple):
    response: Response
    marks: tuple[Mark, ...]
    tests: tuple[int, ...]

    @property
    def outcome(self) -> str:
        """`error` if the call failed; `fail` if any constraint fails; `pass` if all pass; else `undecided`."""
        if self.response.status == "error":
            return "error"
        outcomes = {mark.outcome for mark in self.marks}
        return "fail" if "fail" in outcomes else "pass" if outcomes == {"pass"} else "undecided"


def islands(
    board: Leaderboard, base: Path, *, most_bytes: int = MOST_BYTES, most_per_cell: int = MOST_PER_CELL
) -> Islands:
    """Read the Runs of a board one by one and pick the answers that fit.

    Args:
        board: Its rows name the Runs' places.
        base: The directory that those places are relative to and must be inside. `Path()`: they may be anywhere,
            because the caller chose the Runs.
        most_bytes: Most bytes of all data together.
        most_per_cell: Most answers of one model to one test.
    """
    from adhere.errors import AdhereError

    share = (most_bytes - min(_PROMPT_BYTES, most_bytes // 4)) // max(1, len(board.rows))
    widest = max((len(suite.tests) for suite in board.suites), default=1)
    longest = max(_SHORTEST, min(_LONGEST, share // (6 * max(1, widest))))
    reader, parts = RunReader(), []
    places = {suite.name: place for place, suite in enumerate(board.suites)}
    prompts: dict[str, tuple[Prompt, ...]] = {}
    shown_count = total = 0
    unreadable = {}
    for number, row in enumerate(board.rows):
        suite = board.suites[places[row.suite]]
        try:
            run = reader.read(Path(row.run) if base == Path() else inside(base, row.run))
        except (AdhereError, OSError) as error:
            unreadable[row.model] = str(error)
            continue
        prompts.setdefault(row.suite, run.prompts)
        room = _Room(longest, share, most_per_cell)
        data, amount = _row(row, run, suite, room)
        parts.append(_element(f"answers-{number}", data))
        shown_count, total = shown_count + amount, total + len(run.responses)
    limit = _prompt_limit(prompts, min(_PROMPT_BYTES, most_bytes // 4))
    for name, suite_prompts in prompts.items():
        suite = board.suites[places[name]]
        rows = [
            [
                prompt.id,
                [cut(prompt.shown(turn), limit) for turn in range(len(prompt.turns))],
                cut(prompt.system or "", limit),
            ]
            for prompt in suite_prompts
        ]
        facts = {"noun": suite.noun, "tests": [test.test for test in suite.tests], "prompts": rows}
        parts.append(_element(f"prompts-{places[name]}", encode_for_script(facts)))
    return Islands(Markup("\n").join(parts), shown_count, total, longest, unreadable)


def encode_for_script(value: object) -> str:
    """Encode a value as JSON that is safe inside a `<script>` element; lone surrogates become U+FFFD."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_TABLE)
    return text.encode("utf-8", "replace").decode()


def _element(name: str, data: str) -> Markup:
    return Markup('<script type="application/json" id="{}">{}</script>').format(name, Markup(data))  # noqa: S704 -- `encode_for_script`


def _prompt_limit(prompts: Mapping[str, Sequence[Prompt]], most_bytes: int) -> int:
    turns = sum(len(prompt.turns) for suite_prompts in prompts.values() for prompt in suite_prompts)
    return max(200, min(_LONGEST_PROMPT, most_bytes // max(1, turns)))


def _row(row: Row, run: Readout, suite: SuiteFacts, room: _Room) -> tuple[str, int]:
    answers = _answers(run, suite)
    places = {prompt.id: place for place, prompt in enumerate(run.prompts)}
    written_places: dict[Key, int] = {}
    json_answers: list[str] = []
    size = 0
    examples = [(example.prompt_id, example.turn, example.draw) for mode in row.failures for example in mode.examples]
    for key in _order(answers, examples, len(suite.tests), room.most_per_cell):
        if key in written_places:
            continue
        data = encode_for_script(_plain(answers[key], places, room.longest))
        size += len(data.encode()) + 1
        if size > room.most_bytes and json_answers:
            break
        written_places[key] = len(json_answers)
        json_answers.append(data)
    modes = []
    for mode in row.failures:
        keys = ((example.prompt_id, example.turn, example.draw) for example in mode.examples)
        example_places = [written_places[key] for key in keys if key in written_places]
        modes.append([mode.mode, mode.name, mode.count, mode.of, example_places])
    head = encode_for_script({"model": row.model, "suite": suite.name, "total": len(answers), "modes": modes})
    return f'{head[:-1]},"answers":[{",".join(json_answers)}]}}', len(json_answers)


def _answers(run: Readout, suite: SuiteFacts) -> dict[Key, _Answer]:
    column = {test.test: place for place, test in enumerate(suite.tests)}
    answers = {}
    for prompt in run.prompts:
        for turn, prompt_turn in enumerate(prompt.turns):
            names = (
                [ref.id.partition(":")[0] for ref in prompt_turn.constraints]
                if suite.noun == "family"
                else [prompt.tags.get(suite.noun, "")]
            )
            tests = tuple(dict.fromkeys(column[name] for name in names if name in column))
            for draw in range(run.manifest.spec.draws):
                key = (prompt.id, turn, draw)
                response = run.responses.get(key)
                if response is None:
                    continue
                marks = (run.strict.get((*key, index)) for index in range(len(prompt_turn.constraints)))
                answers[key] = _Answer(response, tuple(mark for mark in marks if mark is not None), tests)
    return answers


_URGENT = {"fail": 0, "undecided": 1, "error": 2, "pass": 3}


def _order(answers: Mapping[Key, _Answer], examples: Sequence[Key], n_tests: int, most_per_cell: int) -> Iterator[Key]:
    """Yield keys of answers: first the `examples`, then the most urgent of each test, the tests in turn.

    A test gives at most `most_per_cell` keys. A key can come more than once.
    """
    yield from (key for key in examples if key in answers)
    of_test: list[list[Key]] = [[] for _ in range(n_tests)]
    for key in sorted(answers, key=lambda key: _URGENT[answers[key].outcome]):
        for test in answers[key].tests:
            of_test[test].append(key)
    for rank in range(min(most_per_cell, max(map(len, of_test), default=0))):
        for keys in of_test:
            if rank < len(keys):
                yield keys[rank]


def _plain(answer: _Answer, places: Mapping[str, int], longest: int) -> list[object]:
    """Return one answer in the form that the page's script reads; see `leaderboard.js`."""
    response = answer.response
    note = response.error or response.evidence or ""
    return [
        places[response.prompt_id], response.turn, response.draw, response.status, answer.outcome,
        cut(response.said, longest),
        [[mark.constraint_id, mark.outcome, cut(mark.reason, 400)] for mark in answer.marks], list(answer.tests),
        None if response.latency_s is None else round(response.latency_s, 2), cut(note, 400),
    ]  # fmt: skip
