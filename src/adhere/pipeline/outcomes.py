"""Gather verdicts by answer and by prompt: which passed, which failed, and which were not measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from adhere.schema import Outcome, Prompt, Response, Verdict, View
from adhere.store.run import Key, Run

Unit = tuple[str, int]  # (prompt_id, draw): one whole conversation


class Slot(NamedTuple):
    """Holds one constraint of one answer; `completed`: the call's status is `ok`."""

    constraint_id: str
    strict: Outcome
    loose: Outcome
    completed: bool

    def outcome(self, view: View) -> Outcome:
        """Return the outcome in one view."""
        return self.strict if view == "strict" else self.loose


def together(outcomes: Sequence[Outcome], n_constraints: int) -> Outcome:
    """Combine the outcomes of `n_constraints` constraints. Rates, comparisons and rewards all use this rule.

    One fail gives `fail`, whatever the others are. Otherwise a missing verdict (a turn has no answer), an undecided
    one, or no constraint at all gives `undecided`. Otherwise the result is `pass`.
    """
    if "fail" in outcomes:
        return "fail"
    return "undecided" if not n_constraints or len(outcomes) < n_constraints or "undecided" in outcomes else "pass"


def keeps_all(outcomes: Sequence[Outcome], n_constraints: int) -> bool | None:
    """Tell whether all of `n_constraints` constraints passed; None where that is undecided (`together`)."""
    outcome = together(outcomes, n_constraints)
    return None if outcome == "undecided" else outcome == "pass"


class Answers:
    """Holds the answers to some prompts with their verdicts.

    Args:
        prompts: What was asked.
        draws: How often each prompt was asked.
        responses: One for each key that was answered, failed calls included.
        verdicts: One per (response, constraint, view).

    Attributes:
        first_broken: Of episodes in worlds that broke a rule, the number of the first action that did.
    """

    def __init__(
        self, prompts: Iterable[Prompt], draws: int, responses: Iterable[Response], verdicts: Iterable[Verdict]
    ) -> None:
        self.prompts, self.draws = tuple(prompts), draws
        self.responses: dict[Key, Response] = {response.key: response for response in responses}
        self.first_broken: dict[Key, int] = {}
        self._outcomes: dict[Key, dict[tuple[int, View], Outcome]] = defaultdict(dict)
        for verdict in verdicts:
            key = (verdict.prompt_id, verdict.turn, verdict.draw)
            self._outcomes[key][verdict.index, verdict.view] = verdict.outcome
            if verdict.constraint_id == "world:keeps" and isinstance(verdict.measured, int):
                self.first_broken[key] = min(verdict.measured, self.first_broken.get(key, verdict.measured))

    def slots(self, prompt: Prompt, draw: int) -> list[Slot]:
        """Return every constraint of every turn of one conversation that was judged in both views."""
        slots = []
        for number, turn in enumerate(prompt.turns):
            key = (prompt.id, number, draw)
            response, outcomes = self.responses.get(key), self._outcomes.get(key, {})
            if response is None or response.status == "error":
                continue
            for index, ref in enumerate(turn.constraints):
                strict, loose = outcomes.get((index, "strict")), outcomes.get((index, "loose"))
                if strict is not None and loose is not None:
                    slots.append(Slot(ref.id, strict, loose, response.status == "ok"))
        return slots

    def outcomes(self, prompt: Prompt, turn: int, draw: int, view: View = "strict") -> list[Outcome]:
        """Return the outcome of each constraint of one turn, in order.

        Empty where the turn has no answer, `undecided` where a verdict is missing.
        """
        key = (prompt.id, turn, draw)
        response = self.responses.get(key)
        if response is None or response.status == "error":
            return []
        outcomes = self._outcomes.get(key, {})
        return [outcomes.get((index, view), "undecided") for index in range(len(prompt.turns[turn].constraints))]

    def passes(self, prompt: Prompt, draw: int, view: View = "strict") -> bool | None:
        """Tell whether one conversation kept every constraint of every turn; None if not measured (`keeps_all`)."""
        n_constraints = sum(len(turn.constraints) for turn in prompt.turns)
        return keeps_all([slot.outcome(view) for slot in self.slots(prompt, draw)], n_constraints)

    def is_completed(self, prompt: Prompt, draw: int) -> bool:
        """Tell whether the model finished every turn of one conversation (status `ok`)."""
        keys = [(prompt.id, turn, draw) for turn in range(len(prompt.turns))]
        return all(key in self.responses and self.responses[key].status == "ok" for key in keys)


def answers_of(run: Run) -> Answers:
    """Return everything that a stored Run holds."""
    return Answers(run.prompts(), run.spec.draws, run.responses(), run.verdicts())


def passes(run: Run, *, view: View = "strict", draw: int = 0) -> dict[str, bool | None]:
    """Tell of each prompt whether one draw passed, for paired statistics; None where it was not measured."""
    parts = map(answers_of, run.parts())
    return {prompt.id: part.passes(prompt, draw, view) for part in parts for prompt in part.prompts}


def pass_rates(run: Run, *, view: View = "strict") -> dict[str, float | None]:
    """Return the share of each prompt's draws that pass; None where any was not measured. One draw gives 1.0 or 0.0."""
    return {
        name: None if passed is None else passed / run.spec.draws
        for name, passed in passed_draws(run, view=view).items()
    }


def passed_draws(run: Run, *, view: View = "strict") -> dict[str, int | None]:
    """Return how many of each prompt's draws pass; None where any draw was not measured."""
    counts: dict[str, int | None] = {}
    for part in map(answers_of, run.parts()):
        for prompt in part.prompts:
            passed = [part.passes(prompt, draw, view) for draw in range(part.draws)]
            counts[prompt.id] = None if None in passed else sum(map(bool, passed))
    return counts


def by_slice(prompts: Iterable[Prompt], slices: Iterable[str]) -> Mapping[str, list[Prompt]]:
    """Return the prompts of each slice, in the order of `slices`; a slice without prompts is left out."""
    prompts_by_slice: dict[str, list[Prompt]] = {name: [] for name in slices}
    for prompt in prompts:
        name = prompt.tags.get("slice")
        if name in prompts_by_slice:
            prompts_by_slice[name].append(prompt)
    return {name: members for name, members in prompts_by_slice.items() if members}
