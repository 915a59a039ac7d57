"""Sentences that agree with a table: text beside which tables stand, of which nothing may be reported."""

from __future__ import annotations

import random
from decimal import Decimal

from .document import Place, Sentence
from .tables import Draft
from .world import Model, rounded

WORDS = (
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
)
SIZES = ("0.3", "0.4", "0.7", "1.1", "2.3", "4.6", "9.2")


def off(value: Decimal, rng: random.Random, *, least: str = "0.3") -> Decimal:
    """The value as a slip would print it: a little off, a digit exchanged, far off.

    Never less than 0.3 away, in (0, 100).
    """
    places = -int(value.as_tuple().exponent)
    small = Decimal("0.2") if value < 10 and places == 2 else Decimal(1)
    for _ in range(50):
        if rng.random() < 0.25:
            digits = list(str(value))
            first, second = rng.sample([index for index, digit in enumerate(digits) if digit.isdigit()], 2)
            digits[first], digits[second] = digits[second], digits[first]
            changed = Decimal("".join(digits))
        else:
            changed = rounded(value + rng.choice([-1, 1]) * Decimal(rng.choice(SIZES)) * small, places)
        if abs(changed - value) >= Decimal(least) * small and 0 < changed < 100 and str(changed)[0] != "0":
            return changed
    return value + Decimal("1.0")


def sentences(draft: Draft, block: int, rng: random.Random, *, main: Model, labels: dict[str, str]) -> list[Sentence]:
    """Up to a handful of true sentences about the main model and its rivals in one table."""
    writer = _Writer(draft, block, rng, main, labels)
    makers = [
        writer.reaches,
        writer.reaches_two,
        writer.improves,
        writer.gains,
        writer.against,
        writer.counts,
        writer.except_for,
        writer.best_on,
        writer.average,
        writer.highest,
        writer.ranges,
        writer.relative,
        writer.lists,
        writer.both,
        writer.best_average,
        writer.roughly,
        writer.more_than,
    ]
    if draft.table.kind == "languages":  # counted and excepted are benchmarks, not languages
        makers = [writer.reaches, writer.reaches_two, writer.against, writer.average, writer.highest]
    rng.shuffle(makers)
    wanted = rng.randint(3, 6)
    made = [sentence for maker in makers if (sentence := maker()) is not None]
    return made[:wanted]


