"""Which axis of a table holds the models, where no list knows its names."""

from __future__ import annotations

import pytest
from tests.markdown import table

from adhere.evidence.check import findings_of, gather
from adhere.evidence.claims.names import benchmark_name, metric_name
from adhere.evidence.claims.printed import Beside, number_of
from adhere.evidence.findings import Findings
from adhere.evidence.read.documents import parse_document


def found(text: str, suffix: str = ".md") -> Findings:
    return findings_of(gather([parse_document(text.encode(), name="a", suffix=suffix)]))


def pairs(text: str) -> list[tuple[str, str]]:
    return [(c.model, c.benchmark) for c in found(text).claims]


@pytest.mark.parametrize(
    ("head", "row"),
    [
        ("Rule | Kind | 1.7B | 4B", "no_call | surface | 1.00 | 0.95"),  # sizes
        ("Step | Uniform weight | Gradient weight | Improvement", "first | 62.32 | 74.26 | +19.2%"),
        ("Metric | Baseline | Beam search | Δ", "Overall accuracy | 59.05 | 57.21 | -1.84"),
    ],
)
def test_columns_are_compared_where_they_are_sizes_or_a_difference_stands_beside_them(head: str, row: str) -> None:
    names = [name.strip() for name in head.split("|") if name.strip() not in {"Improvement", "Δ"}][-2:]
    claims = found(
        table(head, row, row.replace("first", "second").replace("no_call", "blind").replace("O", "P"))
    ).claims
    assert [c.model for c in claims][:2] == names


def test_columns_of_one_measure_beside_a_difference_are_compared() -> None:
    claims = found(
        table("Pair | Wren P@1 | Finch P@1 | Δ", "cs-de | 61.2 | 63.4 | +2.2", "de-hr | 51.2 | 53.4 | 2.2")
    ).claims
    assert [(c.model, c.metric) for c in claims][:2] == [("Wren", "P@1"), ("Finch", "P@1")]


@pytest.mark.parametrize(
    ("label", "metric"),
    [("Spearman's correlation", "Spearman"), ("Pearson correlation coefficient", "Pearson"), ("R@1 (%) ↑", "R@1")],
)
def test_a_measure_is_its_name_without_what_every_measure_of_its_kind_says(label: str, metric: str) -> None:
    assert metric_name(label) == (metric, "")


def test_methods_below_a_label_that_says_so_stand_in_columns() -> None:
    text = (
        "<html><table><tr><th>Metric</th><th>Guarantee</th><th colspan=2>Method</th></tr>"
        "<tr><th>Metric</th><th>Guarantee</th><th>full</th><th>prefix</th></tr>"
        "<tr><td>BLEU</td><td>strong</td><td>61.5</td><td>47.8</td></tr>"
        "<tr><td>ROUGE-L</td><td>strong</td><td>65.7</td><td>58.2</td></tr></table></html>"
    )
    assert [(c.model, c.metric) for c in found(text, ".html").claims][:2] == [("full", "BLEU"), ("prefix", "BLEU")]


def test_rows_across_from_splits_are_compared() -> None:
    rows = ("Decoding | Dev | Test", "greedy | 10.51 | 10.73", "beam | 10.50 | 10.69")
    assert {model for model, _ in pairs(table(*rows))} == {"greedy", "beam"}


def test_names_that_no_list_has_stand_in_the_rows_of_what_is_called_results() -> None:
    rows = ("| CV | Street | Radio", "Finch BN | 15.7 | 18.1 | 37.5", "Wren Titu | 29.4 | 39.2 | 53.4")
    assert {model for model, _ in pairs(table(*rows, above="## ASR results"))} == {"Finch BN", "Wren Titu"}
    assert pairs(table(*rows, above="## Recordings")) == []
    same = ("| neu | ang | hap", "neu | 0.57 | 0.09 | 0.16", "ang | 0.11 | 0.69 | 0.15")
    assert pairs(table(*same, above="## Results")) == []  # what was taken for what
    known = table("System | QuizA | QuizB", "Finch | 50.1 | 60.2", "Wren | 51.1 | 61.2", above="## Results")
    turned = table("Kind of question | Finch | Wren", "Dates | 40.1 | 50.2", "Places | 41.1 | 51.2", above="## Results")
    assert {model for model, _ in pairs(f"{known}\n{turned}")} == {"Finch", "Wren"}


