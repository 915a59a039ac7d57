"""The two loops to read first compute what adhere computes, and run."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import AutoModelForCausalLM  # noqa: E402

from adhere.store.run import Run  # noqa: E402
from adhere.train.batch.rollout import Answer, Group, Rollout  # noqa: E402
from adhere.train.methods.grpo import GrpoSettings, advantages_of, grpo_loss, select  # noqa: E402
from adhere.train.packed.pack import TokenRow, cut, log_probs  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"
PROMPTS = [
    {
        "key": 1,
        "prompt": "Name a sea. No commas, please.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{}],
    },
    {
        "key": 2,
        "prompt": "Tell me about foxes in more than two words, all in lower case.",
        "instruction_id_list": ["change_case:english_lowercase", "length_constraints:number_words"],
        "kwargs": [{"num_words": None}, {"relation": "at least", "num_words": 3}],
    },
]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *words], capture_output=True, text=True, check=True, timeout=300
    )


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in PROMPTS), encoding="utf-8")
    return file


def test_the_loss_and_its_gradient_are_those_of_the_stage(tiny_llama_dir: Path) -> None:
    """Two groups of three answers of different lengths, drawn by another policy near by, so that ratios are not 1."""
    loop = load("grpo_loop")
    generator = torch.Generator().manual_seed(0)
    prompts, lengths, scores = [(5, 6, 7), (8, 9)], [(2, 4, 3), (5, 1, 2)], [[1.0, 0.0, 0.5], [0.25, 0.25, 1.0]]
    groups = [
        Group(str(place), tuple(
            Rollout(TokenRow(prompt, tuple(torch.randint(5, 90, (n,), generator=generator).tolist())),
                Answer("x", truncated=False), score)
            for n, score in zip(lengths[place], scores[place], strict=True)))
        for place, prompt in enumerate(prompts)
    ]  # fmt: skip
    noise = {
        id(one.row): torch.randn(len(one.row.completion), generator=generator) * 0.3
        for g in groups
        for one in g.answers
    }

    # Ours: answers packed into trees of shared prompts.
    model = AutoModelForCausalLM.from_pretrained(tiny_llama_dir, dtype=torch.float32).eval()
    settings = GrpoSettings()
    episode = select(groups, settings)
    ours = torch.zeros(())
    for part in cut([[answer.row] for answer in episode.answers], tree_tokens=4096):
        answers = [episode.answers[item] for item in part.items]
        found = log_probs(model, part.tree, temperature=1.0, precision="fp32")
        drawn = found.detach() + torch.cat([noise[id(answer.row)] for answer in answers])
        ours = ours + grpo_loss(found, answers, drawn_log_probs=drawn, reference=None, settings=settings)[0]
    ours.backward()
    gradients = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]

    # The loop's: prompts padded on the left, answers on the right.
    model.zero_grad()
    flat = [answer.row for group in groups for answer in group.answers]
    start, longest = max(map(len, prompts)), max(len(row.completion) for row in flat)
    ids, attention, learned = (torch.zeros(len(flat), start + longest, dtype=torch.long) for _ in range(3))
    for line, row in enumerate(flat):
        where = slice(start - len(row.prompt), start + len(row.completion))
        ids[line, where] = torch.tensor([*row.prompt, *row.completion])
        attention[line, where] = 1
        learned[line, start : where.stop] = 1
    found = loop.log_probs_of(model, ids, attention, temperature=1.0)
    drawn = found.detach().clone()
    for line, row in enumerate(flat):
        drawn[line, start : start + len(row.completion)] += noise[id(row)]
    advantages = loop.advantages_of(torch.tensor(scores))
    assert advantages.view(-1).tolist() == pytest.approx(
        [value for each in scores for value in advantages_of(each, settings)], abs=1e-6
    )
    theirs = loop.loss_of(found, drawn, advantages.view(-1), learned.float())
    theirs.backward()
    assert float(theirs.detach()) == pytest.approx(float(ours.detach()), abs=1e-6)
    for mine, other in zip(gradients, (p.grad for p in model.parameters() if p.grad is not None), strict=True):
        torch.testing.assert_close(mine, other, atol=1e-6, rtol=1e-4)


def test_it_trains_and_what_it_writes_loads(tiny_llama_dir: Path, rows: Path, tmp_path: Path) -> None:
    out = tmp_path / "trained"
    words = "--steps 2 --prompts 2 --answers 8 --tokens 64 --rate 1e-2 --out".split()
    printed = run("grpo_loop", str(tiny_llama_dir), str(rows), *words, str(out)).stdout.splitlines()
    assert [line.partition(":")[0] for line in printed] == ["step 1", "step 2", "Weights"]
    before, after = (
        AutoModelForCausalLM.from_pretrained(one, dtype=torch.float32).state_dict() for one in (tiny_llama_dir, out)
    )
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert moved, printed


def test_its_verdicts_are_those_of_an_evaluation(tiny_llama_dir: Path, rows: Path, tmp_path: Path) -> None:
    done = run("evaluate_loop", str(tiny_llama_dir), str(rows), "--tokens", "12")
    theirs = [json.loads(line) for line in done.stdout.splitlines()]
    told = done.stderr.splitlines()
    assert any(line.startswith("n 2 = ") for line in told)
    command = [
        "-m",
        "adhere",
        "eval",
        f"hf/{tiny_llama_dir}",
        "--suite",
        f"ifeval:{rows}",
        "--out",
        str(tmp_path / "runs"),
    ]
    subprocess.run(
        [sys.executable, *command, "--max-new-tokens", "12"], check=True, capture_output=True, text=True, timeout=300
    )
    (folder,) = {file.parent for file in (tmp_path / "runs").rglob("manifest.json")}
    ours: list[dict[str, Any]] = [
        {
            "key": one.prompt_id,
            "index": one.index,
            "instruction_id": one.constraint_id,
            "strict": one.outcome,
            "reason": one.reason,
        }
        for one in sorted(Run.load(folder).verdicts(), key=lambda one: (one.prompt_id, one.index))
        if one.view == "strict"
    ]
    assert theirs == ours
