"""A Run of more answers than one process should hold: consecutive prompts in shards, each a Run, that are read as one.

    shards.json       the spec and how much there is; written when every shard is there
    shards/00017/     a Run (`store.run`) with the spec of the whole and its part of the prompts
    summary.json      the sum of the shards' summaries; present only while nothing was appended since

`adhere eval` starts one where there are more than MOST_KEYS answers, and `adhere draw` always. `load_run` reads either.
Whoever reads millions of answers goes by `parts()`, of which one at a time is in memory.
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
"""Of one shard: enough that the slow last answers of each cost little, few enough to be held in memory."""


class Sharding(Record, frozen=True):
    """`shards.json`. `prompts_sha256` is of the shards' `prompts.jsonl`, one behind the other."""

    version: int
    spec: RunSpec
    shards: int
    n_prompts: int
    n_asked: int
    prompts_sha256: str


class Outline:
    """Adds up what the shards of a sharded Run ask, one after the other."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._shards = self._prompts = self._turns = 0

    def add(self, prompts: Sequence[Prompt]) -> None:
        """The next shard."""
        self._shards, self._prompts = self._shards + 1, self._prompts + len(prompts)
        for prompt in prompts:
            self._turns += len(prompt.turns)
            self._digest.update(encode(prompt) + b"\n")

    @property
    def prompts_sha256(self) -> str:
        """The sha256 of all prompts so far."""
        return self._digest.hexdigest()

    def write(self, directory: Path, spec: RunSpec) -> Sharding:
        """Say that these shards, which lie in `directory`, are one Run.

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
    """See the module. It is read like a Run, and written shard by shard."""

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
            UsageError: There is none.
            IntegrityError: A file is damaged, or a shard is gone.
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
        """Make the shards that are not there yet, or go on with the sharded Run that is.

        Raises:
            RunMismatch: The one that is there has another spec or other prompts.
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
        """The shards, each read when it is its turn."""
        for shard in self.shards:
            part = Run.load(shard)
            if part.manifest.spec_sha256 != self.manifest.spec_sha256:
                raise IntegrityError(f"{shard} has another spec than {self.directory}")
            yield part
            self._damage += part.damage

    def summaries(self) -> Iterator[Summary]:
        """The shards' summaries, without their rows.

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
        """See Run."""
        return self.sharding.n_asked

    @property
    def is_sealed(self) -> bool:
        """See Run."""
        return (self.directory / SUMMARY).exists() and all((shard / SUMMARY).exists() for shard in self.shards)

    @property
    def state(self) -> Word:
        """See Run."""
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
        """See Run."""
        return self._damage

    def prompts(self) -> tuple[Prompt, ...]:
        """All of them, in memory."""
        return tuple(chain.from_iterable(part.prompts() for part in self.parts()))

    def responses(self) -> list[Response]:
        """All of them, in memory; see `parts`."""
        return list(chain.from_iterable(part.responses() for part in self.parts()))

    def missing(self, *, again: bool = False) -> list[Key]:
        """See Run."""
        return list(chain.from_iterable(part.missing(again=again) for part in self.parts()))

    def verdicts(self) -> list[Verdict]:
        """All of them, in memory; see `parts`."""
        return list(chain.from_iterable(part.verdicts() for part in self.parts()))

    def steps(self) -> dict[tuple[str, int], list[EpisodeStep]]:
        """See Run."""
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
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""

    def seal(self, summary: Summary) -> None:
        """Store the sum of the shards' summaries; each shard has seals of its own."""
        try:
            write_atomic(self.directory / SUMMARY, encode(summary) + b"\n")
        except OSError as error:
            raise ResourceError(f"Cannot write the summary into {self.directory}: {error.strerror or error}") from error


def load_run(directory: Path) -> Run:
    """Read the Run in `directory`, sharded or not; see `Run.load` and `ShardedRun.load`."""
    return ShardedRun.load(directory) if (directory / SHARDED).is_file() else Run.load(directory)


def manifest_of(directory: Path) -> Manifest:
    """The manifest of a Run, sharded or not, without its rows.

    Raises:
        OSError, IntegrityError: It is not there, or damaged.
    """
    if (directory / SHARDED).is_file():
        return ShardedRun.load(directory).manifest
    return decode(read_regular(directory / "manifest.json"), Manifest)


def cuts(prompts: Iterable[Prompt], size: int) -> Iterator[list[Prompt]]:
    """So many prompts at a time, or more where the last ones belong to one group; one cut is in memory at a time."""
    members: list[Prompt] = []
    for prompt in prompts:
        is_apart = not members or "group" not in prompt.tags or prompt.tags["group"] != members[-1].tags.get("group")
        if len(members) >= size and is_apart:
            yield members
            members = []
        members.append(prompt)
    if members:
        yield members
