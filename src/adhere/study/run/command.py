"""Train a cell by a user's own command, and check what it left before anything is built on it.

CELL/rows/          sft.jsonl, pairs.jsonl, rl.jsonl in the shape that the stage asks for
CELL/checkpoint/    {resume}: what the command keeps here outlives a kill
CELL/out/           {out}: what it must leave; moved to CELL/model once it was looked at
CELL/output.log     what it printed, the last megabyte of it
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

from adhere.build.convert import convert, has_shape, write_table
from adhere.errors import AdhereError
from adhere.models.local.quiet import quiet
from adhere.models.local.starter import free_port
from adhere.models.local.transformers import load_tokenizer, load_weights, weights_sha256
from adhere.progress import Progress
from adhere.schema import Json, Record, encode
from adhere.schema import convert as as_record
from adhere.study.design.command import CommandSettings, fill_in
from adhere.study.design.disk import disk_trouble
from adhere.train.budget.ledger import LogRow, StageLedger
from adhere.train.stage.train import MODEL

MOST_OUTPUT = 1 << 20  # bytes of what is printed that are kept
TOLD_LINES = 12  # of them in a message
GRACE_S = 20.0  # between asking a command to end and ending it
LEDGER, METRICS, LOG = "ledger.json", "metrics.jsonl", "output.log"
COSTS = ("tokens_trained", "tokens_generated", "answers_generated", "peak_memory_bytes")  # unknown where not reported
MOST_ROWS = 100_000  # of metrics


class CommandResult(Record, frozen=True):
    """Holds the result of a command: hash of the weights, what it reported, and what it did not report."""

    weights_sha256: str
    ledger: StageLedger
    log: list[LogRow]
    unknown: list[str]


def run_command(
    settings: CommandSettings,
    rows: Mapping[str, Sequence[Record]],
    *,
    start: Path,
    into: Path,
    resume: Path,
    seed: int,
    threads: int | None,
    label: str,
    progress: Progress,
) -> CommandResult:
    """Run the command and keep what it trained in `into`/model.

    Args:
        settings: Settings of the stage.
        rows: The tables of rows: `sft`, `pairs` and `rl`.
        start: Directory of the weights that it starts from.
        into: The cell's folder.
        resume: Folder that outlives a kill.
        seed: Seed of the study.
        threads: CPU threads for the command; None: all.
        label: Name of the cell in messages.
        progress: Where to report to.

    Raises:
        AdhereError: The program is absent, fails, takes too long, fills the disk, or leaves nothing, half a folder, the
            start's own weights, numbers that are not finite, or another tokenizer or template.
    """
    out = into / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    resume.mkdir(parents=True, exist_ok=True)
    files = _write_rows(settings, rows, into / "rows")
    values: dict[str, Json] = {
        **settings.fill, **files, "start": str(start), "seed": seed, "out": str(out), "resume": str(resume),
        "threads": threads or os.cpu_count() or 1, "port": free_port(),
    }  # fmt: skip
    command = fill_in(settings.command, values)
    progress.say(f"{label}: {' '.join(command)}")
    began = time.monotonic()
    try:
        _run(command, settings, into / LOG, label=label)
        ledger, unknown = _read_ledger(out / LEDGER, time.monotonic() - began, label)
        log = _read_metrics(out / METRICS, label)
        model, tokenizer = _look_at(out, start, label)
        with quiet():
            model.save_pretrained(into / MODEL)
            tokenizer.save_pretrained(into / MODEL)
    except Exception as error:
        left_bytes = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
        for folder in (out, into / MODEL):  # they may be what filled the disk, and the next cell needs the room
            shutil.rmtree(folder, ignore_errors=True)
        if disk_trouble(error, into) is None:
            raise
        raise AdhereError(
            f"{label}: the disk is full: {error}. The command left {left_bytes / 1e6:,.1f} MB in {{out}}, which were "
            "removed; {resume} stays. Free space, or have it keep fewer checkpoints, and run the same command again"
        ) from error
    shutil.rmtree(out)
    return CommandResult(weights_sha256(into / MODEL), ledger, log, unknown)


def _write_rows(settings: CommandSettings, rows: Mapping[str, Sequence[Record]], folder: Path) -> dict[str, Json]:
    """Write the rows and return the files by placeholder; tables without rows in this shape get no file."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Json] = {}
    for table, own in rows.items():
        file = folder / f"{table}.jsonl"
        files[table] = str(file)
        plain = [msgspec.to_builtins(row) for row in own]
        if settings.rows == "trl":
            file.write_bytes(b"".join(encode(row) + b"\n" for row in own))
        elif plain and has_shape(table, settings.rows):
            write_table(file, convert(plain, table, settings.rows) or [])
    return files


