"""Keep a repository in memory: its files, its commits, and what its linter and its tests print."""

from __future__ import annotations

import ast
import hashlib
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from adhere.rules.repo.python import Incomputable, Program

MOST_FILES, MOST_BYTES = 400, 200_000


class ShellError(Exception):
    """Says that a command failed, with a message and an exit code."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class Commit(NamedTuple):
    """Holds a commit: its message and all files."""

    message: str
    files: Mapping[str, str]

    @property
    def mark(self) -> str:
        """The commit's short hash."""
        text = repr((self.message, sorted(self.files.items())))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:7]


@dataclass
class Machine:
    """Holds the repository in memory.

    Attributes:
        files: Text by path.
        branch: The branch that is checked out.
        branches: The commits of each branch, oldest first.
        staged: Paths that `git add` named, with their text at that time; None: removed.
        cwd: The folder that a command line has changed to, relative to the root.
    """

    files: dict[str, str]
    branch: str = "main"
    branches: dict[str, list[Commit]] = field(default_factory=dict)
    staged: dict[str, str | None] = field(default_factory=dict)
    cwd: str = ""

    def __post_init__(self) -> None:
        if not self.branches:
            self.branches = {self.branch: [Commit("Begin", dict(self.files))]}

    @property
    def head(self) -> Mapping[str, str]:
        """The files in the last commit of the branch that is checked out."""
        return self.branches[self.branch][-1].files

    def write(self, path: str, text: str) -> None:
        """Write a file.

        Raises:
            ShellError: The path leaves the repository, is a folder, or lies below a file; or the disk is full.
        """
        path = self.path(path)
        if not path or path in self.folders():
            raise ShellError(f"{path or '.'}: is a folder")
        if any(parent in self.files for parent in parents(path)):
            raise ShellError(f"{path}: a file stands where a folder would have to be")
        if len(text) > MOST_BYTES or (path not in self.files and len(self.files) >= MOST_FILES):
            raise ShellError(f"{path}: the disk is full")
        self.files[path] = text

    def read(self, path: str) -> str:
        """Return the text of a file.

        Raises:
            ShellError: There is no such file.
        """
        own = self.path(path)
        if own not in self.files:
            raise ShellError(f"{path}: {'is a folder' if own in self.folders() else 'no such file'}")
        return self.files[own]

    def path(self, raw_path: str) -> str:
        """Return a path relative to the root; empty for the root itself.

        Raises:
            ShellError: The path leaves the repository.
        """
        place = raw_path.removeprefix("/repo").lstrip("/") if raw_path.startswith("/repo") else raw_path
        from_root = place if place != raw_path else posixpath.join(self.cwd, raw_path)
        path = posixpath.normpath(from_root or ".")
        if path.startswith(("/", "..", "~")):
            raise ShellError(f"{raw_path}: permission denied: only the repository is there")
        return "" if path == "." else path

    def folders(self) -> set[str]:
        """Return every folder with a file in it, at any depth."""
        return {parent for path in self.files for parent in parents(path)}

    def below(self, path: str) -> list[str]:
        """Return the files at or below a path, sorted.

        Raises:
            ShellError: There is no file.
        """
        own = self.path(path)
        files = sorted(file for file in self.files if not own or file == own or file.startswith(f"{own}/"))
        if not files and own:
            raise ShellError(f"{path}: no such file or folder")
        return files

    def lint(self) -> str:
        """Return what the linter prints when all files are clean.

        Raises:
            ShellError: The linter found something.
        """
        problems = []
        for path, text in sorted(self.files.items()):
            if path.endswith(".py"):
                _tree, problem = _parse(text)
                problems += [f"{path}: {problem}"] if problem else []
                bad = [number for number, line in enumerate(text.splitlines(), start=1) if line != line.rstrip()]
                problems += [f"{path}:{number}: W291 trailing whitespace" for number in bad]
        if problems:
            raise ShellError("\n".join([*problems[:20], f"Found {len(problems)} errors."]))
        return "All checks passed!\n"

    def program(self, files: Mapping[str, str] | None = None) -> Program:
        """Return the Python modules of the repository, or of `files`, to compute with."""
        sources = {}
        for path, text in (self.files if files is None else files).items():
            if path.endswith(".py"):
                name = path.removesuffix(".py").removeprefix("src/").removesuffix("/__init__").replace("/", ".")
                sources[name] = text
        return Program(sources)

    def test(self, paths: Sequence[str] = ()) -> str:
        """Run the tests of `tests/` (or of `paths`) and return what they print when all pass.

        A test is a function `test_…` with lines `assert f(…) == value`.

        Raises:
            ShellError: A test fails, or there are none.
        """
        chosen = [
            file for path in paths or ["tests"] for file in self.below(path.partition("::")[0]) if file.endswith(".py")
        ]
        program, passed, failed = self.program(), 0, list[str]()
        for path in chosen:
            tree, problem = _parse(self.files[path])
            failed += [f"FAILED {path} - {problem}"] if problem else []
            module = path.removesuffix(".py").replace("/", ".")
            for node in tree.body:
                if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                    why = _failure(program, module, node)
                    passed += not why
                    failed += [f"FAILED {path}::{node.name} - {why}"] if why else []
        if failed:
            raise ShellError("\n".join([*failed, f"{len(failed)} failed, {passed} passed"]))
        if not passed:
            raise ShellError("no tests ran", 5)
        return f"{passed} passed\n"


def _parse(text: str) -> tuple[ast.Module, str]:
    """Return the syntax tree of a file, and what is wrong with the file (empty: nothing)."""
    try:
        return ast.parse(text), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return ast.Module([], []), f"{type(error).__name__}: {error}"


def _failure(program: Program, module: str, test: ast.FunctionDef) -> str:
    """Return a test's first assert that fails or cannot be computed, with the reason; empty if the test passes."""
    for statement in test.body:
        if not isinstance(statement, ast.Assert):
            continue
        text = ast.unparse(statement.test)
        try:
            if not program.check(module, statement.test):
                return f"assert {text}"
        except Incomputable as error:
            return f"assert {text}: {error}"
    return ""


def parents(path: str) -> list[str]:
    """Return the folders above a path, outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:number]) for number in range(1, len(parts))]
