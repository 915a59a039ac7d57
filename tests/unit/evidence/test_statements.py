"""Statements of a report against its sources: numbers, verdicts of programs, extraction, readers, hostile texts."""

from __future__ import annotations

import json
import time

import pytest
from tests.unit.evidence.test_reading import one_page_pdf

from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.read.documents import parse_document
from adhere.evidence.statements.assessments import VERDICTS, Assessment, Statement
from adhere.evidence.statements.contradictions import between_sentences, contradictions
from adhere.evidence.statements.extract import extract, why_none
from adhere.evidence.statements.grids import Grids
from adhere.evidence.statements.judge import Sources, judge
from adhere.evidence.statements.parts import split
from adhere.evidence.statements.quantities import agrees, quantities
from adhere.evidence.statements.reviews import review
from adhere.evidence.statements.wording import wording
from adhere.models.fake.scripted import ScriptedModel

SOURCE = """# FooLM: a small model

FooLM was trained on 18 trillion tokens with a batch size of 512. The study tested 256 working models of 331 on
October 14, 2025. Training FooLM costs just $60 and takes 10 hours. Accuracy drops from 0.877 at the first turn to
0.707 at the third turn. The framework was implemented using the OpenRouter API. FooLM does not use dropout.

| Model | MMLU | GSM8K (8-shot) | #Total Params |
|---|---|---|---|
| FooLM-7B | 61.2 | 55.0 | 7B |
| BarLM-7B | 58.9 | 57.5 | 8B |
| BazLM-7B | 49.9 | 50.1 | 9B |
"""
REPORT = """# A synthesis

20 claims were extracted from the literature; 2 independently verified.

| Claim | Verified |
|---|---|
| FooLM was trained on 18 trillion tokens in all | ✓ |
| The study tested 256 working models in October 2025 | × |
| FooLM costs ninety dollars to train it all again | ✓ |
"""


@pytest.fixture(scope="module")
def sources() -> Sources:
    return Sources.of([parse_document(SOURCE.encode(), name="foo.md")])


def verdict(text: str, sources: Sources) -> Assessment:
    return judge(Statement(text, "report.md", 1), sources)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("331 models, of which 256 passed", [331, 256]),
        ("from 7 to 18 trillion tokens", [7e12, 18e12]),
        ("one-fifth of the models", [0.2]),
        ("nine in ten problems", [0.9]),
        ("one in eighteen of its parameters", [1 / 18]),
        ("released on 2024/06/05 and 2023.11.30", [20240605, 20231130]),
        ("two and a half times as large", [2.5]),
        ("on eight out of ten benchmarks", [8, 10]),
        ("on October 14, 2025", [20251014]),
        ("2025年10月14日", [20251014]),
        ("涵盖了67个主题和十二种语言", [67, 12]),
        ("within 500 ms", [0.5]),
        ("the shorter of the two", []),
        ("GPT-4o and Qwen2.5", []),
        ("1" * 400, []),
    ],
)
def test_numbers_are_read_with_scale_and_unit(text: str, values: list[float]) -> None:
    assert [number.value for number in quantities(text) if not number.is_inner] == pytest.approx(values)


