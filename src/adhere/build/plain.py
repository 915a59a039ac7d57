"""Build a pool of plain answers: what the model says to queries without constraints.

The pool has as many rows as another pool's SFT table, of about the same lengths. SFT on verified answers teaches both
to follow and to end an answer; training on this pool teaches only the second.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from adhere.build.decontaminate.parts import Report
from adhere.build.draws import draw_answers
from adhere.build.filter import full_sentences
from adhere.build.manifest import MANIFEST, POOL_VERSION, Manifest
from adhere.build.pool import FILES, Pool
from adhere.build.rows import Limits
from adhere.errors import Incomplete
from adhere.models.base import Model
from adhere.pipeline.guard import guard
from adhere.progress import Progress
from adhere.schema import (
    Prompt,
    Record,
    Response,
    Sampling,
    SftRow,
    Turn,
    content_hash,
    encode,
    write_atomic,
    write_rows,
)

DRAWN_PER_ROW = 4  # many answers of a small model are cut at the token limit: they do not end, so they are left out


def plain_prompts(prompts: Sequence[Prompt], texts: Callable[[Prompt], str]) -> list[Prompt]:
    """Return a prompt without constraints for each distinct query of `prompts`; `texts` returns the query of one."""
    by_query = {texts(prompt): prompt for prompt in reversed(prompts)}
    return [
        msgspec.structs.replace(prompt, id=f"plain-{prompt.id}", turns=(Turn(text),))
        for text, prompt in reversed(by_query.items())
    ]


def build_plain_pool(
    model: Model,
    prompts: Sequence[Prompt],
    *,
    like: Sequence[SftRow],
    tokens: Callable[[str], int],
    sampling: Sampling,
    directory: Path,
    contamination: Report,
    progress: Progress,
    shortened_ids: frozenset[str] = frozenset(),
) -> Pool:
    """Draw answers, choose one for each row of `like`, the nearest in length, and store them.

    Args:
        model: The start model.
        prompts: Queries without constraints.
        like: SFT rows of another pool.
        tokens: Gives the length of a text in tokens.
        sampling: How answers are drawn; their seeds are derived from its seed.
        directory: Where the pool is stored.
        contamination: The comparison of the queries with the held-out prompts.
        progress: Where to report.
        shortened_ids: Ids of prompts whose cut answers are shortened to their last full sentence. Of other prompts only
            answers that ended by themselves are kept.

    Raises:
        Incomplete: Some calls failed, or too few answers ended.
    """
    draws = max(2, -(-DRAWN_PER_ROW * len(like) // len(prompts)))
    responses = draw_answers(
        model, prompts, draws=draws, sampling=sampling, directory=directory / "draws", progress=progress
    )
    ended_rows = [
        SftRow(prompt.id, prompt.text, text, "plain", (), ())
        for prompt in prompts
        for answer in responses.by_prompt[prompt.id]
        if (text := _usable_text(prompt, answer, shorten=prompt.id in shortened_ids))
    ]
    if len(ended_rows) < len(like):
        raise Incomplete(
            f"{len(ended_rows)} of {draws * len(prompts)} plain answers of {model.name} ended by themselves, "
            f"{len(like)} are needed, as many as SFT has rows. Set a larger data.max_new_tokens or a "
            "smaller limits.sft_rows"
        )
    rows = _nearest(ended_rows, [tokens(row.completion) for row in like], tokens)
    files: dict[str, Sequence[Record]] = dict(zip(FILES, (prompts, rows, (), ()), strict=True))
    manifest = Manifest(
        version=POOL_VERSION,
        model=model.name,
        engine=model.engine,
        sampling=sampling,
        draws=draws,
        seed=sampling.seed,
        repair=False,
        reward="dense",
        limits=Limits(),
        verifiers={},
        prompts_sha256=content_hash(list(prompts)),
        files={name: write_rows(directory / name, records) for name, records in files.items()},
        rows={name: len(records) for name, records in files.items()},
        origins={"sft": {"plain": len(rows)}, "pairs": {}},
        answers_passed=len(ended_rows),
        prompts_without_sft=len(prompts) - len({row.prompt_id for row in rows}),
        kinds=(),
        unreachable=(),
        not_scored=(),
        contamination=contamination,
        ledger=responses.ledger,
    ).sealed()
    write_atomic(directory / MANIFEST, encode(manifest) + b"\n")  # last: a pool without it is unfinished
    return Pool(directory, list(prompts), rows, [], [], manifest)


def _usable_text(prompt: Prompt, answer: Response, *, shorten: bool) -> str | None:
    """Return the text of an answer that ended by itself; None if it is empty.

    Of a cut answer, return its full sentences if `shorten` is set and they do not repeat themselves.
    """
    if answer.status == "ok":
        return answer.text if answer.text.strip() else None
    text = full_sentences(answer.text.strip(), answer.status) if shorten else None
    return text if text and not guard(prompt, text).is_repetitive else None


def _nearest(rows: Sequence[SftRow], lengths: Sequence[int], tokens: Callable[[str], int]) -> list[SftRow]:
    """Return a different row for each of `lengths`, with about so many tokens.

    The longest length chooses first, each the nearest row that is unused. Rows come in the order of `lengths`.
    """
    unused = sorted(((tokens(row.completion), place) for place, row in enumerate(rows)))
    chosen: dict[int, SftRow] = {}
    for target in sorted(range(len(lengths)), key=lambda place: -lengths[place]):
        at = bisect.bisect_left(unused, (lengths[target], -1))
        near = [place for place in (at - 1, at) if 0 <= place < len(unused)]
        best = min(near, key=lambda place: abs(unused[place][0] - lengths[target]))
        chosen[target] = rows[unused.pop(best)[1]]
    return [chosen[place] for place in range(len(lengths))]
