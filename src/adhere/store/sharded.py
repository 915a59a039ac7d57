"""Store a Run of more answers than one process should hold, as shards of consecutive prompts; each shard is a Run.

    shards.json       the spec and how much there is; written when every shard is there
    shards/00017/     a Run (`store.run`) with the spec of the whole and its part of the prompts
    summary.json      the sum of the shards' summaries; present only while nothing was appended since

`adhere eval` starts one for more than MOST_KEYS answers, and `adhere draw` always. `load_run` reads either kind. To
read millions of answers use `parts()`, of which one at a time is in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Never, Self

import msgspec

from adhere.errors import IntegrityError, ResourceError, RunMismatch, UsageError
from adhere.schema import Prompt, Record, Response, Verdict, decode, encode, write_atomic
from adhere.store.files import read_regular
from adhere.store.manifest import Manifest, RunSpec, differences
from adhere.store.run import EpisodeStep, Key, Run, check_prompts, is_held
from adhere.store.seals.chain import SUMMARY
from adhere.store.segments import Damage
from adhere.store.shelf import SHARDED, SHARDS, Word, state_word
from adhere.store.summary import Summary

SHARD_ANSWERS = 50_000
"""Answers of one shard: enough that the slow last answers cost little, few enough to be held in memory."""


class Sharding(Record, frozen=True):
    """Holds `shards.json`. `prompts_sha256` is of the shards' `prompts.jsonl`, concatenated."""

    version: int
    spec: RunSpec
    shards: int
    n_prompts: int
    n_asked: int
    prompts_sha256: str


