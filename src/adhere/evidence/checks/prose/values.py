"""Sentences that state a number: "scores 77.6 on IFEval", "Qwen2 (77.6)", "scores of 79.7 and 78.2 on MMLU and BBH"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adhere.evidence.checks.checking import Check
from adhere.evidence.claims.mentions import BenchmarkMention, ModelMention, NumberMention
from adhere.evidence.claims.statement import ProseClaim, Statement, matches, nearest_benchmark
from adhere.evidence.claims.values import Value

MAX_NUMBERS = 40  # a "sentence" with more is a list or a table that was not set as one
_RESPECTIVELY = re.compile(r"\brespectively\b", re.IGNORECASE)
# Differences, ranges and extremes state other things than one model's score.
_NO_VALUE = re.compile(
    r"\b(?:by|of|another)\s+(?:about\s+|only\s+)?[\d.]+\s*%?\s*(?:percentage\s+)?points?\b|\bby\s+(?:about\s+|only\s+)?[\d.]|"
    r"\b(?:from|between)\s+[-−]?[\d.]+\s*%?\s+(?:to|and)\b|\b(?:highest|lowest|best|top|maximum|minimum)\s+(?:score|result|accuracy|value|number)|"
    r"\bpoints?\s+(?:above|below|ahead|behind|higher|lower|more|less|better|worse)|\b(?:gap|margin|gain|difference|improvement|increase|drop|lead)\b",
    re.IGNORECASE,
)
_VERSUS = re.compile(r"\s*%?\s*(?:vs\.?|versus|against|compared (?:to|with)|and|to|,)\s*", re.IGNORECASE)


def plain_values(statement: Statement) -> Iterator[ProseClaim]:
    """Every number that a sentence gives a model on a benchmark, held against the tables where they print it."""
    if _NO_VALUE.search(statement.text):
        return
    numbers = [n for n in statement.found.numbers if _is_score_like(statement, n)]
    if not numbers or not statement.found.benchmarks or not statement.models or len(numbers) > MAX_NUMBERS:
        return
    by_order = _zipped(statement, numbers)
    for number in numbers:
        benchmark = by_order.get(number.start) or nearest_benchmark(statement, number.start, number.end)
        model = _model_of(statement, number, numbers)
        if benchmark is None or model is None:
            continue
        cells = statement.cells(model, benchmark)
        # Any model and benchmark of the sentence may be meant: only a number that fits none of them is a conflict.
        # "75.4 on Math" can only be Math.
        is_direct = number.start in by_order or re.fullmatch(
            r"\s*%?\s*(?:on|in|for)\s+(?:the\s+)?", statement.text[number.end : benchmark.start]
        )
        possible = [benchmark] if is_direct else statement.found.benchmarks
        meant = [model] if _RESPECTIVELY.search(statement.text) else statement.models
        # Each cell once: a sentence may name a model or benchmark many times.
        everything = list(
            {c.id: c for m in (model, *meant) for b in (benchmark, *possible) for c in statement.cells(m, b)}.values()
        )
        check = matches(statement, number, cells, [model], benchmark, also=everything) if cells else None
        if not everything:
            check, cells = _elsewhere(statement, number, model, benchmark)
        yield ProseClaim(
            "",
            statement.document.name,
            statement.sentence.line,
            model.model.name,
            benchmark.text,
            number.printed,
            statement.text,
            cells[0] if cells else None,
            check,
        )


def _elsewhere(
    statement: Statement, number: NumberMention, model: ModelMention, benchmark: BenchmarkMention
) -> tuple[Check | None, list[Value]]:
    """A number that no table of its own document prints, against the tables of the others."""
    cells = [
        cell
        for cell in statement.others.values(model.model, benchmark, [])
        if not cell.is_private
        and not cell.setting
        and cell.role == "score"
        and cell.benchmark
        # A version that the sentence does not name may be another one.
        and (not cell.benchmark.variant or cell.benchmark.variant.lower() == benchmark.variant.lower())
        and (cell.benchmark.metric == benchmark.metric or not cell.benchmark.metric or not benchmark.metric)
    ]
    if not cells:
        return None, []
    check = matches(statement, number, cells, [model], benchmark)
    check.kind = "cross_document"
    return check, cells


def _is_score_like(statement: Statement, number: NumberMention) -> bool:
    """Whether a number reads as a score: it has decimals or a %, or the words before it say so."""
    if number.printed.decimals > 0 or number.printed.unit == "%":
        return True
    before = statement.text[: number.start]
    return bool(
        re.search(
            r"(?:scores?(?: of)?|reach(?:es|ing)?|achiev(?:es|ing)|obtains?|attains?|gets|:|\()\s*$",
            before,
            re.IGNORECASE,
        )
    )


def _zipped(statement: Statement, numbers: Sequence[NumberMention]) -> dict[int, BenchmarkMention]:
    """In words: "scores of 79.7 and 78.2" beside "MMLU and BBH": as many numbers in a row as benchmarks in a row, paired in order."""
    runs = [_runs(numbers, statement.text), _runs(statement.found.benchmarks, statement.text)]
    found: dict[int, BenchmarkMention] = {}
    for run in runs[0]:
        if len(run) < 2:
            continue
        same = [group for group in runs[1] if len(group) == len(run)]
        if same:
            nearest = min(same, key=lambda group: abs(group[0].start - run[0].start))
            found |= {number.start: benchmark for number, benchmark in zip(run, nearest, strict=True)}  # type: ignore[misc]
    return found


def _runs(
    items: Sequence[NumberMention] | Sequence[BenchmarkMention], text: str
) -> list[list[NumberMention | BenchmarkMention]]:
    runs: list[list[NumberMention | BenchmarkMention]] = []
    for item in items:
        if runs and re.fullmatch(r"[\s,%]*(?:\([^()]*\))?[\s,]*(?:and|&)?[\s,]*", text[runs[-1][-1].end : item.start]):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _model_of(statement: Statement, number: NumberMention, numbers: Sequence[NumberMention]) -> ModelMention | None:  # noqa: PLR0911 -- one return a turn of phrase
    """The model that a number belongs to: "Qwen2 (77.6)", "67.1 for Mixtral", numbers and models in one order, else the subject."""
    text, models = statement.text, statement.models
    for model in statement.found.models:
        if model.start >= number.end and re.fullmatch(
            r"\s*%?\s*\)?\s*(?:for|by|of|from)\s+(?:the\s+)?|\s*%?\s*\(\s*", text[number.end : model.start]
        ):
            return model
        if model.start >= number.end and re.fullmatch(
            r"\s*%?,?\s*(?:which (?:is|was) )?(?:obtained|achieved|reached|reported|held|scored)\s+(?:by|for)\s+(?:the\s+)?",
            text[number.end : model.start],
        ):
            return model
    if (
        len(numbers) == 2
        and len({m.model.key for m in models}) == 2
        and _VERSUS.fullmatch(text[numbers[0].end : numbers[1].start])
    ):
        pair = list({m.model.key: m for m in reversed(models)}.values())[::-1]
        return pair[0] if number is numbers[0] else pair[1]
    for model in statement.found.models:
        if model.end <= number.start and re.fullmatch(
            r"(?:'s|’s)?\s*(?:\(|:|at|with|=|,)?\s*", text[model.end : number.start]
        ):
            return model
    distinct = list({m.model.key: m for m in reversed(models)}.values())[::-1]
    if len(distinct) == len(numbers) and len(distinct) > 1 and len(statement.found.benchmarks) == 1:
        return distinct[list(numbers).index(number)]
    if statement.pronoun:
        return statement.pronoun
    before = [m for m in models if m.end <= number.start]
    if not before:
        return models[0] if models else None
    # The last model that does not stand after a word of comparison.
    for model in reversed(before):
        lead = text[max(0, model.start - 40) : model.start]
        if not re.search(
            r"(?:than|over|to|with|against|vs\.?|versus|surpass\w*|outperform\w*|exceed\w*|beat\w*|behind|and|,)\s+(?:the\s+|its\s+predecessor,?\s+)?$",
            lead,
            re.IGNORECASE,
        ):
            return model
    return before[0]
