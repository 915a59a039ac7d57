"""The command line in this process, as its entry point runs it: a Python of its own takes most of a second to start.

What a start, a signal or a kill is about still starts one.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from adhere.cli import main


def run_here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What `adhere ARGUMENTS` prints and how it leaves; what is no user's mistake is raised."""
    argv = ["adhere", *map(str, arguments)]
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as left:
            code = int(left.code or 0)
    return subprocess.CompletedProcess(argv, code, out.getvalue(), err.getvalue())
