"""Terminal text of what computing a study again found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from adhere.report.pieces.numbers import count, p_value, percent, plural, points, points_interval
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


def reproduction_text(found: Reproduction, *, width: int = 100) -> str:
    """Agreement first, then what today's rule says and what it hangs on."""
    rows = [["without", "difference", "interval"]]
    rows += [
        [f"seed {seed}", points(one.difference), points_interval(one.low, one.high)]
        for seed, one in found.without_seed.items()
    ]
    differ = Counter(one.what.split(".")[0].split("[")[0] for one in found.differences)
    arms = [[name, percent(one.passed), percent(one.sound)] for name, one in found.arms.items()]
    kinds = found.kinds
    lines = [
        heading(f"Study {one_line(found.study)}, computed again from its records"),
        f"  agree {count(found.agree)}   differ {count(found.differ)}",
        "",
        text_table([["arm", "passed", "sound"], *arms], width=width),
        "",
        text_table(
            [
                ["compared", "values", "differ"],
                *([_PARTS.get(part, part), count(n), count(differ[part])] for part, n in found.parts.items()),
            ],
            width=width,
        ),
        "",
        "  Not computed again, because they are records themselves: training logs, costs, the data's yields.",
        *_difference_lines(found.differences, width=width),
        "",
        paragraph(f"{found.answer_stored} was stored. Today's rule: {found.headline}", width=width),
        paragraph(sentence(found.because), width=width),
        *([paragraph(found.decides, width=width)] if found.decides else []),
        "",
        *([text_table(rows, width=width), ""] if found.without_seed else []),
        f"  sign flips over seeds: p {p_value(found.sign_flip_p)}",
    ]
    if kinds and kinds.difference is not None:
        lines.append(
            f"  kinds as a sample of kinds: {points(kinds.difference)} "
            f"({points_interval(kinds.low, kinds.high)}), p {p_value(kinds.p_value)}"
        )
    if one := found.sound:
        lines.append(
            f"  were only sound answers counted: {points(one.difference)} ({points_interval(one.low, one.high)})"
        )
    return "\n".join(lines) + "\n"


def starts_reproduction_text(found: StartsReproduction, *, width: int = 100) -> str:
    """Each start or seed, then what they say together."""
    lines = [
        heading(f"Study {one_line(found.study)}: {count(len(found.starts))} {_noun(found)}s together, computed again"),
        f"  agree {count(found.agree)}   differ {count(found.differ)}",
        *_difference_lines(found.differences, width=width),
        "",
        paragraph(found.holds, width=width),
    ]
    each = [f"{_part_words(start)}\n\n{reproduction_text(one, width=width)}" for start, one in found.starts.items()]
    return "\n".join([*each, *lines]) + "\n"


def _noun(found: StartsReproduction) -> str:
    return "seed" if all(part.startswith("seed ") for part in found.starts) else "start"


def _part_words(part: str) -> str:
    return one_line(part).capitalize() if part.startswith("seed ") else f"From {one_line(part)}"


def _difference_lines(differences: Sequence[Disagreement], *, width: int) -> list[str]:
    """The first values that differ, and how many more there are."""
    lines = [
        paragraph(f"{one.what}: stored {one.stored!r}, found {one.found!r}", width=width, label="✗", hang=2)
        for one in differences[:MOST_DIFFERENCES]
    ]
    more = len(differences) - MOST_DIFFERENCES
    return [*lines, f"  … and {plural(more, 'more value')}"] if more > 0 else lines
