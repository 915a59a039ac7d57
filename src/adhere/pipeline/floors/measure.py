"""Judge the answers of answerers without a model like any other answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from adhere.constraints.published.judged.table import JUDGED
from adhere.pipeline.check import check
from adhere.pipeline.floors.bots import ANSWERERS, Answerer
from adhere.pipeline.outcomes import together
from adhere.schema import VIEWS, CutAnswers, Mode, Prompt, Record, Response, Verdict, View

NOBODY = "no prompt of it is decided by a program on a text: episodes, or statements for a model to judge"


class AnswererRates(Record, frozen=True):
    """Holds the pass rates of one answerer on one suite, in the strict view unless named otherwise.

    Undecided counts as not passed, so that all answerers have one denominator. Prompts that only a model can judge, and
    episodes in worlds, are left out. Rates are None where no prompt is left.

    Attributes:
        answerer: Name of the answerer.
        group: `constant`, `refusal`, `filler`, `echo` or `bot`.
        prompt_strict: Share of the `prompts` whose every constraint passes.
        instruction_strict: Share of the `instructions` that pass.
        prompts: How many prompts were answered.
        instructions: How many constraints these prompts have.
        passed: One sign a prompt, in the suite's order: 1 passes, 0 does not, - was left out.
        kinds: By kind of constraint: how many pass, of how many.
        prompt_loose, instruction_loose: The same in the loose view; None if that view was not judged.
    """

    answerer: str
    group: str
    prompt_strict: float | None
    instruction_strict: float | None
    prompts: int
    instructions: int
    passed: str
    kinds: dict[str, tuple[int, int]] = {}
    prompt_loose: float | None = None
    instruction_loose: float | None = None


def measure_floors(
    prompts: Sequence[Prompt],
    answerers: Iterable[Answerer] = ANSWERERS,
    *,
    mode: Mode = "reference",
    cut_answers: CutAnswers = "judge",
    most: int | None = None,
    loose: bool = False,
) -> list[AnswererRates]:
    """Return the rates of each answerer, best first; ties stay in the order of `answerers`.

    Args:
        prompts: Prompts of the suite.
        answerers: The answerers to measure.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        cut_answers: As the suite says; no answer here was cut, but a prompt may be too long to be judged whole.
        most: Ask at most so many prompts, evenly spread; None asks all.
        loose: Judge the loose view, too.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged.
    """
    chosen = _spread([place for place, prompt in enumerate(prompts) if _is_for_texts(prompt)], most)
    asking = _Asking(prompts, chosen, mode, cut_answers, VIEWS if loose else ("strict",))
    rows = [_rates_of(answerer, asking) for answerer in answerers]
    return sorted(rows, key=lambda row: (-(row.prompt_strict or 0.0), -(row.instruction_strict or 0.0)))


def _is_for_texts(prompt: Prompt) -> bool:
    """Tell whether programs can judge a text that answers a prompt: no episode, no constraint that a model judges."""
    if "world" in prompt.tags:
        return False
    return all(turn.constraints and all(ref.id != JUDGED for ref in turn.constraints) for turn in prompt.turns)


def _spread(places: Sequence[int], most: int | None) -> list[int]:
    if most is None or len(places) <= most:
        return list(places)
    return [places[at * len(places) // most] for at in range(most)]


class _Asking(NamedTuple):
    """Says which prompts every answerer is asked (`places` in `prompts`) and how the answers are judged."""

    prompts: Sequence[Prompt]
    places: Sequence[int]
    mode: Mode
    cut_answers: CutAnswers
    views: Sequence[View]

    def verdicts(self, answerer: Answerer, prompt: Prompt) -> list[Verdict]:
        """Return the verdicts of all turns of a prompt."""
        verdicts: list[Verdict] = []
        for number, turn in enumerate(prompt.turns):
            text = answerer.answer(turn.text)
            response = Response(prompt.id, number, 0, text, "ok" if text.strip() else "empty")
            verdicts += check(prompt, response, cut_answers=self.cut_answers, views=self.views, mode=self.mode)
        return verdicts


class _Tally:
    """Counts the prompts and constraints that pass in one view."""

    def __init__(self, n_prompts: int) -> None:
        self.signs = ["-"] * n_prompts
        self.kept, self.of = Counter[str](), Counter[str]()

    def add(self, place: int, verdicts: Sequence[Verdict]) -> None:
        """Count the verdicts on one prompt."""
        self.of.update(verdict.constraint_id for verdict in verdicts)
        self.kept.update(verdict.constraint_id for verdict in verdicts if verdict.outcome == "pass")
        outcome = together([verdict.outcome for verdict in verdicts], len(verdicts))
        self.signs[place] = str(int(outcome == "pass"))

    @property
    def prompt_rate(self) -> float | None:
        n = len(self.signs) - self.signs.count("-")
        return self.signs.count("1") / n if n else None

    @property
    def instruction_rate(self) -> float | None:
        of = self.of.total()
        return self.kept.total() / of if of else None


def _rates_of(answerer: Answerer, asking: _Asking) -> AnswererRates:
    tallies = {view: _Tally(len(asking.prompts)) for view in asking.views}
    for place in asking.places:
        verdicts = asking.verdicts(answerer, asking.prompts[place])
        for view, tally in tallies.items():
            tally.add(place, [verdict for verdict in verdicts if verdict.view == view])
    strict, loose = tallies["strict"], tallies.get("loose")
    return AnswererRates(
        answerer=answerer.name,
        group=answerer.group,
        prompt_strict=strict.prompt_rate,
        instruction_strict=strict.instruction_rate,
        prompts=len(asking.places),
        instructions=strict.of.total(),
        passed="".join(strict.signs),
        kinds={name: (strict.kept[name], strict.of[name]) for name in sorted(strict.of)},
        prompt_loose=loose.prompt_rate if loose else None,
        instruction_loose=loose.instruction_rate if loose else None,
    )
