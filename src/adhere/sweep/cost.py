"""Estimate what a sweep may cost before anything is sent, and handle models without a known price."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from adhere.errors import OutOfCredit, UsageError
from adhere.models.base import Request
from adhere.models.http.cost import dollars, most_cost_usd, most_tokens, text_of
from adhere.models.http.wire import Prices
from adhere.schema import Sampling

NO_PRICE = "its price is not said, so --max-cost cannot be kept: state it with --price IN,OUT"


@dataclass(frozen=True)
class Estimate:
    """Estimates what a sweep will ask, and cost at most.

    Attributes:
        requests: Number of answers still to be asked for.
        models: Number of models that are asked.
        most_usd: Cost in USD if every answer used all its tokens.
        unpriced: Number of models without a known price; they count as 0.
        credit_usd: Credit left, by the endpoint; None: it does not say.
        spent_usd: Cost of this sweep so far.
    """

    requests: int
    models: int
    most_usd: float
    unpriced: int
    credit_usd: float | None
    spent_usd: float = 0.0


Confirm = Callable[[Estimate], float | None]
"""Function called before anything is sent; returns the cap on the sweep's cost (None: no cap), or raises to refuse."""


class Tariff:
    """Computes the highest cost of requests to the models of a sweep.

    Args:
        listed_prices: Prices that the endpoint lists, by model.
        stated_price: The price of the other models; None: unknown.
        samplings: Samplings of the suites, by place.
    """

    def __init__(
        self, listed_prices: dict[str, Prices], stated_price: Prices | None, samplings: list[Sampling]
    ) -> None:
        self.listed, self.stated, self.samplings = listed_prices, stated_price, samplings

    def price(self, model: str) -> Prices | None:
        """Return a model's price in USD a token; None: unknown."""
        return self.listed.get(model, self.stated)

    def most_usd(self, model: str, request: Request) -> float:
        """Return the most that one request may cost, in US dollars."""
        return most_cost_usd(self.price(model), text_of(request), self.samplings[request.suite].max_new_tokens)

    def most_tokens(self, _model: str, request: Request) -> int:
        """Return how many tokens one request may use."""
        return most_tokens(request, self.samplings[request.suite].max_new_tokens)

    def unpriced(self, models: Iterable[str]) -> list[str]:
        """Return the models without a known price."""
        return [model for model in models if self.price(model) is None]


def refuse_dear(estimate: Estimate, *, max_cost_usd: float | None) -> None:
    """Refuse a sweep that may cost more than is allowed or left.

    Raises:
        OutOfCredit: The endpoint says that less is left than this may cost.
        UsageError: The sweep may cost more than `max_cost_usd`, with what was spent before.
    """
    less = "ask for less (--models, --limit, --max-new-tokens)"
    if estimate.credit_usd is not None and estimate.most_usd > estimate.credit_usd:
        raise OutOfCredit(
            f"This may cost {dollars(estimate.most_usd)}, and {dollars(estimate.credit_usd)} are left. "
            f"Add credit, or {less}"
        )
    if max_cost_usd is not None and estimate.spent_usd + estimate.most_usd > max_cost_usd:
        before = f", and {dollars(estimate.spent_usd)} were spent before" if estimate.spent_usd else ""
        raise UsageError(
            f"This may cost {dollars(estimate.most_usd)}{before}: more than --max-cost {dollars(max_cost_usd)[1:]}. "
            f"Confirm with --yes, or {less}"
        )


def estimate_line(estimate: Estimate) -> str:
    """Return the estimate in a line; without a price of every model there is no upper bound."""
    cost = f"at most {dollars(estimate.most_usd)}" if estimate.most_usd else "no price is said"
    if estimate.most_usd and estimate.unpriced:
        cost = (
            f"no upper bound, because {estimate.unpriced} of them do not say their price (the others cost {cost}; "
            "state one with --price IN,OUT)"
        )
    if estimate.spent_usd:
        cost += f"; {dollars(estimate.spent_usd)} spent before"
    credit = f"; {dollars(estimate.credit_usd)} of credit left" if estimate.credit_usd is not None else ""
    return f"{estimate.requests:,} answers of {estimate.models} models to ask for; {cost}{credit}"
