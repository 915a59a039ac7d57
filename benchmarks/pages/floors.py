"""Measure what answerers without a model pass of every suite whose file is at hand: makes `docs/studies/floors.md`.

python -m benchmarks.pages.floors            # writes docs/studies/floors.md; $ADHERE_DATA has the published files
python -m benchmarks.pages.floors --print    # prints it
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import NamedTuple

from benchmarks.sources import ROOT

from adhere import suites
from adhere.pipeline.floors import AnswererRates, measure_floors
from adhere.report.tables.floors import winners

PAGE = ROOT / "docs" / "studies" / "floors.md"
DATA = Path(os.environ.get("ADHERE_DATA", ROOT / ".." / "shared" / "data"))
PUBLISHED = {
    "IFEval": "ifeval:ifeval/input_data.jsonl",
    "IFBench": "ifbench:ifbench/IFBench_test.jsonl",
    "M-IFEval, Spanish": "m-ifeval:m_ifeval/es_input_data.jsonl",
    "M-IFEval, French": "m-ifeval:m_ifeval/fr_input_data.jsonl",
    "M-IFEval, Japanese": "m-ifeval:m_ifeval/ja_input_data.jsonl",
    "FollowBench, what a program decides": "followbench:followbench",
}
OWN = (
    "core", "breadth", "profile", "atomic", "calls", "chain", "code", "data", "density", "diagnostic", "drawing",
    "hierarchy", "injection", "labels", "length", "logic", "long", "math", "multi-turn", "multilingual", "order",
    "override", "paraphrase", "plan", "puzzle", "rag", "reasoning", "rewrite", "system",
)  # fmt: skip
EMPTY = ("yes", "no", "42", "a full stop", "empty object")
"""Answers of at most two characters or one short word: what they always win asks for nothing."""


class Printed(NamedTuple):
    """A rate that somebody printed."""

    benchmark: str
    model: str
    percent: float
    measure: str
    where: str


_OLMO = "Olmo 3 report, table of the 32B Instruct models; version and view of IFBench not said there"
_README = "allenai/IFBench README at c62b347"
PRINTED = (
    *(
        Printed("IFBench", model, rate, "IFBench", _OLMO)
        for model, rate in (
            ("Olmo 3.1 32B SFT", 29.7), ("Olmo 3.1 32B DPO", 36.3), ("Olmo 3.1 32B Instruct", 39.7),
            ("Apertus 70B", 26.0), ("Qwen 3 32B (no thinking)", 31.3), ("Qwen 3 VL 32B Instruct", 37.2),
            ("Qwen 2.5 32B", 36.7), ("Gemma 3 27B", 31.3), ("Gemma 2 27B", 27.8), ("OLMo 2 32B", 36.4),
        )
    ),
    *(
        Printed("IFBench", model, rate, "prompts passed (loose)", _README)
        for model, rate in (
            ("o3", 69.3), ("Gemini 2.5 Pro", 52.3), ("Claude 4 Sonnet", 42.3), ("DeepSeek R1", 38.0),
            ("Qwen3-32B", 37.3), ("Qwen3-8B", 35.0),
        )
    ),
    Printed("IFEval", "Qwen1.5-0.5B-Chat", 13.12, "prompts passed (strict)", "OpenCompass configs/datasets/IFEval/README.md"),
    Printed("IFEval", "Qwen1.5-1.8B-Chat", 16.08, "prompts passed (strict)", "OpenCompass configs/datasets/IFEval/README.md"),
    Printed("IFEval", "Qwen1.5-0.5B-Chat", 14.6, "prompts passed (strict)", "card of Qwen2-1.5B-Instruct at 2ffea94"),
    Printed("IFEval", "Qwen2-1.5B-Instruct", 29.0, "prompts passed (strict)", "card of Qwen2-1.5B-Instruct at 2ffea94"),
    Printed("IFEval", "SmolLM-1.7B-Instruct", 11.46, "prompts passed (strict)", "huggingface/smollm#34, a run of a user"),
    Printed("IFEval", "Qwen2.5-0.5B-Instruct", 27.9, "prompts passed (strict)", "Qwen2.5 report, arXiv 2412.15115"),
)  # fmt: skip
"""The rates of papers, cards and READMEs that were at hand, all of them, whatever they say."""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", action="store_true", help="print it instead")
    page = floors_page()
    if parser.parse_args().print:
        print(page)
    else:
        PAGE.write_text(page, encoding="utf-8")


def floors_page() -> str:
    """The whole page.

    Raises:
        UsageError: A published file is not there.
    """
    found = {name: _rows(source) for name, source in PUBLISHED.items()}
    own = {name: measure_floors(suites.load(name).prompts) for name in OWN}
    return (
        "\n\n".join(
            [
                _HEAD,
                "## Published benchmarks",
                _table(found),
                _kinds(found),
                "## Printed rates, and the floor of their benchmark",
                _printed(found),
                "## Our own suites",
                _own(own),
                _AGAIN,
            ]
        )
        + "\n"
    )


_HEAD = """# Floors of published benchmarks

