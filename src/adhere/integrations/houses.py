"""Every trainer and harness (house) that adhere works with: the release tested, the ways in (doors), how and when.

`adhere doctor --trainer NAME` and docs/reference/houses.md print this list. `make test-houses` installs each newest
release in an environment of its own and runs its doors again.
"""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal, NamedTuple

from adhere.errors import UnknownName, nearest

How = Literal["run", "parsed", "read"]
"""Ways in which a door was tested.

`run`: the house's own code ran ours; `parsed`: its own parser or class accepted ours; `read`: compared with its source,
not run.
"""


class Door(NamedTuple):
    """Describes one way to use adhere from a house.

    Attributes:
        what: What it is.
        command: The command as in the guides; `…` stands for the user's own arguments.
        how: How it was tested; see How.
    """

    what: str
    command: str
    how: How


class House(NamedTuple):
    """Describes one trainer or harness.

    Attributes:
        name: Its name on the command line.
        package: Its name on the package index; empty: it is on none.
        tested: The release, or the commit, that its doors were tested with.
        date: The date of the test.
        python: The Python version that it needs.
        doors: The ways in.
        note: What a user has to know.
    """

    name: str
    package: str
    tested: str
    date: str
    python: str
    doors: tuple[Door, ...]
    note: str = ""

    @property
    def installed(self) -> str | None:
        """The release installed here; None if none is."""
        try:
            return version(self.package) if self.package else None
        except PackageNotFoundError:
            return None

    @property
    def state(self) -> str:
        """A sentence on whether the installed release is the tested one."""
        if not self.package:
            return "on no package index: clone it"
        release = self.installed
        if release is None:
            return f"not installed here: pip install {self.package}"
        return (
            "installed here, as tested"
            if release == self.tested
            else f"installed here is {release}, tested was {self.tested}"
        )


def _read() -> tuple[House, ...]:
    rows = tomllib.loads((Path(__file__).parent / "houses.toml").read_text(encoding="utf-8"))["houses"]
    return tuple(House(**{**row, "doors": tuple(Door(**door) for door in row["doors"])}) for row in rows)


HOUSES = _read()


def house_of(name: str) -> House:
    """Return the house with this name or package.

    Raises:
        UnknownName: There is no such house.
    """
    house = next((house for house in HOUSES if name.lower() in {house.name, house.package}), None)
    if house is None:
        names = [house.name for house in HOUSES]
        raise UnknownName(f"No trainer {name!r} is known.{nearest(name, names)} Known: {', '.join(names)}")
    return house


def house_text(house: House) -> str:
    """Describe a house for the terminal."""
    lines = [f"{house.name} {house.tested}, tested {house.date} (Python {house.python}): {house.state}"]
    lines += [f"  {door.how:<6}  {door.what}: {door.command}" for door in house.doors]
    return "\n".join([*lines, *([f"  {house.note}"] if house.note else [])])


def page() -> str:
    """Return the text of docs/reference/houses.md."""
    cells = [
        (house.name, house.tested, house.date, house.python, door.what, f"`{door.command}`", door.how)
        for house in HOUSES
        for door in house.doors
    ]
    rows = [f"| {' | '.join(row)} |" for row in cells]
    notes = [f"- **{house.name}**: {house.note}" for house in HOUSES if house.note]
    return "\n".join([_HEAD, *rows, "", *notes, ""])


_HEAD = """# Trainers and harnesses: what was run

The last column says how it was tried. *run*: the trainer's own code ran ours. *parsed*: its own parser or class took
the command or the files that we write. *read*: compared with its source at that commit, because it is on no package
index; **not run**. `adhere doctor --trainer NAME` says the same beside what is installed. `make test-houses` does it
again with the newest releases, each in an environment of its own.

| trainer | release | when | Python | door | command | how |
|---|---|---|---|---|---|---|"""
