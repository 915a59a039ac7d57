"""Let a model judge stored Runs.

Each Run is one piece of work. Its replies are stored beside it, so doing a piece again asks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from adhere.models.base import Model
from adhere.models.catalog import open_model
from adhere.models.http.options import EndpointOptions
from adhere.pipeline.judge_model.critic import Critic
from adhere.pipeline.judge_model.responding import Label, RespondingReport, judge_responding
from adhere.pipeline.judge_model.statements import SAMPLE, JudgeReport, judge_run
from adhere.progress import Progress, Silent
from adhere.store.sharded import load_run

_SILENT = Silent()


class JudgeRuns:
    """Lets one model judge Runs; `adhere judge` calls it, here or in the workers of an engine.

    Only its arguments are pickled.

    Args:
        by: Name of the model.
        endpoint: Options of an endpoint; None: the model runs here.
        threads: CPU threads of a local model.
        draws, temperature: Number and temperature of the replies.
        calibrate, sample: See `judge_run`.
        model: The open model; None: it is opened when it is first asked.
        progress: Where to report, in this process.
    """

    def __init__(
        self,
        by: str,
        *,
        endpoint: EndpointOptions | None = None,
        threads: int | None = None,
        draws: int = 1,
        temperature: float = 0.0,
        calibrate: Path | None = None,
        sample: int = SAMPLE,
        model: Model | None = None,
        progress: Progress = _SILENT,
    ) -> None:
        self.by, self.endpoint, self.threads, self.draws, self.temperature = by, endpoint, threads, draws, temperature
        self.calibrate, self.sample, self._model, self._progress = calibrate, sample, model, progress

    def __getstate__(self) -> dict[str, object]:
        return {
            **{name: value for name, value in vars(self).items() if name != "critic"},
            "_model": None,
            "_progress": _SILENT,
        }

    @cached_property
    def critic(self) -> Critic:
        """The judge, opened when it is first needed."""
        model = self._model or open_model(self.by, threads=self.threads, endpoint=self.endpoint)
        return Critic(model, draws=self.draws, temperature=self.temperature, max_new_tokens=1024)

    def responding(self, directory: Path, labels: Sequence[Label] = ()) -> RespondingReport:
        """Judge whether a Run's answers respond to their requests."""
        return judge_responding(load_run(directory), self.critic, labels=labels, progress=self._progress)

    def __call__(self, directory: Path) -> JudgeReport:
        """Judge a Run; only what has no stored reply is asked."""
        other = None if self.calibrate is None else load_run(self.calibrate)
        return judge_run(load_run(directory), self.critic, calibrate=other, sample=self.sample, progress=self._progress)
