"""The command that puts a worker into namespaces of its own, where bubblewrap is installed.

The worker then has no network, sees no other processes, and has a root folder of its own.
"""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")


def wrap_command(command: list[str], *, hash_seed: int) -> list[str] | None:
    """Wrap `command`, whose first word is the interpreter, in bubblewrap; None if bubblewrap is not installed.

    Whether the kernel allows the namespaces is found out only when the command is started.
    """
    program = shutil.which("bwrap")
    if program is None:
        return None
    interpreter = Path(command[0])
    libraries = [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    shared = sysconfig.get_config_var("LIBDIR")  # libpython, where the interpreter is linked to one
    visible = [*map(Path, _SYSTEM_LIBRARIES), interpreter, *libraries, *([Path(shared)] if shared else [])]
    options = [
        "--unshare-all",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
        "--setenv",
        "PYTHONHASHSEED",
        str(hash_seed),
    ]
    for path in dict.fromkeys(visible):
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            options += ["--ro-bind", str(path), str(path)]
    for library in dict.fromkeys(libraries):
        for packages in ("site-packages", "dist-packages"):
            if (library / packages).exists():
                options += ["--tmpfs", str(library / packages)]
    options += ["--dev-bind", "/dev/null", "/dev/null", "--remount-ro", "/", "--chdir", "/"]
    return [program, *options, "--", *command]
