"""Every file and every dotted name that a docstring of the package names is there.

A name that is gone leads a reader astray.
"""

from __future__ import annotations

import importlib
import re
from functools import cache

import pytest
from tests.unit.house.parsed import PACKAGE, package

from adhere.errors import MissingExtra

ROOT = PACKAGE.parents[1]
FILE = re.compile(r"(?<![\w/.:<*-])((?:[\w*-]+/)*[\w*-]+\.(?:py|md|jinja|css))\b(?![\w/])")
DOTTED = re.compile(r"`([a-z_]\w*(?:\.[A-Za-z_]\w*)+)(?:\([^`]*\))?`|(?<![\w/`.])(adhere(?:\.[A-Za-z_]\w*)+)")
IS_A_FILE = re.compile(r"\.(?:py|md|toml|json|jsonl|js|txt|yaml)\Z")
# These follow code of other projects, whose files they name.
OTHERS = (
    "constraints/published/",
    "suites/published/",
    "pipeline/official/",
    "integrations/",
    "verify/imports/",
)
GROUPS = ("adhere.transforms", "adhere.stages")  # of entry points, which a plug-in declares and the package does not


@cache
def docstrings() -> list[tuple[str, str]]:
    """File and text."""
    return [(one.path.relative_to(PACKAGE).as_posix(), text) for one in package() for text in one.docstrings]


@cache
def files() -> str:
    """The paths of all files, a line each."""
    folders = (ROOT / name for name in ("src", "tests", "benchmarks", "docs", "examples"))
    return "\n".join(path.as_posix() for folder in folders for path in folder.rglob("*.*"))


@cache
def is_here(name: str) -> bool:
    """Whether a file has that name, or a path that ends in it; a star stands for a part of a name."""
    pattern = r"/" + re.escape(name).replace(r"\*", "[^/\n]*") + "$"
    return re.search(pattern, files(), re.MULTILINE) is not None


@cache
def resolves(name: str) -> bool:
    """Whether an absolute dotted name is a module, or an attribute of one, or of a class in one."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError as error:
            if error.name is not None and not name.startswith(error.name):
                return True  # an engine that is not installed here
            continue
        except MissingExtra:
            return True
        for part in parts[cut:]:
            if not hasattr(thing, part):
                return part in getattr(thing, "__annotations__", {}) or part in getattr(
                    thing, "__dataclass_fields__", {}
                )
            thing = getattr(thing, part)
        return True
    return False


def is_gone(name: str, said_in: str) -> bool:
    """Whether no module from here up to `adhere` has the name, although one has what it begins with."""
    if name.startswith("adhere."):
        return name not in GROUPS and not resolves(name)
    parts = ["adhere", *said_in.removesuffix(".py").removesuffix("/__init__").split("/")]
    bases = [".".join(parts[:count]) for count in range(len(parts), 0, -1)]
    first = name.partition(".")[0]
    return any(resolves(f"{base}.{first}") for base in bases) and not any(resolves(f"{base}.{name}") for base in bases)


def test_files_in_docstrings_are_here() -> None:
    found = {(path, name) for path, text in docstrings() for name in FILE.findall(text)}
    assert len(found) > 100  # it did look
    examples = {("report/claims/text.py", "a.md"), ("report/claims/text.py", "b.md")}
    ours = {
        (path, name) for path, name in found - examples if not path.startswith(OTHERS) and not name.startswith("PATH")
    }
    assert not [f"{path}: {name}" for path, name in sorted(ours) if not is_here(name)]


@pytest.mark.filterwarnings("ignore")  # of engines that are imported for their names
def test_dotted_names_in_docstrings_resolve() -> None:
    found = {(path, one or other) for path, text in docstrings() for one, other in DOTTED.findall(text)}
    names = sorted((path, name) for path, name in found if not IS_A_FILE.search(name))
    assert len(names) > 100  # it did look
    assert not [f"{path}: {name}" for path, name in names if is_gone(name, path)]


def test_the_groups_are_of_entry_points() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    assert all(f'"{group}"' in source for group in GROUPS)


FRAGMENTS = {"What", "As", "Of", "By", "Nor", "Who", "In", "Which"}
"""Openers of what is no sentence: *Of both, which are about different prompts.*"""


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    """Those of the worlds' tools are texts that a model reads, so they stay as they were measured."""
    found = [(path, text.splitlines()[0]) for path, text in docstrings() if not path.startswith("worlds/tools/")]
    assert [(path, line) for path, line in found if line.split()[0].strip(":,.") in FRAGMENTS] == []
    assert len(found) > 5000  # it did look
