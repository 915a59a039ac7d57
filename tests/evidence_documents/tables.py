"""Tables of models and benchmarks, filled from a world's scores, each knowing what must hold inside it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from .document import Cell, Relation, Row, Table
from .world import Benchmark, Key, Model, World, rounded

Scores = dict[tuple[str, str], tuple[int, int]]  # (model id, benchmark id) → (row, column)


@dataclass
class Draft:
    """A table, and where each model's score on each benchmark stands, with the names both were given.

    Attributes:
        averages: model id → place of its average.
        deltas: (model id, benchmark id) → place of its difference to the model it is compared with.
    """

    table: Table
    scores: Scores = field(default_factory=dict)
    averages: dict[str, tuple[int, int]] = field(default_factory=dict)
    deltas: Scores = field(default_factory=dict)
    models: list[Model] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)


def score_cell(
    world: World, model: Model, benchmark: Benchmark, variant: str = "", *, places: int = 1, form: str = "plain"
) -> Cell:
    """The cell of one score; a 10-point benchmark is printed with two decimals."""
    exact = world.exact(model, benchmark, variant)
    places = 2 if benchmark.scale == 10 else places
    return Cell((rounded(exact, places),), form, (Key(model.id, benchmark.id, variant),), (exact,))


def derived_cell(relation_kind: str, sources: Sequence[Cell], *, places: int, form: str = "plain") -> Cell:
    """An average or difference, computed before rounding, as reports do (so it may be 0.1 off the printed numbers)."""
    values = [source.exact[0] for source in sources]
    exact = sum(values, Decimal(0)) / len(values) if relation_kind == "mean" else values[0] - values[1]
    return Cell((rounded(exact, places),), form, (None,), (exact,))


def dash(literal: str = "-") -> Cell:
    return Cell(literal=literal)


@dataclass
class Setting:
    """The choices one document makes for all its tables."""

    rng: random.Random
    world: World
    name_style: str = "full"
    tuned_names: str = "full"
    variants: dict[str, str] = field(default_factory=dict)
    places: int = 1
    form: str = "plain"
    average_word: str = "Average"
    delta_word: str = "Δ"
    delta_form: str = "signed"
    missing: str = "-"
    cited: bool = False  # model names in headers carry a citation
    daggers: bool = False  # some scores carry a footnote mark

    def label(self, benchmark: Benchmark) -> str:
        """The benchmark as this table writes it: usually the usual way."""
        labels = benchmark.labels(self.variants.get(benchmark.id, ""))
        return labels[0] if self.rng.random() < 0.7 else self.rng.choice(labels)

    def cell(self, model: Model, benchmark: Benchmark) -> Cell:
        form = "dagger" if self.daggers and self.form == "plain" and self.rng.random() < 0.08 else self.form
        return score_cell(
            self.world, model, benchmark, self.variants.get(benchmark.id, ""), places=self.places, form=form
        )

    def head(self, name: str) -> str:
        """A model's name as a header gives it, perhaps with a citation."""
        if not self.cited or self.rng.random() < 0.4:
            return name
        return name + self.rng.choice([" [7]", " (Doe et al., 2024)", "*"])


def benchmark_rows(
    setting: Setting,
    number: int,
    caption: str,
    models: list[Model],
    benchmarks: list[Benchmark],
    *,
    style: str,
    sections: bool = False,
    average: str = "",
    delta: tuple[Model, Model] | None = None,
    bold: bool = False,
    dashes: float = 0.0,
    grouped: bool = False,
) -> Draft:
    """Benchmarks down, models across: with sections, averages (``all`` or ``section``) and a column of differences."""
    rng = setting.rng
    draft = Draft(Table(number, caption, [[]], []), models=models)
    table = draft.table
    heads = [setting.head(model.name(style)) for model in models]
    if rng.random() < 0.15:
        sizes = [Cell(literal=model.size or "-") for model in models]
        table.rows.append(Row("# Params", [*sizes, dash()] if delta else sizes, "setting"))
    section_rows: list[int] = []
    by_section = sections or average == "section"
    ordered = sorted(benchmarks, key=lambda benchmark: benchmark.section) if by_section else benchmarks
    members = [benchmark.section for benchmark in ordered]
    # Without headings nobody could tell what a section's average covers, once a section has one benchmark and none.
    sections = sections or (average == "section" and any(members.count(section) == 1 for section in members))
    current = ""
    for position, benchmark in enumerate(ordered):
        if by_section and benchmark.section != current:
            current = benchmark.section
            section_rows = []
            if sections:
                table.rows.append(Row(current, [], "section"))
        section_rows.append(len(table.rows))
        _score_row(setting, draft, benchmark, dashes=dashes, delta=delta)
        if bold:
            table.groups.append([(section_rows[-1], column) for column in range(len(models))])
        last = position == len(ordered) - 1
        if average == "section" and len(section_rows) > 1 and (last or ordered[position + 1].section != current):
            average_row(setting, draft, section_rows, f"{setting.average_word} ({current})", bold=bold)
    if average == "all":
        average_row(setting, draft, list(range(len(table.rows))), setting.average_word, bold=bold)
        last_row = len(table.rows) - 1
        shown = [column for column in range(len(models)) if table.cell(last_row, column).values]
        draft.averages = {models[column].id: (last_row, column) for column in shown}
    if delta:
        heads.append(rng.choice([setting.delta_word, f"{setting.delta_word} vs. {delta[1].name(style)}"]))
    table.header = [[(rng.choice(["Datasets", "Benchmark", "Task", ""]), 1), *((head, 1) for head in heads)]]
    if grouped:
        ours = [("Ours", len(heads) - len(models) + 1)]
        table.header.insert(0, [("", 1), ("Open-weight models", len(models) - 1), *ours])
    if setting.daggers:
        table.note = f"{table.note} † Taken from the model’s own report.".strip()
    if bold:
        table.mark_best()
    return draft


