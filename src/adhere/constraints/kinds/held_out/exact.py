"""Held-out family: answers of which exactly one is right, or that a fixed set of rules settles; the diagnostic suite's.

Two stages, as in the study of 256 models (arXiv 2510.18892). Strict: the answer, after a named normaliser
(`adhere.constraints.kinds.shared.normalisers`), is the expected one; that alone decides the outcome. Partial: how close
a wrong answer came, in `Finding.score` and at the end of its reason ("partial: 0.67"), never merged into the outcome.

`expected` is the answer key: stored with a prompt, shown in a verdict, and not said by any wording, as wordings are for
the model. The suite's text says what an item asks (`adhere.suites.generated.diagnostic.suite`).
"""

from __future__ import annotations

import dataclasses
import random
import re
from abc import abstractmethod
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Self

from adhere.constraints.base import Choice, Finding, ListOf, kind, param
from adhere.constraints.kinds.held_out import exact_rules
from adhere.constraints.kinds.held_out.exact_rules import RuleText, judge_rule
from adhere.constraints.kinds.shared import closeness, normalisers
from adhere.constraints.kinds.shared.normalisers import LONGEST_ANSWER, LONGEST_EXPECTED, PIECES, TABLES, TEXTS, Table
from adhere.constraints.kinds.trained.data_json import WHOLE
from adhere.constraints.rule import COMMON_TOPICS, HeldOut, accept, plural, reject
from adhere.schema import Json
from adhere.text.words import has_words

_NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?"
_ANY_NUMBER = re.compile(r"-?\d+(?:,\d{3})*(?:\.\d+)?")
_ROUNDED = Context(prec=20)
_SHOWN = 120  # characters of an answer in a reason
OTHERWISE_WRITTEN = 0.9
AMONG_TEXT = 0.5


@dataclasses.dataclass(frozen=True)
class AnswerText:
    """An answer key: a text with a letter or digit and not too many characters."""

    def problem(self, value: object) -> str | None:
        if isinstance(value, str) and len(value) <= LONGEST_EXPECTED and has_words(value):
            return None
        return f"must be a text of 1 to {LONGEST_EXPECTED} characters with a letter or digit"

    def invalid(self) -> Sequence[object]:
        return ["", " ", "...", "x" * (LONGEST_EXPECTED + 1), 3, None]


def _shorten(answer: object) -> str:
    text = repr(answer)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"


class Exact(HeldOut):
    """Is the base of the kinds that compare an answer with the expected one.

    Raises:
        BadParameter: A parameter is wrong, on construction; also if the normaliser changes the expected answer.
    """

    claims = WHOLE
    expected: str
    normaliser: str

    def problem(self) -> str | None:
        form_problem = self.form_problem()
        if form_problem is not None:
            return f"expected={_shorten(self.expected)} {form_problem}"
        if self.compare(self.expected).outcome != "pass":  # the rules of a rule set may exclude each other
            return f"expected={_shorten(self.expected)} must pass: {self.compare(self.expected).reason}"
        return None

    @abstractmethod
    def form_problem(self) -> str | None:
        """Say what is wrong with the form of the expected answer, as "must be …"; None if nothing is."""

    def judge(self, text: str) -> Finding:
        if len(text.strip()) > LONGEST_ANSWER:
            return reject(f"the answer has more than {LONGEST_ANSWER} characters, so it was not read", score=0)
        return self.compare(text)

    @abstractmethod
    def compare(self, text: str) -> Finding:
        """Judge a text of at most LONGEST_ANSWER characters."""

    def right(self) -> Finding:
        """Return a pass: the answer is the expected one."""
        return accept(f"the answer is the expected one (normaliser {self.normaliser})", score=1.0)

    def wrong(self, fault: str, score: float, measured: Json = None, needed: Json = None) -> Finding:
        """Return a failure; `fault` was found instead of the expected answer, and `score` is how close it came."""
        finding = reject(f"{fault} (normaliser {self.normaliser})", measured=measured, needed=needed, score=score)
        partial = f"; partial: {finding.score:.2f}" if finding.score else ""
        return finding._replace(reason=finding.reason + partial)

    def witness(self) -> str:
        return self.expected