def _run(command: Sequence[str], settings: CommandSettings, log: Path, *, label: str) -> None:
    """Run a command for at most `settings.hours`, and write the end of its output to `log`.

    The command has a process group of its own, so that its workers end with it.

    Raises:
        AdhereError: The program is absent, failed, or took too long.
    """
    environment = dict(os.environ)
    if settings.environment:
        python = Path(shutil.which(settings.environment) or settings.environment).absolute()
        environment |= {"PATH": f"{python.parent}{os.pathsep}{environment.get('PATH', '')}"}
    program = shutil.which(command[0], path=environment.get("PATH"))
    if program is None:
        raise AdhereError(f"{label}: no program {command[0]!r} is there (PATH, and the folder of `environment`)")
    tail = bytearray()
    with subprocess.Popen(  # noqa: S603 - the study's own command
        [program, *command[1:]],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment,
        start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        reader = threading.Thread(target=_keep_tail, args=(process.stdout, tail), daemon=True)
        reader.start()
        is_late = False
        try:
            process.wait(settings.hours * 3600)
        except subprocess.TimeoutExpired:
            is_late = True
        finally:
            _end(process)
            reader.join(GRACE_S)
            log.write_bytes(bytes(tail))
    last_lines = "\n".join(tail.decode("utf-8", "replace").splitlines()[-TOLD_LINES:])
    if is_late:
        raise AdhereError(
            f"{label}: the command took more than hours = {settings.hours:g} and was stopped. Its end:\n{last_lines}"
        )
    if process.returncode:
        raise AdhereError(
            f"{label}: the command {_ending(process.returncode, last_lines)}. Its last lines ({log}):\n{last_lines}"
        )


def _ending(code: int, last_lines: str) -> str:
    """Say how a command ended, and what to do if that can be seen."""
    how = f"ended with exit code {code}"
    if code < 0:
        how = f"was ended by {signal.Signals(-code).name}"
    if "No space left on device" in last_lines or "Disk quota exceeded" in last_lines:
        return f"{how}: the disk is full. What it left was removed; free space, or have it keep fewer checkpoints"
    if code in {-signal.SIGKILL, 128 + signal.SIGKILL}:
        return f"{how}, as the system does where memory is short: a smaller batch needs less"
    return how


def _keep_tail(stream: IO[bytes], tail: bytearray) -> None:
    """Read a stream to its end and keep only the last part, for a command may print a gigabyte."""
    while block := stream.read1(1 << 16):  # type: ignore[attr-defined]
        tail += block
        del tail[:-MOST_OUTPUT]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the whole process group, first by SIGTERM, then by SIGKILL."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, how)
        if process.poll() is not None and how == signal.SIGTERM:
            continue  # a worker of it may live on
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)


def _look_at(out: Path, start: Path, label: str) -> tuple[Any, Any]:
    """Return the model and tokenizer that a command left.

    Raises:
        AdhereError: A study cannot build on them.
    """
    import torch

    adapter = out if (out / "adapter_config.json").exists() and not (out / "config.json").exists() else None
    if adapter is None and not (out / "config.json").exists():
        names = ", ".join(sorted(file.name for file in out.iterdir())[:5]) or "nothing"
        raise AdhereError(f"{label}: the command left no model in {{out}}, but {names}. `save_pretrained` writes one")
    try:
        model, _ = load_weights(start, adapter=adapter) if adapter else (_load(out), None)
        own = load_tokenizer(out) if (out / "tokenizer_config.json").exists() else None
    except Exception as error:
        raise AdhereError(
            f"{label}: what the command left cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    before, tokenizer = load_weights(start)
    for part, ours, theirs in (
        ()
        if own is None
        else (
            ("tokenizer", tokenizer.get_vocab(), own.get_vocab()),
            ("chat template", tokenizer.chat_template, own.chat_template or tokenizer.chat_template),
        )
    ):
        if ours != theirs:
            raise AdhereError(
                f"{label}: the command left another {part} than it was given, so its answers could not be compared. "
                f"Save the {part} of {{start}}"
            )
    start_weights, same = before.state_dict(), True
    for name, value in model.state_dict().items():
        if not bool(torch.isfinite(value).all()):
            raise AdhereError(f"{label}: the command left numbers that are not finite in {name}: the training diverged")
        same = same and name in start_weights and torch.equal(start_weights[name], value.to(start_weights[name].dtype))
    if same:
        raise AdhereError(
            f"{label}: the command left the weights that it was given, unchanged. Did it train, and save?"
        )
    return model, tokenizer


def _load(out: Path) -> Any:
    from transformers import AutoModelForCausalLM

    from adhere.models.local.transformers import load_model

    return load_model(AutoModelForCausalLM, out)


def _read_ledger(file: Path, seconds: float, label: str) -> tuple[StageLedger, list[str]]:
    """Return the costs that the command reports, and the names of those that it does not."""
    costs: dict[str, Any] = {}
    if file.exists():
        try:
            costs = json.loads(file.read_text(encoding="utf-8"))
            ledger = as_record({"seconds": seconds, **costs}, StageLedger)
        except (ValueError, TypeError, msgspec.ValidationError) as error:
            raise AdhereError(
                f"{label}: {file.name} is no ledger ({error}). It is one object of numbers: {', '.join(COSTS)}, seconds"
            ) from error
    else:
        ledger = StageLedger(seconds=seconds)
    return ledger, [name for name in COSTS if name not in costs]


def _read_metrics(file: Path, label: str) -> list[LogRow]:
    """Return the numbers of each line; other values are left out."""
    if not file.exists():
        return []
    rows: list[LogRow] = []
    with file.open(encoding="utf-8") as lines:
        for number, line in zip(range(1, MOST_ROWS + 1), lines, strict=False):
            try:
                row = json.loads(line)
                rows.append({name: value for name, value in row.items() if _is_number(value)})
            except (ValueError, AttributeError) as error:
                raise AdhereError(f"{label}: {file.name}:{number} is no object of numbers ({error})") from error
    return rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