def _score_row(
    setting: Setting, draft: Draft, benchmark: Benchmark, *, dashes: float, delta: tuple[Model, Model] | None
) -> None:
    draft.labels[benchmark.id] = setting.label(benchmark)
    row = len(draft.table.rows)
    cells = [setting.cell(model, benchmark) for model in draft.models]
    for column, model in enumerate(draft.models):
        if dashes and model is not draft.models[-1] and setting.rng.random() < dashes:
            cells[column] = dash(setting.missing)
        else:
            draft.scores[model.id, benchmark.id] = (row, column)
    if delta:
        cells.append(_difference(setting, draft, delta, benchmark, row, cells))
    draft.table.rows.append(Row(draft.labels[benchmark.id], cells))


def _difference(
    setting: Setting, draft: Draft, delta: tuple[Model, Model], benchmark: Benchmark, row: int, cells: list[Cell]
) -> Cell:
    first, second = (draft.models.index(model) for model in delta)
    if not (cells[first].values and cells[second].values):
        return dash()
    column = len(draft.models)
    places = -int(cells[first].values[0].as_tuple().exponent)
    draft.table.relations.append(Relation("difference", (row, column), ((row, first), (row, second))))
    draft.deltas[delta[0].id, benchmark.id] = (row, column)
    return derived_cell("difference", [cells[first], cells[second]], places=places, form=setting.delta_form)


def average_row(setting: Setting, draft: Draft, rows: list[int], label: str, *, bold: bool) -> None:
    table = draft.table
    target = len(table.rows)
    cells: list[Cell] = []
    missing = False
    for column in range(len(draft.models)):
        places = [(row, column) for row in rows if table.rows[row].kind == "data"]
        present = [place for place in places if table.cell(*place).values]
        missing = missing or len(present) < len(places)
        if len(present) < 2 or (len(present) < len(places) and setting.rng.random() < 0.5):
            cells.append(dash())
            continue
        cells.append(derived_cell("mean", [table.cell(*place) for place in present], places=setting.places))
        table.relations.append(Relation("mean", (target, column), tuple(present)))
    if any(len(row.cells) > len(draft.models) for row in table.rows):
        cells.append(dash())
    table.rows.append(Row(label, cells, "derived"))
    if missing:
        table.note = "Averages are taken over the tasks with a reported score."
    if bold and not missing:
        table.groups.append([(target, column) for column in range(len(draft.models))])