@kind
class Text(Exact):
    """The answer is one text. With "elb-aT": '"elb-aT"' passes, "The result is elb-aT" fails."""

    id = "exact:text"
    version = 2
    phrasings = (
        "Output only the text that is asked for, and nothing else (compared as: {normaliser}).",
        "Your whole answer must be the one right text, without anything around it ({normaliser}).",
        "Answer with the resulting text alone; it is compared character by character ({normaliser}).",
        "Give the text and not a word more. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": "elb-aT", "normaliser": "text"}, '"elb-aT"')
    failing = ({"expected": "elb-aT", "normaliser": "text"}, "The result is elb-aT")
    wrong_text = "{expected}x"

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("text", "verbatim")))

    def form_problem(self) -> str | None:
        normal = TEXTS[self.normaliser](self.expected)
        return None if normal == self.expected else f"must be as the normaliser leaves it, {_shorten(normal)}"

    def compare(self, text: str) -> Finding:
        """Compare with `expected`; the partial score is the share of characters that need no edit."""
        answer = TEXTS[self.normaliser](text)
        if answer == self.expected:
            return self.right()
        fault = f"found {_shorten(answer)}, needed {_shorten(self.expected)}"
        score = closeness.of_texts(answer, self.expected)
        return self.wrong(fault, score, answer[:_SHOWN], self.expected[:_SHOWN])

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls("-".join(rng.sample(COMMON_TOPICS, 3))[::-1], rng.choice(("text", "verbatim")))


@kind
class Number(Exact):
    """The answer is one number, with as many decimals as it has. With "1204.50": "1,204.50" passes, "1204.5" fails."""

    id = "exact:number"
    version = 2
    phrasings = (
        "Output only the number that is asked for, and nothing else (compared as: {normaliser}).",
        "Your whole answer must be the one right number, with the decimals asked for and no unit ({normaliser}).",
        "Answer with the resulting number alone; its decimals count ({normaliser}).",
        "Give the number and not a word more. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": "1204.50", "normaliser": "number"}, "1,204.50")
    failing = ({"expected": "1204.50", "normaliser": "number"}, "1204.5")

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("number",)))

    def form_problem(self) -> str | None:
        return None if re.fullmatch(_NUMBER, self.expected, re.ASCII) else "must be a number such as -12 or 0.50"

    def compare(self, text: str) -> Finding:
        """Compare with `expected`; the partial score says how close a number is.

        It is 0.9 for the right value written otherwise (decimals, leading zeros); 0.5 if the right value is the last
        number of a longer answer; for another number alone, half of 1 - 10 |difference| / the larger amount, or 0.
        """
        answer = normalisers.number(text)
        if answer == self.expected:
            return self.right()
        fault = f"found {_shorten(answer)}, needed {_shorten(self.expected)}"
        return self.wrong(fault, self._score(answer), answer[:_SHOWN], self.expected)

    def _score(self, answer: str) -> float:
        expected = Decimal(self.expected)
        if re.fullmatch(r"-?\d+(?:\.\d+)?", answer, re.ASCII) is None:
            numbers = _ANY_NUMBER.findall(answer)
            return AMONG_TEXT if numbers and Decimal(numbers[-1].replace(",", "")) == expected else 0.0
        value = Decimal(answer)
        if value == expected:
            return OTHERWISE_WRITTEN
        larger = max(value.copy_abs(), expected.copy_abs())
        apart = _ROUNDED.divide(_ROUNDED.subtract(value, expected).copy_abs(), larger)
        return max(0.0, AMONG_TEXT * (1 - 10 * float(apart)))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        return cls(f"{rng.randint(-999, 9999)}.{rng.randint(0, 99):02d}", "number")

    def counter_witness(self) -> str:
        return self.expected[:-1] + str((int(self.expected[-1]) + 1) % 10)


