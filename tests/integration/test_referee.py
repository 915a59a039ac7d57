"""Trainings that others did, brought to a study: folders of checkpoints, a server, files of answers; one verdict."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="a study needs the train extra")
transformers = pytest.importorskip("transformers", reason="a study needs the train extra")

from adhere.errors import AdhereError, SpecError  # noqa: E402
from adhere.models.fake import endpoint  # noqa: E402
from adhere.progress import Silent  # noqa: E402
from adhere.study.design.command import command_settings, fill_in  # noqa: E402
from adhere.study.run import command as run_of_command  # noqa: E402
from adhere.study.run.command import _run, run_command  # noqa: E402
from adhere.testing import FakeEndpoint, FakeModel  # noqa: E402
from command_line import run_here  # noqa: E402

SEEDS = range(5)
ROWS = [
    {"key": i, "prompt": f"Write about thing {i}.", "instruction_id_list": [kind], "kwargs": [params]}
    for i, (kind, params) in enumerate(
        [
            *(("punctuation:no_comma", {}) for _ in range(8)),
            *(("length_constraints:number_words", {"relation": "less than", "num_words": n}) for n in range(3, 11)),
            *(("keywords:letter_frequency", {"letter": x, "let_frequency": 2, "let_relation": "at least"}) for x in "etaoinshrd"),
        ]
    )
]  # fmt: skip
SPEC = """
name = "referee"
seeds = {seeds}
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "my:prompts.jsonl"
[evaluation]
suite_tokens = {{ my = 12 }}
[[arms]]
name = "a"
{a}
[[arms]]
name = "b"
{b}
"""


@pytest.fixture(scope="module")
def checkpoints(tiny_llama_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two folders of tiny checkpoints at five seeds, as two trainings leave them."""
    root = tmp_path_factory.mktemp("checkpoints")
    model = transformers.AutoModelForCausalLM.from_pretrained(tiny_llama_dir)
    start = {name: value.clone() for name, value in model.state_dict().items()}
    for arm in ("a", "b"):
        for seed in SEEDS:
            generator = torch.Generator().manual_seed(1000 * (arm == "b") + seed)
            moved = {
                name: value + 0.02 * torch.randn(value.shape, generator=generator) for name, value in start.items()
            }
            model.load_state_dict(moved)
            shutil.copytree(
                tiny_llama_dir, root / "runs" / f"{arm}-s{seed}", ignore=shutil.ignore_patterns("*.safetensors")
            )
            model.save_pretrained(root / "runs" / f"{arm}-s{seed}")
    return root


