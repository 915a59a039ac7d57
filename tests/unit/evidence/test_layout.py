"""Tables as other authors print them: what is a model, a benchmark, a setting, and what is none of these."""

from __future__ import annotations

import pytest

from adhere.evidence.claims.names import is_attribute, label_kind, looks_like_model, model_name, role_of, shots_of
from adhere.evidence.claims.sheets import sheets_of
from adhere.evidence.claims.values import Sheet
from adhere.evidence.read.documents import parse_document


def sheets(text: str, suffix: str = ".md") -> list[Sheet]:
    return sheets_of(parse_document(text.encode(), name="a", suffix=suffix))


def cells(text: str, suffix: str = ".md") -> list[tuple[str, str, str, float]]:
    """Model, benchmark, what is said beside them, and the number of every claim of a document."""
    return [
        (
            v.model.name,
            f"{v.benchmark.shown} {v.benchmark.variant}".strip(),
            " ".join(filter(None, [v.benchmark.metric, v.setting, f"{v.shots}-shot" * bool(v.shots), v.beside])),
            v.printed.value,
        )
        for sheet in sheets(text, suffix)
        for v in sheet.values()
        if v.model and v.benchmark and v.role in {"score", "aggregate"}
    ]


HTML = """# Results

### Instruction tuned models

<table>
  <tr>
   <td><strong>Category</strong></td>
   <td><strong>Benchmark</strong></td>
   <td><strong># Shots</strong></td>
   <td><strong>Metric</strong></td>
   <td><strong>Llama 3.1 8B</strong></td>

   <td><strong>Other Model<br><sup>(w/o thinking)</sup></strong></td>
  </tr>
  <tr><td rowspan="2">General</td><td>MMLU<sup>1</sup></td><td>5</td><td>macro_avg/acc</td><td>69.4</td><td><b>70.1</b></td></tr>
  <tr><td>DROP (F1)</td><td>3</td><td>f1</td><td>59.5</td><td>58.0</td></tr>
  <tr><td colspan="6"><strong>Coding Tasks</strong></td></tr>
  <tr><td rowspan="2">Code</td><td rowspan="2">SWE-bench Verified</td><td>-</td><td>Single Attempt (Acc)</td><td>30.0</td><td>41.0</td></tr>
  <tr><td>-</td><td>Multiple Attempts (Acc)</td><td>35.5</td><td>44.0</td></tr>
</table>
"""


def test_an_html_table_inside_markdown_with_spans_blank_cells_and_label_columns() -> None:
    assert cells(HTML) == [
        ("Llama-3.1-8B-Instruct", "MMLU", "macro_avg/acc 5-shot", 69.4),
        ("Other Model", "MMLU", "macro_avg/acc w/o thinking 5-shot", 70.1),
        ("Llama-3.1-8B-Instruct", "DROP", "F1 3-shot", 59.5),
        ("Other Model", "DROP", "F1 w/o thinking 3-shot", 58.0),
        ("Llama-3.1-8B-Instruct", "SWE-bench Verified", "accuracy Single Attempt", 30.0),
        ("Other Model", "SWE-bench Verified", "accuracy w/o thinking Single Attempt", 41.0),
        ("Llama-3.1-8B-Instruct", "SWE-bench Verified", "accuracy Multiple Attempts", 35.5),
        ("Other Model", "SWE-bench Verified", "accuracy w/o thinking Multiple Attempts", 44.0),
    ]
    sheet = sheets(HTML)[0]
    assert [(value.line, value.bold) for value in sheet.values()][:2] == [(15, False), (15, True)]
    assert not any("5" in sentence.text for sentence in sheet.document.sentences)


def test_several_header_rows_shots_links_and_a_size_column() -> None:
    text = (
        "| Model | Size | **MMLU** | **MMLU** | C-Eval(val)<sup>*</sup> |\n|---|---|---|---|---|\n"
        "| | | 0-shot | 5-shot | - |\n"
        "| [Foo](https://x.org/(a)) | 7B | 50.1 | **51.2**† | 40.0 |\n| Foo | 13B | 55.1 | 56.2 | - |\n"
    )
    assert cells(text) == [
        ("Foo 7B", "MMLU", "0-shot", 50.1),
        ("Foo 7B", "MMLU", "5-shot", 51.2),
        ("Foo 7B", "C-Eval val", "", 40.0),
        ("Foo 13B", "MMLU", "0-shot", 55.1),
        ("Foo 13B", "MMLU", "5-shot", 56.2),
    ]


