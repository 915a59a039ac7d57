"""Judge one block of answers: parse, match, judge, encode. This runs in this process or in a worker.

A row names its prompt by `key` (compared as a text, so that 1000 and "1000" are one key), else by the prompt's text,
exactly or without white space at its ends.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, Self, get_args

import msgspec

from adhere.calls import calls_of
from adhere.constraints.base import Finding
from adhere.errors import SpecError, nearest, one_of
from adhere.lines.blocks import Block, WrongColumn, parse_line
from adhere.lines.step import BrokenRow, SortedBlock, Step
from adhere.pipeline.check import CUT, TOO_LONG
from adhere.pipeline.judge import judge_of
from adhere.schema import (
    MODES,
    STATUSES,
    ConstraintRef,
    Json,
    Message,
    Mode,
    Outcome,
    Prompt,
    Record,
    Response,
    Status,
    ToolCall,
    decoder_of,
    status_of_stop,
)
from adhere.suites import Suite
from adhere.text.reasoning import split_answer
from adhere.text.size import is_too_long

BadRows = Literal["error", "skip"]

BAD_ROWS: tuple[BadRows, ...] = get_args(BadRows)

# (strict, loose) of one constraint as one character: what came of a whole answer is then a short text, which is cheap
# to count and to send between processes.
_CODES: dict[tuple[Outcome, Outcome], str] = {
    ("pass", "pass"): "p",
    ("fail", "pass"): "l",
    ("fail", "fail"): "f",
    ("fail", "undecided"): "F",
    ("undecided", "pass"): "L",
    ("undecided", "undecided"): "U",
}
OUTCOMES: dict[str, tuple[Outcome, Outcome]] = {code: pair for pair, code in _CODES.items()}

ANY_DRAW = -1

_Parts = tuple[str, str | None, tuple[ToolCall, ...], tuple[Message, ...], Status]
"""Parts of an answer: its text, its reasoning, its calls, the steps of an episode, and its status."""


class Settings(NamedTuple):
    """Says how answers are judged.

    Attributes:
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        random_seed: The seed for parameters that the published code draws at random; None: undecided.
        keep_reasoning: Judge the whole text, reasoning and all.
        bad_rows: Whether a row that cannot be used is an error, or is skipped and counted.
        wants_rows: Whether verdict rows are encoded.
    """

    mode: Mode = "reference"
    random_seed: int | None = None
    keep_reasoning: bool = False
    bad_rows: BadRows = "error"
    wants_rows: bool = False


class ResponseRow(msgspec.Struct, gc=False):
    """Holds one line of an answer file; other columns are ignored.

    `tool_calls` are the answer's calls of tools, in the form of OpenAI's chat completions. `steps` are all messages of
    an episode after the first observation, in the form of a Response. If a prompt has several turns, a row answers one
    of them (`turn`, from 0), or all of them in order (`responses`).
    """

    key: int | str | float | None = None
    prompt: str | list[Any] | None = None
    turn: int | None = None
    response: str | None = None
    responses: list[str] | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    status: str | int | None = None
    stop_reason: str | int | None = None
    finish_reason: str | int | None = None
    draw: int | None = None
    tool_calls: list[Any] | None = None
    steps: list[Message] | None = None


class VerdictRow(msgspec.Struct, omit_defaults=True, gc=False):
    """Holds one line of a verdict file: one constraint of one answer under both views.

    `reason`, `measured`, `needed`, `span` and `score` are the strict view's; `loose_reason` is given if it differs.
    `turn` (from 0) is given if the prompt has several; `index` counts the constraints of that turn.
    """

    key: int | str
    index: int
    instruction_id: str
    strict: Outcome
    loose: Outcome
    reason: str
    loose_reason: str | None = None
    measured: Json = None
    needed: Json = None
    span: tuple[int, int] | None = None
    score: float | None = None
    draw: int | None = None
    turn: int | None = None


class Problem(NamedTuple):
    """Describes a row that cannot be used; `what` is a short name to count by, `message` names file and line."""

    line: int
    what: str
    message: str


class Unit(NamedTuple):
    """Names one turn of one prompt, which an answer answers.

    Units are numbered through the suite; with one turn each, units have the numbers of their prompts.
    """

    prompt: int
    turn: int


class Occurrence(NamedTuple):
    """Describes a verdict worth showing: its unit, the position of its constraint, and the reason."""

    unit: int
    position: int
    reason: str


class JudgedBlock(NamedTuple):
    """Holds the result of judging one block.

    Attributes:
        answers: (line, unit, draw) of each answer that was used.
        statuses: Status -> number of answers.
        outcomes: Count of each (unit, complete, codes, draw); see OUTCOMES. The draw is `ANY_DRAW` if the prompt has
            one turn, as nothing else belongs to that conversation.
        rows: The verdict rows, encoded; empty if none are wanted.
        failures: The first strict failure of each constraint id.
        undecided: Undecided constraint, with its reason -> number of answers.
        problems: Rows that were not used, in the order of the file; if `bad_rows` is `error`, at most one, as nothing
            after it is read.
    """

    answers: list[tuple[int, int, int]]
    statuses: Counter[Status]
    outcomes: Counter[tuple[int, bool, str, int]]
    rows: bytes
    failures: dict[str, Occurrence]
    undecided: Counter[Occurrence]
    problems: list[Problem]


class Unusable(SpecError):
    """Raised for a row that cannot be used; `what` is a short name of the reason."""

    def __init__(self, what: str, message: str) -> None:
        super().__init__(message)
        self.what = what


class TalliedBlock(Record, frozen=True):
    """Holds a `JudgedBlock` without its rows, as a shard stores it."""

    answers: list[tuple[int, int, int]]
    statuses: dict[Status, int]
    outcomes: list[tuple[int, bool, str, int, int]]
    failures: dict[str, Occurrence]
    undecided: list[tuple[Occurrence, int]]
    problems: list[Problem]

    @classmethod
    def of(cls, judged_block: JudgedBlock) -> Self:
        """Convert the result of a block, or of several joined blocks."""
        outcomes = [(*key, times) for key, times in judged_block.outcomes.items()]
        statuses = {status: times for status, times in judged_block.statuses.items() if times}
        undecided = list(judged_block.undecided.items())
        return cls(judged_block.answers, statuses, outcomes, judged_block.failures, undecided, judged_block.problems)

    def judged(self, lines_before: int) -> JudgedBlock:
        """Convert back to a JudgedBlock, with `lines_before` added to its line numbers."""
        return JudgedBlock(
            [(line + lines_before, unit, draw) for line, unit, draw in self.answers],
            Counter(self.statuses),
            Counter({tuple(key): times for *key, times in self.outcomes}),  # type: ignore[misc]
            b"",
            self.failures,
            Counter(dict(self.undecided)),
            [problem._replace(line=problem.line + lines_before) for problem in self.problems],
        )


class Desk(Step):
    """Judges blocks of answers to one suite: the step `adhere.steps.Judge`, whose note is `TalliedBlock`.

    Args:
        suite: The suite that was asked.
        settings: How to judge.
        name: The name of the file of answers, for messages.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """

    kind = "judge"

    def __init__(self, suite: Suite, settings: Settings, name: str = "rows") -> None:
        super().__init__(None)
        self.prompts, self.suite_name, self.settings, self.file = suite.prompts, suite.name, settings, name
        one_of(settings.bad_rows, BAD_ROWS, "treatment of bad rows")
        one_of(settings.mode, MODES, "mode")
        self._cut_answers_fail = suite.cut_answers == "fail"
        self.units = [
            Unit(number, turn) for number, prompt in enumerate(suite.prompts) for turn in range(len(prompt.turns))
        ]
        self._first_units = [unit for unit, (_, turn) in enumerate(self.units) if turn == 0]
        self._judges = [
            judge_of(
                refs,
                mode=settings.mode,
                profile=suite.prompts[number].tags.get("profile"),
                random_seed=settings.random_seed,
            )
            for (number, _), refs in zip(self.units, map(self.refs, range(len(self.units))), strict=True)
        ]
        self._by_key = _by_key(suite.prompts)
        self._keys = [prompt.key for prompt in suite.prompts]
        self._ids = [tuple(ref.id for ref in self.refs(unit)) for unit in range(len(self.units))]
        self._has_turns = [len(prompt.turns) > 1 for prompt in suite.prompts]
        self._by_text: dict[str, int] | None = None
        self._by_stripped: dict[str, int] | None = None
        self._keeps_reasoning, self._wants_rows = settings.keep_reasoning, settings.wants_rows
        self._decoder = decoder_of(ResponseRow)
        self._decode = self._decoder.decode
        self._encoder = msgspec.json.Encoder()
        self._made_of = msgspec.structs.replace(suite, citation=""), settings, name

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        """Return what rebuilds the desk in another process: its indexes cost more to send than to make."""
        return type(self), self._made_of

    def sort(self, block: Block) -> SortedBlock:
        judged_block = self.judge(block)
        if judged_block.problems and self.settings.bad_rows == "error":
            raise SpecError(judged_block.problems[0].message)
        broken_rows = [BrokenRow(problem.line, problem.message) for problem in judged_block.problems]
        kept_lines = list(dict.fromkeys(line for line, _, _ in judged_block.answers))
        return SortedBlock(
            judged_block.rows.splitlines(keepends=True), kept_lines, [], broken_rows, TalliedBlock.of(judged_block)
        )

    def refs(self, unit: int) -> tuple[ConstraintRef, ...]:
        """Return the constraints of one turn."""
        number, turn = self.units[unit]
        return self.prompts[number].turns[turn].constraints

    def judge(self, block: Block, without: frozenset[int] = frozenset()) -> JudgedBlock:
        """Judge a block, except the lines in `without`."""
        judged_block = JudgedBlock([], Counter(), Counter(), b"", {}, Counter(), [])
        rows: list[VerdictRow] = []
        for line, data in block.lines():
            if line in without:
                continue
            try:
                self._judge_row(line, data, judged_block, rows)
            except Unusable as error:
                judged_block.problems.append(Problem(line, error.what, f"{self.file}:{line}: {error}"))
                if self.settings.bad_rows == "error":
                    break
        judged_block.statuses["ok"] = len(judged_block.answers) - judged_block.statuses.total()
        return judged_block._replace(rows=self._encoded(rows)) if rows else judged_block

    def _judge_row(self, line: int, data: bytes, judged_block: JudgedBlock, rows: list[VerdictRow]) -> None:
        """Judge one row.

        For speed, only the work that nearly every row needs is done here; rarer work has functions of its own.
        """
        try:
            row = self._decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            row = self._look_again(data)
        prompt = self._by_key.get(row.key) if row.prompt is None else None  # type: ignore[arg-type]
        if prompt is None:
            prompt = self._prompt_of(row)
        if not self._has_turns[prompt]:
            self._judge_answer(line, row, self._first_units[prompt], data=data, judged_block=judged_block, rows=rows)
            return
        for turn, answer in self._answers(row, prompt):
            self._judge_answer(
                line, answer, self._first_units[prompt] + turn, data=data, judged_block=judged_block, rows=rows
            )

    def responses(self, line: int, data: bytes) -> list[Response]:
        """Return the Responses that a row holds, one for each turn that it answers; nothing is judged.

        Raises:
            SpecError: The row cannot be used; the message names file and line.
        """
        try:
            row = self._look_again(data)
            prompt = self._prompt_of(row)
            rows = self._answers(row, prompt) if self._has_turns[prompt] else [(0, row)]
            return [self._response(prompt, turn, answer_row, data) for turn, answer_row in rows]
        except Unusable as error:
            raise SpecError(f"{self.file}:{line}: {error}") from error

    def _response(self, prompt: int, turn: int, row: ResponseRow, data: bytes) -> Response:
        text, reasoning, calls, steps, status = self._parts_of(row, data)
        optional = {name: value for name, value in (("calls", calls), ("steps", steps)) if value}
        prompt_id = self.prompts[prompt].id
        return Response(prompt_id, turn, row.draw or 0, text, status, reasoning=reasoning, **optional)  # type: ignore[arg-type]

    def _parts_of(self, row: ResponseRow, data: bytes) -> _Parts:
        text, reasoning, is_cut = row.response, row.reasoning or row.reasoning_content, False
        if text is None or (row.draw or 0) < 0:
            text = _text_of_failure(row, data)
        elif not self._keeps_reasoning:
            text, own_reasoning, own_status = split_answer(text)
            reasoning, is_cut = reasoning or own_reasoning, own_status == "truncated"
        calls, steps = calls_of({"tool_calls": row.tool_calls}) if row.tool_calls else (), tuple(row.steps or ())
        return text, reasoning, calls, steps, _status(row, text, is_cut=is_cut, is_done=bool(calls or steps))

    def _answers(self, row: ResponseRow, prompt: int) -> list[tuple[int, ResponseRow]]:
        """Return (turn, row with that answer) for each answer of a row to a prompt of several turns."""
        turns, key = len(self.prompts[prompt].turns), self._keys[prompt]
        if row.responses is not None and row.response is None and row.turn is None:
            if len(row.responses) > turns:
                raise Unusable(
                    "a wrong column", f"{len(row.responses)} `responses` to key {key!r}, which has {turns} turns"
                )
            return [
                (turn, msgspec.structs.replace(row, response=text, responses=None))
                for turn, text in enumerate(row.responses)
            ]
        if row.turn is None or row.responses is not None:
            raise Unusable(
                "no turn",
                f"key {key!r} has {turns} turns: give each answer its `turn` (from 0), "
                "or one row all of them in a list `responses`",
            )
        if not 0 <= row.turn < turns:
            raise Unusable("a wrong column", f"turn={row.turn}: key {key!r} has {turns} turns, numbered from 0")
        return [(row.turn, row)]

    def _judge_answer(
        self, line: int, row: ResponseRow, unit: int, *, data: bytes, judged_block: JudgedBlock, rows: list[VerdictRow]
    ) -> None:
        """Judge one answer to one turn, and add the result to `judged_block` and `rows`."""
        prompt, draw = self.units[unit].prompt, row.draw or 0
        text, reasoning, calls, steps, status = self._parts_of(row, data)
        judged_block.answers.append((line, unit, draw))
        if status != "ok":
            judged_block.statuses[status] += 1
            if status == "error":
                return
        judge = self._judges[unit]
        if status == "truncated" and self._cut_answers_fail and (text.strip() or calls or steps):
            finding = TOO_LONG if is_too_long(text) else CUT
            findings = [(finding, finding)] * len(judge)
        else:
            whole = None
            if calls or steps:
                answer = Response("", 0, 0, text, "ok", calls=calls, steps=steps)
                whole = lambda: answer.whole  # noqa: E731 - made only where a constraint reads it
            findings = judge.findings(text, reasoning=reasoning, whole=whole)
        codes = "".join([_CODES[strict[0], loose[0]] for strict, loose in findings])
        turn = self.units[unit].turn if self._has_turns[prompt] else None
        judged_block.outcomes[unit, status == "ok", codes, ANY_DRAW if turn is None else draw] += 1
        if codes.strip("p"):
            self._note(unit, findings, judged_block)
        if self._wants_rows:
            key, ids = self._keys[prompt], self._ids[unit]
            for index, both in enumerate(findings):
                rows.append(_verdict_row(key, index, ids[index], both, draw=row.draw, turn=turn))

    def _note(self, unit: int, findings: list[tuple[Finding, Finding]], judged_block: JudgedBlock) -> None:
        """Keep what a reader wants to see of an answer that did not pass everything."""
        refs = self.refs(unit)
        for index, (strict, loose) in enumerate(findings):
            if strict[0] == "fail" and refs[index].id not in judged_block.failures:
                judged_block.failures[refs[index].id] = Occurrence(unit, index, strict.reason)
            if "undecided" in (strict[0], loose[0]):
                reason = strict.reason if strict[0] == "undecided" else loose.reason
                judged_block.undecided[Occurrence(unit, index, reason)] += 1

    def _encoded(self, rows: Sequence[VerdictRow]) -> bytes:
        try:
            return self._encoder.encode_lines(rows)
        except UnicodeEncodeError:
            return b"".join(map(_encoded_without_surrogates, rows))

    def _look_again(self, data: bytes) -> ResponseRow:
        """Read a row that the fast decoder refused, or say what is wrong with it."""
        try:
            return parse_line(data, self._decoder)
        except WrongColumn as error:
            raise Unusable("a wrong column", str(error)) from error
        except SpecError as error:
            raise Unusable("not JSON", str(error)) from error

    def _prompt_of(self, row: ResponseRow) -> int:
        """Return the number of the prompt that a row answers."""
        key, text = row.key, row.prompt
        number = None if key is None else self._by_key.get(key)
        if number is not None:
            if text is not None and text != self.prompts[number].text:
                self._insist_on_one(key, number, text)
            return number
        if text is None:
            if key is None:
                raise Unusable("no key or prompt", "the row has neither `key` nor `prompt`. Give it one of them")
            raise Unusable("no such prompt", f"{self._no_such_key(key)}, and the row has no `prompt` to match by")
        if not isinstance(text, str):
            raise Unusable(
                "a wrong column",
                "`prompt` is a list of messages, which matches "
                f"nothing{f', and {self._no_such_key(key)}' if key is not None else ''}. "
                "Give the row the `key` of its prompt, or the prompt's text",
            )
        number = self._by_prompt(text)
        if number is None:
            and_key = "" if key is None else f"{self._no_such_key(key)}, and "
            raise Unusable(
                "no such prompt",
                f"{and_key}no prompt of {self.suite_name} has the text {_shorten(text)}. "
                "Is this the suite that was answered?",
            )
        return number

    def _by_prompt(self, text: str) -> int | None:
        """Return the number of the prompt with this text, exactly or else stripped; None if there is none."""
        if self._by_text is None or self._by_stripped is None:
            self._by_text = _index(prompt.text for prompt in self.prompts)
            self._by_stripped = _index(prompt.text.strip() for prompt in self.prompts)
        number = self._by_text.get(text)
        if number is None:
            number = self._by_stripped.get(text.strip())
        if number is not None and number < 0:
            raise Unusable(
                "an ambiguous prompt",
                f"several prompts of {self.suite_name} have the text {_shorten(text)}. "
                "Give the row the `key` of its prompt",
            )
        return number

    def _insist_on_one(self, key: object, number: int, text: str | list[Any]) -> None:
        """Refuse a row whose key names one prompt and whose text is another's; an edited text passes."""
        if not isinstance(text, str) or text.strip() == self.prompts[number].text.strip():
            return
        other = self._by_prompt(text)
        if other is not None:
            raise Unusable(
                "key and prompt disagree",
                f"key {key!r} is one prompt of {self.suite_name}, but the row's `prompt` is that of key "
                f"{self.prompts[other].key!r}. Which did it answer? Correct one of the two",
            )

    def _no_such_key(self, key: object) -> str:
        ids = [prompt.id for prompt in self.prompts[:_MOST_SUGGESTED]]
        suggestion = nearest(str(key), ids) if len(self.prompts) <= _MOST_SUGGESTED else ""
        return f"no prompt of {self.suite_name} has key {key!r}.{suggestion}".removesuffix(".")


