"""Store a Run: a model's answers to a set of prompts and the judge's verdicts, in a directory that survives kill -9.

    manifest.json    the spec and its hash, versions; written once
    prompts.jsonl    what was asked
    media/           pictures and sounds of the prompts, each once, by its hash
    responses/       segments of Responses, append-only
    steps/           of episodes in worlds: segments of EpisodeSteps, each stored as it comes; an ended episode is a
                     Response
    verdicts/        segments of Verdicts, append-only; apart, so that judging again needs no model
    summary.json     the numbers; present only while nothing was appended since they were computed
    seals.jsonl      the hashes of all of this at each summary (`store.seals.chain`)

The segments are the truth and are never rewritten. Of several rows with one key the last counts, except that an answer
is never replaced by a failed call. A Verdict names the answer that it judged by its hash, so a verdict can never be
taken for one about another text.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Self

from msgspec.structs import astuple

from adhere import media
from adhere.errors import IntegrityError, MissingExtra, ResourceError, RunMismatch, UsageError
from adhere.schema import (
    Message,
    Prompt,
    Record,
    Response,
    Status,
    Verdict,
    content_hash,
    content_hash_of_list,
    decode,
    encode,
    read_prompts,
    write_atomic,
    write_rows,
)
from adhere.store.files import read_regular, sha256_of
from adhere.store.frames import Level, frame_of
from adhere.store.manifest import Manifest, RunSpec, differences, new_manifest
from adhere.store.seals.chain import SUMMARY, add_seal
from adhere.store.segments import Damage, SegmentWriter, read_segments
from adhere.store.shelf import SHARDS, Word, state_word
from adhere.store.summary import Summary
from adhere.terminal import notebook_table

__all__ = ["Damage", "Key", "Manifest", "Run", "RunSpec", "Summary", "all_keys", "alone", "alone_in_turn"]

Key = tuple[str, int, int]
MOST_KEYS = 2_000_000
"""Largest number of answers of one Run, which keeps them in memory; more make a sharded Run (`store.sharded`)."""
WAIT_S = 0.2
"""Seconds between two attempts to hold a directory that another process holds."""


class EpisodeStep(Record, frozen=True, omit_defaults=True):
    """Holds one answer within an episode, and what the world said to it. `answer.turn` is its number, from 0.

    `heard` is None while a model that plays the user has not replied.
    """

    answer: Response
    heard: tuple[Message, ...] | None = None


class StoredVerdict(Verdict, frozen=True, kw_only=True):
    """Is a Verdict with the hash of the answer that it is about."""

    answer: str


def in_order(rows: Iterable[EpisodeStep]) -> dict[tuple[str, int], list[EpisodeStep]]:
    """Return the steps of every (prompt_id, draw) in order, without those after a gap.

    Of several rows for one step, the last counts.
    """
    rows_by_key = {row.answer.key: row for row in rows}
    episodes: dict[tuple[str, int], list[EpisodeStep]] = {}
    for (prompt_id, number, draw), row in sorted(rows_by_key.items()):
        steps = episodes.setdefault((prompt_id, draw), [])
        if number == len(steps):  # after a lost row the conversation would be another
            steps.append(row)
    return episodes


_VERDICT_FIELDS = len(Verdict.__struct_fields__)


def all_keys(prompts: Iterable[Prompt], draws: int) -> list[Key]:
    """Return every (prompt_id, turn, draw) that a measurement needs, in the order of the prompts."""
    return [(prompt.id, turn, draw) for prompt in prompts for draw in range(draws) for turn in range(len(prompt.turns))]


class Run:
    """Is a stored Run. Make one by `Run.open` (to add to it) or `Run.load` (to read it, or to judge it again).

    Responses are kept in memory once read (about 1 KB each); verdicts are read from disk when asked for.

    Attributes:
        directory: The Run's directory.
        manifest: What the Run was made from.
    """

    def __init__(self, directory: Path, manifest: Manifest, prompts: Sequence[Prompt]) -> None:
        self.directory, self.manifest = directory, manifest
        self._prompts = tuple(prompts)
        n_answers = self.spec.draws * sum(len(prompt.turns) for prompt in self._prompts)
        if n_answers > MOST_KEYS:
            raise IntegrityError(
                f"{directory} asks for {n_answers:,} answers; one Run holds at most {MOST_KEYS:,}, "
                "more go into a sharded Run"
            )
        self._keys = all_keys(self._prompts, self.spec.draws)
        self._known_keys = frozenset(self._keys)
        self._responses: dict[Key, Response] | None = None
        self._response_damage, self._verdict_damage = Damage(), Damage()
        self._response_writer: SegmentWriter[Response] = SegmentWriter(directory / "responses")
        self._step_writer: SegmentWriter[EpisodeStep] = SegmentWriter(directory / "steps")
        self._verdict_writer: SegmentWriter[StoredVerdict] = SegmentWriter(directory / "verdicts")

    @classmethod
    def open(cls, directory: Path, spec: RunSpec, prompts: Sequence[Prompt]) -> Self:
        """Start a Run in `directory`, or resume the one that is there.

        Raises:
            RunMismatch: The Run that is there has another spec or other prompts; the message names each difference.
            UsageError: There are no prompts, two share an id, or `draws` is below 1.
            ResourceError: The directory cannot be written.
        """
        check_prompts(prompts, spec)
        if (directory / "manifest.json").exists():
            run = cls.load(directory)
            _refuse_other(run, spec, prompts)
            return run
        if any((directory / "responses").glob("*.jsonl")):
            if (directory / "manifest.json").exists():  # another process started this very Run since we looked
                return cls.open(directory, spec, prompts)
            raise IntegrityError(f"{directory} holds responses but no manifest.json, so what they answer is unknown")
        try:
            prompts_sha256 = write_rows(directory / "prompts.jsonl", prompts)
            manifest = new_manifest(spec, n_prompts=len(prompts), prompts_sha256=prompts_sha256)
            media.store(
                (medium for prompt in prompts for turn in prompt.turns for medium in turn.media or ()),
                directory / "media",
            )
            (directory / "responses").mkdir(exist_ok=True)
            write_atomic(directory / "manifest.json", encode(manifest) + b"\n")
        except OSError as error:
            raise ResourceError(f"Cannot start a Run in {directory}: {error.strerror or error}") from error
        return cls(directory, manifest, prompts)

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Read the Run in `directory`, which is not sharded (`store.sharded.load_run` reads either).

        Nothing is written unless something is appended.

        Raises:
            UsageError: `directory` holds no Run.
            IntegrityError: The manifest or the prompts are damaged, or were changed later.
        """
        file = directory / "manifest.json"
        if not file.is_file():
            raise UsageError(f"{directory} is no Run: it has no manifest.json (adhere list runs)")
        try:
            manifest = decode(read_regular(file), Manifest)
        except IntegrityError as error:
            raise IntegrityError(f"{file}: {error}") from error
        prompts_file = directory / "prompts.jsonl"
        if not prompts_file.is_file():
            raise IntegrityError(f"{prompts_file} is missing, so what the Run asked is unknown")
        if sha256_of(prompts_file) != manifest.prompts_sha256:
            raise IntegrityError(f"{prompts_file} is not what this Run asked: its sha256 differs from the manifest's")
        media.look_in(directory / "media")
        return cls(directory, manifest, read_prompts(prompts_file))

    @property
    def spec(self) -> RunSpec:
        """Spec of the Run: model, suite and settings."""
        return self.manifest.spec

    @property
    def is_shard(self) -> bool:
        """Whether the Run is one shard of a sharded Run."""
        return self.directory.parent.name == SHARDS

    def parts(self) -> Iterator[Run]:
        """Yield the parts that are read one at a time: the Run itself, or each of its shards."""
        yield self

    @property
    def n_asked(self) -> int:
        """Number of answers that the Run needs: prompts × turns × draws."""
        return len(self._keys)

    @property
    def state(self) -> Word:
        """How far the Run is, in the word that every command uses."""
        answers = self._read_responses()
        failed = sum(response.status == "error" for response in answers.values())
        return state_word(
            n_asked=self.n_asked,
            n_answered=len(answers),
            failed=failed,
            is_sealed=self.is_sealed,
            is_at_work=not self.is_sealed and is_held(self.directory),
        )

    @property
    def is_sealed(self) -> bool:
        """Whether a summary of exactly these rows is stored."""
        return (self.directory / SUMMARY).exists()

    @property
    def damage(self) -> Damage:
        """Damage in the rows read so far."""
        return self._response_damage + self._verdict_damage

    def prompts(self) -> tuple[Prompt, ...]:
        """Return the prompts, in the suite's order."""
        return self._prompts

    def responses(self) -> list[Response]:
        """Return one Response for each key that has any, in the order of the prompts; failed calls too."""
        responses = self._read_responses()
        return [responses[key] for key in self._keys if key in responses]

    def missing(self, *, again: bool = False) -> list[Key]:
        """Return the keys without an answer, in the order of the prompts: never asked, lost, or failed.

        Calls that failed for good (`failure` is `final`: too long a context, an unknown parameter) would fail again,
        and are left out unless `again`.
        """
        responses = self._read_responses()
        return [
            key
            for key in self._keys
            if key not in responses
            or (responses[key].status == "error" and (again or responses[key].failure != "final"))
        ]

    def verdicts(self) -> list[Verdict]:
        """Return the last Verdict of every (response, constraint, view), by prompt, constraint and view.

        Verdicts on an answer that has since been replaced are left out and counted in `damage.stale`.
        """
        answers = {key: answer_hash(response) for key, response in self._read_responses().items()}
        damage, rows = Damage(), {}
        for row in read_segments(self.directory / "verdicts", StoredVerdict, damage):
            key = (row.prompt_id, row.turn, row.draw)
            if answers.get(key) == row.answer:
                rows[key, row.index, row.view] = row
            else:
                damage.stale += 1
        self._verdict_damage = damage
        place = {key: number for number, key in enumerate(self._keys)}
        order = sorted(rows, key=lambda name: (place[name[0]], name[1], name[2] != "strict"))
        return [Verdict(*astuple(rows[name])[:_VERDICT_FIELDS]) for name in order]

    def to_frame(self, *, level: Level = "prompt", library: str | None = None) -> Any:
        """Return the Run as a DataFrame of pandas or Polars, a row a prompt, an answer or a constraint.

        See `store.frames`, whose `frame_of` takes several Runs.

        Raises:
            UsageError: There is no such level or library.
            MissingExtra: Neither pandas nor Polars is installed.
        """
        return frame_of(self, level=level, library=library)

    def __repr__(self) -> str:
        """Return the model and suite, how many prompts passed, and the directory."""
        state: str = self.state
        if self.is_sealed:
            rate = self.summary().overall.prompt_strict
            share = "–" if rate.of_all is None else f"{100 * rate.of_all:.1f} %"
            state = f"{rate.passed} of {rate.n} prompts passed (strict, {share})"
        return f"<Run {self.spec.model} on {self.spec.suite}: {state}; {self.directory}>"

    def _repr_html_(self) -> str:
        """Return the table that a notebook shows: the rates with their denominators, and the directory."""
        heading, rows = f"{self.spec.model} on {self.spec.suite}", {"state": str(self.state)}
        if self.is_sealed:
            overall, account = self.summary().overall, self.summary().accounting
            shares = {
                "prompts passed (strict)": overall.prompt_strict,
                "prompts passed (loose)": overall.prompt_loose,
                "constraints passed (strict)": overall.instruction_strict,
            }
            for name, rate in shares.items():
                low, high = rate.low, rate.high
                interval = "" if low is None or high is None else f", 95 % interval {100 * low:.1f} to {100 * high:.1f}"
                share = f"– ({rate.reason})" if rate.of_all is None else f"{100 * rate.of_all:.1f} %"
                rows[name] = f"{share} ({rate.passed} of {rate.n}{interval})"
            rows["answers"] = f"{account.n}, of them {account.ok} ok, {account.error} failed, {account.missing} missing"
        return notebook_table(heading, rows | {"directory": str(self.directory)})

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with a row for each verdict: what was asked and answered, and the verdict's fields.

        Answers without a verdict (failed calls) have one row with an empty `outcome`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas as pd  # type: ignore[import-untyped,unused-ignore]
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "to_pandas needs the package 'pandas', which is not installed. Run: pip install pandas"
            ) from error
        texts = {prompt.id: prompt for prompt in self._prompts}
        verdicts: dict[Key, list[Verdict | None]] = {}
        for verdict in self.verdicts():
            verdicts.setdefault((verdict.prompt_id, verdict.turn, verdict.draw), []).append(verdict)
        rows = []
        for response in self.responses():
            columns = {"prompt_id": response.prompt_id, "turn": response.turn, "draw": response.draw}
            columns |= {
                "prompt": texts[response.prompt_id].turns[response.turn].text,
                "slice": texts[response.prompt_id].tags.get("slice", ""),
            }
            columns |= {"response": response.said, "status": response.status}
            fields = ("index", "constraint_id", "view", "outcome", "reason", "score", "verifier_version")
            answer_verdicts = verdicts.get(response.key) or [None]
            rows += [columns | {name: getattr(verdict, name, None) for name in fields} for verdict in answer_verdicts]
        return pd.DataFrame(rows)

    def append_response(self, response: Response) -> None:
        """Add one answer, or one failed call; it is safe at the next flush.

        Raises:
            ResourceError: The disk is full; earlier rows are safe.
            ValueError: The Run did not ask this.
        """
        if response.key not in self._known_keys:
            raise ValueError(f"Response {response.key} answers nothing that {self.directory} asked")
        responses = self._read_responses()
        self._unseal()
        self._response_writer.append(response)
        _take(responses, response)

    def append_step(self, step: EpisodeStep) -> None:
        """Add one step of an episode, and flush: what was done in a world is never asked for again.

        Raises:
            ResourceError: The disk is full; earlier rows are safe.
        """
        self._step_writer.append(step)
        self._step_writer.flush()

    def steps(self) -> dict[tuple[str, int], list[EpisodeStep]]:
        """Return the stored steps of every (prompt_id, draw) that has any, in order.

        Of several rows for one step, the last counts.
        """
        damage = Damage()
        episodes = in_order(read_segments(self.directory / "steps", EpisodeStep, damage))
        self._response_damage += damage
        return episodes

    def append_verdicts(self, verdicts: Iterable[Verdict]) -> None:
        """Add verdicts on answers that were appended before.

        Raises:
            ResourceError: The disk is full; earlier rows are safe.
        """
        responses = self._read_responses()
        for verdict in verdicts:
            response = responses.get((verdict.prompt_id, verdict.turn, verdict.draw))
            if response is None:
                raise ValueError(
                    f"A verdict on {verdict.prompt_id!r} turn {verdict.turn} draw {verdict.draw}, which has no answer"
                )
            self._unseal()
            fields = {name: getattr(verdict, name) for name in Verdict.__struct_fields__}
            self._verdict_writer.append(StoredVerdict(**fields, answer=answer_hash(response)))

    def flush(self) -> None:
        """Write everything appended so far to the disk."""
        self._step_writer.flush()
        self._response_writer.flush()  # first, so that a verdict never outlives its answer
        self._verdict_writer.flush()

    def seal(self, summary: Summary) -> None:
        """Flush, and store the summary of all rows with a seal of the whole Run.

        Appending removes the summary again.
        """
        self.flush()
        data = encode(summary) + b"\n"
        try:
            add_seal(self.directory, data)
            write_atomic(self.directory / SUMMARY, data)
        except OSError as error:
            raise ResourceError(f"Cannot write the summary into {self.directory}: {error.strerror or error}") from error

    def summary(self) -> Summary:
        """Return the stored summary.

        Raises:
            UsageError: The Run is not finished.
        """
        if not self.is_sealed:
            raise UsageError(
                f"{self.directory} has no summary: it is unfinished. Run the same command again, or: "
                f"adhere rescore {self.directory}"
            )
        file = self.directory / SUMMARY
        try:
            return decode(read_regular(file), Summary)
        except IntegrityError as error:
            raise IntegrityError(f"{file}: {error}. adhere rescore {self.directory} writes it anew") from error

    def close(self) -> None:
        """Flush and close the files."""
        try:
            self._step_writer.close()
            self._response_writer.close()
        finally:
            self._verdict_writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read_responses(self) -> dict[Key, Response]:
        if self._responses is None:
            damage = Damage()
            responses: dict[Key, Response] = {}
            for response in read_segments(self.directory / "responses", Response, damage):
                if response.key in self._known_keys:
                    _take(responses, response)
                else:
                    damage.corrupt.append(f"responses: {response.key} answers nothing that this Run asked")
            self._responses, self._response_damage = responses, damage
        return self._responses

    def _unseal(self) -> None:
        """Remove the summary, which must not stand beside rows that it does not count."""
        (self.directory / SUMMARY).unlink(missing_ok=True)
        if self.is_shard:
            (self.directory.parent.parent / SUMMARY).unlink(missing_ok=True)