@pytest.fixture
def here(checkpoints: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of its own, with the checkpoints and the prompts in it."""
    (tmp_path / "runs").symlink_to(checkpoints / "runs")
    (tmp_path / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(here: Path, a: str, b: str, *, seeds: Any = "[0, 1, 2, 3, 4]", more: str = "") -> Path:
    file = here / "referee.toml"
    file.write_text(SPEC.format(a=a, b=b, seeds=seeds) + more)
    return file


def study(*arguments: str, code: int = 0) -> Any:
    ran = run_here("study", *arguments)
    assert ran.returncode == code, ran.stderr
    return ran


def answer(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(study(*arguments, "--json").stdout)
    return found


MODELS = 'models = "hf/runs/{arm}-s{{seed}}"'


def by_folders(here: Path) -> dict[str, Any]:
    """The study of all ten folders in `folders`; trained models answer once, later tests take a copy of its directory."""
    file, kept = spec(here, MODELS.format(arm="a"), MODELS.format(arm="b")), (here / "runs").resolve().parent / "kept"
    if not kept.is_dir():
        found = answer(str(file), "--out", "folders")
        shutil.copytree(here / "folders", kept)
        (kept.parent / "answer.json").write_text(json.dumps(found))
        return found
    shutil.copytree(kept, here / "folders")
    return dict(json.loads((kept.parent / "answer.json").read_text()))


def stored_answers(directory: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Of every Run of a study its model, and its answers by key."""
    for run in sorted((directory / "runs").iterdir()):
        answers = {}
        for file in (run / "responses").glob("*.jsonl"):
            for line in file.read_text().splitlines():
                row = json.loads(line)
                answers[row["prompt_id"]] = row["text"]
        yield re.sub(r"-[0-9a-f]{10}$", "", run.name), answers


def test_folders_of_checkpoints_have_a_verdict_a_page_records_and_are_reproduced(here: Path) -> None:
    found = by_folders(here)
    assert found["scope"] == "method"
    assert found["seeds"] == 5
    assert found["prompts"] == len(ROWS)
    assert 0 < found["rate_control"] < 1, "else nothing here could differ"
    page = (here / "folders" / "report.html").read_text()
    assert "What was equal, what is unknown" in page
    assert "not shown to be registered" in page
    study(str(here / "referee.toml"), "--out", "folders", "--records", "kept/records.tar.xz")
    shutil.copy(here / "folders" / "result.json", here / "kept" / "result.json")
    again = run_here("reproduce", "kept", "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["differ"] == 0
    assert "thing 3" not in (here / "folders" / "suites" / "held-out.json").read_text(), "texts of others are not kept"


def test_a_server_and_files_of_answers_give_the_same_verdict_where_the_answers_are_the_same(here: Path) -> None:
    found = by_folders(here)
    answers = dict(stored_answers(here / "folders"))
    prompts = {row["prompt"]: str(row["key"]) for row in ROWS}

    def model(name: str) -> FakeModel:
        return FakeModel(answer=lambda text: answers[name][prompts[text]])

    with FakeEndpoint({name: model(name) for name in answers}) as server:
        urls = [f'models = "{server.url}#{arm}-s{{seed}}"' for arm in "ab"]
        served = answer(str(spec(here, *urls)), "--out", "served")
    (here / "out").mkdir()
    for name, texts in answers.items():
        rows = [json.dumps({"key": int(key), "response": text}) for key, text in texts.items()]
        (here / "out" / f"{name}.jsonl").write_text("\n".join(rows) + "\n")
    files = answer(
        str(spec(here, 'answers = "out/a-s{seed}.jsonl"', 'answers = "out/b-s{seed}.jsonl"')), "--out", "files"
    )
    for name in ("answer", "difference", "low", "high", "p_value", "leave_one_out", "kinds", "rate_treatment"):
        assert served[name] == found[name], name
        assert files[name] == found[name], name
    told = {one["what"]: one["state"] for one in json.loads((here / "files" / "result.json").read_text())["alike"]}
    assert told["engine and precision"] == "unknown"
    assert told["compute"] == "unknown"


def test_tables_and_single_models_are_arms_too(here: Path) -> None:
    table = 'models = { 0 = "hf/runs/a-s3", 1 = "hf/runs/a-s4" }'
    other = 'models = { 0 = "hf/runs/b-s0", 1 = "hf/runs/b-s1" }'
    file = here / "tables.toml"
    file.write_text(SPEC.format(a=table, b=other, seeds="[]").replace("seeds = []\n", ""))
    found = answer(str(file), "--out", "tables")
    assert found["seed_list"] == [0, 1]
    assert found["scope"] == "checkpoints", "two seeds of others' trainings speak of these checkpoints"
    single = spec(here, 'models = "hf/runs/a-s0"', 'models = "hf/runs/b-s0"', seeds="[0]")
    found = answer(str(single), "--out", "single")
    assert found["scope"] == "checkpoints"
    assert "these checkpoints" in json.loads((here / "single" / "result.json").read_text())["verdict"]["reach"]


def test_a_suite_that_is_cut_has_the_slices_that_are_left(here: Path) -> None:
    file = here / "cut.toml"
    text = SPEC.format(a='models = "scripted/echo"', b='models = "scripted/fixed:All right."', seeds="[0]")
    file.write_text(text.replace("my:prompts.jsonl", "core:x2").replace("{ my = 12 }", "{ core = 12 }"))
    found = answer(str(file), "--out", "cut")
    assert found["prompts"] == 2
    assert found["scope"] == "checkpoints"


# ----------------------------------------------------------------------------------------------------- what is wrong


def test_a_seed_without_a_folder_is_named_and_the_others_are_measured(here: Path) -> None:
    file = spec(here, MODELS.format(arm="a"), MODELS.format(arm="b"), seeds="[0, 1, 7]")
    found = answer(str(file), "--out", "gap")
    assert found["answer"] == "INCONCLUSIVE"
    assert any("a (seed 7)" in failure and "runs/a-s7" in failure for failure in found["failures"])
    assert found["seeds"] == 2, "the others went on"


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ('models = "hf/none/a-s{seed}"', MODELS.format(arm="b"), "None of its 5 seeds is there"),
        ('models = "hf/runs/a-s0"\nstages = ["sft"]', MODELS.format(arm="b"), "takes `stages`, `models` or `answers`|unknown name 'sft'"),
        ('models = { 0 = "hf/runs/a-s0" }', MODELS.format(arm="b"), "no seed 1"),
        ('models = { 0 = "hf/runs/a-s0", 1 = "hf/runs/a-s0", 2 = "hf/runs/a-s2", 3 = "hf/runs/a-s3", 4 = "hf/runs/a-s4" }', MODELS.format(arm="b"), "seeds 0 and 1 are the same weights"),
        ('models = "scripted/echo"', MODELS.format(arm="b"), "different engines.*--across-engines"),
        ('models = "hf/runs/a-s{seed}"', 'answers = "out/{seed}.jsonl"', "cannot be read"),
        ('models = ""', MODELS.format(arm="b"), "is empty"),
    ],
)  # fmt: skip
def test_bad_arms_are_refused_by_name(here: Path, a: str, b: str, told: str) -> None:
    ran = study(str(spec(here, a, b)), "--out", "bad", code=2)
    assert re.search(told, ran.stderr, re.DOTALL), ran.stderr
    assert "arms" in ran.stderr