def test_a_column_of_conditions_is_compared_where_nothing_else_is() -> None:
    rows = ("Condition | Continuity | Reduction", "Full transcript | 1.000 | 0.0", "Recent only | 0.833 | 39.7")
    assert {model for model, _ in pairs(table(*rows))} == {"Full transcript", "Recent only"}
    beside = ("Condition | Model | Quality", "Full | Finch-7B | 1.000", "Recent | Finch-7B | 0.833")
    assert {model for model, _ in pairs(table(*beside))} == {"Finch-7B"}


def test_statistics_and_prices_are_no_models_and_no_scores() -> None:
    rows = ("Metric | Mean | Std | Min | Max", "BLEU | 49.15 | 12.64 | 18.33 | 79.77", "F1 | 0.39 | 0.47 | 0.00 | 1.00")
    assert pairs(table(*rows)) == []
    rows = ("Metric | Pearson r | p-val", "BLEU | 0.157 | 0.452", "F1 | -0.138 | 0.511")
    assert pairs(table(*rows)) == []
    rows = ("Model | t-stat | df | p-value | In $/M | F1", "Finch-7B | 48.39 | 31.53 | 0.002 | 1.25 | 61.2")
    assert pairs(table(*rows)) == [("Finch-7B", "F1")]
    rows = ("Way | Metric | Mean (μ) | Std Dev (σ) | 95% CI", "Rules | BLEU | 36.47 | 0.09 | (36.3, 36.5)")
    assert [c.value for c in found(table(*rows, "Rules | chrF | 20.78 | 0.06 | (20.7, 20.8)")).claims] == [36.47, 20.78]


def test_measures_over_columns_are_no_models_whatever_the_corner_says() -> None:
    rows = ("Dataset | Bank | BLEU | Lag", "Tagged | raw | 44.41 | 12.3", "Tagged | small | 49.61 | 18.6")
    assert "BLEU" not in {model for model, _ in pairs(table(*rows))}


def test_a_data_set_beside_columns_of_benchmarks_is_what_was_trained_on() -> None:
    rows = ("Dataset | Method | GSM8K Acc | MATH Acc | FooQuiz25 Acc", "S1.1 | SFT | 90.6 | 80.8 | 18.2")
    assert pairs(table(*rows, "S1.1 | QFT | 91.0 | 80.2 | 17.2"))[:3] == [
        ("SFT", "GSM8K"),
        ("SFT", "MATH"),
        ("SFT", "FooQuiz25"),
    ]


def test_a_corner_over_two_columns_of_labels_names_the_finer_one() -> None:
    rows = (
        "Benchmark | | Finch-8B | Qwen2.5-7B",
        "General | CMMLU(0-shot) | 83.1 | 75.8",
        "| MMLU(0-shot) | 76.6 | 76.8",
    )
    assert [benchmark for _, benchmark in pairs(table(*rows))] == ["CMMLU", "CMMLU", "MMLU", "MMLU"]


def test_levels_are_no_attributes() -> None:
    rows = ("Method | rate=3 | rate=5", "FlowNet | 1.66 | 2.58", "WarpNet | 1.75 | 2.10")
    assert pairs(table(*rows))[:2] == [("FlowNet", "rate=3"), ("FlowNet", "rate=5")]


def test_a_measure_behind_the_name_of_a_model_is_what_was_measured() -> None:
    rows = ("Set | Finch-7B acc. | Wren-7B acc.", "QuizA | 37.70 | 39.27", "QuizB | 41.36 | 43.98")
    assert [(c.model, c.metric) for c in found(table(*rows)).claims][:2] == [
        ("Finch-7B", "accuracy"),
        ("Wren-7B", "accuracy"),
    ]


def test_measures_of_the_one_model_of_a_caption_are_no_settings() -> None:
    rows = ("Language | F1 | EM", "English (en-en) | 0.668 | 0.548", "Spanish (es-es) | 0.425 | 0.240")
    claims = found(table(*rows, above="Table 1: Transfer of the Finch-7B model.")).claims
    assert [(c.model, c.metric, c.setting) for c in claims][:2] == [("Finch-7B", "F1", ""), ("Finch-7B", "EM", "")]


