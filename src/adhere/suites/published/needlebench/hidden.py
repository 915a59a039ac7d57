"""Draw the facts that are hidden in the texts.

They are sentences of `needles.jsonl`, and family chains over `names.json`, drawn with the published seeds.
Source: `needlebench_v2/{origin,parallel,multi,atc}.py` of OpenCompass 0.5.4 (Apache-2.0), written anew.
"""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any, NamedTuple

from adhere.errors import SpecError
from adhere.suites.published.code_texts import Code
from adhere.suites.published.table import need_columns, read_rows

LANGUAGES = {"en": "English", "zh": "Chinese"}
_COLUMNS = {"language": str, "needle": str, "retrieval_question": str, "arg2": str}
_MARKS = {"en": ("?", "."), "zh": ("？", "。")}


class Needle(NamedTuple):
    """Holds a sentence to find; `subject` and `keyword` are the file's `arg1` and `arg2`."""

    text: str
    question: str
    subject: str
    keyword: str


class Needles:
    """Holds the rows of `needles.jsonl`, by language."""

    def __init__(self, path: Path) -> None:
        rows, self.sha256 = read_rows(path)
        self._path = path
        self._rows: list[tuple[str, Needle]] = []
        for at, row in rows:
            need_columns(at, row, _COLUMNS)
            if not row["arg2"].strip():
                raise SpecError(f"{at}: arg2 is empty, but it is the keyword. Delete the row")
            needle = Needle(row["needle"], row["retrieval_question"], str(row.get("arg1", "")), row["arg2"])
            self._rows.append((row["language"], needle))

    def one(self, language: str, repeat: int) -> Needle:
        """Draw the needle of a repeat, the same at every length and depth."""
        return random.Random(repeat).choice(self._of(language, 1))

    def several(self, language: str, count: int, seed: int) -> list[Needle]:
        """Draw `count` needles with different subjects and different keywords, in a seeded order of the file.

        The published order has no seed, so every published run has other needles.
        """
        self._of(language, count)
        rows = list(self._rows)
        random.Random(seed).shuffle(rows)
        needles: list[Needle] = []
        for name, needle in rows:
            is_new = all(needle.subject != other.subject and needle.keyword != other.keyword for other in needles)
            if name == LANGUAGES[language] and is_new:
                needles.append(needle)
            if len(needles) == count:
                return needles
        raise SpecError(
            f"{self._path}: {len(needles)} needles in {LANGUAGES[language]} with different arg1 and arg2, "
            f"but {count} are hidden at once"
        )

    def _of(self, language: str, fewest: int) -> list[Needle]:
        needles = [needle for name, needle in self._rows if name == LANGUAGES[language]]
        if len(needles) < fewest:
            raise SpecError(
                f"{self._path}: {len(needles)} needles with language {LANGUAGES[language]}, "
                f"but {fewest} are needed at least. Is this another version of the file?"
            )
        return needles


def asked_together(path: Path, language: str, needles: list[Needle]) -> dict[str, str]:
    """Return the joined `questions` of several needles and the `answers_format` of their answers.

    Raises:
        SpecError: A question has no quoted form of answer; `path` names the file.
    """
    question_mark, stop = _MARKS[language]
    forms = [needle.question.split("'") for needle in needles]
    for needle, form in zip(needles, forms, strict=True):
        if len(form) < 2:
            raise SpecError(f"{path}: {needle.question[:80]!r} says no form of answer between single quotation marks")
    return {
        "questions": "、".join(needle.question.split(question_mark)[0] + question_mark for needle in needles),
        "answers_format": "、".join(form[1].split(stop)[0] for form in forms),
    }


class Chain(NamedTuple):
    """Holds a family told in shuffled sentences about a parent or grandparent, and its names, eldest first."""

    told: list[str]
    names: list[str]
    generations: int


class Families:
    """Holds the names of `names.json`, and the published sentences about them."""

    def __init__(self, path: Path, code: Code) -> None:
        try:
            data: Any = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise SpecError(f"{path}: not JSON: {error}") from error
        need_columns(str(path), data if isinstance(data, dict) else {}, dict.fromkeys(LANGUAGES.values(), str))
        self._names = {short: data[language].split(",") for short, language in LANGUAGES.items()}
        self.data = data
        ends = {"en": "en", "zh": "zh_CN"}
        self._templates = {short: code.constant(f"relationship_templates_{end}", list) for short, end in ends.items()}
        self._terms = {short: code.constant(f"relationship_terms_{end}", list) for short, end in ends.items()}
        self._generations = {short: code.constant(f"relationship_generation_map_{short}", dict) for short in LANGUAGES}
        self._path = path

    def chain(self, language: str, links: int, seed: int) -> Chain:
        """Draw a chain of `links` relations.

        Raises:
            SpecError: There are too few names.
        """
        if len(self._names[language]) <= links:
            raise SpecError(
                f"{self._path}: {len(self._names[language])} names in {LANGUAGES[language]}, but {links + 1} are needed"
            )
        rng = random.Random(seed)
        names = rng.sample(self._names[language], links + 1)
        story, generations = "", 0
        for elder, younger in itertools.pairwise(names):
            template, term = rng.choice(self._templates[language]), rng.choice(self._terms[language])
            story += template.format(A=elder, B=younger, relationship=term) + "*"
            generations += self._generations[language].get(term, 1)
        sentences = [sentence for sentence in story.split("*") if sentence]
        rng.shuffle(sentences)
        return Chain(sentences, names, generations)
