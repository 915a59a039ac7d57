"""Store one arm's evaluation at one seed in one small file, with all that statistics and report need.

evaluations/<arm>-s<seed>-<key>.json

With these files, the cells' records and the pools' manifests a study can be moved, finished and reported without
weights, answers or training rows.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from adhere.constraints.resolve import resolve
from adhere.errors import IntegrityError
from adhere.pipeline.guard import Guard, guard, is_letter_alone
from adhere.pipeline.outcomes import Answers, Unit, answers_of
from adhere.pipeline.responding.run import responding
from adhere.schema import Counts, EngineInfo, Prompt, Record, content_hash, decode, encode, write_atomic
from adhere.store.run import Run
from adhere.store.summary import Summary
from adhere.study.run.plain import PlainText

VERSION = 1
FOLDER = "evaluations"


class ShownAnswer(Record, frozen=True):
    """Holds one arm's answer to a shown prompt, with the judge's reasons (strict view)."""

    arm: str
    text: str
    status: str
    passed: bool | None
    reasons: list[str]


class DrawOutcomes(Record, frozen=True):
    """Holds for one draw whether each prompt's answer passes, passes soundly, and passes and responds.

    None means no measurement. `responding` is empty in records of older versions.
    """

    passes: list[bool | None]
    sound: list[bool | None]
    responding: list[bool | None] = []

    def counted(self, counts: Counts) -> list[bool | None]:
        """Return the outcomes that count as following (`VerdictSpec.counts`)."""
        if counts == "responsive":
            return self.responding or [None] * len(self.passes)
        return self.sound if counts == "sound" else self.passes


class Measurement(Record, frozen=True):
    """Holds the findings of one evaluation. Lists have one entry for each prompt, in the order of the suite.

    Args:
        passes: Whether every constraint is kept (strict view); None: no measurement.
        words: Number of words of the answer; None where there is no text.
        topic_words: Share of the query's topic words that the answer uses, where it can be measured.
        repetitive: Whether most of the answer was said before.
        echo: Whether most of the answer is the prompt's own words in their order. `echo`, `empty_form` and `kept` are
            empty in records of older versions.
        empty_form: Whether the answer has hardly a word that the prompt does not have.
        kept: Whether each constraint of all turns, in order, is kept (strict view); None: no measurement.
        responding: Whether the answer passes and responds to its request (`pipeline.responding`); None: nothing was
            measured, or the measure cannot read the answer. Empty in records of older versions.
        plain: How well the model still predicts plain text.
        shown: Answers to the prompts that the report shows.
        run: Name of the stored Run.
        seconds: How long the evaluation took.
        suite: Name of the published suite; empty: the suite of the verdict.
        drawn: Outcomes of each draw, if several answers a prompt were drawn; `passes` and the other lists are of the
            first draw.
        answers_sha256: Hash of all answers, which shows whether two checkpoints are one; empty in older records.
        served: The models that an endpoint says answered, or agents and models that logs of sessions name; empty
            elsewhere and in older records.
        untriggered: Whether nothing in the answer asked for the constraint, so that there was nothing to measure;
            empty where every prompt asks.
        solved: Whether a session solved the task; empty for other arms.
    """

    version: int
    key: str
    arm: str
    seed: int | None
    engine: EngineInfo
    suite_sha256: str
    summary: Summary
    passes: list[bool | None]
    words: list[int | None]
    topic_words: list[float | None]
    repetitive: list[bool | None]
    plain: PlainText | None
    shown: dict[str, ShownAnswer]
    run: str
    seconds: float
    suite: str = ""
    echo: list[bool | None] = []
    empty_form: list[bool | None] = []
    kept: list[list[bool | None]] = []
    drawn: list[DrawOutcomes] = []
    answers_sha256: str = ""
    responding: list[bool | None] = []
    served: list[str] = []
    untriggered: list[bool] = []
    solved: list[bool | None] = []

    @property
    def sound(self) -> list[bool | None]:
        """Whether each answer passes and says something: not form alone, no echo, not repetitive.

        None where nothing was measured, and in records that are older than these measures.
        """
        if not self.passes or not self.empty_form:
            return [None] * len(self.passes)
        measures = zip(self.passes, self.empty_form, self.echo, self.repetitive, strict=True)
        return [
            passed and not is_letter_alone(empty_form=form, echo=echo, repetitive=again)
            for passed, form, echo, again in measures
        ]

    def outcomes(self, counts: Counts) -> Sequence[float | None]:
        """Return the outcomes that count as following (`VerdictSpec.counts`), as means over several draws.

        None where any draw was not measured.
        """
        if not self.drawn:
            return self.counted(counts)
        draws = [draw.counted(counts) for draw in self.drawn]
        return [None if None in of_prompt else fmean(map(float, of_prompt)) for of_prompt in zip(*draws, strict=True)]

    def counted(self, counts: Counts) -> list[bool | None]:
        """Return the outcomes that count as following, of the first draw."""
        return self.responsive if counts == "responsive" else self.sound if counts == "sound" else self.passes

    @property
    def responsive(self) -> list[bool | None]:
        """Whether each answer passes and responds; None where nothing was measured, and in older records."""
        return self.responding or [None] * len(self.passes)

    @property
    def gaps(self) -> list[bool]:
        """Whether there was nothing to measure, for each prompt."""
        return self.untriggered or [False] * len(self.passes)

    @property
    def coverage(self) -> float:
        """Share of the prompts with a measurement, among those with something to measure."""
        return sum(outcome is not None for outcome in self.passes) / max(1, len(self.passes) - sum(self.gaps))


def collect_run(
    run: Run,
    prompts: Sequence[Prompt],
    *,
    key: str,
    arm: str,
    seed: int | None,
    suite_sha256: str,
    plain: PlainText | None,
    shown_ids: Sequence[str],
    seconds: float,
    suite: str = "",
) -> Measurement:
    """Make the Measurement of a finished Run; answers to the prompts of `shown_ids` are kept."""
    answers = answers_of(run)
    reasons, responds = _reasons(run), responding(answers, run.spec.mode)
    texts = {
        prompt.id: answers.responses[prompt.id, 0, 0] for prompt in prompts if (prompt.id, 0, 0) in answers.responses
    }
    guards = _guards(answers, prompts, 0)
    return Measurement(
        version=VERSION, key=key, arm=arm, seed=seed, engine=run.spec.engine, suite_sha256=suite_sha256,
        summary=run.summary(), passes=[answers.passes(prompt, 0) for prompt in prompts],
        words=[guard.words if guard else None for guard in guards],
        topic_words=[guard.content_share if guard else None for guard in guards],
        repetitive=[guard.is_repetitive if guard else None for guard in guards],
        plain=plain,
        shown={
            prompt.id: ShownAnswer(
                arm, texts[prompt.id].text, texts[prompt.id].status, answers.passes(prompt, 0),
                reasons.get(prompt.id, [])
            )
            for prompt in prompts if prompt.id in shown_ids and prompt.id in texts
        },
        run=run.directory.name, seconds=seconds, suite=suite,
        # an answer too short to repeat the prompt does not
        echo=[bool(guard.is_echo) if guard else None for guard in guards],
        empty_form=[guard.is_empty_form if guard else None for guard in guards],
        kept=[_constraints_kept(answers, prompt) for prompt in prompts],
        drawn=[_draw_outcomes(answers, prompts, draw, responds) for draw in range(answers.draws * (answers.draws > 1))],
        answers_sha256=content_hash([[*key, response.text] for key, response in sorted(answers.responses.items())]),
        responding=[responds.get((prompt.id, 0)) for prompt in prompts],
        served=sorted({response.served_model for response in answers.responses.values() if response.served_model}),
    )  # fmt: skip


def _guards(answers: Answers, prompts: Sequence[Prompt], draw: int) -> list[Guard | None]:
    """Return the guard of each prompt's first answer in one draw; None without a visible text."""
    texts = [answers.responses.get((prompt.id, 0, draw)) for prompt in prompts]
    return [
        guard(prompt, response.text) if response is not None and response.text.strip() else None
        for prompt, response in zip(prompts, texts, strict=True)
    ]


