"""What is measured, in the words and numbers of the whole field: metrics, corners, decimal commas, what accuses nobody."""

from __future__ import annotations

import pytest
from tests.markdown import table

from adhere.evidence.check import findings_of, gather
from adhere.evidence.claims.names import benchmark_name, is_attribute, is_metric, label_kind
from adhere.evidence.findings import Claim, Findings
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.pdf.page import Word
from adhere.evidence.read.pdf.words import without_line_numbers


def findings(text: str, suffix: str = ".md") -> Findings:
    return findings_of(gather([parse_document(text.encode(), name="a", suffix=suffix)]))


def claims(text: str, suffix: str = ".md") -> list[Claim]:
    return [*findings(text, suffix).claims]


@pytest.mark.parametrize(
    "label", ["NDCG@10", "mAP", "AP50", "Rank-1", "DER (%)", "chrF++", "Acurácia", "EM/F1", "AUROC"]
)
def test_metrics_of_the_field_are_metrics_and_no_attributes(label: str) -> None:
    assert is_metric(label)
    assert not is_attribute(label)


@pytest.mark.parametrize("label", ["Tok./correct", "MMLU", "macro step", "Rank", "AP News"])
def test_other_labels_are_none(label: str) -> None:
    assert not is_metric(label)


@pytest.mark.parametrize("label", ["算法", "model_names", "Modelos", "手法", "Training variant", "Méthodes"])
def test_corners_say_models_in_several_languages(label: str) -> None:
    assert label_kind(label) == "models"


def test_a_split_behind_a_name_is_its_part_and_one_alone_belongs_to_the_metric() -> None:
    assert benchmark_name("Foo-STS (spearman, test)")[1:4] == ("Foo-STS", "test", "Spearman")
    assert benchmark_name("AP50 test").name == "AP50 test"


def test_what_is_measured_is_no_model() -> None:
    by_rows = table(" | Foo | Bar", "HR@5 | 0.37 | 0.41", "NDCG@10 | 0.31 | 0.35", "Ratio | 1.1 | 1.0")
    assert {c.model for c in claims(by_rows)} == {"Foo", "Bar"}
    by_columns = table("Dataset | DER (%) | JER (%)", "dev | 19.9 | 53.9", "eval | 26.5 | 59.4")
    assert claims(by_columns) == []
    methods = table(" | Baseline | Fine-tuned", "Foo | 35.5 | 40.5", "Bar | 29.8 | 36.8")
    assert {c.model for c in claims(methods)} == {"Baseline", "Fine-tuned"}
    tagged = table(" | Baseline Tag | Baseline No", "Foo | 35.5 | 40.5", "Bar | 29.8 | 36.8")
    assert {c.benchmark for c in claims(tagged)} == {"Foo", "Bar"}


def test_a_caption_names_the_model_of_a_table_of_sets() -> None:
    text = (
        "\\begin{table}\n\\begin{tabular}{lcc}\n\\toprule\nDataset & DER & JER \\\\\n\\midrule\n"
        "dev & 19.9 & 53.9 \\\\\neval & 26.5 & 59.4 \\\\\n\\end{tabular}\n"
        "\\caption{Scores with the x-vector model trained on Foo.}\n\\end{table}"
    )
    assert {c.model for c in claims(text, ".tex")} == {"x-vector model trained on Foo"}
    assert [c.value for c in claims(text, ".tex")] == [19.9, 53.9, 26.5, 59.4]


def test_precision_and_recall_beside_f1() -> None:
    text = table("Model | P | R | F1", "Foo-7B | 50.1 | 40.1 | 44.5", "Bar-7B | 60.1 | 50.1 | 54.6")
    assert [c.metric for c in claims(text)][:3] == ["Precision", "Recall", "F1"]


def test_decimal_commas_are_points_where_a_table_writes_them() -> None:
    text = table("Model | MMLU | GSM8K", "Foo-7B | 0,808 | 0,732", "Bar-7B | 0,79 | 0,5")
    assert [c.value for c in claims(text)] == [0.808, 0.732, 0.79, 0.5]
    spread = table("Model | MMLU | GSM8K", "Foo-7B | 78,5 ± 0,3 | 61,2", "Bar-7B | 77,1 ± 0,2 | 60,1")
    assert [c.value for c in claims(spread)] == [78.5, 61.2, 77.1, 60.1]
    thousands = table("Model | MMLU | Elo", "Foo-7B | 80.8 | 1,234", "Bar-7B | 79.1 | 1,199")
    assert [c.value for c in claims(thousands)] == [80.8, 1234.0, 79.1, 1199.0]


def test_the_metric_in_parentheses_that_a_document_announces() -> None:
    text = "Results are in the format Rank-1 (mAP).\n\n" + table(
        "Model | FooID", "A-7B | 87.9 (70.4)", "B-7B | 90.8 (75.3)"
    )
    assert [(c.value, c.metric) for c in claims(text)][:2] == [(87.9, "score"), (70.4, "mAP")]


