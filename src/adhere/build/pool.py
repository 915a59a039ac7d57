"""Build one pool of verified data, from which every stage of every arm takes its rows.

Arms are compared on equal data by construction: SFT rows, pairs and RL prompts come from the same prompts and the same
draws of the same start model, judged by the judge that measures. On disk:

    draws/          the answers, a stored Run
    prompts.jsonl   the training prompts that were kept, in order
    sft.jsonl       prompt, completion
    pairs.jsonl     prompt, chosen, rejected
    rl.jsonl        prompt and how the start model scored on it
    manifest.json   how it was made, what it yielded by kind, and the hashes of the files above
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from adhere.build.decontaminate.parts import Report, decontaminate
from adhere.build.draws import Ledger, draw_answers
from adhere.build.filter import judge_draws
from adhere.build.manifest import MANIFEST, POOL_VERSION, Manifest, load_manifest, yields
from adhere.build.reading import FAULTS
from adhere.build.rows import Limits, deal_rows, make_item, pair_rows, rl_row, sft_rows
from adhere.errors import ContaminationError, IntegrityError, UsageError
from adhere.models.base import Model
from adhere.pipeline.judge import verifier_version
from adhere.pipeline.responding.respond import Exchange, others_of
from adhere.pipeline.reward import RewardKind
from adhere.progress import Progress, Silent
from adhere.schema import (
    PairRow,
    Prompt,
    Record,
    RlRow,
    Sampling,
    SftRow,
    content_hash,
    derive_seed,
    encode,
    read_rows,
    write_atomic,
    write_rows,
)

FILES: dict[str, type[Record]] = {
    "prompts.jsonl": Prompt,
    "sft.jsonl": SftRow,
    "pairs.jsonl": PairRow,
    "rl.jsonl": RlRow,
}


@dataclasses.dataclass(frozen=True)
class Pool:
    """Holds prompts and the rows made from them. Equal pools have equal `sha256`."""

    directory: Path
    prompts: list[Prompt]
    sft: list[SftRow]
    pairs: list[PairRow]
    rl: list[RlRow]
    manifest: Manifest

    @property
    def sha256(self) -> str:
        """The hash of the data files; the cost of drawing is not part of it."""
        return content_hash(self.manifest.files)

    @property
    def ledger(self) -> Ledger:
        """The cost of drawing the answers."""
        return self.manifest.ledger


def build_pool(
    model: Model,
    prompts: Sequence[Prompt],
    *,
    draws: int,
    sampling: Sampling,
    directory: Path,
    seed: int = 0,
    repair: bool = True,
    reward: RewardKind = "dense",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    contamination: Report | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Draw answers, judge them, make rows and store the pool; a killed build resumes.

    Args:
        model: The start model, the one that every arm is trained from.
        prompts: Training prompts of one turn, with constraints.
        draws: Answers a prompt, at least 2 (a variance needs them).
        sampling: How answers are drawn; their seeds are derived from its seed.
        directory: Where the pool is stored.
        seed: Seed of the order of the rows.
        repair: Whether failing answers may be edited to pass. Without it, kinds that the model never manages have no
            rows.
        reward: The kind of score behind `score_mean` and `score_variance` of RL rows.
        limits: How much is kept.
        contamination: The comparison with the held-out prompts. Training prompts too similar to one are left out, and
            an overlap is an error. None: there are no held-out prompts.
        progress: Where to report.

    Raises:
        UsageError: Too few draws, no prompts, or prompts of several turns or without constraints.
        ContaminationError: Training and held-out prompts share a query, topic, family or wording, or nothing is left.
        RunMismatch: The directory holds another pool's draws.
        Incomplete: Some calls failed; the same build again tries those once more.
    """
    _refuse(prompts, draws, limits)
    report = contamination or decontaminate(prompts, ())
    clean_prompts = report.kept(prompts)
    if not clean_prompts:
        raise ContaminationError(f"Every training prompt is too like a held-out one. {report.message}")
    progress = progress or Silent()
    responses = draw_answers(
        model, clean_prompts, draws=draws, sampling=sampling, directory=directory / "draws", progress=progress
    )
    answers_by_prompt = [
        (prompt, judge_draws(prompt, responses.by_prompt[prompt.id], kind=reward)) for prompt in clean_prompts
    ]
    others = others_of(
        Exchange(prompt.text, answer.text, prompt.constraints)
        for prompt, answers in answers_by_prompt
        for answer in answers
    )
    items = []
    with progress.step("judge and repair", len(clean_prompts), "prompts") as step:
        for prompt, answers in answers_by_prompt:
            items.append(make_item(prompt, answers, limits, repair=repair, others=others))
            step.advance()
    sft = deal_rows([(item.prompt, sft_rows(item)) for item in items], limits.sft_rows, derive_seed(seed, "sft"))
    pairs = deal_rows([(item.prompt, pair_rows(item)) for item in items], limits.pair_rows, derive_seed(seed, "pairs"))
    rl_rows = [(item.prompt.id, rl_row(item)) for item in items]
    rl = [row for _, row in rl_rows if row is not None]
    files: dict[str, Sequence[Record]] = dict(zip(FILES, (clean_prompts, sft, pairs, rl), strict=True))
    kinds = yields(items, sft, pairs)
    manifest = Manifest(
        version=POOL_VERSION,
        model=model.name,
        engine=model.engine,
        sampling=sampling,
        draws=draws,
        seed=seed,
        repair=repair,
        reward=reward,
        limits=limits,
        verifiers={kind.kind: verifier_version(kind.kind) for kind in kinds},
        prompts_sha256=content_hash(clean_prompts),
        files={name: write_rows(directory / name, rows) for name, rows in files.items()},
        rows={name: len(rows) for name, rows in files.items()},
        origins={"sft": _origins(sft), "pairs": _origins(pairs)},
        answers_passed=sum(answer.passed for item in items for answer in item.answers),
        prompts_without_sft=sum(not item.sft for item in items),
        dropped={fault: sum(item.dropped[fault] for item in items) for fault in FAULTS},
        kinds=kinds,
        unreachable=tuple(kind.kind for kind in kinds if kind.sft_sampled + kind.sft_repaired == 0),
        not_scored=tuple(name for name, row in rl_rows if row is None),
        contamination=report,
        ledger=responses.ledger,
    ).sealed()
    write_atomic(directory / MANIFEST, encode(manifest) + b"\n")  # last: a pool without it is unfinished
    return Pool(directory, clean_prompts, sft, pairs, rl, manifest)


