"""Decoders are built one at a time: msgspec crashes the process where two threads meet a Struct for the first time."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import adhere

TWO_THREADS = """
import sys, threading
import msgspec
from adhere.schema import convert, decode

sys.setswitchinterval(1e-6)
row = {"mid": {"inner": {"f0": 1}, "more": [{"f1": 2}]}, "all": {"a": {"inner": {"f2": 3}, "more": []}}}
for n in range(300):
    inner = msgspec.defstruct(f"Inner{n}", [(f"f{i}", int, 0) for i in range(8)], frozen=True)
    mid = msgspec.defstruct(f"Mid{n}", [("inner", inner), ("more", list[inner])], frozen=True)
    outer = msgspec.defstruct(f"Outer{n}", [("mid", mid), ("all", dict[str, mid])], frozen=True)
    gate, found = threading.Barrier(2), []

    def read(how):
        gate.wait()
        found.append(how().mid.inner.f0)

    ways = HOW
    threads = [threading.Thread(target=read, args=(way,)) for way in ways]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert found == [1, 1], found
"""


@pytest.mark.parametrize(
    "ways",
    [
        "[lambda: decode(msgspec.json.encode(row), outer)] * 2",
        "[lambda: decode(msgspec.json.encode(row), outer), lambda: convert(row, outer)]",
    ],
)
def test_two_threads_may_meet_a_type_for_the_first_time(ways: str) -> None:
    done = subprocess.run([sys.executable, "-c", TWO_THREADS.replace("HOW", ways)], capture_output=True, check=False)
    assert done.returncode == 0, (done.returncode, done.stderr.decode()[-500:])


def test_no_other_file_builds_a_decoder() -> None:
    found, files = [], list(Path(adhere.__file__).parent.rglob("*.py"))
    for file in files:
        text = file.read_text()
        if not re.search(r"\btype\s*=|msgspec\.convert|Decoder", text):  # nothing else can be one
            continue
        for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            is_typed = name.endswith(("json.decode", "msgpack.decode")) and any(
                key.arg == "type" for key in call.keywords
            )
            if is_typed or name in {"msgspec.convert", "msgspec.json.Decoder", "msgspec.msgpack.Decoder"}:
                found.append(f"{file.name}:{call.lineno}: {name}")
    assert len(files) > 300  # it did look
    assert {where.partition(":")[0] for where in found} == {"schema.py"}, found
