"""How fast a large store opens and groups by model: from its segments, from its summaries, from its Parquet.

Makes (once) a directory of 300 Runs of 541 prompts with 5 draws: 811,500 answers of about 1.1 kB and 2.5 million
verdicts, each Run with its summary. Every reading is a process of its own; its CPU and wall-clock time include Python's
start and all imports. The files were read before, so they come from the page cache, as they do right after a run.

    python -m benchmarks.runs.store --out /tmp/store            # makes what is missing, compacts, measures
    python -m benchmarks.runs.store --out /tmp/store --models 30
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from pathlib import Path

import msgspec
from benchmarks.costs import Cost, measure

from adhere.pipeline.summarize import summarize
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Usage, content_hash, encode
from adhere.store.manifest import RunSpec
from adhere.store.run import Run
from adhere.sweep.spec import Filter, SweepSpec

WORDS = (
    "the of and a to in is that it was for on are as with his they at be this from have or by one had not "
    "but what all were when we there can an your which their said if do will each about how up out them "
    "then she many some so these would other into has more her two like him see time could no make than "
    "first been its who now people my made over"
).split()
PROMPTS, DRAWS = 541, 5

READINGS = {
    "Parquet, current": ("runs", "from adhere.store.tables.grouped import group_counts as read"),
    "segments, every Run sealed (their summaries)": (
        "runs",
        "from adhere.store.tables.grouped import from_segments as read",
    ),
    "segments, a sweep that has only its journal (statuses; nothing is judged yet)": (
        "sweep",
        "from adhere.store.tables.grouped import from_segments as read",
    ),
    "segments, no Run sealed (every answer and verdict)": (
        "runs",
        (
            "from functools import partial; from adhere.store.tables.grouped import from_segments; "
            "read = partial(from_segments, use_summaries=False)"
        ),
    ),
    "DuckDB's `read_json` over the responses (statuses; no rule of the store applied)": (
        "runs",
        (
            "import duckdb; read = lambda root: duckdb.sql(\"SELECT split(filename, '/')[-3], status, count(*) "
            "FROM read_json('\" + str(root) + \"/*/responses/*.jsonl', format='newline_delimited', filename=true, "
            "columns={status: 'VARCHAR'}) GROUP BY ALL\").fetchall()"
        ),
    ),
}


def make(root: Path, models: int) -> None:
    """Write the Runs that are not there yet; their bytes are those that `Run` writes, without its fsyncs."""
    rng = random.Random(0)
    refs = (ConstraintRef("length:at_least", {"least": 50}), ConstraintRef("punctuation:no_comma", {}))
    prompts = [
        Prompt(f"{1000 + number}", (Turn(f"Write about {number}.", refs[: 1 + number % 2]),))
        for number in range(PROMPTS)
    ]
    texts = [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(60, 300))) for _ in range(997)]
    hashes = {
        (number, status): content_hash([text, status])[:16]
        for number, text in enumerate(texts)
        for status in ("ok", "truncated", "refused")
    }
    for place in range(models):
        spec = RunSpec(
            model=f"http://127.0.0.1:8000/v1#author-{place % 40}/model-{place:03d}",
            engine=EngineInfo("endpoint", "aiohttp 3.14", "unknown"),
            suite="ifeval",
            suite_version="1",
            suite_sha256="0" * 64,
            sampling=Sampling(temperature=1.0),
            draws=DRAWS,
        )
        directory = root / spec.id
        if (directory / "summary.json").exists():
            continue
        Run.open(directory, spec, prompts)
        answers, verdicts = [], []
        for prompt in prompts:
            for draw in range(DRAWS):
                number = rng.randrange(997)
                status = rng.choices(("ok", "truncated", "refused", "error"), (95, 3, 1, 1))[0]
                text = "" if status == "error" else texts[number]
                response = Response(
                    prompt.id,
                    0,
                    draw,
                    text,
                    status,
                    "stop",
                    usage=Usage(57, 231, None, 0.000123),
                    latency_s=1.234567,
                    seed=rng.getrandbits(63),
                    served_model="author/model-2026-01-01",
                    provider="Provider",
                    error="timeout" if status == "error" else None,
                )
                answers.append(response)
                if status == "error":
                    continue
                answer = hashes[number, status]
                for index, ref in enumerate(prompt.constraints):
                    outcome = "pass" if rng.random() < 0.7 else "fail"
                    verdicts += [
                        {
                            "answer": answer,
                            "constraint_id": ref.id,
                            "draw": draw,
                            "index": index,
                            "measured": 231,
                            "needed": 50,
                            "outcome": outcome,
                            "prompt_id": prompt.id,
                            "score": None,
                            "span": None,
                            "reason": "found 231 words, needed at least 50",
                            "turn": 0,
                            "verifier_version": "1.1",
                            "view": view,
                        }
                        for view in ("strict", "loose")
                    ]
        _lines(directory / "responses", answers)
        _lines(directory / "verdicts", verdicts)
        with Run.load(directory) as stored:
            stored.seal(summarize(stored.prompts(), DRAWS, stored.responses(), stored.verdicts()))
        print(f"\r{place + 1} of {models} runs", end="", file=sys.stderr)
    print(file=sys.stderr)


def _lines(folder: Path, rows: list[object]) -> None:
    folder.mkdir(exist_ok=True)
    encoder = msgspec.json.Encoder(order="sorted")
    (folder / f"{time.time_ns():020d}-bench.jsonl").write_bytes(b"".join(encoder.encode(row) + b"\n" for row in rows))


def make_sweep(runs: Path, root: Path) -> None:
    """A sweep of the same answers that has only its journal."""
    if (root / "sweep.json").exists():
        return
    (root / "journal").mkdir(parents=True)
    spec = SweepSpec(
        "http://127.0.0.1:8000/v1",
        EngineInfo("endpoint", "aiohttp 3.14", "unknown"),
        Filter(),
        (("ifeval", "1", "0" * 64),),
        Sampling(temperature=1.0),
        DRAWS,
    )
    with (root / "journal" / f"{time.time_ns():020d}-bench.jsonl").open("wb") as file:
        for segment in sorted(runs.glob("*/responses/*.jsonl")):
            model = Run.load(segment.parent.parent).spec.model.partition("#")[2].encode()
            file.writelines(
                b'{"model":"%s","response":%s,"suite":0}\n' % (model, line[:-1]) for line in segment.open("rb")
            )
    (root / "sweep.json").write_bytes(encode(spec))


READ = "import sys\nfrom pathlib import Path\n{imports}\nread(Path(sys.argv[1]))"


def reading(imports: str, root: Path, rounds: int) -> Cost:
    """Medians of some processes, start and imports included."""
    costs = [measure("-c", READ.format(imports=imports), root) for _ in range(rounds)]
    return Cost(*map(statistics.median, zip(*costs, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    runs, journaled = options.out / "runs", options.out / "sweep"
    make(runs, options.models)
    make_sweep(runs, journaled)
    cost = reading("from adhere.store.tables.compact import compact as read", runs, 1)
    print(f"| `adhere compact` | {cost.wall_s:.1f} | {cost.cpu_s:.1f} | {cost.peak_mb:.0f} |", flush=True)
    for name, (which, imports) in READINGS.items():
        cost = reading(imports, runs if which == "runs" else journaled, options.rounds)
        print(f"| {name} | {cost.wall_s:.2f} | {cost.cpu_s:.2f} | {cost.peak_mb:.0f} |", flush=True)


if __name__ == "__main__":
    main()