def changed(here: Path, edit: Callable[[Path], None]) -> Path:
    """The spec with a copy of one checkpoint that `edit` has changed."""
    (here / "mine").mkdir()
    for seed in SEEDS:
        shutil.copytree(here / "runs" / f"a-s{seed}", here / "mine" / f"a-s{seed}")
    edit(here / "mine" / "a-s3")
    return spec(here, 'models = "hf/mine/a-s{seed}"', MODELS.format(arm="b"))


def test_another_chat_template_is_refused_and_said_where_it_is_allowed(here: Path) -> None:
    def edit(folder: Path) -> None:
        file = folder / "chat_template.jinja"
        file.write_text(file.read_text().replace("You are a tiny model", "You are another one"))

    file = changed(here, edit)
    ran = study(str(file), "--out", "t", code=2)
    assert "different chat templates" in ran.stderr
    assert "a (seed 3)" in ran.stderr
    one = spec(here, 'models = "hf/mine/a-s{seed}"', MODELS.format(arm="b"), seeds="[3]")
    answer(str(one), "--out", "one", "--across-engines")
    assert "Compared across engines" in (here / "one" / "report.html").read_text()


def test_other_stop_tokens_are_refused(here: Path) -> None:
    def edit(folder: Path) -> None:
        file = folder / "generation_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | {"eos_token_id": [0, 2]}))

    assert "stopped by different tokens" in study(str(changed(here, edit)), "--out", "s", code=2).stderr


def test_half_a_folder_is_named_and_the_others_are_measured(here: Path) -> None:
    def edit(folder: Path) -> None:
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:5000])

    found = answer(str(changed(here, edit)), "--out", "half")
    assert any("a (seed 3)" in failure or "a-s3" in failure for failure in found["failures"])
    assert found["seeds"] == 4


