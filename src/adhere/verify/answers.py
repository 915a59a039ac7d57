"""Judge a file of answers: return the numbers, and write a row for each verdict if wanted.

    for block in file.blocks():            about a megabyte of whole lines
        judged = desk.judge(block)         here, or in one of several processes (lines/workers.py)
        output.write(judged.rows)          in the order of the file, whoever judged it
        counts += judged                   what each prompt adds up to, never the answers themselves

So memory depends on the suite, not on the number of answers, and the output does not depend on the number of processes.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing, nullcontext
from functools import partial
from pathlib import Path
from typing import Self

from adhere.errors import SpecError, UsageError
from adhere.lines.blocks import BLOCK_BYTES, LineFile, written_whole
from adhere.lines.workers import in_order
from adhere.pipeline.floors.stored import MOST_PROMPTS, floor_of, floors_of, tallies_of
from adhere.pipeline.outcomes import Slot
from adhere.pipeline.summarize import versions_of
from adhere.pipeline.summarize.counts import CountedRates, Counts, insist, mean_of_all
from adhere.progress import Progress, Silent, Step
from adhere.schema import STATUSES, Mode, Prompt, Record, Status
from adhere.store.summary import Accounting, Floor, Rate, Tally
from adhere.suites import Suite
from adhere.verify.imports import ImportedFile, read_import
from adhere.verify.rows import ANY_DRAW, OUTCOMES, BadRows, Desk, JudgedBlock, Occurrence, Problem, Settings

BAR_AFTER_S = 1.0
SENT_BYTES = 1 << 20  # of a block that is sent to a process; smaller ones cost more to send than to judge
MOST_PROBLEMS = 20


class InstructionAccounting(Record, frozen=True, rename={"passed": "pass", "failed": "fail"}):
    """Counts the constraints of every judged answer (strict view): checked = pass + fail + undecided."""

    checked: int
    passed: int
    failed: int
    undecided: int


class RowAccounting(Record, frozen=True):
    """Counts the rows of the file: read = used + skipped; `skipped_because` gives reason -> count."""

    read: int
    used: int
    skipped: int
    skipped_because: dict[str, int]


class VerifyAccounting(Record, frozen=True):
    """Counts answers (n = ok + truncated + empty + refused + error + missing), constraints and the file's rows."""

    responses: Accounting
    instructions: InstructionAccounting
    rows: RowAccounting


class UndecidedRow(Record, frozen=True):
    """Describes a constraint without a verdict: why, and for how many answers; `index` counts within its turn."""

    key: int | str
    index: int
    instruction_id: str
    reason: str
    answers: int
    turn: int = 0


class Example(Record, frozen=True):
    """Describes one failing answer of a kind."""

    key: int | str
    index: int
    reason: str
    turn: int = 0


class Verification(Record, frozen=True):
    """Holds everything that `adhere verify` found; `--json` prints it.

    The four rates and their means cover what was judged and decided (`Rate.of_all`), in [0, 1]; None if nothing was.
    `rates` holds their counts and 95 % intervals.

    Attributes:
        n_prompts: Prompts with a judged answer.
        n_instructions: Constraints of these prompts, of all their turns.
        instruction_macro: Mean over prompts of the share of their constraints that pass strictly (HELM, EvalScope).
        mean_of_four: Mean of the four rates (inspect's `final_acc`).
        mean_of_prompt_and_instruction_strict: Mean of these two rates, as the Open LLM Leaderboard and SmolLM's cards
            print it.
        coverage: The share of the requested conversations that passed or failed (`pipeline.outcomes.together`).
        draws: Number of answers to the prompt with the most; every prompt should have as many.
        examples: For each constraint id the first answer of the file that fails it.
        floor: What the best answerer without a model passes of these prompts; None if no program decides them.
        skipped: The first rows that were skipped, with file and line.
        responses_sha256: The hash of the answers' lines, uncompressed.
    """

    suite: str
    suite_sha256: str
    suite_note: str
    responses: str
    responses_sha256: str
    mode: Mode
    random_in_reference: int | None
    keep_reasoning: bool
    verifier_version: str
    verifier_versions: dict[str, str]
    n_prompts: int
    n_instructions: int
    prompt_strict: float | None
    instruction_strict: float | None
    prompt_loose: float | None
    instruction_loose: float | None
    instruction_macro: float | None
    mean_of_four: float | None
    mean_of_prompt_and_instruction_strict: float | None
    rates: dict[str, Rate]
    coverage: float
    draws: int
    accounting: VerifyAccounting
    families: dict[str, Tally]
    kinds: dict[str, Tally]
    undecided: list[UndecidedRow]
    examples: dict[str, Example]
    skipped: list[str]
    floor: Floor | None = None


