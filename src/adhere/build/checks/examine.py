"""Functions against cases: what stays, and for everything else the stage and the reason.

Every call runs in the sandbox, in two interpreters with different hash seeds. A function that raises, takes too long,
needs too much memory, answers with no bool or disagrees with itself is dropped for that; it is never taken for one that
said False.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from adhere.build.checks.ask import FUNCTION, Case, Function
from adhere.build.checks.spec import Thresholds
from adhere.constraints.written import MEMORY_MB, TIMEOUT_S
from adhere.sandbox import Outcome, run
from adhere.schema import Record, derive_seed

MOST_MUTANTS = 24  # an instruction: each is a call of each function
Stage = str
Run = Callable[[str, str], Outcome]


class DroppedPart(Record, frozen=True):
    """Something that was left out: a `function`, a `case` or the whole `instruction`.

    `text` is what it was, shortened.
    """

    instruction: str
    what: str
    stage: Stage
    reason: str
    text: str = ""


class Evidence(Record, frozen=True):
    """The evidence for a check.

    Attributes:
        functions: Functions that reached the thresholds.
        cases: Cases that they were chosen by; `held_out` those that they were tried on afterwards.
        accuracy: The kept functions' mean share of agreement with `cases`.
        held_out_accuracy: … with `held_out`.
        agreement: Fleiss' kappa of all functions that ran over all cases; None where it is undefined.
        mutants: Perturbed passing answers; `killed` how many of them the kept functions fail, by majority.
    """

    functions: int
    cases: int
    held_out: int
    accuracy: float
    held_out_accuracy: float
    agreement: float | None
    mutants: int
    killed: int


class Survivor(NamedTuple):
    """A check that stays: its functions, best first, an answer that passes and one that fails, and the evidence."""

    functions: tuple[Function, ...]
    good: str
    bad: str
    evidence: Evidence


class _Candidate(NamedTuple):
    function: Function
    answers: dict[str, bool]  # text -> what it says


def run_in_sandbox(source: str, text: str) -> Outcome:
    """One call of one function, twice."""
    return run(source, FUNCTION, [text], timeout_s=TIMEOUT_S, memory_mb=MEMORY_MB)


def examine(
    instruction: str,
    functions: Sequence[Function],
    cases: Sequence[Case],
    held_out: Sequence[Case],
    *,
    thresholds: Thresholds,
    keep: int,
    seed: int,
    echo: bool = True,
    call: Run = run_in_sandbox,
) -> tuple[Survivor | None, list[DroppedPart]]:
    """Choose the functions of one instruction by its cases.

    Args:
        instruction: What they are about.
        functions: Different ones.
        cases: To choose by.
        held_out: To try what was chosen on.
        thresholds: See Thresholds.
        keep: How many functions stay at most.
        seed: Of the mutants.
        echo: Whether an answer that only repeats the instruction must fail.
        call: How one function is run on one text.
    """
    desk = _Desk(instruction, call)
    survivor = _Examination(desk, thresholds, keep, seed, echo=echo).of(functions, cases, held_out)
    return survivor, desk.dropped


class _Desk:
    """Runs functions, remembers answers, notes drops."""

    def __init__(self, instruction: str, call: Run) -> None:
        self.instruction, self.call = instruction, call
        self.dropped: list[DroppedPart] = []

    def drop(self, what: str, stage: Stage, reason: str, text: str = "") -> None:
        self.dropped.append(DroppedPart(self.instruction, what, stage, reason, text[:400]))

    def runs(self, function: Function, texts: Sequence[str], stage: Stage) -> _Candidate | None:
        """The function with its answers; None, noted, where one of them is none."""
        answers: dict[str, bool] = {}
        for text in dict.fromkeys(texts):
            outcome = self.call(function.source, text)
            if outcome.status != "ok":
                self.drop("function", stage, f"{outcome.status}: {outcome.reason}", function.source)
                return None
            if not isinstance(outcome.value, bool):
                self.drop("function", stage, f"returned {type(outcome.value).__name__}, no bool", function.source)
                return None
            answers[text] = outcome.value
        return _Candidate(function, answers)


class _Examination:
    def __init__(self, desk: _Desk, thresholds: Thresholds, keep: int, seed: int, *, echo: bool) -> None:
        self.desk, self.thresholds, self.keep, self.seed, self.echo = desk, thresholds, keep, seed, echo

    def of(self, functions: Sequence[Function], cases: Sequence[Case], held_out: Sequence[Case]) -> Survivor | None:
        cases = self._consistent([*cases])
        held_out = [
            case for case in self._consistent([*held_out]) if case.response not in {one.response for one in cases}
        ]
        if not self._enough(functions, cases):
            return None
        texts = [case.response for case in cases]
        ran = [candidate for function in functions if (candidate := self.desk.runs(function, texts, "run")) is not None]
        if len(ran) < self.thresholds.functions:
            self.desk.drop("instruction", "run", f"{len(ran)} functions run; {self.thresholds.functions} are needed")
            return None
        cases = self._agreed(ran, cases)
        if not self._both_labels(cases, "cross-validation"):
            return None
        chosen = self._accurate(ran, cases, "cross-validation")
        chosen, held_out_accuracy = self._confirm(chosen, held_out)
        chosen = self._probed(chosen, cases)
        chosen, mutants = self._mutated(chosen, cases)
        if not chosen:
            self.desk.drop("instruction", self.desk.dropped[-1].stage, "no function is left")
            return None
        return self._survivor(ran, chosen, cases, (len(held_out), held_out_accuracy), mutants)

    def _consistent(self, cases: list[Case]) -> list[Case]:
        """Each answer once; those with both labels are dropped."""
        labels: dict[str, set[bool]] = {}
        for case in cases:
            labels.setdefault(case.response, set()).add(case.passes)
        for text, text_labels in labels.items():
            if len(text_labels) > 1:
                self.desk.drop("case", "cases", "labelled both ways", text)
        return [Case(text, text_labels.pop()) for text, text_labels in labels.items() if len(text_labels) == 1]

    def _enough(self, functions: Sequence[Function], cases: Sequence[Case]) -> bool:
        for what, got, fewest in (
            ("functions", len(functions), self.thresholds.functions),
            ("cases", len(cases), self.thresholds.cases),
        ):
            if got < fewest:
                self.desk.drop("instruction", "gate", f"{got} {what}; {fewest} are needed")
                return False
        return True

    def _agreed(self, ran: Sequence[_Candidate], cases: Sequence[Case]) -> list[Case]:
        kept_cases = []
        for case in cases:
            agree = sum(one.answers[case.response] == case.passes for one in ran)
            if agree > self.thresholds.case_share * len(ran) and agree > 0:
                kept_cases.append(case)
            else:
                reason = f"{agree} of {len(ran)} functions agree that it {'passes' if case.passes else 'fails'}"
                self.desk.drop("case", "cross-validation", reason, case.response)
        return kept_cases

    def _both_labels(self, cases: Sequence[Case], stage: Stage) -> bool:
        labels = {case.passes for case in cases}
        if labels == {True, False}:
            return True
        reason = (
            "no case is left" if not labels else f"no case that {'fails' if labels == {True} else 'passes'} is left"
        )
        self.desk.drop("instruction", stage, reason)
        return False

    def _accurate(self, ran: Sequence[_Candidate], cases: Sequence[Case], stage: Stage) -> list[_Candidate]:
        accurate = []
        for one in ran:
            share = _accuracy(one, cases)
            threshold = self.thresholds.function_share
            if share > threshold or (share == threshold and not self.thresholds.strictly):
                accurate.append(one)
            else:
                self.desk.drop("function", stage, f"agrees with {share:.0%} of {len(cases)} cases", one.function.source)
        return sorted(accurate, key=lambda one: (-_accuracy(one, cases), len(one.function.source)))

    def _confirm(self, chosen: list[_Candidate], held_out: Sequence[Case]) -> tuple[list[_Candidate], float]:
        """Those that also agree with cases that nothing was chosen by."""
        if chosen and not held_out:
            self.desk.drop("instruction", "held-out cases", "there is none")
            return [], 0.0
        texts = [case.response for case in held_out]
        ran = [
            candidate
            for one in chosen
            if (candidate := self.desk.runs(one.function, texts, "held-out cases")) is not None
        ]
        by_function = {one.function: one for one in chosen}
        accurate = self._accurate(ran, held_out, "held-out cases")
        mean = sum(_accuracy(one, held_out) for one in accurate) / len(accurate) if accurate else 0.0
        functions = {one.function for one in accurate}
        return [by_function[one.function] for one in chosen if one.function in functions], mean

    def _probed(self, chosen: Sequence[_Candidate], cases: Sequence[Case]) -> list[_Candidate]:
        """Those that say both True and False, and that nothing and the instruction itself do not pass."""
        candidates = []
        probes = [("an empty answer passes", ""), ("a blank answer passes", " \n ")]
        if self.echo:
            probes.append(("an answer that only repeats the instruction passes", self.desk.instruction))
        for one in chosen:
            if len({one.answers[case.response] for case in cases}) < 2:
                self.desk.drop("function", "probes", "says the same to every case", one.function.source)
                continue
            answers = self.desk.runs(one.function, [text for _, text in probes], "probes")
            if answers is None:
                continue
            reason = next((why for why, text in probes if answers.answers[text]), None)
            if reason:
                self.desk.drop("function", "probes", reason, one.function.source)
            else:
                candidates.append(one)
        return candidates

    def _mutated(self, chosen: Sequence[_Candidate], cases: Sequence[Case]) -> tuple[list[_Candidate], dict[str, int]]:
        """Those that fail at least one perturbed passing answer; and how many kept functions fail each mutant."""
        case_texts = {case.response for case in cases}
        texts = [text for case in cases if case.passes for text in mutants(case.response, self.seed)]
        texts = [text for text in dict.fromkeys(texts) if text not in case_texts]
        texts = random.Random(self.seed).sample(texts, min(len(texts), MOST_MUTANTS))
        candidates, kills = [], dict.fromkeys(texts, 0)
        for one in chosen:
            answers = self.desk.runs(one.function, texts, "mutants")
            if answers is None:
                continue
            failing = [text for text in texts if not answers.answers[text]]
            if not failing:
                self.desk.drop(
                    "function", "mutants", f"passes all of {len(texts)} perturbed answers", one.function.source
                )
                continue
            candidates.append(one)
            for text in failing:
                kills[text] += 1
        return candidates, kills

    def _survivor(
        self,
        ran: Sequence[_Candidate],
        chosen: Sequence[_Candidate],
        cases: Sequence[Case],
        held_out: tuple[int, float],
        kills: dict[str, int],
    ) -> Survivor | None:
        """`held_out` is how many cases were held out, and how the chosen functions did on them."""
        best = chosen[: self.keep]
        votes = {case.response: sum(one.answers[case.response] for one in best) for case in cases}
        good = next((case.response for case in cases if case.passes and 2 * votes[case.response] > len(best)), None)
        bad = next((case.response for case in cases if not case.passes and 2 * votes[case.response] < len(best)), None)
        if good is None or bad is None:
            self.desk.drop("instruction", "majority", f"most functions {'pass' if bad is None else 'fail'} every case")
            return None
        evidence = Evidence(
            functions=len(chosen),
            cases=len(cases),
            held_out=held_out[0],
            accuracy=sum(_accuracy(one, cases) for one in best) / len(best),
            held_out_accuracy=held_out[1],
            agreement=fleiss_kappa([[one.answers[case.response] for one in ran] for case in cases]),
            mutants=len(kills),
            killed=sum(2 * count > len(chosen) for count in kills.values()),
        )
        return Survivor(tuple(one.function for one in best), good, bad, evidence)


def _accuracy(one: _Candidate, cases: Sequence[Case]) -> float:
    return sum(one.answers[case.response] == case.passes for case in cases) / len(cases)


def mutants(text: str, seed: int) -> list[str]:
    """Small and large changes of an answer: what keeps every rule is rare among them."""
    rng = random.Random(derive_seed(seed, text))
    words = text.split()
    shuffled = rng.sample(words, len(words))
    lines = text.splitlines()
    variants = [
        text.upper(),
        text.lower(),
        text.swapcase(),
        "".join(char for char in text if char.isalnum() or char.isspace()),
        "".join(char for char in text if not char.isdigit()),
        " ".join(words[: len(words) // 2]),
        " ".join(words[len(words) // 2 :]),
        " ".join(words[1:]),
        " ".join(words[:-1]),
        " ".join(shuffled),
        " ".join(words),  # on one line
        "\n".join(reversed(lines)),
        f"{text}\n\n{text}",
        f"Well, {text}",
        f"{text} And so on",
        "word " * max(1, len(words)),
    ]
    return [one for one in dict.fromkeys(variants) if one.strip() and one != text]


def fleiss_kappa(votes: Sequence[Sequence[bool]]) -> float | None:
    """Agreement of raters beyond chance over items (rows) with as many votes each.

    None where all votes are alike, or below two raters.

    Source: Fleiss (1971), Measuring nominal scale agreement among many raters.
    """
    raters = len(votes[0]) if votes else 0
    if raters < 2:
        return None
    yes = [sum(row) for row in votes]
    agreeing = sum(count * (count - 1) + (raters - count) * (raters - count - 1) for count in yes)
    observed = agreeing / (len(votes) * raters * (raters - 1))
    share = sum(yes) / (len(votes) * raters)
    expected = share**2 + (1 - share) ** 2
    return None if expected == 1 else (observed - expected) / (1 - expected)