def test_one_part_alone_below_a_label_is_not_grouped_by_it() -> None:
    text = (
        "<html><table><tr><th>Model</th><th colspan=2>ClipQuiz</th></tr><tr><th>Model</th><th>w/o subs</th>"
        "<th>w subs</th></tr><tr><td>Finch-7B</td><td>60.1</td><td>61.1</td></tr></table></html>"
    )
    assert {c.benchmark for c in found(text, ".html").claims} == {"ClipQuiz"}


def test_a_caption_names_the_authors_own_model_and_no_data_set() -> None:
    own = table(
        "Task | Model | F1", "QuizA | Rules | 10.1", "QuizA | FinchNet (Ours) | 94.3", above="Table 1: All systems."
    )
    fine = table(
        "Task | Part | F1", "QuizA | Acronyms | 96.3", "QuizA | Forms | 92.3", above="Table 2: Using FinchNet."
    )
    assert [c.model for c in found(f"{own}\n\nText.\n{fine}").claims][-2:] == ["FinchNet", "FinchNet"]
    data = fine.replace("Using FinchNet", "On the FinchNet dataset")
    assert {c.model for c in found(f"{own}\n\nText.\n{data}").claims} == {"Rules", "FinchNet"}
    assert len(found(f"{own}\n\nText.\n{data}").claims) == 2
    rows = ("Emb. method | Before | After", "Flair | 0.127 | 0.024", "ELMo | 0.339 | 0.406")
    several = [
        table(*rows, above=f"Table {at}: Results on the {name} dataset.") for at, name in ((1, "REDDY"), (2, "ADJ"))
    ]
    assert {c.model for c in found("\n\nText.\n".join(several)).claims} == {"Flair", "ELMo"}


@pytest.mark.parametrize(
    ("text", "value", "beside"),
    [
        ("36.86↑4.75", 36.86, Beside(4.75, 2)),
        ("32.11↓17.50", 32.11, Beside(-17.5, 2)),
        ("84.2 +1.5", 84.2, Beside(1.5, 1)),
        ("84.2 (-1.5)", 84.2, Beside(-1.5, 1)),
        ("84.25 [82.00,", 84.25, None),
    ],
)
def test_a_difference_behind_a_number_is_beside_it(text: str, value: float, beside: Beside | None) -> None:
    number = number_of(text)
    assert number is not None
    assert (number.value, number.beside) == (value, beside)


def test_a_total_among_the_values_below_which_it_stands_is_no_sum_of_them() -> None:
    rows = [
        f"Kind {at} | {count} | {hops} | {50 + at}.0"
        for at, (count, hops) in enumerate(((40, 2.87), (30, 4.19), (20, 3.11), (10, 3.53)))
    ]
    text = table("Kind | Items | Hops | Share", *rows, "Total | 100 | 3.68 | 206.0")
    assert list(found(text).conflicts) == []
    wrong = table("Kind | Items | Hops | Share", *rows, "Total | 100 | 3.68 | 216.0")
    assert [c.type for c in found(wrong).conflicts] == ["arithmetic"]


def test_one_text_over_everything_groups_nothing_unless_it_names_a_set() -> None:
    def page(title: str) -> str:
        return (
            f"<html><table><tr><th colspan=3>{title}</th></tr><tr><th>Model</th><th>QuizA</th><th>QuizB</th></tr>"
            "<tr><td>Finch-7B</td><td>60.1</td><td>61.1</td></tr><tr><td>+ GRP</td><td>62.1</td><td>63.1</td></tr></table></html>"
        )

    read = found(page("Mathematical Reasoning"), ".html").claims
    assert {(c.model, c.setting) for c in read} == {("Finch-7B", ""), ("Finch-7B + GRP", "")}
    assert {c.setting for c in found(page("Tool Benchmark"), ".html").claims} == {"Tool Benchmark"}


def test_capabilities_of_models_are_no_benchmarks() -> None:
    rows = ("Firm | Model | Capability | Overall Accuracy | Bias", "A | Finch-7B | Reasoning | 67.0 | 57.5")
    assert pairs(table(*rows, "B | Wren-7B | Plain | 54.5 | 94.5"))[0] == ("Finch-7B", "Overall")


