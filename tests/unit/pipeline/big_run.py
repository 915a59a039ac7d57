"""A sharded Run of any size, written without a model or a judge: rows as they would be stored."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from adhere.pipeline.evaluate import rescore
from adhere.pipeline.judge import verifier_version
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Usage, encode
from adhere.store.manifest import RunSpec
from adhere.store.run import Run, StoredVerdict, answer_hash
from adhere.store.sharded import Outline, ShardedRun
from adhere.store.shelf import SHARDS

WORDS = "oven river quiet paper seven lamp under bright garden stone often winter table green music".split()
REFS = (ConstraintRef("length:at_least", {"least": 5}), ConstraintRef("keywords:include", {"words": ["river"]}))
DRAWS = 4


def write_big(directory: Path, *, shards: int, prompts: int, seed: int = 0) -> ShardedRun:
    """`prompts` in each shard, four answers each of 12 to 40 words, four verdicts each.

    Two constraints under two views. The first shard is drawn and counted. The others hold the same under other ids of
    prompts, and so do their summaries.
    """
    spec = RunSpec(
        model=f"scripted/big-{seed}",
        engine=EngineInfo("scripted", "1", "none"),
        suite="big",
        suite_version="1",
        suite_sha256="0" * 64,
        sampling=Sampling(),
        draws=DRAWS,
        slices=("even", "odd"),
    )
    outline, places = Outline(), [directory / SHARDS / f"{number:05}" for number in range(shards)]
    for number, place in enumerate(places):
        asked = [
            Prompt(f"s{number:05}p{n}", (Turn(f"Say {n}.", REFS),), tags={"slice": ("even", "odd")[n % 2]})
            for n in range(prompts)
        ]
        outline.add(asked)
        Run.open(place, spec, asked).close()
    _write_rows(places[0], random.Random(seed))
    whole = ShardedRun(directory, outline.write(directory, spec))
    rescore(places[0])
    for number, place in enumerate(places[1:], start=1):
        for name in ("responses/0.jsonl", "verdicts/0.jsonl", "summary.json"):
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_bytes((places[0] / name).read_bytes().replace(b'"s00000p', b'"s%05dp' % number))
    return whole


def _write_rows(shard: Path, rng: random.Random) -> None:
    responses, verdicts = bytearray(), bytearray()
    for prompt in Run.load(shard).prompts():
        for draw in range(DRAWS):
            text = " ".join(rng.choices(WORDS, k=rng.randrange(12, 41)))
            response = Response(prompt.id, 0, draw, text, "ok", usage=Usage(20, 30))
            responses += encode(response) + b"\n"
            verdicts += b"".join(encode(one) + b"\n" for one in _verdicts(response, rng))
    for folder, rows in (("responses", responses), ("verdicts", verdicts)):
        (shard / folder).mkdir(exist_ok=True)
        (shard / folder / "0.jsonl").write_bytes(rows)


def _verdicts(response: Response, rng: random.Random) -> Iterator[StoredVerdict]:
    name = answer_hash(response)
    for index, ref in enumerate(REFS):
        outcome = "pass" if rng.random() < 0.5 + 0.2 * index else "fail"
        for view in ("strict", "loose"):
            yield StoredVerdict(
                response.prompt_id,
                0,
                response.draw,
                index,
                ref.id,
                view,
                outcome,
                "found 3 of them, needed at least 1",
                verifier_version=verifier_version(ref),
                answer=name,
            )
