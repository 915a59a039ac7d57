"""Tracking of every step's numbers: always to JSON lines, and to a tracker if one is installed and asked for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from adhere.errors import UsageError, nearest
from adhere.extras import need
from adhere.train.budget.ledger import LogRow


class Tracker(Protocol):
    """Receives the numbers of steps."""

    def log(self, stage: str, row: LogRow) -> None:
        """Record one step of a stage."""

    def close(self) -> None:
        """End the record: the recipe has ended."""


class JsonLines:
    """Writes one JSON object for each step, flushed at once."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def log(self, stage: str, row: LogRow) -> None:
        self._file.write(json.dumps({"stage": stage} | row) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class _FunctionTracker:
    """A tracker made of two functions, one to log a row and one to close."""

    def __init__(self, log: Callable[[dict[str, float]], Any], close: Callable[[], Any]) -> None:
        self._log, self._close = log, close

    def log(self, stage: str, row: LogRow) -> None:
        self._log({f"{stage}/{name}": value for name, value in row.items() if value is not None})

    def close(self) -> None:
        self._close()


def _wandb(name: str, directory: Path) -> Tracker:
    library = need("wandb", extra="tracking")
    try:
        library.init(project="adhere", name=name, dir=str(directory))
    except library.Error as error:
        raise UsageError(f"--track wandb: {error} WANDB_MODE=offline writes into {directory}/wandb") from error
    return _FunctionTracker(library.log, library.finish)


def _trackio(name: str, directory: Path) -> Tracker:  # noqa: ARG001 - TRACKIO_DIR says where it writes
    library = need("trackio", extra="tracking")
    library.init(project="adhere", name=name)
    return _FunctionTracker(library.log, library.finish)


def _mlflow(name: str, directory: Path) -> Tracker:
    """Open an mlflow tracker at MLFLOW_TRACKING_URI, or else with files in `directory`.

    mlflow's default, a database, is not part of mlflow-skinny.
    """
    if "MLFLOW_TRACKING_URI" not in os.environ:
        os.environ["MLFLOW_TRACKING_URI"] = (directory / "mlruns").absolute().as_uri()
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # without it mlflow 3 refuses files
    library = need("mlflow", extra="tracking")
    try:
        library.start_run(run_name=name)
    except library.MlflowException as error:
        raise UsageError(f"--track mlflow: {error}") from error
    count = iter(range(10**9))
    return _FunctionTracker(
        lambda row: library.log_metrics({k.replace("/", "."): v for k, v in row.items()}, step=next(count)),
        library.end_run,
    )


def _tensorboard(name: str, directory: Path) -> Tracker:
    writer = need("torch.utils.tensorboard", extra="tracking").SummaryWriter(str(directory / "tensorboard" / name))
    count = iter(range(10**9))

    def log(row: dict[str, float]) -> None:
        step = next(count)
        for column, value in row.items():
            writer.add_scalar(column, value, step)

    return _FunctionTracker(log, writer.close)


TRACKERS: dict[str, Callable[[str, Path], Tracker]] = {
    "trackio": _trackio,
    "wandb": _wandb,
    "mlflow": _mlflow,
    "tensorboard": _tensorboard,
}


def open_tracker(tracker: str, *, name: str, directory: Path) -> Tracker:
    """Open the tracker with the name `tracker`.

    Raises:
        UsageError: There is no such tracker, or it refuses to begin.
        MissingExtra: The tracker's package is not installed.
    """
    if tracker not in TRACKERS:
        raise UsageError(f"Unknown tracker {tracker!r}.{nearest(tracker, TRACKERS)} There are {', '.join(TRACKERS)}")
    return TRACKERS[tracker](name, directory)
