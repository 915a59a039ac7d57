"""What is written runs: each page's commands in an empty folder, from the built wheel, with what they print.

Each is of one class: *run*, *plan only* (it takes hours: at most a tenth) or *needs a key* (run against a fake). The
list and what is not plain about it: `tests/documented`. `pytest -m slow` runs the pages that take more than seconds.
"""

from __future__ import annotations

import contextlib
import http.server
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.documented import EXCEPTIONS, PAGES, ROOT, TRIED, Command, Page, commands, how, saved_files, script

from adhere.testing import FakeEndpoint, FakeModel

DATA = Path(os.environ.get("ADHERE_DATA", ROOT.parent / "shared" / "data"))
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]
WITH_COMMANDS = [name for name, path in zip(NAMES, PAGES, strict=True) if commands(path)]
QUICK = [name for name in WITH_COMMANDS if TRIED.get(name, Page()).is_quick]
SLOW = [name for name in WITH_COMMANDS if name not in QUICK]
MODELS = [
    "NAME",
    "NAME-2",
    "Qwen/Qwen2.5-7B-Instruct",
    "qwen/tiny",
    "mistralai/tiny",
    "gpt-4o-mini",
    "claude-sonnet-4-6",
]
PIP = """#!/bin/sh
# Stands for pip: says whether the wheel has what is asked of it.
exec "{python}" - "{metadata}" "$@" <<'END'
import re, sys
offers = set(re.findall(r"^Provides-Extra: (.+)$", open(sys.argv[1], encoding="utf-8").read(), re.MULTILINE))
for extras in re.findall(r"(?:adhere|[.])\\[([^]]+)\\]", " ".join(sys.argv[2:])):
    if missing := set(extras.split(",")) - offers:
        sys.exit(f"the wheel has no extra {{', '.join(sorted(missing))}}")
END
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built wheel, with `bin/`: what a stranger installs, made from what git knows or would add."""
    clone, site = tmp_path_factory.mktemp("clone"), tmp_path_factory.mktemp("site")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    there = [name for name in listed.split("\0") if name and (ROOT / name).exists()]
    subprocess.run(["cp", "--parents", "-P", "-t", clone, *there], cwd=ROOT, check=True)
    pip = [sys.executable, "-W", "ignore", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", site, clone], check=True)
    (built,) = site.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", site, built], check=True)
    (metadata,) = site.glob("adhere-*.dist-info/METADATA")
    (site / "bin" / "pip").write_text(PIP.format(python=sys.executable, metadata=metadata))
    (site / "bin" / "pip").chmod(0o755)
    (site / "bin" / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    (site / "bin" / "python").chmod(0o755)
    return site


class Hub(http.server.SimpleHTTPRequestHandler):
    """The hub and GitHub: the published files by their names."""

    def do_GET(self) -> None:
        names = {
            "ifeval_input_data.jsonl": "ifeval/input_data.jsonl",
            "IFBench_test.jsonl": "ifbench/IFBench_test.jsonl",
        }
        content = (DATA / names[Path(self.path).name]).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's word
        """Say nothing."""


@pytest.fixture(scope="session")
def hub() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextlib.contextmanager
def running(line: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A server of the page, until its commands are done."""
    if not line:
        yield
        return
    port = int(environment["PORT"])
    server = subprocess.Popen(
        ["bash", "-c", f"exec {line}"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            assert server.poll() is None, f"{line} ended"
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.communicate(timeout=30)


def shell(line: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, capture_output=True, text=True, timeout=1500, check=False
    )


def play(page: str, wheel: Path, hub: str, tiny: str, folder: Path) -> None:
    """All commands of a page, one after the other."""
    tried = TRIED.get(page, Page())
    cache = Path(os.environ.get("ADHERE_CACHE") or Path.home() / ".cache" / "adhere")
    if "data" in tried.needs and not (DATA / "ifeval").is_dir():
        pytest.skip(f"the published files are not at {DATA} (set ADHERE_DATA)")
    if "model" in tried.needs and not (cache / "smollm2-135m" / "model.gguf").is_file():
        pytest.skip("the embedded model is not here (adhere fetch local/smollm2-135m)")
    home = folder / "cache"
    home.mkdir()
    if "model" in tried.needs:
        (home / "smollm2-135m").symlink_to(cache / "smollm2-135m")
    work, port = folder / "work", free_port()
    work.mkdir()
    for name, text in saved_files(page).items():
        (work / name).write_text(text.replace("8742", str(port)), encoding="utf-8")
    prices = {"pricing": {"prompt": "1e-9", "completion": "1e-9"}}
    models = {name: FakeModel(answer=lambda _: "A cup of tea.", listing=prices) for name in MODELS}
    with FakeEndpoint(models) as endpoint:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("ADHERE", "PYTHON"))},
            "PATH": f"{wheel / 'bin'}:{os.environ['PATH']}", "PYTHONPATH": str(wheel), "COLUMNS": "110",
            "ADHERE_CACHE": str(home), "HF_ENDPOINT": hub, "ADHERE_GITHUB": hub,
            "FAKE": endpoint.url, "DATA": str(DATA), "ROOT": str(ROOT), "TINY": tiny, "PORT": str(port),
        }  # fmt: skip
        if tried.before:
            done = shell(tried.before, work, environment)
            assert done.returncode == 0, done.stdout + done.stderr
        with running(tried.background, work, environment):
            for command in commands(ROOT / page):
                if command.text.startswith(("export ", "source ")) or how(command).elsewhere:
                    continue
                run_one(command, work, environment)


def run_one(command: Command, work: Path, environment: dict[str, str]) -> None:
    said = how(command)
    done = shell(script(command), work, environment)
    told = f"{command.page}: {command.text}\n$ {script(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    assert done.returncode == said.code, told
    if command.shown and said.compare != "no":
        assert missing(command.shown, done.stdout, exactly=said.compare == "exact") == [], told
    if said.then:
        after = shell(said.then, work, environment)
        assert after.returncode == 0, f"{said.then}\n{after.stdout}{after.stderr[-3000:]}"


def missing(shown: str, printed: str, *, exactly: bool) -> list[str]:
    """Lines of a page's block that were not printed; a page may leave lines out."""

    def plainly(line: str) -> str:
        line = " ".join(line.split())
        if exactly:
            return line
        line = re.sub("─+", "─", line)  # a rule is as long as its heading, which may name a port
        return re.sub(r" +", " ", re.sub(r"[\d.,:+−T-]*\d[\d.,:+−TZ%-]*", "0", line))

    known = {plainly(line) for line in printed.splitlines()}
    return [line for line in shown.splitlines() if line.strip() and plainly(line) not in known]


def test_every_command_is_of_one_class(capsys: pytest.CaptureFixture[str]) -> None:
    """At most a tenth is only planned; what is run elsewhere names a file that is there."""
    counts: Counter[str] = Counter()
    for path in PAGES:
        for command in commands(path):
            said = how(command)
            counts[said.kind] += command.counts
            assert not said.elsewhere or (ROOT / said.elsewhere).exists(), said.elsewhere
    notebooks = len(list((ROOT / "examples" / "notebooks").glob("*.ipynb")))
    with capsys.disabled():
        print(f"\ncommands of pages: {dict(counts)}; {notebooks} notebooks")  # noqa: T201 - the counts are the point
    assert counts["run"] >= 120
    assert counts["plan"] <= sum(counts.values()) / 10
    assert counts["key"] >= 3


def test_exceptions_are_of_commands_that_are_there() -> None:
    texts = {(name, command.text) for name, path in zip(NAMES, PAGES, strict=True) for command in commands(path)}
    idle = [
        (page, begins)
        for page, begins, _ in EXCEPTIONS
        if not any(name == page and text.startswith(begins) for name, text in texts)
    ]
    assert idle == []
    assert set(TRIED) <= set(NAMES)


@pytest.mark.parametrize("page", QUICK)
def test_a_quick_page_runs(page: str, wheel: Path, hub: str, tmp_path: Path) -> None:
    play(page, wheel, hub, "", tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", SLOW)
def test_a_page_runs(page: str, wheel: Path, hub: str, tiny_llama_dir: Path, tmp_path: Path) -> None:
    play(page, wheel, hub, str(tiny_llama_dir), tmp_path)


@pytest.mark.parametrize("change", [("8.5", "8.6"), ("all", "any")])
def test_a_block_that_differs_is_found(change: tuple[str, str]) -> None:
    shown, printed = "  all  8.5 %", "head\n  all   8.5 %\n"
    assert missing(shown, printed, exactly=True) == []
    assert missing(shown.replace(*change), printed, exactly=True) != []
    assert (missing(shown.replace(*change), printed, exactly=False) != []) == (change[0] == "all")
