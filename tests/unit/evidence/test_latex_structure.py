"""What LaTeX tables say by their form: captions of parts, ticks, values of a parameter, sets that only a heading names."""

from __future__ import annotations

from adhere.evidence.check import findings_of, gather
from adhere.evidence.findings import Claim
from adhere.evidence.read.documents import parse_document
from adhere.evidence.read.latex_text import Macro, latex_text


def claims(text: str, suffix: str = ".tex") -> list[Claim]:
    return [*findings_of(gather([parse_document(text.encode(), name="a", suffix=suffix)])).claims]


def tabular(*rows: str, columns: str = "lcc") -> str:
    return "\\begin{tabular}{%s}\n%s\n\\end{tabular}" % (columns, " \\\\\n".join(rows))  # noqa: UP031 -- braces


SCORES = tabular("Model & EM & F1", "Zeta-7B & 50.1 & 60.2", "Eta-7B & 51.1 & 61.2")


def test_tabulars_that_float_together_have_a_caption_each_and_one_for_all() -> None:
    parts = [
        f"\\begin{{subtable}}{{0.5\\textwidth}}\n{SCORES}\n\\caption{{Results on the {name} set}}\n\\end{{subtable}}"
        for name in ("TestQA", "OtherQA")
    ]
    text = "\\begin{table}\n" + "\n".join(parts) + "\n\\caption{All results of our models.}\n\\end{table}"
    assert [c.benchmark for c in claims(text)] == ["TestQA"] * 4 + ["OtherQA"] * 4
    above = text.replace("\\begin{table}\n", "\\begin{table}\n\\caption{All results of our models.}\n").replace(
        "\n\\caption{All results of our models.}\n\\end{table}", "\n\\end{table}"
    )
    assert [c.benchmark for c in claims(above)] == ["TestQA"] * 4 + ["OtherQA"] * 4
    alone = "\\begin{table}\n" + SCORES + "\n\\caption{Results on the TestQA set}\n\\end{table}"
    assert [c.benchmark for c in claims(alone)] == ["TestQA"] * 4


def test_a_lowered_difference_is_no_part_of_the_number_and_a_power_is_none() -> None:
    assert latex_text("$83.1_{+0.4}$", {}) == "83.1 (+0.4)"
    assert latex_text("$83.1^{-0.4}$", {}) == "83.1 (-0.4)"
    assert latex_text("$10^{-3}$", {}) == "10 -3"
    assert latex_text("a $\\leftrightarrow$ b 5\\percent", {}) == "a ↔ b 5%"
    rows = tabular("Model & QuizA & MMLU", "Zeta-7B & $83.1_{+0.4}$ & 60.2", "Eta-7B & $82.1_{-0.6}$ & 61.2")
    assert [c.value for c in claims(rows)] == [83.1, 60.2, 82.1, 61.2]


def test_ticks_name_the_parts_of_a_method_that_a_row_uses() -> None:
    rows = ("\\checkmark & & 50.1", " & \\checkmark & 51.2", "\\checkmark & \\checkmark & 52.3", "& & 49.1")
    table = tabular("RM & KL & MMLU", *rows, columns="ccc")
    assert [c.model for c in claims(table)] == ["RM", "KL", "RM + KL", "w/o RM, w/o KL"]
    crosses = table.replace("& & 49", "$\\times$ & $\\times$ & 49")
    assert [c.model for c in claims(crosses)] == ["RM", "KL", "RM + KL", "w/o RM, w/o KL"]


def test_different_numbers_below_a_name_are_its_values() -> None:
    rows = tabular("$\\lambda$ & MMLU & GSM8K", "0.1 & 50.1 & 60.2", "0.5 & 51.1 & 61.2")
    assert [c.model for c in claims(rows)] == ["λ = 0.1"] * 2 + ["λ = 0.5"] * 2


def test_columns_that_tables_of_several_sets_share_say_how_it_was_measured() -> None:
    rows = tabular("Model & Reported F1 & Our F1", "LSTM + CRF & 90.94 & 91.28", "BERT + CRF & 92.4 & 92.6")
    text = f"\\subsection{{CoNLL 2003}}\n{rows}\n\\subsection{{OntoNotes 5}}\n{rows}\n"
    assert [(c.benchmark, c.variant, c.metric) for c in claims(text)][:2] == [
        ("CoNLL-2003", "Reported", "F1"),
        ("CoNLL-2003", "Our", "F1"),
    ]
    assert {c.model for c in claims(text)} == {"LSTM + CRF", "BERT + CRF"}


