"""What a merge keeps: a study's trained arm, merged back with its start, on the held-out prompts and on plain text.

python -m benchmarks.studies.merges studies/quickstart --arm sft+dpo+grpo --seed 0 --out studies/merges > TABLE.md

The "alignment tax" is what training takes away elsewhere (arXiv 2309.06256, 2405.17931); here it is the perplexity of
plain text. Each merge is the start's weights plus a part of what training changed: `linear w` the share w of the
change; `dare p` a random share p of its coordinates, divided by p (arXiv 2311.03099); `ties p` its largest share p
(arXiv 2306.01708). Answers are greedy, in fp32, as in the study, whose spec and weights are read from its directory.
What --out holds is not measured again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import torch
from safetensors.torch import load_file

from adhere.errors import UsageError
from adhere.models.local.transformers import TransformersModel, load_weights
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import Sampling
from adhere.stats import wilson_clustered
from adhere.study.design.frozen import load_frozen
from adhere.study.prepared import PreparedStudy, prepare
from adhere.study.run.measured import Measurement, collect_run, load_measured, save_measured
from adhere.study.run.plain import read_plain
from adhere.train.optim import merge_dare, merge_linear, merge_ties

Named = dict[str, torch.Tensor]
SLICES = ("new-topic", "new-wording", "new-family")


def merges(start: Named, trained: Named, seed: int) -> dict[str, Callable[[], Named]]:
    """By name, what makes the weights."""
    found: dict[str, Callable[[], Named]] = {
        f"linear {share:g}": partial(merge_linear, start, [trained], [share]) for share in (0.25, 0.5, 0.75)
    }
    found["dare 0.1"] = partial(merge_dare, start, [trained], [1.0], p=0.1, seed=seed)
    found["ties 0.1"] = partial(merge_ties, start, [trained], [1.0], p=0.1)
    return found


def tensors(directory: Path) -> Named:
    return {name: value for file in sorted(directory.glob("*.safetensors")) for name, value in load_file(file).items()}


def only(study: Path, pattern: str) -> Path:
    """The one file or folder of a study that a pattern names.

    Raises:
        UsageError: There is none, or more than one (of several versions of the code).
    """
    found = list(study.glob(pattern))
    if len(found) != 1:
        raise UsageError(
            f"{study} holds {len(found)} of {pattern}, not 1. Is keep_weights set, and the arm's name right?"
        )
    return found[0]


def measure(
    study: PreparedStudy, model_dir: Path, make: Callable[[], Named], *, name: str, seed: int, out: Path
) -> Measurement:
    """Merged weights on the study's held-out prompts and plain text, or what --out holds of it."""
    label = f"{name.replace(' ', '-')}-s{seed}"
    if (stored := load_measured(out, label, study.suite.sha256)) is not None:
        return stored
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        model, tokenizer = load_weights(model_dir)
        unknown = model.load_state_dict(make(), strict=False).unexpected_keys  # a tied output matrix is stored once
        if unknown:
            raise UsageError(f"The weights have {unknown[0]}, the start model has not")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        spec = study.spec.evaluation
        engine = TransformersModel.load(Path(folder), name=label, precision=spec.precision)
        try:
            sampling = Sampling(max_new_tokens=spec.max_new_tokens, temperature=0.0, seed=spec.seed)
            run = evaluate_sync(engine, study.suite, out / "runs" / label, sampling=sampling)
        finally:
            engine.close()
        plain = read_plain(*load_weights(Path(folder)))
    found = collect_run(
        run,
        study.suite.prompts,
        key=study.suite.sha256,
        arm=name,
        seed=seed,
        suite_sha256=study.suite.sha256,
        plain=plain,
        shown_ids=(),
        seconds=time.monotonic() - started,
    )
    save_measured(out, label, found)
    return found


def row(study: PreparedStudy, found: Measurement) -> str:
    cells = []
    for name in SLICES:
        kept = [
            passed
            for prompt, passed in zip(study.suite.prompts, found.passes, strict=True)
            if prompt.tags["slice"].startswith(name) and passed is not None
        ]
        interval = wilson_clustered(kept, [1] * len(kept))
        rate = 100 * sum(kept) / max(1, len(kept))
        cells.append(f"{rate:.1f} % ({100 * interval.low:.1f}…{100 * interval.high:.1f})" if interval else "–")
    perplexity = f"{found.plain.perplexity:.1f}" if found.plain else "–"
    return f"| {found.arm} | {' | '.join(cells)} | {perplexity} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path, help="directory of a study whose weights are kept")
    parser.add_argument("--arm", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    frozen = load_frozen(given.study)
    if frozen is None:
        raise UsageError(f"{given.study} holds no study")
    study = prepare(frozen.latest, given.study)
    trained = only(given.study, f"cells/{given.arm}-s{given.seed}-*/model")
    print(
        f"| weights of {given.arm}, seed {given.seed} | {' | '.join(SLICES)} | perplexity |\n|---|---:|---:|---:|---:|"
    )
    for name in ("start-", f"{given.arm}-s{given.seed}-"):
        stored = only(given.study, f"evaluations/{name}*.json").read_bytes()
        print(row(study, msgspec.json.decode(stored, type=Measurement)), flush=True)
    for name, make in merges(tensors(study.start), tensors(trained), given.seed).items():
        print(row(study, measure(study, study.start, make, name=name, seed=given.seed, out=given.out)), flush=True)


if __name__ == "__main__":
    try:
        main()
    except UsageError as error:
        sys.exit(f"Error: {error}")