def _draw_outcomes(
    answers: Answers, prompts: Sequence[Prompt], draw: int, responds: Mapping[Unit, bool | None]
) -> DrawOutcomes:
    passes = [answers.passes(prompt, draw) for prompt in prompts]
    beside = _guards(answers, prompts, draw)
    sound = [
        passed and not (guard is not None and guard.is_letter_alone)
        for passed, guard in zip(passes, beside, strict=True)
    ]
    return DrawOutcomes(passes, sound, [responds.get((prompt.id, draw)) for prompt in prompts])


def _constraints_kept(answers: Answers, prompt: Prompt) -> list[bool | None]:
    """Tell whether each constraint was kept, over all turns in order; None where it is undecided."""
    keeps: list[bool | None] = []
    for turn, user_turn in enumerate(prompt.turns):
        outcomes = answers.outcomes(prompt, turn, 0) or ["undecided"] * len(user_turn.constraints)
        keeps += [None if outcome == "undecided" else outcome == "pass" for outcome in outcomes]
    return keeps


def constraint_words(prompt: Prompt) -> list[str]:
    """Return the constraints of a prompt in words; for sessions, the rule as it is written."""
    if "rule" in prompt.tags:
        return [prompt.text]
    profile = prompt.tags.get("profile")
    return [resolve(ref, profile=profile).describe() for ref in prompt.constraints]


def foreign_evaluations(directory: Path, task_names: Collection[str]) -> list[Path]:
    """Return the stored evaluations whose names no task has; they are of other seeds, settings, code or libraries."""
    return [file for file in sorted((directory / FOLDER).glob("*.json")) if file.stem not in task_names]


def torch_of(file: Path) -> str:
    """Return the version of torch behind a stored evaluation, or `unknown`."""
    try:
        return str(decode(file.read_bytes(), Measurement).engine.settings.get("torch", "unknown"))
    except IntegrityError:
        return "unknown"


def load_measured(directory: Path, name: str, key: str) -> Measurement | None:
    """Return a stored evaluation, or None if it has yet to be made.

    Raises:
        IntegrityError: The file cannot be read, or its key is another.
    """
    file = directory / FOLDER / f"{name}.json"
    if not file.exists():
        return None
    try:
        measurement = decode(file.read_bytes(), Measurement)
    except IntegrityError as error:
        raise IntegrityError(f"{file}: {error}. Remove it to evaluate this arm again") from error
    if measurement.key != key:
        raise IntegrityError(f"{file} belongs to {measurement.key}. Remove it to evaluate this arm again")
    return measurement


def save_measured(directory: Path, name: str, measurement: Measurement) -> None:
    """Store an evaluation; this finishes it."""
    (directory / FOLDER).mkdir(parents=True, exist_ok=True)
    write_atomic(directory / FOLDER / f"{name}.json", encode(measurement))


def _reasons(run: Run) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = {}
    strict = [
        verdict for verdict in run.verdicts() if verdict.view == "strict" and verdict.draw == 0 and verdict.turn == 0
    ]
    for verdict in sorted(strict, key=lambda verdict: (verdict.prompt_id, verdict.index)):
        reasons.setdefault(verdict.prompt_id, []).append(
            f"{verdict.outcome}: {verdict.constraint_id}: {verdict.reason}"
        )
    return reasons