def test_chinese_headings_and_a_column_that_says_base_or_chat() -> None:
    text = (
        "| 模型 | 类型 | C-Eval | 通用领域 | 平均 |\n|---|---|---|---|---|\n| 通用-7B | 底座 | 50.0 | 60.0 | 55.0 |\n"
        "| 通用-7B | 对话 | 51.0 | 61.0 | 56.0 |\n"
    )
    found = [v for sheet in sheets(text) for v in sheet.values() if v.model]
    assert [v.model.tuning for v in found if v.model] == ["base"] * 3 + ["instruct"] * 3
    assert [v.role for v in found][:3] == ["score", "score", "aggregate"]


def test_a_family_over_sizes_and_a_setting_below_a_model() -> None:
    text = (
        "| Benchmark | Qwen2.5 | Qwen2.5 | Llama-3-8B |\n|---|---|---|---|\n| | 7B | 14B-Instruct | Int4 |\n"
        "| MMLU | 1.5 | 2.5 | 3.5 |\n| BBH | 1.5 | 2.5 | 3.5 |\n"
    )
    assert cells(text)[:3] == [
        ("Qwen2.5-7B", "MMLU", "", 1.5),
        ("Qwen2.5-14B-Instruct", "MMLU", "", 2.5),
        ("Llama-3-8B", "MMLU", "Int4", 3.5),
    ]


def test_shots_over_columns_are_of_the_benchmark_that_the_caption_names() -> None:
    text = (
        "*Table 4: **TriviaQA.** Exact match.*\n\n Model | psz | 0-shot | 64-shot\n"
        "---|---|---|---\n Gopher | 280B | 43.5 | 57.2\n LLaMA | 7B | 50.0 | 57.6\n"
    )
    assert cells(text)[:2] == [
        ("Gopher 280B", "TriviaQA", "0-shot", 43.5),
        ("Gopher 280B", "TriviaQA", "64-shot", 57.2),
    ]


def test_one_model_in_the_corner_makes_the_rows_its_settings() -> None:
    text = "|Llama-3-8B Model| BoolQ | PIQA |\n|---|---|---|\n| LoRA | 70.6 | 66.4 |\n| Full FT | 71.0 | 66.2 |\n"
    assert cells(text)[0] == ("Llama-3-8B", "BoolQ", "LoRA", 70.6)
    assert "names Llama-3-8B" in sheets(text)[0].values()[0].guesses[0]


def test_a_label_printed_twice_is_told_apart() -> None:
    text = "| Group | Task | A-7B |\n|---|---|---|\n| English | QA | 1.0 |\n| Chinese | QA | 2.0 |\n"
    assert [beside for _, _, beside, _ in cells(text)] == ["English", "Chinese"]


LATEX = r"""\documentclass{article}
\newcommand{\ours}{Foo-7B}
\begin{document}
\section{Results}
As Table~\ref{tab:main} shows, \ours{} scores 71.2 on MMLU.
\begin{table}[t]
\caption{Main results of chat models~\cite{a}.}
\label{tab:main}
\begin{tabular}{l|c*{2}{c}}
\toprule
\multirow{2}{*}{\textbf{Model}} & \multicolumn{2}{c}{General} & Math \\
\cmidrule(lr){2-3}
 & MMLU & BBH\textsuperscript{1} & GSM8K $\uparrow$ \\ % a comment
\midrule
\multicolumn{4}{c}{\textit{Open models}} \\
Llama-2-7B~\cite{x} & 45.3 & 32.6 & 14.6 \\
\rowcolor{gray} \ours & \textbf{71.2} & $\mathbf{60.1}$ & {\bf 77.0} \\
\bottomrule
\end{tabular}
\end{table}
\input{more}
"""


