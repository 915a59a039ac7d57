"""Clean documents.

A model report with several tables and prose that agrees with them, and a second document by others that quotes it.
Everything follows from one seed. A clean document holds what a careless checker would call an error: rounded averages,
weighted averages, ties, equal values, other shot counts and windows, base beside tuned models, lower-is-better columns,
years and citations.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from . import other_tables, tables
from .document import Block, Document, Heading, Look, Markup, Paragraph, Place, Row, Sentence, Table
from .prose import MOJIBAKE, TRAPS, sentences
from .tables import Draft, Setting
from .world import (
    BENCHMARKS,
    BY_ID,
    FAMILIES,
    PROPRIETARY,
    SKILLS,
    Benchmark,
    Key,
    Model,
    World,
    billions,
    model,
    proprietary,
    rounded,
)

AVERAGES = ("Avg.", "Average", "Mean", "AVG", "Macro avg.")
SETTINGS = {"IFEval": "loose-prompt", "MMLU": "0-shot", "GSM8K": "8-shot", "MATH": "0-shot", "BBH": "0-shot"}
MISSING = ("-", "-", "–", "N/A", "—")
DELTAS = ("Δ", "Delta", "Improvement", "Gain", "Diff.")


@dataclass
class Theme:
    """Who a report is about: its flagship, the model before it, and its rivals, tuned; and the same as base models."""

    main: Model
    predecessor: Model | None
    rivals: list[Model]
    api: list[Model]
    base: list[Model]

    @property
    def models(self) -> list[Model]:
        """The tuned models in the order of a table's columns, the flagship last."""
        return [*self.rivals, *([self.predecessor] if self.predecessor else []), self.main]


def theme(rng: random.Random) -> Theme:
    """Draws a flagship and rivals of its size."""
    family = rng.choice([family for family in FAMILIES if family.predecessor or rng.random() < 0.3])
    size = rng.choice(family.sizes)

    def nearest(other: str, *, tuned: bool) -> Model:
        chosen = next(candidate for candidate in FAMILIES if candidate.name == other)
        return model(chosen, min(chosen.sizes, key=lambda s: abs(billions(s) - billions(size))), tuned=tuned)

    others = [other.name for other in FAMILIES if other.name not in {family.name, family.predecessor}]
    names = rng.sample(others, rng.randint(2, 4))
    before = family.predecessor
    main = model(family, size, tuned=True)
    base = [nearest(name, tuned=False) for name in [*names[:3], *([before] if before else [])]]
    return Theme(
        main,
        nearest(before, tuned=True) if before else None,
        [nearest(name, tuned=True) for name in names],
        [proprietary(name) for name in rng.sample(PROPRIETARY, 2)],
        [*base, model(family, size, tuned=False)],
    )


