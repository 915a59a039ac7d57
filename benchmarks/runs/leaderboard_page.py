"""How long the leaderboard page of a large sweep takes to build, and to open in Chromium where there is one.

    python -m benchmarks.runs.leaderboard_page --models 300 --prompts 541

Runs with made-up answers of 300 to 1,500 characters and two constraints a prompt are stored first, which is not timed.
Build times are CPU seconds of one process; opening is from navigation to DOMContentLoaded, the best of three.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from pathlib import Path

from tests.integration import devtools

from adhere.pipeline.summarize import summarize
from adhere.report.leaderboard.html import leaderboard_html
from adhere.schema import ConstraintRef, EngineInfo, Prompt, Response, Sampling, Turn, Usage, Verdict
from adhere.store.run import Run, RunSpec
from adhere.sweep.leaderboard import leaderboard_of_runs

KINDS = (
    "length:at_most",
    "case:lower",
    "format:sections",
    "keywords:include",
    "punctuation:no_commas",
    "length:paragraphs",
)
TEXT = "Some words of a longer answer that goes on and on, as they do. " * 24


def store(folder: Path, number: int, models: int, prompts: list[Prompt]) -> Path:
    """One sealed Run; later models are better."""
    rng = random.Random(number)
    spec = RunSpec(
        f"vendor/model-{number:03d}", EngineInfo("endpoint", "1", "unknown"), "made-up", "1", "ab" * 32, Sampling()
    )
    with Run.open(folder / spec.id, spec, prompts) as run:
        for prompt in prompts:
            text = TEXT[: rng.randrange(300, 1500)]
            run.append_response(
                Response(
                    prompt.id, 0, 0, text, "ok", usage=Usage(100, 300, None, 1e-5 * number), latency_s=rng.random() * 3
                )
            )
            for index, ref in enumerate(prompt.constraints):
                outcome = "pass" if rng.random() < 0.2 + 0.75 * number / models else "fail"
                run.append_verdicts(
                    Verdict(prompt.id, 0, 0, index, ref.id, view, outcome, "found 212 words, needed at least 300")
                    for view in ("strict", "loose")
                )
        run.flush()
        run.seal(summarize(prompts, 1, run.responses(), run.verdicts()))
        return run.directory


async def opened_s(page: Path, profile: Path) -> float | None:
    """Seconds until the page's DOM is ready; None without a browser."""
    if devtools.CHROMIUM is None:
        return None
    times = []
    async with devtools.tab(profile) as tab:
        for _ in range(3):
            await tab.open(page.as_uri())
            times.append(await tab.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"))
    return float(min(times)) / 1000


def main() -> None:
    """Store, build, open, print."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--prompts", type=int, default=541)
    options = parser.parse_args()
    prompts = [
        Prompt(
            f"p{n}",
            (
                Turn(
                    "Write a text about something. " * 12,
                    (ConstraintRef(KINDS[n % 6]), ConstraintRef(KINDS[(n + 1) % 6])),
                ),
            ),
        )
        for n in range(options.prompts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        runs = [store(root / "runs", number, options.models, prompts) for number in range(options.models)]
        begun = time.process_time()
        board = leaderboard_of_runs(runs)
        counted = time.process_time()
        html = leaderboard_html(Path(), board)
        built = time.process_time()
        page = root / "page.html"
        page.write_bytes(html.encode())
        ready = asyncio.run(opened_s(page, root / "profile"))
        print(f"{options.models} models x {options.prompts} prompts")
        print(
            f"  leaderboard {counted - begun:.1f} s, page {built - counted:.1f} s of CPU, "
            f"{len(html.encode()) / 1e6:.1f} MB"
        )
        print(f"  DOM ready after {ready:.2f} s" if ready is not None else "  no Chromium here to open it")


if __name__ == "__main__":
    main()