@pytest.mark.parametrize(
    ("stated", "source", "holds"),
    [
        ("61 points", "61.2", True),
        ("61.25", "61", False),  # more than the source says
        ("17.3%", "0.173", True),
        ("more than 80%", "86.1 %", True),
        ("more than 80%", "79.9 %", False),
        ("up to 94K tokens", "up to 64K tokens", False),
        ("1", "60 percent", False),
        ("more than nine in ten", "91.6", True),
        ("a third of the models", "33.4%", True),
        ("8K tokens", "8,192 tokens", True),
        ("10 seconds", "10,000 ms", True),
        ("10 seconds", "10 GB", False),
        ("in October 2025", "October 14, 2025", True),
        ("October 14, 2025", "in October 2025", False),
        ("about 5 million items", "4.8 million items", True),
    ],
)
def test_what_may_be_said_of_a_printed_number(stated: str, source: str, holds: bool) -> None:
    assert agrees(quantities(stated)[0], quantities(source)[0]) is holds


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("FooLM was trained on 18 trillion tokens.", "supported"),
        ("FooLM was trained on 18T tokens.", "supported"),
        ("FooLM was trained on 20 trillion tokens.", "denied"),
        ("In October 2025 the study tested 256 working models.", "supported"),
        ("The study tested 256 working models on October 15, 2025.", "denied"),
        ("More than three quarters of the 331 models were tested as working.", "supported"),
        ("Accuracy drops from 0.707 at the first turn to 0.877 at the third turn.", "denied"),
        ("Accuracy rises from 0.877 at the first turn to 0.707 at the third turn.", "denied"),
        ("The framework was implemented using the Together API.", "denied"),
        ("FooLM was trained on 512 H100 GPUs.", "not found"),
        ("FooLM scores 61.2 on MMLU.", "cannot tell"),  # which of its sizes?
        ("FooLM-7B scores 61.2 on MMLU.", "supported"),
        ("FooLM-7B scores 58.9 on MMLU.", "denied"),
        ("FooLM-7B reaches 61.2 on MMLU and 55.0 on GSM8K.", "supported"),
        ("FooLM-7B reaches 55.0 on MMLU and 61.2 on GSM8K.", "denied"),
        ("BarLM-7B outperforms FooLM-7B on GSM8K.", "supported"),
        ("BarLM-7B outperforms FooLM-7B on MMLU.", "denied"),
        ("Compared with BarLM-7B, FooLM-7B is better on MMLU.", "supported"),
        ("FooLM-7B is 2.3 points higher than BarLM-7B on MMLU.", "supported"),
        ("FooLM-7B is 3.3 points higher than BarLM-7B on MMLU.", "denied"),
        ("FooLM-7B has the highest MMLU.", "supported"),
        ("BarLM-7B has the highest MMLU.", "denied"),
        ("BarLM-7B has 8B params in total.", "supported"),
        ("QuxLM-7B scores 61.2 on MMLU.", "not found"),
        ("FooLM was trained on 18 trillion tokens, and it was filtered with a list of 4711 rules.", "partly"),
        ("FooLM does use dropout.", "cannot tell"),
        ("Users enjoyed long walks by the sea.", "not found"),
        ("FooLM-7B edges out BarLM-7B on MMLU by 2.3 points.", "supported"),
        ("FooLM-7B is more than two points higher than BarLM-7B on MMLU.", "supported"),
        ("FooLM-7B has the highest MMLU of all three models.", "supported"),
        ("BarLM-7B has the highest MMLU of the three models.", "denied"),
        ("BarLM-7B has the highest MMLU of the two models.", "cannot tell"),  # of which two?
        ("BarLM-7B does not have the highest MMLU.", "cannot tell"),
        ("BarLM-7B is more than nine in ten points ahead.", "cannot tell"),
        ("FooLM-7B is 9.9 points above its sister.", "cannot tell"),  # a difference may follow from two numbers
        ("FooLM costs about 4.6 million dollars.", "not found"),
    ],
)
def test_the_verdict_of_programs(text: str, wanted: str, sources: Sources) -> None:
    found = verdict(text, sources)
    assert found.verdict == wanted, found.reason
    assert found.evidence or wanted in {"not found", "cannot tell"}
    for quote in found.evidence:
        assert quote.file == "foo.md"
        assert quote.quote


CHINESE = "# FooLM\n\nFooLM 在高质量语料上训练了两万亿词元，目前不支持基座模型的命令行对话工具，数据类型采用半精度。\n"
LATEX = r"""\section{Results}
\begin{table}\begin{tabular}{lcc}
 & \textbf{\foothree 32B} & \textbf{Bar 32B} \\
DROP & 80.9 & 76.5 \\
BBH & 77.6 & 70.1 \\
\end{tabular}\end{table}
"""
LISTS = """# MathSet

It has three new sets, IQTest, FuncQA, and PaperQA, made for puzzle figures, plots of functions, and charts of papers.
The grants go to three fields: schools, climate and open science. We need Linux, Python 3.10+ and PyTorch 1.12+.
Model A7 outperforms Bard by 15.1%. It falls short of human performance by 10.4% overall.
FooChat-8B is derived from BarBase-8B, and it is licensed under the BarBase-8B license of 2024.
"""


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        (
            CHINESE,
            "The command-line tool does not support base models.",
            "cannot tell",
        ),  # in words that are not English
        (CHINESE, "FooLM was trained on A800 GPUs.", "not found"),  # a name that every language writes so
        (LISTS, "Of the three new sets, PaperQA is the one made for puzzle figures.", "cannot tell"),
        (LISTS, "The grants go to three fields: schools, health and open science.", "cannot tell"),
        (LISTS, "We need Linux, Python 3.8+ and PyTorch 1.12+.", "cannot tell"),
        (LISTS, "Model A7 outperforms Bard by 10.4%.", "cannot tell"),  # that number stands in the next sentence
        (
            LISTS,
            "BarBase-8B is derived from FooChat-8B, and it is licensed under the BarBase-8B license.",
            "cannot tell",
        ),
    ],
)
def test_what_a_program_cannot_know_is_left_open(source: str, text: str, wanted: str) -> None:
    held = Sources.of([parse_document(source.encode(), name="foo.md")])
    found = verdict(text, held)
    assert found.verdict == wanted, found.reason


