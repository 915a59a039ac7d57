"""Checkpoints inside a stage.

After `kill -9`, running the same stage again gives the weights of an undisturbed run.

with keeping(folder):                   what runs inside keeps its state there, and goes on from it
    stage.run(…)
folder/checkpoint.pt                    trained weights (and those that a stage keeps beside them), the optimizer's
                                        state, the ledger's counts, the log, steps done
folder/checkpoint-DONE-RANKofSIZE.pt    with sharded weights: the same of one process, and
folder/latest                           which of them all processes have written

Nothing else has to be kept: batches, prompts and the seeds of answers are functions of the stage's seed and the step,
and what a stage computes before its first step (reference log-probs, a frozen copy) is computed again from the start
weights.
"""

from __future__ import annotations

import os
import pickle
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from adhere.errors import IntegrityError, ResourceError, RunMismatch
from adhere.schema import content_hash, write_atomic
from adhere.train.budget.ledger import LogRow, Tally
from adhere.train.parallel import agree, first_does, gather, is_sharding, place

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

FILE, LATEST = "checkpoint.pt", "latest"
EVERY_S = 300.0  # writing takes seconds for a small model and stops training meanwhile
_current: ContextVar[Keeper | None] = ContextVar("keeper", default=None)


class LearnerState(Protocol):
    """Describes what is stored of a learner (`train.loop.Learner`), and what tells one stage from another."""

    model: PreTrainedModel
    settings: Any
    stage: str
    steps: int
    parameters: list[torch.nn.Parameter]
    kept: list[torch.Tensor]
    optimizer: torch.optim.Optimizer
    step: int

    def put(self, values: Sequence[torch.Tensor]) -> None:
        """Set the weights in training to `values`."""


class Keeper:
    """Writes and reads checkpoints of one stage.

    Args:
        folder: Folder of the checkpoint, created at the first write.
        every_s: Least seconds between two checkpoints.
    """

    def __init__(self, folder: Path, *, every_s: float = EVERY_S) -> None:
        self.folder, self.every_s = folder, every_s
        self._written = time.monotonic()

    def restore(self, learner: LearnerState, tally: Tally, log: list[LogRow]) -> int:
        """Put the learner, the counts and the log into the state of the checkpoint; return how many batches were done.

        Without a checkpoint nothing changes and the number is 0.

        Raises:
            IntegrityError: The file cannot be read, or is damaged.
            RunMismatch: The checkpoint is of another stage or of other settings.
        """
        from adhere.train.sharding import with_shards

        file = self._file(self._latest())
        if not agree(file.exists()):
            return 0
        state = _read(file, learner.model.device)
        if state["identity"] != _identity(learner):
            raise RunMismatch(f"{file} is of another stage or of other settings. Remove it, or use another --out")
        learner.put(state["weights"])
        learner.kept = state["kept"]
        learner.optimizer.load_state_dict(with_shards(state["optimizer"], learner.optimizer))
        learner.step = state["step"]
        for name, value in state["tally"].items():
            setattr(tally, name, value)
        tally.started = time.perf_counter() - state["seconds"]
        log[:] = state["log"]
        return int(state["done"])

    def save_if_due(self, learner: LearnerState, tally: Tally, log: list[LogRow], *, done: int) -> bool:
        """Write a checkpoint if the last one is `every_s` old; tell whether it was written.

        If the process is killed while writing, the checkpoint before remains.

        Raises:
            ResourceError: The disk is full.
        """
        import torch

        from adhere.train.sharding import local, local_state

        is_due = time.monotonic() - self._written >= self.every_s
        if not (agree(is_due) if is_sharding() else is_due and place().is_first):
            return False
        state = {
            "identity": _identity(learner),
            "weights": [local(parameter.detach()) for parameter in learner.parameters],
            "kept": [local(value) for value in learner.kept],
            "optimizer": local_state(learner.optimizer),
            "step": learner.step,
            "tally": {name: value for name, value in vars(tally).items() if name != "started"},
            "seconds": time.perf_counter() - tally.started,
            "log": [dict(row) for row in log],
            "done": done,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        whole = self._file(done)
        part = whole.with_name(f"{whole.name}.part")
        try:
            with part.open("wb") as file:
                torch.save(state, file)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ResourceError(
                f"{part}: the checkpoint cannot be written: {error}. Free space, or use another --out"
            ) from error
        part.replace(whole)
        if is_sharding():
            self._point_to(done)
        self._written = time.monotonic()
        return True

    def _file(self, done: int) -> Path:
        if not is_sharding():
            return self.folder / FILE
        rank, size = place()
        return self.folder / f"checkpoint-{done}-{rank}of{size}.pt"

    def _latest(self) -> int:
        """Return the number of batches in the last checkpoint that every process wrote.

        0: there is none, or the weights are not sharded.
        """
        file = self.folder / LATEST
        return int(gather([file.read_text() if file.exists() else "0"])[0]) if is_sharding() else 0

    def _point_to(self, done: int) -> None:
        """Name the new checkpoint in `latest` and remove older ones, once all processes have written their parts."""

        def point() -> None:
            write_atomic(self.folder / LATEST, str(done).encode())
            for file in self.folder.glob("checkpoint-*.pt"):
                if not file.name.startswith(f"checkpoint-{done}-"):
                    file.unlink()

        gather([done])
        first_does(point)


@contextmanager
def keeping(folder: Path, *, every_s: float = EVERY_S) -> Iterator[None]:
    """Store checkpoints of the stage that runs inside in `folder`, and resume from one that is there.

    The folder remains after the stage, because its weights are not stored yet; call `forget` once they are.
    """
    token = _current.set(Keeper(folder, every_s=every_s))
    try:
        yield
    finally:
        _current.reset(token)


def keeper() -> Keeper | None:
    """Return the Keeper of the stage that is about to run; None outside `keeping`."""
    return _current.get()


def forget(folder: Path) -> None:
    """Remove the checkpoints in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)


def _read(file: Path, device: Any) -> dict[str, Any]:
    import torch

    try:
        with zipfile.ZipFile(file) as archive:  # every tensor has its checksum there, which torch does not look at
            damage = archive.testzip()
        state: dict[str, Any] = {} if damage else torch.load(file, map_location=device, weights_only=True)
    except (OSError, RuntimeError, ValueError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        damage = str(error)
    if damage:
        raise IntegrityError(f"{file} cannot be read ({damage}). Remove it to train this stage from its start")
    return state


def _identity(learner: LearnerState) -> str:
    shapes = [list(parameter.shape) for parameter in learner.parameters]
    optimizer = type(learner.optimizer).__name__
    settings = msgspec.to_builtins(learner.settings)
    del settings[
        "tree_tokens"
    ]  # cuts change rounding only, and a stage that ran out of memory goes on with smaller ones
    return content_hash([learner.stage, settings, learner.steps, optimizer, shapes])
