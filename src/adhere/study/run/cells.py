"""Store trained cells. A cell is finished when its `cell.json` exists, which is written last; a killed one is redone.

cells/<stages>-s<seed>-<key>/
    model/       weights (fp32 safetensors) and tokenizer, loadable by transformers
    reward-model/  of a stage that trains one
    cell.json    CellRecord: what was trained from what, its ledger and its log
    checkpoint/  while it is trained: where a killed attempt goes on
"""

from __future__ import annotations

import shutil
from pathlib import Path

from adhere.errors import IntegrityError
from adhere.models.local.transformers import weights_sha256
from adhere.schema import Json, Record, decode, encode, write_atomic
from adhere.study.design.plan import Cell, cell_folder
from adhere.train.budget.ledger import StageLedger
from adhere.train.checkpoint import forget
from adhere.train.stage.train import MODEL, REWARD_MODEL

CHECKPOINT = "checkpoint"  # of the stage in training, inside the cell's folder


class CellRecord(Record, frozen=True):
    """Records a trained cell: one stage of training, on top of its parent, at one seed.

    `key` names the cell, `path` has the stages from the start up to it, `parent` is the key of the cell that it began
    from (None: the start model), `rows` counts its training rows. `log` has one row a step (see the stages for their
    columns). `unknown` names the costs that a command did not report; in the ledger they are 0, which is no
    measurement. `artefact_sha256` is the hash of a reward model that the stage left beside the model; empty: there is
    none, or an older version did not note it.
    """

    key: str
    path: list[str]
    seed: int
    method: str
    settings: dict[str, Json]
    parent: str | None
    pools_sha256: list[str]
    weights_sha256: str
    rows: int
    ledger: StageLedger
    log: list[dict[str, Json]]
    artefact_sha256: str = ""
    unknown: list[str] = []


def load_cell(directory: Path, cell: Cell) -> CellRecord | None:
    """Return the record of a finished cell, or None if it has yet to be trained.

    Raises:
        IntegrityError: The record cannot be read, or belongs to another cell.
    """
    file = cell_folder(directory, cell) / "cell.json"
    if not file.exists():
        return None
    try:
        record = decode(file.read_bytes(), CellRecord)
    except IntegrityError as error:
        raise IntegrityError(f"{file}: {error}. Remove the folder {file.parent} to train this cell again") from error
    if record.key != cell.key:
        raise IntegrityError(f"{file} belongs to cell {record.key}. Remove the folder {file.parent} to train it again")
    return record


def save_cell(directory: Path, record: CellRecord, cell: Cell) -> None:
    """Write the record of a cell whose weights are stored already; this finishes the cell."""
    write_atomic(cell_folder(directory, cell) / "cell.json", encode(record))
    forget(cell_folder(directory, cell) / CHECKPOINT)


def clear_unfinished(directory: Path, cell: Cell) -> Path:
    """Empty the folder of a cell that is about to be trained, except the checkpoint of a killed attempt; return it."""
    folder = cell_folder(directory, cell)
    folder.mkdir(parents=True, exist_ok=True)
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != CHECKPOINT:
            shutil.rmtree(entry)
        elif not entry.is_dir():
            entry.unlink()
    return folder


def has_weights(directory: Path, cell: Cell) -> bool:
    """Tell whether the trained model of a cell is stored, and its reward model if it trained one."""
    folder, record = cell_folder(directory, cell), load_cell(directory, cell)
    names = [MODEL, *([REWARD_MODEL] if record is not None and record.artefact_sha256 else [])]
    try:
        return all(any(file.suffix == ".safetensors" for file in (folder / name).iterdir()) for name in names)
    except FileNotFoundError:  # never trained here, or another worker is just done with them and deleted them
        return False


def trained_weights(directory: Path, cell: Cell, name: str = MODEL) -> Path:
    """Return the directory of a finished cell's model (or of the reward model, by `name`).

    The weights are compared with the hash in the cell's record first.

    Raises:
        IntegrityError: The cell is not finished, or its weights were changed.
    """
    folder, record = cell_folder(directory, cell), load_cell(directory, cell)
    if record is None:
        raise IntegrityError(f"{folder} is not finished, so nothing can start from it")
    sha256 = weights_sha256(folder / name)
    recorded_sha256 = record.weights_sha256 if name == MODEL else record.artefact_sha256
    if recorded_sha256 not in {sha256, ""}:
        raise IntegrityError(
            f"The weights of cell {cell.folder} were changed after they were trained: sha256 {sha256}, recorded "
            f"{recorded_sha256}. Nothing is trained or measured on them. Remove {folder} and run the same command "
            "again: the cell is then trained anew"
        )
    return folder / name


def drop_weights(directory: Path, cell: Cell) -> None:
    """Delete the weights of a finished cell to free disk space; its record stays."""
    for name in (MODEL, REWARD_MODEL):
        shutil.rmtree(cell_folder(directory, cell) / name, ignore_errors=True)
