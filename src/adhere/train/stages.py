"""Training stages, and their registry. One stage is one file of `methods/`, or a plug-in's.

To add one, write a file that ends in `STAGE = Stage(…)`, and its line in `_MODULES`. Another
package adds one by an entry point of the group `adhere.stages` that names a Stage; it then runs in recipes and studies
like ours (docs/guide/stages.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from adhere.plugins import Registry
from adhere.schema import Json, PairRow, RlRow, SftRow
from adhere.train.budget.cost import Shape, Work
from adhere.train.budget.ledger import StageResult
from adhere.train.budget.provenance import Provenance
from adhere.train.settings import OptimizerSettings


class Rows(Protocol):
    """Holds the data that stages choose from: a study's pool, or a recipe's."""

    @property
    def sft(self) -> Sequence[SftRow]:
        """Verified answers."""

    @property
    def pairs(self) -> Sequence[PairRow]:
        """Verified answers against failed ones."""

    @property
    def rl(self) -> Sequence[RlRow]:
        """Prompts with the variance of their answers' scores."""


class Stage(NamedTuple):
    """Describes one way of training.

    Attributes:
        name: Its name in recipes and studies.
        summary: One line for listings.
        source: The paper.
        settings: Its settings; defaults are those of the smallest preset.
        data: What it learns from, for listings and estimates: `sft`, `pairs`, `rl`, or several joined by `+`.
        rows: rows(data, settings) returns the rows that it learns from.
        run: run(model, tokenizer, rows, settings, *, seed, progress), with `score` where `online`, trains the model
            in place.
        work: work(settings, shape) returns the cost, in tokens.
        provenance: The origin of its defaults.
        yields: `weights`, or the name of a side artefact that it leaves in `StageResult.artefact` (such as
            `reward-model`).
        version: A number that goes up when the stage would train other weights from the same rows; cells of a study
            store it. `loop.LOOP_VERSION` is the version of what all methods share.
        needs_passing: It learns from answers of score 1, so a reward with another best score is refused.
        watches_itself: It answers held-out prompts while it trains, so a recipe's `[watch]` leaves it alone.
    """

    name: str
    summary: str
    source: str
    settings: type[OptimizerSettings]
    data: str
    rows: Callable[[Rows, Any], Sequence[Any]]
    run: Callable[..., StageResult]
    work: Callable[[Any, Shape], Work]
    provenance: Mapping[str, Provenance]
    yields: str = "weights"
    version: int = 1
    needs_passing: bool = False
    watches_itself: bool = False

    @property
    def online(self) -> bool:
        """Whether the stage draws answers while it trains; `run` then takes a `score`."""
        return "rl" in self.data.split("+")


def _problem(name: str, candidate: Any) -> str | None:
    """Return why `candidate` cannot be the stage called `name`, in words for its author, or None."""
    if not isinstance(candidate, Stage):
        return f"must be an adhere.train.stages.Stage, is {candidate!r}"
    if candidate.name != name:
        return f"must be registered under its own name {candidate.name!r}"
    settings: object = candidate.settings  # an author's word is checked, whatever the annotation says
    if not (isinstance(settings, type) and issubclass(settings, OptimizerSettings)):
        return f"must have settings that extend adhere.train.settings.OptimizerSettings, has {settings!r}"
    return None


_MODULES = {
    "sft": "sft", "more-sft": "sft", "continue": "continued", "rft": "rft", "dpo": "dpo", "kto": "kto",
    "online-dpo": "online_dpo", "grpo": "grpo", "rloo": "rloo",
    "reward-model": "reward_model",
}  # fmt: skip

STAGES: Registry[Stage] = Registry(
    "stage",
    group="adhere.stages",
    listing="adhere list stages",
    modules={name: f"adhere.train.methods.{module}" for name, module in _MODULES.items()},
    constant="STAGE",
    problem=_problem,
    elsewhere=dict.fromkeys(("hir", "iopo", "orpo", "sft-until", "simpo", "uft"), "examples/plugins/adhere-more"),
)


def provenance_rows(stage: Stage, settings: OptimizerSettings) -> list[dict[str, Json]]:
    """List the settings with a known origin: setting, stated, ours (the default), used (in `settings`), why."""
    rows: list[dict[str, Json]] = []
    for name, origin in stage.provenance.items():
        in_use: Any = getattr(settings, name, None)
        rows.append({"setting": name, "stated": origin.stated, "ours": origin.ours, "used": in_use, "why": origin.why})
    return rows