@kind
class Lines(Exact):
    r"""The answer is some lines, or items between commas, in order.

    With "3, 7, 15" as items: "3,7,15" passes, "7, 3, 15" fails.
    """

    id = "exact:lines"
    version = 2
    phrasings = (
        (
            "Output only what is asked for, piece by piece in the right order, and nothing else "
            "(compared as: {normaliser})."
        ),
        (
            "Your whole answer must be the one right list, without numbering and without any text "
            "around it ({normaliser})."
        ),
        "Answer with the pieces alone, in their order ({normaliser}).",
        "Give the pieces and not a word more. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": "3, 7, 15", "normaliser": "items"}, "3,7,15")
    failing = ({"expected": "3, 7, 15", "normaliser": "items"}, "7, 3, 15")

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("lines", "items")))

    def form_problem(self) -> str | None:
        joint = {"lines": "\n", "items": ", "}[self.normaliser]
        normal = joint.join(self._pieces(self.expected))
        return None if normal == self.expected else f"must be as the normaliser leaves it, {_shorten(normal)}"

    def _pieces(self, text: str) -> list[str]:
        return PIECES[self.normaliser](text)

    def compare(self, text: str) -> Finding:
        """Compare with `expected`; the partial score is the share of pieces that are right and in order."""
        pieces, expected = self._pieces(text), self._pieces(self.expected)
        if pieces == expected:
            return self.right()
        pairs = zip(pieces, expected, strict=False)
        at = next((at for at, (piece, expected_piece) in enumerate(pairs) if piece != expected_piece), None)
        unit = self.normaliser.removesuffix("s")
        fault = (
            f"found {plural(len(pieces), unit)}, needed {len(expected)}"
            if at is None
            else f"{unit} {at + 1} is {_shorten(pieces[at])}, needed {_shorten(expected[at])}"
        )
        return self.wrong(
            fault, closeness.of_lists(pieces, expected), closeness.in_order(pieces, expected), len(expected)
        )

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        pieces = rng.sample(COMMON_TOPICS, 4)
        return rng.choice((cls("\n".join(pieces), "lines"), cls(", ".join(pieces), "items")))

    def counter_witness(self) -> str:
        joint = {"lines": "\n", "items": ", "}[self.normaliser]
        return joint.join([*self._pieces(self.expected)[1:], "x1"])


@kind
class JsonValue(Exact):
    """The answer is one JSON value.

    With '{"a": 1, "b": [true]}': '{"b": [true], "a": 1}' passes, '{"a": "1", "b": [true]}' fails.
    """

    id = "exact:json"
    version = 2
    phrasings = (
        "Output only the JSON that is asked for, and nothing else (compared as: {normaliser}).",
        "Your whole answer must be the one right value in valid {normaliser}, without any text around it.",
        (
            "Answer with the JSON alone; its values and their types count, white space and the order of keys "
            "do not ({normaliser})."
        ),
        "Give valid JSON and not a word more. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": '{"a": 1, "b": [true]}', "normaliser": "json"}, '{"b": [true], "a": 1}')
    failing = ({"expected": '{"a": 1, "b": [true]}', "normaliser": "json"}, '{"a": "1", "b": [true]}')
    wrong_text = "[{expected}]"

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("json",)))

    def form_problem(self) -> str | None:
        problem = normalisers.json(self.expected)[1]
        return None if problem is None else f"must be JSON; it is {problem}"

    def compare(self, text: str) -> Finding:
        """Compare with `expected`; the partial score says how close a JSON value is.

        It is the number of plain values that are right and in their place, divided by the plain values of the larger
        value; half of that if other text surrounds the JSON.
        """
        expected = closeness.leaves(normalisers.json(self.expected)[0])
        value, problem = normalisers.json(text)
        weight = 1.0
        if problem is not None:
            weight = AMONG_TEXT
            value, none_inside = normalisers.json(_innermost(text))
            if none_inside is not None:
                return self.wrong(f"the answer is {problem}", 0, 0, expected.total())
        answer_leaves = closeness.leaves(value)
        if answer_leaves == expected and problem is None:
            return self.right()
        right = (answer_leaves & expected).total()
        fault = (
            f"there is text around the JSON: {problem}"
            if problem is not None
            else f"{right} of {plural(expected.total(), 'value')} right, {answer_leaves.total() - right} wrong"
        )
        return self.wrong(fault, weight * closeness.of_values(answer_leaves, expected), right, expected.total())

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        first, second = rng.sample(COMMON_TOPICS, 2)
        return cls(
            f'{{"{first}": {rng.randint(1, 99)}, "{second}": ["{first}", {rng.choice(("true", "null"))}]}}', "json"
        )


def _innermost(text: str) -> str:
    """Return the text from the first bracket to the last one, which may be JSON within an answer."""
    start = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=0)
    return text[start : max(text.rfind("}"), text.rfind("]")) + 1]


