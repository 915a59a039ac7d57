"""Write the result of computing a study again as terminal text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adhere.report.pieces.numbers import count, p_value, percent, plural, points, points_and_interval, points_interval
from adhere.report.pieces.text_table import heading, paragraph, text_table
from adhere.report.pieces.wording import sentence
from adhere.study.outcome.answer import Disagreement, Reproduction, StartsReproduction
from adhere.terminal import one_line

MOST_DIFFERENCES = 20
_PARTS = {
    "verdict": "the answer and its contrast",
    "contrasts": "contrasts",
    "scores": "pass rates, lengths and the like of every arm, seed and slice",
    "guards": "guards",
    "tax": "what arms forgot of plain text",
    "fragility": "what the answer hangs on",
    "suites": "published suites",
}


def reproduction_text(reproduction: Reproduction, *, width: int = 100) -> str:
    """Return how far the values agree, then what today's rule says and what decides it."""
    rows = [["without", "difference", "interval"]]
    rows += [
        [f"seed {seed}", points(effect.difference), points_interval(effect.low, effect.high)]
        for seed, effect in reproduction.without_seed.items()
    ]
    differ = Counter(row.what.split(".")[0].split("[")[0] for row in reproduction.differences)
    arms = [[name, percent(rates.passed), percent(rates.sound)] for name, rates in reproduction.arms.items()]
    kinds = reproduction.kinds
    lines = [
        heading(f"Study {one_line(reproduction.study)}, computed again from its records"),
        f"  agree {count(reproduction.agree)}   differ {count(reproduction.differ)}",
        "",
        text_table([["arm", "passed", "sound"], *arms], width=width),
        "",
        text_table(
            [
                ["compared", "values", "differ"],
                *([_PARTS.get(part, part), count(n), count(differ[part])] for part, n in reproduction.parts.items()),
            ],
            width=width,
        ),
        "",
        "  Not computed again, because they are records themselves: training logs, costs, the data's yields.",
        *_difference_lines(reproduction.differences, width=width),
        "",
        paragraph(f"{reproduction.answer_stored} was stored. Today's rule: {reproduction.headline}", width=width),
        paragraph(sentence(reproduction.because), width=width),
        *([paragraph(reproduction.decides, width=width)] if reproduction.decides else []),
        "",
        *([text_table(rows, width=width), ""] if reproduction.without_seed else []),
        f"  sign flips over seeds: p {p_value(reproduction.sign_flip_p)}",
    ]
    if kinds and kinds.difference is not None:
        lines.append(f"  kinds as a sample of kinds: {points_and_interval(kinds)}, p {p_value(kinds.p_value)}")
    if reproduction.sound:
        lines.append(f"  were only sound answers counted: {points_and_interval(reproduction.sound)}")
    return "\n".join(lines) + "\n"


def starts_reproduction_text(reproduction: StartsReproduction, *, width: int = 100) -> str:
    """Return the reproduction of each start or seed, then what they say together."""
    lines = [
        heading(
            f"Study {one_line(reproduction.study)}: {count(len(reproduction.starts))} {_noun(reproduction)}s together, "
            "computed again"
        ),
        f"  agree {count(reproduction.agree)}   differ {count(reproduction.differ)}",
        *_difference_lines(reproduction.differences, width=width),
        "",
        paragraph(reproduction.holds, width=width),
    ]
    texts = [
        f"{_part_words(start)}\n\n{reproduction_text(part, width=width)}" for start, part in reproduction.starts.items()
    ]
    return "\n".join([*texts, *lines]) + "\n"


def _noun(reproduction: StartsReproduction) -> str:
    return "seed" if all(part.startswith("seed ") for part in reproduction.starts) else "start"


def _part_words(part: str) -> str:
    return one_line(part).capitalize() if part.startswith("seed ") else f"From {one_line(part)}"


def _difference_lines(differences: Sequence[Disagreement], *, width: int) -> list[str]:
    """Return the first values that differ, and how many more there are."""
    lines = [
        paragraph(f"{row.what}: stored {row.stored!r}, found {row.found!r}", width=width, label="✗", hang=2)
        for row in differences[:MOST_DIFFERENCES]
    ]
    more = len(differences) - MOST_DIFFERENCES
    return [*lines, f"  … and {plural(more, 'more value')}"] if more > 0 else lines
