"""Side measures: what other harnesses scored item by item, joined by model and tested for non-inferiority.

found = SideFiles.read([Path("lm-eval/")])
for side in found.compare("qwen-tuned", "qwen", margin=0.02): ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from adhere.errors import UsageError, nearest
from adhere.pipeline.compare.sides import CONFIDENCE, MARGIN, PERPLEXITY_MARGIN, Measure, SideTest, side_test
from adhere.schema import Record
from adhere.verify.imports import HarnessAnswers, read_imports
from adhere.verify.stored import whole_prompt_score


class SideOptions(Record, frozen=True):
    """How side measures are compared.

    Attributes:
        margin: By how much a rate may fall (a share: 0.02 are two points).
        perplexity_margin: By which share a perplexity may rise.
        scores: Task -> the score that counts [that of whole items, else the harness's main one].
        lower_is_better: Scores of which less is better, besides those that lm-eval says are.
        pools: Patterns of task names (`mmlu_*`); the tasks that match one are one measure.
        called: Our name of a model -> the harness's.
        confidence: Of the intervals.
    """

    margin: float = MARGIN
    perplexity_margin: float = PERPLEXITY_MARGIN
    scores: dict[str, str] = {}
    lower_is_better: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    called: dict[str, str] = {}
    confidence: float = CONFIDENCE


class WantedModel(NamedTuple):
    """A model as we call it, and which of the harnesses' names fit it. Where none does, a sentence says what to do."""

    name: str
    fits: Callable[[str], bool]
    missing: str = ""


class _File(NamedTuple):
    path: Path
    found: HarnessAnswers


class SideFiles:
    """Everything found under some paths, by harness and model.

    Args:
        files: Path and content of each.
    """

    def __init__(self, files: Iterable[tuple[Path, HarnessAnswers]]) -> None:
        self._files: dict[tuple[str, str], list[_File]] = {}
        for path, found in files:
            self._files.setdefault((found.harness, found.model), []).append(_File(path, found))

    @classmethod
    def read(cls, paths: Sequence[Path]) -> SideFiles:
        """Read files and folders.

        Raises:
            UsageError: Nothing of any harness is there.
            SpecError: A file is damaged.
        """
        files = cls(read_imports(list(paths)))
        if not files.models:
            raise UsageError(
                f"{', '.join(str(path) for path in paths)}: no per-item file of a harness in there. "
                "Wanted are lm-eval's samples_*.jsonl (--log_samples), inspect's logs, "
                "EvalScope's reviews or OpenCompass' results (--dump-eval-details), or promptfoo's output"
            )
        return files

    @property
    def models(self) -> list[str]:
        """The harnesses' names of the models that were found."""
        return sorted({model for _, model in self._files})

    def compare(self, a: str, b: str, options: SideOptions | None = None) -> list[SideTest]:
        """Every task that both models have, a against b.

        A model's name is the harness's, or one that ends alike (`hf/Qwen/Qwen2.5` and EvalScope's `Qwen2.5`): harnesses
        name one model differently.

        Raises:
            UsageError: A model is not there, or several of one harness are called alike; a task is there twice; or they
                share no task.
        """
        options = options or SideOptions()
        tasks_a, tasks_b = (_tasks(self._of(_by_name(name), options), options) for name in (a, b))
        shared = [task for task in tasks_a if task in tasks_b]
        if not shared:
            raise UsageError(
                f"{a} and {b} have no side task in common: {_list_some(tasks_a)} against {_list_some(tasks_b)}. "
                "Run the same tasks on both"
            )
        return [_compare_task([tasks_a[task]], [tasks_b[task]], task, options) for task in shared]

    def compare_seeds(
        self, a_S: Sequence[WantedModel], b_S: Sequence[WantedModel], options: SideOptions | None = None
    ) -> list[SideTest]:
        """Every task of the models of a against those of b, seed by seed (`_S`); b may be one model at every seed.

        Raises:
            UsageError: As `compare`; or a task is there for one of the models and not for all of them; or one of a
                harness's models fits two of ours.
        """
        options = options or SideOptions()
        files = {wanted.name: self._of(wanted, options) for wanted in (*a_S, *b_S)}
        owner: dict[Path, str] = {}
        for name, found in files.items():
            for file in found:
                other = owner.setdefault(file.path, name)
                if other != name:
                    raise UsageError(
                        f"{file.found.harness}'s {file.found.model} fits {other} and {name}. "
                        f"Say which it is with --called '{name}=NAME'"
                    )
        tasks = {name: _tasks(found, options) for name, found in files.items()}
        every = list(dict.fromkeys(task for found in tasks.values() for task in found))
        for task in every:
            have = [name for name in tasks if task in tasks[name]]
            lack = [name for name in tasks if task not in tasks[name]]
            if lack:
                raise UsageError(
                    f"{' '.join(task)} is there for {_list_some(have)} and not for {_list_some(lack)}. "
                    "Run it on those too, or give only the files that are to count"
                )
        return [
            _compare_task([tasks[one.name][task] for one in a_S], [tasks[one.name][task] for one in b_S], task, options)
            for task in every
        ]

    def used(self, wanted: WantedModel, options: SideOptions | None = None) -> list[tuple[Path, str, str]]:
        """The files of a model: path, harness, and what that harness calls it.

        Raises:
            UsageError: It is not there, or several of one harness fit.
        """
        found = self._of(wanted, options or SideOptions())
        return [(file.path, str(file.found.harness), file.found.model) for file in found]

    def _of(self, wanted: WantedModel, options: SideOptions) -> list[_File]:
        """The files of a model, of all harnesses."""
        name = wanted.name
        if name in options.called:
            wanted = _by_name(options.called[name])
        found: list[_File] = []
        for harness in dict.fromkeys(harness for harness, _ in self._files):
            models = [model for of, model in self._files if of == harness]
            alike = [wanted.name] if wanted.name in models else [model for model in models if wanted.fits(model)]
            if len(alike) > 1:
                raise UsageError(
                    f"{name}: {harness} has several models called alike: {', '.join(alike)}. "
                    f"Say which with --called '{name}=NAME'"
                )
            found += [file for model in alike for file in self._files[harness, model]]
        if not found:
            raise UsageError(
                f"{name}: no side measure of a model called so.{nearest(wanted.name, self.models)}{wanted.missing} "
                f"There are: {', '.join(self.models)}. Say which with --called '{name}=NAME'"
            )
        return found


def _by_name(name: str) -> WantedModel:
    return WantedModel(name, lambda model: is_alike(model, name))


def _tasks(files: Sequence[_File], options: SideOptions) -> dict[tuple[str, str], list[_File]]:
    """(harness, task or pool) -> the files of one model."""
    seen: dict[tuple[str, str], Path] = {}
    tasks: dict[tuple[str, str], list[_File]] = {}
    for file in files:
        found = file.found
        before = seen.setdefault((found.harness, found.task), file.path)
        if before != file.path:
            raise UsageError(
                f"{found.model} has {found.task} twice: {before} and {file.path}. "
                "Give one of them (--side takes files too)"
            )
        pool = next((pattern for pattern in options.pools if fnmatchcase(found.task, pattern)), found.group)
        tasks.setdefault((found.harness, pool or found.task), []).append(file)
    return tasks


def name_parts(name: str) -> list[str]:
    """The parts of a model's name, in lower case: harnesses write `Qwen/Qwen2.5` as `Qwen__Qwen2.5`."""
    return name.lower().replace("__", "/").strip("/").split("/")


def is_alike(one: str, other: str) -> bool:
    """Whether the parts of one name end the other: `hf/Qwen/Qwen2.5` and `Qwen__Qwen2.5`."""
    shorter, longer = sorted((name_parts(one), name_parts(other)), key=len)
    return longer[-len(shorter) :] == shorter


def _compare_task(
    a_S: Sequence[Sequence[_File]], b_S: Sequence[Sequence[_File]], task: tuple[str, str], options: SideOptions
) -> SideTest:
    """One task of every model; where a task is a group of several, those that all models have."""
    harness, name = task
    every = [{file.found.task: file.found for file in files} for files in (*a_S, *b_S)]
    shared = [one for one in every[0] if all(one in of for of in every)]
    if not shared:
        raise UsageError(f"{harness}'s {name}: the models have no task of it in common. Run the same tasks on all")
    score = _score(harness, name, [of[one] for of in every for one in shared], options)
    first = every[0][shared[0]]
    unit_is_nats = score in first.nats
    rows: list[dict[str, float]] = [{} for _ in every]
    left_out = sum(_items(of[one]) for of in every for one in of if one not in shared)
    for one in shared:
        found, alone = _pair_items([of[one] for of in every], score)
        left_out += alone
        for row, values in zip(rows, found, strict=True):
            row |= {f"{one} {item}": value for item, value in values.items()}
    shown = name if len(shared) == 1 else f"{name} ({len(shared)} tasks)"
    bare = score.partition(",")[0]
    lower = score in first.lower_is_better or bool({score, bare} & set(options.lower_is_better))
    return side_test(
        Measure(shown, harness, score, "perplexity" if unit_is_nats else "rate", lower),
        rows[: len(a_S)],
        rows[len(a_S) :],
        margin=options.perplexity_margin if unit_is_nats else options.margin,
        left_out=left_out,
        confidence=options.confidence,
    )


def _score(harness: str, task: str, files: Sequence[HarnessAnswers], options: SideOptions) -> str:
    """The score that counts.

    The one asked for, else that of whole items, else the first that all items of all files have.
    """
    names = [list(dict.fromkeys(name for answer in file.answers for name in answer.scores)) for file in files]
    common = [name for name in names[0] if all(name in other for other in names)]
    wanted = options.scores.get(task)
    if wanted is not None and wanted not in common:
        raise UsageError(
            f"{harness}'s {task}: no score {wanted!r}.{nearest(wanted, common)} It has: {_list_some(common)}"
        )
    chosen = wanted or whole_prompt_score(common) or next(iter(common), None)
    if chosen is None:
        raise UsageError(f"{harness}'s {task}: no score that is a number for each item, of both models")
    return chosen


def _pair_items(files: Sequence[HarnessAnswers], score: str) -> tuple[list[dict[str, float]], int]:
    """Return, for each file, item -> mean over its measured answers, of the items that asked the same of all.

    The second value is how many did not.
    """
    values, asked = zip(*(_by_item(one, score) for one in files), strict=True)
    first: dict[str, str] = {}
    other = {item for seen in asked for item, text in seen.items() if first.setdefault(item, text) != text}
    return [{item: value for item, value in one.items() if item not in other} for one in values], len(other)


def _by_item(found: HarnessAnswers, score: str) -> tuple[dict[str, float], dict[str, str]]:
    answers: dict[str, list[float]] = {}
    asked: dict[str, str] = {}
    for answer in found.answers:
        asked[answer.item] = answer.asked
        if answer.status != "error" and score in answer.scores:
            answers.setdefault(answer.item, []).append(answer.scores[score])
    return {item: sum(seen) / len(seen) for item, seen in answers.items()}, asked


def _items(found: HarnessAnswers) -> int:
    return len({answer.item for answer in found.answers})


def _list_some(names: Iterable[object] | Mapping[tuple[str, str], object]) -> str:
    shown = [" ".join(name) if isinstance(name, tuple) else str(name) for name in names]
    return ", ".join(shown[:8]) + (" …" if len(shown) > 8 else "") if shown else "none"
