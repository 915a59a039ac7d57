"""Checks within one document: arithmetic, marks, invariants, text against tables."""

from __future__ import annotations

HEAD = "# T\n\n**Table 1: Performance of the instruction-tuned models.** {extra}\n\n"


def table(rows: str, extra: str = "") -> str:
    return HEAD.format(extra=extra) + rows + "\n"


MEANS = """| Models | Math | Code | Avg. |
|---|---|---|---|
| A-7B | 10.0 | 20.0 | 15.0 |
| B-7B | 30.0 | 40.0 | {b} |
| C-7B | 50.0 | 61.0 | 55.5 |
| D-7B | 11.0 | 12.0 | 11.5 |"""


def test_a_wrong_average_is_found_with_the_computed_one(conflicts) -> None:
    found = conflicts(table(MEANS.format(b="36.0")))
    assert [(c.type, c.severity, c.lines) for c in found] == [("arithmetic", "error", (8,))]
    assert "mean of its 2 numbers (30.0, 40.0) is 35.00" in found[0].message


def test_right_averages_are_no_conflict(conflicts) -> None:
    assert conflicts(table(MEANS.format(b="35.0"))) == []


def test_an_average_that_never_is_the_mean_says_nothing(conflicts) -> None:
    text = MEANS.replace("15.0", "19.0").replace("55.5", "58.1").replace("11.5", "13.7").format(b="38.2")
    assert conflicts(table(text)) == []


def test_an_average_that_leaves_out_its_first_row_is_understood(conflicts) -> None:
    rows = (
        "| Metric | A-7B | B-7B | C-7B |\n|---|---|---|---|\n| Preference | 1.0 | 2.0 | 3.0 |\n"
        "| IF | 10.0 | 20.0 | 30.0 |\n| QA | 20.0 | 30.0 | 40.0 |\n| Objective-Avg | 15.0 | 25.0 | 36.0 |\n"
    )
    assert [c.lines for c in conflicts(table(rows))] == [(10,)]


def test_a_difference_to_another_row_than_the_other_column_is_no_error(conflicts) -> None:
    head = "| Method | B.Acc | Δ vs rep. | Δ vs base |\n|---|---|---|---|\n| base | 0.572 | - | - |\n| rep. | 0.619 | - | +0.047 |\n"
    rows = "| aug | 0.633 | +0.014 | +0.061 |\n| KD | 0.625 | {kd} | {base} |\n| both | 0.642 | +0.023 | +0.070 |\n"
    assert conflicts(table(head + rows.format(kd="+0.006", base="+0.053"))) == []
    wrong = head.replace("+0.047", "-").replace("rep. |", "aug3 |") + rows.format(kd="+0.053", base="+0.083")
    assert [c.lines for c in conflicts(table(wrong.replace("+0.014", "+0.061").replace("+0.023", "+0.070")))] == [(10,)]


def test_a_lost_sign_is_called_that(conflicts) -> None:
    rows = (
        "| Set | A-7B | | |\n|---|---|---|---|\n| | Original | Clean | Delta |\n| X | 10.0 | 9.0 | -1.0 |\n"
        "| Y | 20.0 | 19.5 | 0.5 |\n| Z | 30.0 | 31.0 | 1.0 |\n| W | 40.0 | 41.0 | 1.0 |\n"
    )
    found = conflicts(table(rows))
    assert [(c.type, c.lines) for c in found] == [("arithmetic", (9,))]
    assert found[0].message.endswith("(the sign is lost)")


def test_totals_and_shares(conflicts) -> None:
    rows = (
        "| Source | # Examples | Share (%) |\n|---|---|---|\n| Web | 50 | 50.0 |\n| Code | 30 | 33.0 |\n"
        "| Books | 20 | 20.0 |\n| Total | 100 | 100.0 |\n"
    )
    found = conflicts("# T\n\n" + rows)
    assert {c.type for c in found} == {"arithmetic"}
    assert any("30 of 100 is 30.0" in c.message for c in found)


def test_an_ablation_is_held_against_its_first_row(conflicts) -> None:
    rows = (
        "| Setting | MMLU | Δ | GSM8K | Δ |\n|---|---|---|---|---|\n| base | 60.0 | - | 70.0 | - |\n"
        "| + A | 61.0 | +1.0 | 72.0 | +2.0 |\n| + B | 62.0 | +2.0 | 73.0 | +9.0 |\n"
    )
    assert [c.lines for c in conflicts("# T\n\n" + rows)] == [(7,)]


def test_a_bold_number_that_is_not_the_best(conflicts) -> None:
    rows = (
        "| Datasets | A-7B | B-7B |\n|---|---|---|\n| MMLU | 60.0 | **61.0** |\n| MATH | **50.0** | 40.0 |\n"
        "| GSM8K | **70.0** | 71.0 |\n| BBH | 30.0 | **33.0** |\n"
    )
    found = conflicts(table(rows, "Best results are in bold."))
    assert [(c.type, c.lines) for c in found] == [("emphasis", (9,))]
    assert "70.0 is marked as best, but B-7B has 71.0" in found[0].message


def test_marks_of_one_model_are_a_highlight_not_a_ranking(conflicts) -> None:
    rows = (
        "| Datasets | A-7B | B-7B |\n|---|---|---|\n| MMLU | 60.0 | **61.0** |\n| MATH | 50.0 | **40.0** |\n"
        "| GSM8K | 70.0 | **71.0** |\n| BBH | 30.0 | **33.0** |\n"
    )
    assert conflicts(table(rows)) == []


