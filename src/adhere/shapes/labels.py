"""Read a row's constraints in the forms that trainers' data use.

| form | who writes it |
|---|---|
| columns `instruction_id_list` and `kwargs` | IFEval, TRL's rows, ours |
| a mapping with both (or `instruction_id`), or a list with one such mapping | verl, OpenRLHF, verifiers |
| either as JSON text, or as the literal of a Python list | Parquet; open-instruct |
| `kwargs` as one mapping of lists, a list an argument | Arrow's struct of lists |
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import msgspec

from adhere.errors import UsageError
from adhere.schema import ConstraintRef
from adhere.shapes.messages import asked_in, is_listed

COLUMNS = ("instruction_id_list", "kwargs")
_IDS = ("instruction_id_list", "instruction_id")  # the second is what open-instruct's ground truths say
_WANTED = "Wanted: a mapping (or its JSON text) with instruction_id_list and kwargs, as in IFEval's rows"
MOST_CACHED = 4096
LONGEST_LITERAL = 1 << 20

Refs = tuple[ConstraintRef, ...]
_refs_by_key: dict[bytes, Refs] = {}


def refs_of(ids: Any, kwargs: Any) -> Refs:
    """Return the constraints of one row.

    Arrow gives every row of a column the same keys; those filled with None are not parameters.

    Args:
        ids: A list of ids, or its JSON text; None: no constraints.
        kwargs: A list of mappings, its JSON text, or one mapping of lists, each with a value for every id.

    Raises:
        UsageError: `ids` and `kwargs` differ in length, or one has another shape.
    """
    key = msgspec.json.encode([ids, kwargs], enc_hook=_plain)
    cached_refs = _refs_by_key.get(key)
    if cached_refs is not None:
        return cached_refs
    # Plain lists and numbers from here on, whatever the trainer's arrays were.
    ids, kwargs = (_list_of(value, name) for value, name in zip(msgspec.json.decode(key), COLUMNS, strict=True))
    if isinstance(kwargs, Mapping):
        kwargs = _of_lists(kwargs, len(ids))
    if not all(isinstance(constraint_id, str) for constraint_id in ids):
        raise UsageError(f"instruction_id_list must be a list of ids, got {ids!r:.80}")
    if not all(params is None or isinstance(params, Mapping) for params in kwargs):
        raise UsageError(f"kwargs must be a list of mappings, one an id, got {kwargs!r:.80}")
    if len(ids) != len(kwargs):
        raise UsageError(f"instruction_id_list names {len(ids)} constraints ({', '.join(ids)}), kwargs {len(kwargs)}")
    refs = tuple(
        ConstraintRef(id, {name: value for name, value in (params or {}).items() if value is not None})
        for id, params in zip(ids, kwargs, strict=True)  # noqa: A001 - the field's word
    )
    if len(_refs_by_key) >= MOST_CACHED:
        _refs_by_key.clear()
    _refs_by_key[key] = refs
    return refs


def _list_of(value: Any, name: str) -> Any:
    """Return a column's value as a list, or for kwargs as a list or mapping."""
    if value is None:
        return []
    if isinstance(value, str):
        try:
            value = read_literal(value)
        except ValueError as error:
            raise UsageError(f"{name} must be a list or its JSON text, got the text {value!r:.80}: {error}") from error
        value = [] if value is None else value
    if isinstance(value, list) or (name == "kwargs" and isinstance(value, Mapping)):
        return value
    raise UsageError(f"{name} must be a list or its JSON text, got {value!r:.80}")


def _of_lists(columns: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """Return the parameters of each of `n` constraints, from a mapping of argument -> values for all of them."""
    other = [name for name, values in columns.items() if values is not None and not _is_of(values, n)]
    if other:
        raise UsageError(
            f"kwargs is one mapping, so each argument must have a list with a value for every one of {n} ids; "
            f"{other[0]!r} has {columns[other[0]]!r:.60}. Or give a list of mappings, one an id"
        )
    return [{name: values[place] for name, values in columns.items() if values is not None} for place in range(n)]


def _is_of(values: Any, n: int) -> bool:
    return isinstance(values, list) and len(values) == n


def _plain(value: Any) -> Any:
    """Convert arrays and their numbers (numpy's, from Parquet) to lists and numbers."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise UsageError(f"A constraint's parameters are JSON values, got {type(value).__name__}: {value!r}")


def read_literal(text: str | bytes) -> Any:
    """Read JSON, or the literal of a Python list or mapping (`[{'instruction_id': …, 'kwargs': [None]}]`).

    Raises:
        ValueError: The text is neither; the message says why it is no JSON.
    """
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = str(error)
        literal = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        if literal.lstrip().startswith(("[", "{", "(")) and len(literal) <= LONGEST_LITERAL:
            try:
                return ast.literal_eval(literal.strip())
            except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
                pass
    raise ValueError(reason)


def label_of(label: Any, where: str) -> Any:
    """Return a row's label: parsed if it is a text, its only item if it is a list of one, else unchanged.

    A label may also be called ground truth or info.

    Raises:
        UsageError: The label is a text, and neither JSON nor a Python literal.
    """
    if isinstance(label, str | bytes):
        try:
            label = read_literal(label)
        except ValueError as error:
            raise UsageError(f"{where} is no JSON: {error}. {_WANTED}") from error
    return label[0] if is_listed(label) and len(label) == 1 else label


def names_constraints(label: Any) -> bool:
    """Tell whether a label that `label_of` read names constraints."""
    return isinstance(label, Mapping) and any(name in label for name in _IDS) and "kwargs" in label


def refs_in(label: Any, *, where: str) -> Refs:
    """Return the constraints in a row's label, ground truth or info.

    The label may be a mapping with `instruction_id_list` (or `instruction_id`) and `kwargs`, a list with one such
    mapping, or either as JSON text or Python literal. Other keys are ignored.

    Args:
        label: The label as the trainer passes it.
        where: The trainer's name of the label, for messages.

    Raises:
        UsageError: The label is none of these.
    """
    plain_label = label_of(label, where)
    if not names_constraints(plain_label):
        got = ", ".join(map(repr, plain_label)) if isinstance(plain_label, Mapping) else repr(label)[:80]
        raise UsageError(f"{where} names no constraints: it holds {got or 'nothing'}. {_WANTED}")
    return refs_of(next(plain_label[name] for name in _IDS if name in plain_label), plain_label["kwargs"])


def asked_by(label: Any, *others: Any, where: str) -> str:
    """Return a row's prompt for the intent gate (`traps=True`).

    This is the value of `prompt` in the label, or in one of `others`.

    Args:
        label: As for `refs_in`. `adhere build convert` and our environments' rows have the prompt in the label.
        others: Mappings that a trainer passes with the label.
        where: The trainer's name of the label, for messages.

    Raises:
        UsageError: None of these has a prompt. A trainer's own text of the prompt is no substitute, as a template
            surrounds it.
    """
    for candidate in (label_of(label, where), *others):
        prompt = candidate.get("prompt") if isinstance(candidate, Mapping) else None
        if prompt is not None and (text := asked_in(prompt)).strip():
            return text
    raise UsageError(
        f"With traps=True a row needs its prompt: {where} has no `prompt` (a text, or messages). Rows made by "
        "`adhere build convert` have it"
    )