def test_a_command_of_latex_is_the_name_that_it_spells() -> None:
    held = Sources.of([parse_document(LATEX.encode(), name="foo.tex", suffix=".tex")])
    assert verdict("Foo 3 32B scores 80.9 on DROP.", held).verdict == "supported"
    assert verdict("Foo 3 32B scores 76.5 on DROP.", held).verdict == "denied"


def test_evidence_is_the_line_of_the_source(sources: Sources) -> None:
    (quote,) = verdict("FooLM-7B scores 60.2 on MMLU.", sources).evidence
    assert (quote.line, quote.quote) == (9, "| FooLM-7B | 61.2 | 55.0 | 7B |")


def test_a_pdf_is_a_source_like_any_other() -> None:
    pytest.importorskip("pdfplumber")
    lines = ["FooLM was trained on 18 trillion tokens with a batch size", "of 512, and tested on October 14, 2025."]
    held = Sources.of([parse_document(one_page_pdf(lines), name="foo.pdf", suffix=".pdf")])
    assert verdict("FooLM was trained on 18T tokens.", held).verdict == "supported"
    assert verdict("FooLM was trained on 20T tokens.", held).verdict == "denied"
    assert verdict("FooLM was trained with a batch size of 512.", held).verdict == "supported"


def test_sentences_that_assert_nothing_are_counted_with_their_reason() -> None:
    texts = {
        "Is FooLM better than BarLM?": "question",
        "In this section we describe the setup of 3 runs.": "talk",
        "We will release the 7B model next year.": "plan",
        "[3] Smith, J. FooLM. 2024.": "citation",
        "Results and Discussion of Everything": "fragment",
        "Such methods are popular in practice.": "nothing to compare",
        "The temperature was low.": "",
        "The study tested 256 models on October 14, 2025.": "",
        "Proceedings of the Association, pages 1–14, 2019.": "citation",
        "FooLM-7B scores just 61.2.": "",
    }
    assert {text: why_none(text) for text in texts} == texts


def test_a_table_of_statements_is_read_row_by_row_and_counted_against_the_text() -> None:
    document = parse_document(REPORT.encode(), name="report.md")
    found = extract(document)
    assert [s.line for s in found.statements] == [3, 7, 8, 9]
    said = [item.reason for item in contradictions(document, found.statements, Grids(sheets_of(document)))]
    assert said == ["it says 20 claims; the table at line 5 lists 3"]
    right = document.name, REPORT.replace("20 claims", "3 claims").replace("2 independently", "1 independently")
    document = parse_document(right[1].encode(), name=right[0])
    (one,) = contradictions(document, extract(document).statements, Grids(sheets_of(document)))
    assert one.reason == "it says 1 verified; 2 rows of the table at line 5 are marked so"


def test_a_count_of_benchmarks_is_held_against_the_table() -> None:
    text = SOURCE.replace(
        "FooLM does not", "BarLM-7B outperforms FooLM-7B on two out of two benchmarks. FooLM does not"
    )
    document = parse_document(text.encode(), name="foo.md")
    (one,) = contradictions(document, extract(document).statements, Grids(sheets_of(document)))
    assert one.reason.endswith("BarLM-7B is ahead in 1 of 2")


REPEATED = """# A report of FooLM

FooLM was trained on 18 trillion tokens with 512 GPUs. It is small.

## Results

FooLM scores 61.2 on MMLU. BarLM scores 58.9 on MMLU. In 2024 FooLM had 3 users. The results are in Table 1.

## Conclusion

As we said, FooLM was trained on {tokens} trillion tokens with 512 GPUs. In 2025 FooLM had 9 users. In 2024
FooLM had 3 offices. In 2025 FooLM had 3 offices. The results are in
Table 2. Released on 2024-05-13 by FooLM. Released on 2024-08-06 by FooLM. Run it with --seed 1 and --steps 20. Run it with --seed 1 and --steps 30.
"""


@pytest.mark.parametrize(("tokens", "wanted"), [("18", []), ("20", ["18 trillion and 20 trillion"])])
def test_two_sentences_that_repeat_each_other_but_for_a_number(tokens: str, wanted: list[str]) -> None:
    document = parse_document(REPEATED.format(tokens=tokens).encode(), name="report.md")
    found = list(between_sentences(document, Sources.of([document])))
    assert [one.reason for one in found] == [
        f"two sentences of the report differ in a number: {said}" for said in wanted
    ]
    assert [(one.statement.line, one.place.line) for one in found] == [(3, 11)] * len(wanted)


