"""Launch files for larger machines: the same recipe under torchrun, Slurm or SkyPilot. They are written, never run."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Literal, get_args

from adhere.errors import UsageError, nearest

Launcher = Literal["torchrun", "slurm", "skypilot"]
Trainer = Literal["verl", "open-instruct", "prime-rl", "trl"]  # `adhere.integrations.emit`


def launch_file(
    launcher: str, arguments: Sequence[str], *, name: str, processes: int = 8, nodes: int = 1
) -> tuple[str, str]:
    """Return the (file name, text) of a launch file.

    Args:
        launcher: `torchrun`, `slurm` or `skypilot`.
        arguments: What follows `adhere train`: the recipe and all its options.
        name: Name of the job.
        processes: Processes on a node, one for each GPU.
        nodes: Machines.

    Raises:
        UsageError: No such launcher, or fewer than one process or node.
    """
    if launcher not in get_args(Launcher):
        launchers = (*get_args(Launcher), *get_args(Trainer))
        raise UsageError(f"--emit {launcher}:{nearest(launcher, launchers)} It is one of {', '.join(launchers)}")
    if processes < 1 or nodes < 1:
        raise UsageError(f"--emit: processes={processes} and nodes={nodes} must be at least 1")
    train = f"-m -- adhere train {shlex.join(arguments)}"  # without --, torchrun takes --start for one of its own
    many = f"--nnodes {nodes} --nproc-per-node {processes} --rdzv-backend c10d --rdzv-endpoint"
    match launcher:
        case "torchrun":
            return (
                "launch.sh",
                f'#!/usr/bin/env bash\nset -euo pipefail\nexec torchrun {many} "${{HEAD:-localhost}}:29500" {train}\n',
            )
        case "slurm":
            return "job.slurm", (
                "#!/usr/bin/env bash\n"
                f"#SBATCH --job-name={name}\n#SBATCH --nodes={nodes}\n#SBATCH --ntasks-per-node=1\n"
                f"#SBATCH --gpus-per-node={processes}\n"
                "#SBATCH --output=%x-%j.log\n#SBATCH --requeue\nset -euo pipefail\n"
                'head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
                f'srun torchrun {many} "$head:29500" {train}\n'
            )
    return "job.yaml", (
        f"name: {name}\nnum_nodes: {nodes}\nresources:\n  accelerators: H100:{processes}\nworkdir: .\n"
        "setup: |\n  pip install -e '.[train]'\nrun: |\n"
        '  head=$(echo "$SKYPILOT_NODE_IPS" | head -n 1)\n'
        f'  torchrun {many} "$head:29500" {train}\n'
    )
