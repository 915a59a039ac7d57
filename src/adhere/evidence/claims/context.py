"""Collect the facts that are the same for all cells of a table, once a table."""

from __future__ import annotations

import functools
import re
from typing import Literal

from adhere.evidence.claims.axis import LEAST_SHARED
from adhere.evidence.claims.elsewhere import (
    Elsewhere,
    benchmark_of_caption,
    has_ways,
    measures_of,
    set_of_caption,
    topic_of,
)
from adhere.evidence.claims.layout import Layout, column_model, corner_of
from adhere.evidence.claims.names import (
    BenchmarkName,
    ModelName,
    Tuning,
    benchmark_key,
    benchmark_name,
    clean_label,
    direction_of,
    has_arrow,
    is_known,
    is_role,
    looks_like_model,
    metric_name,
    model_name,
    said_in_caption,
    said_of,
    without_pictures,
)
from adhere.evidence.claims.rows import DEFAULT_SETTINGS
from adhere.evidence.claims.values import SPECIAL_AVERAGE, Sheet
from adhere.evidence.read.document import Document, Table

_LANGUAGE = re.compile(
    r"\b(English|Chinese|French|German|Spanish|Japanese|Korean|Arabic|multilingual)\b", re.IGNORECASE
)
_PAIR = re.compile(r"(?:^|\()(?P<pair>[a-z]{2,3}(?:\s?[-\u2192\u2194]\s?|2)[a-z]{2,3})\)?$")


class Context:
    """Holds what a table's caption, headings and notes, and the rest of its document, say of its numbers."""

    def __init__(self, document: Document, table: Table, layout: Layout, extra: Elsewhere) -> None:
        self.document, self.table, self.layout, self.extra = document, table, layout, extra
        self.tuning, self.tuning_reason = _tuning(table)
        self.tuned_names = _tuned_names(table.caption)
        self.notes = " ".join(note.text for note in table.notes)
        self.language = (_LANGUAGE.search(table.caption) or [""])[0]
        pair = _PAIR.search(clean_label(table.headings[-1])) if table.headings else None
        self.pair = pair["pair"] if pair else ""  # `## en-de` above a table of translations
        self.corner = corner_of(table, layout.names)
        # Categories of one set; over several columns of labels the word is about the groups of what is named there.
        # (Of benchmarks that are known it is none.)
        names = [clean_label(row.cells[layout.names].text) for row in table.rows if len(row.cells) > layout.names]
        is_of_parts = is_role("categories", self.corner) and layout.first == 1
        self.is_of_categories = is_of_parts and sum(map(is_known, names)) < LEAST_SHARED
        self.caption_benchmark = benchmark_of_caption(table, layout, (table.caption,))
        self.about_benchmark = self.caption_benchmark or benchmark_of_caption(table, layout, table.headings[-1:])
        self.topic = self.about_benchmark or set_of_caption(table, layout.model)
        self.topic = self.topic or topic_of(table, is_told=table.index in extra.headed)
        are_ways = measures_of(layout) in extra.ways or has_ways(layout, set_of_caption(table))
        are_ways |= table.index in extra.headed
        self.is_of_topic = self.topic is not None and layout.models_in == "rows" and are_ways
        correction = table.correction
        self.metric = metric_name(correction.metric)[0] if correction and correction.metric else ""
        self.is_told = bool(correction and correction.measured_on)
        if correction and self.is_told:
            self.topic, self.is_of_topic, self.caption_benchmark = _name_told(correction.measured_on), True, None
        self.names = frozenset({label for path in layout.paths for label in path} | {*names})
        self.special = SPECIAL_AVERAGE.search(f"{table.caption} {self.notes}")
        # A corner that names a benchmark says what all was measured on; the columns are then ways in which (`AIME |
        # DAPO | VAPO`).
        is_of_corner = layout.models_in == "rows" and is_known(self.corner)
        self.of_corner = is_of_corner and not any(is_known(path[-1]) for path in layout.paths[layout.first :] if path)
        self._compositions: dict[str, str] = {}
        # What labels mean, once for all the cells that they stand beside.
        self.models: dict[tuple[str, Tuning, bool], tuple[ModelName | None, str, str]] = {}
        self.benchmarks: dict[tuple[str, ...], tuple[BenchmarkName | None, list[str], tuple[str, ...]]] = {}
        self._columns: dict[int, tuple[str, list[str], list[str]]] = {}
        texts = [*(label for path in layout.paths for label in path), *names]
        self._has_arrows = any(map(has_arrow, texts))
        self._labels = frozenset(without_pictures(path[-1]) for path in layout.paths[layout.first :] if path)
        self._said: dict[int, frozenset[str]] = {}
        self._row_said: dict[tuple[str, ...], frozenset[str]] = {}

    def column(self, c: int, path: list[str]) -> tuple[str, list[str], list[str]]:
        """Split the labels over a column into the model's name, the labels above it, and the labels below it."""
        if c not in self._columns:
            self._columns[c] = column_model(path) if path else ("", [], [])
        return self._columns[c]

    def direction(self, c: int, path: list[str], *labels: str) -> Literal["higher", "lower"]:
        """Return whether more is better in a column, by its labels and `labels` of the row, else by the caption.

        Where labels have arrows, a caption with one explains the arrows: it says nothing of the other columns.
        """
        if c not in self._said:
            self._said[c] = said_of(*path)
            if not any(map(has_arrow, path)) and not self._has_arrows:
                own = without_pictures(path[-1]) if path else ""
                self._said[c] |= said_in_caption(self.table.caption, own, self._labels)
        if labels not in self._row_said:
            # A mark before a model's name is about its place in a ranking, not about what is measured.
            self._row_said[labels] = said_of(*(text for text in labels if not looks_like_model(without_pictures(text))))
        hints = self._said[c] | self._row_said[labels]
        return direction_of(hints=hints) if hints else "higher"

    def model(self, label: str, own: Tuning = "") -> ModelName:
        """Return the model that a label of this table names; `own` is the tuning stated elsewhere in its row."""
        name = model_name(label)
        if self.extra.has_named_sizes and name.tuning == "base" and name.parameters is None:
            return model_name(label, is_sized=True)
        if not name.tuning and own:
            return model_name(label, own, "the column beside it says so")
        if not name.tuning and name.key in self.tuned_names:
            return model_name(label, "instruct", "the caption writes it with its suffix")
        return model_name(label, self.tuning, self.tuning_reason) if self.tuning else name

    def composition(self, sheet: Sheet, section: str) -> str:
        """Return the benchmarks that an average of this table is over, as one text; found once for each section."""
        if section not in self._compositions:
            self._compositions[section] = _composition(sheet, section)
        return self._compositions[section]