def test_labels_over_the_middle_of_their_parts_and_a_row_of_bold_words() -> None:
    text = table(
        "Model |  | QuizA |  |  | QuizB | ",
        " | Old | New | HM | Old | New | HM",
        "A-7B | 1.5 | 2.5 | 3.5 | 4.5 | 5.5 | 6.5",
    )
    assert [c.benchmark for c in claims(text)] == ["QuizA"] * 3 + ["QuizB"] * 3
    bold = table(" | QuizA | QuizB", "**Model** | **Acc** | **Acc**", "A-7B | 1.5 | 2.5", "B-7B | 3.5 | 4.5")
    assert [c.model for c in claims(bold)] == ["A-7B", "A-7B", "B-7B", "B-7B"]


def test_authors_below_a_name_are_no_row_of_their_own_and_alone_they_are() -> None:
    text = table("Model | Metric | QuizA", "Foo-9B | Old | 1.5", "Rei et al. (2025) | New | 2.5", "Bar-9B | Old | 3.5")
    assert [c.model for c in claims(text)] == ["Foo-9B", "Foo-9B", "Bar-9B"]
    alone = table("Model | MMLU | GSM8K", "Ni et al. (2017) | 1.5 | 2.5", "Rei et al. (2025) | 3.5 | 4.5")
    assert len({c.model for c in claims(alone)}) == 2


def test_a_heading_that_says_what_is_done_names_no_set() -> None:
    text = "### 4.3 BaseModel选择的实验分析\n\n" + table("Model | Foo-STS (test)", "A-7B | 0.79", "B-7B | 0.76")
    assert {c.benchmark for c in claims(text)} == {"Foo-STS"}


def errors(text: str) -> list[str]:
    return [conflict.message for conflict in findings(text).conflicts if conflict.severity == "error"]


def test_a_row_called_delta_holds_no_scores() -> None:
    text = table("Model | MMLU | GSM8K", "A-7B | 80.8 | 90.6", "B-7B | 80.2 | 91.0", "∆ | -0.6 | +0.4")
    assert errors(text) == []
    assert {c.model for c in claims(text)} == {"A-7B", "B-7B"}


def test_a_difference_to_the_best_of_the_others_is_one() -> None:
    sets = ("MMLU", "GSM8K", "BBH", "MATH", "ARC", "DROP")
    rows = ("A-7B | 80.0 | 70.0 | 60.0 | 50.0 | 40.0 | 30.0", "B-7B | 70.0 | 75.0 | 65.0 | 55.0 | 45.0 | 35.0")
    own = "C-7B | 82.0 | 77.0 | 67.0 | 58.0 | 49.0 | 40.0"
    text = table("Model | " + " | ".join(sets), *rows, own, "Δ | 2.0 | 2.0 | 2.0 | 3.0 | 4.0 | 5.0")
    assert errors(text) == []
    wrong = text.replace("| 2.0 | 2.0 | 2.0 | 3.0", "| 2.0 | 2.0 | 2.0 | 3.7")
    assert len(errors(wrong)) == 1
    assert "3.7" in errors(wrong)[0]


def test_others_that_are_ahead_together_and_never_bold_are_out_of_competition() -> None:
    head = "Model | MMLU | GSM8K | BBH | MATH | ARC | DROP"
    others = [
        f"{name}-1B | 10.0 | 20.0 | 12.0 | 13.0 | 14.0 | {score}"
        for name, score in zip("XYZ", (99.0, 98.0, 97.0), strict=True)
    ]
    own = ["A-7B | **50.0** | 40.0 | **40.0** | 31.0 | **33.0** | 30.0"]
    own += ["B-7B | 40.0 | **50.0** | 30.0 | **60.0** | 32.0 | **60.0**"]
    assert errors(table(head, *others, *own)) == []
    assert len(errors(table(head, *others[:1], *own))) == 1


def test_tables_that_measure_different_things_accuse_nobody_by_an_exchange() -> None:
    head = "Model | MMLU | GSM8K | BBH | MATH"
    first = ("A-7B | 51.0 | 13.5 | 46.8 | 48.1", "B-7B | 48.1 | 11.5 | 50.0 | 42.2", "C-7B | 33.3 | 22.2 | 61.7 | 12.3")
    other = ("A-7B | 48.1 | 11.5 | 44.1 | 40.2", "B-7B | 51.0 | 13.9 | 51.3 | 41.1", "C-7B | 31.3 | 25.2 | 60.7 | 14.3")
    text = "# Judged by people\n\n" + table(head, *first) + "\n# Judged by a model\n\n" + table(head, *other)
    assert errors(text) == []


