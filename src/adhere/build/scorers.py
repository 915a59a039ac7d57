"""Filter responses by any number of scorers: an answer is kept only if all call it flawless.

Source: Qwen2.5 report, section 4 (arXiv 2412.15115): a critic model and several collaborating model roles score an
answer, and "only responses deemed flawless by all scoring systems" are kept.

A scorer votes True, False or None. It votes None if a judge answers nonsense, a model fails or a constraint cannot be
decided. None is never agreement: such an answer is dropped as *undecided* and counted separately.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Protocol

from adhere.build.draws import ask_missing
from adhere.build.filter import keeps_all
from adhere.errors import UsageError
from adhere.models.base import Model
from adhere.pipeline.judge_model.question import Question
from adhere.progress import Progress, Silent
from adhere.schema import Prompt, Record, Sampling, Turn, content_hash
from adhere.stats import cohens_kappa
from adhere.store.run import Run, RunSpec

Votes = list[bool | None]


class Scorer(Protocol):
    """Votes on each answer: flawless (True), not flawless (False) or no vote (None)."""

    name: str

    def votes(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> Votes:
        """Return one vote for each answer; `texts[i]` answers the first turn of `prompts[i]`."""
        ...


class RuleScorer:
    """Votes by our judge: whether every constraint is kept; None if the prompt has no constraint."""

    name = "rules"

    def votes(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> Votes:
        return [
            keeps_all(prompt, text) if prompt.constraints else None for prompt, text in zip(prompts, texts, strict=True)
        ]


CRITIC = (
    "You check the work of others and are hard to please. An answer is flawless only if it does everything that was "
    "asked, is true, and has no mistake."
)
ROLES = {
    "critic": CRITIC,
    "instructions": (
        "You look only at whether an answer does each single thing that was asked, and nothing that was forbidden."
    ),
    "facts": "You look only at whether everything in an answer is true and makes sense.",
    "language": "You look only at whether an answer is written well, complete, and without repetition.",
}
"""Role -> the system prompt of its judge. Each role is one scorer."""

ASK_FLAWLESS = 'Is the answer flawless? Reply with exactly one JSON object: {"flawless": true} or {"flawless": false}.'


class Flawless(Record, frozen=True):
    """The reply that a judge gives."""

    flawless: bool


class JudgeScorer:
    """Votes by asking a model in a role. Its answers are stored, so that scoring again asks nothing twice.

    The answer under test reaches the judge as data (`judge_model.question`). A reply that is not exactly the JSON asked
    for is no vote.

    Args:
        model: The judge.
        role: A name of `ROLES`, or any text for the system turn.
        directory: Where the judge's answers are stored.
        name: The scorer's name in reports.
        sampling: How the judge's answers are drawn.
        progress: Where to report.
    """

    def __init__(
        self,
        model: Model,
        role: str,
        directory: Path,
        *,
        name: str | None = None,
        sampling: Sampling | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.model, self.directory = model, directory
        self.system = ROLES.get(role, role)
        self.name = name or f"{model.name} as {role if role in ROLES else 'judge'}"
        self.sampling = sampling or Sampling(max_new_tokens=64)
        self.progress = progress or Silent()

    def votes(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> Votes:
        questions = [
            Question(ASK_FLAWLESS, Flawless, {"request": prompt.text, "answer": text})
            for prompt, text in zip(prompts, texts, strict=True)
        ]
        judge_prompts = [
            Prompt(f"{place}-{prompt.id}", (Turn(question.text),), system=self.system)
            for place, (prompt, question) in enumerate(zip(prompts, questions, strict=True))
        ]
        if not judge_prompts:
            return []
        spec = RunSpec(
            model=self.model.name,
            engine=self.model.engine,
            suite="scoring",
            suite_version="1",
            suite_sha256=content_hash(judge_prompts),
            sampling=self.sampling,
            draws=1,
            cut_answers="fail",
        )
        with Run.open(self.directory, spec, judge_prompts) as run:
            ask_missing(run, self.model, judge_prompts, label=self.name, progress=self.progress)
            answers = {response.prompt_id: response for response in run.responses()}
        verdicts = [
            question.read(answers.get(prompt.id))[0] for question, prompt in zip(questions, judge_prompts, strict=True)
        ]
        return [None if verdict is None else verdict.flawless for verdict in verdicts]


class RewardScorer:
    """Votes by a reward model: flawless from `threshold` on; None without a number.

    Args:
        rate: Gives a number for each (request, answer) pair.
        threshold: The lowest number that is flawless.
        name: The scorer's name in reports.
    """

    def __init__(self, rate: RateAll, threshold: float, *, name: str = "reward model") -> None:
        self.rate, self.threshold, self.name = rate, threshold, name

    def votes(self, prompts: Sequence[Prompt], texts: Sequence[str]) -> Votes:
        ratings = self.rate([(prompt.text, text) for prompt, text in zip(prompts, texts, strict=True)])
        if len(ratings) != len(texts):
            raise UsageError(f"{self.name} gave {len(ratings)} numbers for {len(texts)} answers")
        return [None if value is None or value != value else value >= self.threshold for value in ratings]  # noqa: PLR0124 - NaN


class RateAll(Protocol):
    """Returns a reward model's number for each (request, answer) pair, None where it has none."""

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Sequence[float | None]: ...