def test_parts_of_sets_are_no_models_and_languages_have_arrows() -> None:
    split = tabular("Language & Train & Test", "German & 50.5 & 40.5", "French & 60.5 & 30.5")
    assert claims(split) == []
    arrows = "| Model | en→de | de→en |\n|---|---|---|\n| Zeta-7B | 30.1 | 31.2 |\n| Eta-7B | 32.1 | 33.2 |\n"
    assert {c.benchmark for c in claims(arrows, ".md")} == {"en→de", "de→en"}
    marks = "| Model | MMLU ↑ | GSM8K ↑ |\n|---|---|---|\n| Zeta-7B | 30.1 | 31.2 |\n| Eta-7B | 32.1 | 33.2 |\n"
    assert {c.benchmark for c in claims(marks, ".md")} == {"MMLU", "GSM8K"}


def test_raised_numbers_inside_names_and_cells_that_are_citations() -> None:
    assert latex_text("P$^3$IV", {}) == "P3IV"
    assert latex_text("$x^-3$", {}) == "x -3"
    assert latex_text("\\citet{fu2018style}", {}) == "fu2018style"
    assert latex_text("{\\citep[see][]{foo2020}}", {}) == "foo2020"
    assert latex_text("Nye~\\shortcite{nye2018}", {}) == "Nye"
    rows = tabular("Model & MMLU & GSM8K", "\\citet{fu2018} & 50.1 & 60.2", "\\citet{li2019} & 51.1 & 61.2")
    assert [c.model for c in claims(rows)] == ["fu2018"] * 2 + ["li2019"] * 2


def test_a_label_that_is_broken_over_two_rows_of_a_header() -> None:
    rows = tabular(
        "Model & Counter- & Precise- \\\\\n & factual & Wiki \\\\\n\\midrule\nZeta-7B & 50.1 & 60.2",
        "Eta-7B & 51.1 & 61.2",
    )
    assert [c.benchmark for c in claims(rows)][:2] == ["Counterfactual", "Precise-Wiki"]


def in_table(rows: str, caption: str) -> str:
    return f"\\begin{{table}}\n\\caption{{{caption}}}\n{rows}\n\\end{{table}}\n"


def test_a_caption_names_the_model_that_other_tables_hold() -> None:
    named = in_table(tabular("Model & Accuracy & Recall", "Vireo & 50.1 & 60.2", "Siskin & 51.1 & 61.2"), "All models.")
    rows = tabular("Fold & Accuracy & Recall", "first & 40.1 & 50.2", "second & 41.1 & 51.2")
    own = claims(named + in_table(rows, "Folds of the vireo."))[4:]
    assert {(c.model, c.metric) for c in own} == {("Vireo", "accuracy"), ("Vireo", "Recall")}
    assert {c.setting for c in own} == {"first", "second"}
    both = claims(named + in_table(rows, "Folds of Vireo and Siskin."))[4:]
    assert {c.model for c in both}.isdisjoint({"Vireo", "Siskin"})


def test_captions_of_like_tables_differ_in_the_model() -> None:
    rows = tabular(
        " & 100 & 500", "If early & 0.57 & 0.52", "If late & 0.55 & 0.38", "Standard deviation & 0.01 & 0.07"
    )
    text = in_table(rows, "AUC of FinchNet50.") + in_table(rows.replace("0.5", "0.6"), "AUC of WrenNet12.")
    assert {(c.model, c.benchmark, c.setting) for c in claims(text)} == {
        (model, name, size)
        for model in ("FinchNet50", "WrenNet12")
        for name in ("If early", "If late")
        for size in ("100", "500")
    }


def test_columns_that_are_values_of_a_parameter_are_of_what_the_caption_names() -> None:
    rows = tabular("Model & E=3 & E=10", "Zeta-7B & 90.1 (1.10) & 91.2 (0.52)", "Eta-7B & 92.1 (0.95) & 93.2 (0.26)")
    own = claims(in_table(rows, "Epochs on SST-2."))
    assert [(c.benchmark, c.variant, c.value) for c in own][:2] == [("SST-2", "E=3", 90.1), ("SST-2", "E=10", 91.2)]
    measured = claims(in_table(rows.replace("=", " = "), "Accuracy by epochs."))
    assert {(c.benchmark, c.metric) for c in measured} == {("accuracy", "accuracy")}
    over = tabular(
        "& \\multicolumn{2}{c}{PETS-10N}", "Model & 500 & 2000", "Zeta-7B & 32.5 & 41.1", "Eta-7B & 28.5 & 29.6"
    )
    of_set = claims(in_table(over, "Test accuracy with different numbers of samples"))
    assert {c.benchmark for c in of_set} == {"PETS-10N"}, "a set stands over the values"


