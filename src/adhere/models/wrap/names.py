"""Names of wrapped models: METHOD(MODEL), e.g. `best-of-8(local/smollm2-135m)`; methods may stand inside each other."""

from __future__ import annotations

import re
from collections.abc import Callable

from adhere.errors import UnknownName, UsageError, nearest
from adhere.models.base import Model
from adhere.models.wrap import methods
from adhere.models.wrap.searched import SearchedModel
from adhere.models.wrap.wrapper import Method, WrappedModel

MOST_ANSWERS = 64
_PLAIN: dict[str, Method] = {
    "decompose-critique-refine": methods.decompose_critique_refine,
    "helper-functions": methods.helper_functions,
    "prefix": methods.prefix,
    "self-check": methods.self_check,
    "shuffled-steps": methods.shuffled_steps,
    "step-by-step": methods.step_by_step,
}
# With a number behind the name: how many where none is given, and whether it is an oracle.
_METHODS_OF_N: dict[str, tuple[Callable[[int], Method], int, bool]] = {
    "best-of": (methods.best_of, 8, True),
    "majority": (methods.majority, 5, False),
    "repair": (methods.repair, 1, True),
}
# The one method that is prepared by who measures it, and how many texts it proposes.
_SEARCH, _PROPOSALS = "prompt-search", 8
# The method that is inside the model: how much more weight its heads give the request.
STEER, _FACTOR, _MOST_FACTOR = "steer", 4, 1000
_FORM = re.compile(r"(?P<label>[a-z][a-z0-9-]*)\((?P<inner>.+)\)", re.DOTALL)


def wrapped_form(name: str) -> tuple[str, str] | None:
    """Return (method, inner model) if `name` has the form METHOD(MODEL), else None."""
    form = _FORM.fullmatch(name)
    return (form["label"], form["inner"]) if form else None


def known_methods() -> list[str]:
    """Return the names of all methods; N stands for a number that may be left out."""
    return sorted([*_PLAIN, *(f"{name}-N" for name in (*_METHODS_OF_N, _SEARCH, STEER))])


def steer_factor(label: str) -> int | None:
    """Return the factor of the request's weight for the name `steer` or `steer-N`; None for other names.

    Raises:
        UsageError: The number is out of range.
    """
    stem, dash, number = label.partition("-")
    if stem != STEER or (dash and not number.isdigit()):
        return None
    factor = int(number) if number else _FACTOR
    if not 1 <= factor <= _MOST_FACTOR:
        raise UsageError(f"{label}: the number must be 1 (nothing changes) to {_MOST_FACTOR}")
    return factor


def open_wrapped(name: str, open_inner: Callable[[str], Model]) -> Model:
    """Open the Model of a name of the form METHOD(MODEL).

    Args:
        name: The whole name.
        open_inner: Opens the model in the parentheses.

    Raises:
        UnknownName: There is no such method.
        UsageError: A number is out of range, or an oracle is inside another method.
    """
    form = _FORM.fullmatch(name)
    if form is None:
        raise UsageError(f"{name!r} must have the form METHOD(MODEL), e.g. majority-5(local/smollm2-135m)")
    make_wrapped = _method(form["label"])
    inner = open_inner(form["inner"])
    if isinstance(inner, SearchedModel) or (isinstance(inner, WrappedModel) and inner.is_oracle):
        inner.close()
        raise UsageError(
            f"{name}: a method that uses the verifiers must stand outermost, as {form['label']} cannot hand them on"
        )
    return make_wrapped(inner)


def _method(label: str) -> Callable[[Model], Model]:
    """Return the function that makes the wrapped model of the inner one."""
    if label in _PLAIN:
        return lambda inner: WrappedModel(inner, label, _PLAIN[label])
    stem, _, number = label.rpartition("-")
    stem, number = (stem, number) if number.isdigit() else (label, "")
    methods = [*_PLAIN, *_METHODS_OF_N, _SEARCH, STEER]
    if stem not in (*_METHODS_OF_N, _SEARCH):
        raise UnknownName(f"Unknown method {label!r}.{nearest(label, methods)} Methods: {', '.join(known_methods())}")
    make, usual, is_oracle = _METHODS_OF_N.get(stem, (None, _PROPOSALS, False))
    count = int(number) if number else usual
    if not 1 <= count <= MOST_ANSWERS:
        raise UsageError(f"{label}: the number must be 1 to {MOST_ANSWERS}")
    if make is None:
        return lambda inner: SearchedModel(inner, label, count)
    return lambda inner: WrappedModel(inner, label, make(count), is_oracle=is_oracle)
