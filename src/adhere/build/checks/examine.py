"""Run functions on cases: which functions stay, and for each drop its stage and reason.

Every call runs in the sandbox, in two interpreters with different hash seeds. A function that raises, takes too long,
needs too much memory, answers with no bool or disagrees with itself is dropped for that. Such a call never counts as
False.
"""

from __future__ import annotations

import dataclasses
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
    """Describes what was left out: a `function`, a `case` or the whole `instruction`.

    `text` is the function or the answer itself, shortened.
    """

    instruction: str
    what: str
    stage: Stage
    reason: str
    text: str = ""


class Evidence(Record, frozen=True):
    """Holds how well the functions of a check did.

    Attributes:
        functions: Functions that reached the thresholds.
        cases: Cases that the functions were chosen by; `held_out` counts the cases that they were tried on afterwards.
        accuracy: The kept functions' mean share of agreement with `cases`.
        held_out_accuracy: The same share on the held-out cases.
        agreement: Fleiss' kappa of all functions that ran over all cases; None where it is undefined.
        mutants: Perturbed passing answers; `killed` counts those that more than half of the functions fail.
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
    """Holds a check that stays: functions, best first; an answer that passes and one that fails; the evidence."""

    functions: tuple[Function, ...]
    good: str
    bad: str
    evidence: Evidence


class _Candidate(NamedTuple):
    function: Function
    answers: dict[str, bool]  # text -> what it says

    def accuracy(self, cases: Sequence[Case]) -> float:
        """Return the share of cases on which the function agrees with the label."""
        return sum(self.answers[case.response] == case.passes for case in cases) / len(cases)


def run_in_sandbox(source: str, text: str) -> Outcome:
    """Call a function on `text` in the sandbox, in two interpreters."""
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
    """Choose the functions that check one instruction, by its cases.

    Return (the check, or None if none is left; everything that was dropped).

    Args:
        instruction: The rule that the functions check.
        functions: Candidates, all different.
        cases: The cases to choose by.
        held_out: The cases to try the chosen functions on.
        thresholds: What functions and cases must reach.
        keep: How many functions stay at most.
        seed: The seed of the mutants.
        echo: Whether an answer that only repeats the instruction must fail.
        call: Runs one function on one text.
    """
    examination = _Examination(instruction, thresholds, keep, seed, echo, call)
    return examination.choose(functions, cases, held_out), examination.dropped


@dataclasses.dataclass
class _Examination:
    """Chooses the functions of one instruction, and collects what is dropped; its fields are arguments of `examine`."""

    instruction: str
    thresholds: Thresholds
    keep: int
    seed: int
    echo: bool
    call: Run
    dropped: list[DroppedPart] = dataclasses.field(default_factory=list)

    def drop(self, kind: str, stage: Stage, reason: str, text: str = "") -> None:
        self.dropped.append(DroppedPart(self.instruction, kind, stage, reason, text[:400]))

    def runs(self, function: Function, texts: Sequence[str], stage: Stage) -> _Candidate | None:
        """Run the function on every text; None (reason recorded) if a call fails or returns no bool."""
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

    def choose(self, functions: Sequence[Function], cases: Sequence[Case], held_out: Sequence[Case]) -> Survivor | None:
        cases = self._consistent([*cases])
        held_out = [
            case for case in self._consistent([*held_out]) if case.response not in {other.response for other in cases}
        ]
        if not self._enough(functions, cases):
            return None
        texts = [case.response for case in cases]
        ran = [candidate for function in functions if (candidate := self.runs(function, texts, "run")) is not None]
        if len(ran) < self.thresholds.functions:
            self.drop("instruction", "run", f"{len(ran)} functions run; {self.thresholds.functions} are needed")
            return None
        cases = self._agreed(ran, cases)
        if not self._both_labels(cases):
            return None
        chosen = self._accurate(ran, cases, "cross-validation")
        chosen, held_out_accuracy = self._confirm(chosen, held_out)
        chosen = self._probed(chosen, cases)
        chosen, mutants = self._mutated(chosen, cases)
        if not chosen:
            self.drop("instruction", self.dropped[-1].stage, "no function is left")
            return None
        return self._survivor(ran, chosen, cases, (len(held_out), held_out_accuracy), mutants)

    def _consistent(self, cases: list[Case]) -> list[Case]:
        """Return one case for each text, and drop texts that are labelled both ways."""
        labels: dict[str, set[bool]] = {}
        for case in cases:
            labels.setdefault(case.response, set()).add(case.passes)
        for text, text_labels in labels.items():
            if len(text_labels) > 1:
                self.drop("case", "cases", "labelled both ways", text)
        return [Case(text, text_labels.pop()) for text, text_labels in labels.items() if len(text_labels) == 1]

    def _enough(self, functions: Sequence[Function], cases: Sequence[Case]) -> bool:
        for noun, got, fewest in (
            ("functions", len(functions), self.thresholds.functions),
            ("cases", len(cases), self.thresholds.cases),
        ):
            if got < fewest:
                self.drop("instruction", "gate", f"{got} {noun}; {fewest} are needed")
                return False
        return True

    def _agreed(self, ran: Sequence[_Candidate], cases: Sequence[Case]) -> list[Case]:
        kept_cases = []
        for case in cases:
            agree = sum(candidate.answers[case.response] == case.passes for candidate in ran)
            if agree > self.thresholds.case_share * len(ran) and agree > 0:
                kept_cases.append(case)
            else:
                reason = f"{agree} of {len(ran)} functions agree that it {'passes' if case.passes else 'fails'}"
                self.drop("case", "cross-validation", reason, case.response)
        return kept_cases

    def _both_labels(self, cases: Sequence[Case]) -> bool:
        labels = {case.passes for case in cases}
        if labels == {True, False}:
            return True
        reason = (
            "no case is left" if not labels else f"no case that {'fails' if labels == {True} else 'passes'} is left"
        )
        self.drop("instruction", "cross-validation", reason)
        return False

    def _accurate(self, ran: Sequence[_Candidate], cases: Sequence[Case], stage: Stage) -> list[_Candidate]:
        accurate = []
        for candidate in ran:
            share = candidate.accuracy(cases)
            threshold = self.thresholds.function_share
            if share > threshold or (share == threshold and not self.thresholds.strictly):
                accurate.append(candidate)
            else:
                reason = f"agrees with {share:.0%} of {len(cases)} cases"
                self.drop("function", stage, reason, candidate.function.source)
        return sorted(accurate, key=lambda candidate: (-candidate.accuracy(cases), len(candidate.function.source)))

    def _confirm(self, chosen: list[_Candidate], held_out: Sequence[Case]) -> tuple[list[_Candidate], float]:
        """Return the candidates that also agree with the held-out cases, and their mean accuracy on these."""
        if chosen and not held_out:
            self.drop("instruction", "held-out cases", "there is none")
            return [], 0.0
        texts = [case.response for case in held_out]
        ran = [
            run for candidate in chosen if (run := self.runs(candidate.function, texts, "held-out cases")) is not None
        ]
        accurate = self._accurate(ran, held_out, "held-out cases")
        mean = sum(candidate.accuracy(held_out) for candidate in accurate) / len(accurate) if accurate else 0.0
        functions = {candidate.function for candidate in accurate}
        return [candidate for candidate in chosen if candidate.function in functions], mean

    def _probed(self, chosen: Sequence[_Candidate], cases: Sequence[Case]) -> list[_Candidate]:
        """Return the candidates that do not say the same of all cases, and that fail answers that say nothing.

        These are an empty and a blank answer and, with `echo`, the instruction itself.
        """
        candidates = []
        probes = [("an empty answer passes", ""), ("a blank answer passes", " \n ")]
        if self.echo:
            probes.append(("an answer that only repeats the instruction passes", self.instruction))
        for candidate in chosen:
            if len({candidate.answers[case.response] for case in cases}) < 2:
                self.drop("function", "probes", "says the same to every case", candidate.function.source)
                continue
            answers = self.runs(candidate.function, [text for _, text in probes], "probes")
            if answers is None:
                continue
            reason = next((why for why, text in probes if answers.answers[text]), None)
            if reason:
                self.drop("function", "probes", reason, candidate.function.source)
            else:
                candidates.append(candidate)
        return candidates

    def _mutated(self, chosen: Sequence[_Candidate], cases: Sequence[Case]) -> tuple[list[_Candidate], dict[str, int]]:
        """Return the candidates that fail some perturbed passing answer, and how many of them fail each mutant."""
        case_texts = {case.response for case in cases}
        texts = [text for case in cases if case.passes for text in mutants(case.response, self.seed)]
        texts = [text for text in dict.fromkeys(texts) if text not in case_texts]
        texts = random.Random(self.seed).sample(texts, min(len(texts), MOST_MUTANTS))
        candidates, kills = [], dict.fromkeys(texts, 0)
        for candidate in chosen:
            answers = self.runs(candidate.function, texts, "mutants")
            if answers is None:
                continue
            failing = [text for text in texts if not answers.answers[text]]
            if not failing:
                self.drop(
                    "function", "mutants", f"passes all of {len(texts)} perturbed answers", candidate.function.source
                )
                continue
            candidates.append(candidate)
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
        """Return the check, or None if its functions mostly pass or fail all cases; `held_out` is (count, accuracy)."""
        best = chosen[: self.keep]
        votes = {case.response: sum(candidate.answers[case.response] for candidate in best) for case in cases}
        good = next((case.response for case in cases if case.passes and 2 * votes[case.response] > len(best)), None)
        bad = next((case.response for case in cases if not case.passes and 2 * votes[case.response] < len(best)), None)
        if good is None or bad is None:
            self.drop("instruction", "majority", f"most functions {'pass' if bad is None else 'fail'} every case")
            return None
        evidence = Evidence(
            functions=len(chosen),
            cases=len(cases),
            held_out=held_out[0],
            accuracy=sum(candidate.accuracy(cases) for candidate in best) / len(best),
            held_out_accuracy=held_out[1],
            agreement=fleiss_kappa([[candidate.answers[case.response] for candidate in ran] for case in cases]),
            mutants=len(kills),
            killed=sum(2 * count > len(chosen) for count in kills.values()),
        )
        return Survivor(tuple(candidate.function for candidate in best), good, bad, evidence)


def mutants(text: str, seed: int) -> list[str]:
    """Return changed versions of an answer, in other case, order or length; few of them keep any given rule."""
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
    return [variant for variant in dict.fromkeys(variants) if variant.strip() and variant != text]


def fleiss_kappa(votes: Sequence[Sequence[bool]]) -> float | None:
    """Return the agreement of raters beyond chance over items (rows), each with one vote a rater.

    None if all votes are alike, or if there are fewer than two raters.

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
