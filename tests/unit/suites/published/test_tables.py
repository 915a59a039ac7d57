"""Files as people have them: tables, compressed, with endings in capitals."""

import csv
import gzip
import json

import pytest
from tests.unit.suites.published.files import lines, listed, multi_if, multi_if_row
from tests.unit.suites.published.test_judge_suites import codeif, wild
from tests.unit.suites.test_fetch import ROW

from adhere.errors import SpecError, UsageError
from adhere.suites import load
from adhere.suites.published.catalog import CATALOG
from adhere.suites.published.table import read_rows

CONVERSATION = multi_if_row("k", "English", ("Say, no comma.", [("punctuation:no_comma", {})]))


@pytest.mark.parametrize("known", CATALOG, ids=lambda known: known.name)
def test_a_suite_s_facts_are_the_catalog_s(known):
    """What a person is told without a file is what `adhere list suites` says.

    One place, no second opinion on a licence.
    """
    with pytest.raises(UsageError) as told:
        load(known.name)
    assert f"{known.origin.files} of {known.origin.url} ({known.origin.licence})" in str(told.value)


def test_csv_and_tsv_in_any_case_and_compressed(tmp_path):
    plain = multi_if(tmp_path / "a.csv", [CONVERSATION])
    (tmp_path / "B.CSV").write_bytes(plain.read_bytes())
    (tmp_path / "c.csv.GZ").write_bytes(gzip.compress(plain.read_bytes()))
    with (tmp_path / "d.tsv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(CONVERSATION), delimiter="\t")
        writer.writeheader()
        writer.writerow(CONVERSATION)
    found = {name: load(f"multi-if:{tmp_path / name}") for name in ("a.csv", "B.CSV", "c.csv.GZ", "d.tsv")}
    assert {suite.sha256 for suite in found.values()} == {found["a.csv"].sha256}
    assert {suite.settings["file_sha256"] for suite in found.values()} == {found["a.csv"].settings["file_sha256"]}


def test_lists_in_json_may_be_compressed(tmp_path):
    plain = listed(tmp_path / "a.json", [wild(1)])
    (tmp_path / "b.JSON.gz").write_bytes(gzip.compress(plain.read_bytes()))
    assert read_rows(tmp_path / "b.JSON.gz").sha256 == read_rows(plain).sha256


def test_parquet(tmp_path):
    duckdb = pytest.importorskip("duckdb", reason="needs adhere[parquet]")
    for name, row in (("q", codeif()), ("w", wild(1)), ("i", ROW | {"kwargs": [{"unused": None}]})):
        plain = lines(tmp_path / f"{name}.jsonl", [row])
        duckdb.sql(f"COPY (SELECT * FROM read_json('{plain}')) TO '{tmp_path / name}[1].parquet' (FORMAT parquet)")
    for suite, name in (("wildifeval", "w"), ("ifeval", "i")):
        found, wanted = load(f"{suite}:{tmp_path / name}[1].parquet"), load(f"{suite}:{tmp_path / name}.jsonl")
        assert found.prompts == wanted.prompts
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(Exception, match="cannot be read as Parquet"):
        load(f"wildifeval:{tmp_path / 'bad.parquet'}")


def test_ifeval_reads_a_json_list(tmp_path):
    path = listed(tmp_path / "rows.json", [ROW, ROW | {"key": 8}])
    assert [prompt.id for prompt in load(f"ifeval:{path}").prompts] == ["7", "8"]
    with pytest.raises(SpecError, match=r"row 2: key 7: .*row 1 has the same key"):
        load(f"ifeval:{listed(path, [ROW, ROW])}")
    with pytest.raises(SpecError, match=r"row 1: .*prompt.*Columns: key, prompt"):
        load(f"ifeval:{listed(path, [{'key': 1}])}")


@pytest.mark.parametrize(("name", "message"), [("a.csv.gz", "not gzip"), ("a.json.zst", "not zstandard")])
def test_damaged_files_are_named(tmp_path, name, message):
    (tmp_path / name).write_bytes(json.dumps([wild(1)]).encode())
    with pytest.raises(SpecError, match=message):
        load(f"wildifeval:{tmp_path / name}")


def test_a_limit_takes_some_that_programs_decide_and_some_that_a_model_judges(tmp_path):
    """One group of each kind, in the order of the file: programs' rows stand first in every slice."""
    rows = [
        {
            "example_id": number,
            "category": "style",
            "source": source,
            "level": level,
            "instruction": f"{number} {level}",
            "target": "a",
        }
        for number, source in ((1, "E2E"), (2, "E2E"), (3, "own"), (4, "own"))
        for level in range(6)
    ]
    name = f"followbench-judged:{listed(tmp_path / 'style_constraints.json', rows)}"

    def taken(limit):
        return [prompt.constraints[0].id.partition(":")[0] for prompt in load(name, limit=limit).prompts]

    assert (taken(5).count("judged"), taken(10).count("judged")) == (2, 5)
    small, large = ({prompt.id for prompt in load(name, limit=limit).prompts} for limit in (7, 12))
    assert small < large
