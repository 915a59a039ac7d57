"""`adhere claims` from the command line.

Exit codes, the JSON contract, the page, the table, bad input, the four documents.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adhere.cli.claims import command
from adhere.errors import UsageError
from adhere.models.fake.scripted import ScriptedModel
from adhere.pipeline.evaluate import evaluate_sync
from adhere.schema import ConstraintRef, Prompt, Turn
from adhere.suites.base import Suite

PAPERS = Path(os.environ.get("ADHERE_PAPERS", Path(__file__).parents[3] / "shared" / "papers"))
QUESTION = Path(__file__).parents[2] / "examples" / "question.toml"
BAD = """# T <script>alert(1)</script>

**Table 1: Instruct models.** \x1b[31m

| Models | Math | Code | Avg. |
|---|---|---|---|
| A-7B | 10.0 | 20.0 | 15.0 |
| <img src=x onerror=alert(1)>-7B | 30.0 | 40.0 | 36.0 |
| C-7B | 50.0 | 61.0 | 55.5 |
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    path = tmp_path / "bad.md"
    path.write_text(BAD)
    return path


@pytest.fixture
def papers() -> list[Path]:
    names = ("abstracts.md", "qwen2-instruct-evaluation.md", "qwen2.5-report.md", "synthesis-report.md")
    found = [PAPERS / name for name in names]
    if not all(path.is_file() for path in found):
        pytest.skip(f"the four documents are not in {PAPERS} (set ADHERE_PAPERS)")
    return found


def test_a_page_is_the_same_whatever_the_order_of_sets(papers: list[Path], tmp_path: Path) -> None:
    pages = []
    for seed in ("1", "2"):
        pages.append(tmp_path / f"{seed}.html")
        command = [sys.executable, "-m", "adhere", "claims", *map(str, papers), "--html", str(pages[-1])]
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=False)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_exit_code_and_contract(bad: Path) -> None:
    done = run(bad, "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert {"id", "model", "benchmark", "metric", "value", "document", "table", "row", "column", "line"} <= found[
        "claims"
    ][0].keys()
    conflict = found["conflicts"][0]
    assert {"type", "severity", "claims", "message", "documents", "lines"} <= conflict.keys()
    assert (conflict["type"], conflict["severity"], conflict["documents"], conflict["lines"]) == (
        "arithmetic",
        "error",
        ["bad.md"],
        [8],
    )
    assert set(conflict["claims"]) <= {claim["id"] for claim in found["claims"]}


def test_a_document_without_conflicts_exits_with_0(tmp_path: Path) -> None:
    path = tmp_path / "good.md"
    path.write_text(BAD.replace("36.0", "35.0"))
    done = run(path)
    assert done.exit_code == 0
    assert "0 errors, 0 warnings." in done.stdout


def test_tables_of_numbers_without_a_claim_are_listed_and_never_called_clean(tmp_path: Path) -> None:
    path = tmp_path / "unknown.md"
    path.write_text("# T\n\n| a | b | c |\n|---|---|---|\n| x | 1.5 | 2.5 |\n| y | 3.5 | 4.5 |\n")
    done = run(path, "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["unread"] == [
        {
            "document": "unknown.md",
            "line": 3,
            "message": (
                "table at line 3: 4 numbers make no claims: neither its labels nor its caption or heading name a model"
            ),
        }
    ]
    said = run(path)
    assert said.exit_code == 3
    assert "Nothing was checked: no number of unknown.md could be read as a claim" in said.stdout
    assert "0 errors" not in said.stdout
    # A document without numbers makes no claims either, and that is no failure to read it.
    path.write_text("# T\n\nNo numbers at all.\n")
    assert run(path).exit_code == 0


def test_text_page_and_table_show_foreign_text_safely(bad: Path, tmp_path: Path) -> None:
    page, table = tmp_path / "page.html", tmp_path / "claims.tsv"
    done = run(bad, "--html", page, "--tsv", table)
    assert "\x1b" not in done.stdout
    html = page.read_text()
    assert "<img" not in html
    assert "<script" not in html
    assert "default-src 'none'" in html
    assert "<mark>36.0</mark>" in html
    lines = table.read_text().splitlines()
    assert lines[0].split("\t")[:3] == ["id", "model", "benchmark"]
    assert len(lines) == 10


