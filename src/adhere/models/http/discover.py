"""Reads the models that an endpoint lists, with their prices, and selects from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from adhere.errors import UsageError, nearest
from adhere.models.http.wire import Prices


class ListedModel(NamedTuple):
    """Holds one row of `/models`.

    Attributes:
        id: The model's name in requests.
        canonical: Its permanent name if the endpoint has one, else the id.
        context: Tokens that it can read; None: not stated.
        inputs, outputs: Modalities; empty: not stated.
        prices: USD a token; None: not stated, which does not mean free.
        row: The row as the endpoint gave it.
    """

    id: str
    canonical: str
    context: int | None
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    prices: Prices | None
    row: Mapping[str, Any]


def parse_models(rows: Iterable[Mapping[str, Any]]) -> list[ListedModel]:
    """Parse the rows of `/models`; return them sorted by id, without repeats. Missing or odd fields become empty."""
    models_by_id = {}
    for row in rows:
        architecture = row.get("architecture")
        architecture = architecture if isinstance(architecture, Mapping) else {}
        context = row.get("context_length") or row.get("max_model_len")
        models_by_id[str(row["id"])] = ListedModel(
            str(row["id"]),
            str(row.get("canonical_slug") or row["id"]),
            context if isinstance(context, int) and not isinstance(context, bool) else None,
            _names(architecture.get("input_modalities")),
            _names(architecture.get("output_modalities")),
            _prices(row.get("pricing")),
            row,
        )
    return [models_by_id[name] for name in sorted(models_by_id)]


def select(
    models: Sequence[ListedModel],
    *,
    globs: Sequence[str] = (),
    max_price: float | None = None,
    min_context: int | None = None,
    modality: str | None = None,
) -> tuple[list[ListedModel], dict[str, str]]:
    """Return (the selected models, the reason for each other one by id).

    Args:
        models: The models of the endpoint.
        globs: `qwen/*`, `*:free`; a `!` before one leaves out what it matches. Empty: all.
        max_price: USD per million completion tokens; a model without a stated price is left out.
        min_context: Tokens; a model that states no context is kept.
        modality: An output modality that it must have (`text`); a model that states none is kept.

    Raises:
        UsageError: A glob matches nothing.
    """
    inclusions = [glob for glob in globs if not glob.startswith("!")]
    exclusions = [glob[1:] for glob in globs if glob.startswith("!")]
    for glob in inclusions:
        if not any(fnmatchcase(model.id, glob) for model in models):
            raise UsageError(
                f"No model matches {glob!r}.{nearest(glob, [model.id for model in models])} {len(models)} are listed"
            )
    selection, reasons = [], {}
    for model in models:
        reason = _left_out_because(model, inclusions, exclusions) or _reason(model, max_price, min_context, modality)
        if reason is None:
            selection.append(model)
        else:
            reasons[model.id] = reason
    return selection, reasons


def _left_out_because(model: ListedModel, inclusions: Sequence[str], exclusions: Sequence[str]) -> str | None:
    if inclusions and not any(fnmatchcase(model.id, glob) for glob in inclusions):
        return "not asked for"
    return "left out by name" if any(fnmatchcase(model.id, glob) for glob in exclusions) else None


def _reason(model: ListedModel, max_price: float | None, min_context: int | None, modality: str | None) -> str | None:
    if max_price is not None and model.prices is None:
        return "its price is not said"
    if max_price is not None and model.prices is not None and model.prices.completion * 1e6 > max_price:
        return f"${model.prices.completion * 1e6:g} a million tokens, wanted at most ${max_price:g}"
    if min_context is not None and model.context is not None and model.context < min_context:
        return f"reads {model.context} tokens, wanted at least {min_context}"
    if modality is not None and model.outputs and modality not in model.outputs:
        return f"puts out {', '.join(model.outputs)}, wanted {modality}"
    return None


def _prices(pricing: Any) -> Prices | None:
    """Read a price in USD a token; None if it is missing, or negative, as it is where routing decides the price."""
    if not isinstance(pricing, Mapping) or "prompt" not in pricing or "completion" not in pricing:
        return None
    try:
        numbers = [float(Decimal(str(pricing.get(name) or 0))) for name in ("prompt", "completion", "request")]
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return Prices(*numbers) if all(0 <= number < math.inf for number in numbers) else None


def _names(modalities: Any) -> tuple[str, ...]:
    return tuple(str(name) for name in modalities) if isinstance(modalities, list) else ()
