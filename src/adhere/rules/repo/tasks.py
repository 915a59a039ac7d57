"""Draw repositories and tasks by seed: mend a function, add one, rename one, or change a setting."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from adhere.rules.repo.machine import Machine
from adhere.rules.repo.python import Incomputable


class Function(NamedTuple):
    """Describes a function: its purpose, its right and its wrong expression, and what it returns for given arguments."""

    name: str
    parameters: str
    about: str
    right: str
    wrong: str
    cases: Sequence[tuple[tuple[Any, ...], Any]]

    def source(self, body: str) -> str:
        """Return the source of the function with `body` as the expression that it returns."""
        return f'def {self.name}({self.parameters}):\n    """{self.about}"""\n    return {body}\n'

    def tests(self) -> str:
        """Return the source of a test of the function's first two cases."""
        asserts = [
            f"    assert {self.name}({', '.join(map(repr, arguments))}) == {value!r}"
            for arguments, value in self.cases[:2]
        ]
        return "\n".join([f"def test_{self.name}():", *asserts]) + "\n"


FUNCTIONS = (
    Function("area", "width, height", "Return the area of a rectangle.", "width * height", "width + height", (((3, 4), 12), ((5, 5), 25), ((7, 2), 14))),
    Function("perimeter", "width, height", "Return the perimeter of a rectangle.", "2 * (width + height)", "2 * width + height", (((3, 4), 14), ((1, 1), 4), ((6, 2), 16))),
    Function("change_due", "paid, price", "Return what a customer gets back, never less than 0.", "max(0, paid - price)", "paid - price", (((10, 7), 3), ((5, 9), 0), ((8, 8), 0))),
    Function("pages_of", "items, size", "Return how many pages of a size it takes to show all items.", "(items + size - 1) // size", "items // size", (((10, 5), 2), ((11, 5), 3), ((1, 9), 1))),
    Function("is_even", "number", "Tell whether a number is even.", "number % 2 == 0", "number % 2 == 1", (((4,), True), ((7,), False), ((0,), True))),
    Function("clamp", "value, low, high", "Return a value cut to lie from low to high.", "max(low, min(high, value))", "min(low, max(high, value))", (((5, 1, 9), 5), ((0, 1, 9), 1), ((12, 1, 9), 9))),
    Function("with_tax", "price, percent", "Return a price with a tax in percent, rounded down.", "price + price * percent // 100", "price + percent", (((200, 10), 220), ((50, 20), 60), ((99, 7), 105))),
    Function("average", "values", "Return the mean of a list of numbers.", "sum(values) / len(values)", "sum(values) // len(values)", ((([1, 2],), 1.5), (([4, 4, 4],), 4.0), (([1, 2, 4, 5, 6],), 3.6))),
    Function("span", "values", "Return the largest less the smallest of a list.", "max(values) - min(values)", "max(values) - values[0]", ((([3, 1, 9],), 8), (([5, 5],), 0), (([2, -4],), 6))),
    Function("seconds_of", "hours, minutes", "Return hours and minutes as seconds.", "3600 * hours + 60 * minutes", "360 * hours + 60 * minutes", (((1, 0), 3600), ((2, 30), 9000), ((0, 5), 300))),
)  # fmt: skip
_NEW_NAMES = ("compute_{}", "get_{}", "{}_value", "find_{}")
_PACKAGES = ("shop", "atlas", "ledger", "garden", "harbor", "orchard")
_MODULES = ("core", "measure", "figures", "amounts")
_SETTINGS = {"retries": (3, 5), "timeout": (30, 45), "page_size": (20, 50), "workers": (4, 8)}


class Change(NamedTuple):
    """Replaces a text of a file by another one."""

    path: str
    old: str
    new: str


class Task(NamedTuple):
    """Describes a task.

    Attributes:
        wants: What the user asks for, in words.
        files: The repository's files, without AGENTS.md.
        changes: The changes that solve the task.
        problem: Says why given files do not solve the task; empty: they do.
        about: The task in a few words, for messages.
    """

    wants: str
    files: Mapping[str, str]
    changes: Sequence[Change]
    problem: Callable[[Mapping[str, str]], str]
    about: str


def draw_task(rng: random.Random) -> Task:
    """Draw a repository and a task of one of four sorts."""
    package, module = rng.choice(_PACKAGES), rng.choice(_MODULES)
    own = rng.sample(FUNCTIONS, 4)
    sort = rng.choice(("mend", "add", "rename", "setting"))
    functions = own[:3] if sort == "add" else own
    wrong = own[0].name if sort == "mend" else ""
    path, name = f"src/{package}/{module}.py", f"{package}.{module}"
    body = "\n\n".join(
        function.source(function.wrong if function.name == wrong else function.right) for function in functions
    )
    tests = "\n\n".join(function.tests() for function in functions)
    files = {
        **_surroundings(package),
        path: f'"""Figures of {package}."""\n\n\n{body}',
        f"tests/test_{module}.py": f"from {name} import {', '.join(function.name for function in functions)}\n\n\n{tests}",
        f"src/{package}/report.py": (
            f'"""Reports of {package}."""\n\nfrom {name} import {own[1].name}\n\n\n'
            f'def line_of({own[1].parameters}):\n    """Return a line of the report."""\n'
            f'    return "{own[1].name}: " + str({own[1].name}({own[1].parameters}))\n'
        ),
    }
    function = own[0] if sort == "mend" else own[3] if sort == "add" else own[1]
    if sort == "mend":
        old, new = (f'"""{function.about}"""\n    return {body}' for body in (function.wrong, function.right))
        wants = f"`{function.name}` in {path} returns wrong results. Its docstring says what it should do. Mend it."
        return Task(
            wants, files, (Change(path, old, new),), _works(name, function, function.name), f"mend {function.name}"
        )
    if sort == "add":
        last = functions[-1].source(functions[-1].right)
        wants = f"Add a function `{function.name}({function.parameters})` to {path}: {function.about.lower().replace('return', 'it returns', 1).replace('tell', 'it tells', 1)}"
        change = Change(path, last, f"{last}\n\n{function.source(function.right)}")
        return Task(wants, files, (change,), _works(name, function, function.name), f"add {function.name}")
    if sort == "rename":
        return _rename(rng, files, (package, path, name), function)
    key = rng.choice(sorted(_SETTINGS))
    before, after = _SETTINGS[key]
    setting = Change("config/settings.toml", f"{key} = {before}", f"{key} = {after}")
    wants = f"Set {key} in config/settings.toml to {after} and leave the other settings as they are."
    return Task(wants, files, (setting,), _is_set(key, after), f"set {key} to {after}")


