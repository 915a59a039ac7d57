"""Checks across documents: agreement, versions, swaps, rotated headers, copies, one wrong number behind several."""

from __future__ import annotations

A = """# A

**Table 1: Performance of the instruction-tuned models.**

| Datasets | Qwen2-7B | Llama-3-8B | Gemma2-9B |
|---|---|---|---|
| MMLU | 70.5 | 68.4 | 72.1 |
| MATH | {m} | 30.0 | 44.3 |
| GSM8K | 85.7 | 79.6 | 76.7 |
| MBPP | 67.2 | 67.9 | 74.9 |
"""
B = """# B

**Table 2: Instruct models.**

| Model | MMLU | MATH | GSM8K | MBPP |
|---|---|---|---|---|
| Qwen2-7B-Instruct | 70.5 | 52.9 | 85.7 | 67.2 |
| Llama3-8B-Instruct | 68.4 | 30.0 | 79.6 | 67.9 |
| gemma-2-9b-it | 72.1 | 44.3 | 76.7 | 74.9 |
"""


def test_documents_that_agree(checked) -> None:
    found = checked(A.format(m="52.9"), B)
    assert found.conflicts == ()
    assert {item.standing for item in found.reconciled} == {"agree"}
    assert {claim.status for claim in found.claims} == {"confirmed"}


def test_one_number_that_differs_names_both_lines_and_the_sampling_error(checked) -> None:
    found = checked(A.format(m="49.9"), B)
    assert [(c.type, c.severity, c.documents, c.lines) for c in found.conflicts] == [
        ("cross_document", "error", ("a.md", "b.md"), (8, 7))
    ]
    assert (
        "the difference of 3.0 is more than what two independent evaluations allow (±2.0)" in found.conflicts[0].message
    )
    statuses = {claim.id: claim.status for claim in found.claims}
    assert statuses["a:t1:r2c1"] == statuses["b:t1:r1c2"] == "contradicted"


def test_rounding_is_no_difference(conflicts) -> None:
    assert conflicts(A.format(m="52.9"), B.replace("52.9", "52.94")) == []
    assert conflicts(A.format(m="52.9"), B.replace("52.9", "53")) == []


def test_base_models_other_versions_and_other_metrics_are_not_compared(checked) -> None:
    assert (
        checked(
            A.format(m="49.9"), B.replace("Instruct models", "Base models").replace("-Instruct", "").replace("-it", "")
        ).conflicts
        == ()
    )
    one = A.format(m="52.9").replace("MATH", "LiveCodeBench v1")
    other = B.replace("MATH", "LiveCodeBench 2305-2409").replace("52.9", "41.0")
    found = checked(one, other)
    assert found.conflicts == ()
    assert any("different versions of LiveCodeBench" in item.reason for item in found.reconciled)
    one = A.format(m="52.9").replace("MATH", "IFEval *strict-prompt*")
    other = B.replace("MATH", "IFEval (loose-prompt)").replace("52.9", "60.0")
    assert any("different metrics" in item.reason for item in checked(one, other).reconciled)


def test_in_house_sets_of_two_documents_are_not_compared(conflicts) -> None:
    one = A.format(m="49.9").replace("Performance of", "Our in-house evaluation of")
    assert [c.type for c in conflicts(one, B)] == []


def test_two_cells_exchanged_are_one_swap_with_its_evidence(conflicts) -> None:
    swapped = A.format(m="52.9").replace("| 85.7 | 79.6 |", "| 79.6 | 85.7 |")
    found = conflicts(swapped, B)
    assert [(c.type, c.severity) for c in found] == [("swap", "error")]
    assert found[0].claims == ("a:t1:r3c1", "a:t1:r3c2")
    assert "removes 2 conflicts and makes none" in found[0].message
    assert len(found[0].explains) == 2