def model_rows(
    setting: Setting,
    number: int,
    caption: str,
    models: list[Model],
    benchmarks: list[Benchmark],
    *,
    style: str,
    average: str = "",
    series: bool = False,
    bold: bool = False,
    delta_row: tuple[Model, Model] | None = None,
    sizes: bool = False,
    rank: bool = False,
) -> Draft:
    """Models down, benchmarks across.

    With series headings, an average column (``first`` or ``last``), a row of differences.
    """
    rng = setting.rng
    draft = Draft(Table(number, caption, [[]], []), models=models)
    table = draft.table
    labels = [setting.label(benchmark).replace("*", "") for benchmark in benchmarks]
    draft.labels = dict(zip((benchmark.id for benchmark in benchmarks), labels, strict=True))
    offset = int(sizes) + int(average == "first")
    ordered = sorted(models, key=lambda model: model.family) if series else models
    family = ""
    for model in ordered:
        if series and model.family != family:
            family = model.family
            table.rows.append(Row(f"{family} Series", [], "section"))
        row = len(table.rows)
        cells = [setting.cell(model, benchmark) for benchmark in benchmarks]
        sources = tuple((row, offset + column) for column in range(len(benchmarks)))
        if average:
            mean = derived_cell("mean", cells, places=setting.places)
            cells = [mean, *cells] if average == "first" else [*cells, mean]
            target = (row, int(sizes) if average == "first" else int(sizes) + len(benchmarks))
            table.relations.append(Relation("mean", target, sources))
            draft.averages[model.id] = target
        for place, benchmark in zip(sources, benchmarks, strict=True):
            draft.scores[model.id, benchmark.id] = place
        size = [Cell(literal=model.size or "-")] if sizes else []
        table.rows.append(Row(model.name(style), [*size, *cells]))
    heads = (
        [setting.average_word, *labels]
        if average == "first"
        else [*labels, setting.average_word]
        if average
        else labels
    )
    heads = ["# Params", *heads] if sizes else heads
    table.header = [[(rng.choice(["Models", "Model", ""]), 1), *((head, 1) for head in heads)]]
    if bold:
        rows = [row for row, content in enumerate(table.rows) if content.kind == "data"]
        table.groups = [[(row, column) for row in rows] for column in range(len(heads))]
        table.mark_best()
    if delta_row:
        first, second = (draft.scores[model.id, benchmarks[0].id][0] for model in delta_row)
        below = len(table.rows)
        cells = [dash()] if sizes else []
        for column in range(int(sizes), len(heads)):
            compared = ((first, column), (second, column))
            cells.append(
                derived_cell(
                    "difference",
                    [table.cell(*place) for place in compared],
                    places=setting.places,
                    form=setting.delta_form,
                )
            )
            table.relations.append(Relation("difference", (below, column), compared))
        for benchmark in benchmarks:
            column = draft.scores[delta_row[0].id, benchmark.id][1]
            draft.deltas[delta_row[0].id, benchmark.id] = (below, column)
        table.rows.append(
            Row(f"{setting.delta_word} ({delta_row[0].name(style)} − {delta_row[1].name(style)})", cells, "derived")
        )
    if rank and average == "last" and not delta_row:
        _rank(draft)
    return draft


def _rank(draft: Draft) -> None:
    """A last column that counts places by the average: a number that is no score and no part of any mean."""
    table = draft.table
    means = {row: table.cell(row, column).values[0] for row, column in draft.averages.values()}
    for row, mean in means.items():
        place = 1 + sum(other > mean for other in means.values())
        table.rows[row].cells.append(Cell((Decimal(place),), "plain", (None,)))
    table.header[0].append(("Rank", 1))


def progress(setting: Setting, number: int, new: Model, old: Model, benchmarks: list[Benchmark]) -> Draft:
    """One model beside its predecessor, the difference in points and in percent of the older score."""
    caption = (
        f"From {old.name('full')} to {new.name('full')}. Δ is in points, Rel. is the relative improvement in percent."
    )
    draft = Draft(Table(number, caption, [[]], [], kind="progress"), models=[old, new])
    table = draft.table
    for row, benchmark in enumerate(benchmarks):
        before, after = setting.cell(old, benchmark), setting.cell(new, benchmark)
        draft.labels[benchmark.id] = setting.label(benchmark)
        draft.scores |= {(old.id, benchmark.id): (row, 0), (new.id, benchmark.id): (row, 1)}
        relative = 100 * (after.exact[0] - before.exact[0]) / before.exact[0]
        points = derived_cell("difference", [after, before], places=1, form="signed")
        cells = [before, after, points, Cell((rounded(relative, 1),), "signed", (None,), (relative,))]
        table.relations.append(Relation("difference", (row, 2), ((row, 1), (row, 0))))
        table.relations.append(Relation("relative", (row, 3), ((row, 1), (row, 0))))
        table.rows.append(Row(draft.labels[benchmark.id], cells))
    heads = (setting.rng.choice(["Benchmark", "Task"]), old.name("full"), new.name("full"), "Δ", "Rel. (%)")
    table.header = [[(head, 1) for head in heads]]
    return draft


def by_variant(
    setting: Setting, number: int, models: list[Model], pairs: list[tuple[Benchmark, tuple[str, str]]]
) -> Draft:
    """Two-row header: each benchmark over two of its variants (strict and loose, few and no examples)."""
    caption = "Influence of the prompt setting. Each benchmark is evaluated in two settings."
    draft = Draft(Table(number, caption, [[]], [], kind="by_variant"), models=models)
    table = draft.table
    for model in models:
        cells = [
            score_cell(setting.world, model, benchmark, variant)
            for benchmark, variants in pairs
            for variant in variants
        ]
        table.rows.append(Row(model.name("full"), cells))
    table.header = [
        [("Model", 1), *((benchmark.id, 2) for benchmark, _ in pairs)],
        [("", 1), *((variant, 1) for _, variants in pairs for variant in variants)],
    ]
    return draft
