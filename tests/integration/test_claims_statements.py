"""`adhere claims REPORT --sources …` from the command line: the contract, exit codes, pages, bad input, the documents."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adhere.cli.claims import command
from adhere.errors import UsageError
from adhere.models.fake.endpoint import FakeEndpoint, FakeModel

PAPERS = Path(os.environ.get("ADHERE_PAPERS", Path(__file__).parents[3] / "shared" / "papers"))
SOURCE = """# FooLM

FooLM was trained on 18 trillion tokens. The study tested 256 models on October 14, 2025.

A note of <script>alert(1)</script> 7 words.
"""
REPORT = (
    "# Report\n\nFooLM was trained on 20 trillion tokens. It is nice. The study tested 256 models in October 2025.\n"
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    report, source = tmp_path / "report.md", tmp_path / "foo.md"
    report.write_text(REPORT)
    source.write_text(SOURCE)
    return report, source


def test_the_contract(files: tuple[Path, Path]) -> None:
    report, source = files
    done = run(report, "--sources", source, "--json")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert {"claims", "conflicts", "statements", "quality", "contradictions"} <= found.keys()
    denied, supported = found["statements"]
    assert denied["statement"] == "FooLM was trained on 20 trillion tokens."
    assert (denied["file"], denied["line"], denied["verdict"]) == ("report.md", 3, "denied")
    assert denied["evidence"] == [{"file": "foo.md", "line": 3, "quote": "FooLM was trained on 18 trillion tokens."}]
    assert "confidence" in denied
    assert supported["verdict"] == "supported"
    assert found["quality"]["left_out"] == {"fragment": 1}


def test_names_behind_sources_are_sources_up_to_the_next_option(files: tuple[Path, Path], tmp_path: Path) -> None:
    report, source = files
    other = tmp_path / "bar.md"
    other.write_text("# Bar\n\nBarLM has 7 layers.\n")
    done = run(report, "--sources", source, other, "--json")
    assert [use["file"] for use in json.loads(done.stdout)["quality"]["sources"]] == ["foo.md", "bar.md"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("claims.txt", "- FooLM was trained on 18T tokens.\n\n- FooLM was trained on 20T tokens.\n"),
        (
            "claims.jsonl",
            '{"statement": "FooLM was trained on 18T tokens."}\n{"claim": "FooLM was trained on 20T tokens."}\n',
        ),
        (
            "claims.md",
            "| Claim | OK |\n|---|---|\n| FooLM was trained on 18T tokens | x |\n| FooLM was trained on 20T tokens | x |\n",
        ),
    ],
)
def test_given_statements(files: tuple[Path, Path], tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = run("--statements", tmp_path / name, "--sources", files[1], "--json")
    assert [item["verdict"] for item in json.loads(done.stdout)["statements"]] == ["supported", "denied"]
    assert done.exit_code == 1


def test_nothing_denied_is_exit_code_0(files: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("FooLM was trained on 18 trillion tokens.\n")
    assert run("--statements", tmp_path / "one.txt", "--sources", files[1]).exit_code == 0


def test_pages_hold_the_text_and_run_nothing_of_it(files: tuple[Path, Path], tmp_path: Path) -> None:
    html, tsv, markdown = tmp_path / "a.html", tmp_path / "a.tsv", tmp_path / "a.md"
    done = run(files[0], "--sources", files[1], "--html", html, "--tsv", tsv, "--markdown", markdown)
    assert "✗ FooLM was trained on 20 trillion tokens." in done.stdout
    page = html.read_text()
    assert "1 statement denied, of 2" in page
    assert page.index('id="worst"') < page.index('id="statements"')
    assert "<script" not in page
    assert tsv.read_text().splitlines()[1].split("\t")[3] == "denied"
    assert "| 3 | FooLM was trained on 20 trillion tokens. | denied |" in markdown.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report.md", "--statements", "none.txt", "--sources", "foo.md"], "no such file"),
        (["report.md", "--sources", "none.md"], "no such file"),
        (["--sources", "foo.md"], "Name a report"),
        (["--statements", "report.md"], "need sources"),
        (["--statements", "bad.jsonl", "--sources", "foo.md"], "bad.jsonl:2: not JSON"),
        (["--statements", "keys.jsonl", "--sources", "foo.md"], "has no text under statement"),
        (["report.md", "--sources", "foo.md", "--runs", "."], "a call without it"),
    ],
)
def test_bad_input_says_what_to_do(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(files[0].parent)
    Path("bad.jsonl").write_text('{"statement": "A is 5."}\n{"statement"\n')
    Path("keys.jsonl").write_text('{"verdict": "A is 5."}\n')
    done = run(*arguments)
    assert isinstance(done.exception, UsageError)
    assert said in str(done.exception)


def test_both_contradictions_of_the_documents_are_found() -> None:
    names = ("synthesis-report.md", "qwen2.5-report.md", "abstracts.md")
    synthesis, qwen, abstracts = (PAPERS / name for name in names)
    if not all(path.is_file() for path in (synthesis, qwen, abstracts)):
        pytest.skip(f"the documents are not in {PAPERS} (set ADHERE_PAPERS)")
    found = json.loads(run(synthesis, "--sources", abstracts, "--json").stdout)
    reasons = {item["reason"] for item in found["contradictions"]}
    assert reasons == {"it says 20 claims; the table at line 31 lists 18"}
    listed = [item for item in found["statements"] if item["line"] >= 32]
    assert len(listed) == 18
    assert not [item for item in listed if item["verdict"] == "denied"]
    found = json.loads(run(qwen, "--sources", abstracts, "--json").stdout)
    turbo = [item for item in found["contradictions"] if "eight out of ten" in item["statement"]["text"]]
    assert [item["reason"] for item in turbo] == ["in Table 7 Qwen2.5-Turbo is ahead in 6 of 13"]


def test_a_model_splits_what_is_compound(files: tuple[Path, Path], tmp_path: Path) -> None:
    report, source = files
    report.write_text("FooLM was trained on 18 trillion tokens, and the study tested 200 models on October 14, 2025.\n")

    def answer(text: str) -> str:
        sentence = json.loads(next(line for line in text.splitlines() if line.startswith("{")))["sentence"]
        one, other = sentence.split(", and ")
        return json.dumps({"parts": [one, f"In all, {other}"]})

    with FakeEndpoint({"m": FakeModel(answer=answer)}) as endpoint:
        done = run(report, "--sources", source, "--extract", f"{endpoint.url}#m", "--json")
        page = tmp_path / "page.html"
        shown = run(report, "--sources", source, "--extract", f"{endpoint.url}#m", "--html", page)
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    assert [(row["verdict"], row["part"]) for row in found["statements"]] == [
        ("supported", "quotation"),
        ("denied", "paraphrase"),
    ]
    assert {row["whole"] for row in found["statements"]} == {report.read_text().strip()}
    assert (found["splitting"]["asked"], found["splitting"]["split"], found["splitting"]["refused"]) == (1, 1, {})
    assert "(paraphrase of a sentence)" in " ".join(shown.stdout.split())
    assert "(paraphrase of a sentence)" in page.read_text()
    with pytest.raises(UsageError, match="name the sources"):
        CliRunner().invoke(command, [str(report), "--extract", "scripted/echo"], catch_exceptions=False)