def test_a_promise_of_no_change_is_checked_below_its_length_only(conflicts) -> None:
    text = (
        "# T\n\n**Table 1: Qwen2 on RULER. YARN does not change the model behavior within 32K tokens.**\n\n"
        "| Model | 16K | 64K |\n|---|---|---|\n| Qwen2-7B-Instruct | 95.0 | 80.0 |\n| w/o YARN | 94.0 | 70.0 |\n"
    )
    found = conflicts(text)
    assert [(c.type, c.lines) for c in found] == [("invariant", (7, 8, 3))]


def test_scales_and_bounds_between_benchmarks(conflicts) -> None:
    rows = (
        "| Datasets | A-7B | B-7B |\n|---|---|---|\n| MMLU | 601.0 | 61.0 |\n| HumanEval | 50.0 | 40.0 |\n"
        "| HumanEval+ | 45.0 | 47.0 |\n"
    )
    found = {(c.severity, c.lines) for c in conflicts(table(rows)) if c.type == "invariant"}
    assert found == {("error", (7,)), ("warning", (9, 8))}


SCORES = (
    "| Datasets | A-7B | B-7B | C-7B |\n|---|---|---|---|\n| MMLU | 60.0 | 61.0 | 50.0 |\n"
    "| MATH | 50.0 | 40.0 | 30.0 |\n| GSM8K | 70.0 | 71.0 | 20.0 |\n\n"
)


def told(conflicts, sentence: str) -> list[str]:
    return [c.type for c in conflicts(table(SCORES + sentence))]


def test_sentences_make_no_claim_and_accuse_no_table(conflicts) -> None:
    for sentence in ("A-7B scores 62.0 on MMLU.", "A-7B outperforms B-7B on all benchmarks except MMLU."):
        assert told(conflicts, sentence) == []


TIES = (
    "| Datasets | A-7B | B-7B | C-7B |\n|---|---|---|---|\n| MMLU | 60.0 | **61.0** | 50.0 |\n"
    "| MATH | **50.0** | 40.0 | 30.0 |\n| GSM8K | **71.0** | **70.8** | 60.0 |\n| BBH | 30.0 | **33.0** | 20.0 |\n"
)


def test_marks_that_the_text_calls_ties_are_no_conflict_and_others_are_a_warning(conflicts) -> None:
    said = "\nScores with a gap not exceeding 0.3 are considered to be at the same level.\n"
    assert conflicts(table(TIES) + said) == []
    assert [(c.type, c.severity) for c in conflicts(table(TIES))] == [("emphasis", "warning")]


def test_an_underlined_mark_beside_bold_ones_marks_something_else(conflicts) -> None:
    rows = "".join(
        f"<tr><td>{name}</td><td>{a}</td><td>{b}</td><td>{c}</td></tr>"
        for name, a, b, c in (
            ("MMLU", "<b>62.0</b>", "<ins><b>61.0</b></ins>", "50.0"),
            ("MATH", "<b>50.0</b>", "<ins><b>40.0</b></ins>", "30.0"),
            ("GSM8K", "<b>71.0</b>", "<ins><b>70.8</b></ins>", "60.0"),
        )
    )
    assert (
        conflicts(f"# T\n\n<table><tr><th>Dataset</th><th>A-7B</th><th>B-7B</th><th>C-7B</th></tr>{rows}</table>\n")
        == []
    )


def test_ratings_and_perplexities_have_no_end_at_100(conflicts) -> None:
    rows = (
        "| Datasets | A-7B | B-7B |\n|---|---|---|\n| Codeforces (Rating) | 1820 | 759 |\n"
        "| MME | 2310.3 | 2070.2 |\n| PTB | 1022.17 | 34.09 |\n"
    )
    assert conflicts(table(rows)) == []
    assert [
        c.type
        for c in conflicts(
            table("| Datasets | A-7B | B-7B |\n|---|---|---|\n| MMLU | 182.0 | 75.9 |\n| MATH | 20.0 | 30.0 |\n")
        )
    ] == ["invariant"]


def test_an_average_of_a_table_of_two_rows_is_checked(conflicts) -> None:
    rows = (
        "| Model | 平均 | Summary | QA | Code | Synthetic |\n|---|---|---|---|---|---|\n"
        "| Foo-6B-32K | 41.5 | 24.8 | 37.6 | 52.8 | 50.8 |\n| Bar-6B-32K | 58.2 | 26.6 | 45.8 | 56.2 | 61.2 |\n"
    )
    assert [(c.type, c.severity, c.lines) for c in conflicts(f"# T\n\n{rows}")] == [("arithmetic", "error", (6,))]


def test_chinese_units_are_no_scores(conflicts) -> None:
    text = (
        "# T\n\n| Model | MMLU | BBH |\n|---|---|---|\n| Foo-7B | 54.1 | 41.5 |\n| Bar-7B | 50.1 | 40.5 |\n\n"
        "训练了 2.6 万亿 Tokens 的 Foo-7B，以及训练了约 0.2 ~ 2.4 万亿 Tokens 的模型在 MMLU 上的效果。\n"
    )
    assert conflicts(text) == []


def test_one_mark_against_the_rule_is_an_error_and_two_doubt_the_rule(conflicts) -> None:
    rows = "| Datasets | A-7B | B-7B |\n|---|---|---|\n" + "".join(
        f"| {name} | **6{n}.0** | 5{n}.0 |\n"
        for n, name in enumerate(("MMLU", "MATH", "GSM8K", "BBH", "ARC-C", "GPQA"))
    )
    rows += "| DROP | 40.0 | **50.0** |\n"
    one = table(rows + "| MBPP | **40.0** | 50.0 |\n")
    assert [(c.type, c.severity) for c in conflicts(one)] == [("emphasis", "error")]
    two = table(rows + "| MBPP | **40.0** | 50.0 |\n| IFEval | **41.0** | 51.0 |\n")
    assert {(c.type, c.severity) for c in conflicts(two)} == {("emphasis", "warning")}
