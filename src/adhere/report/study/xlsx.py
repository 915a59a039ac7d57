"""Write a Study as a workbook: answer, pass rates, contrasts by seed, guards, costs, learning curves, settings.

`pieces/workbook.py` writes the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adhere.report.pieces.workbook import Sheet, formats_of, write_workbook
from adhere.report.study.threats import threats
from adhere.report.study.view import changes_of, note_sentence, sides_line, sides_what, slice_scores, tuning_sentences
from adhere.study.outcome.result import StudyResult

Value = str | float | int | bool | None


def write_study_xlsx(result: StudyResult, path: Path) -> None:
    """Write the workbook; whoever reads `path` sees the old file or the whole new one.

    Raises:
        ResourceError: The file cannot be written.
    """

    def fill(workbook: Any) -> None:
        formats = formats_of(workbook)
        for name, (head, *rows) in sheets(result).items():
            sheet = Sheet(workbook.add_worksheet(name), formats)
            names = [str(heading) for heading in head]
            sheet.head(
                names, [_width(name, [row[at] for row in rows if at < len(row)]) for at, name in enumerate(names)]
            )
            looks = {at: look for at, name in enumerate(names) if (look := _look(name))}
            for row in rows:
                sheet.add(row, {at: look for at, look in looks.items() if not isinstance(row[at : at + 1], str)},
                          default="wrap")  # fmt: skip
            sheet.filter()

    write_workbook(path, fill)


_SHARES = frozenset({
    "rate", "loose", "constraints", "sound", "responds", "topic words", "form alone", "repetitive", "cut",
    "rate_treatment", "rate_control", "treatment rate", "control rate", "dev rate",
})  # fmt: skip
_DIFFERENCES = frozenset({"difference", "minimum_detectable"})
_COUNTS = frozenset({
    "passed", "n", "n_prompts", "n_queries", "gained", "lost", "prompts", "rows", "steps", "answers_generated",
    "tokens_generated", "tokens_trained", "tokens_processed", "tokens_scored", "tokens trained",
})  # fmt: skip
_DECIMALS = frozenset({"p_value", "p_adjusted"})
_SECONDS = frozenset({"minutes", "minutes_generating", "petaflops", "peak_memory_gb", "words"})


def _look(name: str) -> str:
    """Return the number format below a heading; empty for none, because a guard's unit differs from row to row."""
    for names, look in (
        (_SHARES, "percent"), (_DIFFERENCES, "points"), (_COUNTS, "count"), (_DECIMALS, "decimal"),
        (_SECONDS, "seconds"),
    ):  # fmt: skip
        if name in names:
            return look
    return ""


def _width(name: str, values: Sequence[Value]) -> int:
    """Return the width of a column by its content, in letters; long texts are wrapped."""
    texts = [name, *(str(value) for value in values if isinstance(value, str))]
    return min(70, max(10, *(2 + len(text) for text in texts)))


def sheets(result: StudyResult) -> dict[str, list[list[Value]]]:
    """Return sheet name -> rows, the first row being headings. Rates and differences are shares."""
    return {
        "answer": _answer(result),
        "pass rates": _rates(result),
        "contrasts": _contrasts(result),
        "seeds": _seeds(result),
        "guards": _guards(result),
        **({"sides": _sides(result)} if result.sides else {}),
        **({"tuning": _tuning(result)} if result.tuning else {}),
        "cost of arms": _arm_costs(result),
        "cost of stages": _stage_costs(result),
        "curves": _curves(result),
        "settings": _settings(result),
    }


def _answer(result: StudyResult) -> list[list[Value]]:
    verdict = result.verdict
    rows: list[list[Value]] = [
        ["what", "says"], ["question", verdict.question], ["answer", verdict.answer], ["scope", verdict.scope],
        ["headline", verdict.headline], ["because", verdict.because], ["what would decide it", verdict.decides],
        ["rule", verdict.rule], ["reach", verdict.reach], ["study", result.name], ["spec sha256", result.spec_sha256],
        ["frozen at", result.spec_frozen_at], ["minutes", result.minutes],
    ]  # fmt: skip
    rows += [["changed", line] for line in changes_of(result)]
    rows += [["not done", line] for line in result.failures]
    rows += [["warning", line] for line in result.warnings]
    rows += (
        [["not worse at the rest", sides_line(result)], ["side measures", sides_what(result)]] if result.sides else []
    )
    rows += [["tuning", line] for line in tuning_sentences(result)]
    rows += [["noted in training", note_sentence(note)] for note in result.notes]
    return rows + [["threat to validity", line] for line in threats(result)]


