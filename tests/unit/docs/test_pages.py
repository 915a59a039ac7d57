"""The pages hold together.

Links and anchors lead somewhere, code runs, commands know their options, public names are explained.
"""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import click
import pytest
from benchmarks.pages import figures

from adhere.cli import adhere
from adhere.study.design.check import load_study

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
NOT_RUN = {
    "docs/guide/build.md": "JudgeScorer(model",  # a reader's own model, prompts and texts
    "docs/guide/harnesses.md": "evalscope",  # its package is no extra of ours
    "docs/guide/past-one-machine.md": "ray.data",  # needs a cluster and a store
    "docs/guide/plugins.md": "irate",  # tests/unit/house/test_plugins.py installs and runs the package
    "docs/guide/rewards.md": "model_reward(",  # needs a judge model's key
    "docs/guide/stages.md": "OnlineMerging(",  # a reader's own model and its base
    "docs/tutorials/trl.md": "GRPOTrainer(",  # run below, on a tiny model
}
"""Which blocks of Python are not run as they stand, by a word that only they have."""


def blocks(path: Path) -> Iterator[tuple[str, str]]:
    """(language, text) of every fenced block; blocks inside blocks are text."""
    for found in re.finditer(
        r"^(`{3,})([^\n`]*)\n(.*?)^\1$", path.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        yield found[2].strip(), found[3]


def prose(path: Path) -> str:
    """A page without its blocks and code spans."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(path: Path) -> set[str]:
    """What the code host and the site call a page's headings."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_an_entry_of_the_log_stands_behind_a_blank_line() -> None:
    assert not re.findall(r".+\n## .*", (DOCS / "LOG.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_links_and_anchors_lead_somewhere(path: Path) -> None:
    """And from a page of the site to another: a page that is not on it is no link there, and `make docs` fails."""
    on_site = path != ROOT / "docs" / "README.md" and (
        path.is_relative_to(ROOT / "docs") or path.name in ("CONTRIBUTING.md", "SECURITY.md")
    )
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        if re.match(r"https?:|mailto:", link):
            continue
        place, _, anchor = link.partition("#")
        target = path.parent / place if place else path
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
        elif on_site and target.suffix == ".md" and not target.resolve().is_relative_to(ROOT / "docs"):
            dead.append(f"{link}: not on the site")
    assert dead == []


def test_every_page_stands_in_the_index_of_the_code_host() -> None:
    """The site refuses a page without a place by itself."""
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    linked = set(re.findall(r"\]\(([\w./-]+\.md)\)", (DOCS / "README.md").read_text(encoding="utf-8")))
    assert {"../CONTRIBUTING.md", "../SECURITY.md"} <= linked
    missing = pages - linked - {"README.md", "index.md", "contributing.md", "security.md"}
    assert missing == set(), "add it to docs/README.md"


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_every_command_knows_its_options(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    unknown = []
    for line in re.findall(r"^(?:\$ | {4})?(adhere [a-z].*)$", text, re.MULTILINE):
        lexer = shlex.shlex(re.sub(r"[\[\]()]", " ", line.split("   ")[0]), posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split, lexer.quotes = True, "'\""
        words = [word for word in lexer if word not in {"&", "…"}]
        words = words[: next((place for place, word in enumerate(words) if word in {"|", ";", "&&"}), None)]
        command: click.Command | None = adhere
        while isinstance(command, click.Group) and (inner := command.get_command(click.Context(command), words[1])):
            command, words = inner, words[1:]
        if command is adhere:
            unknown.append(line)
            continue
        known = {name for option in command.params for name in [*option.opts, *option.secondary_opts]} | {"--help"}
        unknown += [
            f"{word}: {line}" for word in words if word.startswith("--") and word.partition("=")[0] not in known
        ]
    assert unknown == []


@pytest.mark.parametrize("path", PAGES, ids=NAMES)
def test_data_in_blocks_can_be_read(path: Path) -> None:
    for language, text in blocks(path):
        if language == "toml":
            tomllib.loads(text)
        elif language == "json":
            assert [json.loads(line) for line in text.splitlines()]


def test_the_study_of_the_tutorial_is_one(tmp_path: Path) -> None:
    (text,) = [text for language, text in blocks(DOCS / "tutorials" / "study.md") if language == "toml"]
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert len(load_study(tmp_path / "study.toml").seeds) == 5


def python_blocks() -> list[tuple[str, str]]:
    return [
        (name, text)
        for path, name in zip(PAGES, NAMES, strict=True)
        for language, text in blocks(path)
        if language == "python"
    ]


def test_blocks_are_named_that_are_not_run() -> None:
    assert {name for name, text in python_blocks() if name in NOT_RUN and NOT_RUN[name] in text} == set(NOT_RUN)


@pytest.mark.parametrize(("name", "code"), python_blocks(), ids=[name for name, _ in python_blocks()])
def test_python_blocks_are_python(name: str, code: str) -> None:
    compile(code, name, "exec")


def test_python_blocks_run_and_print_what_they_say(tmp_path: Path) -> None:
    """All in one process; what stands behind a `print(…)` as its comment is what it prints.

    The README's run in tests/integration.
    """
    run = [
        (name, code)
        for name, code in python_blocks()
        if name != "README.md" and not (name in NOT_RUN and NOT_RUN[name] in code)
    ]
    assert len(run) >= 5
    (tmp_path / "docs").symlink_to(DOCS)
    run = [(name, code.replace("port=8742", "port=0")) for name, code in run]
    script = "import sys\n" + "print('\\x1e', end='')\n".join(
        f"exec(compile({code!r}, {name!r}, 'exec'), {{}})\n" for name, code in run
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        input="\n",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for (name, code), printed in zip(run, done.stdout.split("\x1e"), strict=True):
        if said := re.findall(r"^(?:print\(.*)?\)  # (.+)$", code, re.MULTILINE):
            assert printed.splitlines() == said, name


@pytest.mark.slow
def test_the_training_tutorial_trains(tiny_llama_dir: Path, tmp_path: Path) -> None:
    """Its block as it stands, on a tiny model in place of the hub's."""
    (code,) = [code for name, code in python_blocks() if name == "docs/tutorials/trl.md"]
    (tmp_path / "smoke-data").symlink_to(ROOT / "examples" / "smoke-data")
    code = code.replace("HuggingFaceTB/SmolLM2-135M-Instruct", str(tiny_llama_dir))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert 0 <= float(done.stdout.splitlines()[-1]) <= 1
    assert (tmp_path / "grpo" / "model.safetensors").exists()


def test_pictures_are_those_of_the_studies() -> None:
    drawn = dict(figures.pictures())
    assert [path.name for path, svg in drawn.items() if path.read_text(encoding="utf-8") != svg] == [], (
        "python -m benchmarks.pages.figures"
    )
    assert {path.name for path in (DOCS / "_static").glob("*.svg")} == {path.name for path in drawn}


def test_public_names_are_explained() -> None:
    """The reference of Python prints them from their docstrings."""
    modules = re.findall(r"<!-- from the program: (adhere[\w.]*) -->", (DOCS / "reference" / "api.md").read_text())
    assert "adhere" in modules
    for module in map(importlib.import_module, modules):
        bare = [
            name
            for name in module.__all__
            if isinstance(thing := getattr(module, name), type | FunctionType) and not (thing.__doc__ or "").strip()
        ]
        assert bare == [], module.__name__


def test_every_benchmark_has_its_line() -> None:
    """And every command there is of a file that is there; at most a dozen names lie in a folder."""
    folder = ROOT / "benchmarks"
    text = (folder / "README.md").read_text(encoding="utf-8")
    chapters = dict(re.findall(r"^## ([\w/]+): .*\n((?:(?!## ).*\n)*)", text, re.MULTILINE))
    for chapter, lines in chapters.items():
        said = set(re.findall(r"`(\w+\.py)`", "".join(re.findall(r"^\| (`.*?) \|", lines, re.MULTILINE))))
        assert said == {path.name for path in (folder / chapter).glob("*.py")}, chapter
        assert len(said) <= 12
        for module in re.findall(r"python -m ([\w.]+)", lines):
            assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), module
    assert set(chapters) == {str(path.parent.relative_to(folder)) for path in folder.glob("*/**/*.py")}
