"""How many documents each decision of the claims reader serves: one that serves a single document is that document's.

    python -m benchmarks.claims.decisions SET… [--suffix md tex html] [--most 40] [--verbose]

Every condition of the reader (`if`, an operand of `and` or `or`, a filter of a comprehension) is forced the other way,
one at a time, on the documents where that can change anything, and the labelled cells are judged again (`cells.py` says
what a SET is). A decision serves a document whose cells are then lost or wrong. Decisions that act in more than `--most`
documents are not tried: they are what the reader is made of.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import pkgutil
import signal
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from benchmarks.claims.cells import extra_claims, load_cells, load_judge

import adhere

ROOM = Path(adhere.__file__).parent / "evidence"
PARTS = ("claims.", "read.")
SECONDS = 5  # a condition that ended a loop never does


class Decision(NamedTuple):
    """A condition: where it stands and what it asks."""

    module: str
    line: int
    kind: str
    source: str


class Forcing:
    """The conditions that were found, which of them could act, and the one that is forced."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []
        self.active = -1
        self.seen: set[int] = set()

    def __call__(self, number: int, value: Any, forced: bool) -> Any:  # noqa: FBT001 -- called from rewritten code
        if bool(value) == forced:
            return value
        self.seen.add(number)
        return forced if number == self.active else value


class _Rewriter(ast.NodeTransformer):
    """Wraps each condition in a call that may force it."""

    def __init__(self, module: str, forcing: Forcing) -> None:
        self.module, self.forcing = module, forcing

    def _wrap(self, node: ast.expr, kind: str, *, forced: bool) -> ast.expr:
        number = len(self.forcing.decisions)
        self.forcing.decisions.append(Decision(self.module, node.lineno, kind, ast.unparse(node)))
        inside: ast.expr = self.visit(node)
        arguments: list[ast.expr] = [ast.Constant(number), inside, ast.Constant(forced)]
        return ast.copy_location(ast.Call(ast.Name("_forcing", ast.Load()), arguments, []), node)

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._wrap(node.test, "if", forced=False)
        node.body = [self.visit(statement) for statement in node.body]
        node.orelse = [self.visit(statement) for statement in node.orelse]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        is_and = isinstance(node.op, ast.And)
        node.values = [self._wrap(value, "and" if is_and else "or", forced=is_and) for value in node.values]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.target, node.iter = self.visit(node.target), self.visit(node.iter)
        node.ifs = [self._wrap(value, "filter", forced=True) for value in node.ifs]
        return node


class _Loader(importlib.machinery.SourceFileLoader):
    forcing: Forcing

    def get_code(self, fullname: str) -> CodeType:
        name = fullname.removeprefix("adhere.evidence.")
        tree = ast.parse(Path(self.path).read_text(encoding="utf-8"))
        tree = ast.fix_missing_locations(_Rewriter(name, self.forcing).visit(tree))
        return compile(tree, self.path, "exec")

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["_forcing"] = self.forcing
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, forcing: Forcing) -> None:
        self.forcing = forcing

    def find_spec(self, name: str, path: object, target: object = None) -> importlib.machinery.ModuleSpec | None:
        parts = name.removeprefix("adhere.evidence.").split(".")
        if not name.startswith("adhere.evidence.") or not f"{parts[0]}.".startswith(PARTS):
            return None
        place = ROOM.joinpath(*parts)
        file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        loader = _Loader(name, str(file))
        loader.forcing = self.forcing
        inside = [str(place)] if place.is_dir() else None
        return importlib.util.spec_from_file_location(name, file, loader=loader, submodule_search_locations=inside)


class Reading(NamedTuple):
    """What of a document's labelled cells was read rightly, and how many claims are wrong."""

    right: frozenset[str]
    wrong: int


class Readings:
    """The documents of some sets with their labels, read again and again."""

    def __init__(self, sets: list[Path], suffixes: list[str]) -> None:
        self.judge = load_judge(sets).judge
        self.examine = importlib.import_module("adhere.evidence.examine").examine
        room = importlib.import_module("adhere.evidence")
        names = [module.name for module in pkgutil.walk_packages(room.__path__, "adhere.evidence.")]
        self.caches = [
            value
            for module in map(importlib.import_module, names)
            for value in vars(module).values()
            if hasattr(value, "cache_clear")
        ]
        self.documents: list[tuple[Path, list[Any], Any]] = []
        for folder in sets:
            cells, zones = load_cells(folder)
            self.documents += [
                (path, cells[path.name], zones.get(path.name) if zones else None)
                for path in sorted((folder / "docs").iterdir())
                if path.suffix[1:] in suffixes and cells.get(path.name)
            ]

    def read(self, at: int) -> Reading:
        """Read a document afresh and judge its claims."""
        for cache in self.caches:
            cache.cache_clear()
        path, cells, zones = self.documents[at]
        verdict, extra = self.judge(self.examine([path]).as_json()["claims"], cells, path.suffix == ".pdf")
        outcomes = {name: outcome for name, (outcome, _) in verdict.items()}
        wrong = sum(outcome not in {"right", "missed"} for outcome in outcomes.values())
        right = frozenset(name for name, outcome in outcomes.items() if outcome == "right")
        return Reading(right, wrong + len(extra_claims(extra, zones, cells)))

    def served(self, before: list[Reading], places: list[int]) -> list[str] | None:
        """The documents that are read worse than before; None where the forced code fails or does not end."""
        found = []
        try:
            for at in places:
                signal.alarm(SECONDS)
                after = self.read(at)
                if before[at].right - after.right or after.wrong > before[at].wrong:
                    found.append(self.documents[at][0].name)
        except Exception:  # noqa: BLE001 -- code that is forced may fail in any way
            return None
        finally:
            signal.alarm(0)
        return found


def main() -> None:
    """Force each decision and count the documents that it serves."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--suffix", nargs="+", default=["md", "tex", "html", "txt"])
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--verbose", action="store_true", help="print every decision that serves one document or two")
    options = parser.parse_args()
    for name in [name for name in sys.modules if name.startswith("adhere.evidence")]:
        del sys.modules[name]  # read again, rewritten
    forcing = Forcing()
    sys.meta_path.insert(0, _Finder(forcing))
    signal.signal(signal.SIGALRM, _stop)
    readings = Readings(options.sets, options.suffix)
    before, acts = [], []
    for at in range(len(readings.documents)):
        forcing.seen.clear()
        before.append(readings.read(at))
        acts.append(frozenset(forcing.seen))
    counted: Counter[str] = Counter()
    for number, decision in enumerate(forcing.decisions):
        places = [at for at, seen in enumerate(acts) if number in seen]
        if not 0 < len(places) <= options.most:
            counted["never act" if not places else f"act in more than {options.most}"] += 1
            continue
        forcing.active = number
        served = readings.served(before, places)
        forcing.active = -1
        counted["cannot be forced" if served is None else f"serve {len(served):3}"] += 1
        if options.verbose and served and len(served) < 3:
            print(f"{decision.module}:{decision.line} {decision.kind} {decision.source[:100]} | {', '.join(served)}")
    print(f"{len(readings.documents)} documents, {len(forcing.decisions)} decisions, of which")
    for what, decisions in sorted(counted.items()):
        print(f"{decisions:6} {what}")


def _stop(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    main()