def _rates(result: StudyResult) -> list[list[Value]]:
    rows: list[list[Value]] = [["slice", "arm", "seed", "passed", "n", "rate", "low", "high", "loose", "constraints",
        "sound", "responds", "words", "topic words", "form alone", "repetitive", "cut"]]  # fmt: skip
    for part in slice_scores(result):
        for row in part.arms:
            for score in (row.score, *row.by_seed):
                if score is not None:
                    rate = score.prompt_strict
                    rows.append([
                        part.slice, row.arm, "all" if score.seed is None else score.seed, rate.passed, rate.n,
                        rate.rate,
                        rate.low, rate.high, score.prompt_loose.rate, score.instruction_strict.rate,
                        score.guard.sound_share, score.guard.responsive_share, score.guard.mean_words,
                        score.guard.content_share,
                        score.guard.form_share, score.guard.repetition_share, score.guard.truncated_share,
                    ])  # fmt: skip
    return rows


def _contrasts(result: StudyResult) -> list[list[Value]]:
    names = (
        "role", "treatment", "control", "slice", "n_prompts", "n_queries", "n_seeds", "rate_treatment", "rate_control",
        "difference", "low", "high", "gained", "lost", "p_value", "p_adjusted", "minimum_detectable", "coverage",
        "method", "reason",
    )  # fmt: skip
    return _fields(names, result.contrasts)


def _seeds(result: StudyResult) -> list[list[Value]]:
    rows: list[list[Value]] = [
        ["treatment", "control", "slice", "seed", "treatment rate", "control rate", "difference", "gained", "lost"]
    ]
    for contrast in result.contrasts:
        for s in contrast.by_seed:
            rates = s.rate_treatment, s.rate_control
            rows.append(
                [contrast.treatment, contrast.control, contrast.slice, s.seed, *rates, s.difference, s.gained, s.lost]
            )
    return rows


def _guards(result: StudyResult) -> list[list[Value]]:
    names = ("name", "treatment", "control", "value_treatment", "value_control", "worse", "low", "high", "margin",
        "outcome")  # fmt: skip
    return _fields(names, [*result.guards, *result.tax])


def _sides(result: StudyResult) -> list[list[Value]]:
    names = (
        "task", "harness", "score", "unit", "n", "left_out", "value_a", "value_b", "worse", "low", "high", "margin",
        "outcome", "needed", "reason",
    )  # fmt: skip
    if result.sides is None:
        return [list(names)]
    rows = _fields(names, result.sides.tests)
    rows += [[], ["checkpoint", "is called"]]
    return rows + [[label, ", ".join(models)] for label, models in result.sides.models.items()]


def _tuning(result: StudyResult) -> list[list[Value]]:
    rows: list[list[Value]] = [["stage", "trial", "settings", "chosen", "dev rate", "tokens trained", "minutes"]]
    for stage in result.tuning.stages if result.tuning else ():
        for number, trial in enumerate(stage.trials):
            settings = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
            rows.append(
                [stage.stage, number, settings, number == stage.chosen, trial.rate, trial.tokens, trial.minutes]
            )
    return rows


def _arm_costs(result: StudyResult) -> list[list[Value]]:
    names = ("arm", "seed", "prompts", "answers_generated", "tokens_generated", "tokens_trained", "petaflops",
        "minutes", "peak_memory_gb")  # fmt: skip
    return _fields(names, result.arm_costs)


def _stage_costs(result: StudyResult) -> list[list[Value]]:
    names = (
        "cell", "stage", "method", "seed", "steps", "prompts", "rows", "answers_generated", "tokens_generated",
        "tokens_trained", "tokens_processed", "tokens_scored", "petaflops", "minutes", "minutes_generating",
        "peak_memory_gb",
    )  # fmt: skip
    return _fields(names, result.stage_costs)


def _fields(names: Sequence[str], records: Sequence[object]) -> list[list[Value]]:
    """Return the names as headings, then a row with these fields of each record."""
    return [list(names), *([getattr(record, name) for name in names] for record in records)]


def _settings(result: StudyResult) -> list[list[Value]]:
    rows: list[list[Value]] = [["stage", "setting", "Qwen2.5 states", "used", "why"]]
    return rows + [[note.stage, note.setting, note.stated, note.used, note.why] for note in result.settings]


def _curves(result: StudyResult) -> list[list[Value]]:
    columns = list(dict.fromkeys(name for curve in result.curves for name in curve.columns if name != "step"))
    rows: list[list[Value]] = [["cell", "seed", "step", *columns]]
    for curve in result.curves:
        steps = max((len(values) for values in curve.columns.values()), default=0)
        rows += [
            [curve.cell, curve.seed, place + 1, *(_at(curve.columns.get(name), place) for name in columns)]
            for place in range(steps)
        ]
    return rows


def _at(values: Sequence[float | None] | None, place: int) -> float | None:
    value = values[place] if values is not None and place < len(values) else None
    return value if value is None or abs(value) < float("inf") else None
