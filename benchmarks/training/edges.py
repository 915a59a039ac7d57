"""Log-probs of single tokens and their gradient, ours against autograd's own: time and largest memory of a process each.

python -m benchmarks.training.edges [--rows 512] [--vocabulary 262144] [--precision bf16]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time

ROUNDS = 5


def measure(which: str, rows: int, vocabulary: int, precision: str) -> None:
    """Print the shortest round in seconds, and the largest memory beyond that of the logits in MB."""
    import torch

    from adhere.train.packed.edges import edge_log_probs

    torch.manual_seed(0)
    logits = torch.empty(rows, vocabulary, dtype=torch.bfloat16 if precision == "bf16" else torch.float32)
    for row in logits:  # row by row, so that making them takes no more memory than they do
        row.copy_(torch.randn(vocabulary))
    slots, targets = torch.arange(rows), torch.randint(vocabulary, (rows,))
    before, best = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, float("inf")
    for _ in range(ROUNDS):
        own = logits.detach().requires_grad_()
        start = time.perf_counter()
        if which == "ours":
            found = edge_log_probs(own, slots, targets, temperature=0.7)
        else:
            whole = own.float() / 0.7
            found = whole[slots, targets] - whole.logsumexp(-1)
        found.sum().backward()
        best = min(best, time.perf_counter() - start)
    print(best, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--vocabulary", type=int, default=262_144)
    parser.add_argument("--precision", choices=("bf16", "fp32"), default="bf16")
    parser.add_argument("--which", choices=("ours", "autograd"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.which:
        measure(given.which, given.rows, given.vocabulary, given.precision)
        return
    for which in ("autograd", "ours", "autograd", "ours"):
        command = [sys.executable, "-m", "benchmarks.training.edges", "--which", which, "--rows", str(given.rows)]
        command += ["--vocabulary", str(given.vocabulary), "--precision", given.precision]
        seconds, megabytes = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
        print(f"{which:9} {float(seconds):6.2f} s {float(megabytes):8.0f} MB beyond the logits")


if __name__ == "__main__":
    main()