def test_a_latex_table_with_macros_spans_and_marks() -> None:
    assert cells(LATEX, ".tex")[:3] == [
        ("Llama-2-7B-Instruct", "MMLU", "General", 45.3),
        ("Llama-2-7B-Instruct", "BBH", "General", 32.6),
        ("Llama-2-7B-Instruct", "GSM8K", "Math", 14.6),
    ]
    sheet = sheets(LATEX, ".tex")[0]
    assert (sheet.table.name, sheet.table.rows[0].section) == ("Table 1", "Open models")
    assert [(v.line, v.bold) for v in sheet.values()] == [(16, False)] * 3 + [(17, True)] * 3
    assert any(s.text == "As Table 1 shows, Foo-7B scores 71.2 on MMLU." for s in sheet.document.sentences)
    assert "\\input{more} is not followed" in sheet.document.problems[0].message


@pytest.mark.parametrize(
    "rows",
    [
        (
            "| Model | Training Time (GPU hours) | Power Consumption (W) |\n|---|---|---|\n"
            "| Llama-3-8B | 1.3 | 700 |\n| Total | 7.7 | 1900 |\n"
        ),
        "| 模型结构 | Llama-2-13B | Foo-13B |\n|---|---|---|\n| 词表大小 | 32,000 | 65,536 |\n| Hidden Dim | 5,120 | 4,608 |\n",
        "| Precision | Foo-7B | Foo-13B |\n|---|---|---|\n| bf16 / fp16 | 15.3 | 27.5 |\n| 4bits | 5.1 | 8.6 |\n",
    ],
)
def test_tables_of_attributes_make_no_claims_and_say_why(rows: str) -> None:
    assert cells(rows) == []


def test_tables_in_comments_and_quotes() -> None:
    table = "| M | MMLU | BBH |\n|---|---|---|\n| A-7B | 1.5 | 2.5 |\n"
    assert cells(f"<!--\n{table}-->\n") == []
    assert len(cells("".join(f"> {line}\n" for line in table.splitlines()))) == 2


def test_cells_without_a_row_are_a_row() -> None:
    text = (
        "<!doctype "
        "html><table><tr><td>Model</td><td>MMLU</td><td>BBH</td></tr><tr><td>A-7B</td><td>1.5</td><td>2.5</td></tr><td>B-7B</td><td>3.5</td><td>4.5</td></tr></table>"
    )
    assert [value for *_, value in cells(text, ".html")] == [1.5, 2.5, 3.5, 4.5]


def test_raised_words_belong_to_the_label_and_raised_marks_do_not() -> None:
    text = (
        "| Model | DocVQA<sup>test</sup> | MMLU<sup>1</sup> |\n|---|---|---|\n| Foo-7B | 92.8 | 88.7 |\n"
        "| Bar-7B | 90.8 | 80.7 |\n"
    )
    assert [benchmark for _, benchmark, _, _ in cells(text)][:2] == ["DocVQA test", "MMLU"]
    html = "<table><tr><th>Model</th><th>DocVQA<sup>test</sup></th><th>MMLU<sup>1</sup></th></tr><tr><td>Foo-7B</td><td>92.8</td><td>88.7</td></tr></table>"
    assert [benchmark for _, benchmark, _, _ in cells(html)] == ["DocVQA test", "MMLU"]


def test_a_second_header_between_rows_begins_a_second_table() -> None:
    text = (
        "| Model | MMLU | BBH |\n|---|---|---|\n| A-7B | 1.5 | 2.5 |\n| Model | GSM8K | MATH |\n| A-7B | 3.5 | 4.5 |\n"
    )
    assert [benchmark for _, benchmark, _, _ in cells(text)] == ["MMLU", "BBH", "GSM8K", "MATH"]


@pytest.mark.parametrize(
    ("label", "role"),
    [
        ("DROP", "score"),
        ("DROP (3-shot F1)", "score"),
        ("SWE Verified (Resolved)", "score"),
        ("Open-LLaMA-13B", "score"),
        ("Executable Rate of Code (%)", "score"),
        ("Knowledge", "score"),
        ("Overall Acc.", "aggregate"),
        ("avg w/o Zh.QA", "aggregate"),
        ("平均", "aggregate"),
        ("Δ full book", "delta"),
        ("Pretrain Tokens", "attribute"),
        ("Carbon Emitted(tCO2eq)", "attribute"),
    ],
)
def test_a_role_needs_the_whole_label(label: str, role: str) -> None:
    assert role_of(label) == role


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        ("Benchmark (Metric)", "benchmarks"),
        ("# Shots", "shots"),
        ("Task/Metric", "benchmarks"),
        ("模型", "models"),
        ("psz", "size"),
        ("Code", ""),
        ("Training Time (GPU hours)", "attribute"),
    ],
)
def test_what_a_label_over_labels_says(label: str, kind: str) -> None:
    assert label_kind(label) == kind


