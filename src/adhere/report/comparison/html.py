"""Render the page that compares two Runs: paired difference, interval, gains and losses, prompts that flipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from adhere.pipeline.compare import Comparison, Difference
from adhere.pipeline.outcomes import pass_rates
from adhere.report.page import render
from adhere.report.pieces.wording import Effect, effect, level
from adhere.report.tables.compare import contrast_of
from adhere.schema import Response, View
from adhere.store.run import Run

MOST_FLIPS = 10


class Flip(NamedTuple):
    """Holds a prompt that one run passes and the other does not, with both answers."""

    prompt_id: str
    prompt: str
    answer_a: str
    answer_b: str


class Flips(NamedTuple):
    """Holds the first gained and lost prompts in the suite's order; `n_gained` and `n_lost` count all of them."""

    gained: tuple[Flip, ...]
    lost: tuple[Flip, ...]
    n_gained: int
    n_lost: int


class Row(NamedTuple):
    """Holds a line of the table: the name of the slice, and its difference."""

    name: str
    found: Difference


class ComparisonView(NamedTuple):
    """Holds one comparison as the page shows it."""

    found: Comparison
    effect: Effect
    level: str
    rows: tuple[Row, ...]
    flips: Flips | None


def flips_of(run_a: Run, run_b: Run, *, view: View) -> Flips:
    """Return the prompts that one Run passes in a larger share of its draws than the other.

    A prompt is gained if that is `run_a`.
    """
    rates_a, rates_b = pass_rates(run_a, view=view), pass_rates(run_b, view=view)
    answers_a, answers_b = _answers(run_a), _answers(run_b)
    gains: list[Flip] = []
    losses: list[Flip] = []
    for part in run_a.parts():
        for prompt in part.prompts():
            a, b = rates_a.get(prompt.id), rates_b.get(prompt.id)
            if a is not None and b is not None and a != b:
                flip = Flip(prompt.id, prompt.shown(0), _text_of(answers_a, prompt.id), _text_of(answers_b, prompt.id))
                (gains if a > b else losses).append(flip)
    return Flips(tuple(gains[:MOST_FLIPS]), tuple(losses[:MOST_FLIPS]), len(gains), len(losses))


def comparison_html(comparisons: Sequence[Comparison], flips: Sequence[Flips | None]) -> str:
    """Return one self-contained page of comparisons, each with its flips, if any."""
    views = []
    for comparison, own in zip(comparisons, flips, strict=True):
        contrast = contrast_of(comparison, "all", comparison.overall)
        rows = {"all": comparison.overall, **comparison.over_draws, **comparison.slices}
        views.append(
            ComparisonView(
                comparison,
                effect(contrast),
                level(contrast),
                tuple(Row(name, part) for name, part in rows.items()),
                own,
            )
        )
    return render("comparison/comparison.html.jinja", views=views)


def comparison_latex(comparisons: Sequence[Comparison]) -> str:
    """Return a booktabs table for each comparison: rates, difference, interval, gained and lost, p."""
    return "\n".join(_latex(comparison) for comparison in comparisons)


def _latex(comparison: Comparison) -> str:
    rows = []
    for name, part in {"all": comparison.overall, **comparison.over_draws, **comparison.slices}.items():
        cells = [
            _escape(name), str(part.n), _rate(part.rate_a), _rate(part.rate_b), _points(part.difference),
            f"[{_points(part.low)}, {_points(part.high)}]" if part.low is not None else "--",
            f"{part.gained}/{part.lost}", "--" if part.p_value is None else f"{part.p_value:.3f}",
        ]  # fmt: skip
        rows.append(" & ".join(cells) + r" \\")
    caption = (
        f"{comparison.a} minus {comparison.b} on {comparison.suite} ({comparison.view}): share of prompts "
        f"whose every constraint is met, difference in points with its {100 * comparison.confidence:.0f} % interval."
    )
    head = r"slice & $n$ & a (\%) & b (\%) & a $-$ b & interval & gained/lost & $p$ \\"
    return "\n".join([
        r"\begin{table}", rf"\caption{{{_escape(caption)}}}", r"\begin{tabular}{lrrrrrrr}", r"\toprule", head,
        r"\midrule", *rows, r"\bottomrule", r"\end{tabular}", r"\end{table}", "",
    ])  # fmt: skip


def _rate(rate: float | None) -> str:
    return "--" if rate is None else f"{100 * rate:.1f}"


def _points(share: float | None) -> str:
    return "--" if share is None else f"${100 * share:+.1f}$"


_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(char, f"\\{char}" if char in "&%$#_{}" else char) for char in text)


def _answers(run: Run) -> dict[str, Response]:
    """Return the first draw's answer to the last turn of each prompt."""
    answers: dict[str, Response] = {}
    for part in run.parts():
        for answer in part.responses():
            if answer.draw == 0 and (answer.prompt_id not in answers or answer.turn >= answers[answer.prompt_id].turn):
                answers[answer.prompt_id] = answer
    return answers


def _text_of(answers: Mapping[str, Response], prompt_id: str) -> str:
    answer = answers.get(prompt_id)
    return "(no answer)" if answer is None else answer.said or f"({answer.status})"
