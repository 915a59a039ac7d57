r"""NeedleBench V2: one needle, eleven needles, and family chains of two to five needles in English and Chinese texts.

`needlebench:FOLDER` reads the files of its data set: `needles.jsonl`, `names.json`, `PaulGrahamEssays.jsonl` (English
texts) and `zh_finance.jsonl` (Chinese ones). The prompts' wordings stand in its code: `origin.py`, `parallel.py`,
`multi.py` and `atc.py` are read, not run, from `FOLDER/needlebench_v2/`, or from OpenCompass where it is installed.
Texts are cut by gpt-4's tokenizer (tiktoken).

`needlebench:FOLDER@32k+single-retrieval+en` takes a part: one size (`4k`, the default, to `1000k`), tasks, languages,
lengths in tokens (`@1000k+single-retrieval+en+125000`). `needlebench:FOLDER@atc` is the Ancestral Trace Challenge: 2 to
512 needles without any other text.

Official aggregation, V2: a task's score is the mean over its prompts (10 of each cell of lengths × 11 depths, 25 of
each length for multi-retrieval) of the share of its needles that were found; the overall score is the mean of the three
tasks. The summary's measures have them as `score`, and the grid of `single-retrieval`; a slice is one row of the
published table (its `instruction_macro`).

Different here: the eleven needles of multi-retrieval are drawn with a seed (the length), in the published code with
none, so that every run of it hides others. At most 100 million tokens are built at once. Answers are greedy, of at most
2,048 tokens; the published configuration leaves that to the model's. V1 (0.4, 0.3 and 0.3 as weights, edit distances)
is not here.

Known defects, kept: the later needles of a chain stand deeper than said (`texts.with_chain`); a needle may split a word
or a Chinese character; repeats share ten needles over all lengths and depths, so that intervals take a repeat as one
cluster. Not kept: in OpenCompass 0.5.4's own table, the row `Single-Needle-Retrieval` averages the scores of
multi-retrieval (`create_summarizer`), and its lengths for 200k and 1000k are not those of its data sets. See
`adhere.constraints.published.needlebench.table` for the rules' own.

Source: M. Li et al., arXiv 2407.11963; OpenCompass 0.5.4 (Apache-2.0), `datasets/needlebench_v2/` and
`configs/datasets/needlebench_v2/`, written anew; its prompts are equal to ours, character by character
(`docs/reference/suites.md`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from adhere.constraints.published.needlebench.table import BOXED, KEYWORD
from adhere.errors import SpecError, UsageError, nearest
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn, content_hash, packed
from adhere.suites.base import Suite
from adhere.suites.published.code_texts import Code, Template
from adhere.suites.published.needlebench import texts
from adhere.suites.published.needlebench.hidden import LANGUAGES, Families, Needles, asked_together
from adhere.suites.published.table import make_suite, need_path, note, where

SIZES = {
    "4k": (1000, 2000, 3000, 4000),
    "8k": tuple(range(1000, 8001, 1000)),
    "32k": (1000, *range(4000, 32001, 4000)),
    "128k": (1000, 2000, 4000, 8000, 16000, 32000, 64000, 128000),
    "200k": (1000, *range(25000, 200001, 25000)),
    "256k": (32000, 128000, 256000),
    "1000k": (1000, *range(125000, 1000001, 125000)),
}
TASKS = ("single-retrieval", "multi-retrieval", "multi-reasoning")
ATC = "atc"
FILES = {"en": "PaulGrahamEssays.jsonl", "zh": "zh_finance.jsonl"}
DEPTHS = tuple(range(0, 101, 10))
CHAINS = (2, 3, 4, 5)
REPEATS, REPEATS_OF_MANY = 10, 25
ATC_NEEDLES = tuple(2**power for power in range(1, 10))
ATC_QUESTIONS = (
    "shuffled_story_with_prompt",
    "nth_ancestor_prompt",
    "nth_descendant_prompt",
    "relationship_distance_prompt",
)
MOST_TOKENS = 100_000_000


class Part(NamedTuple):
    """Describes the part of the suite that a name asks for."""

    folder: str | None
    size: str
    tasks: tuple[str, ...]
    languages: tuple[str, ...]
    lengths: tuple[int, ...]

    @property
    def is_whole(self) -> bool:
        """Whether the part has all tasks, languages and lengths of its size."""
        return (self.tasks, self.languages, self.lengths) == (TASKS, tuple(LANGUAGES), SIZES[self.size])

    def buffer(self, language: str) -> int:
        """Return the number of tokens that the published configuration leaves for the prompt around the text."""
        return 200 if language == "zh" else 500 if self.size in {"4k", "8k"} else 3000

    def prompts_at(self, task: str) -> int:
        """Return the number of prompts of a task at one length, in one language."""
        cells = len(DEPTHS) * REPEATS
        return {TASKS[0]: cells, TASKS[1]: REPEATS_OF_MANY, TASKS[2]: cells * len(CHAINS)}[task]


class Cell(NamedTuple):
    """Places a prompt in the grid.

    `length` is in tokens, `depth` in percent, and `links` counts the relations of a chain.
    """

    task: str
    language: str
    length: int
    repeat: int
    depth: int | None = None
    links: int = 0


def load(argument: str | None) -> Suite:
    """Load the suite of a folder, or a part of it.

    Raises:
        UsageError: No folder was given, it lacks a file, or the part is unknown or too large.
        SpecError: A file is not as published; the message names file and row.
        MissingExtra: tiktoken is not installed.
    """
    part = _part(argument)
    folder = need_path("needlebench", part.folder)
    codes = _codes(folder)
    files: dict[str, str] = {
        f"{name}.py": content_hash(code.path.read_text(encoding="utf-8")) for name, code in codes.items()
    }
    if part.tasks == (ATC,):
        families = Families(_file(folder, "names.json"), codes["atc"])
        prompts = list(_atc(families, codes["atc"]))
        files["names.json"] = content_hash(families.data)
    else:
        tokens = sum(part.prompts_at(task) * sum(part.lengths) for task in part.tasks) * len(part.languages)
        if tokens > MOST_TOKENS:
            raise UsageError(
                f"needlebench:{argument}: about {tokens / 1e6:,.0f} million tokens of text, "
                f"more than the {MOST_TOKENS // 1_000_000} million that are built at once. Take a part: "
                f"FOLDER@{part.size}+{TASKS[0]}+en, and lengths ({part.lengths[-1]})"
            )
        build = _Builder(folder, codes, part)
        prompts = [prompt for language in part.languages for prompt in build.prompts(language)]
        files |= build.files
    counts = {"prompts": len(prompts), "rows of the published table": len({prompt.tags["slice"] for prompt in prompts})}
    expected = sum(part.prompts_at(task) for task in TASKS) * 2 * len(SIZES[part.size]) if part.is_whole else 0
    return make_suite(
        "needlebench",
        argument,
        prompts,
        sha256=files,
        note=note(counts, {"prompts": expected}) if expected else f"{note(counts, {})}, a part of the suite",
        citation="M. Li et al., NeedleBench, arXiv 2407.11963",
        sampling=Sampling(max_new_tokens=2048),
    )


def _part(argument: str | None) -> Part:
    folder, mark, names = (argument or "").rpartition("@")
    if not mark or "/" in names:
        folder, names = argument or "", ""
    part_names = names.split("+") if names else []
    sizes = [name for name in part_names if name in SIZES] or ["4k"]
    lengths = [int(name) for name in part_names if name.isdecimal()]
    for name in part_names:
        choices = (*SIZES, *TASKS, ATC, *LANGUAGES, *map(str, SIZES[sizes[0]]))
        if name not in choices:
            raise UsageError(f"needlebench: no part {name!r}.{nearest(name, choices)} There are: {', '.join(choices)}")
    if len(sizes) > 1 or (ATC in part_names and len(part_names) > 1):
        raise UsageError(f"needlebench: {names!r}: give one size, or {ATC} alone")
    tasks = (ATC,) if ATC in part_names else tuple(task for task in TASKS if task in part_names) or TASKS
    languages = tuple(language for language in LANGUAGES if language in part_names) or tuple(LANGUAGES)
    every = SIZES[sizes[0]]
    return Part(
        folder or None, sizes[0], tasks, languages, tuple(length for length in every if length in lengths) or every
    )


def _file(folder: Path, name: str) -> Path:
    if not (folder / name).is_file():
        raise UsageError(f"needlebench:{folder}: no {name} there. It is published as {where('needlebench')}")
    return folder / name


def _codes(folder: Path) -> dict[str, Code]:
    place = folder / "needlebench_v2"
    if not place.is_dir():
        opencompass = importlib.util.find_spec("opencompass")  # looked for, never imported
        if opencompass is None or not opencompass.submodule_search_locations:
            raise UsageError(
                f"needlebench:{folder}: no folder needlebench_v2 there, and OpenCompass is not installed: "
                "the prompts' wordings stand in its code. Copy opencompass/datasets/needlebench_v2 there, or run: "
                "pip install --no-deps opencompass"
            )
        place = Path(opencompass.submodule_search_locations[0], "datasets", "needlebench_v2")
    return {name: Code.read(_file(place, f"{name}.py")) for name in ("origin", "parallel", "multi", "atc")}


class _Builder:
    """Makes the prompts; `files` has the hash of each file that was read."""

    def __init__(self, folder: Path, codes: dict[str, Code], part: Part) -> None:
        self.part = part
        self.tokens = texts.tokenizer()
        self.files: dict[str, str] = {}
        self._codes = codes
        self._hay = {}
        for language in part.languages:
            hay = texts.Haystack(_file(folder, FILES[language]), self.tokens, REPEATS_OF_MANY)
            self._hay[language] = hay
            self.files[FILES[language]] = hay.sha256
        self._needle_path = folder / "needles.jsonl"
        if {TASKS[0], TASKS[1]} & set(part.tasks):
            self._needles = Needles(_file(folder, "needles.jsonl"))
            self.files["needles.jsonl"] = self._needles.sha256
        if TASKS[2] in part.tasks:
            self._families = Families(_file(folder, "names.json"), codes["atc"])
            self.files["names.json"] = content_hash(self._families.data)

    def prompts(self, language: str) -> Iterator[Prompt]:
        """Yield the prompts of a language, task by task."""
        makers = dict(zip(TASKS, (self._single, self._many, self._chains), strict=True))
        for task in self.part.tasks:
            yield from makers[task](language)

    def _around(self, code: str, language: str, *gaps: str) -> Template:
        return self._codes[code].template(
            "_generate_prompt", "prompt", gaps=("context", *gaps), language=LANGUAGES[language], quesiton_position="End"
        )

    def _room(self, language: str, length: int, needles: Sequence[list[int]]) -> int:
        return max(length - self.part.buffer(language) - sum(map(len, needles)), 0)

    def _encoded(self, needles: Sequence[str]) -> list[list[int]]:
        return [self.tokens.encode(f"\n{needle}\n") for needle in needles]

    def _single(self, language: str) -> Iterator[Prompt]:
        around = self._around("origin", language, "retrieval_question")
        for repeat in range(REPEATS):
            needle = self._needles.one(language, repeat)
            # The published reference is NEEDLE*KEYWORD, taken apart again at the first two stars.
            keyword = f"\n{needle.text}\n*{needle.keyword}".split("*")[1]
            refs = _keywords([keyword], self._needle_path)
            (inside,) = self._encoded([needle.text])
            for length in self.part.lengths:
                hay = self._hay[language].first(repeat, self._room(language, length, [inside]))
                for depth in DEPTHS:
                    context = self.tokens.decode(texts.with_many(hay, [inside], [depth]))
                    text = around.filled({"context": context, "retrieval_question": needle.question})
                    yield _prompt(text, refs, Cell(TASKS[0], language, length, repeat, depth))

    def _many(self, language: str) -> Iterator[Prompt]:
        around = self._around("parallel", language, "retrieval_question")
        question = self._codes["parallel"].template(
            "load", "retrieval_question", gaps=("questions", "answers_format"), language=LANGUAGES[language]
        )
        for length in self.part.lengths:
            chosen = self._needles.several(language, len(DEPTHS), length)
            for repeat in range(REPEATS_OF_MANY):
                needles = texts.shuffle_needles(chosen, repeat)
                needle_tokens = self._encoded([needle.text for needle in needles])
                hay = self._hay[language].first(repeat, self._room(language, length, needle_tokens))
                gaps = {
                    "context": self.tokens.decode(texts.with_many(hay, needle_tokens, DEPTHS)),
                    "retrieval_question": question.filled(asked_together(self._needle_path, language, needles)),
                }
                keywords = "*".join(needle.keyword for needle in needles).split("#")[0].split("*")
                if len(keywords) != len(DEPTHS):
                    raise SpecError(
                        f"{self._needle_path}: an arg2 has * or #, where the published code parts "
                        "keywords. Delete its row"
                    )
                refs = _keywords(keywords, self._needle_path)
                yield _prompt(around.filled(gaps), refs, Cell(TASKS[1], language, length, repeat))

    def _chains(self, language: str) -> Iterator[Prompt]:
        around = self._around("multi", language, "retrieval_question", "last_person")
        question = self._codes["multi"].template(
            "get_random_needles", "retrieval_question", gaps=("last_person",), language=LANGUAGES[language]
        )
        for links in CHAINS:
            for repeat in range(REPEATS):
                chain = self._families.chain(language, links, repeat)
                last = {"last_person": chain.names[-1]}
                gaps = {"retrieval_question": question.filled(last), **last}
                refs = (ConstraintRef(BOXED, {"text": chain.names[0]}),)
                needle_tokens = self._encoded(chain.told)
                for length in self.part.lengths:
                    hay = self._hay[language].first(repeat, self._room(language, length, needle_tokens))
                    for depth in DEPTHS:
                        context = self.tokens.decode(texts.with_chain(hay, needle_tokens, depth))
                        text = around.filled({"context": context, **gaps})
                        yield _prompt(text, refs, Cell(TASKS[2], language, length, repeat, depth, links))


def _keywords(keywords: Sequence[str], path: Path) -> tuple[ConstraintRef, ...]:
    if not all(keywords):
        raise SpecError(f"{path}: a needle with two stars in a row has an empty keyword. Delete its row")
    return tuple(ConstraintRef(KEYWORD, {"text": keyword}) for keyword in keywords)


def _prompt(text: str, refs: tuple[ConstraintRef, ...], cell: Cell) -> Prompt:
    kind = f"{cell.links}-needle reasoning" if cell.links else cell.task
    tags = {
        "slice": f"{kind} {cell.language}",
        "part": cell.task,
        "group": f"{kind} {cell.language} {cell.repeat}",
        "language": cell.language,
        "length": f"{cell.length // 1000}k",
        "profile": "needlebench",
    }
    if cell.task == TASKS[0]:
        tags["depth"] = str(cell.depth)
    at = "" if cell.depth is None else f"-{cell.depth}"
    name = f"{kind.replace(' ', '-')}-{cell.language}-{cell.length}{at}-{cell.repeat}"
    return packed(Prompt(name, (Turn(text, refs),), source="needlebench", tags=tags))


def _atc(families: Families, code: Code) -> Iterator[Prompt]:
    wordings = [code.constant(f"{name}_en", str) for name in ATC_QUESTIONS]
    for needles in ATC_NEEDLES:
        for question, wording in enumerate(wordings):
            for repeat in range(REPEATS):
                chain = families.chain("en", needles, repeat + 1 + 10_000 * question)
                eldest, youngest = chain.names[0], chain.names[-1]
                gaps = {
                    "shuffled_story": "".join(chain.told),
                    "last_person": youngest,
                    "person": eldest if question == 2 else youngest,
                    "person_a": eldest,
                    "person_b": youngest,
                    "n": str(chain.generations),
                }
                try:
                    text = wording.format(**gaps)
                except (KeyError, IndexError, ValueError, AttributeError) as error:
                    raise SpecError(f"{code.path}: {ATC_QUESTIONS[question]}_en has other gaps: {error!r}") from error
                answer = (eldest, eldest, youngest, str(chain.generations))[question]
                name = ATC_QUESTIONS[question].removesuffix("_prompt").replace("_", "-")
                tags = {"slice": f"{needles} needles", "level": str(needles), "task": name, "profile": "needlebench"}
                refs = (ConstraintRef(BOXED, {"text": answer}),)
                yield Prompt(f"{name}-{needles}-{repeat}", (Turn(text, refs),), source="needlebench", tags=tags)