SENTENCE = "FooLM was trained on 18 trillion tokens, and BarLM scores 58.9 on MMLU."


@pytest.mark.parametrize(
    ("parts", "refused"),
    [
        (["FooLM was trained on 18 trillion tokens", "BarLM scores 58.9 on MMLU"], ""),
        (["FooLM was trained on 18T tokens.", "BarLM scores 58.9 on MMLU."], ""),
        ([SENTENCE], ""),
        (["FooLM was trained on 20 trillion tokens", "BarLM scores 58.9 on MMLU"], "a part has a number that the"),
        (["FooLM was trained on 18 trillion tokens", "QuxLM and BarLM score 58.9 on MMLU"], "a part has a name that"),
        (["FooLM was trained on many tokens", "BarLM scores 58.9 on MMLU"], "the parts leave out a number or a name"),
        ([], "not one to 8 parts"),
        (None, "not one JSON object"),
    ],
)
def test_a_split_adds_nothing_and_leaves_nothing_out(parts: list[str] | None, refused: str) -> None:
    model = ScriptedModel(lambda request: "I would rather not." if parts is None else json.dumps({"parts": parts}))
    other = Statement("FooLM is small.", "report.md", 5)
    found, told = split([Statement(SENTENCE, "report.md", 3), other], model)
    assert found[-1] == other
    assert told.asked == 1  # the other one is no compound
    if refused or parts == [SENTENCE]:
        assert [one.text for one in found[:-1]] == [SENTENCE]
        assert all(why.startswith(refused) for why in told.refused)
        assert (told.split, len(told.refused)) == (0, bool(refused))
        return
    assert [(one.text, one.line, one.whole) for one in found[:-1]] == [(part, 3, SENTENCE) for part in parts or []]
    assert [one.part for one in found[:-1]] == [
        "quotation" if part in SENTENCE else "paraphrase" for part in parts or []
    ]
    assert told.refused == {}


def test_confidence_is_a_frequency_of_at_least_30_labels() -> None:
    from adhere.evidence.statements.calibration import LEAST, frequencies, with_confidence

    said = {verdict: of >= LEAST for verdict, (_, of) in frequencies().items()}
    assert said == {"supported": False, "denied": False, "not found": True}
    statement = Statement("A is 5.", "a.md", 1)
    shown = {v: with_confidence(Assessment(statement, v, "words", (), "")).confidence for v in VERDICTS}
    assert shown == {"supported": None, "denied": None, "partly": None, "not found": 0.68, "cannot tell": None}


def answers(verdicts: list[tuple[str, str]]) -> ScriptedModel:
    replies = [json.dumps({"verdict": said, "quote": quote}) for said, quote in verdicts]
    return ScriptedModel(lambda request: replies[request.draw % len(replies)])


@pytest.mark.parametrize(
    ("replies", "wanted", "reason"),
    [
        ([("denied", "FooLM does not use dropout.")], "denied", ""),
        ([("denied", "FooLM never used dropout.")], "cannot tell", "no passage has these words"),
        ([("denied", "")], "cannot tell", "no passage has these words"),
        ([("denied", "FooLM does not use dropout."), ("not found", "")], "cannot tell", "the verdict changed with"),
    ],
)
def test_a_reader_must_quote_and_hold_to_its_verdict(
    replies: list[tuple[str, str]], wanted: str, reason: str, sources: Sources
) -> None:
    (item,), told = review([verdict("FooLM does use dropout.", sources)], sources, [answers(replies)])
    assert item.verdict == wanted
    assert told.opinions[0].reason.startswith(reason)
    assert (told.kappa, told.pairs) == (None, 0)


def test_readers_never_change_what_programs_decided(sources: Sources) -> None:
    decided = verdict("FooLM was trained on 18 trillion tokens.", sources)
    (item,), told = review([decided], sources, [answers([("not found", "")])] * 2)
    assert item == decided
    assert told.pairs == 1


@pytest.mark.parametrize(
    "text",
    [
        "a1" * 20_000,
        "1," * 20_000,
        "one " * 20_000,
        "FooLM " * 5_000,
        "(" * 20_000,
        "-" * 50_000,
        "\u202e\x1b[31m" * 3_000,
        "二十" * 9_000,
        "1e" * 20_000,
    ],
)
def test_hostile_texts_end_soon(text: str, sources: Sources) -> None:
    began = time.process_time()
    held = Sources.of([parse_document(f"# T\n\n{text} is 5.\n".encode(), name="t.md")])
    verdict(text[:1500], held)
    verdict(text[:1500], sources)
    wording(text)
    assert time.process_time() - began < 20
