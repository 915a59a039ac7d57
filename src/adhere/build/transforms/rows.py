"""Read and write parts of a row whose prompt is a text or messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from adhere.build.transforms.base import Row, UnfitRow
from adhere.constraints.base import Constraint, from_ref
from adhere.constraints.resolve import resolve
from adhere.errors import AdhereError
from adhere.pipeline.judge import judge_text
from adhere.schema import ConstraintRef
from adhere.shapes.labels import refs_of

Value = str | list[dict[str, Any]]
T = TypeVar("T")


def text_of(value: Value) -> str:
    """Return the text of the last message, or the value itself if it is a text."""
    return value if isinstance(value, str) else str(value[-1]["content"])


def with_text(value: Value, text: str) -> Value:
    """Return a copy of the value with another text in place of the last message's."""
    return text if isinstance(value, str) else [*value[:-1], {**value[-1], "content": text}]


def messages(value: Value) -> list[dict[str, Any]]:
    """Return a prompt as messages."""
    return [{"role": "user", "content": value}] if isinstance(value, str) else list(value)


def as_messages(text: str) -> list[dict[str, Any]]:
    """Return an answer as messages."""
    return [{"role": "assistant", "content": text}]


def answers_as_messages(row: Row) -> Row:
    """Return those of the columns `completion`, `chosen` and `rejected` that the row has, each as messages."""
    return {side: as_messages(text_of(row[side])) for side in ("completion", "chosen", "rejected") if side in row}


def constraints(row: Row) -> list[Constraint]:
    """Return the row's constraints.

    Raises:
        UnfitRow: A constraint is not one of ours.
    """
    return _make_each(row, from_ref)


def refs(row: Row) -> list[ConstraintRef]:
    """Return the row's constraints as stored refs; published constraints are allowed.

    Raises:
        UnfitRow: A constraint is unknown.
    """

    def known(ref: ConstraintRef) -> ConstraintRef:
        resolve(ref)
        return ref

    return _make_each(row, known)


def _make_each(row: Row, make: Callable[[ConstraintRef], T]) -> list[T]:
    try:
        return [make(ref) for ref in refs_of(row.get("instruction_id_list"), row.get("kwargs"))]
    except AdhereError as problem:
        raise UnfitRow(f"its constraints cannot be used: {problem}") from problem


def with_constraints(row: Row, row_constraints: Sequence[Constraint]) -> Row:
    """Return a copy of the row with these constraints in its columns."""
    refs = [constraint.ref() for constraint in row_constraints]
    return {**row, "instruction_id_list": [ref.id for ref in refs], "kwargs": [dict(ref.params) for ref in refs]}


def keeps(text: str, row_constraints: Sequence[Constraint]) -> bool:
    """Tell whether the judge passes every constraint on `text`; False without constraints."""
    verdicts = judge_text(text, [constraint.ref() for constraint in row_constraints], ("strict",))
    return {verdict.outcome for verdict in verdicts} == {"pass"}


def breaks(text: str, constraint: Constraint) -> bool:
    """Tell whether the judge fails a constraint on `text`."""
    return judge_text(text, [constraint.ref()], ("strict",))[0].outcome == "fail"


def sentence_in(prompt: str, constraint: Constraint) -> str:
    """Return the sentence in which a prompt asks for a constraint.

    Raises:
        UnfitRow: The prompt holds no wording of the constraint.
    """
    for number in range(len(constraint.phrasings)):
        sentence = constraint.describe(number)
        if sentence in prompt:
            return sentence
    raise UnfitRow(f"its prompt says {constraint.id} in no wording of ours")


def without(prompt: str, sentence: str) -> str:
    """Return the prompt without a sentence."""
    return prompt.replace(sentence, " ", 1).replace("  ", " ").strip()


def bare(row: Row) -> Row:
    """Return a copy of the row without constraints, for rows that are no longer one answer to one prompt."""
    return {**row, "instruction_id_list": [], "kwargs": []}