def _origins(rows: Sequence[SftRow | PairRow]) -> dict[str, int]:
    return dict(sorted(Counter(row.origin for row in rows).items()))


def load_pool(directory: Path) -> Pool:
    """Read a stored pool.

    Raises:
        IntegrityError: There is no finished pool, or a file differs from its hash in the manifest.
    """
    manifest = load_manifest(directory)
    rows: dict[str, list[Record]] = {}
    for name, kind in FILES.items():
        path = directory / name
        if not path.exists():
            raise IntegrityError(f"{path} is missing. Build the pool again: its draws are kept")
        got = hashlib.sha256(path.read_bytes()).hexdigest()
        if got != manifest.files.get(name):
            raise IntegrityError(
                f"{path} was changed after it was made: sha256 {got}, recorded {manifest.files.get(name)}. "
                f"Build the pool again: its draws are kept"
            )
        rows[name] = read_rows(path, kind)
    return Pool(
        directory,
        prompts=[row for row in rows["prompts.jsonl"] if isinstance(row, Prompt)],
        sft=[row for row in rows["sft.jsonl"] if isinstance(row, SftRow)],
        pairs=[row for row in rows["pairs.jsonl"] if isinstance(row, PairRow)],
        rl=[row for row in rows["rl.jsonl"] if isinstance(row, RlRow)],
        manifest=manifest,
    )


def _refuse(prompts: Sequence[Prompt], draws: int, limits: Limits) -> None:
    if draws < 2:
        raise UsageError(f"draws={draws} must be at least 2: the variance of a prompt's scores needs two")
    if not prompts:
        raise UsageError("No training prompts were given")
    for name, value in msgspec.structs.asdict(limits).items():
        if value is not None and value < 1:
            raise UsageError(f"limits: {name}={value} must be at least 1")
    repeated = [name for name, count in Counter(prompt.id for prompt in prompts).items() if count > 1]
    if repeated:
        raise UsageError(f"Training prompt id {repeated[0]!r} occurs more than once; ids must be unique")
    for prompt in prompts:
        if prompt.given:
            raise UsageError(
                f"Training prompt {prompt.id!r} has given messages; a pool takes one turn, which is all that is asked"
            )
        if len(prompt.turns) != 1 or prompt.system is not None or not prompt.constraints:
            raise UsageError(
                f"Training prompt {prompt.id!r} has {len(prompt.turns)} turns, "
                f"{len(prompt.constraints)} constraints and {'a' if prompt.system is not None else 'no'} system turn; "
                "a pool takes one turn with constraints, without system turn"
            )
