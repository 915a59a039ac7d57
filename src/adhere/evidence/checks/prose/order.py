"""Sentences that order models: "outperforms X on all tasks except Y", "8 of 13 benchmarks", "the best on Z"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adhere.evidence.checks.checking import Check, Read, Severity, Source, as_printed, show_number
from adhere.evidence.claims.mentions import BenchmarkMention, Index, Mentions, ModelMention, topic_keys
from adhere.evidence.claims.names import clean_label
from adhere.evidence.claims.printed import EPSILON
from adhere.evidence.claims.values import Sheet, Value

_AHEAD = (
    r"outperform\w*|outscor\w*|wins? (?:against|over)|winning against|defeats?|edges? out|tops\b|leads?(?=\s+(?:the\s+)?[A-Z][\w.-]*\d)|surpass\w*|exceed\w*|outshin\w*|outcompet\w*|beats?\b|beating|superior\b(?:\s+\w+)?(?:\s+(?:to|performance(?:\s+to)?))?|"
    r"(?:is|are|performs?|performing|scores?|does)\s+(?:\w+ly\s+)?(?:better|higher)\b|matches or exceeds|ahead of|"
    r"(?:shows?|demonstrates?|brings?)\s+(?:\w+\s+){0,2}?(?:improvements?|advantages?)\b|improves? (?:up)?on\b"
)
_BEHIND = r"(?:is|was|are|were|gets?) (?:\w+ly )?(?:outperformed|surpassed|exceeded|beaten|outshone|overtaken) by|loses? (?:out )?(?:to|against)|losing to|falls? (?:\w+\s+)?behind|falling behind|lags?(?: behind)?|trails?|underperforms?|inferior to|(?:is|are|performs?|scores?)\s+(?:\w+ly\s+)?(?:worse|lower)\b"
_ORDER = re.compile(rf"\b(?:(?P<ahead>{_AHEAD})|(?P<behind>{_BEHIND}))", re.IGNORECASE)
_UNIVERSAL = re.compile(
    r"\b(?:all|every|each|any|across the board)\b(?:\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+){0,2}?)(?:tasks?|benchmarks?|metrics?|datasets?|evaluations?|categories|languages?|domains?|tests?|lengths?|aspects?)\b",
    re.IGNORECASE,
)
_MOST = re.compile(r"\b(?:most|majority of|many of)\b", re.IGNORECASE)
_SOME = re.compile(
    r"\b(?:various|several|some|certain|multiple|selected|a (?:number|range|variety) of|particularly|especially)\b",
    re.IGNORECASE,
)
_NEARLY = re.compile(r"\b(?:nearly|almost) (?:all|every)\b", re.IGNORECASE)
_ONLY_EXCEPTION = re.compile(
    r"\bwith\s+(?P<rest>[^.;]{2,80}?)\s+as\s+(?:the\s+)?(?:only|sole)\s+exceptions?\b", re.IGNORECASE
)
_EXCEPT = re.compile(
    r"\b(?:except(?:ing)?(?: for)?|with the (?:sole |only )?exceptions? of|exclud\w+|apart from|other than|but not|(?<=benchmark )but|(?<=benchmarks )but|(?<=task )but|(?<=tasks )but|(?<=metric )but|(?<=metrics )but|(?<=dataset )but|(?<=one )but)\b(?P<rest>[^.;]*)",
    re.IGNORECASE,
)
_LEADING_EXCEPT = re.compile(
    r"\W*(?:except (?:for|on)|with the (?:sole |only )?exceptions? of|apart from|other than|excluding)\b(?P<rest>.*?),(?=\s+(?:the\s+)?[A-Z][\w.+-]*\s+\w)",
    re.IGNORECASE,
)
_PEERS = re.compile(
    r"\b(?:(?:its|all|other|the other|all other)\s+(?:\w+[\s-]){0,3}?(?:peers|competitors|counterparts|models|baselines|rivals)|(?:other )?baseline models|its peers|the baselines|all (?:the )?baselines)\b",
    re.IGNORECASE,
)
_THEM = re.compile(r"\b(?:them|both)\b", re.IGNORECASE)
_WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
          "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"]  # fmt: skip
_COUNT = "(?:" + "|".join([r"\d{1,3}", *_WORDS]) + ")"
_K_THINGS_OF_N = re.compile(
    rf"\b(?P<k>{_COUNT})\s+(?:benchmarks?|tasks?|metrics?|datasets?|evaluations?|tests?|languages?|cases)\s+(?:out\s+)?of\s+(?:the\s+)?(?P<n>{_COUNT})\b",
    re.IGNORECASE,
)
_K_OF_N = re.compile(
    rf"\b(?P<k>{_COUNT})\s+(?:out\s+of|of|/)\s+(?:the\s+|its\s+|all\s+)?(?P<n>{_COUNT})\b(?:\s+\w+){{0,2}}?\s*(?:benchmarks?|tasks?|metrics?|datasets?|evaluations?|categories|tests?|languages?|rows|cases|comparisons|columns|lines|settings|areas)\b",
    re.IGNORECASE,
)
_BEST = re.compile(
    r"\b(?:(?:achiev\w+|obtain\w+|attain\w+|has|have|get\w*|record\w*|shows?|shown|reach\w*|takes?|holds?|posts?|sets?|claims?)\s+(?:the\s+)?(?:highest|best|strongest|top)\b|performs? (?:the )?best|"
    r"(?:is|are|ranks?)\s+(?:the\s+)?(?:best|strongest|top|first|highest)\b|leads?\b(?!\s+(?:the\s+)?[A-Z][\w.-]*\d)|excels\b|tops\b)",
    re.IGNORECASE,
)
_FIRST_OBJECT = re.compile(r"^\W*(?:when\s+)?(?:compared|in comparison)\s+(?:with|to)\b", re.IGNORECASE)
_ON = re.compile(r"(?:^|[,;:.]\s+)\W*(?:on|in|for)\s+(?:the\s+)?$", re.IGNORECASE)
_COMPARED_TO = re.compile(
    r"\b(?:compared (?:to|with)|relative to|in comparison (?:to|with))\s+(?:the\s+|its\s+)?(?:\w+,?\s+)?$",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Pairing:
    """A subject and its rivals with the cells that they share, line by line of one table."""

    sheet: Sheet
    lines: dict[str, tuple[Value | None, list[Value]]]

    @property
    def scored(self) -> list[str]:
        """The lines that are benchmarks: averages are not."""
        return [line for line, (own, others) in self.lines.items() if (own or others[0]).role == "score"]


def order_checks(  # noqa: PLR0917 -- the parts of one statement
    text: str,
    found: Mentions,
    scope: Sequence[Sheet],
    index: Index,
    source: Source,
    quoted: str,
    pronoun: ModelMention | None,
) -> Iterator[Check]:
    """Every ordering that a sentence states, as checks on the cells that it is about."""
    models = [pronoun, *found.models] if pronoun else found.models
    if not models:
        return
    statement = _Order(text, found, models, pronoun, list(scope), index, source, quoted)
    counted = _K_OF_N.search(text) or _K_THINGS_OF_N.search(text)
    ordered = False
    for verb in _ORDER.finditer(text):
        subject, rivals, are_all = statement.parties(verb)
        if subject is None or not (rivals or are_all):
            continue
        ordered = True
        if counted:
            yield from statement.counted(subject, rivals, counted, behind=bool(verb["behind"]))
        else:
            yield from statement.ordered(subject, rivals, verb, are_all=are_all)
    if not ordered:
        for verb in _BEST.finditer(text):
            if counted:
                yield from statement.counted_best(verb, counted)
            else:
                yield from statement.best(verb)


class _Order:
    """One sentence that orders models."""

    def __init__(  # noqa: PLR0917 -- the parts of one statement
        self,
        text: str,
        found: Mentions,
        models: Sequence[ModelMention],
        pronoun: ModelMention | None,
        scope: list[Sheet],
        index: Index,
        source: Source,
        quoted: str,
    ) -> None:
        self.text, self.found, self.models, self.pronoun = text, found, models, pronoun
        self.scope, self.index, self.source, self.quoted = scope, index, source, quoted

    def parties(self, verb: re.Match[str]) -> tuple[ModelMention | None, list[ModelMention], bool]:
        """Who is said to be ahead of (or behind) whom; the flag says "all the others of the table"."""
        text = self.text
        before = [m for m in self.models if m is self.pronoun or m.end <= verb.start()]
        except_at = next((m.start() for m in _EXCEPT.finditer(text, verb.end())), len(text))
        following = [m for m in self.found.models if verb.end() <= m.start < except_at]
        clause_end = min(
            (p for p in (text.find("; ", verb.end()), text.find(". ", verb.end())) if p >= 0), default=len(text)
        )
        after = [m for m in following if m.start < clause_end]
        subject: ModelMention | None
        if _FIRST_OBJECT.match(text) and len(before) >= 2:
            return before[-1], [before[0]], False
        if not before:
            return None, [], False
        subject = before[0]
        nearest = before[-1]
        # "…, X outperforms Y": the model directly before the verb is the subject; a participle ("…, outperforming Y") has the
        # subject of its sentence.
        is_participle = verb.group().lower().endswith("ing")
        earlier = [m for m in before if m is not nearest and m is not self.pronoun]
        lead = text[max(0, earlier[-1].start - 45) : earlier[-1].start] if earlier else ""
        if (
            _COMPARED_TO.search(lead)
            and not after
            and not is_participle
            and not _PEERS.search(text[verb.end() : except_at][:80])
        ):
            return nearest, [earlier[-1]], False
        if (
            not is_participle
            and nearest is not self.pronoun
            and re.fullmatch(
                r"[\s,]*(?:also|further|even|significantly|consistently|clearly|slightly|generally|model|models|\w+ly|does|base)*[\s,]*(?:model\s+)?(?:\w+ly\s+)*",
                text[nearest.end : verb.start()],
            )
        ):
            subject = nearest
        if _PEERS.search(text[verb.end() : except_at][:80]) and not after:
            return subject, [], True
        if not after and _THEM.match(text[verb.end() :].lstrip()):
            return subject, [m for m in before if m.model.key != subject.model.key], False
        rivals = [m for m in after if m.model.key != subject.model.key]
        return subject, rivals[:1] + [m for m in rivals[1:] if self._listed(rivals, m)], False

    def _listed(self, rivals: Sequence[ModelMention], mention: ModelMention) -> bool:
        """Whether a model continues the list of rivals ("Gemma2-9B-IT and Llama3.1-8B-Instruct")."""
        position = list(rivals).index(mention)
        gap = self.text[rivals[position - 1].end : mention.start]
        return bool(re.fullmatch(r"(?:\s*\([^()]*\))?[\s,]*(?:and|or|as well as|,|the|larger|both|\s)*", gap))

    # ── cells ──

    def pairings(self, subject: ModelMention, rivals: Sequence[ModelMention]) -> list[_Pairing]:
        """The tables of the scope that have the subject and a rival; all others of the table where no rival is named."""
        found = []
        wanted = {rival.model.key for rival in rivals}
        # "… compared to X, outperforming other baseline models": X is not one of the others.
        apart = {mention.model.key for mention in self.models}
        for sheet in self.scope:
            own: dict[str, Value] = {}
            others: dict[str, list[Value]] = {}
            for value in sheet.values():
                if (
                    value.model is None
                    or value.benchmark is None
                    or value.role not in {"score", "aggregate"}
                    or value.setting
                ):
                    continue
                line = value.row_label if sheet.models_in == "columns" else value.column_label
                if value.model.key == subject.model.key:
                    own[line] = value
                elif value.model.key in wanted if rivals else value.model.key not in apart:
                    others.setdefault(line, []).append(value)
            if own and others:
                found.append(_Pairing(sheet, {line: (own.get(line), cells) for line, cells in others.items()}))
        return found

    def _lines_named(self, pairing: _Pairing, text: str, mentions: Sequence[BenchmarkMention]) -> list[str]:
        """The lines of a table that a piece of text names: by benchmark, by section, by topic."""
        keys = {mention.key for mention in mentions}
        topic = topic_keys(text)
        named = []
        for line, (own, others) in pairing.lines.items():
            value = own or others[0]
            key = value.benchmark.key.rpartition(":")[2] if value.benchmark else ""
            label = clean_label(line).lower()
            if (
                key in keys
                or key in topic
                or (len(label) > 3 and re.search(rf"(?<![\w-]){re.escape(label)}(?![\w+-])", text.lower()))
            ):
                named.append(line)
        return named

    # ── statements ──

    def ordered(
        self, subject: ModelMention, rivals: Sequence[ModelMention], verb: re.Match[str], *, are_all: bool
    ) -> Iterator[Check]:
        behind = bool(verb["behind"])
        exception = _EXCEPT.search(self.text, verb.end()) or _ONLY_EXCEPTION.search(self.text, verb.end())
        end = exception.start() if exception else len(self.text)
        leading = None if exception else _LEADING_EXCEPT.match(self.text)
        body = self.text[verb.end() : end]
        universal = _UNIVERSAL.search(self.text[verb.start() : end])
        is_most, is_nearly = bool(_MOST.search(body)), bool(_NEARLY.search(body))
        after = [b for b in self.found.benchmarks if verb.end() <= b.start < end]
        if not after and not universal and not _MOST.search(body) and not leading:
            # "On Portuguese, X surpasses Y"
            after = [b for b in self.found.benchmarks if b.end <= verb.start() and _ON.search(self.text[: b.start])]
        if _SOME.search(body) and not after and not is_nearly and not universal:
            return
        for pairing in self.pairings(subject, [] if are_all else rivals):
            excluded = []
            if exception:
                excluded = self._lines_named(
                    pairing, exception["rest"], [b for b in self.found.benchmarks if b.start >= exception.start()]
                )
            if leading:
                excluded = self._lines_named(
                    pairing, leading["rest"], [b for b in self.found.benchmarks if b.end <= leading.end()]
                )
            named = [
                line
                for line in self._lines_named(pairing, body if not universal else "", after)
                if line not in excluded
            ]
            if (universal or exception) and not is_nearly and not is_most and not named:
                lines = [line for line in pairing.scored if line not in excluded]
                yield from self._all(
                    subject, pairing, lines, verb, severity="error" if universal else "warning", behind=behind
                )
                if excluded and universal:
                    yield from self._exceptions(subject, pairing, excluded, behind=behind)
            elif is_nearly or is_most:
                lines = [line for line in pairing.scored if line not in excluded]
                yield from self._share(subject, pairing, lines, 0.8 if is_nearly else 0.5, behind=behind)
            elif named:
                is_listed = bool(after)
                yield from self._all(
                    subject, pairing, named, verb, severity="error" if is_listed else "warning", behind=behind
                )

    def _all(
        self,
        subject: ModelMention,
        pairing: _Pairing,
        lines: Sequence[str],
        verb: re.Match[str],
        *,
        severity: Severity,
        behind: bool,
    ) -> Iterator[Check]:
        ties = "match" in verb.group().lower()
        absent = [line for line in lines if pairing.lines[line][0] is None]
        if absent and self.found.benchmarks:
            yield from self._missing(subject, pairing, absent)
        for line in lines:
            own, others = pairing.lines[line]
            if own is None:
                continue
            for other in others:
                if other.setting == own.setting:
                    yield self._pair(own, other, severity=severity, behind=behind, ties=ties)

    def _pair(self, own: Value, other: Value, *, severity: Severity, behind: bool, ties: bool) -> Check:
        lower = (own.direction == "lower") != behind

        def holds(read: Read) -> bool:
            gap = read(own).value - read(other).value
            gap = -gap if lower else gap
            # "Outperforms" of two equal numbers is stretched, not wrong: rounding may hide the order.
            return gap > -EPSILON if ties or own.printed.value == other.printed.value else gap > EPSILON

        def message(read: Read) -> str:
            return (
                f"{self.quoted}: but in {own.table.name} {own.model.name if own.model else ''} has {show_number(read(own))} and "
                f"{other.model.name if other.model else ''} {show_number(read(other))} on {own.benchmark.name if own.benchmark else own.row_label}"
            )

        return Check("prose_table", (own, other), (), holds, message, severity, (self.source,), weight=0.0)

    def _missing(self, subject: ModelMention, pairing: _Pairing, lines: Sequence[str]) -> Iterator[Check]:
        """A sentence that ranks a model on lines where the table prints nothing for it; perhaps those lines are shifted."""
        cells = tuple(other for line in lines for other in pairing.lines[line][1])
        text = f"{self.quoted}: but {pairing.sheet.table.name} prints no number for {subject.model.name} on {', '.join(lines)}"
        yield Check(
            "prose_table", cells[:1], cells[1:], lambda _: False, lambda _: text, "warning", (self.source,), weight=0.0
        )
        shifted = _shifted(pairing, subject, lines)
        if shifted:
            step, values = shifted
            side = "left" if step < 0 else "right"
            hint = (
                f"{pairing.sheet.table.name}: in each of the {len(lines)} rows where {subject.model.name} has no number but the text ranks it "
                f"first ({', '.join(lines)}), the number {abs(step)} column to the {side} is the highest of its row: the cells of these "
                "rows may stand under the wrong columns"
            )
            yield Check("swap", values, (), lambda _: False, lambda _: hint, "warning", (self.source,), weight=0.0)

    def _exceptions(
        self, subject: ModelMention, pairing: _Pairing, lines: Sequence[str], *, behind: bool
    ) -> Iterator[Check]:
        """An exception must be one: somewhere on its line a rival is not beaten."""
        for line in lines:
            own, others = pairing.lines[line]
            if own is not None and others:
                yield self._exception(own, [o for o in others if o.setting == own.setting], behind=behind)

    def _exception(self, own: Value, others: Sequence[Value], *, behind: bool) -> Check:
        lower = (own.direction == "lower") != behind

        def holds(read: Read) -> bool:
            sign = -1 if lower else 1
            return any(sign * read(own).value <= sign * read(other).value + EPSILON for other in others)

        def message(read: Read) -> str:
            beside = ", ".join(f"{o.model.name if o.model else ''} {show_number(read(o))}" for o in others)
            return (
                f"{self.quoted} names {own.benchmark.name if own.benchmark else own.row_label} as an exception, but in {own.table.name} "
                f"{own.model.name if own.model else ''} has {show_number(read(own))} there, ahead of {beside}"
            )

        return Check("prose_table", (own,), tuple(others), holds, message, "error", (self.source,), weight=0.0)

    def _share(
        self, subject: ModelMention, pairing: _Pairing, lines: Sequence[str], least: float, *, behind: bool
    ) -> Iterator[Check]:
        pairs = [(own, others) for own, others in (pairing.lines[line] for line in lines) if own is not None]
        if len(pairs) < 4:
            return
        wins = _wins(pairs, behind=behind)

        def holds(read: Read) -> bool:
            return wins(read) >= least * len(pairs)

        def message(read: Read) -> str:
            return (
                f"{self.quoted}: but in {pairing.sheet.table.name} {subject.model.name} is {'behind' if behind else 'ahead'} on "
                f"{wins(read)} of {len(pairs)} lines"
            )

        yield Check(
            "prose_table",
            tuple(own for own, _ in pairs[:1]),
            tuple(o for _, others in pairs for o in others),
            holds,
            message,
            "warning",
            (self.source,),
            weight=0.0,
        )

    def counted(
        self,
        subject: ModelMention,
        rivals: Sequence[ModelMention],
        match: re.Match[str],
        *,
        behind: bool,
        ties: bool = False,
    ) -> Iterator[Check]:
        """In words: "9 out of 13 benchmarks": both numbers are counted again."""
        k, n = _count(match["k"]), _count(match["n"])
        checks = [
            self._counted(subject, pairing, k, n, match.group(), behind=behind, ties=ties)
            for pairing in self.pairings(subject, rivals)
        ]
        holding = [check for check in checks if check.holds(as_printed)]
        yield from holding[:1] or checks[:1]

    def _counted(
        self, subject: ModelMention, pairing: _Pairing, k: int, n: int, stated: str, *, behind: bool, ties: bool
    ) -> Check:
        pairs = [(own, others) for own, others in pairing.lines.values() if own is not None and own.role == "score"]
        wins = _wins(pairs, behind=behind)
        shared = _wins(pairs, behind=behind, ties=ties)

        def holds(read: Read) -> bool:
            return wins(read) <= k <= shared(read) and len(pairs) == n

        def message(read: Read) -> str:
            return (
                f"{self.quoted} says {stated!r}, but in {pairing.sheet.table.name} {subject.model.name} is "
                f"{'behind' if behind else 'ahead'} on {wins(read)} of {len(pairs)}"
            )

        cells = [value for own, others in pairs for value in (own, *others)]
        return Check(
            "prose_table", tuple(cells[:1]), tuple(cells[1:]), holds, message, "error", (self.source,), weight=0.0
        )

    def counted_best(self, verb: re.Match[str], match: re.Match[str]) -> Iterator[Check]:
        """In words: "achieves the best result on 3 of the 7 benchmarks": the rivals are all others of the table."""
        before = [m for m in self.models if m is self.pronoun or m.end <= verb.start()]
        if before:
            yield from self.counted(self.pronoun or before[-1], [], match, behind=False, ties=True)

    def best(self, verb: re.Match[str]) -> Iterator[Check]:
        """In words: "achieves the highest score on X": the subject holds the best number of each line that is named."""
        before = [m for m in self.models if m is self.pronoun or m.end <= verb.start()]
        if not before:
            return
        subject = self.pronoun or before[-1]
        stop = _next_model(self.found.models, verb.end(), self.text)
        after = [b for b in self.found.benchmarks if verb.end() <= b.start < stop]
        universal = _UNIVERSAL.search(self.text[verb.end() : stop])
        if not after and not universal:
            return
        if verb.group().lower() != "tops" and not re.match(
            r"[^,;]{0,60}?\b(?:on|in|for|of|across|at)\b", self.text[verb.end() : stop]
        ):
            return
        for pairing in self.pairings(subject, []):
            named = pairing.scored if universal and not after else self._lines_named(pairing, "", after)
            # A set with a printed overall score is led by who leads that.
            overall = [line for line in named if pairing.lines[line][1][0].role == "aggregate"]
            for line in overall or named:
                own, others = pairing.lines[line]
                if own is not None:
                    yield self._best(
                        own,
                        [o for o in others if o.setting == own.setting],
                        severity="warning" if universal else "error",
                    )

    def _best(self, own: Value, others: Sequence[Value], *, severity: Severity) -> Check:
        sign = -1 if own.direction == "lower" else 1

        def ahead(read: Read) -> Value | None:
            better = [other for other in others if sign * read(other).value > sign * read(own).value + EPSILON]
            return max(better, key=lambda other: sign * read(other).value) if better else None

        def holds(read: Read) -> bool:
            return ahead(read) is None

        def message(read: Read) -> str:
            other = ahead(read) or others[0]
            return (
                f"{self.quoted}: but in {own.table.name}, {own.benchmark.name if own.benchmark else own.row_label}, {own.model.name if own.model else ''} has "
                f"{show_number(read(own))} and {other.model.name if other.model else ''} {show_number(read(other))}"
            )

        return Check("prose_table", (own,), tuple(others), holds, message, severity, (self.source,), weight=0.0)


def _wins(pairs: Sequence[tuple[Value, Sequence[Value]]], *, behind: bool, ties: bool = False) -> Callable[[Read], int]:
    slack = -EPSILON if ties else EPSILON

    def wins(read: Read) -> int:
        count = 0
        for own, others in pairs:
            sign = -1 if (own.direction == "lower") != behind else 1
            count += all(sign * read(own).value > sign * read(other).value + slack for other in others)
        return count

    return wins


def _shifted(pairing: _Pairing, subject: ModelMention, lines: Sequence[str]) -> tuple[int, tuple[Value, ...]] | None:
    """The step to the column whose numbers lead each of these rows, if it is the same one in all of at least three."""
    sheet = pairing.sheet
    if sheet.models_in != "columns" or len(lines) < 3:
        return None
    own = {v.column for v in sheet.values() if v.model is not None and v.model.key == subject.model.key}
    steps = set()
    cells: list[Value] = []
    for line in lines:
        row = [v for v in sheet.values() if v.row_label == line and v.role == "score"]
        best = max(row, key=lambda v: v.printed.value)
        steps.add(best.column - next(iter(own)))
        cells += row
    return (steps.pop(), tuple(cells)) if len(steps) == 1 and len(own) == 1 else None


def _next_model(models: Sequence[ModelMention], position: int, text: str) -> int:
    """Where the next model takes over as the subject ("…, while B performs best on …")."""
    return next((m.start for m in models if m.start >= position), len(text))


def _count(text: str) -> int:
    return int(text) if text.isdigit() else _WORDS.index(text.lower())