def test_one_model_behind_two_names_has_no_answer(here: Path) -> None:
    models = {
        f"{arm}-s{seed}": FakeModel(answer=lambda text, arm=arm: f"{arm} says {text}") for arm in "ab" for seed in SEEDS
    }
    with FakeEndpoint(models) as server:
        urls = [f'models = "{server.url}#{arm}-s{{seed}}"' for arm in "ab"]
        found = answer(str(spec(here, *urls)), "--out", "one")
    assert found["answer"] == "INCONCLUSIVE"
    assert "gave the same answers" in found["because"]


def test_a_name_that_the_server_does_not_have_fails_by_arm_and_seed(here: Path) -> None:
    models = {
        f"{arm}-s{seed}": FakeModel(answer=lambda text, n=f"{arm}{seed}": f"{n} {text}")
        for arm in "ab"
        for seed in SEEDS
    }
    models["b-s2"] = FakeModel(faults=("404",))
    with FakeEndpoint(models) as server:
        urls = [f'models = "{server.url}#{arm}-s{{seed}}"' for arm in "ab"]
        found = answer(str(spec(here, *urls)), "--out", "gone")
    assert any("b" in failure and "s2" in failure for failure in found["failures"])
    assert found["seeds"] == 4


def test_a_server_that_says_another_model_answered_is_named(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    completed = endpoint._completion_of

    def renamed(name: str, *rest: Any) -> dict[str, Any]:
        served = {"b-s1": "org/base-model", "a-s0": "org/a-s0-2026-11-01"}.get(name, name)
        return completed(name, *rest) | {"model": served}

    monkeypatch.setattr(endpoint, "_completion_of", renamed)
    models = {
        f"{arm}-s{seed}": FakeModel(answer=lambda text, arm=arm: f"{arm} {text}") for arm in "ab" for seed in SEEDS
    }
    with FakeEndpoint(models) as server:
        urls = [f'models = "{server.url}#{arm}-s{{seed}}"' for arm in "ab"]
        answer(str(spec(here, *urls)), "--out", "renamed")
    warnings = json.loads((here / "renamed" / "result.json").read_text())["warnings"]
    said = [line for line in warnings if "the server says" in line]
    assert said == ["b (seed 1): asked for b-s1, and the server says that org/base-model answered"]


def test_answers_that_do_not_cover_the_suite_withhold_the_verdict(here: Path) -> None:
    (here / "out").mkdir()
    for arm in "ab":
        for seed in SEEDS:
            rows = [
                {"key": row["key"], "response": f"{arm}{seed} {row['prompt']}"} for row in ROWS[: 20 + 6 * (arm == "a")]
            ]
            (here / "out" / f"{arm}-s{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = answer(
        str(spec(here, 'answers = "out/a-s{seed}.jsonl"', 'answers = "out/b-s{seed}.jsonl"')), "--out", "part"
    )
    assert found["answer"] == "INCONCLUSIVE"
    assert "of the prompts were measured" in found["because"]


# ------------------------------------------------------------------------------------------------------ registration


def test_a_rule_is_registered_before_the_answers_are_there(here: Path) -> None:
    file = spec(here, 'answers = "out/a-s{seed}.jsonl"', 'answers = "out/b-s{seed}.jsonl"')
    made = json.loads(study(str(file), "--out", "reg", "--register", "--json").stdout)
    assert made["sources"] == 10
    (here / "out").mkdir()
    for arm in "ab":
        for seed in SEEDS:
            rows = [{"key": row["key"], "response": f"{arm}{seed} {row['prompt']}"} for row in ROWS]
            (here / "out" / f"{arm}-s{seed}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    answer(str(file), "--out", "reg")
    assert f"The rule was registered at {made['at']}" in (here / "reg" / "report.html").read_text()
    late = study(str(file), "--out", "late", "--register", code=2)
    assert "are there already" in late.stderr
    changed_rule = here / "other.toml"
    changed_rule.write_text(file.read_text().replace("[evaluation]", "smallest_effect = 0.01\n[evaluation]"))
    answer(str(changed_rule), "--out", "reg")
    assert "this is not the registered rule" in (here / "reg" / "report.html").read_text()
    pinned = here / "pinned.toml"
    pinned.write_text(file.read_text().replace("[evaluation]", f'judge = "{made["judge"]}"\n[evaluation]'))
    answer(str(pinned), "--out", "pinned")
    pinned.write_text(pinned.read_text().replace(made["judge"], "0123456789abcdef"))
    assert "verdict.judge" in study(str(pinned), "--out", "pinned2", code=2).stderr


def test_rows_that_an_arm_was_trained_on_are_compared_with_what_is_asked(here: Path) -> None:
    long = "Write about thing {} in a long and winding sentence that goes on and on, over hills and fields and rivers."
    rows = [row | {"prompt": long.format(row["key"])} for row in ROWS]
    (here / "prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (here / "rows").mkdir()
    clean = [
        {"prompt": "Name three towns that lie on the coast of the northern sea and say why.", "completion": "A, B, C."}
    ]
    taken = [{"prompt": long.format(3), "completion": "Yes."}, *clean]
    (here / "rows" / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in clean))
    (here / "rows" / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in taken))
    a, b = (f'models = "hf/runs/{arm}-s{{seed}}"\ntrained_on = ["rows/{arm}.jsonl"]' for arm in "ab")
    answer(str(spec(here, a, b, seeds="[0]")), "--out", "rows-known")
    page = (here / "rows-known" / "report.html").read_text()
    assert "None of the 1 rows of rows/a.jsonl" in page
    assert "1 of 2 rows of rows/b.jsonl" in page
    missing = spec(here, a.replace("rows/a", "rows/none"), b, seeds="[0]")
    assert "names no file that is there" in study(str(missing), "--out", "rows-missing", code=2).stderr


@pytest.mark.slow
def test_the_same_contrast_of_several_bases_has_a_verdict_each_and_one_together(here: Path) -> None:
    (here / "big").symlink_to(here / "runs")
    names = [f'models = "hf/{{start}}/{arm}-s{{seed}}"' for arm in "ab"]
    file = spec(here, *names, seeds="[0, 1, 2]")
    file.write_text('starts = ["runs", "big"]\n' + file.read_text())
    found = answer(str(file), "--out", "bases")
    assert [one["start"] for one in found["starts"]] == ["runs", "big"]
    assert found["starts"][0]["primary"]["difference"] == found["starts"][1]["primary"]["difference"]
    assert "trained elsewhere" in (here / "bases" / "starts" / "big" / "report.html").read_text()
    alone = spec(here, *names)
    assert "`starts` and {start} go together" in study(str(alone), "--out", "alone", code=2).stderr


# -------------------------------------------------------------------------------------------------------------- draws


def test_several_answers_a_prompt_have_a_part_of_the_variance(here: Path) -> None:
    file = spec(here, MODELS.format(arm="a"), MODELS.format(arm="b"), seeds="[0, 1, 2]")
    file.write_text(file.read_text().replace("[evaluation]", "[evaluation]\ndraws = 3\ntemperature = 1.5"))
    answer(str(file), "--out", "draws")
    drawn = json.loads((here / "draws" / "result.json").read_text())["draws"]
    assert drawn["draws"] == 3
    assert 0 < drawn["share"] <= 1
    greedy = file.read_text().replace("temperature = 1.5", "temperature = 0.0")
    file.write_text(greedy)
    assert "greedy answers are all the same" in study(str(file), "--out", "greedy", code=2).stderr


# ------------------------------------------------------------------------------------------------- a stage of a command

TRAINER = """
import json, shutil, sys
from pathlib import Path
arm, seed, start, out = sys.argv[1:5]
assert (Path(start) / "config.json").exists()
print("training", arm, "at", seed)
shutil.copytree(Path("runs") / f"{arm}-s{seed}", out, dirs_exist_ok=True)
Path(out, "metrics.jsonl").write_text(json.dumps({"step": 1, "loss": 0.5, "note": "x"}) + "\\n")
if arm == "b":
    Path(out, "ledger.json").write_text(json.dumps({"tokens_trained": 1000, "tokens_generated": 0, "answers_generated": 0, "peak_memory_bytes": 5}))
"""
BY_COMMAND = """
name = "commands"
start = "hf/START"
seeds = [0, 1, 2, 3, 4]
precision = "fp32"
[verdict]
question = "Does b follow better than a?"
treatment = "b"
control = "a"
suite = "my:prompts.jsonl"
[evaluation]
suite_tokens = { my = 12 }
[stages.a]
method = "command"
command = ["PYTHON", "train.py", "{arm}", "{seed}", "{start}", "{out}"]
sources = ["train.py"]
arm = "a"
[stages.b]
method = "command"
command = ["PYTHON", "train.py", "{arm}", "{seed}", "{start}", "{out}"]
sources = ["train.py"]
arm = "b"
[[arms]]
name = "a"
stages = ["a"]
[[arms]]
name = "b"
stages = ["b"]
"""


def commands(here: Path, start: Path) -> Path:
    (here / "train.py").write_text(TRAINER)
    file = here / "commands.toml"
    file.write_text(BY_COMMAND.replace("START", str(start)).replace("PYTHON", sys.executable))
    return file


def test_a_command_gives_the_same_verdict_and_what_it_does_not_report_is_unknown(
    here: Path, tiny_llama_dir: Path
) -> None:
    found = by_folders(here)
    trained = answer(str(commands(here, tiny_llama_dir)), "--out", "commands")
    assert trained["failures"] == []
    for name in ("answer", "difference", "low", "high", "p_value", "leave_one_out", "kinds", "rate_treatment"):
        assert trained[name] == found[name], name
    result = json.loads((here / "commands" / "result.json").read_text())
    assert any("a: its command did not report tokens_trained" in line for line in result["warnings"])
    assert {cost["arm"] for cost in result["arm_costs"]} == {"b"}, "what a cost is unknown"
    assert {tuple(curve["columns"]["loss"]) for curve in result["curves"]} == {(0.5,)}
    assert "training a at 0" in next((here / "commands" / "cells").glob("a-s0-*/output.log")).read_text()
    before = (here / "commands" / "result.json").read_bytes()
    answer(str(here / "commands.toml"), "--out", "commands")
    assert (here / "commands" / "result.json").read_bytes() == before, "a finished cell is not trained again"


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("raise SystemExit('no memory left')", r"exit code 1.*no memory left"),
        ("pass", r"left no model in \{out\}, but nothing"),
        ("shutil.copytree(start, out, dirs_exist_ok=True)", "unchanged"),
        ("shutil.copytree(f'runs/a-s{seed}', out, dirs_exist_ok=True); f = Path(out, 'model.safetensors'); f.write_bytes(f.read_bytes()[:9000])", "cannot be loaded"),
        ("from safetensors.torch import load_file, save_file; shutil.copytree(f'runs/a-s{seed}', out, dirs_exist_ok=True); w = load_file(out + '/model.safetensors'); next(iter(w.values())).fill_(float('nan')); save_file(w, out + '/model.safetensors', metadata={'format': 'pt'})", "not finite in"),
        ("shutil.copytree(f'runs/a-s{seed}', out, dirs_exist_ok=True); t = Path(out, 'chat_template.jinja'); t.write_text(t.read_text() + ' ')", "another chat template"),
        ("shutil.copytree(f'runs/a-s{seed}', out, dirs_exist_ok=True); Path(out, 'ledger.json').write_text('[1]')", "is no ledger"),
        ("import time; time.sleep(60)", "took more than hours"),
        ("print('x' * 20_000_000); raise SystemExit(3)", "exit code 3"),
        ("shutil.copytree(start, out, dirs_exist_ok=True); Path(out, 'model.safetensors').unlink()", "cannot be loaded"),
        ("shutil.copytree(start, out, dirs_exist_ok=True); Path(out, 'model.safetensors').rename(out + '/part'); Path(out, 'model.safetensors.index.json').write_text('{\"metadata\": {}, \"weight_map\": {\"lm_head.weight\": \"model-00002-of-00002.safetensors\"}}')", "cannot be loaded"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL, as the system does where memory is short"),
        ("import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); shutil.copytree(f'runs/a-s{seed}', out, dirs_exist_ok=True)", "exit code 1.*File too large"),
    ],
)  # fmt: skip
def test_what_a_command_does_wrong_is_named_and_the_rest_goes_on(
    here: Path, tiny_llama_dir: Path, script: str, told: str
) -> None:
    settings = command_settings(
        "a", {"command": [sys.executable, "wrong.py", "{seed}", "{start}", "{out}"], "hours": 0.003}
    )
    (here / "wrong.py").write_text(
        f"import shutil, sys\nfrom pathlib import Path\nseed, start, out = sys.argv[1:4]\n{script}\n"
    )
    cell = here / "cell"
    with pytest.raises(AdhereError, match=re.compile(told, re.DOTALL)) as raised:
        run_command(
            settings, {"sft": [], "pairs": [], "rl": []}, start=tiny_llama_dir, into=cell, resume=cell / "checkpoint",
            seed=0, threads=1, label="a (seed 0)", progress=Silent(),
        )  # fmt: skip
    assert "a (seed 0)" in str(raised.value)
    assert not (cell / "out").exists(), "what is half done takes no room"
    assert (cell / "output.log").stat().st_size <= 1 << 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 80 MB: a study asks for 50 before it begins."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root on Linux")
    libc, folder = ctypes.CDLL(None, use_errno=True), tmp_path / "disk"
    folder.mkdir()
    if libc.mount(b"adhere", os.fsencode(folder), b"tmpfs", 0, b"size=80m"):
        pytest.skip(f"this container may not mount: {os.strerror(ctypes.get_errno())}")
    try:
        yield folder
    finally:
        libc.umount2(os.fsencode(folder), 2)  # lazily: nothing of a failed test keeps it


