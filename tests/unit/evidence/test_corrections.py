"""How each table was read is told, and a file of corrections says how one is to be read that was misread."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.markdown import table

from adhere.errors import SpecError, UsageError
from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Findings
from adhere.evidence.read.corrections import correct, load_corrections
from adhere.evidence.read.documents import parse_document
from adhere.report.claims.text import claims_text, reading_words

TASKS = table("Set | PoFL | KFC", "EMNIST | 0.8986 | 0.9921", "Fashion | 0.8133 | 0.9000")
DATED = table("Date | Net | WER | CER", "2022/10 | small | 12.1 | 4.2", "2022/12 | small-eu | 9.1 | 2.2")


def found(text: str, said: str = "", tmp_path: Path | None = None) -> Findings:
    document = parse_document(text.encode(), name="a.md")
    if tmp_path is not None:
        path = tmp_path / "said.toml"
        path.write_text(said)
        correct([document], load_corrections(path))
    return findings_of(gather([document]))


def read(findings: Findings) -> list[tuple[str, str, float]]:
    return [
        (c.model, " ".join(filter(None, [c.benchmark, c.variant, c.metric.replace("score", "")])), c.value)
        for c in findings.claims
    ]


def test_each_table_tells_how_it_was_read() -> None:
    text = "**Table 1: Results.**\n\n" + table(
        "Model | MMLU | GSM8K | IFEval", *(f"Yi-{n}B | 6{n}.2 | 7{n}.1 | 4{n}.0" for n in range(1, 7))
    )
    findings = found(text + "\n\ntext\n\n" + table("Language | Speakers", "Basque | 750000", "Breton | 210000"))
    (reading,) = findings.tables
    assert (reading.document, reading.line, reading.name, reading.models_in) == ("a.md", 5, "Table 1", "rows")
    assert (reading.models, reading.model_count) == (("Yi-1B", "Yi-2B", "Yi-3B", "Yi-4B"), 6)
    assert (reading.benchmarks, reading.benchmark_count, reading.claims) == (("MMLU", "GSM8K", "IFEval"), 3, 18)
    shown = " ".join(claims_text(findings).split())
    assert (
        "a.md:5 Table 1: models in rows: Yi-1B, Yi-2B, Yi-3B, Yi-4B and 2 more; measured: MMLU, GSM8K, IFEval (18 claims)"
        in shown
    )
    assert "--corrections" in shown
    assert "a.md:19" in shown  # the table that makes no claim is listed with why


@pytest.mark.parametrize("is_turned", [False, True])
def test_numbers_that_make_no_claim_are_named(*, is_turned: bool) -> None:
    rows = (("Model", "MMLU", "Latency (ms)"), ("Yi-6B", "61.2", "31.5"), ("Yi-9B", "62.1", "41.5"))
    head, *body = (" | ".join(row) for row in (zip(*rows, strict=True) if is_turned else rows))
    (reading,) = found(table(head, *body)).tables
    assert (reading.no_scores, reading.claims) == (("Latency (ms)",), 2)
    assert "measured: MMLU; no scores: Latency (ms)" in reading_words(reading)


def test_a_model_that_is_called_like_an_attribute_is_named_as_left_out(tmp_path: Path) -> None:
    text = table("Dataset | Yi-6B | Yi-9B | LR", "MMLU | 61.2 | 62.1 | 51.1", "GSM8K | 51.2 | 52.1 | 41.1")
    (reading,) = found(text).tables
    assert (reading.models_in, reading.no_scores, reading.claims) == ("columns", ("LR",), 4)
    said = '[[table]]\nat = "a.md:3"\nmodels = "columns"\nscores = ["Yi-6B", "Yi-9B", "LR"]\n'
    assert [c.model for c in found(text, said, tmp_path).claims[:3]] == ["Yi-6B", "Yi-9B", "LR"]


@pytest.mark.parametrize(("axis", "models"), [("rows", ["EMNIST", "Fashion"]), ("columns", ["PoFL", "KFC"])])
def test_the_axis_of_models(axis: str, models: list[str], tmp_path: Path) -> None:
    findings = found(TASKS, f'[[table]]\nat = "a.md:3"\nmodels = "{axis}"\n', tmp_path)
    assert list(dict.fromkeys(model for model, *_ in read(findings))) == models
    assert len(findings.claims) == 4
    assert findings.tables[0].is_corrected
    assert findings.tables[0].models_in == axis


def test_a_table_of_no_scores(tmp_path: Path) -> None:
    findings = found(
        table("Model | MMLU", "Yi-6B | 61.2", "Yi-9B | 62.1"), '[[table]]\nat = "a.md:3"\nmodels = "none"\n', tmp_path
    )
    assert not findings.claims
    assert not findings.tables
    assert "its correction says that it holds no scores" in findings.unread[0].message


def test_the_column_of_names(tmp_path: Path) -> None:
    findings = found(DATED, '[[table]]\nat = "a.md:3"\nnames = "net"\nmodels = "rows"\n', tmp_path)
    assert read(findings)[0] == ("small", "WER WER", 12.1)
    assert {model for model, *_ in read(findings)} == {"small", "small-eu"}


def test_names_behind_the_numbers(tmp_path: Path) -> None:
    text = table("dev WER | test WER | Unit | Paper", "2.5 | 5.5 | phone | NAS", "2.7 | 5.3 | char | CAT")
    assert not found(text).claims
    findings = found(text, '[[table]]\nat = "a.md:3"\nnames = "Paper"\nmodels = "rows"\n', tmp_path)
    assert [(model, name.split()[0], value) for model, name, value in read(findings)] == [
        *[("NAS", "dev", 2.5), ("NAS", "test", 5.5), ("CAT", "dev", 2.7), ("CAT", "test", 5.3)]
    ]


@pytest.mark.parametrize(("axis", "where"), [("", "rows"), ("rows", "rows"), ("columns", "columns")])
def test_the_one_model(axis: str, where: str, tmp_path: Path) -> None:
    said = '[[table]]\nat = "a.md:3"\nmodel = "Yi-6B"\n' + (f'benchmarks = "{axis}"\n' if axis else "")
    findings = found(table("Split | easy | hard", "dev | 81.2 | 61.2", "test | 82.1 | 62.1"), said, tmp_path)
    assert {model for model, *_ in read(findings)} == {"Yi-6B"}
    assert read(findings)[0][1].startswith("dev" if where == "rows" else "easy")


def test_what_all_was_measured_on(tmp_path: Path) -> None:
    text = table("Model | clarity | hedging | F1", "Yi-6B | 61.2 | 51.2 | 0.5", "Yi-9B | 62.1 | 52.1 | 0.6")
    said = '[[table]]\nat = "a.md:3"\nmeasured_on = "HealthBench"\n'
    assert [name for _, name, _ in read(found(text, said, tmp_path))[:3]] == [
        "HealthBench clarity", "HealthBench hedging", "HealthBench F1"
    ]  # fmt: skip
    turned = found(TASKS, said + 'models = "columns"\n', tmp_path)
    assert read(turned)[0] == ("PoFL", "HealthBench EMNIST", 0.8986)


def test_what_all_was_measured_by(tmp_path: Path) -> None:
    said = '[[table]]\nat = "a.md:3"\nmodels = "columns"\nmetric = "NDCG@10"\n'
    assert read(found(TASKS, said, tmp_path))[0] == ("PoFL", "EMNIST NDCG@10", 0.8986)
    named = found(TASKS, said + 'measured_on = "F1 por clase"\n', tmp_path)
    assert read(named)[0][1] == "por clase EMNIST F1"
    assert read(found(TASKS, said + 'measured_on = "NDCG@10"\n', tmp_path))[0][1] == "NDCG@10 EMNIST NDCG@10"


def test_the_columns_of_scores(tmp_path: Path) -> None:
    text = table("Net | train | car | Degradation", "A | 0.51 | 0.61 | 0.02", "B | 0.52 | 0.62 | 0.01")
    said = '[[table]]\nat = "a.md:3"\nnames = "Net"\nscores = ["train", "car"]\n'
    assert read(found(text, said, tmp_path)) == [
        *[("A", "train", 0.51), ("A", "car", 0.61), ("B", "train", 0.52), ("B", "car", 0.62)]
    ]


def test_names_alone_say_that_models_stand_in_rows(tmp_path: Path) -> None:
    text = table("test CER | Unit | AM | Paper", "4.18 | char | RNN-T | WNARS", "4.5 | char | ATT | CAT")
    for column, model in (("AM", "RNN-T"), ("Paper", "WNARS")):
        findings = found(text, f'[[table]]\nat = "a.md:3"\nnames = "{column}"\n', tmp_path)
        assert next((name, value) for name, _, value in read(findings)) == (model, 4.18)
        assert len(findings.claims) == 2


def test_other_tables_are_read_as_before(tmp_path: Path) -> None:
    text = TASKS + "\n\ntext\n\n" + table("Model | MMLU", "Yi-6B | 61.2", "Yi-9B | 62.1")
    corrected = found(text, '[[table]]\nat = "a.md:3"\nmodels = "columns"\n', tmp_path)
    assert read(corrected)[-2:] == read(found(text))[-2:] == [("Yi-6B", "MMLU", 61.2), ("Yi-9B", "MMLU", 62.1)]


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ('at = "a.md:3"\nscores = ["PoFL", "Acc"]', UsageError, "is called 'Acc'"),
        ('at = "a.md:7"\nmodels = "rows"', UsageError, "no table begins at 'a.md:7'.*Tables begin at: a.md:3"),
        ('at = "a.md:3"\nnames = "System"', UsageError, "no column .* is called 'System'; its columns: Set, PoFL, KFC"),
        ('at = "a.md:3"\nmodels = "row"', SpecError, "said.toml:3: models: no such value 'row'. Did you mean 'rows'"),
        ('at = "a.md:3"\nmodels = "rows"\n[[table]]\nat = "a.md:3"\nmetric = "F1"', UsageError, "stands there 2 times"),
        ('at = "a.md:3"\nmodel = "rows"', UsageError, "the axis is `models`"),
        ('at = "a.md:3"\nmodel = "X"\nmodels = "rows"', UsageError, "give one"),
        ('at = "a.md:3"\nmodels = "rows"\nbenchmarks = "rows"', UsageError, "which only says where they stand"),
        ('at = "a.md:3"', UsageError, "says nothing: give models, names"),
        ('at = "a.md:3"\nmodls = "rows"', SpecError, "unknown key 'modls'.*Did you mean"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(said: str, error: type[Exception], message: str, tmp_path: Path) -> None:
    with pytest.raises(error, match=message):
        found(TASKS, f"[[table]]\n{said}\n", tmp_path)