def test_a_swap_of_one_known_model_counts_only_where_rows_repeat_it(conflicts) -> None:
    two = A.format(m="52.9").replace("| 85.7 | 79.6 |", "| 79.6 | 85.7 |").replace("| 70.5 | 68.4 |", "| 68.4 | 70.5 |")
    lone = "\n".join(line for line in B.splitlines() if "Llama3" not in line) + "\n"
    assert [c.type for c in conflicts(two, lone)] == ["swap", "swap"]
    once = A.format(m="52.9").replace("| 85.7 | 79.6 |", "| 79.6 | 85.7 |")
    assert {c.type for c in conflicts(once, lone)} == {"cross_document"}


def test_a_header_that_stands_over_the_wrong_columns_is_one_conflict(conflicts) -> None:
    turned = A.format(m="52.9").replace(
        "| Qwen2-7B | Llama-3-8B | Gemma2-9B |", "| Gemma2-9B | Qwen2-7B | Llama-3-8B |"
    )
    found = conflicts(turned, B)
    assert [(c.type, c.severity) for c in found] == [("header_rotation", "error")]
    assert "removes 12 of 12 conflicts" in found[0].message


def test_an_average_under_another_label_gives_a_turned_header_away(conflicts) -> None:
    rows = [(10.0, 20.0, 33.0), (31.0, 44.0, 51.0), (12.0, 61.0, 80.0), (5.0, 9.0, 8.0)]
    lines = "".join(f"| M-{i}B | {sum(r) / 3:.1f} | {r[0]} | {r[1]} | {r[2]} |\n" for i, r in enumerate(rows, start=1))
    found = conflicts("# T\n\n| Model | Math | Code | Exam | Avg. |\n|---|---|---|---|---|\n" + lines)
    assert [c.type for c in found] == ["header_rotation"]


def test_claims_say_where_they_stand_and_what_was_guessed(checked) -> None:
    claim = next(c for c in checked(A.format(m="52.9")).claims if c.id == "a:t1:r2c1")
    assert (claim.model, claim.benchmark, claim.value, claim.document) == ("Qwen2-7B-Instruct", "MATH", 52.9, "a.md")
    assert (claim.table, claim.row, claim.column, claim.line) == ("Table 1", "MATH", "Qwen2-7B", 8)
    assert claim.guesses == ("'Qwen2-7B' is taken as an instruct model: its caption says 'instruction-tuned'",)
    assert claim.status == "unsupported"


def test_a_column_of_series_before_the_names_is_no_model(checked) -> None:
    text = (
        "# T\n\n|  | Models | MMLU | MATH |\n|---|---|---|---|\n"
        "| Qwen2 Series | Qwen2-7B-Instruct | 70.5 | 52.9 |\n| Yi Series | Yi-1.5-9B-Chat | 69.5 | 47.7 |\n"
    )
    assert {claim.model for claim in checked(text).claims} == {"Qwen2-7B-Instruct", "Yi-1.5-9B-Chat"}


def lab(title: str, value: str, model: str = "Llama-3-8B-Instruct") -> str:
    return (
        f"# {title}\n\n| Model | MMLU | MATH |\n|---|---|---|\n| {model} | 68.4 | {value} |\n"
        "| Gemma-2-9B-it | 72.1 | 44.3 |\n"
    )


def test_two_laboratories_that_differ_are_information_and_one_that_does_is_an_error(conflicts) -> None:
    found = conflicts(lab("Qwen2 technical report", "30.0"), lab("GLM-4", "35.5"))
    assert [(c.type, c.severity) for c in found] == [("cross_document", "info")]
    assert "two laboratories' documents (qwen; glm): each may have run it itself" in found[0].message
    again = conflicts(lab("Qwen2 technical report", "30.0"), lab("Qwen2.5", "35.5"))
    assert [(c.type, c.severity) for c in again] == [("cross_document", "error")]


def test_a_difference_within_sampling_error_is_never_an_error(conflicts) -> None:
    found = conflicts(lab("Qwen2", "30.0"), lab("Qwen2.5", "31.0"))
    assert [(c.severity, "is within what two independent" in c.message) for c in found] == [("warning", True)]