def test_a_rule_below_the_first_group_of_rows_makes_it_no_header() -> None:
    rows = tabular(
        " & Test set & Baseline & Fine-tuned \\\\\n\\cline{1-4}\nQuizA & Short & 16.8 & 23.0",
        " & Long & 37.8 & 41.1 \\\\\n\\hline\nQuizB & Short & 21.3 & 28.3",
        " & Long & 36.8 & 41.8",
        columns="llcc",
    )
    assert [(c.model, c.value) for c in claims(rows)][:2] == [("Baseline", 16.8), ("Fine-tuned", 23.0)]
    assert len(claims(rows)) == 8


def test_measures_over_sets_are_measures_of_the_sets() -> None:
    rows = tabular(
        "Dataset & Setup & P & R & F1 & P & R & F1 \\\\\n\\hline\n"
        " & & \\multicolumn{3}{c}{HeronSet} & \\multicolumn{3}{c}{EgretSet}",
        "distant & c[1] wide & 88.8 & 65.3 & 71.2* $\\pm$0.007 & 86.1 & 63.7 & 69.1",
        "joint & c[1,2] wide & 83.3 & 70.3 & 75.0 & 79.4 & 66.2 & 70.6",
        columns="llcccccc",
    )
    own = claims(rows)
    assert len(own) == 12
    assert {c.benchmark for c in own} == {"HeronSet", "EgretSet"}
    assert {c.metric for c in own} == {"Precision", "Recall", "F1"}
    assert own[0].model == "c[1] wide"


def test_what_is_printed_in_grey_does_not_compete() -> None:
    rows = ["Model & QuizA & QuizB & QuizC & QuizD", "Old & 10.0 & \\color{gray} 99.0 & 10.0 & 10.0"]
    rows += ["Zeta-7B & 40.1" + " & \\textbf{50.1}" * 3, "Eta-7B & \\textbf{50.1}" + " & 40.1" * 3]
    text = tabular(*rows, columns="lcccc")
    document = parse_document(text.encode(), name="a", suffix=".tex")
    assert not findings_of(gather([document])).conflicts
    black = parse_document(text.replace("\\color{gray} 99", "99").encode(), name="a", suffix=".tex")
    assert [c.type for c in findings_of(gather([black])).conflicts] == ["emphasis"]


def test_macros_of_fonts_and_rows_show_their_text() -> None:
    macros = {"ours": Macro(0, "{\\fontfamily{lmtt}\\selectfont Wren}"), "tall": Macro(2, "\\multirow{#1}{*}{#2}")}
    assert latex_text("\\ours", macros) == "Wren"
    assert latex_text("\\tall{2}{Model}", macros) == "Model"
    assert latex_text("61.5\\% $\\bullet$", {}) == "61.5% •"


def test_an_ablation_has_the_labels_of_the_main_table_but_for_arrows() -> None:
    main = tabular("Model & STA $\\uparrow$ & CS $\\uparrow$ & WO $\\uparrow$", "Zeta-7B & 0.1 & 0.2 & 0.3")
    parts = tabular("Objectives & STA & CS & WO", "first & 0.4 & 0.5 & 0.6", "second & 0.7 & 0.8 & 0.9")
    assert {c.model for c in claims(f"{main}\n{parts}")} == {"Zeta-7B", "first", "second"}


def test_columns_without_the_percent_that_most_have_count_something() -> None:
    text = "| Model | Avg. calls | Fluency (%) | Safety (%) |\n|---|---|---|---|\n| Zeta-7B | 2.31 | 71.5 | 81.7 |\n"
    assert {c.benchmark for c in claims(text, ".md")} == {"Fluency", "Safety"}


def test_a_measure_joined_to_a_word_is_one_name() -> None:
    text = (
        "| temperature | first-epoch-spearman | MMLU-acc |\n|---|---|---|\n| 0.2 | 0.81 | 0.5 |\n| 0.1 | 0.82 | 0.6 |\n"
    )
    assert {c.benchmark for c in claims(text, ".md")} == {"first-epoch-spearman", "MMLU"}