_WHOLE_NUMBER = re.compile("0|-?[1-9][0-9]{0,18}")
_MOST_SUGGESTED = 20_000  # looking for the nearest of more names takes seconds


def _by_key(prompts: Iterable[Prompt]) -> dict[int | str | float, int]:
    """Return key -> number of the prompt, with keys as texts and, if they are whole numbers, as numbers.

    1000, "1000" and pandas' 1000.0 are one key.
    """
    numbers: dict[int | str | float, int] = {}
    for number, prompt in enumerate(prompts):
        numbers[prompt.id] = number
        if _WHOLE_NUMBER.fullmatch(prompt.id):
            numbers[int(prompt.id)] = number
    return numbers


def _verdict_row(
    key: int | str,
    index: int,
    constraint_id: str,
    findings: tuple[Finding, Finding],
    *,
    draw: int | None,
    turn: int | None,
) -> VerdictRow:
    strict, loose = findings
    return VerdictRow(
        key, index, constraint_id, strict=strict.outcome, loose=loose.outcome, reason=strict.reason,
        loose_reason=None if loose is strict or loose.reason == strict.reason else loose.reason,
        measured=strict.measured, needed=strict.needed, span=strict.span, score=strict.score, draw=draw, turn=turn,
    )  # fmt: skip


def _encoded_without_surrogates(row: VerdictRow) -> bytes:
    """Encode a row that quotes lone surrogates, which UTF-8 cannot hold: each becomes U+FFFD."""
    text = json.dumps(msgspec.to_builtins(row), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


def _text_of_failure(row: ResponseRow, data: bytes) -> str:
    """Return the empty text of a failed call, or of an answer that only calls tools.

    Any other row without a text, or with an impossible draw, is unusable.
    """
    if row.draw is not None and row.draw < 0:
        raise Unusable("a wrong column", f"draw={row.draw} must be 0 or more")
    if row.tool_calls or row.steps:
        return ""
    if row.status != "error" and (
        row.status is not None or status_of_stop(row.finish_reason, row.stop_reason) != "error"
    ):
        raise Unusable("no response", _no_response(data))
    return ""


def _status(row: ResponseRow, text: str, *, is_cut: bool, is_done: bool) -> Status:
    status: Status = "ok"
    if row.status is None:
        if row.finish_reason is not None or row.stop_reason is not None:
            status = status_of_stop(row.finish_reason, row.stop_reason) or "ok"
    elif row.status in STATUSES:
        status = row.status
    else:
        raise Unusable(
            "a wrong column",
            f"status={row.status!r} must be one of {', '.join(STATUSES)}. "
            "Leave the column out where it means something else",
        )
    if status != "ok":
        return status
    if is_cut or is_too_long(text):
        return "truncated"
    return "empty" if not is_done and (not text or text.isspace()) else "ok"


def _no_response(data: bytes) -> str:
    columns: dict[str, Any] = json.loads(data)
    if "responses" in columns:
        return (
            "`responses` is for prompts of several turns, and this one has one. Give its answer in a column `response`"
        )
    if "response" in columns:
        return '`response` is null. Leave the row out (it is then counted as missing), or give it status "error"'
    return f"the row has no `response`. It has: {', '.join(columns)}"


def _index(texts: Iterable[str]) -> dict[str, int]:
    """Return text -> number; -1 if several have the text."""
    numbers: dict[str, int] = {}
    for number, text in enumerate(texts):
        numbers[text] = -1 if text in numbers else number
    return numbers


def _shorten(text: str) -> str:
    return repr(text if len(text) <= 80 else f"{text[:77]}…")