class Agreement(Record, frozen=True):
    """Counts how two scorers voted on the answers on which both voted.

    `kappa` is Cohen's kappa; None if it is undefined (one scorer votes the same on all).
    """

    first: str
    second: str
    answers: int
    both_flawless: int
    only_first: int
    only_second: int
    neither: int
    kappa: float | None


class FilterReport(Record, frozen=True):
    """Counts the result of filtering: answers = kept + rejected + undecided; a rejected one has at least one False.

    By scorer, `flawless` counts True and `silent` None. `sole_objections` counts the answers that this scorer alone
    rejected while all others called them flawless.
    """

    answers: int
    kept: int
    rejected: int
    undecided: int
    flawless: dict[str, int]
    silent: dict[str, int]
    sole_objections: dict[str, int]
    agreements: tuple[Agreement, ...]


def filter_responses(
    prompts: Sequence[Prompt], texts: Sequence[str], scorers: Sequence[Scorer]
) -> tuple[list[bool], FilterReport]:
    """Return (kept, report), with one bool for each answer: whether every scorer calls it flawless.

    Raises:
        UsageError: There is no scorer, two have one name, or texts and prompts differ in number.
    """
    names = [scorer.name for scorer in scorers]
    if not scorers or len(set(names)) != len(names):
        raise UsageError(f"Scorers must be at least one, each with a name of its own; got {', '.join(names) or 'none'}")
    if len(prompts) != len(texts):
        raise UsageError(f"There are {len(prompts)} prompts and {len(texts)} answers")
    votes = {scorer.name: scorer.votes(prompts, texts) for scorer in scorers}
    flawless, rejected, sole = [], 0, Counter[str]()
    for place in range(len(texts)):
        answer_votes = {name: votes[name][place] for name in names}
        against = [name for name, vote in answer_votes.items() if vote is False]
        flawless.append(all(vote is True for vote in answer_votes.values()))
        rejected += bool(against)
        if len(against) == 1 and all(vote is True for name, vote in answer_votes.items() if name != against[0]):
            sole[against[0]] += 1
    report = FilterReport(
        answers=len(texts),
        kept=sum(flawless),
        rejected=rejected,
        undecided=len(texts) - sum(flawless) - rejected,
        flawless={name: sum(vote is True for vote in votes[name]) for name in names},
        silent={name: sum(vote is None for vote in votes[name]) for name in names},
        sole_objections={name: sole[name] for name in names},
        agreements=tuple(agreement(first, second, votes) for first, second in combinations(names, 2)),
    )
    return flawless, report


def agreement(first: str, second: str, votes: Mapping[str, Votes]) -> Agreement:
    """Count how two scorers agree, over the answers on which both voted."""
    pairs = [(a, b) for a, b in zip(votes[first], votes[second], strict=True) if a is not None and b is not None]
    counts = Counter(pairs)
    cells = (counts[True, True], counts[True, False], counts[False, True], counts[False, False])
    return Agreement(first, second, len(pairs), *cells, cohens_kappa(*cells))


def filtered_text(report: FilterReport) -> str:
    """Return the report as text for a terminal."""
    lines = [
        (
            f"{report.answers:,} answers: {report.kept:,} kept, {report.rejected:,} rejected, "
            f"{report.undecided:,} undecided"
        )
    ]
    lines += [
        f"  {name}: {report.flawless[name]:,} flawless, {report.silent[name]:,} without a vote, "
        f"{report.sole_objections[name]:,} rejected by it alone"
        for name in report.flawless
    ]
    for pair in report.agreements:
        kappa = "–" if pair.kappa is None else f"{pair.kappa:.2f}"
        lines.append(f"  {pair.first} and {pair.second}: kappa {kappa} over {pair.answers:,} answers")
    return "\n".join(lines)
