"""Every command in an installation without extras: it works, or one line names the extra."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from adhere.cli import COMMANDS
from adhere.extras import BRINGS

ROOT = Path(__file__).parents[3]
BARE = """
import contextlib, io, json, signal, sys, traceback

class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Bare())
from adhere.cli import main

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
results = []
for command in json.loads(sys.argv[2]):
    sys.argv, out, err = ["adhere", *command], io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            signal.alarm(2 if command[0] == "view" else 0)
            main()
        except SystemExit as left:
            code = left.code or 0
        except BaseException:
            code, err = None, io.StringIO(traceback.format_exc())
        signal.alarm(0)
    results.append([code, err.getvalue()])
json.dump(results, sys.stdout)
"""
OTHERS = (
    "lm_eval",
    "inspect_ai",
    "evalscope",
    "trl",
    "ray",
    "peft",
    "pyarrow",
    "pandas",
    "datasets",
    "verifiers",
    "mlflow",
    "wandb",
)
RUN = "runs/scripted-echo"
WORKS: dict[str, int] = {
    "eval scripted/echo --suite core --limit 4 --out runs": 0,
    "sweep http://127.0.0.1:9/v1 --suite core --wait 0 --out sweeps": 5,
    "verify rows.jsonl --suite core --min-coverage 0 --bad-rows skip": 0,
    f"rescore {RUN}": 0,
    "floors core:x5": 0,
    "stable scripted/echo --limit 3": 0,
    f"traps {RUN}": 0,
    f"judge {RUN} --by scripted/echo": 2,
    f"compare {RUN} {RUN}": 0,
    f"report {RUN} --html page.html --xlsx book.xlsx": 0,
    f"export {RUN} --to inspect --out logs": 0,
    f"export {RUN} --to lm-eval --out logs": 0,
    f"export {RUN} --to evalscope --out logs": 0,
    "decontaminate rows.jsonl --column response --against core --out kept.jsonl --drops drops.jsonl": 0,
    "draw rows.jsonl --model scripted/echo --out drawn": 2,
    "example quickstart": 0,
    f"reproduce {ROOT / 'docs' / 'studies' / 'zoo'}": 0,
    "audit no.such:reward": 2,
    "list models": 0,
    "explain length:at_most": 0,
    "rules AGENTS.md session.json": 0,
    "study answers.toml --plan": 0,
    "study answers.toml --out answers": 0,
    "study sessions.toml --out sessions": 0,
    "list stages": 0,
    "list runs": 0,
    f"doctor {RUN}": 0,
    "view . --port 0": 130,
    "fetch suite:ruler": 2,
}
NEEDS: dict[str, str] = {
    "study study.toml": "train",
    "study study.toml --plan": "train",
    "train recipe.toml": "train",
    "train recipe.toml --dry-run": "train",
    "perplexity hf/model": "train",
    "eval hf/model --limit 2": "train",
    "serve hf/model": "train",
    "build data.toml": "train",
    "compact runs": "parquet",
    "decontaminate rows.parquet --against core --out kept.parquet --drops drops.jsonl": "parquet",
    "claims page.md": "claims",
    "claims page.html": "claims",
    "claims page.pdf": "claims",
}


REFEREE = """
name = "referee"
seeds = [0, 1, 2]
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "{suite}"
[[arms]]
name = "a"
answers = "{answers}"
[[arms]]
name = "b"
answers = "{answers}"
"""


def write_trainings_of_others(here: Path) -> None:
    """Two studies of what others trained: files of answers, and sessions under rules."""
    row = {"prompt": "Write.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    (here / "prompts.jsonl").write_text("".join(json.dumps(row | {"key": key}) + "\n" for key in range(4)))
    for seed in range(3):
        rows = ({"key": key, "response": "a, b" if key == seed else "a b"} for key in range(4))
        (here / f"{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (here / f"s{seed}").mkdir()
        for task in range(2):
            said = [
                {"role": "user", "content": f"Do task {task}."},
                {"role": "assistant", "content": f"Done, at seed {seed}."},
            ]
            (here / f"s{seed}" / f"{task}.json").write_text(json.dumps({"messages": said}))
    (here / "answers.toml").write_text(REFEREE.format(suite="my:prompts.jsonl", answers="{seed}.jsonl"))
    (here / "sessions.toml").write_text(REFEREE.format(suite="rules:AGENTS.md", answers="s{seed}/"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int | None, str]]:
    """What every command left with and said, of one process in which no extra can be imported."""
    from adhere.models.catalog import open_model
    from adhere.pipeline.evaluate import evaluate_sync
    from adhere.suites import load

    here = tmp_path_factory.mktemp("bare")
    evaluate_sync(open_model("scripted/echo"), load("core", limit=4), here / RUN)
    (here / "model").mkdir()
    (here / "model" / "config.json").write_text("{}")
    (here / "model" / "model.safetensors").write_bytes(b"")
    for name in ("study.toml", "data.toml"):
        text = (ROOT / "examples" / name).read_text().replace("local/smollm2-135m", "hf/model")
        (here / name).write_text(text)
    (here / "recipe.toml").write_text((ROOT / "examples" / "qwen2.5-smoke.toml").read_text())
    (here / "rows.jsonl").write_text('{"key": "a", "response": "b"}\n')
    (here / "rows.parquet").write_bytes(b"PAR1")
    (here / "AGENTS.md").write_text("- Never use sudo.\n")
    said = [{"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Done."}]
    (here / "session.json").write_text(json.dumps({"messages": said}))
    write_trainings_of_others(here)
    (here / "page.md").write_text("| Model | MMLU |\n|---|---|\n| Qwen2.5-7B | 74.2 |\n")
    (here / "page.html").write_text("<table><tr><td>Qwen2.5-7B</td><td>74.2</td></tr></table>")
    (here / "page.pdf").write_bytes(b"%PDF-1.4\n")
    commands = [*WORKS, *NEEDS]
    blocked = json.dumps([*(module for modules in BRINGS.values() for module in modules), *OTHERS])
    given = json.dumps([command.split() for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", BARE, blocked, given], cwd=here, capture_output=True, text=True, timeout=300, check=True
    )
    return dict(zip(commands, map(tuple, json.loads(done.stdout)), strict=True))


def test_every_command_is_here() -> None:
    assert {command.split()[0] for command in (*WORKS, *NEEDS)} == set(COMMANDS)


@pytest.mark.parametrize("command", WORKS)
def test_works_without_extras(command: str, results: dict[str, tuple[int | None, str]]) -> None:
    code, said = results[command]
    assert code == WORKS[command], said
    assert "not installed" not in said


@pytest.mark.parametrize("command", NEEDS)
def test_names_the_extra(command: str, results: dict[str, tuple[int | None, str]]) -> None:
    code, said = results[command]
    assert code == 2, said
    assert f"Run: pip install 'adhere[{NEEDS[command]}]'" in said.splitlines()[-1]


def test_extras_are_those_of_the_package() -> None:
    """Every package of an extra can be named: what it is called when imported is known."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    imported = {
        "jsonschema": "webcolors",  # itself a dependency: the extra brings what it checks formats with
        "markdown-it-py": "markdown_it",
        "mlflow-skinny": "mlflow",
        "openenv-core": "openenv",
        "pillow": "PIL",
        "pyyaml": "yaml",
    }
    for extra, packages in extras.items():
        if extra not in {"all", "dev", "docs", "engines", "test"}:
            names = [re.split(r"[\[<>=]", package)[0].strip() for package in packages]
            assert {imported.get(name, name.replace("-", "_")) for name in names} <= set(BRINGS.get(extra, ())), extra
