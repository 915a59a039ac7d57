"""CI cannot look away: where `CI` is set, a test that is skipped for a reason not listed here fails the run.

A pytest plug-in, loaded by `tests/conftest.py`. On a developer's machine nothing changes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ALLOWED = (
    r"no other supported Python",  # a second interpreter with the judge's two dependencies
    r"this container may not mount",  # the full disk is made of a small mounted file system
    r"needs root on Linux",
    r"needs a GPU",
    r"no isolation here",  # the sandbox then refuses, which other tests assert
    r"does not work here",  # one of its fences; the others are tested
    r"(inspect-ai|lm-eval|evalscope) is (not )?installed here",  # other harnesses: no dependencies of ours
    r"(openenv-core is|verifiers and uv are) not installed here",  # nor are these; slow tests look for them
    r"could not import '(ray|datatrove|moto.server|s3fs|aiofiles)'",  # engines: `make test-engines` installs them
    r"could not import '(tensorboard|wandb|mlflow|trackio)'",  # `adhere[tracking]`: its packages are in no other extra
    r"needs axe-core \(ADHERE_AXE",  # from npm; the weekly workflow gets it
    r"needs the built site \(ADHERE_SITE",  # `make docs`, likewise weekly
    r"could not import 'resvg_py'",  # the PNG itself; what is handed to it is tested without it
    # its dependency jericho is GPL-2.0 and compiled: in no extra (docs/guide/worlds.md)
    r"could not import 'textworld'",
    r"could not import 'tau2'",  # on no registry; from its own checkout (docs/guide/worlds.md)
    r"needs Every Eval Ever's schemas",  # published elsewhere; ADHERE_EVERY_EVAL_EVER names their folder
    r"needs IFEval\+\+'s own verdicts",  # its code has no licence and other dependencies (tests/parity/test_ifevalpp.py)
    # Other trainers and harnesses: no dependencies of ours, `make test-houses` installs the newest of each.
    r"could not import '(adhere\.integrations\.\w+|evalscope|inspect_ai|lm_eval|nemo_gym|openenv|openrlhf|verifiers|verl)[\w.]*'",
    r"needs (verl|open-instruct|prime-rl|vLLM) of its own",  # ADHERE_TRAINERS, ADHERE_VLLM: no dependencies of ours
    r"needs adhere\[mifeval\]",  # 2 to 20 s on a hostile megabyte (docs/reference/parity.md), so `all` leaves it out
)

BESIDE = Path(__file__).parents[2] / "shared"
"""Where a clone of ours has published files and papers beside it, which are not ours to publish."""
VARIABLES = ("ADHERE_DATA", "ADHERE_PAPERS")


def is_allowed(reason: str) -> bool:
    """Whether a skip is no failure: for want of files that a clone alone does not have, only where they are not here."""
    if any(re.search(pattern, reason) for pattern in ALLOWED):
        return True
    wanted = [name for name in VARIABLES if re.search(rf"\((?:set )?{name}\)", reason)]
    return bool(wanted) and not BESIDE.is_dir() and not any(os.environ.get(name) for name in wanted)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> str:
    longrepr = report.longrepr
    return str(longrepr[2] if isinstance(longrepr, tuple) else longrepr).removeprefix("Skipped: ")


class _Watcher:
    def __init__(self) -> None:
        self.unexpected: list[str] = []

    def _see(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = _reason(report)
            if not is_allowed(reason):
                self.unexpected.append(f"{report.nodeid}: {reason}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._see(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._see(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.unexpected and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.unexpected:
            terminalreporter.section(
                "unexpected skips: CI fails on these (tests/skips.py lists those that are allowed)"
            )
            for line in self.unexpected:
                terminalreporter.write_line(line)


def pytest_configure(config: pytest.Config) -> None:
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        config.pluginmanager.register(_Watcher(), "unexpected-skips")
