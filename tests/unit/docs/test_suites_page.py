"""The page of suites names every generated suite and method, and its family passes the contract."""

import os
import re
import subprocess
import sys
from pathlib import Path

import adhere
from adhere.models.wrap import known_methods
from adhere.suites import names, source_of
from adhere.testing import check_family

PAGE = (Path(__file__).parents[3] / "docs" / "guide" / "suites.md").read_text(encoding="utf-8")

SOURCE = Path(adhere.__file__).parents[1]


def test_every_suite_is_on_the_page():
    own = [name for name in names() if source_of(name).load.__module__.startswith("adhere.")]
    assert len(own) >= 30
    assert not [name for name in own if f"`{name}`" not in PAGE]


def test_every_method_is_on_the_page():
    assert not [
        name
        for name in known_methods()
        if f"{name}(MODEL)" not in PAGE and f"{name.removesuffix('-N')}(MODEL)" not in PAGE
    ]


def test_the_family_of_the_page_passes_the_contract():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    space = {}
    exec(code, space)
    check_family(space["FAMILY"])


def test_the_family_of_the_page_is_a_suite_through_its_entry_point(tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "spelling.py").write_text(code, encoding="utf-8")
    info = tmp_path / "spelling-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: spelling\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[adhere.families]\nbackwards = spelling:FAMILY\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SOURCE)])}
    ask = (
        "from adhere.suites import describe, load; row = next(one for one in describe(hashes=False) if one.name == 'backwards'); "
        "print(row.size, row.answers, len(load('backwards:x3+seed7').prompts))"
    )
    done = subprocess.run([sys.executable, "-c", ask], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "40 Does it spell backwards? 6\n", done.stderr