def test_a_caption_says_what_the_values_of_a_cell_are() -> None:
    rows = ("Model | Full | Short", "Finch-7B | 0.1 / 0.2 | 3.2 / 0.0", "Wren-7B | 0.0 / 0.8 | 6.4 / 0.0")
    claims = found(table(*rows, above="Table 1: Each cell reports invention % / no answer %.")).claims
    assert [c.setting for c in claims][:2] == ["invention", "no answer"]


@pytest.mark.parametrize(
    ("label", "benchmark", "metric"),
    [
        ("Exact Match Accuracy", "", "EM"),
        ("Uniform Accuracy by subquestions", "Uniform Accuracy by subquestions", "accuracy"),
        ("QuizA EM (dev)", "QuizA", "EM"),
    ],
)
def test_a_measure_within_a_name_is_part_of_it(label: str, benchmark: str, metric: str) -> None:
    name = benchmark_name(label)
    assert (name.name.partition(" (")[0], name.metric) == (benchmark, metric)


def test_sizes_are_billions_where_the_column_counts_parameters() -> None:
    rows = ("Finch | 50 | 61.1", "Finch | 100 | 62.2")
    assert {c.model for c in found(table("Model | Size | F1", *rows)).claims} == {"Finch 50", "Finch 100"}
    assert {c.model for c in found(table("Model | Params | F1", *rows)).claims} == {"Finch 50B", "Finch 100B"}


def test_losses_of_training_and_differences_are_no_claims() -> None:
    rows = ("Model | train_loss | F1 | Lift", "Finch-7B | 0.127 | 61.2 | +3.2", "Wren-7B | 0.016 | 62.3 | +5.4")
    assert [c.value for c in found(table(*rows)).claims] == [61.2, 62.3]


def test_what_is_marked_beside_the_best_and_what_does_not_compete_is_no_error() -> None:
    head, first, *others = (
        "Model | QuizA | QuizB | QuizC | QuizD | QuizE",
        "Finch | **29.4** | **34.3** | **29.8** | **70.5** | 41.2",
        "Wren | 28.7 | 33.8 | 29.1 | 70.1 | **41.9**",
        "Crow | **25.1** | 29.6 | 25.2 | 55.6 | 33.1",
    )
    (conflict,) = found(table(head, first, *others)).conflicts
    assert conflict.severity == "warning"
    assert "25.1 is marked as best, but Wren has 28.7" in conflict.message
    oracle = table(head, first, others[0], "Single (Oracle) | 27.1 | 34.9 | 28.2 | 66.0 | 39.9")
    assert list(found(oracle).conflicts) == []
    ahead = table(head, first, others[0], "Single | 27.1 | 34.9 | 28.2 | 66.0 | 39.9")
    assert [c.severity for c in found(ahead).conflicts] == ["error"]


def test_overall_of_two_classes_may_be_weighted() -> None:
    rows = [
        f"M{at} | {a} | {b} | {(a + b) / 2}" for at, (a, b) in enumerate(((75.0, 59.0), (92.0, 33.0), (66.0, 38.0)))
    ]
    off = "M9 | 99.75 | 1.05 | 51.42"
    told = {
        label: [c.severity for c in found(table(f"Model | Truth | Lie | {label}", *rows, off)).conflicts]
        for label in ("Overall accuracy", "Average accuracy")
    }
    assert told == {"Overall accuracy": ["warning"], "Average accuracy": ["error"]}


def test_a_formula_of_a_page_made_from_latex_is_read_once() -> None:
    down = (
        "<math><semantics><mo>↓</mo><annotation-xml><ci>↓</ci></annotation-xml>"
        "<annotation>\\downarrow</annotation></semantics></math>"
    )
    text = (
        f"<html><table><tr><th>Method</th><th>WER({down})</th><th>L1: Parameter</th></tr>"
        "<tr><td>Finch-7B</td><td>8.7</td><td>0.09</td></tr><tr><td>Wren-7B</td><td>9.7</td><td>0.01</td></tr></table></html>"
    )
    assert [(c.column, c.value) for c in found(text, ".html").claims][:2] == [("WER(↓)", 8.7), ("L1: Parameter", 0.09)]