def test_numbers_beside_the_lines_of_a_review_copy_are_no_words() -> None:
    lines = [Word(str(n), 30.0, 40.0, 10.0 * n, 10.0 * n + 8, 8.0, False) for n in range(100, 130)]
    scores = [Word(f"{n}.5", 200.0, 220.0, 10.0 * n, 10.0 * n + 8, 8.0, False) for n in range(100, 130)]
    steps = [Word(str(1000 * n), 300.0, 330.0, 10.0 * n, 10.0 * n + 8, 8.0, False) for n in range(1, 6)]
    assert without_line_numbers([*lines, *scores, *steps]) == [*scores, *steps]
    assert without_line_numbers(lines[:10]) == lines[:10]


def test_method_may_stand_over_the_measures() -> None:
    text = table(
        "Method | Linear | U-Net | Ours",
        "PESQ↑ | 3.28 | 3.31 | 3.42",
        "STOI↑ | 0.87 | 0.90 | 0.91",
        "LSD↓ | 6.1 | 6.0 | 5.6",
    )
    assert {c.model for c in claims(text)} == {"Linear", "U-Net", "Ours"}
    assert [c.direction for c in claims(text)] == ["higher"] * 6 + ["lower"] * 3


def test_one_number_outside_a_scale_is_an_error_and_a_column_of_counts_is_none() -> None:
    head = "Benchmark | A-7B | B-7B | Count"
    counts = table(head, "HumanEval | 50.1 | 60.1 | 193", "GSM8K | 51.1 | 61.1 | 632", "MMLU | 52.1 | 62.1 | 55")
    assert errors(counts) == []
    slip = table("Model | HumanEval | GSM8K", "A-7B | 50.1 | 60.1", "B-7B | 51.1 | 611.0", "C-7B | 52.1 | 62.1")
    assert len(errors(slip)) == 1


def test_pairs_of_languages_and_settings_are_no_models() -> None:
    assert claims(table("Direction | BLEU | chrF++", "en → de | 20.7 | 50.1", "en → fr | 30.7 | 60.1")) == []
    assert claims(table("Setting | BLEU | chrF++", "No Context | 20.7 | 50.1", "With Context | 30.7 | 60.1")) == []


def test_what_spreads_in_parentheses_and_what_counts_are_no_scores() -> None:
    stated = table("Model | Foo-acc(std)", "A-7B | 0.31(0.02)", "B-7B | 0.36(0.03)")
    assert [c.value for c in claims(stated)] == [0.31, 0.36]
    announced = "metric: accuracy(std)\n\n" + table("Model | Foo", "A-7B | 0.31(0.02)", "B-7B | 0.36(0.03)")
    assert [c.value for c in claims(announced)] == [0.31, 0.36]
    steps = table("Variant | Step | MMLU", "A-7B | 1000 | 63.9", "A-7B | 2000 | 64.5", "A-7B | 3000 | 64.9")
    assert [c.value for c in claims(steps)] == [63.9, 64.5, 64.9]
    ratings = table("Model | Arena Elo | MMLU", "A-7B | 1200 | 63.9", "B-7B | 1100 | 64.5", "C-7B | 1050 | 64.9")
    assert [c.value for c in claims(ratings)] == [1200, 63.9, 1100, 64.5, 1050, 64.9]


def test_a_size_in_a_file_name_behind_a_family_that_has_its_number() -> None:
    text = table("Model | MMLU | GSM8K", "qwen3_asr_1_7b | 50.1 | 60.1", "qwen3_asr_0_6b | 40.1 | 50.1")
    assert {c.model for c in claims(text)} == {"Qwen3-Asr-1.7B", "Qwen3-Asr-0.6B"}


def test_three_false_alarms_of_clean_documents() -> None:
    delta = table(
        "Model | MMLU | GSM8K", "A-7B | 80.1 | 70.1", "B-7B | 78.1 | 71.1", "Improvement (B-7B − A-7B) | -2.0 | +1.0"
    )
    assert errors(delta) == []
    caption = "\n\nTable 5: In-house evaluation. Avg. is the micro-average over all prompts.\n"
    micro = table("Model | Exam | Coding | Avg.", "A-7B | 80.0 | 60.4 | 78.9", "B-7B | 70.5 | 39.5 | 68.8") + caption
    assert errors(micro) == []
    gains = table(
        "Setting | BBH | HellaSwag",
        "Base recipe | 77.2 | 81.9",
        "+ SFT | 78.8 (+1.6) | 82.2 (+0.3)",
        "+ merging | 81.9 (+4.7) | 84.9 (+3.0)",
        "+ sampling | 82.0 (+4.8) | 87.1 (+5.2)",
    )
    assert errors(gains) == []
    wrong = errors(gains.replace("(+4.8)", "(+5.8)"))
    assert len(wrong) == 1
    assert "+5.8" in wrong[0]