def verify(
    suite: Suite,
    responses: Path,
    *,
    mode: Mode = "reference",
    random_in_reference: int | None = None,
    keep_reasoning: bool = False,
    bad_rows: BadRows = "error",
    verdicts: Path | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Verification:
    """Judge a file of answers to a suite.

    Args:
        suite: The suite that was asked.
        responses: JSON lines (plain, .gz, .zst; `-` is the standard input) with `response` and `key` or `prompt`, and
            `turn` if a prompt has several; see `ResponseRow` for further columns. Or a file of another harness; see
            `imports`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        random_in_reference: The seed for parameters that the published code draws at random; None leaves such
            constraints undecided.
        keep_reasoning: Judge the whole text; otherwise the reasoning that `text.reasoning.split_reasoning` finds is
            cut.
        bad_rows: What happens to a row that cannot be used: an error, or it is skipped and counted.
        verdicts: Where to write one row for each constraint of each answer (`VerdictRow`); None: nowhere.
        jobs: Processes that judge. A script that asks for several needs the usual `if __name__ == "__main__":`.
        progress: Where to report.

    Raises:
        UsageError: A file is missing, or would be overwritten.
        SpecError: A row cannot be used (with `bad_rows="error"`), or two rows answer the same turn in the same draw;
            the message names file and lines.
        UnknownName, BadParameter: A constraint of the suite cannot be judged.
    """
    file = open_answers(responses, progress or Silent())
    _check_target(verdicts, responses)
    settings = Settings(mode, random_in_reference, keep_reasoning, bad_rows, verdicts is not None)
    desk = Desk(suite, settings, file.name)
    ledger = _Ledger(desk, lambda line: f"{file.name}:{line}")
    with ExitStack() as stack:
        write = stack.enter_context(written_whole(verdicts) if verdicts is not None else nullcontext(_nowhere))
        bar = stack.enter_context(_LateBar(progress or Silent(), file))
        blocks = file.blocks(BLOCK_BYTES if jobs <= 1 else SENT_BYTES)
        for block, judged_block in stack.enter_context(
            closing(in_order(desk.judge, blocks, jobs=jobs, purpose="judging"))
        ):
            counted_block = ledger.enter(judged_block, partial(desk.judge, block))
            write(counted_block.rows)
            bar.advance(len(counted_block.answers))
        return ledger.found(suite, file.name, file.sha256)


def added_up(
    desk: Desk,
    suite: Suite,
    blocks: Iterable[JudgedBlock],
    *,
    name: str,
    sha256: str,
    where: Callable[[int], str],
) -> Verification:
    """Add up blocks that were judged elsewhere; `name` and `sha256` are those of the answers.

    `where` turns a block's line number into FILE:LINE.

    Raises:
        SpecError: Two rows answer the same turn in the same draw, or a row cannot be used and such rows are errors.
    """
    ledger = _Ledger(desk, where)
    for block in blocks:
        ledger.enter(block)
    return ledger.found(suite, name, sha256)


def open_answers(responses: Path, progress: Progress) -> LineFile:
    """Open a file of answers, in our format or in that of another harness."""
    harness_answers = read_import(responses)
    if harness_answers is None:
        return LineFile(responses)
    of_whom = f" of {harness_answers.model}" if harness_answers.model else ""
    progress.say(
        f"{responses}: {len(harness_answers.answers)} answers{of_whom} to {harness_answers.task or 'a task'}, "
        f"stored by {harness_answers.harness}"
    )
    return ImportedFile(responses, harness_answers)


def _nowhere(data: bytes) -> None:
    """Drop verdict rows that are not wanted."""


def _check_target(verdicts: Path | None, responses: Path) -> None:
    if verdicts is None:
        return
    if str(verdicts) == "-" or verdicts.is_dir():
        raise UsageError(f"--verdicts {verdicts}: give a file (.jsonl, .gz or .zst); the numbers go to stdout")
    if verdicts.exists() and responses.exists() and verdicts.samefile(responses):
        raise UsageError(f"--verdicts {verdicts} is the file of answers itself. Give another name")


class _Ledger:
    """Adds up judged blocks: outcomes, statuses, an example of each failure, and the rows that cannot be used."""

    def __init__(self, desk: Desk, where: Callable[[int], str]) -> None:
        self._desk, self._where = desk, where
        self._seen = _SeenAnswers(len(desk.units))
        self._statuses: Counter[Status] = Counter()
        self._outcomes: Counter[tuple[int, bool, str, int]] = Counter()
        self._failures: dict[str, Occurrence] = {}
        self._undecided: Counter[Occurrence] = Counter()
        self._skipped: Counter[str] = Counter()
        self._problems: list[str] = []

    def enter(
        self, judged_block: JudgedBlock, again: Callable[[frozenset[int]], JudgedBlock] | None = None
    ) -> JudgedBlock:
        """Add a block, and return the block that was added.

        If it repeats answers and bad rows are skipped, `again(lines)` judges it without those lines, and that block is
        added.

        Raises:
            SpecError: A row cannot be used or repeats an answer, and bad rows are errors; or an answer is repeated and
                there is no `again`.
        """
        repeats = self._repeated(judged_block)
        skips = self._desk.settings.bad_rows == "skip"
        problems = sorted([*judged_block.problems, *repeats])
        if repeats and again is None:
            raise SpecError(repeats[0].message)
        if problems and not skips:
            raise SpecError(f"{problems[0].message}, or skip such rows with --bad-rows skip")
        if repeats and again is not None:
            judged_block = again(frozenset(problem.line for problem in problems))
        for problem in problems:
            self._skipped[problem.what] += 1
            if len(self._problems) < MOST_PROBLEMS:
                self._problems.append(problem.message)
        self._statuses.update(judged_block.statuses)
        self._outcomes.update(judged_block.outcomes)
        self._undecided.update(judged_block.undecided)
        for name, occurrence in judged_block.failures.items():
            self._failures.setdefault(name, occurrence)
        return judged_block

    def _repeated(self, judged_block: JudgedBlock) -> list[Problem]:
        return [
            Problem(
                line,
                "a repeated key",
                f"{self._where(line)}: key {self._key(unit)!r} ({self._turn(unit)}draw {draw}) "
                f"was answered in {self._first(first, line)} already. Delete one of the rows, "
                "or number several answers to one prompt in a column `draw`",
            )
            for first, (line, unit, draw) in self._seen.enter(judged_block.answers)
        ]

    def _first(self, first: int, line: int) -> str:
        """Return `line 3` if the first line is in the same file as `line`, else file and line."""
        file, number = self._where(first).rsplit(":", 1)
        return f"line {number}" if self._where(line).startswith(f"{file}:") else f"{file}:{number}"

    def _key(self, unit: int) -> int | str:
        return self._desk.prompts[self._desk.units[unit].prompt].key

    def _turn(self, unit: int) -> str:
        number, turn = self._desk.units[unit]
        return f"turn {turn}, " if len(self._desk.prompts[number].turns) > 1 else ""

    def found(self, suite: Suite, name: str, sha256: str) -> Verification:
        """Return all numbers."""
        prompts, settings = suite.prompts, self._desk.settings
        counts, judged_prompts = self._counts(prompts)
        rates = {
            "prompt_strict": counts.prompt("strict"),
            "instruction_strict": counts.instruction("strict"),
            "prompt_loose": counts.prompt("loose"),
            "instruction_loose": counts.instruction("loose"),
        }
        kinds = counts.kinds()
        accounting = self._accounting(kinds)
        share = {name: rate.of_all for name, rate in rates.items()}
        versions = versions_of(prompts, settings.mode)
        conversations = len(prompts) * max(1, self._seen.most_answers)
        return Verification(
            suite=suite.name,
            suite_sha256=suite.sha256,
            suite_note=str(suite.settings.get("note", "")),
            responses=name,
            responses_sha256=sha256,
            mode=settings.mode,
            random_in_reference=settings.random_seed,
            keep_reasoning=settings.keep_reasoning,
            verifier_version=", ".join(sorted(set(versions.values()))),
            verifier_versions=versions,
            n_prompts=len(judged_prompts),
            n_instructions=sum(len(turn.constraints) for number in judged_prompts for turn in prompts[number].turns),
            prompt_strict=share["prompt_strict"],
            instruction_strict=share["instruction_strict"],
            prompt_loose=share["prompt_loose"],
            instruction_loose=share["instruction_loose"],
            instruction_macro=counts.instruction_macro(),
            mean_of_four=mean_of_all(*share.values()),
            mean_of_prompt_and_instruction_strict=mean_of_all(share["prompt_strict"], share["instruction_strict"]),
            rates=rates,
            coverage=rates["prompt_strict"].n / conversations if conversations else 0.0,
            draws=self._seen.most_answers,
            accounting=accounting,
            families=counts.families(),
            kinds=kinds,
            undecided=[self._undecided_row(occurrence) for occurrence in sorted(self._undecided)],
            examples={
                name: Example(
                    self._key(occurrence.unit),
                    occurrence.position,
                    occurrence.reason,
                    self._desk.units[occurrence.unit].turn,
                )
                for name, occurrence in sorted(self._failures.items())
            },
            skipped=self._problems,
            floor=self._floor(suite, judged_prompts),
        )

    def _floor(self, suite: Suite, judged_prompts: Iterable[int]) -> Floor | None:
        rows = floors_of(suite.prompts, mode=self._desk.settings.mode, cut_answers=suite.cut_answers, most=MOST_PROMPTS)
        return floor_of(tallies_of(rows, judged_prompts))

    def _counts(self, prompts: tuple[Prompt, ...]) -> tuple[CountedRates, set[int]]:
        """Return the counts by prompt, and the numbers of the prompts that have a judged answer."""
        counts = Counts()
        conversations: dict[tuple[int, int], list[tuple[list[Slot], bool]]] = {}  # (prompt, draw): its turns
        judged_prompts = set()
        for (unit, is_complete, codes, draw), times in self._outcomes.items():
            number = self._desk.units[unit].prompt
            judged_prompts.add(number)
            refs = self._desk.refs(unit)
            slots = [Slot(ref.id, *OUTCOMES[code], is_complete) for ref, code in zip(refs, codes, strict=True)]
            if draw == ANY_DRAW:
                counts.add(prompts[number].id, slots, len(refs), is_completed=is_complete, times=times)
            else:
                conversations.setdefault((number, draw), []).append((slots, is_complete))
        for (number, _), turns in conversations.items():
            all_turns = prompts[number].turns
            counts.add(
                prompts[number].id,
                [slot for slots, _ in turns for slot in slots],
                sum(len(turn.constraints) for turn in all_turns),
                is_completed=len(turns) == len(all_turns) and all(is_complete for _, is_complete in turns),
            )
        return counts.finish(), judged_prompts

    def _accounting(self, kinds: dict[str, Tally]) -> VerifyAccounting:
        n_used, n_skipped = self._statuses.total(), self._skipped.total()
        n = len(self._desk.units) * max(1, self._seen.most_answers)
        by_status = {status: self._statuses[status] for status in STATUSES}
        responses = Accounting(n=n, missing=n - n_used, **by_status)
        insist(n == responses.checked + responses.error + responses.missing, f"answers do not add up: {responses}")
        tallies = kinds.values()
        instructions = InstructionAccounting(
            checked=sum(tally.checked for tally in tallies),
            passed=sum(tally.passed for tally in tallies),
            failed=sum(tally.failed for tally in tallies),
            undecided=sum(tally.undecided for tally in tallies),
        )
        return VerifyAccounting(
            responses,
            instructions,
            RowAccounting(n_used + n_skipped, n_used, n_skipped, dict(sorted(self._skipped.items()))),
        )

    def _undecided_row(self, occurrence: Occurrence) -> UndecidedRow:
        id = self._desk.refs(occurrence.unit)[occurrence.position].id  # noqa: A001 - the field's word
        turn = self._desk.units[occurrence.unit].turn
        return UndecidedRow(
            self._key(occurrence.unit), occurrence.position, id, occurrence.reason, self._undecided[occurrence], turn
        )


class _SeenAnswers:
    """Remembers the line of each answer, in eight bytes an answer if draws are numbered without large gaps."""

    def __init__(self, n_units: int) -> None:
        self._lines: list[array[int] | None] = [None] * n_units  # by unit, then by draw; 0: not met
        self._far: dict[tuple[int, int], int] = {}

    def enter(self, answers: Iterable[tuple[int, int, int]]) -> list[tuple[int, tuple[int, int, int]]]:
        """Note some answers (line, unit, draw); return the repeated ones, each as (first line, answer)."""
        lines_U = self._lines
        repeats = []
        for answer in answers:
            line, unit, draw = answer
            lines = lines_U[unit]
            if lines is not None and draw == len(lines) and not self._far:
                lines.append(line)
            elif (first := self._first_line(line, unit, draw)) != line:
                repeats.append((first, answer))
        return repeats

    def _first_line(self, line: int, unit: int, draw: int) -> int:
        lines = self._lines[unit]
        if lines is None:
            lines = self._lines[unit] = array("q")
        if draw > 2 * len(lines) + 64 or (unit, draw) in self._far:
            return self._far.setdefault((unit, draw), line)
        if draw >= len(lines):
            lines.extend([0] * (draw + 1 - len(lines)))
        lines[draw] = lines[draw] or line
        return lines[draw]

    @property
    def most_answers(self) -> int:
        """The largest number of answers to one turn."""
        answers_of_unit = Counter(unit for unit, _ in self._far)
        for unit, lines in enumerate(self._lines):
            if lines is not None:
                answers_of_unit[unit] += len(lines) - lines.count(0)
        return max(answers_of_unit.values(), default=0)


class _LateBar:
    """Shows a progress bar over the file once the work has taken longer than a second; a context manager."""

    def __init__(self, progress: Progress, file: LineFile) -> None:
        self._progress, self._file = progress, file
        self._stack, self._start = ExitStack(), time.monotonic()
        self._step: Step | None = None
        self._reported = self._answers = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def advance(self, answers: int) -> None:
        """Count answers; the bar shows the share of the file's bytes that were read."""
        self._answers += answers
        if self._step is None:
            if time.monotonic() - self._start < BAR_AFTER_S:
                return
            total = None if self._file.size is None else self._file.size >> 10
            self._step = self._stack.enter_context(self._progress.step("judging", total, "kB"))
        kilobytes_read = self._file.bytes_read >> 10
        self._step.advance(kilobytes_read - self._reported, f"{self._answers:,} answers")
        self._reported = kilobytes_read