@pytest.mark.parametrize(
    "label",
    [
        "Step-1V",
        "TinyLlama",
        "o1-mini",
        "OpenAI o1-mini",
        "Claude Opus 4",
        "QwQ-32B-Preview",
        "WizardMath-13B",
        "Foo-Inst.",
    ],
)
def test_models_of_any_family_look_like_models(label: str) -> None:
    assert looks_like_model(label) or label == "Foo-Inst."


@pytest.mark.parametrize("label", ["AIME 2024", "GSM8K", "C3", "Step", "Command", "Code", "128K", "Ratio = 20%"])
def test_benchmarks_and_words_do_not(label: str) -> None:
    assert not looks_like_model(label)


def test_a_models_identity_is_parsed() -> None:
    assert model_name("ChatGLM3-6B-Base").tuning == "base"
    assert model_name("ChatGLM3-6B").tuning == "instruct"
    assert model_name("ChatGLM3-6B-Base").key == model_name("ChatGLM3-6B").key
    assert model_name("Qwen-1_8B-Chat").key == model_name("Qwen-1.8B").key
    assert model_name("OpenAI o1-mini").key == model_name("o1-mini").key
    assert model_name("Foo-7B (ours)").name == "Foo-7B"
    assert model_name("Open-LLaMA-13B").key != model_name("LLaMA-13B").key
    assert model_name("DeepSeek-R1").key == model_name("DeepSeek R1").key


def test_shots_are_taken_out_of_a_label() -> None:
    assert shots_of("BIG-Bench Hard (3-shot, CoT)") == ("3", "BIG-Bench Hard (CoT)")
    assert shots_of("AGIEval English (3-5 shot)") == ("3-5", "AGIEval English")
    assert shots_of("MMLU") == ("", "MMLU")
    assert is_attribute("Context Length")
    assert not is_attribute("MATH")


def test_one_model_in_the_heading_and_a_column_called_score() -> None:
    text = (
        "# Foo-7B-Instruct\n\n## Evaluation\n\n| Benchmark | Score |\n|---|---|\n| MMLU (5-shot) | 71.6 |\n"
        "| GSM8K | 60.2 |\n"
    )
    assert cells(text) == [("Foo-7B-Instruct", "MMLU", "5-shot", 71.6), ("Foo-7B-Instruct", "GSM8K", "", 60.2)]


def test_a_row_for_every_model_and_benchmark() -> None:
    text = (
        "| Model | Benchmark | Score |\n|---|---|---|\n| Foo-7B | MMLU | 71.6 |\n| Foo-7B | BBH | 51.6 |\n"
        "| Bar-7B | MMLU | 61.6 |\n"
    )
    assert cells(text) == [
        ("Foo-7B", "MMLU", "", 71.6),
        ("Foo-7B", "BBH", "", 51.6),
        ("Bar-7B", "MMLU", "", 61.6),
    ]


def test_an_unknown_family_over_sizes_and_a_metric_that_is_all() -> None:
    sizes = (
        "| Benchmark | Foo | | Llama 2 | |\n|---|---|---|---|---|\n| | 7B | 13B | 7B | 13B |\n"
        "| MMLU | 60.0 | 65.0 | 45.3 | 54.8 |\n| BBH | 1.0 | 2.0 | 3.0 | 4.0 |\n"
    )
    assert [model for model, *_ in cells(sizes)][:4] == ["Foo 7B", "Foo 13B", "Llama-2-7B", "Llama-2-13B"]
    metric = (
        "| Method | GSM8K | PPL ↓ | Votes |\n|---|---|---|---|\n| Full FT | 60.1 | 5.12 | 100 |\n"
        "| LoRA | 59.0 | 5.30 | 40 |\n"
    )
    assert [(benchmark, value) for _, benchmark, _, value in cells(metric)][:2] == [("GSM8K", 60.1), ("PPL ↓", 5.12)]
    assert len(cells(metric)) == 4