def test_a_name_behind_a_rule_is_no_argument_of_it() -> None:
    rows = "{Models} & QuizA & QuizB \\\\ \\cline{2-3}\n{} & EM & F1 \\\\ \\midrule\n{Zeta} & 1.5 & 2.5 \\\\\n{Eta} & 3.5 & 4.5"
    assert [c.model for c in claims(tabular(rows))] == ["Zeta"] * 2 + ["Eta"] * 2


def test_a_row_stands_where_its_numbers_do() -> None:
    rows = tabular(
        "Group & Model & MMLU & GSM8K", "\\multirow{2}{*}{Open}\n & Zeta-7B & 1.5 & 2.5", " & Eta-7B & 3.5 & 4.5"
    )
    assert [c.line for c in claims(rows)] == [4, 4, 5, 5]


def test_columns_are_ways_to_do_what_the_caption_names() -> None:
    head = " & \\multicolumn{2}{c}{words} & \\multicolumn{2}{c}{words + signs} \\\\\nTrial & SVM & NB & SVM & NB"
    rows = tabular(
        head + " \\\\ \\hline\nfirst & 67.1 & 64.2 & 61.5 & 67.0", "second & 70.8 & 65.6 & 64.1 & 66.7", columns="lcccc"
    )
    own = claims(in_table(rows, "Resultados com a base de dados HarrierSet-2."))
    assert {c.benchmark for c in own} == {"HarrierSet-2"}
    assert {c.variant for c in own} == {"words SVM", "words NB", "words + signs SVM", "words + signs NB"}
    sets = claims(
        in_table(rows.replace("words + signs", "HarrierSet-2"), "Resultados com a base de dados HarrierSet-2.")
    )
    assert {c.benchmark for c in sets} == {"words", "HarrierSet-2"}, "the caption names one of the sets"


def test_methods_of_one_group_that_begin_the_other_groups_are_the_models() -> None:
    head = (
        " & \\multicolumn{2}{c}{Acc} & \\multicolumn{2}{c}{Plain harm} & \\multicolumn{2}{c}{Guard harm} \\\\ \\hline\n"
    )
    head += "Domain & Plain & Guard & AA & BB & AA & BB"
    body = ("PIQA & 88.1 & 87.7 & 7.7 & 4.4 & 0.3 & 0.4", "MMLU & 61.1 & 61.0 & 9.9 & 2.2 & 0.5 & 0.6")
    rows = tabular(head, "BoolQ & 87.2 & 86.9 & 9.7 & 1.5 & 0.1 & 0.2", *body)
    own = claims(rows)
    assert {(c.model, c.value) for c in own if c.benchmark == "BoolQ"} == {
        *(("Plain", value) for value in (87.2, 9.7, 1.5)),
        *(("Guard", value) for value in (86.9, 0.1, 0.2)),
    }


def test_settings_below_a_pair_of_languages_and_measures_in_two_ways() -> None:
    rows = "| Setting | BLEU | chrF++ |\n|---|---|---|\n| No Context | 38.1 | 61.5 |\n| With Context | 41.9 | 68.0 |\n"
    assert {c.model for c in claims(f"### English → French (en → fr)\n\n{rows}", ".md")} == {
        "No Context",
        "With Context",
    }
    ways = "| Direction | BLEU (plain) | BLEU (tuned) |\n|---|---|---|\n| en → fr | 38.1 | 41.9 |\n| en → it | 18.6 | 22.4 |\n"
    assert {(c.model, c.benchmark, c.metric) for c in claims(ways, ".md")} == {
        (way, pair, "BLEU") for way in ("plain", "tuned") for pair in ("en → fr", "en → it")
    }


def test_tables_that_count_or_set_something_hold_no_scores() -> None:
    counted = in_table(tabular(" & Short & Long", "QuizA & 320 & 859", "QuizB & 538 & 1064"), "Number of sentences.")
    assert claims(counted) == []
    assert claims(tabular("Parameter & Value", "Base Model & tiny-llava-7B", "LoRA Rank & 32", columns="ll")) == []
    scores = tabular("Model & Harvest & Meadow & Orchard", "Zeta & 0.1 & 0.2 & 0.3", "Eta & 0.4 & 0.5 & 0.6")
    sizes = tabular("Dataset & Harvest & Meadow & Orchard", "Density & 0.01 & 0.02 & 0.03", "Diameter & 29 & 11 & 12")
    assert {c.model for c in claims(f"{sizes}\n{scores}")} == {"Zeta", "Eta"}
    set_to = claims(tabular("Benchmark & t & Base-7B & Last-7B", "QuizA & 5 & 31.8 & 34.0", "QuizB & 9 & 25.4 & 42.0"))
    assert {c.model for c in set_to} == {"Base-7B", "Last-7B"}


