"""`--fail-below`, `--fail-if-worse-than`: gates of a build."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from adhere.cli.options import FILE, Command, as_one, option
from adhere.errors import GateError, Incomplete, UsageError

if TYPE_CHECKING:
    from adhere.pipeline.gates import Gate
    from adhere.progress import Progress
    from adhere.store.run import Run


class GateFiles(NamedTuple):
    """Holds `--junit`, `--gates` and `--undecided`: files for the gates, and whether an undecided gate passes."""

    junit: Path | None
    summary: Path | None
    undecided: str

    def refuse_without_gate(self, gates: str) -> None:
        """Refuse files of gates if there is no gate; `gates` names the options that make one.

        Raises:
            UsageError: A file of gates is wanted.
        """
        if self.junit or self.summary:
            raise UsageError(f"--junit and --gates write gates: say {gates}, too")

    def write(self, gates: list[Gate]) -> None:
        """Write the files that were asked for."""
        from adhere.pipeline.gates import junit, markdown

        if self.junit is not None:
            self.junit.write_text(junit(gates), encoding="utf-8")
        if self.summary is not None:
            with self.summary.open("a", encoding="utf-8") as file:
                file.write(markdown(gates))

    def insist(self, gates: list[Gate]) -> None:
        """End a command if one of its gates is not shown to hold.

        Raises:
            GateError: A gate does not hold.
            Incomplete: A gate cannot be decided, and `undecided` is not `pass`.
        """
        failed, unknown = (
            [f"{gate.run}: {gate.gate}: {gate.why}" for gate in gates if gate.outcome == outcome]
            for outcome in ("does not hold", "cannot tell")
        )
        if failed:
            raise GateError("A gate does not hold. " + "; ".join(failed))
        if unknown and self.undecided != "pass":
            raise Incomplete(
                "A gate cannot be told. " + "; ".join(unknown) + ". Ask more prompts, or let it pass: --undecided pass"
            )


def gate_options(command: Command) -> Command:
    """Give a command the options of gates; it receives them as one `gate_files: GateFiles`."""
    options = (
        option("--junit", type=FILE, help="Write the gates as JUnit's XML."),
        option("--gates", "summary", type=FILE, metavar="FILE",
            help="Add the gates to a Markdown file, such as $GITHUB_STEP_SUMMARY."),
        option("--undecided", type=click.Choice(["stop", "pass"]), default="stop",
            help="A gate that too few prompts decide: stop ends with exit code 3, pass goes on."),
    )  # fmt: skip
    return as_one("gate_files", GateFiles, options)(command)


class Gates:
    """Holds the gates that were asked for, and their results.

    Args:
        least: The value of --fail-below.
        baseline: The value of --fail-if-worse-than.
        margin: The value of --margin.
        files: Where the gates are written.

    Raises:
        UsageError: Files of gates are wanted, and no gate.
    """

    def __init__(self, least: float | None, baseline: Path | None, margin: float, files: GateFiles) -> None:
        self.least, self.baseline, self.margin, self.files = least, baseline, margin, files
        self.found: list[Gate] = []
        if least is None and baseline is None:
            files.refuse_without_gate("--fail-below or --fail-if-worse-than")

    def hold(self, run: Run, progress: Progress) -> None:
        """Check one run against the gates, and say the results."""
        from adhere.pipeline.gates import gate_below, gate_worse
        from adhere.store.sharded import load_run

        new = [gate_below(run, self.least)] if self.least is not None else []
        if self.baseline is not None:
            new.append(gate_worse(run, load_run(self.baseline), self.margin))
        for gate in new:
            progress.say(f"{gate.gate}: {gate.outcome}: {gate.why}")
        self.found += new

    def finish(self, lacking: list[str]) -> None:
        """Write the files, and end with the exit code that fits.

        Args:
            lacking: Why too little was measured, a text for each run.

        Raises:
            Incomplete: Too little was measured, or too little to decide a gate.
            GateError: A gate does not hold.
        """
        self.files.write(self.found)
        if lacking:
            raise Incomplete("Incomplete. " + " ".join(lacking))
        self.files.insist(self.found)
