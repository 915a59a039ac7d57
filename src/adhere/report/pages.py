"""Show what a directory stores, as text, page, workbook and Markdown.

This is the one place that knows which report shows which kind of item. `stored_in` finds the item; commands print and
write its reports, and the browser of stored runs draws its page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adhere.errors import UsageError
from adhere.schema import decode, encode, write_atomic
from adhere.store.files import read_regular
from adhere.store.run import Run
from adhere.store.sharded import load_run
from adhere.store.shelf import kind_of
from adhere.study.outcome.result import DrawnResult, StartsResult, StudyResult
from adhere.sweep.board import Leaderboard
from adhere.sweep.record import Sweep, load_sweep


class StoredItem:
    """Shows a stored item: a set of Runs, a sweep, a study, or the parts of a study."""

    def text(self, width: int) -> str:
        """Return the report for a terminal of `width` columns."""
        raise NotImplementedError

    def html(self) -> str:
        """Return one self-contained page."""
        raise NotImplementedError

    def write_xlsx(self, path: Path) -> None:
        """Write a workbook."""
        raise NotImplementedError

    def markdown(self) -> str:
        """Return a study as Markdown.

        Raises:
            UsageError: The item is no study.
        """
        raise UsageError("--markdown shows a study; runs and sweeps have --html and --xlsx")

    def json(self) -> bytes:
        """Return a study or a sweep as one JSON object.

        Raises:
            UsageError: The item is a set of runs.
        """
        raise UsageError("--json shows a study or a sweep; a run has `adhere eval --json`")

    def write(self, *, html: Path | None = None, xlsx: Path | None = None, markdown: Path | None = None) -> list[str]:
        """Write the forms of the item for which a path is given; return a line with the path of each.

        Raises:
            OSError: A file cannot be written.
            UsageError: The item has no such form.
        """
        if markdown is not None:
            write_atomic(markdown, self.markdown().encode("utf-8", "replace"))
        if html is not None:
            write_atomic(html, self.html().encode("utf-8", "replace"))
        if xlsx is not None:
            self.write_xlsx(xlsx)
        outputs = (("Report", html), ("Markdown", markdown), ("Workbook", xlsx))
        return [f"{label}: {path}" for label, path in outputs if path is not None]


@dataclass(frozen=True)
class StoredRuns(StoredItem):
    """Holds Runs; those of the suite `profile` are shown as profiles."""

    runs: Sequence[Run]

    def text(self, width: int) -> str:
        from adhere.report.run.text import runs_text

        return runs_text(self.runs, width=width)

    def html(self) -> str:
        from adhere.report.profile.html import is_profile, profile_html
        from adhere.report.run.html import runs_html

        return profile_html(self.runs) if all(map(is_profile, self.runs)) else runs_html(self.runs)

    def write_xlsx(self, path: Path) -> None:
        from adhere.report.leaderboard.xlsx import write_leaderboard_xlsx
        from adhere.sweep.leaderboard import leaderboard_of_runs

        write_leaderboard_xlsx(None, leaderboard_of_runs([run.directory for run in self.runs]), path)


@dataclass(frozen=True)
class StoredSweep(StoredItem):
    """Holds a sweep and its leaderboard."""

    sweep: Sweep
    board: Leaderboard

    def text(self, width: int) -> str:
        from adhere.report.leaderboard.text import leaderboard_text

        return leaderboard_text(self.board, width=width)

    def html(self) -> str:
        from adhere.report.leaderboard.html import leaderboard_html

        return leaderboard_html(self.sweep.directory, self.board)

    def write_xlsx(self, path: Path) -> None:
        from adhere.report.leaderboard.xlsx import write_leaderboard_xlsx

        write_leaderboard_xlsx(self.sweep, self.board, path)

    def json(self) -> bytes:
        return encode(self.board)


@dataclass(frozen=True)
class StoredStudy(StoredItem):
    """Holds a study's result."""

    result: StudyResult

    def text(self, width: int) -> str:
        from adhere.report.study.text import study_text

        return study_text(self.result, width=width)

    def html(self) -> str:
        from adhere.report.study.html import study_html

        return study_html(self.result)

    def write_xlsx(self, path: Path) -> None:
        from adhere.report.study.xlsx import write_study_xlsx

        write_study_xlsx(self.result, path)

    def markdown(self) -> str:
        from adhere.report.study.markdown import study_markdown

        return study_markdown(self.result)

    def json(self) -> bytes:
        return encode(self.result)