def _rename(rng: random.Random, files: Mapping[str, str], where: tuple[str, str, str], function: Function) -> Task:
    package, path, module = where
    new = rng.choice(_NEW_NAMES).format(function.name)
    report, test = f"src/{package}/report.py", f"tests/test_{module.partition('.')[2]}.py"
    whole = [
        Change(path, f"def {function.name}(", f"def {new}("),
        Change(report, files[report], files[report].replace(f"import {function.name}", f"import {new}").replace(f"str({function.name}(", f"str({new}(")),
        Change(test, files[test], _renamed_tests(files[test], function.name, new)),
    ]  # fmt: skip
    works = _works(module, function, new)

    def problem(now: Mapping[str, str]) -> str:
        leftovers = [
            file
            for file in (path, report, test)
            if f"{function.name}(" in now.get(file, "").replace(f"{new}(", "").replace(f"test_{function.name}(", "")
        ]
        if (why := works(now)) or leftovers:
            return why or f"{leftovers[0]} has {function.name} still"
        try:
            line = Machine(dict(now)).program().call(f"{package}.report", "line_of", *function.cases[0][0])
        except Incomputable as error:
            return f"{report}: {error}"
        return "" if str(function.cases[0][1]) in str(line) else f"{report}: line_of returns {line!r:.60}"

    wants = f"Rename `{function.name}` in {path} to `{new}`, wherever it is used: in {report} and in {test}, too."
    return Task(wants, files, whole, problem, f"rename {function.name}")


def _renamed_tests(text: str, old: str, new: str) -> str:
    head, _, rest = text.partition("\n")
    names = [new if name.strip() == old else name.strip() for name in head.partition(" import ")[2].split(",")]
    return (
        f"{head.partition(' import ')[0]} import {', '.join(names)}\n{rest.replace(f'assert {old}(', f'assert {new}(')}"
    )


def _works(module: str, function: Function, name: str) -> Callable[[Mapping[str, str]], str]:
    def problem(files: Mapping[str, str]) -> str:
        program = Machine(dict(files)).program()
        for arguments, value in function.cases:
            call_text = f"{name}({', '.join(map(repr, arguments))})"
            try:
                answer = program.call(module, name, *arguments)
            except Incomputable as error:
                return f"{call_text}: {error}"
            if answer != value or isinstance(answer, bool) is not isinstance(value, bool):
                return f"{call_text} returns {answer!r:.60}, wanted {value!r}"
        return ""

    return problem


def _is_set(key: str, after: int) -> Callable[[Mapping[str, str]], str]:
    goal = {name: after if name == key else before for name, (before, _) in _SETTINGS.items()}

    def problem(files: Mapping[str, str]) -> str:
        try:
            settings = tomllib.loads(files.get("config/settings.toml", ""))
        except tomllib.TOMLDecodeError as error:
            return f"config/settings.toml: {error}"
        return "" if settings == goal else f"config/settings.toml says {settings!r:.120}"

    return problem


def _surroundings(package: str) -> dict[str, str]:
    """Return the files that every repository has, so that each path named by a rule exists."""
    settings = "".join(f"{name} = {before}\n" for name, (before, _) in _SETTINGS.items())
    return {
        "README.md": f"# {package}\n\nFigures and reports. See docs/usage.md.\n",
        "CONTRIBUTING.md": "# How to contribute\n\nKeep changes small.\n",
        "CHANGELOG.md": "# Changes\n\n- The first version.\n",
        "docs/usage.md": f"# Usage\n\n    from {package} import report\n",
        "docs/legal/terms.md": "# Terms\n\nNo warranty.\n",
        "config/settings.toml": settings,
        "config/production.toml": settings,
        "pyproject.toml": f'[project]\nname = "{package}"\nversion = "0.1.0"\n',
        "uv.lock": f'[[package]]\nname = "{package}"\nversion = "0.1.0"\n',
        "LICENSE": "Apache License 2.0\n",
        "CODEOWNERS": "* @owners\n",
        ".github/workflows/ci.yml": "on: push\njobs: {}\n",
        "vendor/tool.py": '"""A tool of others."""\n',
        "generated/schema.py": '"""Generated; do not edit."""\n',
        "migrations/0001_begin.sql": "CREATE TABLE items (id INTEGER);\n",
        "assets/logo.svg": "<svg/>\n",
        "scripts/release.sh": "echo release\n",
        "data/archive/2024.csv": "day,value\n1,2\n",
        f"src/{package}/__init__.py": f'"""{package.title()}."""\n',
    }