def test_the_page_draws_the_table_with_its_headers_and_filters_without_a_script(bad: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    run(bad, "--html", page)
    html = page.read_text()
    assert (
        '<th scope="col" class="wrap">Math</th><th scope="col" class="wrap">Code</th><th scope="col" '
        'class="wrap">Avg.</th>'
    ) in html
    assert '<td class="bad"><mark>36.0</mark></td>' in html
    assert html.count('class="bad"') == 1
    assert '<article class="conflict error m0">' in html
    assert '<input type="checkbox" id="kind-arithmetic" checked>' in html
    assert '<option class="m0">' in html
    assert "body:has(.m0:checked) .conflict:not(.m0)" in html


def test_a_column_that_differs_everywhere_is_one_card(tmp_path: Path) -> None:
    """Seven conflicts about one column of two tables: one card, whose table has the whole column marked."""
    table = "**Table {i}: Instruct models.**\n\n| Datasets | Qwen2-7B | Qwen2-72B |\n|---|---|---|\n{rows}"
    names = ("MMLU", "GSM8K", "MATH", "HumanEval", "MBPP", "IFEval")
    paths = []
    for i, shift in ((1, 0.0), (2, 20.0)):
        rows = "".join(f"| {name} | {40 + 3 * n + shift:.1f} | {80 + n:.1f} |\n" for n, name in enumerate(names))
        paths.append(tmp_path / f"{i}.md")
        paths[-1].write_text(f"# {i}\n\n" + table.format(i=i, rows=rows))
    page = tmp_path / "page.html"
    done = run(*paths, "--html", page)
    assert "(6 error)" in done.stdout
    html = page.read_text()
    assert html.count("<article class=") == 1
    assert "6 numbers of the same columns: “Qwen2-7B” of" in html
    assert html.count('<td class="bad">') == 2 * len(names)


def test_json_is_small_and_says_once_what_was_assumed(bad: Path) -> None:
    found = json.loads(run(bad, "--json").stdout)
    claim = found["claims"][0]
    assert [found["assumptions"][place] for place in claim["assumed"]] == [
        "'A-7B' is taken as an instruct model: its caption says 'Instruct'",
        "'A-7B' is read as a model by its place in the table",
    ]
    assert "direction" not in claim
    assert "unit" not in claim
    assert "evidence" not in claim


def test_what_cannot_be_read_is_a_usage_error(tmp_path: Path, bad: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("")
    for arguments, says in (
        ((empty,), "empty"),
        ((bad, bad), "given twice"),
        ((bad, "--markdown", tmp_path / "x.md"), "--question"),
    ):
        done = run(*arguments)
        assert isinstance(done.exception, UsageError)
        assert says in str(done.exception)


def test_reviewers_are_asked_only_where_named(bad: Path) -> None:
    done = run(bad, "--json", "--reviewers", 'scripted/fixed:{"vote": "conflict", "reason": "as quoted"}')
    panel = json.loads(done.stdout)["panel"]
    assert (panel["asked"], panel["valid"]) == (1, 1)
    assert "panel" not in json.loads(run(bad, "--json").stdout)


CLAIM = """# A

**Table 1: Instruct models.**

| Datasets | Qwen2-7B | Qwen2-72B |
|---|---|---|
| IFEval strict-prompt | {value} | 77.6 |
| IFEval (multilingual) | 51.4 | 79.7 |
"""


def stored_run(directory: Path, n: int) -> None:
    """A finished Run of `n` prompts of which every second one is passed."""
    prompts = tuple(
        Prompt(f"p{i}", (Turn(f"Say {i}.", (ConstraintRef("length:at_least", {"least": 3 if i % 2 else 30}),)),))
        for i in range(n)
    )
    model = ScriptedModel(lambda _: "one two three four", name="scripted/Qwen2-7B-Instruct")
    evaluate_sync(model, Suite("ifeval:local", "1", prompts), directory)


@pytest.mark.parametrize(("value", "standing"), [("52.0", "confirmed"), ("62.0", "contradicted")])
def test_a_claim_is_tested_against_a_stored_run(tmp_path: Path, value: str, standing: str) -> None:
    stored_run(tmp_path / "runs" / "one", 541)
    document = tmp_path / "a.md"
    document.write_text(CLAIM.format(value=value))
    tested = {
        item["claim"]: item
        for item in json.loads(run(document, "--json", "--runs", tmp_path / "runs").stdout)["tested"]
    }
    assert set(tested) == {"a:t1:r1c1", "a:t1:r2c1"}
    first = tested["a:t1:r1c1"]
    assert first["standing"] == standing
    assert first["measured"] == pytest.approx(100 * 270 / 541, abs=0.01)
    assert first["low"] < first["difference"] < first["high"]
    assert tested["a:t1:r2c1"]["standing"] == "not comparable"
    assert "multilingual" in tested["a:t1:r2c1"]["reason"]


def test_a_run_of_other_prompts_is_not_comparable(tmp_path: Path) -> None:
    stored_run(tmp_path / "runs", 20)
    document = tmp_path / "a.md"
    document.write_text(CLAIM.format(value="52.0"))
    first = json.loads(run(document, "--json", "--runs", tmp_path / "runs").stdout)["tested"][0]
    assert first["standing"] == "not comparable"
    assert "asked 20 prompts, the public set has 541" in first["reason"]
    done = run(document, "--runs", tmp_path)
    assert "not comparable" in done.stdout
    (tmp_path / "none").mkdir()
    assert isinstance(run(document, "--runs", tmp_path / "none").exception, UsageError)


def test_the_four_documents(papers: list[Path]) -> None:
    start = time.process_time()
    done = run(*papers, "--json", "--question", QUESTION)
    spent = time.process_time() - start
    found = json.loads(done.stdout)
    errors = Counter(c["type"] for c in found["conflicts"] if c["severity"] == "error")
    assert errors == {
        "arithmetic": 8,
        "cross_document": 3,
        "emphasis": 3,
        "invariant": 6,
        "swap": 8,
    }
    # What two independent evaluations allow is said, and is no error.
    within = [c for c in found["conflicts"] if c["type"] == "cross_document" and c["severity"] == "warning"]
    assert [c["lines"] for c in within] == [[105, 419], [105, 419], [106, 420]]
    assert all(" is within what two independent evaluations allow" in c["message"] for c in within)
    assert not any(" is within what" in c["message"] for c in found["conflicts"] if c["severity"] == "error")
    places = {
        (c["type"], document, line)
        for c in found["conflicts"]
        for document, line in zip(c["documents"], c["lines"], strict=True)
    }
    for line in (324, 325, 326, 328, 333, 334, 335):  # Llama-3.1-405B and Qwen2-72B exchanged in seven rows of Table 6
        assert ("swap", "qwen2.5-report.md", line) in places
    for kind, document, line in (
        ("header_rotation", "qwen2.5-report.md", 437),
        ("arithmetic", "qwen2-instruct-evaluation.md", 233),
        ("arithmetic", "qwen2-instruct-evaluation.md", 269),
        ("cross_document", "qwen2.5-report.md", 424),
        ("emphasis", "qwen2-instruct-evaluation.md", 139),
    ):
        assert (kind, document, line) in places, (kind, document, line)
    assert found["answer"]["refused"].startswith("No causal verdict.")
    assert spent < 20  # about 1.5 s alone; the bound only says that nothing grows out of hand on a busy machine


def test_versions_and_private_sets_of_the_four_documents_are_not_compared(papers: list[Path]) -> None:
    found = json.loads(run(*papers, "--json").stdout)
    reasons = Counter(
        re.sub(r":.*", "", item["reason"]) for item in found["reconciled"] if item["standing"] == "not comparable"
    )
    assert reasons["different versions of LiveCodeBench"] == 3
    assert reasons["a set that only its authors have"] == 36


def test_the_answer_page_of_the_docs_is_what_the_command_writes(papers: list[Path], tmp_path: Path) -> None:
    page = tmp_path / "answer.md"
    run(*papers, "--question", QUESTION, "--markdown", page)
    assert page.read_text() == (Path(__file__).parents[2] / "docs" / "studies" / "printed-numbers.md").read_text()


def test_time_grows_with_the_number_of_tables_and_not_with_its_square(tmp_path: Path) -> None:
    def seconds(tables: int) -> float:
        row = "| MMLU | {a} | {b} |\n| MATH | {b} | {a} |\n"
        text = "# T\n\n" + "".join(
            f"**Table {i}: Instruct models.**\n\n| Datasets | A{i}-7B | B-7B |\n|---|---|---|\n"
            + row.format(a=30 + i % 50, b=20 + i % 37)
            + f"\nA{i}-7B scores {30 + i % 50} on MMLU.\n\n"
            for i in range(tables)
        )
        path = tmp_path / f"{tables}.md"
        path.write_text(text)
        start = time.process_time()
        run(path, "--json")
        return time.process_time() - start

    seconds(10)
    assert seconds(400) < 9 * seconds(100)  # 4 times the tables; 16 times if it were quadratic
