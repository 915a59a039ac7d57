"""checks.toml: what survived, for a person to read, change or strike out, and for `adhere build` to draw from."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

from adhere.build.checks.examine import Evidence
from adhere.config import load_toml
from adhere.constraints.base import Constraint
from adhere.constraints.written import Written
from adhere.errors import BadParameter, SpecError
from adhere.schema import Record, content_hash, write_atomic


class Check(Record, frozen=True):
    """Holds one check; `use = false` strikes it out.

    `said` is what the model answered when asked what the first function checks.
    """

    instruction: str
    functions: tuple[str, ...]
    good: str
    bad: str
    said: str = ""
    evidence: Evidence | None = None
    use: bool = True

    def constraint(self) -> Written:
        """Return the check as a Constraint.

        Raises:
            BadParameter: The check cannot be stored as a Constraint.
        """
        return Written(self.instruction, self.functions, self.good, self.bad)


class CheckFile(Record, frozen=True):
    """Holds what checks.toml says."""

    model: str
    checks: tuple[Check, ...] = ()


class CheckKind:
    """Offers one check as a kind of constraint; every draw returns the check itself."""

    def __init__(self, check: Check) -> None:
        self._constraint = check.constraint()
        self.id = f"{self._constraint.id}#{content_hash(check.functions)[:8]}"

    def family(self) -> str:
        """Return the family, `written`."""
        return self._constraint.family()

    def draw(self, rng: random.Random, *, words: Sequence[str]) -> Constraint:
        """Return the check."""
        return self._constraint


def load_checks(path: Path) -> list[CheckKind]:
    """Return the checks of a file that are in use.

    Raises:
        SpecError: The file is not readable as checks.toml, a check cannot be used, or none is in use.
    """
    kinds = []
    for number, check in enumerate(load_toml(path, CheckFile).checks, start=1):
        if not check.use:
            continue
        try:
            kinds.append(CheckKind(check))
        except BadParameter as problem:
            raise SpecError(f"{path}: checks number {number}: {problem}") from problem
    if not kinds:
        raise SpecError(f"{path} holds no check that is in use")
    return kinds


def write_checks(path: Path, model: str, checks: Sequence[Check]) -> None:
    """Write checks.toml, laid out for a person to read."""
    lines = [
        (
            "# Checks that a model wrote and that survived cross-validation. Read the functions; "
            "strike a check out with use = false."
        ),
        f"model = {_quote(model)}",
    ]
    for check in checks:
        lines += [
            "",
            "[[checks]]",
            f"instruction = {_quote(check.instruction)}",
            f"said = {_quote(check.said)}",
            f"good = {_quote(check.good)}",
            f"bad = {_quote(check.bad)}",
            f"use = {'true' if check.use else 'false'}",
            "functions = [",
        ]
        lines += [f"{_block(source)}," for source in check.functions]
        lines.append("]")
        if check.evidence is not None:
            lines.append("[checks.evidence]")
            for name in check.evidence.__struct_fields__:
                value = getattr(check.evidence, name)
                if value is not None:
                    lines.append(f"{name} = {value}")
    write_atomic(path, ("\n".join(lines) + "\n").encode())


def _quote(text: str) -> str:
    """Return a TOML string on one line.

    JSON's escapes are TOML's, but DEL must be escaped, and lone surrogates are replaced.
    """
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(source: str) -> str:
    """Return code as a literal TOML block if TOML can hold it so, else as a quoted string."""
    plain = all(char in "\n\t" or char.isprintable() for char in source)
    return f"'''\n{source}'''" if plain and "'''" not in source and not source.endswith("'") else _quote(source)