@contextmanager
def alone(directory: Path, *, wait: bool = True, beside: bool = False) -> Iterator[bool]:
    """Hold a directory, among all processes that ask for it by this function; a killed process lets go.

    The context's value tells whether it is held. Appending rows needs no lock. A summary does if two processes write
    the same Run, for one would count rows while the other adds some. Without `flock` on the system nothing is held, and
    the value is True.

    Args:
        directory: The directory, which is made if missing.
        wait: Whether to wait until the holder lets go; else the value is False at once.
        beside: Share the directory with others who ask with `beside`; who asks without holds it alone.

    Raises:
        ResourceError: The directory cannot be made.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        yield True
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise ResourceError(f"Cannot start a Run in {directory}: {error.strerror or error}") from error
    try:
        is_held = True
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if beside else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            is_held = False
        except OSError:  # a file system without locks
            pass
        yield is_held
    finally:
        os.close(descriptor)


def is_held(directory: Path) -> bool:
    """Tell whether a process holds a directory by `alone`."""
    with alone(directory, wait=False) as is_free:
        return not is_free


@asynccontextmanager
async def alone_in_turn(directory: Path, say: Callable[[str], None], *, beside: bool = False) -> AsyncIterator[None]:
    """Hold a directory as `alone` does, waiting without blocking the event loop; `say` is called once if it waits.

    Raises:
        ResourceError: The directory cannot be made.
    """
    is_told = False
    while True:
        with alone(directory, wait=False, beside=beside) as is_mine:
            if is_mine:
                yield
                return
        if not is_told:
            say(f"Another process is at work on {directory}; waiting for it to end")
            is_told = True
        await asyncio.sleep(WAIT_S)


def _refuse_other(run: Run, spec: RunSpec, prompts: Sequence[Prompt]) -> None:
    """Raise RunMismatch unless spec and prompts are what is stored."""
    lines = differences(run.spec, spec)
    if not lines and content_hash_of_list([], prompts) != content_hash_of_list([], run.prompts()):
        lines = [f"prompts: stored {len(run.prompts())}, asked {len(prompts)}, with other ids or texts"]
    if lines:
        raise RunMismatch(
            f"{run.directory} holds another Run:\n  " + "\n  ".join(lines) + "\n"
            "Choose another directory, ask for what is stored, or delete the directory to start anew"
        )


def _take(responses: dict[Key, Response], response: Response) -> None:
    """Store a response under its key; a failed call never replaces an answer."""
    before = responses.get(response.key)
    if replaces(response.status, before.status if before is not None else None):
        responses[response.key] = response


def replaces(status: Status, before: Status | None) -> bool:
    """Tell whether a row with this status replaces the row before it with the same key.

    The last row does, but a failed call never replaces an answer.
    """
    return before is None or before == "error" or status != "error"


def answer_hash(response: Response) -> str:
    """Return the hash by which a stored verdict names the answer that it is about."""
    parts = [response.text, response.status]
    did = response.calls or response.steps
    return content_hash([*parts, did] if did else parts)[:16]


def check_prompts(prompts: Sequence[Prompt], spec: RunSpec) -> None:
    """Refuse what no Run can ask.

    Raises:
        UsageError: There are no prompts or no draws, or two prompts have one id.
    """
    if not prompts:
        raise UsageError(f"Suite {spec.suite!r} has no prompts to ask")
    if spec.draws < 1:
        raise UsageError(f"draws={spec.draws} must be at least 1")
    seen: set[str] = set()
    for prompt in prompts:
        if prompt.id in seen:
            raise UsageError(f"Suite {spec.suite!r} has two prompts with the id {prompt.id!r}")
        seen.add(prompt.id)