LOUD = """
import sys
block = b"x" * 79 + b"\\n"
for _ in range(1_000_000_000 // (80 * 50_000)):
    sys.stdout.buffer.write(block * 50_000)
sys.exit("told a gigabyte")
"""


def test_a_command_that_prints_a_gigabyte_takes_a_megabyte(here: Path) -> None:
    (here / "loud.py").write_text(LOUD)
    settings = command_settings("a", {"command": [sys.executable, "loud.py", "{out}"]})
    tracemalloc.start()
    with pytest.raises(AdhereError, match=r"a \(seed 0\): the command ended with exit code 1(.|\n)*told a gigabyte"):
        _run(fill_in(settings.command, {"out": "out"}), settings, here / "output.log", label="a (seed 0)")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 16 << 20
    assert (here / "output.log").stat().st_size == 1 << 20


FILLING = """
import shutil, sys
from pathlib import Path
arm, seed, start, out = sys.argv[1:5]
shutil.copytree(Path("runs") / f"{arm}-s{seed}", out, dirs_exist_ok=True)
if (arm, seed) == ("b", "1"):
    with open(out + "/ballast", "wb") as file:
        while True:
            file.write(b"x" * (1 << 16))
"""


def test_a_command_that_fills_the_disk_fails_alone_and_leaves_room(
    here: Path, tiny_llama_dir: Path, small_disk: Path
) -> None:
    file = commands(here, tiny_llama_dir)
    file.write_text(file.read_text().replace("[0, 1, 2, 3, 4]", "[0, 1, 2]"))
    (here / "train.py").write_text(FILLING)
    found = answer(str(file), "--out", str(small_disk / "study"))
    (failure,) = found["failures"]
    # Whoever writes first on a full disk, the command or what reads its output, is told so.
    assert re.search(r"b \(seed 1\): (the command ended with exit code 1: )?the disk is full", failure)
    assert "removed" in failure
    assert "No space left on device" in failure
    assert found["seeds"] == 2, "the others went on"
    assert not list((small_disk / "study").rglob("ballast"))


