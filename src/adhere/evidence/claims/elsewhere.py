"""Find facts elsewhere in a document that complete a table's labels: in captions, headings, notes, other tables."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from adhere.evidence.claims.axis import Labels
from adhere.evidence.claims.layout import SET_BEHIND, Layout, corner_of
from adhere.evidence.claims.names import (
    REMARK,
    BenchmarkName,
    benchmark_name,
    clean_label,
    has_arrow,
    has_named_sizes,
    is_known,
    is_metric,
    is_ours,
    is_part,
    is_role,
    label_kind,
    looks_like_model,
    metric_in,
    role_of,
    shots_of,
    without_pictures,
)
from adhere.evidence.read.document import Document, Table
from adhere.evidence.read.documents import repair

_TOPIC = re.compile(r"\S{2,30}(?: \S+){0,2}")
_FIRST_NAME = re.compile(r"(?:(?=[\w'-]*[A-Z]\d?[\w'-]*[A-Z\d])[A-Z][\w'-]+)(?=[\s(\uff08:\uff1a]|[^\x00-\x7f])")
_NAME_LIKE = re.compile(r"[A-Z][\w'-]*[A-Z\d]|[a-z][A-Z]")  # more than a word with a capital
_ON = re.compile(
    r"\b(?:on|of|for|data\s?set|dados|datos|données)\s+(?:the\s+)?(?P<name>[A-Z][\w+-]*[A-Z\d][\w.+-]*\w(?:\s\d+(?:\.\d+)*)?)(?![\w+-])"
    r"(?!(?:\s\w+)?\s(?:models?|methods?|variants?|systems?)\b)"  # `of DISTANT-CTO NER models` names a model
)
_ON_SET = re.compile(r"\bon (?:the |our )?(?P<name>(?:[\w-]+ ){0,3}[\w-]+) (?:benchmark|data\s?set|leaderboard)\b")
_BEHIND_COLON = re.compile(r"[:\uff1a]\s*")
_WINDOW = r"[\s(]*\(?(v\d+(?:\.\d+)?|\d{4}(?:\s?-\s?\d{4})?)\b"
_FORM = re.compile(r"([\w@-]+) ?\(([\w@-]+)\)")
_SET_WORD = re.compile(
    r"(?<=\w)\s*(?:数据集|评测集|测试集|データセット|데이터셋|(?<=\s)(?:data ?set|benchmark))$", re.IGNORECASE
)
_NUMBERED = re.compile(r"^\d+(?:\.\d+)*[.)]?\s+")
# A heading that says what is done names no set.
_ABOUT = re.compile(
    r"\b(?:analys[ei]s|experiments?|ablations?|comparisons?|effects?|models?|settings?|training|characteristics)\b"
    r"|实验|分析|对比|比较|模型|方法|训练|消融|モデル|実験|手法",
    re.IGNORECASE,
)


def labels_of(tables: Sequence[Table], layouts: Sequence[Layout]) -> Labels:
    """Return the labels that name benchmarks and models in those tables of which the axis of models is known."""
    benchmarks: set[str] = set()
    models: set[str] = set()
    model_names: set[str] = set()
    sets: set[str] = set()
    for table, layout in zip(tables, layouts, strict=True):
        data = layout.paths[layout.first :]
        above = {without_pictures(path[-1]) for path in data if path and role_of(path[-1]) == "score"}
        beside = {without_pictures(row.cells[layout.names].text) for row in table.rows if len(row.cells) > layout.names}
        if layout.models_in and not layout.nothing:
            benchmarks |= above if layout.models_in == "rows" else beside
            own = beside if layout.models_in == "rows" else above
            own = own | {REMARK.sub("", label) for label in own if is_ours(label)}  # elsewhere FooNet alone
            is_said = layout.models_in == "rows" and label_kind(corner_of(table, layout.names)) == "models"
            model_names |= own if is_said else {label for label in own if looks_like_model(label)}
            models |= own
            sets |= above if is_said else set()
    return Labels(*(frozenset(labels - {""}) for labels in (benchmarks, models, model_names, sets)))


def told_apart(tables: Sequence[Table]) -> dict[int, str]:
    """Return the words in which captions of tables with the same labels differ, by table index.

    `AUC of ResNet50` and `AUC of DenseNet` differ in the model.
    """
    alike: dict[Hashable, list[Table]] = defaultdict(list)
    for table in tables:
        if table.caption:
            alike[str(table.headers), tuple(row.cells[0].text for row in table.rows)].append(table)
    names_by_table: dict[int, str] = {}
    for same in alike.values():
        texts = [table.caption.removeprefix(f"{table.label}:").rstrip(" .").split() for table in same]
        head = _alike(texts)
        tail = _alike([text[head:][::-1] for text in texts])
        names = [" ".join(text[head : len(text) - tail]) for text in texts]
        if SET_BEHIND.match(" ".join(texts[0][len(texts[0]) - tail :])):
            continue
        if len(same) > 1 and head and len({*names}) == len(names) and all(0 < len(name.split()) < 4 for name in names):
            names_by_table |= {table.index: name for table, name in zip(same, names, strict=True)}
    return names_by_table


def _alike(texts: list[list[str]]) -> int:
    """Count the words that all texts have in common at their beginning."""
    return sum(1 for _ in takewhile(lambda words: len({*words}) == 1, zip(*texts, strict=False)))


def ways_of(tables: Sequence[Table], layouts: Sequence[Layout]) -> frozenset[tuple[str, ...]]:
    """Return the headers (labels of the columns) that tables of several sets share.

    Their columns say how it was measured, not on what: `Reported F1 | Our F1` below the heading of each set.
    """
    sets: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for table, layout in zip(tables, layouts, strict=True):
        labels = measures_of(layout)
        if layout.models_in == "rows" and labels and all(metric_in(label) and not is_known(label) for label in labels):
            topic = set_of_caption(table) or topic_of(table)
            sets[labels].append(topic.key if topic else "")
    return frozenset(labels for labels, keys in sets.items() if len({*keys} - {""}) > 1)


def has_ways(layout: Layout, topic: BenchmarkName | None) -> bool:
    """Tell whether columns are ways of doing what the caption names: the same parts below each of several labels.

    For example `SVM` and `NB` below two sets of features. No label says what was measured.
    """
    paths = [path for path in layout.paths[layout.first :] if path and role_of(path[-1]) == "score"]
    labels = {label for path in paths for label in path}
    is_said = any(is_known(x) or metric_in(x) or is_part(x) or has_arrow(x) or "→" in x for x in labels)
    parts = {tuple(path[1:]) for path in paths}
    if topic is None or topic.name in labels or is_said:
        return False
    return 1 < len(parts) < len(paths) == len(parts) * len({path[0] for path in paths}) and () not in parts


def measures_of(layout: Layout) -> tuple[str, ...]:
    """Return the lowest labels over the columns of numbers, without notes."""
    return tuple(path[-1] for path in layout.paths[layout.first :] if path and label_kind(path[-1]) != "note")


@dataclass(slots=True)
class Elsewhere:
    """Holds what a document states once for all of its tables.

    `variants` and `metrics` give each benchmark (by key) its variant or metric, and the place that says so.
    `has_named_sizes` says that "base" is a size there, like "large". `ways` are headers whose columns are ways.
    """

    variants: dict[str, tuple[str, str]] = field(default_factory=dict)
    has_named_sizes: bool = False
    metrics: dict[str, tuple[str, str]] = field(default_factory=dict)
    ways: frozenset[tuple[str, ...]] = frozenset()
    headed: frozenset[int] = frozenset()  # tables that their headings tell apart
    aside: str = ""  # the metric in parentheses behind another one: `in the format of Rank-1 (mAP)`


def find_elsewhere(document: Document) -> Elsewhere:
    """Collect what the sentences, notes and labels of a document say and its tables leave out."""
    elsewhere = Elsewhere()
    labels = {clean_label(cell.text) for table in document.tables for row in table.rows for cell in row.cells[:2]}
    labels |= {clean_label(label) for table in document.tables for header in table.headers for label in header}
    elsewhere.has_named_sizes = has_named_sizes(labels)
    names_by_key: dict[str, set[str]] = {}
    for label in labels:
        name = benchmark_name(label) if label else None
        if name and name.is_known:
            names_by_key.setdefault(name.key, set()).add(name.name)
    forms = {
        match.groups() for line in document.lines if re.search("format|metric", line) for match in _FORM.finditer(line)
    }
    asides = {aside for first, aside in forms if is_metric(first) and (is_metric(aside) or is_role("spread", aside))}
    elsewhere.aside = asides.pop() if len(asides) == 1 else ""
    windows = defaultdict(set)
    if names_by_key:
        names = {name for group in names_by_key.values() for name in group}
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))}){_WINDOW}")
        for sentence in document.sentences:
            if any(char.isdigit() for char in sentence.text):
                for match in pattern.finditer(sentence.text):
                    windows[benchmark_name(match[1]).key].add((match[2].replace(" ", ""), sentence.line))
    for key, occurrences in windows.items():
        texts = {text for text, _ in occurrences}
        if len(texts) == 1 and not re.fullmatch(r"(?:19|20)\d\d", next(iter(texts))):
            text, line = min(occurrences, key=lambda item: item[1])
            elsewhere.variants[key] = (text, f"line {line} names {text}")
    for note in document.notes:
        metric = metric_in(note.text)
        if note.mark and metric:
            for key in _marked_benchmarks(document, note.mark):
                elsewhere.metrics[key] = (metric, f"the footnote at line {note.line} says {metric}")
    return elsewhere


def _marked_benchmarks(document: Document, mark: str) -> set[str]:
    superscript = mark.translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    sign = rf"(?:\^\{{?{re.escape(mark)}\}}?|{re.escape(superscript)}|\[\^{re.escape(mark)}\])(?!\d)"
    pattern = re.compile(rf"([A-Za-z][\w+.-]*)\s*(?:\([^()]*\))?\s*{sign}")
    lines = (repair(line) for line in document.lines if "^" in line or not line.isascii())
    names = (benchmark_name(match[1]) for line in lines for match in pattern.finditer(line))
    return {name.key for name in names if name.is_known}


def benchmark_of_caption(table: Table, layout: Layout, texts: tuple[str, ...]) -> BenchmarkName | None:
    """Return the one known benchmark that a caption or heading names and no label does; bare labels are about it."""
    labels = {benchmark_name(label).key for path in layout.paths for label in path}
    labels |= {
        benchmark_name(clean_label(row.cells[layout.names].text)).key
        for row in table.rows
        if len(row.cells) > layout.names
    }
    for text in texts:
        benchmarks: dict[str, BenchmarkName] = {}
        for word in re.findall(r"[A-Z][\w+.-]*\w", text):
            name = benchmark_name(word.strip("_"))
            if name.is_known and not any(name.key in label for label in labels):
                benchmarks[name.key] = name
        if benchmarks:
            return next(iter(benchmarks.values())) if len(benchmarks) == 1 else None
    # Where no label is more than a metric, the caption says of what: `Question answering results on FQuAD 1.0`.
    bare = [label for path in layout.paths[layout.first :] for label in path]
    return set_of_caption(table) if bare and layout.models_in == "rows" and all(map(is_metric, bare)) else None


def set_of_caption(table: Table, model: str = "") -> BenchmarkName | None:
    """Return the one set that the caption says was measured on: `Question answering results on FQuAD 1.0`.

    The set need not be a known one. A set in the name of `model`, which all is about, does not count (`the parser
    trained on FooBank`).
    """
    caption = table.caption.replace(model, "") if model else table.caption
    names = list(dict.fromkeys(match["name"] for match in _ON.finditer(caption)))
    names = names or [match["name"] for match in _ON_SET.finditer(caption)]
    return benchmark_name(names[0]) if len(names) == 1 and not looks_like_model(names[0]) else None


def headed_apart(tables: Sequence[Table], layouts: Sequence[Layout]) -> frozenset[int]:
    """Return the tables that differ only in their headings: the same measures, and no caption."""
    alike: dict[tuple[str, ...], list[Table]] = defaultdict(list)
    for table, layout in zip(tables, layouts, strict=True):
        labels = measures_of(layout)
        if layout.models_in == "rows" and labels and table.headings and not table.caption:
            is_of_topic = topic_of(table) and not any(is_known(label) or is_part(label) for label in labels)
            if all(map(is_metric, labels)) or is_of_topic:
                alike[labels].append(table)
    indexes: set[int] = set()
    for same in alike.values():
        if len({table.headings[-1] for table in same}) == len(same) > 1:
            indexes |= {table.index for table in same}
    return frozenset(indexes)


def topic_of(table: Table, *, is_told: bool = False) -> BenchmarkName | None:
    """Return the set that the nearest heading names, known or not: `Reading comprehension: CMRC 2018`; None if none.

    `is_told` says that nothing but the heading distinguishes the table from others: what it says is then the set.
    """
    if not table.headings:
        return None
    heading = _NUMBERED.sub("", table.headings[-1].strip(" .:\uff1a*_"))
    if is_told and len(heading.split()) <= 3 and not (looks_like_model(heading) or _ABOUT.search(heading)):
        return benchmark_name(_SET_WORD.sub("", heading))
    name = _SET_WORD.sub("", _BEHIND_COLON.split(heading)[-1].strip(" .:*_"))
    if not _TOPIC.fullmatch(name):  # `AFQMC: semantic similarity (Accuracy)`, `Yidu S4K (CCKS 2019)`
        first = _FIRST_NAME.match(heading)
        name = first.group() if first else REMARK.sub(" ", heading).strip()
    is_name = 2 <= len(name) <= 30 and len(name.split()) <= 3 and _NAME_LIKE.search(name) and shots_of(name)[1] == name
    is_phrase = re.search(r"(?<=\s)[^\W\dA-Z_]{4,}(?=\s)", name)  # `Validação cruzada K-Fold` says how
    if not is_name or is_phrase or looks_like_model(name) or role_of(name) != "score" or _ABOUT.search(name):
        return None
    benchmark = benchmark_name(name)
    return benchmark if benchmark.key else None  # `ROUGE scores` names a measure
