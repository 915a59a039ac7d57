"""How fast the generated families give items, in items per CPU second, as a Markdown table.

python -m benchmarks.data.families [--items 2000]
"""

from __future__ import annotations

import argparse
import itertools
import time

from adhere.suites.generated.family import registry
from adhere.suites.generated.names import OWN


def per_second(name: str, items: int) -> float:
    """Items of one family in a CPU second, its words and constraints being imported already."""
    family = registry.get(name)
    next(family.stream(1, 1))
    start = time.process_time()
    count = sum(1 for _ in itertools.islice(family.stream(0, items), items))
    return count / (time.process_time() - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=2000)
    items = parser.parse_args().items
    print("| family | levels | default prompts | items a CPU second |")
    print("|---|---:|---:|---:|")
    for name in OWN:
        family = registry.get(name)
        levels = len(family.level_names[: family.usual_levels or None])
        print(f"| `{name}` | {levels} | {len(family.suite().prompts)} | {per_second(name, items):,.0f} |")


if __name__ == "__main__":
    main()