class Report:
    """Builds one document block by block; remembers what its tables say so that prose can speak about it."""

    def __init__(self, seed: int, who: Theme, look: Look) -> None:
        self.rng = random.Random(f"report|{seed}")
        self.who = who
        self.look = look
        self.world = World(seed)
        self.blocks: list[Block] = []
        self.number = self.rng.choice([1, 1, 2, 4, 6])
        self.has_views = self.rng.random() < 0.3
        self.variants = self._variants()
        several = [(b, other) for b, other in SETTINGS.items() if b in self.variants]
        self.by_variant = several if len(several) > 1 and look.markup != "txt" and self.rng.random() < 0.7 else []
        self.setting = Setting(
            self.rng,
            self.world,
            tuned_names=self.rng.choice(["full", "full", "compact"]),
            variants=self.variants,
            form=self._form(),
            average_word=self.rng.choice(AVERAGES),
            delta_word=self.rng.choice(DELTAS),
            delta_form=self.rng.choice(["signed", "signed", "minus"]),
            missing=self.rng.choice(MISSING),
            cited=self.rng.random() < 0.15,
            daggers=self.rng.random() < 0.12,
        )

    def _variants(self) -> dict[str, str]:
        rng = self.rng
        chosen = {"LiveCodeBench": rng.choice(["", "v1", "2305-2409"])}
        if self.has_views or rng.random() < 0.4:
            chosen["IFEval"] = "strict-prompt"
        if rng.random() < 0.25:
            chosen |= {
                "MMLU": "5-shot",
                "GSM8K": "4-shot",
                "MATH": "4-shot",
                "BBH": "3-shot",
                "MMLU-Pro": "5-shot",
                "ARC-C": "25-shot",
            }
        return {benchmark: variant for benchmark, variant in chosen.items() if variant}

    def _form(self) -> str:
        if self.look.markup == "txt":
            return self.rng.choice(["plain", "plain", "textspread", "percent"])
        if self.look.markup == "html":
            return self.rng.choice(["plain", "plain", "percent", "textspread"])
        return self.rng.choice(["plain"] * 6 + ["percent", "latex", "spread", "textbf", "textspread"])

    def prose_label(self, benchmark: str) -> str:
        """The name a sentence gives a benchmark: the plain one where the document has only one variant of it."""
        if benchmark not in BY_ID:
            return benchmark
        variant = self.variants.get(benchmark, "")
        if variant and ((benchmark == "IFEval" and self.has_views) or benchmark in dict(self.by_variant)):
            return BY_ID[benchmark].labels(variant)[1]
        return benchmark

    def add(self, draft: Draft, *, intro: str = "", speak: bool = True, main: Model | None = None) -> None:
        """Puts a table into the document, after or before a paragraph of true sentences about it."""
        main = main or self.who.main
        before = self.rng.random() < 0.7
        block = len(self.blocks) + (1 if before else 0)
        spoken = [Sentence(intro)] if intro else []
        if speak and main in draft.models:
            labels = {benchmark: self.prose_label(benchmark) for _, benchmark in draft.scores}
            spoken += sentences(draft, block, self.rng, main=main, labels=labels)
        if self.rng.random() < 0.6:
            spoken.insert(self.rng.randint(0, len(spoken)), Sentence(self.rng.choice(TRAPS)))
        paragraph = Paragraph(spoken or [Sentence("Results follow.")])
        self.blocks += [paragraph, draft.table] if before else [draft.table, paragraph]
        self.number += 1

    def benchmarks(self, low: int, high: int, *, only_percent: bool = False) -> list[Benchmark]:
        pool = [b for b in BENCHMARKS if not only_percent or b.scale == 100]
        chosen = self.rng.sample(pool, self.rng.randint(low, high))
        ifeval = BY_ID["IFEval"]
        if ifeval not in chosen and self.rng.random() < 0.5:
            chosen[-1] = ifeval
        return sorted(chosen, key=BENCHMARKS.index)

    def style(self, models: list[Model]) -> tuple[str, str]:
        """How a table of tuned models names them, and what the caption must say about it."""
        drawn = self.rng.random()
        suffixes = sorted({candidate.suffix for candidate in models if candidate.suffix})
        if drawn < 0.35:
            quoted = " or ".join(f'"-{suffix}"' for suffix in suffixes)
            return "short", f" {quoted} is omitted in the table."
        if drawn < 0.5:
            return "short", ""
        return self.setting.tuned_names, ""

    def main_table(self) -> None:
        """Benchmarks down, tuned models across: the table every report has."""
        rng, who = self.rng, self.who
        average = rng.choice(["", "all", "all", "section"])
        sections = rng.random() < 0.5
        benchmarks = self.benchmarks(6, 14, only_percent=bool(average))
        delta = (who.main, who.predecessor) if who.predecessor and rng.random() < 0.35 else None
        bold = self.look.markup != "txt" and rng.random() < 0.6
        style, note = self.style(who.models)
        caption = rng.choice(
            [
                f"Performance of {who.main.size or 'large'} instruction-tuned models.",
                "Performance of the instruction-tuned models on open benchmarks.",
                f"Comparison of {who.main.name('full')} with other instruction-tuned models.",
            ]
        )
        caption += note + (
            rng.choice([" Best results are in bold.", " The best score of each row is bold.", ""]) if bold else ""
        )
        draft = tables.benchmark_rows(
            self.setting,
            self.number,
            caption,
            who.models,
            benchmarks,
            style=style,
            sections=sections,
            average=average,
            delta=delta,
            bold=bold,
            dashes=rng.choice([0, 0, 0.06]),
            grouped=self.look.markup != "txt" and rng.random() < 0.15,
        )
        self.add(
            draft,
            intro=rng.choice(
                [
                    f"The results are presented in Table {self.number}.",
                    f"Table {self.number} summarizes the results.",
                    "",
                ]
            ),
        )

    def base_table(self) -> None:
        """The same sizes as base models: other values under what may be the same names."""
        rng, who = self.rng, self.who
        average = rng.choice(["", "all"])
        bold = self.look.markup != "txt" and rng.random() < 0.4
        pool = [b for b in BENCHMARKS if b.section != "Alignment" and b.id not in {"LiveBench 0831", "LiveCodeBench"}]
        benchmarks = sorted(rng.sample(pool, rng.randint(5, 9)), key=BENCHMARKS.index)
        style = rng.choice(["short", "short", "base", "base-suffix"])
        caption = f"Performance of the {who.main.size or 'large'} base models." + (
            " Best results are in bold." if bold else ""
        )
        draft = tables.benchmark_rows(
            self.setting,
            self.number,
            caption,
            who.base,
            benchmarks,
            style=style,
            average=average,
            bold=bold,
            sections=rng.random() < 0.4,
        )
        self.add(draft, intro=f"We first evaluate the base models (Table {self.number}).", speak=False)

    def skills_table(self) -> None:
        """Models down, in-house skills across, an average column first or last."""
        rng, who = self.rng, self.who
        setting = Setting(
            rng, self.world, places=2, average_word=self.setting.average_word, delta_word=self.setting.delta_word
        )
        series = rng.random() < 0.4
        bold = self.look.markup != "txt" and rng.random() < 0.6
        meaning = rng.choice(["best", "best", "open", "surpassing"]) if bold and who.predecessor else "best"
        before = who.predecessor.family if who.predecessor else ""
        caption = "Performance on our in-house automatic evaluation benchmark." + (
            {
                "best": " The best of each column is in bold.",
                "open": " The best open-weight model of each column is in bold; proprietary models are excluded.",
                "surpassing": (
                    f" Scores of {who.main.family} models surpassing their {before} counterparts are in bold."
                ),
            }[meaning]
            if bold
            else ""
        )
        delta_row = (who.main, who.predecessor) if who.predecessor and rng.random() < 0.3 and not series else None
        draft = tables.model_rows(
            setting,
            self.number,
            caption,
            [*who.api, *who.models],
            list(rng.sample(SKILLS, rng.randint(4, 6))),
            style="full",
            average=rng.choice(["first", "last", "last"]),
            series=series,
            bold=bold,
            delta_row=delta_row,
        )
        if bold and meaning != "best":
            self._bold_as_stated(draft, meaning)
        self.add(draft)

    def _bold_as_stated(self, draft: Draft, meaning: str) -> None:
        """Marks what the caption says: the best without the proprietary models, or whatever beats its predecessor."""
        table, who = draft.table, self.who
        row_of = {model: row for (model, _), (row, _) in draft.scores.items()}
        for group in table.groups:
            for place in group:
                table.cell(*place).bold = False
        if meaning == "open":
            closed = {row_of[model.id] for model in who.api}
            table.groups = [[place for place in group if place[0] not in closed] for group in table.groups]
            table.mark_best()
        elif who.predecessor:
            table.groups = []
            new, old = table.rows[row_of[who.main.id]], table.rows[row_of[who.predecessor.id]]
            for mine, other in zip(new.cells, old.cells, strict=True):
                mine.bold = mine.values > other.values

    def wide_table(self) -> None:
        """Models down, open benchmarks across: repeats scores of the main table where it has them."""
        rng, who = self.rng, self.who
        benchmarks = self.benchmarks(4, 7, only_percent=True)
        bold = self.look.markup != "txt" and rng.random() < 0.5
        caption = "Summary of the instruction-tuned models on selected benchmarks." + (" Best in bold." if bold else "")
        draft = tables.model_rows(
            self.setting,
            self.number,
            caption,
            who.models,
            benchmarks,
            style=self.setting.tuned_names,
            average=rng.choice(["", "last", "last", "first"]),
            bold=bold,
            sizes=rng.random() < 0.2,
            rank=rng.random() < 0.3,
        )
        self.add(draft)

    def views_table(self) -> None:
        self.add(other_tables.ifeval_views(self.setting, self.number, self.who.models))

    def contamination(self) -> None:
        if self.look.markup == "txt":  # two header rows need columns that span
            return
        models = [model for model in (self.who.main, self.who.predecessor) if model]
        benchmarks = [b for b in self.benchmarks(5, 9, only_percent=True) if b.id != "LiveCodeBench"]
        setting = Setting(self.rng, self.world, variants=self.variants, tuned_names="full")
        self.add(other_tables.before_after(setting, self.number, models, benchmarks), speak=False)

    def ablation(self) -> None:
        benchmarks = self.benchmarks(2, 3, only_percent=True)
        self.add(other_tables.ablation(self.setting, self.number, self.who.main, benchmarks), speak=False)

    def long_context(self) -> None:
        models = [self.who.main, *self.who.rivals[:1]]
        self.add(other_tables.long_context(self.setting, self.number, models), speak=False)

    def progress(self) -> None:
        if self.who.predecessor:
            benchmarks = self.benchmarks(4, 8, only_percent=True)
            self.add(tables.progress(self.setting, self.number, self.who.main, self.who.predecessor, benchmarks))

    def settings_table(self) -> None:
        pairs = [(BY_ID[benchmark], (self.variants[benchmark], other)) for benchmark, other in self.by_variant]
        chosen = pairs[: self.rng.randint(2, 3)]
        self.add(tables.by_variant(self.setting, self.number, self.who.models[-4:], chosen), speak=False)

    def languages(self) -> None:
        models = [*self.who.api, self.who.main] if self.rng.random() < 0.5 else self.who.models[-3:]
        self.add(other_tables.languages(self.setting, self.number, models))

    def lower(self) -> None:
        self.add(other_tables.lower_is_better(self.setting, self.number, self.who.models[-4:]), speak=False)

    def data_mix(self) -> None:
        self.add(other_tables.data_mix(self.setting, self.number), speak=False)

    def preference(self) -> None:
        self.add(other_tables.preference(self.setting, self.number, self.who.models[-4:]), speak=False)

    def weighted(self) -> None:
        setting = Setting(self.rng, self.world, places=1)
        self.add(other_tables.weighted(setting, self.number, self.who.models), speak=False)

    def architecture(self) -> None:
        self.add(other_tables.architecture(self.setting, self.number, self.who.models[-2:]), speak=False)

    def other_setting(self) -> None:
        """A true sentence about a setting that no table has."""
        benchmark, used = BY_ID["MMLU"], self.variants.get("MMLU", "")
        if used == "5-shot" and not self.by_variant:
            value = rounded(self.world.exact(self.who.main, benchmark, "0-shot"), 1)
            text = (
                f"With 0-shot prompting instead, {self.who.main.name('full')} obtains {value} on MMLU, "
                "which we do not tabulate."
            )
            self.blocks.append(Paragraph([Sentence(text)]))

    def document(self, name: str, parts: list[Callable[[], None]]) -> Document:
        rng = self.rng
        title = rng.choice(["Technical Report", "Model Report", "Evaluation of Instruction-tuned Models"])
        self.blocks.append(Heading(f"{self.who.main.family} {title}", 1))
        opening = [
            Sentence(f"We introduce {self.who.main.family}, a series of language models."),
            Sentence(rng.choice(TRAPS)),
        ]
        if rng.random() < 0.2:
            opening.append(Sentence(MOJIBAKE))
        self.blocks.append(Paragraph(opening))
        for number, part in enumerate(parts, start=1):
            self.blocks.append(
                Heading(f"{number}.{rng.randint(1, 4)} {part.__name__.replace('_', ' ').title()}", rng.choice([2, 3]))
            )
            part()
        self.other_setting()
        self.blocks.append(Heading("References"))
        self.blocks.append(
            Paragraph([Sentence("[12] A. Author and B. Writer. A study of 256 models. In EMNLP, pp. 4895-4901, 2023.")])
        )
        return Document(name, self.blocks, self.look)


