"""The other tables that model reports print.

Contamination, ablations, context lengths, languages, data, preferences, sizes.
"""

from __future__ import annotations

from decimal import Decimal

from .document import Cell, Relation, Row, Table
from .tables import Draft, Setting, average_row, dash, derived_cell, score_cell
from .world import IFEVAL, LANGUAGES, SKILLS, Benchmark, Key, Model, rounded


def before_after(setting: Setting, number: int, models: list[Model], benchmarks: list[Benchmark]) -> Draft:
    """Two-row header.

    Each model with its original score, its score after filtering the test set, and the difference.
    """
    rng = setting.rng
    caption = rng.choice(
        [
            (
                "Contamination analysis. Samples with a 13-gram overlap count as contaminated; "
                "we report scores on the original and on the filtered test sets."
            ),
            (
                "Effect of removing near-duplicates from the test sets. Delta is the filtered score "
                "minus the original one."
            ),
        ]
    )
    after_word = rng.choice(["Non-Contam.", "Filtered"])
    draft = Draft(Table(number, caption, [[]], [], kind="before_after"), models=models)
    table = draft.table
    table.header = [
        [("Test set", 1), ("Percent", 1), *((model.name(setting.tuned_names), 3) for model in models)],
        [
            ("", 1),
            ("", 1),
            *((word, 1) for _ in models for word in ("Original", after_word, rng.choice(["Delta", "Δ"]))),
        ],
    ]
    for row, benchmark in enumerate(benchmarks):
        draft.labels[benchmark.id] = setting.label(benchmark)
        cells = [Cell((rounded(Decimal(rng.randint(3, 800)) / 10, 1),), "percent", (None,))]
        for number_of_model, model in enumerate(models):
            before = setting.cell(model, benchmark)
            shift = rounded(Decimal(repr(rng.uniform(-2.5, 4.0))), 4)
            places = -int(before.values[0].as_tuple().exponent)
            exact = min(max(before.exact[0] + shift, Decimal("0.5")), Decimal("99.4"))
            after = Cell((rounded(exact, places),), "plain", (Key(model.id, benchmark.id, "filtered"),), (exact,))
            delta = derived_cell("difference", [after, before], places=places)
            column = 1 + 3 * number_of_model
            draft.scores[model.id, benchmark.id] = (row, column)
            table.relations.append(Relation("difference", (row, column + 2), ((row, column + 1), (row, column))))
            cells += [before, after, delta]
        table.rows.append(Row(draft.labels[benchmark.id], cells))
    return draft


def ablation(setting: Setting, number: int, model: Model, benchmarks: list[Benchmark]) -> Draft:
    """Training stages down, each with its difference to the baseline beside or behind the score."""
    rng = setting.rng
    stages = rng.sample(
        ["SFT on filtered data", "DPO", "rejection sampling", "GRPO", "model merging", "curriculum"], rng.randint(2, 4)
    )
    baseline = rng.choice(["Baseline", "Base recipe", "SFT baseline"])
    caption = rng.choice(
        [
            (
                f"Ablation of the post-training stages of {model.name('full')}. "
                f"{setting.delta_word} is the improvement over the first row."
            ),
            f"Ablation study on {model.name('full')}. Differences to the baseline are given beside each score.",
        ]
    )
    draft = Draft(Table(number, caption, [[]], [], kind="ablation"), models=[model])
    table = draft.table
    beside = rng.random() < 0.4  # the difference behind the score, in brackets, instead of in a column of its own
    table.header = [[("Setting", 1), *((benchmark.id, 1) for benchmark in benchmarks)]]
    if not beside:
        table.header = [[("Setting", 1), *(pair for b in benchmarks for pair in ((b.id, 1), (setting.delta_word, 1)))]]
    level = {benchmark.id: setting.world.exact(model, benchmark) - 8 for benchmark in benchmarks}
    for row, stage in enumerate([baseline, *stages]):
        cells: list[Cell] = []
        for benchmark in benchmarks:
            if row:
                level[benchmark.id] += rounded(Decimal(repr(rng.uniform(-0.6, 3.2))), 4)
            exact = level[benchmark.id]
            column = len(cells)
            cells.append(Cell((rounded(exact, 1),), "plain", (None,), (exact,)))
            if not row:
                cells += [] if beside else [dash()]
                continue
            first = table.cell(0, column)
            difference = derived_cell("difference", [cells[column], first], places=1, form="signed")
            if beside:
                values = (*cells[column].values, *difference.values)
                cells[column] = Cell(values, "with_difference", (None, None), (exact, *difference.exact))
            else:
                cells.append(difference)
            target = (row, column) if beside else (row, column + 1)
            table.relations.append(Relation("difference", target, ((row, column), (0, column)), int(beside)))
        table.rows.append(Row(stage if not row else f"+ {stage}", cells))
    return draft


