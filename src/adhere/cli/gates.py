"""`--fail-below`, `--fail-if-worse-than`: gates of a build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adhere.pipeline.gates import Gate
    from adhere.progress import Progress
    from adhere.store.run import Run


class Gates:
    """The gates that were asked for, and what came of them.

    Args:
        least: Of --fail-below.
        baseline: Of --fail-if-worse-than.
        margin: Of --margin.
        junit: Where they are written as JUnit's XML.
        summary: The Markdown file that they are added to.

    Raises:
        UsageError: Files of gates are wanted, and no gate.
    """

    def __init__(
        self, least: float | None, baseline: Path | None, margin: float, junit: Path | None, summary: Path | None
    ) -> None:
        self.least, self.baseline, self.margin = least, baseline, margin
        self.junit, self.summary = junit, summary
        self.found: list[Gate] = []
        if least is None and baseline is None and (junit or summary):
            from adhere.errors import UsageError

            raise UsageError("--junit and --gates write gates: say --fail-below or --fail-if-worse-than, too")

    def hold(self, run: Run, progress: Progress) -> None:
        """Hold one run against them, and say what came of it."""
        from adhere.pipeline.gates import gate_below, gate_worse
        from adhere.store.sharded import load_run

        new = [gate_below(run, self.least)] if self.least is not None else []
        if self.baseline is not None:
            new.append(gate_worse(run, load_run(self.baseline), self.margin))
        for gate in new:
            progress.say(f"{gate.gate}: {gate.outcome}: {gate.why}")
        self.found += new

    def write(self) -> None:
        """Write the files that were asked for."""
        from adhere.pipeline.gates import junit, markdown

        if self.junit is not None:
            self.junit.write_text(junit(self.found), encoding="utf-8")
        if self.summary is not None:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(markdown(self.found))

    def finish(self, lacking: list[str]) -> None:
        """Write the files, and end with the exit code that fits.

        Args:
            lacking: Why too little was measured, a text a run.

        Raises:
            Incomplete: Too little was measured.
            GateError: A gate does not hold.
        """
        from adhere.errors import GateError, Incomplete

        self.write()
        if lacking:
            raise Incomplete("Incomplete. " + " ".join(lacking))
        failed = [f"{gate.run}: {gate.gate}: {gate.why}" for gate in self.found if gate.outcome == "does not hold"]
        if failed:
            raise GateError("A gate does not hold. " + "; ".join(failed))