def test_a_dash_over_a_column_is_the_whole_of_what_the_heading_names() -> None:
    text = "### KoHateSpeech\n\n| model | - | gen_bias |\n|---|---|---|\n| kogpt | 0.31 | 0.17 |\n| koalpaca | 0.36 | 0.51 |\n"
    assert [c.benchmark for c in claims(text, ".md")][::2] == ["KoHateSpeech"] * 2


def test_word_and_character_error_rates_are_two_measures() -> None:
    text = "| Model | WER | CER | word error rate |\n|---|---|---|---|\n| Zeta-7B | 5.1 | 2.1 | 5.2 |\n"
    assert [c.metric for c in claims(text, ".md")] == ["WER", "CER", "WER"]


def test_a_set_in_the_name_of_the_model_is_not_what_was_measured() -> None:
    rows = tabular("Dataset & DER & JER", "dev & 23.4 & 56.8", "eval & 29.4 & 61.3")
    own = claims(in_table(rows, "Scores with the vector model trained on a mix of VoxSet I and FarSet2 dev."))
    assert {c.model for c in own} == {"vector model trained on a mix of VoxSet I and FarSet2 dev"}
    assert {c.benchmark for c in own}.isdisjoint({"VoxSet", "FarSet2"})
    assert {c.model for c in claims(in_table(rows, "Baseline scores."))} == {"Baseline"}


def test_few_known_names_are_enough_where_nothing_speaks_for_the_other_axis() -> None:
    names = ("Finch Small", "Finch Large", "Wren V3", "Siskin PT", "Dunnock", "Linnet", "Vireo", "Crow", "Qwen3 1.7B")
    rows = [f"| {name} | {60 + place}.2 | 22.{place} |" for place, name in enumerate([*names, "Llama 3 8B"])]
    text = "\n".join(["## WER", "", "| | Calls | CORAL |", "|---|---|---|", *rows]) + "\n"
    found = claims(text, ".md")
    assert [c.model for c in found][::2][:2] == ["Finch Small", "Finch Large"]
    assert {c.benchmark for c in found} == {"Calls", "CORAL"}


def test_a_column_called_score_is_of_the_measure_in_the_heading() -> None:
    table = "| Model | Score |\n|---|---|\n| Zeta-7B | 0.82 |\n| Eta-7B | 0.81 |\n"
    assert {c.metric for c in claims(f"### Recall@10\n\n{table}", ".md")} == {"Recall@10"}
    assert "Recall@10" not in {c.metric for c in claims(f"### Our results\n\n{table}", ".md")}


def test_only_internal_data_makes_a_table_in_house() -> None:
    table = in_table(tabular("Model & Quality & Fidelity", "Zeta-7B & 50.1 & 60.2", "Eta-7B & 51.1 & 61.2"), "CAPTION")
    said = {
        "Zeta internally integrates a reward and beats all.": False,
        "Scores on our internal benchmarks.": True,
        "Results on an in-house set.": True,
    }
    for caption, is_private in said.items():
        found = claims(table.replace("CAPTION", caption))
        assert {c.benchmark.startswith("in-house") for c in found} == {is_private}, caption


def test_a_rule_of_the_authors_own_is_no_part_of_the_name_behind_it() -> None:
    text = (
        "\\begin{tabular}{lrr}\nModel & MMLU & GSM8K \\\\ \\midrule\nQwen2.5-7B & 61.2 & 70.1 \\\\\n"
        "\\graymidrule\nYi-6B & 62.2 & 71.1 \\\\\n\\end{tabular}\n"
    )
    assert {c.model for c in claims(text)} == {"Qwen2.5-7B", "Yi-6B"}


def test_rules_of_any_thickness_are_no_names() -> None:
    text = (
        "\\begin{tabular}{lcc}\n\\thickhline\n\\multirow{2}{*}{Method} & \\multicolumn{2}{c}{CUHK} \\\\\n"
        "\\hhline{~|--} & R-1 & R-5 \\\\\n\\hline\nIRRA & 73.38 & 89.93 \\\\\n\\thickhline\n"
        "Ours & 79.93 & 92.95 \\\\\n\\thickhline\n\\end{tabular}"
    )
    found = [(c.model, c.benchmark, c.value) for c in claims(text)]
    assert found == [("IRRA", "R-1", 73.38), ("IRRA", "R-5", 89.93), ("Ours", "R-1", 79.93), ("Ours", "R-5", 92.95)]