def long_context(setting: Setting, number: int, models: list[Model]) -> Draft:
    """Scores by length with and without an extrapolation method that changes nothing within a stated window."""
    rng = setting.rng
    case = rng.choice(["K", "k"])
    lengths = [4, 8, 16, 32, 64, 128]
    method = rng.choice(["YARN+DCA", "DCA + YARN", "length extrapolation", "NTK scaling"])
    limit = rng.choice([16, 32])
    average = rng.random() < 0.5
    caption = f"Performance of {models[0].family} models on RULER. " + rng.choice(
        [
            f"{method} does not change the model behavior within {limit}{case} tokens.",
            f"{method} has no effect up to {limit}{case} tokens.",
            f"Within {limit}{case} tokens, {method} leaves the scores unchanged.",
            f"{method} is only active beyond {limit}{case} tokens; shorter inputs give identical scores.",
            f"Scores up to {limit}{case} tokens are the same with and without {method}.",
        ]
    )
    draft = Draft(Table(number, caption, [[]], [], kind="long_context"), models=models)
    table = draft.table
    offset = 1 if average else 0
    heads = [*(["Avg."] if average else []), *(f"{length}{case}" for length in lengths)]
    table.header = [[("Model", 1), *((head, 1) for head in heads)]]
    paired = not average and rng.random() < 0.4
    for model in models:
        start = Decimal(repr(96.5 + model.ability + rng.uniform(-1, 1)))
        treated = [
            start - Decimal(repr(round((position * rng.uniform(0.6, 2.4)), 3))) for position in range(len(lengths))
        ]
        plain = [
            value if length <= limit else value - Decimal(repr(round(rng.uniform(4, 26), 3)))
            for value, length in zip(treated, lengths, strict=True)
        ]
        row = len(table.rows)
        if paired:
            table.note = "Where two values are shown (x / y), x is without and y with the method."
            cells = [
                Cell((rounded(b, 1),), "plain", (None,), (b,))
                if length <= limit
                else Cell((rounded(a, 1), rounded(b, 1)), "pair", (None, None), (a, b))
                for a, b, length in zip(plain, treated, lengths, strict=True)
            ]
            table.rows.append(Row(f"{model.name('full')} + {method}", cells))
            continue
        for label, values in ((model.name("full"), treated), (f"w/o {method}", plain)):
            cells = [Cell((rounded(value, 1),), "plain", (None,), (value,)) for value in values]
            here = len(table.rows)
            if average:
                table.relations.append(Relation("mean", (here, 0), tuple((here, 1 + c) for c in range(len(lengths)))))
                cells = [derived_cell("mean", cells, places=1), *cells]
            table.rows.append(Row(label, cells))
        table.invariants += [
            ("same", ((row, offset + column), (row + 1, offset + column)), None)
            for column, length in enumerate(lengths)
            if length <= limit
        ]
    return draft


def languages(setting: Setting, number: int, models: list[Model]) -> Draft:
    """Languages down, models across, human scores from 1 to 5 or percentages, with an average row."""
    rng = setting.rng
    human = rng.random() < 0.5
    caption = (
        "Human evaluation by language. Scores range from 1 to 5."
        if human
        else "Multilingual instruction following by language. All values are percentages."
    )
    draft = Draft(Table(number, caption, [[]], [], kind="languages"), models=models)
    table = draft.table
    bounds = (1, 5) if human else (0, 100)
    chosen = sorted(rng.sample(LANGUAGES, rng.randint(5, 10)))
    for language in chosen:
        row = len(table.rows)
        benchmark = Benchmark(language, "Languages", 0.6, 0.8, scale=5 if human else 100)
        cells = [score_cell(setting.world, model, benchmark, places=2) for model in models]
        for column, (model, cell) in enumerate(zip(models, cells, strict=True)):
            cell.keys = (None,)
            draft.scores[model.id, language] = (row, column)
            table.invariants.append(("bounds", ((row, column),), Decimal(bounds[1])))
        draft.labels[language] = language
        table.rows.append(Row(language, cells))
    average_row(
        Setting(rng, setting.world, places=2), draft, list(range(len(chosen))), setting.average_word, bold=False
    )
    draft.averages = {model.id: (len(chosen), column) for column, model in enumerate(models)}
    table.header = [[("Language", 1), *((model.name("full"), 1) for model in models)]]
    return draft


