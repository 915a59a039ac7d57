"""The manifest of a pool: how it was made, what each kind yielded, and the hashes of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from adhere.build.decontaminate.parts import Report
from adhere.build.draws import Ledger
from adhere.build.rows import Item, Limits
from adhere.errors import IntegrityError
from adhere.pipeline.reward import RewardKind
from adhere.schema import EngineInfo, PairRow, Record, Sampling, SftRow, content_hash, decode

POOL_VERSION = 1
MANIFEST = "manifest.json"


class KindYield(Record, frozen=True):
    """Counts what the draws yielded for one kind of constraint.

    `judged` = `passed` + `failed` + `undecided` counts answers under this constraint alone. `sft_*` and `pairs` count
    rows of prompts that have this kind.
    """

    kind: str
    prompts: int
    judged: int
    passed: int
    failed: int
    undecided: int
    sft_sampled: int
    sft_repaired: int
    pairs: int


class Manifest(Record, frozen=True):
    """Describes how a pool was made and what is in it.

    `unreachable` names kinds without a single SFT row: no arm can learn them from this pool by imitation.
    `answers_passed` counts draws that ended by themselves and keep every constraint. `not_scored` names prompts without
    an RL row, because a draw's score was undecided. `dropped` counts by fault the passing answers, repaired ones too,
    that were left out because they do not read as answers (`reading.fault_of`); empty in older pools. `sha256` is over
    all other fields.
    """

    version: int
    model: str
    engine: EngineInfo
    sampling: Sampling
    draws: int
    seed: int
    repair: bool
    reward: RewardKind
    limits: Limits
    verifiers: dict[str, str]
    prompts_sha256: str
    files: dict[str, str]
    rows: dict[str, int]
    origins: dict[str, dict[str, int]]
    answers_passed: int
    prompts_without_sft: int
    kinds: tuple[KindYield, ...]
    unreachable: tuple[str, ...]
    not_scored: tuple[str, ...]
    contamination: Report
    ledger: Ledger
    dropped: dict[str, int] = {}
    sha256: str = ""

    def sealed(self) -> Manifest:
        """Return a copy with its hash."""
        fields = msgspec.to_builtins(msgspec.structs.replace(self, sha256=""))
        if not self.dropped:  # a pool that is older than this field keeps its hash
            del fields["dropped"]
        return msgspec.structs.replace(self, sha256=content_hash(fields))


def load_manifest(directory: Path) -> Manifest:
    """Read the manifest of a stored pool.

    Raises:
        IntegrityError: The folder has no manifest, or it was changed or has another version.
    """
    path = directory / MANIFEST
    if not path.exists():
        raise IntegrityError(f"{path} is missing: {directory} holds no finished pool")
    manifest = decode(path.read_bytes(), Manifest)
    if manifest.version != POOL_VERSION:
        raise IntegrityError(
            f"{path}: pool version {manifest.version}, this adhere reads {POOL_VERSION}. Build it again"
        )
    if manifest.sealed().sha256 != manifest.sha256:
        raise IntegrityError(f"{path} was changed after it was made. Build the pool again: its draws are kept")
    return manifest


def yields(items: Sequence[Item], sft: Sequence[SftRow], pair_rows: Sequence[PairRow]) -> tuple[KindYield, ...]:
    """Return one KindYield for every kind in the prompts of `items`, sorted by id."""
    prompts_by_kind = Counter(ref.id for item in items for ref in item.prompt.constraints)
    outcomes = Counter(
        (verdict.constraint_id, verdict.outcome)
        for item in items
        for answer in item.answers
        for verdict in answer.verdicts
    )
    rows = Counter((kind, row.origin) for row in sft for kind in row.instruction_id_list)
    pairs_by_kind = Counter(kind for row in pair_rows for kind in row.instruction_id_list)
    return tuple(
        KindYield(
            kind=kind,
            prompts=prompts_by_kind[kind],
            judged=sum(outcomes[kind, outcome] for outcome in ("pass", "fail", "undecided")),
            passed=outcomes[kind, "pass"],
            failed=outcomes[kind, "fail"],
            undecided=outcomes[kind, "undecided"],
            sft_sampled=rows[kind, "sampled"],
            sft_repaired=rows[kind, "repaired"],
            pairs=pairs_by_kind[kind],
        )
        for kind in sorted(prompts_by_kind)
    )