class _Writer:
    """Writes sentences about one table; a maker returns None where its claim would not be plainly true."""

    def __init__(self, draft: Draft, block: int, rng: random.Random, main: Model, labels: dict[str, str]) -> None:
        self.draft, self.block, self.rng, self.main, self.labels = draft, block, rng, main, labels
        self.benchmarks = [benchmark for model, benchmark in draft.scores if model == main.id]
        self.rivals = [model for model in draft.models if model.id != main.id]
        self.table = f"Table {draft.table.number}"

    def place(self, model: Model, benchmark: str) -> Place:
        return Place(self.block, *self.draft.scores[model.id, benchmark])

    def value(self, model: Model, benchmark: str) -> Decimal:
        value = self.draft.table.cell(*self.draft.scores[model.id, benchmark]).value
        assert value is not None
        return value

    def shared(self, rival: Model) -> list[str]:
        return [benchmark for benchmark in self.benchmarks if (rival.id, benchmark) in self.draft.scores]

    def pick(self, *, count: int = 1) -> list[str]:
        return self.rng.sample(self.benchmarks, count) if len(self.benchmarks) >= count else []

    def duel(self, least: str = "0.3") -> tuple[Model, Model, str, Decimal, Decimal] | None:
        """A winner, a loser and the benchmark on which the gap is wide enough to state."""
        if not self.rivals:
            return None
        rival = self.rng.choice(self.rivals)
        chosen = [
            b for b in self.shared(rival) if abs(self.value(self.main, b) - self.value(rival, b)) >= Decimal(least)
        ]
        if not chosen:
            return None
        benchmark = self.rng.choice(chosen)
        pair = sorted((self.main, rival), key=lambda model: self.value(model, benchmark), reverse=True)
        return pair[0], pair[1], benchmark, self.value(pair[0], benchmark), self.value(pair[1], benchmark)

    def reaches(self) -> Sentence | None:
        chosen = self.pick()
        if not chosen:
            return None
        name, label, value = self.main.name("full"), self.labels[chosen[0]], self.value(self.main, chosen[0])
        template = self.rng.choice(
            [
                "{name} reaches {value} on {label}.",
                "As {table} shows, {name} obtains {value} on {label}.",
                "On {label}, {name} scores {value}.",
                "Notably, {name} is strong here ({label}: {value}).",
                "{name} achieves a score of {value} on {label}.",
                "{name} posts {value} on {label}.",
                "With {value} on {label}, {name} is competitive.",
                "The {label} score of {name} is {value}.",
                "{name} gets {value} on {label}.",
                "For {label} we measure {value} with {name}.",
                "{label} stands at {value} for {name}.",
                "{name} comes in at {value} on {label}.",
                "We find that {name} attains {value} for {label}.",
                "{name} ({value} on {label}) does well here.",
            ]
        )

        percent = self.draft.table.cell(*self.draft.scores[self.main.id, chosen[0]]).form == "percent"

        def text(number: Decimal) -> str:
            shown = f"{number}%" if percent else str(number)
            return template.format(name=name, value=shown, label=label, table=self.table)

        return Sentence(
            text(value),
            (self.place(self.main, chosen[0]),),
        )

    def reaches_two(self) -> Sentence | None:
        chosen = self.pick(count=2)
        if not chosen:
            return None
        first, second = (self.value(self.main, benchmark) for benchmark in chosen)
        template = self.rng.choice(
            [
                "{name} achieves scores of {a} and {b} on {x} and {y}, respectively.",
                "{name} obtains {a} on {x} and {b} on {y}.",
                "In {table}, {name} reaches {a} on {x}, with {b} on {y}.",
                "On {x} and {y}, {name} attains {a} and {b}, respectively.",
                "{name} records {a} ({x}) and {b} ({y}).",
                "{name} scores {a} and {b} on {x} and {y}.",
                "{name} gets {a} on {x} and {b} on {y} ({table}).",
                "{name} manages {a} on {x} as well as {b} on {y}.",
                "{x} and {y} give {a} and {b} for {name}, respectively.",
            ]
        )

        def text(a: Decimal, b: Decimal) -> str:
            names = [self.labels[benchmark] for benchmark in chosen]
            return template.format(name=self.main.name("full"), a=a, b=b, x=names[0], y=names[1], table=self.table)

        return Sentence(text(first, second), tuple(self.place(self.main, b) for b in chosen))

    def improves(self) -> Sentence | None:
        duel = self.duel("1.0")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        template = self.rng.choice(
            [
                "On {label}, the score improves from {low} ({loser}) to {high} ({winner}).",
                "Compared with {loser}, {winner} improves {label} from {low} to {high}.",
                "{winner} raises {label} from the {low} of {loser} to {high}.",
                "From {winner} to {loser}, {label} drops from {high} to {low}.",
                "{winner} improves {label} from {low} to {high} (+{gap}) compared with {loser}.",
                "On {label}, {winner} climbs to {high}, up from {low} for {loser}.",
                "{label} rises from {low} with {loser} to {high} with {winner}.",
                "{winner} pushes {label} from {low} ({loser}) to {high}.",
                "Moving from {loser} to {winner} lifts {label} from {low} to {high}.",
                "Where {loser} stops at {low} on {label}, {winner} arrives at {high}.",
                "{winner} takes {label} to {high} from the {low} of {loser}.",
            ]
        )

        def text(a: Decimal, b: Decimal) -> str:
            return template.format(
                label=self.labels[benchmark],
                low=a,
                high=b,
                gap=high - low,
                loser=loser.name("full"),
                winner=winner.name("full"),
            )

        return Sentence(text(low, high), (self.place(winner, benchmark), self.place(loser, benchmark)))

    def gains(self) -> Sentence | None:
        duel = self.duel("1.0")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        gap = high - low
        template = self.rng.choice(
            [
                "{winner} outperforms {loser} by {gap} points on {label}.",
                "On {label}, this is a gain of {gap} points over {loser} for {winner}.",
                "{winner} is {gap} points ahead of {loser} on {label}.",
                "On {label}, {loser} falls behind {winner} by {gap} points.",
                "{winner} holds a {gap}-point advantage over {loser} on {label}.",
                "{loser} scores {gap} points lower than {winner} on {label}.",
                "{winner} beats {loser} on {label} by a margin of {gap} points.",
                "Relative to {loser}, {winner} gains {gap} points on {label}.",
                "The {label} score of {winner} is {gap} points higher than that of {loser}.",
                "The gap between {winner} and {loser} on {label} is {gap} points, in favour of the former.",
                "{winner} exceeds {loser} by {gap} points on {label}.",
                "{winner} leads {loser} by {gap} points on {label}.",
                "On {label}, {winner} is {gap} points better than {loser}.",
                "{winner} shows an improvement of {gap} points over {loser} on {label}.",
                "{loser} is outperformed by {winner} on {label} by {gap} points.",
                "{winner} has a lead of {gap} points over {loser} on {label}.",
            ]
        )

        def text(number: Decimal, first: Model, second: Model) -> str:
            return template.format(
                winner=first.name("full"), loser=second.name("full"), gap=number, label=self.labels[benchmark]
            )

        return Sentence(text(gap, winner, loser), (self.place(winner, benchmark), self.place(loser, benchmark)))

    def against(self) -> Sentence | None:
        duel = self.duel("0.5")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        template = self.rng.choice(
            [
                "{first} {verb} {second} on {label} ({a} vs. {b}).",
                "On {label}, {first} {verb} {second} ({a} versus {b}).",
                "On {label}, {first} {verb} {second}, with {a} against {b}.",
                "{first} {verb} {second} on {label}: {a} vs. {b}.",
                "With {a} vs. {b}, {first} {verb} {second} on {label}.",
                "{first} ({a}) {verb} {second} ({b}) on {label}.",
                "On {label}, {first} at {a} {verb} {second} at {b}.",
            ]
        )

        def text(verb: str, a: Decimal, b: Decimal) -> str:
            return template.format(
                first=winner.name("full"), verb=verb, second=loser.name("full"), label=self.labels[benchmark], a=a, b=b
            )

        better = self.rng.choice(["surpasses", "outperforms", "is better than", "exceeds", "beats", "is ahead of"])
        places = (self.place(winner, benchmark), self.place(loser, benchmark))
        return Sentence(text(better, high, low), places)

    def _complete(self, rival: Model) -> bool:
        """No missing score and no tie between the main model and the rival in this table."""
        shared = self.shared(rival)
        rows = len(self.draft.labels)
        return len(shared) == rows >= 4 and all(self.value(self.main, b) != self.value(rival, b) for b in shared)

    def counts(self) -> Sentence | None:
        rivals = [rival for rival in self.rivals if self._complete(rival)]
        if not rivals:
            return None
        rival = self.rng.choice(rivals)
        wins = sum(self.value(self.main, b) > self.value(rival, b) for b in self.benchmarks)
        total = len(self.benchmarks)
        if not 0 < wins < total or total >= len(WORDS):
            return None
        spelled = self.rng.random() < 0.5
        template = self.rng.choice(
            [
                "In {table}, {name} outperforms {rival} on {wins} of the {total} benchmarks.",
                "{name} outperforms {rival} on {wins} out of {total} benchmarks in {table}.",
                "{name} surpasses {rival} on {wins} of {total} tasks ({table}).",
                "In {table}, {name} wins against {rival} on {wins} of the {total} benchmarks.",
                "{name} leads {rival} on {wins} out of {total} tasks in {table}.",
                "On {wins} of the {total} benchmarks of {table}, {name} comes out ahead of {rival}.",
                "{name} beats {rival} in {wins} of {total} cases ({table}).",
                "{name} is better than {rival} on {wins} of the {total} benchmarks in {table}.",
                "Of the {total} benchmarks in {table}, {name} wins {wins} against {rival}.",
                "{name} finishes ahead of {rival} on {wins} benchmarks out of {total} in {table}.",
                "{name} is stronger than {rival} on {wins} of the {total} tasks listed in {table}.",
            ]
        )

        def text(number: int) -> str:
            shown = [WORDS[n] if spelled else str(n) for n in (number, total)]
            return template.format(
                table=self.table, name=self.main.name("full"), rival=rival.name("full"), wins=shown[0], total=shown[1]
            )

        places = tuple(self.place(model, b) for model in (self.main, rival) for b in self.benchmarks)
        return Sentence(text(wins), places)

    def except_for(self) -> Sentence | None:
        rivals = [rival for rival in self.rivals if self._complete(rival)]
        self.rng.shuffle(rivals)
        for rival in rivals:
            lost = [b for b in self.benchmarks if self.value(self.main, b) < self.value(rival, b)]
            won = [b for b in self.benchmarks if b not in lost]
            if 1 <= len(lost) <= 2 < len(won):
                break
        else:
            return None
        template = self.rng.choice(
            [
                "In {table}, {name} outperforms {rival} on all {noun} except {names}.",
                "{name} outperforms {rival} across all {noun} except {names} ({table}).",
                "In {table}, {name} surpasses {rival} on every benchmark but {names}.",
                "{name} exceeds {rival} in all {noun} of {table} except for {names}.",
                "Apart from {names}, {name} beats {rival} on all {noun} of {table}.",
                "In {table}, {name} is ahead of {rival} everywhere except on {names}.",
                "With the exception of {names}, {name} is better than {rival} on every benchmark of {table}.",
                "{name} outperforms {rival} on every benchmark in {table} except {names}.",
                "Except on {names}, {name} outperforms {rival} on all {noun} in {table}.",
                "{name} outscores {rival} on all {noun} in {table}, with {names} as the only exception.",
                "Only on {names} does {name} not outperform {rival} in {table}.",
            ]
        )
        noun = self.rng.choice(["tasks", "benchmarks"])

        def text(benchmarks: list[str]) -> str:
            names = " and ".join(self.labels[benchmark] for benchmark in benchmarks)
            return template.format(
                table=self.table, name=self.main.name("full"), rival=rival.name("full"), names=names, noun=noun
            )

        places = tuple(self.place(model, b) for model in (self.main, rival) for b in self.benchmarks)
        return Sentence(text(lost), places)

    def best_on(self) -> Sentence | None:
        if not self.rivals or not all(self._complete(rival) for rival in self.rivals):
            return None
        best = sum(
            all(self.value(self.main, b) > self.value(rival, b) for rival in self.rivals) for b in self.benchmarks
        )
        total = len(self.benchmarks)
        if not 0 < best < total:
            return None
        template = self.rng.choice(
            [
                "{name} is best on {best} of {total} benchmarks in {table}.",
                "{name} achieves the best result on {best} of the {total} benchmarks ({table}).",
                "In {table}, {name} ranks first on {best} of {total} benchmarks.",
                "{name} takes the top score on {best} out of {total} benchmarks in {table}.",
                "{name} obtains the highest score on {best} of the {total} benchmarks in {table}.",
                "{name} is the best model on {best} out of {total} benchmarks ({table}).",
                "Among all models of {table}, {name} scores highest on {best} of {total} benchmarks.",
                "{name} sets the best score on {best} of {total} benchmarks ({table}).",
            ]
        )

        def text(number: int) -> str:
            return template.format(name=self.main.name("full"), best=number, total=total, table=self.table)

        places = tuple(self.place(m, b) for m in (self.main, *self.rivals) for b in self.benchmarks)
        return Sentence(text(best), places)

    def average(self) -> Sentence | None:
        averages = self.draft.averages
        rivals = [rival for rival in self.rivals if rival.id in averages]
        if self.main.id not in averages or not rivals:
            return None
        rival = self.rng.choice(rivals)
        mine, other = (self.draft.table.cell(*averages[model.id]).value for model in (self.main, rival))
        assert mine is not None
        assert other is not None
        if abs(mine - other) < 1:
            return None
        template = self.rng.choice(
            [
                "The average of {name} in {table} is {mine}, against {other} for {rival}.",
                "Averaged over the table, {name} obtains {mine} and {rival} {other}.",
                "On average, {name} scores {mine} and {rival} scores {other} ({table}).",
                "{name} averages {mine} in {table}, compared with {other} for {rival}.",
                "{name} has an average of {mine} in {table}, whereas {rival} has {other}.",
                "The mean score of {name} ({mine}) compares with {other} for {rival} in {table}.",
                "{table} gives {name} an average of {mine} and {rival} one of {other}.",
            ]
        )

        def text(a: Decimal, b: Decimal) -> str:
            return template.format(
                name=self.main.name("full"), table=self.table, mine=a, other=b, rival=rival.name("full")
            )

        places = tuple(Place(self.block, *averages[model.id]) for model in (self.main, rival))
        return Sentence(text(mine, other), places)

    def highest(self) -> Sentence | None:
        chosen = [b for b in self.benchmarks if all((rival.id, b) in self.draft.scores for rival in self.rivals)]
        if not chosen or len(self.rivals) < 2:
            return None
        benchmark = self.rng.choice(chosen)
        ranked = sorted(self.draft.models, key=lambda model: self.value(model, benchmark), reverse=True)
        high, second = (self.value(model, benchmark) for model in ranked[:2])
        if high - second < Decimal("0.3"):
            return None

        template = self.rng.choice(
            [
                "The highest score on {label} in {table} is {number}, obtained by {name}.",
                "{name} tops {label} with {number} ({table}).",
                "No model of {table} exceeds the {number} of {name} on {label}.",
                "{name} has the best {label} score in {table} ({number}).",
                "On {label}, the top score in {table} is the {number} of {name}.",
                "{name} leads {label} in {table} at {number}.",
                "With {number}, {name} is the best model on {label} in {table}.",
            ]
        )

        def text(model: Model, number: Decimal) -> str:
            return template.format(
                label=self.labels[benchmark], table=self.table, number=number, name=model.name("full")
            )

        return Sentence(text(ranked[0], high), tuple(self.place(m, benchmark) for m in self.draft.models))

    def ranges(self) -> Sentence | None:
        chosen = [b for b in self.benchmarks if all((rival.id, b) in self.draft.scores for rival in self.rivals)]
        if not chosen or len(self.rivals) < 2:
            return None
        benchmark = self.rng.choice(chosen)
        values = [self.value(model, benchmark) for model in self.draft.models]

        template = self.rng.choice(
            [
                "Across the {count} models of {table}, scores on {label} range from {low} to {high}.",
                "In {table}, scores on {label} lie between {low} and {high}.",
                "In {table}, {label} scores vary from {low} to {high}.",
                "{label} scores in {table} are between {low} and {high}.",
                "{label} scores go from {low} up to {high} in {table}.",
            ]
        )

        def text(low: Decimal, high: Decimal) -> str:
            count = WORDS[len(values)]
            return template.format(count=count, table=self.table, label=self.labels[benchmark], low=low, high=high)

        return Sentence(text(min(values), max(values)), tuple(self.place(m, benchmark) for m in self.draft.models))

    def relative(self) -> Sentence | None:
        duel = self.duel("2.0")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        gain = rounded(100 * (high - low) / low, 1)

        def text(number: Decimal) -> str:
            return (
                f"This is a relative improvement of {number}% on {self.labels[benchmark]} for "
                f"{winner.name('full')} over {loser.name('full')}."
            )

        return Sentence(text(gain), (self.place(winner, benchmark), self.place(loser, benchmark)))

    def lists(self) -> Sentence | None:
        chosen = self.pick(count=3)
        if not chosen:
            return None
        values = [self.value(self.main, benchmark) for benchmark in chosen]
        opening = self.rng.choice(["{name} performs well on {list}.", "The scores of {name} include {list}."])

        def text(numbers: list[Decimal]) -> str:
            shown = [f"{self.labels[b]} ({number})" for b, number in zip(chosen, numbers, strict=True)]
            return opening.format(name=self.main.name("full"), list=f"{shown[0]}, {shown[1]} and {shown[2]}")

        return Sentence(text(values), tuple(self.place(self.main, b) for b in chosen))

    def both(self) -> Sentence | None:
        duel = self.duel("1.0")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel

        def text(a: Decimal, b: Decimal) -> str:
            return (
                f"{winner.name('full')} and {loser.name('full')} reach {a} and {b} on "
                f"{self.labels[benchmark]}, respectively."
            )

        return Sentence(text(high, low), (self.place(winner, benchmark), self.place(loser, benchmark)))

    def best_average(self) -> Sentence | None:
        averages = {model: self.draft.table.cell(*place).value for model, place in self.draft.averages.items()}
        if len(averages) != len(self.draft.models) or len(averages) < 3:
            return None
        ranked = sorted(self.draft.models, key=lambda model: averages[model.id] or 0, reverse=True)
        high, second = averages[ranked[0].id], averages[ranked[1].id]
        if high is None or second is None or high - second < Decimal("0.3"):
            return None

        def text(model: Model, number: Decimal) -> str:
            return f"The best average in {self.table}, {number}, is obtained by {model.name('full')}."

        places = tuple(Place(self.block, *place) for place in self.draft.averages.values())
        return Sentence(text(ranked[0], high), places)

    def roughly(self) -> Sentence | None:
        """An honest approximation: never a false number, so nothing to plant."""
        duel = self.duel("3.0")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        word = self.rng.choice(["about", "roughly", "approximately", "some"])
        text = (
            f"{winner.name('full')} is {word} {rounded(high - low, 0)} points ahead of {loser.name('full')} on "
            f"{self.labels[benchmark]}."
        )
        return Sentence(text, (self.place(winner, benchmark), self.place(loser, benchmark)))

    def more_than(self) -> Sentence | None:
        duel = self.duel("2.2")
        if duel is None:
            return None
        winner, loser, benchmark, high, low = duel
        bound = int(high - low - Decimal("0.2"))
        words = self.rng.choice(["more than", "at least", "over"])

        def text(number: int) -> str:
            return (
                f"{winner.name('full')} outperforms {loser.name('full')} by {words} {number} points on "
                f"{self.labels[benchmark]}."
            )

        return Sentence(text(bound), (self.place(winner, benchmark), self.place(loser, benchmark)))