def test_a_document_that_writes_chat_where_it_means_it_means_another_model_without(checked) -> None:
    text = (
        "# T\n\n| Model | MMLU |\n|---|---|\n| Llama-2-7B | 45.3 |\n| Llama-2-13B | 54.8 |\n\nThen:\n\n"
        "| Model | MMLU |\n|---|---|\n| Llama-2-Chat-7B | 34.1 |\n| Llama-2-Chat-13B | 47.8 |\n"
    )
    found = checked(text)
    assert found.conflicts == ()


def test_other_shots_are_another_measure(checked) -> None:
    text = (
        "# T\n\n| Model | MMLU | MMLU |\n|---|---|---|\n| | 0-shot | 5-shot |\n| A-7B-Chat | 50.9 | 47.3 |\n"
        "| B-7B-Chat | 59.4 | 59.9 |\n"
    )
    found = checked(text)
    assert found.conflicts == ()
    assert [claim.setting for claim in found.claims] == ["0-shot", "5-shot"] * 2


THINKING = (
    "# T\n\n## {one}\n\n| Model | MMLU | MATH | GSM8K |\n|---|---|---|---|\n| A-7B-Chat | 50.9 | 47.3 | 61.0 |\n"
    "| B-7B-Chat | 59.4 | 59.9 | 70.1 |\n"
    "\n## {other}\n\n| Model | MMLU | MATH | GSM8K |\n|---|---|---|---|\n{rows}"
)


def test_two_tables_that_differ_everywhere_are_two_measurements_and_no_error(conflicts) -> None:
    rows = "| A-7B-Chat | 55.0 | 66.1 | 71.0 |\n| B-7B-Chat | 61.2 | 71.3 | 80.4 |\n"
    found = conflicts(THINKING.format(one="Thinking", other="Non-thinking", rows=rows))
    assert [(c.type, c.severity) for c in found] == [("cross_document", "info")]
    assert "agree in 0 of the 6 cells that they share" in found[0].message


def test_one_cell_of_a_table_that_else_agrees_is_an_error(conflicts) -> None:
    rows = "| A-7B-Chat | 50.9 | 66.1 | 61.0 |\n| B-7B-Chat | 59.4 | 59.9 | 70.1 |\n"
    found = conflicts(THINKING.format(one="Main", other="Appendix", rows=rows))
    assert [(c.type, c.severity, c.lines) for c in found] == [("cross_document", "error", (7, 14))]


def test_a_model_that_differs_everywhere_beside_others_that_agree_is_another_checkpoint(conflicts) -> None:
    rows = "| A-7B-Chat | 55.0 | 66.1 | 71.0 |\n| B-7B-Chat | 59.4 | 59.9 | 70.1 |\n| C-7B-Chat | 1.0 | 2.0 | 3.0 |\n"
    rows += "| D-7B-Chat | 11.0 | 12.0 | 13.0 |\n"
    text = THINKING.format(one="Main", other="Later", rows=rows).replace(
        "\n## Later", "| C-7B-Chat | 1.0 | 2.0 | 3.0 |\n| D-7B-Chat | 11.0 | 12.0 | 13.0 |\n\n## Later"
    )
    found = conflicts(text)
    assert [(c.type, c.severity) for c in found] == [("cross_document", "info")]
    assert "in 0 of the 3 cells that they share for this model" in found[0].message


def test_of_rows_that_a_second_label_tells_apart_the_one_that_agrees_is_meant(checked) -> None:
    ablation = "# T\n\n| Method | BBH | GSM8K | MMLU |\n|---|---|---|---|\n| Qwen3-4B (Base) | 84.8 | 95.4 | 67.9 |\n"
    combined = (
        "\n\ntext\n\n| Model | Method | BBH | GSM8K | MMLU |\n|---|---|---|---|---|\n| Qwen3-4B | ERSS | 87.2 | 96.7 | 71.2 |\n"
        "| | LRS | 87.2 | 96.7 | 71.4 |\n| | Baseline | {bbh} | {gsm} | 67.9 |\n"
    )
    found = checked(ablation + combined.format(bbh="84.8", gsm="95.4"))
    assert found.conflicts == ()
    assert {item.standing for item in found.reconciled} == {"agree"}
    assert checked(
        ablation + combined.format(bbh="84.8", gsm="59.4")
    ).conflicts  # one that nobody prints is no row meant
