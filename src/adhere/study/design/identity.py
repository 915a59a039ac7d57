"""What a trained cell depends on besides its settings, as one hash: code, plug-ins, libraries.

A cell is trained again when this changes, so it holds what can change weights and nothing else. It is the code that the
cell uses, found by following imports from where the work is done: an edit of a report, of a method or of a kind that
the cell does not use, a docstring or a comment must not throw hours of training away, and an edit of a verifier that it
does use must.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import adhere
from adhere.constraints import registry
from adhere.constraints.published.iftrain.twins import TWINS
from adhere.schema import Json, Prompt, content_hash
from adhere.train.stages import STAGES

LIBRARIES = ("torch", "transformers", "tokenizers")
# Where imports are followed from, relative to the package: how answers are drawn and judged and rows are made, and how
# a cell is trained.
DRAWING = ("build/pool.py", "build/plain.py", "models/local/transformers.py", "pipeline/respond.py")
TRAINING = ("study/run/training.py", "train/stage.py")
IFTRAIN = (
    "constraints/published/iftrain/format.py",
    "constraints/published/iftrain/words.py",
    "constraints/kinds/trained/length.py",
)
RATING = ("build/transforms/six_criteria.py",)  # of the pairs of a reward model
# Where they are followed to: what words and verdicts are, how answers are drawn and judged, how rows are made and
# learned.
ROOMS = (
    "schema.py",
    "text",
    "constraints",
    "sandbox",
    "models",
    "pipeline",
    "build",
    "rewards",
    "train",
    "study/run/training.py",
)
# Of these, what only says how much something will cost, stops what goes wrong, compares with held-out prompts (those
# that are kept are in the key), shares a recipe among machines, or fetches weights (whose hash is in the key), and
# engines that no study trains with.
EXCEPT = (
    "build/decontaminate",
    "build/manifest.py",
    "models/catalog.py",
    "models/fake",
    "models/http",
    "models/local/decoder/server.py",
    "models/local/decoder/vllm.py",
    "models/local/embedded.py",
    "models/local/fetch.py",
    "models/wrap",
    "train/budget/cost.py",
    "train/budget/estimate.py",
    "train/budget/memory.py",
    "train/parallel.py",
    "train/recipe/__init__.py",
    "train/recipe/guards.py",
    "train/recipe/spec.py",
    "train/sharding.py",
)


def drawing_identity(prompts: Iterable[Prompt]) -> str:
    """The hash of the code that draws and judges answers to `prompts`, plug-ins and libraries among it."""
    return _identity(DRAWING, prompts, [])


def training_identity(method: str) -> str:
    """The hash of the code that trains by one method; what it learns from has the identity of how it was drawn."""
    stage = STAGES.get(method)
    roots = TRAINING if stage.yields == "weights" else (*TRAINING, *RATING)
    return _identity(roots, [], [stage.run, stage.rows, stage.settings])


def _identity(roots: tuple[str, ...], prompts: Iterable[Prompt], used: list[object]) -> str:
    kinds = {ref for one in prompts for turn in one.turns for c in turn.constraints for ref in _ids(c.id, c.params)}
    twins = sorted(kinds & TWINS.keys())
    classes = [
        *used,
        *(registry.get(kind) for kind in sorted({*kinds, *(TWINS[kind].own for kind in twins)}) if kind in registry),
    ]
    own = {name for name in map(_own_file, classes) if name is not None} | set(IFTRAIN if twins else ())
    return content_hash(
        [source_hash((*roots, *sorted(own))), _foreign(classes), {lib: version(lib) for lib in LIBRARIES}]
    )


@cache
def source_hash(roots: tuple[str, ...], package: Path | None = None) -> str:
    """The hash of the code of `roots` and of everything that they import, within `package` [this one]."""
    package = package or Path(adhere.__file__).parent
    digest = hashlib.sha256()
    for name in sorted(_follow_imports(roots, package)):
        digest.update(f"{name}\0{_file_hash((package / name).read_bytes(), name)}\0".encode())
    return digest.hexdigest()


def _follow_imports(roots: tuple[str, ...], package: Path) -> set[str]:
    """`roots` and the files that they import, and those that these import, with the data files beside them."""
    found: set[str] = set()
    open_ = [package / root for root in roots]
    while open_:
        file = open_.pop()
        name = file.relative_to(package).as_posix()
        if name in found or not _lies_in(name, ROOMS) or _lies_in(name, EXCEPT):
            continue
        found.add(name)
        found |= {
            data.relative_to(package).as_posix()
            for data in file.parent.iterdir()
            if data.is_file() and data.suffix not in {".py", ".pyc"} and _lies_in(name, ("constraints", "text"))
        }
        for module, names in _imports(_tree(file.read_bytes()), all_of_them=file.name == "__init__.py"):
            open_ += _files(package, module, names)
    return found


def _lies_in(name: str, places: Iterable[str]) -> bool:
    return any(name == place or name.startswith(f"{place}/") for place in places)


@cache
def _imports(tree: ast.Module, *, all_of_them: bool) -> tuple[tuple[str, list[str]], ...]:
    """Each import of our own, wherever it stands in a file: the module, and the names taken from it.

    Imports for types only are left out, except in a package's `__init__` (`all_of_them`): there they are what it loads
    on first use.
    """
    found: list[tuple[str, list[str]]] = []
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if (
            not all_of_them
            and isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            stack += node.orelse
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "adhere":
            found.append((node.module, [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found += ((alias.name, []) for alias in node.names if alias.name.partition(".")[0] == "adhere")
        stack += ast.iter_child_nodes(node)
    return tuple(found)


def _files(package: Path, module: str, names: Iterable[str]) -> list[Path]:
    """The files of an imported module; of a package its `__init__` and those of `names` that are modules."""
    path = package.joinpath(*module.split(".")[1:])
    if path.with_suffix(".py").is_file():
        return [path.with_suffix(".py")]
    inner = [
        path / "__init__.py",
        *(path / f"{name}.py" for name in names),
        *(path / name / "__init__.py" for name in names),
    ]
    return [file for file in inner if file.is_file()]


@cache
def _tree(source: bytes) -> ast.Module:
    return ast.parse(source)


@cache
def _file_hash(data: bytes, name: str) -> str:
    return content_hash(_code(_tree(data))) if name.endswith(".py") else hashlib.sha256(data).hexdigest()


def _code(node: object) -> Json:
    """A syntax tree as JSON without docstrings and positions.

    What is empty is left out, as Python versions differ in it.
    """
    if isinstance(node, ast.AST):
        fields = {name: _code(value) for name, value in ast.iter_fields(node) if value is not None and value != []}
        return [type(node).__name__, fields]
    if isinstance(node, list):
        return [_code(item) for item in node if not _is_text_alone(item)]
    return node if isinstance(node, str | bool | int | None) else repr(node)


def _is_text_alone(node: object) -> bool:
    """Whether a statement is only a string: a docstring, which does nothing."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _ids(name: str, params: Json) -> Iterator[str]:
    """The id of a constraint and of those inside it."""
    yield name
    stack = [params]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            inner = value.get("id")
            if isinstance(inner, str):
                yield inner
            stack += value.values()
        elif isinstance(value, list | tuple):
            stack += value