@dataclass(frozen=True)
class StoredParts(StoredItem):
    """Holds the joint result of several studies: from several starts, or of seeds that draw their own kinds."""

    result: StartsResult | DrawnResult

    def text(self, width: int) -> str:
        from adhere.report.study.drawn import drawn_text
        from adhere.report.study.starts import starts_text

        if isinstance(self.result, DrawnResult):
            return drawn_text(self.result, width=width)
        return starts_text(self.result, width=width)

    def html(self) -> str:
        from adhere.report.study.drawn import drawn_html
        from adhere.report.study.starts import starts_html

        return drawn_html(self.result) if isinstance(self.result, DrawnResult) else starts_html(self.result)

    def write_xlsx(self, path: Path) -> None:
        raise UsageError(f"--xlsx shows one of these studies: `adhere report {self._one} --xlsx FILE`")

    def markdown(self) -> str:
        raise UsageError(f"--markdown shows one of these studies: `adhere report {self._one} --markdown FILE`")

    @property
    def _one(self) -> str:
        return "DIR/seeds/N" if isinstance(self.result, DrawnResult) else "DIR/starts/NAME"

    def json(self) -> bytes:
        return encode(self.result)


def stored_in(directories: Sequence[Path], *, as_stored: bool = False) -> StoredItem:
    """Find what is stored in one directory, or in those of several runs.

    Args:
        directories: At least one.
        as_stored: Whether to take the leaderboard that a sweep stored instead of computing it from the Runs.

    Raises:
        UsageError: Nothing is stored in one of them, it is unfinished, or they cannot be shown together.
        IntegrityError: A stored file is damaged.
    """
    # Not kinds of their own: the shelf lists the study from each of its starts, or at each of its seeds.
    if len(directories) == 1 and (together := directories[0] / "starts.json").is_file():
        return StoredParts(decode(read_regular(together), StartsResult))
    if len(directories) == 1 and (together := directories[0] / "drawn.json").is_file():
        return StoredParts(decode(read_regular(together), DrawnResult))
    kinds = {directory: kind_of(directory) for directory in directories}
    for directory, kind in kinds.items():
        if kind is None:
            raise UsageError(
                f"{directory}: neither a study (study.json, result.json), a sweep (sweep.json) "
                "nor a run (manifest.json, responses/) is stored there"
            )
    if set(kinds.values()) == {"run"}:
        return StoredRuns([load_run(directory) for directory in directories])
    if len(directories) > 1:
        raise UsageError(
            "A report shows one study, one sweep, or any number of runs; got " + ", ".join(map(str, directories))
        )
    (directory,) = directories
    if kinds[directory] == "sweep":
        return _sweep(directory, as_stored=as_stored)
    file = directory / "result.json"
    if not file.is_file():
        raise UsageError(
            f"{directory} is an unfinished study: it has no result.json. Run the same `adhere study` again"
        )
    return StoredStudy(decode(read_regular(file), StudyResult))


def _sweep(directory: Path, *, as_stored: bool) -> StoredSweep:
    sweep, file = load_sweep(directory), directory / "leaderboard.json"
    if as_stored and file.is_file():
        return StoredSweep(sweep, decode(read_regular(file), Leaderboard))
    from adhere.sweep.leaderboard import leaderboard

    return StoredSweep(sweep, leaderboard(sweep))