TRAPS = (
    "The corpus grew from 7 trillion to 18 trillion tokens between March 2024 and June 2025.",
    "Following earlier work [12], we fine-tune for 2 epochs with a sequence length of 32,768 tokens (Section 3.2).",
    "The learning rate decays from $7\\times10^{-6}$ to $7\\times10^{-7}$; gradient norms are clipped at 1.0.",
    (
        "We collect 1,319 problems and 541 prompts, and sample 8 responses for each (Smith et al., "
        "2023; Lee & Park, 2024b)."
    ),
    "Models of 7–9B parameters were trained on 512 GPUs for 3.5 days, at a cost of about $48,000.",
    "About 12.5% of the documents were removed, and 40% of the sequences have the maximum length of 131,072.",
    "See Appendix B.2, Figure 3 and Equation (7) for details; the code is at version 2.1.0.",
    "The vocabulary has 151,643 regular tokens, of which 22 are control tokens.",
    "Annotators (n = 34, aged 21–58) agreed in 78% of the cases, with Cohen’s kappa of 0.71.",
    "We observe a 3.2 to 4.3 times speedup at 1M tokens, and 12.5 times less compute.",
    "Temperature is 0.7 and top-p 0.8 unless stated; 0-shot prompts are used throughout the appendix.",
    "Both models were released on 2024-09-19, three months after the previous series, under Apache 2.0.",
    "Between 60 and 75 percent of the gain is attributed to data, according to the authors of [3, 17].",
    "Training used a batch size of 2,048 and a weight decay of 0.1, as in 2022.",
)
MOJIBAKE = "The modelâ€™s answers are longer â€“ 412 words on average â€“ and the authorsâ€™ earlier estimate was 350."