def lower_is_better(setting: Setting, number: int, models: list[Model]) -> Draft:
    """Harmful shares, perplexity or latency: the smallest value is the best and printed bold."""
    rng = setting.rng
    caption, first, names, low, high = rng.choice(
        [
            (
                "Proportion of harmful responses by category. The lower, the better.",
                "Risk Category",
                ("Illegal", "Fraud", "Privacy", "Violence"),
                1.0,
                30.0,
            ),
            (
                "Perplexity on held-out text (lower is better).",
                "Corpus",
                ("Web ↓", "Code ↓", "Books ↓", "Papers ↓"),
                3.0,
                12.0,
            ),
            (
                "Time to first token in milliseconds, ↓ lower is better. Best results are in bold.",
                "Prompt length",
                ("1K tokens", "8K tokens", "32K tokens"),
                20.0,
                900.0,
            ),
        ]
    )
    draft = Draft(Table(number, caption, [[]], [], kind="lower", lowest=True), models=models)
    table = draft.table
    for row, name in enumerate(names):
        table.rows.append(
            Row(name, [Cell((rounded(Decimal(repr(rng.uniform(low, high))), 2),), "plain", (None,)) for _ in models])
        )
        table.groups.append([(row, column) for column in range(len(models))])
    table.header = [[(first, 1), *((model.name("full"), 1) for model in models)]]
    table.mark_best()
    return draft


def data_mix(setting: Setting, number: int) -> Draft:
    """Counts with thousands separators, their shares in percent, and totals."""
    rng = setting.rng
    sources = rng.sample(["Web", "Code", "Mathematics", "Books", "Dialogue", "Synthetic", "Papers"], rng.randint(4, 6))
    counts = [Decimal(rng.randint(1_200, 180_000)) for _ in sources]
    total = sum(counts, Decimal(0))
    caption = rng.choice(
        ["Composition of the fine-tuning data.", "Number of examples by source. Shares are rounded to one decimal."]
    )
    table = Table(number, caption, [[("Source", 1), ("# Examples", 1), ("Share (%)", 1)]], [], kind="data_mix")
    for row, (source, count) in enumerate(zip(sources, counts, strict=True)):
        share = rounded(100 * count / total, 1)
        table.rows.append(Row(source, [Cell((count,), "thousands", (None,)), Cell((share,), "plain", (None,))]))
        table.relations.append(Relation("share", (row, 1), ((row, 0), (len(sources), 0))))
    table.rows.append(
        Row("Total", [Cell((total,), "thousands", (None,)), Cell((Decimal("100.0"),), "plain", (None,))], "derived")
    )
    table.relations.append(Relation("sum", (len(sources), 0), tuple((row, 0) for row in range(len(sources)))))
    return Draft(table)


def ifeval_views(setting: Setting, number: int, models: list[Model]) -> Draft:
    """The four accuracies of IFEval and their mean; loose is never below strict, as the caption says."""
    caption = "IFEval accuracy by view. Loose accuracy is never below strict accuracy; Average is the mean of the four."
    draft = Draft(Table(number, caption, [[]], [], kind="views"), models=models)
    table = draft.table
    heads = ("Prompt-level strict", "Inst-level strict", "Prompt-level loose", "Inst-level loose")
    ifeval = Benchmark("IFEval", "Alignment", 0.7, variants=IFEVAL)
    for row, model in enumerate(models):
        strict = setting.world.exact(model, ifeval, "strict-prompt")
        loose = setting.world.exact(model, ifeval, "loose-prompt")
        gap = Decimal(repr(setting.rng.uniform(1.5, 3.5)))  # instructions are easier to follow than whole prompts
        exact = [rounded(value, 4) for value in (strict, strict + gap, loose, loose + gap)]
        keys = (Key(model.id, "IFEval", "strict-prompt"), None, Key(model.id, "IFEval", "loose-prompt"), None)
        cells = [Cell((rounded(value, 1),), "plain", (key,), (value,)) for value, key in zip(exact, keys, strict=True)]
        table.relations.append(Relation("mean", (row, 4), tuple((row, column) for column in range(4))))
        table.invariants += [("at_least", ((row, 2), (row, 0)), None), ("at_least", ((row, 3), (row, 1)), None)]
        table.rows.append(Row(model.name("full"), [*cells, derived_cell("mean", cells, places=1)]))
        draft.averages[model.id] = (row, 4)
    table.header = [[("Model", 1), *((head, 1) for head in heads), ("Average", 1)]]
    return draft


