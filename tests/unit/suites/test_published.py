"""Published suites: files in IFEval's row format, and every way in which one can be wrong."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import zstandard

from adhere.errors import BadParameter, SpecError, UnknownName, UsageError
from adhere.schema import ConstraintRef
from adhere.suites import load, names
from adhere.suites.published.ifeval_rows.ifbench import IFBENCH
from adhere.suites.published.ifeval_rows.ifeval import IFEVAL
from adhere.suites.published.rows import content_sha256

DATA = Path(os.environ.get("ADHERE_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"needs ../shared/data: {DATA} is not there (set ADHERE_DATA)"
)
COMMAS = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}


def row(key: Any = 1, prompt: str = "Say hello.", **columns: Any) -> dict[str, Any]:
    return {"key": key, "prompt": prompt, **COMMAS, **columns}


def written(folder: Path, *rows: Any, name: str = "prompts.jsonl", end: str = "\n") -> Path:
    path = folder / name
    text = "\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows) + end
    data = text.encode()
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(path.suffix, bytes)(data)
    path.write_bytes(packed)
    return path


@needs_data
def test_the_published_ifeval_file() -> None:
    path = DATA / "ifeval" / "input_data.jsonl"
    suite = load(f"ifeval:{path}")
    assert suite.name == f"ifeval:{path}"
    assert len(suite.prompts) == 541
    assert sum(len(prompt.constraints) for prompt in suite.prompts) == 834
    assert suite.settings["note"] == "541 prompts, 834 instructions: the published file"
    assert suite.settings["file_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest() == IFEVAL.sha256
    assert content_sha256(suite.prompts) == IFEVAL.content_sha256
    assert "arXiv 2311.07911" in suite.citation
    assert suite.cut_answers == "judge"
    first = suite.prompts[0]
    assert (first.id, first.key, first.source) == ("1000", 1000, "ifeval")
    assert first.tags == {"profile": "ifeval", "key": "int"}
    assert first.constraints[2] == ConstraintRef(
        "length_constraints:number_words", {"relation": "at least", "num_words": 300}
    )


@needs_data
@pytest.mark.parametrize(("name", "profile"), [("ifbench", "ifbench-2026"), ("ifbench-2025", "ifbench-2025")])
def test_the_published_ifbench_file(name: str, profile: str) -> None:
    suite = load(f"{name}:{DATA / 'ifbench' / 'IFBench_test.jsonl'}")
    assert (len(suite.prompts), sum(len(prompt.constraints) for prompt in suite.prompts)) == (300, 344)
    assert suite.prompts[0].key == "0"
    assert {prompt.tags["profile"] for prompt in suite.prompts} == {profile}
    assert content_sha256(suite.prompts) == IFBENCH.content_sha256
    assert suite.settings["note"] == (
        "300 prompts, 344 instructions: the published file"
        if name == "ifbench"
        else "300 prompts, 344 instructions: differs from the published file, which has 294 prompts, 335 instructions"
    )


@needs_data
def test_another_layout_of_the_published_rows_is_known_as_such(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (DATA / "ifeval" / "input_data.jsonl").read_text().splitlines()]
    for one in rows:  # as Hugging Face has it: every parameter in every row, most of them null
        one["kwargs"] = [{**dict.fromkeys(("num_words", "keywords", "letter")), **kwargs} for kwargs in one["kwargs"]]
    suite = load(f"ifeval:{written(tmp_path, *rows)}")
    assert suite.settings["note"] == "541 prompts, 834 instructions: the rows of the published file in another layout"
    rows[3]["prompt"] += "!"
    edited = load(f"ifeval:{written(tmp_path, *rows)}")
    assert edited.settings["note"] == (
        "541 prompts, 834 instructions: as many as in the published file, but differs from it in some row"
    )


def test_iftrain_takes_classic_and_own_kinds(tmp_path: Path) -> None:
    ids = ["new:copy_span_idx", "punctuation:no_comma", "punctuation:no_commas"]
    kwargs = [{"n_start": 0, "n_end": 3, "prompt_to_repeat": "Say it."}, {}, None]
    suite = load(f"iftrain:{written(tmp_path, row(instruction_id_list=ids, kwargs=kwargs))}")
    (prompt,) = suite.prompts
    assert prompt.tags["profile"] == "iftrain"
    assert [ref.id for ref in prompt.constraints] == ids
    assert prompt.constraints[0].params == kwargs[0], "n_start = 0 is no absent parameter"
    assert suite.settings["note"] == "1 prompt, 3 instructions"


def test_null_parameters_go_and_other_columns_do_not_matter(tmp_path: Path) -> None:
    one = row("a", instruction_id_list=["length_constraints:number_words"], weight=float("nan"), more=[1])
    one["kwargs"] = [{"num_words": 0, "relation": "at least", "letter": None}]
    two = row(2, **COMMAS)
    suite = load(f"ifeval:{written(tmp_path, one, '', two, end='')}")
    assert [prompt.key for prompt in suite.prompts] == ["a", 2]
    assert suite.prompts[0].tags["key"] == "str"
    assert suite.prompts[0].constraints[0].params == {"num_words": 0, "relation": "at least"}


@pytest.mark.parametrize("name", ["prompts.jsonl.gz", "prompts.jsonl.zst"])
def test_compressed_files(tmp_path: Path, name: str) -> None:
    plain = load(f"ifeval:{written(tmp_path, row(), row(2))}")
    path = written(tmp_path, row(), row(2), name=name)
    packed = load(f"ifeval:{path}")
    assert packed.prompts == plain.prompts
    assert packed.settings["file_sha256"] == plain.settings["file_sha256"], "of the uncompressed lines"
    path.write_bytes(path.read_bytes() * 2)
    with pytest.raises(SpecError, match=r":3: key 1: line 1 has the same key"):
        load(f"ifeval:{path}")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(SpecError, match=r"the compressed data ends too early; the file looks cut off"):
        load(f"ifeval:{path}")
    path.write_bytes(b"this is neither")
    with pytest.raises(SpecError, match=r"cannot be decompressed"):
        load(f"ifeval:{path}")


def test_a_byte_order_mark_is_no_part_of_the_first_row(tmp_path: Path) -> None:
    path = written(tmp_path, row())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert load(f"ifeval:{path}").prompts[0].key == 1


def test_seed_is_ignored_and_limit_takes_the_first(tmp_path: Path) -> None:
    path = written(tmp_path, row(1), row(2), row(3))
    assert load(f"ifeval:{path}", seed=7) == load(f"ifeval:{path}")
    assert [prompt.key for prompt in load(f"ifeval:{path}", limit=2).prompts] == [1, 2]


def test_the_same_file_elsewhere_is_the_same_suite(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    here, there = written(tmp_path, row()), written(tmp_path / "there", row())
    assert load(f"ifeval:{here}").sha256 == load(f"ifeval:{there}").sha256
    assert load(f"ifeval:{here}").sha256 != load(f"ifbench:{here}").sha256


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (
            row(instruction_id_list=["punctuation:no_coma"]),
            UnknownName,
            r":2: key 1: Unknown constraint 'punctuation:no_coma'\. Did you mean 'punctuation:no_comma'\?",
        ),
        (
            row(instruction_id_list=["length_constraints:number_words"]),
            BadParameter,
            r":2: key 1: length_constraints:number_words: missing parameters num_words, relation\. The published code",
        ),
        (
            row(instruction_id_list=["count:keywords_multiple"], kwargs=[{"keyword1": "a"}]),
            BadParameter,
            r":2: key 1: count:keywords_multiple: missing parameter",
        ),
        (
            row(
                instruction_id_list=["keywords:frequency"],
                kwargs=[{"keyword": "a", "frequency": "x", "relation": "at least"}],
            ),
            BadParameter,
            r":2: key 1: keywords:frequency: frequency='x' must be a whole number",
        ),
        (row(kwargs=[{"num_word": 3}]), BadParameter, r":2: key 1: punctuation:no_comma: unknown parameter 'num_word'"),
        (row(kwargs=[{}, {}]), SpecError, r":2: key 1: 1 ids in instruction_id_list, but 2 entries in kwargs"),
        (row(instruction_id_list=[], kwargs=[]), SpecError, r":2: key 1: instruction_id_list is empty"),
        (row("0"), SpecError, r":2: key '0': line 1 has the same key"),
        ({"key": 1, "prompt": "x", "instruction_id_list": []}, SpecError, r":2: .*missing required field `kwargs`"),
        (row(True), SpecError, r":2: key: Expected `int \| str`, got `bool`"),
        (row(kwargs=["{}"]), SpecError, r":2: kwargs\[0\]: Expected `object \| null`, got `str`"),
        ("[1, 2]", SpecError, r":2: found a list; each line must be one JSON object"),
        ("null", SpecError, r":2: found null; each line must be one JSON object"),
        ('{"key": 1,', SpecError, r":2: not JSON: "),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, wrong: Any, error: type[Exception], message: str) -> None:
    path = written(tmp_path, row(0), wrong, row(3))
    with pytest.raises(error, match=message) as caught:
        load(f"ifeval:{path}")
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_file_that_was_cut_off(tmp_path: Path) -> None:
    whole = json.dumps(row(2))
    path = written(tmp_path, row(1), whole[:-20], end="")
    with pytest.raises(
        SpecError, match=r":2: the last line looks cut off: .*Write the file again, or delete that line"
    ):
        load(f"ifeval:{path}")
    assert len(load(f"ifeval:{written(tmp_path, row(1), whole, end='')}").prompts) == 2, "only the newline is missing"


def test_names_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError,
        match=r"Suite 'ifeval' needs the file .*: ifeval:PATH\. It is published as .*google-research/.*Apache-2\.0",
    ):
        load("ifeval")
    with pytest.raises(UsageError, match=r"absent\.jsonl: no such file"):
        load(f"ifbench:{tmp_path / 'absent.jsonl'}")
    with pytest.raises(UsageError, match=r"a directory"):
        load(f"ifbench:{tmp_path}")
    with pytest.raises(UsageError, match=r"a suite is a file .*, not the standard input"):
        load("ifbench:-")
    with pytest.raises(SpecError, match=r"no rows"):
        load(f"iftrain:{written(tmp_path)}")


def test_they_are_listed_with_how_to_name_them(listing: dict[str, Any]) -> None:
    rows = listing
    assert {"ifeval", "ifbench", "ifbench-2025", "iftrain", "core"} <= set(rows) == set(names())
    for name in ("ifeval", "ifbench", "ifbench-2025", "iftrain"):
        assert rows[name].usage.startswith(f"{name}:PATH")
        assert rows[name].paper.startswith("arXiv ")
        assert not rows[name].generated
    assert {name: rows[name].size for name in ("ifeval", "ifbench", "ifbench-2025", "iftrain", "core")} == {
        "ifeval": 541,
        "ifbench": 300,
        "ifbench-2025": 294,
        "iftrain": None,
        "core": 200,
    }
    assert all(row.answers.endswith(("?", ".")) for row in rows.values())
    for name in ("ifeval", "ifbench", "ifbench-2025", "iftrain"):  # the list says what the suite itself says
        published = getattr(
            import_module(f"adhere.suites.published.ifeval_rows.{name.replace('-', '_')}"),
            name.replace("-", "_").upper(),
        )
        assert (rows[name].size, rows[name].tokens) == (published.prompts, published.max_new_tokens)