def test_classes_above_their_averages_are_what_was_measured_of_the_model_of_the_caption() -> None:
    rows = ("| Prec. | Rec. | F1 | Supp.", "yes | 0.80 | 0.90 | 0.85 | 300", "no | 0.90 | 0.80 | 0.85 | 324")
    more = ("accuracy | | | 0.85 | 624", "macro avg | 0.85 | 0.85 | 0.85 | 624")
    text = table(*rows, *more, above="Table 1: Classification metrics for the baseline Wren model.")
    got = found(text)
    assert {c.model for c in got.claims} == {"baseline Wren model"}
    assert {(c.benchmark, c.metric) for c in got.claims} >= {("yes", "Precision"), ("no", "Recall"), ("yes", "F1")}
    assert len(got.claims) == 10, "what is counted is no score"
    assert not got.conflicts, "624 is the sum of 300 and 324, and no average is meant"


def test_counts_per_split_are_no_scores() -> None:
    rows = ("Family | Train | Dev | Test | Total", "Lark | 15 | 8 | 15 | 38", "Wren | 16 | 8 | 14 | 38")
    scores = table("Model | Lark | Wren", "Finch-7B | 61.5 | 60.2", "Robin-7B | 51.5 | 50.2")
    claims = found(scores + table(*rows, above="Table 14: Task counts per family and split.")).claims
    assert {c.model for c in claims} == {"Finch-7B", "Robin-7B"}


def test_markdown_tables_that_html_lays_out_side_by_side_are_read() -> None:
    one = table("Task | SFT | Wren-R1", "Crop | 90.97% | 92.58%", "Disease | 58.84% | 75.30%", above="### Inside")
    other = table("Model | Score", "SFT | 40.00%", "Wren-R1 | 66.10%", above="### Across (AgBench)")
    text = f'<table align="center">\n<tr>\n<td width="50%">\n{one}\n</td>\n<td>\n{other}\n</td>\n</tr>\n</table>\n'
    assert ("Wren-R1", "Crop") in pairs(text)
    assert len(pairs(text)) == 6


def test_marks_of_citations_that_chat_models_leave_are_no_text() -> None:
    rows = (
        "Model | MRR",
        "wren-base-v2 | [cite_start]0.7188 [cite: 12, 14]",
        "lark-base | [cite_start]**0.61** [cite: 3]",
    )
    assert [c.value for c in found(table(*rows)).claims] == [0.7188, 0.61]


def test_a_column_out_of_a_hundred_is_scored_beside_percentages() -> None:
    rows = (
        "Model | Crop Acc. (%) | Leaf Acc. (%) | KQA (/100)",
        "Wren-7B | 92.4 | 70.5 | 75.5",
        "Lark-7B | 92.5 | 72.5 | 77.0",
    )
    assert ("Wren-7B", "KQA") in pairs(table(*rows))


@pytest.mark.parametrize(
    ("label", "metric"),
    [
        ("BLEU-1 Score", "BLEU-1"),
        ("BLEU score", "BLEU"),
        ("ROUGE-1 score", "ROUGE-1"),
        ("F-score", "F-score"),
        ("CLIP-score", "CLIP-score"),
    ],
)
def test_score_behind_a_measure_says_nothing(label: str, metric: str) -> None:
    assert metric_name(label) == (metric, "")


def test_a_threshold_behind_a_measure_is_part_of_its_name() -> None:
    assert benchmark_name("Partial Accuracy (threshold ≥ 80)").name == "Partial Accuracy (threshold ≥ 80)"


def test_seconds_and_temperatures_are_no_scores() -> None:
    rows = (
        "Model | MRR | Thời gian (giây) | Temp.",
        "wren-base-v2 | 0.71 | 37.9 | 1.0",
        "lark-base | 0.61 | 61.3 | 0.0",
    )
    assert {c.value for c in found(table(*rows)).claims} == {0.71, 0.61}


def test_a_heading_that_names_a_measure_is_no_set() -> None:
    rows = ("Model | ROUGE-1 | ROUGE-2", "Wren-7B | 0.227 | 0.071", "Lark-7B | 0.253 | 0.067")
    assert {b for _, b in pairs(table(*rows, above="## 7.1. ROUGE Scores"))} == {"ROUGE-1", "ROUGE-2"}