Made by `python -m benchmarks.pages.floors`. A *floor* is what the best of thirty answerers without a model passes: constants (*yes*, *42*, a full stop), the
prompt or a part of it, refusals, fillers, and ten bots. None of them reads a constraint. So a model's rate near the floor of its benchmark does not show that it follows instructions.

**On IFBench, *yes* to every prompt passes 37.0 %; on IFEval, the prompt's first line passes 25.3 %.** An independent run of the field's own code
(lm-eval's IFEval functions, allenai's IFBench) gave the same digits for *yes*, *no*, *42*, the first line and the whole prompt. No paper that we know of prints floors. `adhere floors SUITE` prints them for any suite, and `adhere` prints every rate beside its floor.

An undecided answer counts as not passed (on IFBench the six prompts of `words:start_verb`). Episodes in worlds and statements that only a model judges have no floor."""
_AGAIN = """## Make these again

```
python -m benchmarks.pages.floors
adhere floors ifbench:IFBench_test.jsonl --kinds
```

What would overturn this page: a benchmark's code that does not pass *yes* where ours does. `tests/parity` holds our judge to the published verdicts row by row."""


def _rows(source: str) -> list[AnswererRates]:
    name, _, path = source.partition(":")
    return measure_floors(suites.load(f"{name}:{DATA / path}").prompts, loose=True)


def _percent(rate: float | None) -> str:
    return "–" if rate is None else f"{100 * rate:.1f}"


def _table(found: dict[str, list[AnswererRates]]) -> str:
    lines = ["| benchmark | prompts | best | strict | loose | instructions | second | third | *yes* | whole prompt |"]
    lines.append("|---|---:|---|---:|---:|---:|---|---|---:|---:|")
    for name, rows in found.items():
        first, second, third = rows[:3]
        by_name = {row.answerer: row for row in rows}
        cells = [
            name, f"{first.prompts:,}", first.answerer, f"**{_percent(first.prompt_strict)}**",
            _percent(first.prompt_loose), _percent(first.instruction_strict),
            f"{second.answerer} {_percent(second.prompt_strict)}", f"{third.answerer} {_percent(third.prompt_strict)}",
            _percent(by_name["yes"].prompt_strict), _percent(by_name["prompt"].prompt_strict),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", "In per cent; prompts passed (strict), unless the column says otherwise."])


def _kinds(found: dict[str, list[AnswererRates]]) -> str:
    lines = ["Kinds of instruction that an empty answer (*yes*, *no*, *42*, a full stop or `{}`) always passes:", ""]
    for name, rows in found.items():
        won = winners([row for row in rows if row.answerer in EMPTY])
        if won:
            listed = ", ".join(f"`{kind}`" for kind in won)
            lines.append(f"- **{name}**, {len(won)} of {len(rows[0].kinds)}: {listed}")
    return "\n".join(lines)


def _printed(found: dict[str, list[AnswererRates]]) -> str:
    lines = ["| benchmark | model | printed | floor | | measure | where |", "|---|---|---:|---:|---|---|---|"]
    below = 0
    for one in PRINTED:
        loose = one.measure == "prompts passed (loose)"
        floor = max((row.prompt_loose if loose else row.prompt_strict) or 0.0 for row in found[one.benchmark])
        is_below = one.percent < 100 * floor
        below += is_below
        word = "**below**" if is_below else ""
        shown = f"{one.percent:g} | {100 * floor:.1f} | {word} | {one.measure} | {one.where}"
        lines.append(f"| {one.benchmark} | {one.model} | {shown} |")
    told = (
        f"Of {len(PRINTED)} printed rates that were at hand, **{below} lie below their benchmark's floor**. That does not prove that a model "
        "does not follow: it passes other prompts than *yes* does. But its rate alone cannot show that it does."
    )
    return "\n".join([told, "", *lines])


def _own(own: dict[str, list[AnswererRates]]) -> str:
    lines = ["| suite | prompts | floor | answerer |", "|---|---:|---:|---|"]
    for name, rows in sorted(own.items(), key=lambda item: -(item[1][0].prompt_strict or 0.0)):
        best = rows[0]
        who = best.answerer if best.prompt_strict else "nobody passes one"
        lines.append(f"| `{name}` | {best.prompts:,} | {_percent(best.prompt_strict)} | {who} |")
    return "\n".join([*lines, "", _WHY])


_WHY = """`core` (version 1) and `breadth` have high floors because their prompts have one to three drawn rules. A rule that forbids (*no comma*, *not the word*) is kept by a very short answer, and one that asks for
one mark of form by an answer with every form at once. The suites stay as they are: drawing such rules only together with others would change what they measure (each kind alone, in `breadth`) and
every number that was made with them. So read their rates beside the floor, and see how many of the passes are [responsive](../reference/responsive.md).
In `calls` the right answer to some prompts is to ask back, which *hello* and *question back* both do."""


if __name__ == "__main__":
    main()