def _own_file(one: object) -> str | None:
    """The file of this package that defines `one`, relative to it; None where another package does."""
    file, own = inspect.getsourcefile(inspect.unwrap(_definition(one))), Path(adhere.__file__).parent  # type: ignore[arg-type]
    return Path(file).relative_to(own).as_posix() if file is not None and Path(file).is_relative_to(own) else None


def _foreign(objects: Iterable[object]) -> dict[str, str]:
    """Source file -> hash, of what other packages define: every module of the package that defines one of `objects`."""
    found = {}
    for one in objects:
        if _own_file(one) is None:
            for file, name in _sources(one):
                found[name] = hashlib.sha256(file.read_bytes()).hexdigest()
    return found


def _definition(one: object) -> object:
    while isinstance(one, partial):
        one = one.func
    return one if inspect.isclass(one) or inspect.isroutine(one) else type(one)


def _sources(one: object) -> list[tuple[Path, str]]:
    """The files that define `one`, each with its name from the top of its package.

    The whole package, as its modules call each other.
    """
    defined = _definition(one)
    file = inspect.getsourcefile(inspect.unwrap(defined))  # type: ignore[arg-type]
    if file is None:
        return []
    top = sys.modules.get(defined.__module__.partition(".")[0])
    if (
        top is None or top.__file__ is None or not hasattr(top, "__path__")
    ):  # one module, or a folder that is no package
        return [(Path(file), Path(file).name)]
    root = Path(top.__file__).parent
    return [(path, path.relative_to(root.parent).as_posix()) for path in sorted(root.rglob("*.py"))]