@kind
class TableRows(Exact):
    r"""The answer is one table, as CSV or in Markdown.

    With "a,b\n1,2" as CSV: '"a","b"\n1,2' passes, "a,b\n2,1" fails.
    """

    id = "exact:table"
    version = 2
    phrasings = (
        "Output only the table that is asked for, with its header, and nothing else (compared as: {normaliser}).",
        "Your whole answer must be the one right table ({normaliser}), without any text around it.",
        "Answer with the rows alone, the header first, in the right order ({normaliser}).",
        "Give the table and not a word more. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": "a,b\n1,2", "normaliser": "csv"}, '"a","b"\n1,2')
    failing = ({"expected": "a,b\n1,2", "normaliser": "csv"}, "a,b\n2,1")

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("csv", "markdown-table")))

    def _table(self, text: str) -> tuple[Table, str | None]:
        return TABLES[self.normaliser](text)

    def form_problem(self) -> str | None:
        table, problem = self._table(self.expected)
        if problem is None and len({len(row) for row in table}) == 1:
            return None
        return f"must be a table ({self.normaliser}) whose rows are equally long"

    def compare(self, text: str) -> Finding:
        """Compare with `expected`; the partial score says how close a table is.

        It is the larger of two shares, rows that are right and in the right order, and cells that are right in their
        place; half of that if the table has no ruler or other text surrounds it.
        """
        table, problem = self._table(text)
        expected = self._table(self.expected)[0]
        if table == expected and problem is None:
            return self.right()
        right = closeness.in_order(table, expected)
        score = closeness.of_tables(table, expected) * (1 if problem is None else AMONG_TEXT)
        fault = (
            problem
            or f"{right} of {plural(len(expected), 'row')} right (the header counts), {len(table) - right} wrong"
        )
        return self.wrong(fault, score, right, len(expected))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        first, second = rng.sample(COMMON_TOPICS, 2)
        low, high = rng.randint(1, 99), rng.randint(1, 99)
        return rng.choice(
            (
                cls(f"word,count\n{first},{low}\n{second},{high}", "csv"),
                cls(f"| word | count |\n|---|---|\n| {first} | {low} |\n| {second} | {high} |", "markdown-table"),
            )
        )

    def counter_witness(self) -> str:
        return self.expected + self.expected[self.expected.rindex("\n") :]


@kind
class RuleSet(Exact):
    """The answer keeps all of `rules`; many answers may. With ("exactly 2 words",): "cats sleep" passes, "cats" fails.

    `expected` is one right answer, an example for the reader of a verdict.
    """

    id = "exact:rule_set"
    version = 2
    phrasings = (
        "Output an answer that keeps all of these rules, and nothing else: {rules} (compared as: {normaliser}).",
        "Your whole answer is taken as {normaliser} and must keep every one of these rules: {rules}.",
        "All of this must be true of your answer, read as {normaliser}: {rules}.",
        "Keep these rules to the letter: {rules}. What is forgiven: the normaliser {normaliser}.",
    )
    passing = ({"expected": "big dogs", "normaliser": "words", "rules": ("exactly 2 words",)}, "cats sleep")
    failing = ({"expected": "big dogs", "normaliser": "words", "rules": ("exactly 2 words",)}, "cats")

    expected: str = param(AnswerText(), said=False)
    normaliser: str = param(Choice(("words", "lines")))
    rules: tuple[str, ...] = param(ListOf(RuleText(), 1, 40))

    def wording(self) -> dict[str, Any]:
        return {"normaliser": self.normaliser, "rules": "; ".join(self.rules)}

    def form_problem(self) -> str | None:
        if not any(rule.startswith("exactly ") for rule in self.rules):
            return f"must have a rule about the number of {self.normaliser}, such as 'exactly 3 {self.normaliser}'"
        return None

    def compare(self, text: str) -> Finding:
        """Judge the answer by the rules; the partial score is the share of rules that hold."""
        pieces = PIECES[self.normaliser](text)
        results = {rule: judge_rule(rule, pieces) for rule in self.rules}
        broken_rules = [f"{rule} (found {result.found})" for rule, result in results.items() if not result.holds]
        if not broken_rules:
            return accept(f"all {plural(len(results), 'rule')} hold (normaliser {self.normaliser})", score=1.0)
        n_kept = len(results) - len(broken_rules)
        fault = f"{n_kept} of {plural(len(results), 'rule')} kept; broken: {'; '.join(broken_rules)[:500]}"
        return self.wrong(fault, n_kept / len(results), n_kept, len(results))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        chosen = rng.sample(COMMON_TOPICS, rng.choice((2, 3, 4)))
        banned = rng.choice([letter for letter in "bjkpqvxz" if letter not in "".join(chosen)])
        rules = (exact_rules.exactly(len(chosen), "word"), exact_rules.without([banned], "word"), exact_rules.DIFFERENT)
        return cls(" ".join(chosen), "words", rules)

    def counter_witness(self) -> str:
        return self.expected + {"words": " x", "lines": "\nx"}[self.normaliser]
