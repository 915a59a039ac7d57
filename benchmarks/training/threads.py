"""What it costs that two threads wait for each other while other programs want the processor.

    python -m benchmarks.training.threads [--busy 2]

Times one small matrix product (1536 x 576 by 576 x 64, fp32) on two threads, alone and beside `--busy` processes that
compute, with libgomp's default spin, none (OMP_WAIT_POLICY=passive) and a short one (GOMP_SPINCOUNT, what `adhere`
sets).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

TIMED = """
import time, torch
torch.set_num_threads(2)
weight, columns = torch.randn(1536, 576), torch.randn(576, 64)
done, started = 0, time.perf_counter()
while time.perf_counter() - started < 1.5:
    weight @ columns
    done += 1
print(1000 * (time.perf_counter() - started) / done)
"""
VARIANTS = {
    "default spin": {},
    "passive": {"OMP_WAIT_POLICY": "passive"},
    "300 spins": {"GOMP_SPINCOUNT": "300"},
    "2000 spins": {"GOMP_SPINCOUNT": "2000"},
    "20000 spins": {"GOMP_SPINCOUNT": "20000"},
}


def main() -> None:
    """Print milliseconds a product."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=2)
    given = parser.parse_args()
    for others in (0, given.busy):
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(others)]
        try:
            for name, settings in VARIANTS.items():
                environment = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "GOMP_"))}
                asked = [sys.executable, "-c", TIMED]
                out = subprocess.run(asked, env=environment | settings, capture_output=True, text=True, check=True)
                print(f"{others} others, {name:12} {float(out.stdout):8.2f} ms", flush=True)
        finally:
            for one in busy:
                one.kill()


if __name__ == "__main__":
    main()