def look(rng: random.Random, markup: Markup) -> Look:
    return Look(
        markup,
        caption=rng.choice(["bold", "bold", "plain", "heading", "italic"]),
        caption_mark=rng.choice([":", ":", ":", ".", " |"]),
        caption_below=rng.random() < 0.2,
        divider=rng.choice(["---", " :--- ", " --- ", ":---:"]),
        section=rng.choice(["bold-first", "italic-second", "plain"]),
        ruled=rng.random() < 0.3,
        bare_pipes=rng.random() < 0.1,
        mojibake=markup == "md" and rng.random() < 0.07,
        rich_html=rng.random() < 0.4,
        spanning_sections=rng.random() < 0.25,
        inner_caption=rng.random() < 0.5,
        tall=rng.random() < 0.3,
    )


def scored(document: Document) -> dict[Key, list[tuple[Place, Decimal]]]:
    """Every score that the document's tables print, with its place."""
    found: dict[Key, list[tuple[Place, Decimal]]] = {}
    for block, table in document.tables():
        for row, content in enumerate(table.rows):
            for column, cell in enumerate(content.cells):
                for key, value in zip(cell.keys, cell.values, strict=True):
                    if key is not None:
                        found.setdefault(key, []).append((Place(block, row, column), value))
    return found


def quoting(seed: int, who: Theme, source: Document, markup: Markup) -> Document:
    """A document by other authors that quotes the report's scores under other names.

    Beside them stand scores that are not comparable.
    """
    rng = random.Random(f"quoting|{seed}")
    world = World(seed)
    models = {model.id: model for model in who.models}
    available = [
        key
        for key in scored(source)
        if key.model in models and key.variant != "filtered" and key.benchmark in {b.id for b in BENCHMARKS}
    ]
    pairs = sorted({(key.benchmark, key.variant) for key in available})
    chosen = rng.sample(pairs, min(len(pairs), rng.randint(5, 9)))
    quoted = [who.main, *rng.sample(who.models[:-1], min(len(who.models) - 1, rng.randint(2, 3)))]
    style = rng.choice(["spaced", "compact", "lower", "path", "full"])
    form = rng.choice(["plain", "plain", "percent"])
    places = 1
    blocks: list[Block] = [
        Heading(rng.choice(["A Survey of Post-training", "Independent Comparison of Open Models", "Related Work"]), 1),
        Paragraph(
            [Sentence("We collect results as reported by the authors of each model."), Sentence(rng.choice(TRAPS))]
        ),
    ]
    own = Model("Sparrow", rng.choice(["7B", "13B"]), "Chat", "sparrow", tuned=True, ability=0.1)
    everyone = [*quoted, own]
    rng.shuffle(everyone)
    extra = _not_comparable(rng, chosen)
    caption = rng.choice(
        ["Results as reported in the original papers.", "Scores of instruction-tuned models, taken from their reports."]
    )
    number = rng.randint(1, 3)
    columns = [*chosen, *extra]
    labels = [_variant_label(rng, *pair) for pair in columns]
    cells = {
        (model.id, position): tables.score_cell(
            world, model, BY_ID[pair[0]], pair[1], places=places, form=form if BY_ID[pair[0]].scale == 100 else "plain"
        )
        for model in everyone
        for position, pair in enumerate(columns)
    }
    for key in list(cells):  # a score the report does not print is this document's own measurement
        cell = cells[key]
        if rng.random() < 0.04:
            cells[key] = tables.dash()
        elif rng.random() < 0.03 and cell.exact[0] > 20 and form == "plain":
            cell.values = (rounded(cell.exact[0], 0),)
    if rng.random() < 0.5:
        table = Table(number, caption, [[("Model", 1), *((label.replace("*", ""), 1) for label in labels)]], [])
        table.rows = [
            Row(model.name(style), [cells[model.id, position] for position in range(len(columns))])
            for model in everyone
        ]
    else:
        table = Table(number, caption, [[("Benchmark", 1), *((model.name(style), 1) for model in everyone)]], [])
        table.rows = [
            Row(label, [cells[model.id, position] for model in everyone]) for position, label in enumerate(labels)
        ]
    block = len(blocks) + 1
    spoken: list[Sentence] = [
        Sentence(f"Table {number} lists them; values are taken from the reports, not re-measured.")
    ]
    draft = Draft(table, models=everyone)
    for (model_id, position), cell in cells.items():
        pair = columns[position]
        if cell.value is not None and position < len(chosen) and cell.value != cell.value.to_integral_value():
            found = next(
                (row, column)
                for row, content in enumerate(table.rows)
                for column, candidate in enumerate(content.cells)
                if candidate is cell
            )
            if sum(other[0] == pair[0] for other in columns) == 1:
                draft.scores[model_id, pair[0]] = found
    draft.labels = {
        str(position): label for position, label in enumerate(labels)
    }  # no sentence counts over mixed settings
    if rng.random() < 0.7 and markup != "txt":
        spoken += sentences(draft, block, rng, main=who.main, labels={pair[0]: pair[0] for pair in columns})
    blocks += [Paragraph(spoken), table]
    if rng.random() < 0.5:
        blocks.append(Paragraph(_retold(rng, world, source, models, columns)))
    if rng.random() < 0.6:
        blocks.append(_base_quotes(rng, world, who, number + 1))
        blocks.append(Paragraph([Sentence(rng.choice(TRAPS))]))
    return Document(f"survey-{seed}.{markup}", blocks, look(rng, markup))