def _name_told(text: str) -> BenchmarkName:
    """Return the benchmark that a correction names; a name that is also a metric's counts as a benchmark."""
    name = benchmark_name(text)
    return name if name.key else name._replace(key=benchmark_key(text), name=text)


def _tuning(table: Table) -> tuple[Tuning, str]:
    # A heading that is a model's name says nothing of the models that it is compared with.
    headings = [text for text in reversed(table.headings) if not looks_like_model(text)]
    places = [("its caption", table.caption), *((f"the heading {text!r}", text) for text in headings)]
    for where, text in places:
        if re.search(r"(?:-Instruct|-Chat)\W{1,4}(?:or|and|/).{0,30}omitted", text):
            return "instruct", f'{where} says that "-Instruct" or "-Chat" is omitted'
        tuned = re.search(
            r"\binstruct(?:ion[- ]tuned|ed)?\b|-Instruct\b|\bchat models?\b|-Chat\b|\bpost-trained\b|"
            r"\baligned models?\b",
            text,
            re.IGNORECASE,
        )
        base = re.search(r"\bbase (?:language )?models?\b|(?<!-)\bbase\b|\bpre-?trained models?\b", text, re.IGNORECASE)
        if tuned and not base:
            return "instruct", f"{where} says {tuned.group()!r}"
        if base and not tuned:
            return "base", f"{where} says {base.group()!r}"
    return "", ""


def _tuned_names(caption: str) -> frozenset[str]:
    words = re.findall(r"[A-Za-z][\w.+-]*-(?:Instruct|Chat|IT)\b", caption)
    return frozenset(model_name(word).key for word in words)


def setting_of(text: str) -> str:
    """Return a text as a setting; empty if it says only that something is a score or a difference."""
    setting = " ".join(text.split())
    return "" if setting.lower() in DEFAULT_SETTINGS or is_role("delta", setting) else setting


@functools.lru_cache(maxsize=1 << 14)
def part_benchmark(benchmark: BenchmarkName, label: str) -> tuple[BenchmarkName, str]:
    """Return the benchmark of one of several values of a cell, with the metric that `label` names.

    The second part is the label itself if it is another word than the metric (`EM`), else empty.
    """
    metric = metric_name(label)[0]
    variant = "" if "/" in benchmark.variant else benchmark.variant
    return benchmark._replace(metric=metric, variant=variant), "" if metric.lower() == label.lower() else label


@functools.lru_cache(maxsize=1 << 14)
def row_setting(label: str, model: str) -> str:
    """Return what a row's label says besides its model: `+ YARN` gives `+YARN`, `w/o DCA` gives `without DCA`."""
    rest = label.removeprefix(model)
    rest = re.sub(r"\s*\+\s*", "+", " ".join(rest.split()))
    rest = re.sub(r"^w/o\b", "without", rest)
    return setting_of(re.sub(r"^w/(?=\s|\w)", "with", rest))


def _composition(sheet: Sheet, section: str) -> str:
    """Return the keys of the benchmarks that an average is over, as one text: averages of different sets differ."""
    if sheet.models_in == "rows":
        places = zip(sheet.column_labels[sheet.first_column :], sheet.column_roles[sheet.first_column :], strict=True)
    else:
        sections = [row.section for row in sheet.table.rows]
        chosen = [index for index, own_section in enumerate(sections) if own_section == section]
        places = ((sheet.row_labels[index], sheet.row_roles[index]) for index in chosen)  # type: ignore[assignment]
    return ", ".join(sorted(benchmark_name(label).key for label, role in places if role == "score"))
