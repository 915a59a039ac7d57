"""Find test prompts in the training data: the rows that an arm names are compared with every suite of a study.

Before anything is asked, each arm's `trained_on` is compared with the prompts by the rule of `adhere decontaminate`. An
overlap stops nothing: it is shown on the page and among the threats. Arms that name no rows are *not known*.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping
from pathlib import Path

import msgspec

from adhere.build.decontaminate.rows import BlockMatches, Decontaminate, Settings, default_columns, items_of
from adhere.errors import SpecError
from adhere.lines.blocks import LineFile
from adhere.progress import Progress
from adhere.schema import content_hash, decode, encode, write_atomic
from adhere.study.design.overlapping import FILE, Overlap, Overlaps
from adhere.study.design.spec import StudySpec
from adhere.suites.base import Suite

MOST_SHOWN = 3


def find_overlaps(spec: StudySpec, directory: Path, suites: Mapping[str, Suite], progress: Progress) -> Overlaps:
    """Compare the rows that arms name with every suite, and store the result; an unchanged comparison is not repeated.

    Raises:
        SpecError: An arm names rows that are missing or cannot be read; the message has file and line.
    """
    patterns_by_arm = {arm.name: arm.trained_on for arm in spec.arms if arm.trained_on is not msgspec.UNSET}
    files = {arm: _files(arm, patterns) for arm, patterns in patterns_by_arm.items()}
    sizes = {str(file): file.stat().st_size for own in files.values() for file in own}
    key = content_hash([sizes, {name: suite.sha256 for name, suite in suites.items()}, patterns_by_arm])
    path = directory / FILE
    if path.exists() and (earlier := decode(path.read_bytes(), Overlaps)).key == key:
        return earlier
    items = tuple(items_of([(suite.name, suite) for suite in suites.values()])) if files else ()
    done: dict[str, Overlap] = {}
    overlaps = []
    for arm, own in files.items():
        for file in own:
            name = str(file)
            if name not in done:
                progress.say(f"Comparing {name} with {len(items)} prompts")
                done[name] = _compare(file, items)
            overlaps.append(msgspec.structs.replace(done[name], arm=arm))
    report = Overlaps(key, overlaps)
    directory.mkdir(parents=True, exist_ok=True)
    write_atomic(path, encode(report))
    return report


def _files(arm: str, patterns: list[str]) -> list[Path]:
    files = [Path(path) for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207 - may be absolute
    if not files:
        raise SpecError(f"arms.{arm}.trained_on: {', '.join(patterns)} names no file that is there")
    return files


def _compare(file: Path, items: tuple[tuple[str, int | str, str], ...]) -> Overlap:
    step: Decontaminate | None = None
    rows, against, examples = 0, dict[str, int](), list[str]()
    for block in LineFile(file).blocks():
        if step is None:
            first = json.loads(next(iter(block.lines()))[1])
            step = Decontaminate(Settings(items, default_columns(first), name=str(file)))
        sorted_ = step.sort(block)
        rows += len(sorted_.kept) + len(sorted_.dropped)
        if isinstance(sorted_.note, BlockMatches):
            for name, n in sorted_.note.dropped.items():
                against[name] = against.get(name, 0) + n
        examples += [f"line {drop.line}: {drop.item}" for drop in sorted_.dropped[: MOST_SHOWN - len(examples)]]
    return Overlap("", str(file), rows, against, examples)