def _retold(
    rng: random.Random, world: World, source: Document, models: dict[str, Model], tabulated: list[tuple[str, str]]
) -> list[Sentence]:
    """Sentences that repeat scores of the report which this document does not tabulate."""
    offered = sorted(
        key
        for key in scored(source)
        if key.model in models
        and not key.variant
        and key.benchmark not in {benchmark for benchmark, _ in tabulated}
        and key.benchmark
        in {benchmark.id for benchmark in BENCHMARKS if not benchmark.variants and benchmark.scale == 100}
    )
    told = []
    for key in rng.sample(offered, min(2, len(offered))):
        value = rounded(world.exact(models[key.model], BY_ID[key.benchmark]), 1)
        template = rng.choice(
            [
                "The authors of {model} report {value} on {benchmark}.",
                "On {benchmark}, {model} reaches {value} according to its report.",
            ]
        )
        text = template.format(model=key.model, value=value, benchmark=key.benchmark)
        told.append(Sentence(text, quotes=key, quoted=value))
    return told or [Sentence("No further numbers are repeated here.")]


def _variant_label(rng: random.Random, benchmark: str, variant: str) -> str:
    return rng.choice(BY_ID[benchmark].labels(variant))


def _not_comparable(rng: random.Random, chosen: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Other variants of the quoted benchmarks, whose scores differ for good reasons."""
    offered = [
        (benchmark, variant)
        for benchmark, used in chosen
        if used
        for variant, _ in BY_ID[benchmark].variants
        if variant != used and (benchmark, variant) not in chosen
    ]
    return rng.sample(offered, min(len(offered), rng.randint(0, 2)))


def _base_quotes(rng: random.Random, world: World, who: Theme, number: int) -> Table:
    """The base models on some benchmarks, explicitly named as base."""
    benchmarks = rng.sample([b for b in BENCHMARKS if not b.variants and b.scale == 100], 4)
    style = rng.choice(["base", "base-suffix"])
    rows = [
        Row(model.name(style), [tables.score_cell(world, model, benchmark) for benchmark in benchmarks])
        for model in who.base
    ]
    return Table(
        number, "Base models before any post-training.", [[("Model", 1), *((b.id, 1) for b in benchmarks)]], rows
    )


def clean_documents(seed: int, *, markup: Markup | None = None, both: bool | None = None) -> list[Document]:
    """One or two documents in which every number agrees with every other.

    Args:
        markup: of the first document; drawn where None (mostly Markdown).
        both: whether a second document quotes the first; drawn where None.
    """
    rng = random.Random(f"documents|{seed}")
    markups: list[Markup] = ["md", "md", "md", "md", "html", "txt"]
    drawn = rng.choice(markups)
    markup = markup or drawn
    who = theme(rng)
    report = Report(seed, who, look(rng, markup))
    parts: list[Callable[[], None]] = [report.main_table]
    optional = [
        report.base_table,
        report.skills_table,
        report.wide_table,
        report.contamination,
        report.ablation,
        report.long_context,
        report.progress,
        report.languages,
        report.lower,
        report.data_mix,
        report.preference,
        report.weighted,
        report.architecture,
    ]
    parts += rng.sample(optional, rng.randint(2, 5))
    if report.has_views:
        parts.append(report.views_table)
    if report.by_variant:
        parts.append(report.settings_table)
    rng.shuffle(parts)
    documents = [report.document(f"report-{seed}.{markup}", parts)]
    if both if both is not None else rng.random() < 0.7:
        other: Markup = rng.choice(["md", "md", "md", "html", "txt"])
        documents.append(quoting(seed, who, documents[0], other))
    return documents