def test_a_disk_that_fills_while_a_model_is_kept_fails_its_cell_alone(
    here: Path, tiny_llama_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (here / "train.py").write_text(TRAINER)
    settings = command_settings(
        "a", {"command": [sys.executable, "train.py", "a", "{seed}", "{start}", "{out}"], "hours": 1}
    )
    monkeypatch.setattr(run_of_command, "_look_at", full)
    with pytest.raises(AdhereError, match=r"a \(seed 0\): the disk is full: .*MB in \{out\}, which were removed"):
        run_command(
            settings, {"sft": [], "pairs": [], "rl": []}, start=tiny_llama_dir, into=here / "cell",
            resume=here / "checkpoint", seed=0, threads=1, label="a (seed 0)", progress=Silent(),
        )  # fmt: skip
    assert not (here / "cell" / "out").exists()


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ({"command": ["x", "{out}", "{nothing}"]}, r"nothing fills \{nothing\}"),
        ({"command": ["x"]}, r"has no \{out\}"),
        ({"command": ["x", "{out}"], "learning_rate": 1e-5}, r"no \{learning_rate\}, so the setting would do nothing"),
        ({}, "needs command"),
        ({"command": ["x", "{out}"], "rows": "trll"}, "rows"),
    ],
)
def test_a_command_that_says_something_nobody_reads_is_refused(table: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        command_settings("a", table)


def test_settings_rows_and_what_is_tuned_are_filled_in() -> None:
    settings = command_settings(
        "a", {"command": ["x", "--lr={learning_rate}", "{rl}", '{"a": 1}', "{out}"], "learning_rate": 1e-5}
    )
    assert settings.needs_rows
    assert fill_in(settings.command, {**settings.fill, "rl": "r.jsonl", "out": "o"}) == [
        "x",
        "--lr=1e-05",
        "r.jsonl",
        '{"a": 1}',
        "o",
    ]


@pytest.fixture(scope="module")
def adapters(checkpoints: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two adapters a seed on one base, and one on another base whose matrices have other sizes."""
    peft = pytest.importorskip("peft")
    root = tmp_path_factory.mktemp("adapters")
    base = checkpoints / "runs" / "a-s0"
    config = transformers.AutoConfig.from_pretrained(base)
    config.hidden_size *= 2
    other = transformers.AutoModelForCausalLM.from_config(config)
    for arm in ("a", "b"):
        for seed in range(3):
            torch.manual_seed(10 * seed + (arm == "b"))
            model = transformers.AutoModelForCausalLM.from_pretrained(base)
            made = peft.get_peft_model(model, peft.LoraConfig(r=4, init_lora_weights=False, target_modules=["q_proj"]))
            made.save_pretrained(root / f"{arm}-s{seed}")
    foreign = peft.get_peft_model(other, peft.LoraConfig(r=4, init_lora_weights=False, target_modules=["q_proj"]))
    foreign.save_pretrained(root / "foreign")
    return root


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing.:FutureWarning")  # PEFT asks for it
def test_adapters_on_one_base_are_arms_and_one_of_another_base_is_named(here: Path, adapters: Path) -> None:
    (here / "adapters").symlink_to(adapters)
    names = [f'models = "hf/runs/a-s0+adapters/{arm}-s{{seed}}"' for arm in "ab"]
    found = answer(str(spec(here, *names, seeds="[0, 1, 2]")), "--out", "adapters-out")
    assert found["seeds"] == 3
    assert found["rate_treatment"] is not None
    table = 'models = { 0 = "hf/runs/a-s0+adapters/b-s0", 1 = "hf/runs/a-s0+adapters/b-s1", 2 = "hf/runs/a-s0+adapters/foreign" }'
    found = answer(str(spec(here, names[0], table, seeds="[0, 1, 2]")), "--out", "foreign-out")
    (failure,) = found["failures"]
    assert "b-s2" in failure
    assert "adapters/foreign: this adapter does not fit the base model" in failure
    assert found["seeds"] == 2, "the others went on"