def preference(setting: Setting, number: int, models: list[Model]) -> Draft:
    """Win, tie and loss shares against one opponent; each row sums to 100."""
    rng = setting.rng
    caption = "Human preference against GPT-4-Turbo in percent. Win, tie and loss sum to 100."
    table = Table(number, caption, [[("Model", 1), ("Win", 1), ("Tie", 1), ("Loss", 1)]], [], kind="preference")
    for model in models:
        win = Decimal(rng.randint(150, 550)) / 10
        tie = Decimal(rng.randint(80, 300)) / 10
        cells = [Cell((rounded(value, 1),), "plain", (None,)) for value in (win, tie, 100 - win - tie)]
        table.rows.append(Row(model.name("full"), cells))
    return Draft(table, models=models)


def weighted(setting: Setting, number: int, models: list[Model]) -> Draft:
    """An average weighted by the number of prompts, as its caption states.

    Or an official score that is no mean at all.
    """
    rng = setting.rng
    counts = [Decimal(rng.choice([50, 120, 541, 1319, 2400])) for _ in SKILLS]
    by_prompts = rng.random() < 0.6
    caption = (
        rng.choice(
            [
                "In-house evaluation. Avg. is weighted by the number of prompts.",
                "In-house evaluation; the average is weighted by the number of prompts per category.",
                "In-house evaluation. Avg. is the micro-average over all prompts.",
            ]
        )
        if by_prompts
        else "In-house evaluation. Overall is the official leaderboard score, not the mean of the columns."
    )
    draft = Draft(Table(number, caption, [[]], [], kind="weighted"), models=models)
    table = draft.table
    if by_prompts:
        cells = [Cell((count,), "thousands", (None,)) for count in counts]
        table.rows.append(Row("# Prompts", [*cells, Cell((sum(counts, Decimal(0)),), "thousands", (None,))], "setting"))
    for model in models:
        cells = [setting.cell(model, skill) for skill in SKILLS]
        for cell in cells:
            cell.keys = (None,)
        exact = sum((count * cell.exact[0] for count, cell in zip(counts, cells, strict=True)), Decimal(0)) / sum(
            counts
        )
        if not by_prompts:
            exact = sum((cell.exact[0] for cell in cells), Decimal(0)) / 6 - Decimal(rng.randint(30, 90)) / 10
        table.rows.append(Row(model.name("full"), [*cells, Cell((rounded(exact, setting.places),), "plain", (None,))]))
    last = "Avg." if by_prompts else "Overall"
    table.header = [[("Model", 1), *((skill.id, 1) for skill in SKILLS), (last, 1)]]
    return draft


def architecture(setting: Setting, number: int, models: list[Model]) -> Draft:
    """Layers, heads and windows: numbers that are no scores."""
    rng = setting.rng
    heads = ("Layers", "Heads (Q/KV)", "Context / Generation Length", "Released", "Tokens", "License")
    table = Table(
        number,
        "Model architecture and license.",
        [[("Models", 1), *((head, 1) for head in heads)]],
        [],
        kind="architecture",
    )
    for model in models:
        texts = (
            str(rng.choice([24, 28, 36, 48, 64, 80])),
            rng.choice(["14/2", "16/2", "28/4", "40/8", "64/8"]),
            rng.choice(["32K/8K", "128K/8K", "8K/4K"]),
            rng.choice(["2024-06-07", "2024-09-19", "March 2025"]),
            rng.choice(["7T", "18T", "15,600B"]),
            rng.choice(["Apache 2.0", "MIT", "Research"]),
        )
        table.rows.append(Row(model.name("full"), [Cell(literal=text) for text in texts], "setting"))
    return Draft(table, models=models)