class Outline:
    """Counts and hashes the prompts of a sharded Run, shard by shard."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._shards = self._prompts = self._turns = 0

    def add(self, prompts: Sequence[Prompt]) -> None:
        """Count the next shard."""
        self._shards, self._prompts = self._shards + 1, self._prompts + len(prompts)
        for prompt in prompts:
            self._turns += len(prompt.turns)
            self._digest.update(encode(prompt) + b"\n")

    @property
    def prompts_sha256(self) -> str:
        """The sha256 of all prompts so far."""
        return self._digest.hexdigest()

    def write(self, directory: Path, spec: RunSpec) -> Sharding:
        """Write `shards.json`, which makes the shards in `directory` one Run.

        Raises:
            ResourceError: The directory cannot be written.
        """
        sharding = Sharding(1, spec, self._shards, self._prompts, self._turns * spec.draws, self.prompts_sha256)
        try:
            write_atomic(directory / SHARDED, encode(sharding) + b"\n")
        except OSError as error:
            raise ResourceError(f"Cannot write into {directory}: {error.strerror or error}") from error
        return sharding


class ShardedRun(Run):
    """Is a Run in shards, which is read like a Run and written shard by shard; see the module."""

    def __init__(self, directory: Path, sharding: Sharding) -> None:
        self.directory, self.sharding = directory, sharding
        self.shards = tuple(directory / SHARDS / f"{number:05}" for number in range(sharding.shards))
        self._damage = Damage()
        try:
            manifest = decode(read_regular(self.shards[0] / "manifest.json"), Manifest)
        except FileNotFoundError as error:
            raise IntegrityError(f"{self.shards[0]} is gone: {directory} is not whole") from error
        self.manifest = msgspec.structs.replace(
            manifest, n_prompts=sharding.n_prompts, prompts_sha256=sharding.prompts_sha256
        )

    @classmethod
    def load(cls, directory: Path) -> Self:
        """Open the sharded Run in `directory`.

        Raises:
            UsageError: `directory` holds no sharded Run.
            IntegrityError: A file is damaged, or a shard is missing.
        """
        file = directory / SHARDED
        if not file.is_file():
            raise UsageError(f"{directory} is no sharded Run: it has no {SHARDED}")
        try:
            return cls(directory, decode(read_regular(file), Sharding))
        except IntegrityError as error:
            raise IntegrityError(f"{file}: {error}") from error

    @classmethod
    def start(
        cls, directory: Path, spec: RunSpec, prompts: Sequence[Prompt], *, shard_answers: int = SHARD_ANSWERS
    ) -> Self:
        """Make the shards that are missing, or resume the sharded Run in `directory`.

        Raises:
            RunMismatch: The Run that is there has another spec or other prompts.
            UsageError: See `Run.open`.
            ResourceError: The directory cannot be written.
        """
        check_prompts(prompts, spec)
        if (directory / SHARDED).exists():
            run = cls.load(directory)
            lines = differences(run.spec, spec)
            new_outline = Outline()
            new_outline.add(prompts)
            if not lines and run.sharding.prompts_sha256 != new_outline.prompts_sha256:
                lines = [f"prompts: stored {run.sharding.n_prompts}, asked {len(prompts)}, with other ids or texts"]
            if lines:
                raise RunMismatch(
                    f"{directory} holds another Run:\n  " + "\n  ".join(lines) + "\nChoose another directory"
                )
            return run
        outline = Outline()
        for number, members in enumerate(cuts(prompts, max(1, shard_answers // spec.draws))):
            Run.open(directory / SHARDS / f"{number:05}", spec, members).close()
            outline.add(members)
        return cls(directory, outline.write(directory, spec))

    def parts(self) -> Iterator[Run]:
        """Yield the shards, each read when it is its turn."""
        for shard in self.shards:
            part = Run.load(shard)
            if part.manifest.spec_sha256 != self.manifest.spec_sha256:
                raise IntegrityError(f"{shard} has another spec than {self.directory}")
            yield part
            self._damage += part.damage

    def summaries(self) -> Iterator[Summary]:
        """Yield the shards' summaries, without their rows.

        Raises:
            UsageError: A shard is not finished.
        """
        for shard in self.shards:
            if not (shard / SUMMARY).exists():
                raise UsageError(
                    f"{shard} is unfinished. Run the same command again, or: adhere rescore {self.directory}"
                )
            yield decode(read_regular(shard / SUMMARY), Summary)

    @property
    def n_asked(self) -> int:
        return self.sharding.n_asked

    @property
    def is_sealed(self) -> bool:
        return (self.directory / SUMMARY).exists() and all((shard / SUMMARY).exists() for shard in self.shards)

    @property
    def state(self) -> Word:
        if self.is_sealed:
            counts = self.summary().accounting
            n_answered, failed = counts.n - counts.missing, counts.error
        else:
            statuses = [response.status for part in self.parts() for response in part.responses()]
            n_answered, failed = len(statuses), statuses.count("error")
        is_at_work = not self.is_sealed and any(map(is_held, self.shards))
        return state_word(
            n_asked=self.n_asked, n_answered=n_answered, failed=failed, is_sealed=self.is_sealed, is_at_work=is_at_work
        )

    @property
    def damage(self) -> Damage:
        return self._damage

    def prompts(self) -> tuple[Prompt, ...]:
        """Return all prompts, in memory."""
        return tuple(chain.from_iterable(part.prompts() for part in self.parts()))

    def responses(self) -> list[Response]:
        """Return all responses, in memory; see `parts`."""
        return list(chain.from_iterable(part.responses() for part in self.parts()))

    def missing(self, *, again: bool = False) -> list[Key]:
        return list(chain.from_iterable(part.missing(again=again) for part in self.parts()))

    def verdicts(self) -> list[Verdict]:
        """Return all verdicts, in memory; see `parts`."""
        return list(chain.from_iterable(part.verdicts() for part in self.parts()))

    def steps(self) -> dict[tuple[str, int], list[EpisodeStep]]:
        return {name: steps for part in self.parts() for name, steps in part.steps().items()}

    def append_response(self, response: Response) -> Never:
        """Raise TypeError: a Run in shards is written shard by shard; see `parts`."""
        raise TypeError(f"{self.directory} is written shard by shard")

    def append_step(self, step: EpisodeStep) -> Never:
        """Raise TypeError: a Run in shards is written shard by shard; see `parts`."""
        raise TypeError(f"{self.directory} is written shard by shard")

    def append_verdicts(self, verdicts: Iterable[Verdict]) -> Never:
        """Raise TypeError: a Run in shards is written shard by shard; see `parts`."""
        raise TypeError(f"{self.directory} is written shard by shard")

    def flush(self) -> None:
        """Do nothing, for no rows wait."""

    def close(self) -> None:
        """Do nothing, for no file is open."""

    def seal(self, summary: Summary) -> None:
        """Store the sum of the shards' summaries; each shard has its own seals."""
        try:
            write_atomic(self.directory / SUMMARY, encode(summary) + b"\n")
        except OSError as error:
            raise ResourceError(f"Cannot write the summary into {self.directory}: {error.strerror or error}") from error


def load_run(directory: Path) -> Run:
    """Read the Run in `directory`, sharded or not; see `Run.load` and `ShardedRun.load`."""
    return ShardedRun.load(directory) if (directory / SHARDED).is_file() else Run.load(directory)


def manifest_of(directory: Path) -> Manifest:
    """Return the manifest of a Run, sharded or not, without its rows.

    Raises:
        OSError, IntegrityError: The manifest is missing or damaged.
    """
    if (directory / SHARDED).is_file():
        return ShardedRun.load(directory).manifest
    return decode(read_regular(directory / "manifest.json"), Manifest)


def cuts(prompts: Iterable[Prompt], size: int) -> Iterator[list[Prompt]]:
    """Yield lists of `size` prompts, or more if the last ones belong to one group; one list is in memory at a time."""
    members: list[Prompt] = []
    for prompt in prompts:
        is_apart = not members or "group" not in prompt.tags or prompt.tags["group"] != members[-1].tags.get("group")
        if len(members) >= size and is_apart:
            yield members
            members = []
        members.append(prompt)
    if members:
        yield members
