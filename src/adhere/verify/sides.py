"""Compare side measures: what other harnesses scored item by item, tested for non-inferiority.

files = SideFiles.read([Path("lm-eval/")])
for side in files.compare("qwen-tuned", "qwen", SideOptions(margin=0.02)): ...
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
    """Says how side measures are compared.

    Attributes:
        margin: The most that a rate may fall (a share: 0.02 is two points).
        perplexity_margin: The most that a perplexity may rise, as a share.
        scores: Task -> the score that counts [that of whole items, else the harness's main one].
        lower_is_better: Scores of which less is better, besides those that lm-eval marks so.
        pools: Patterns of task names (`mmlu_*`); the tasks that match one are one measure.
        called: Our name of a model -> the harness's.
        confidence: The confidence of the intervals.
    """

    margin: float = MARGIN
    perplexity_margin: float = PERPLEXITY_MARGIN
    scores: dict[str, str] = {}
    lower_is_better: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    called: dict[str, str] = {}
    confidence: float = CONFIDENCE


class WantedModel(NamedTuple):
    """Names a model as we call it, and tells which harness names fit; `missing` says what to do if none fits."""

    name: str
    fits: Callable[[str], bool]
    missing: str = ""


class _File(NamedTuple):
    path: Path
    answers: HarnessAnswers


class SideFiles:
    """Holds everything found under some paths, by harness and model.

    Args:
        files: Path and content of each.
    """

    def __init__(self, files: Iterable[tuple[Path, HarnessAnswers]]) -> None:
        self._files: dict[tuple[str, str], list[_File]] = {}
        for path, answers in files:
            self._files.setdefault((answers.harness, answers.model), []).append(_File(path, answers))

    @classmethod
    def read(cls, paths: Sequence[Path]) -> SideFiles:
        """Read files and folders.

        Raises:
            UsageError: The paths hold no file of any harness.
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
        """Compare model a with model b on every task that both have.

        A model's name is the harness's, or one with the same ending (`hf/Qwen/Qwen2.5` and EvalScope's `Qwen2.5`),
        because harnesses name one model differently.

        Raises:
            UsageError: A model is missing, several models of one harness fit a name, a model has a task twice, or the
                two share no task.
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
        """Compare two lists of models on every task; both have one model for each seed, in the same order.

        b may repeat one model.

        Raises:
            UsageError: As `compare`; also if not all models have a task, or one of a harness's models fits two of ours.
        """
        options = options or SideOptions()
        files = {model.name: self._of(model, options) for model in (*a_S, *b_S)}
        owner: dict[Path, str] = {}
        for name, own_files in files.items():
            for file in own_files:
                other = owner.setdefault(file.path, name)
                if other != name:
                    raise UsageError(
                        f"{file.answers.harness}'s {file.answers.model} fits {other} and {name}. "
                        f"Say which it is with --called '{name}=NAME'"
                    )
        tasks = {name: _tasks(own_files, options) for name, own_files in files.items()}
        every = list(dict.fromkeys(task for own_tasks in tasks.values() for task in own_tasks))
        for task in every:
            have = [name for name in tasks if task in tasks[name]]
            lack = [name for name in tasks if task not in tasks[name]]
            if lack:
                raise UsageError(
                    f"{' '.join(task)} is there for {_list_some(have)} and not for {_list_some(lack)}. "
                    "Run it on those too, or give only the files that are to count"
                )
        return [
            _compare_task(
                [tasks[model.name][task] for model in a_S], [tasks[model.name][task] for model in b_S], task, options
            )
            for task in every
        ]

    def used(self, model: WantedModel, options: SideOptions | None = None) -> list[tuple[Path, str, str]]:
        """Return the files of a model as (path, harness, the harness's name of the model).

        Raises:
            UsageError: The model is missing, or several of one harness fit.
        """
        files = self._of(model, options or SideOptions())
        return [(file.path, str(file.answers.harness), file.answers.model) for file in files]

    def _of(self, wanted_model: WantedModel, options: SideOptions) -> list[_File]:
        """Return the files of a model, of all harnesses."""
        name = wanted_model.name
        if name in options.called:
            wanted_model = _by_name(options.called[name])
        files: list[_File] = []
        for harness in dict.fromkeys(harness for harness, _ in self._files):
            models = [own_name for of, own_name in self._files if of == harness]
            alike = (
                [wanted_model.name]
                if wanted_model.name in models
                else [own_name for own_name in models if wanted_model.fits(own_name)]
            )
            if len(alike) > 1:
                raise UsageError(
                    f"{name}: {harness} has several models called alike: {', '.join(alike)}. "
                    f"Say which with --called '{name}=NAME'"
                )
            files += [file for own_name in alike for file in self._files[harness, own_name]]
        if not files:
            raise UsageError(
                f"{name}: no side measure of a model called so.{nearest(wanted_model.name, self.models)}"
                f"{wanted_model.missing} There are: {', '.join(self.models)}. Say which with --called '{name}=NAME'"
            )
        return files


def _by_name(name: str) -> WantedModel:
    return WantedModel(name, lambda model: is_alike(model, name))


def _tasks(files: Sequence[_File], options: SideOptions) -> dict[tuple[str, str], list[_File]]:
    """Return (harness, task or pool) -> the files of one model."""
    paths: dict[tuple[str, str], Path] = {}
    tasks: dict[tuple[str, str], list[_File]] = {}
    for file in files:
        answers = file.answers
        before = paths.setdefault((answers.harness, answers.task), file.path)
        if before != file.path:
            raise UsageError(
                f"{answers.model} has {answers.task} twice: {before} and {file.path}. "
                "Give one of them (--side takes files too)"
            )
        pool = next((pattern for pattern in options.pools if fnmatchcase(answers.task, pattern)), answers.group)
        tasks.setdefault((answers.harness, pool or answers.task), []).append(file)
    return tasks


def name_parts(name: str) -> list[str]:
    """Split a model's name into lower-case parts; harnesses write `Qwen/Qwen2.5` as `Qwen__Qwen2.5`."""
    return name.lower().replace("__", "/").strip("/").split("/")


def is_alike(name: str, other: str) -> bool:
    """Tell whether one name ends with all parts of the other: `hf/Qwen/Qwen2.5` and `Qwen__Qwen2.5`."""
    shorter, longer = sorted((name_parts(name), name_parts(other)), key=len)
    return longer[-len(shorter) :] == shorter


def _compare_task(
    a_S: Sequence[Sequence[_File]], b_S: Sequence[Sequence[_File]], task: tuple[str, str], options: SideOptions
) -> SideTest:
    """Compare all models on one task; of a task that groups several, only those that all models have count."""
    harness, name = task
    every = [{file.answers.task: file.answers for file in files} for files in (*a_S, *b_S)]
    shared = [task_name for task_name in every[0] if all(task_name in of for of in every)]
    if not shared:
        raise UsageError(f"{harness}'s {name}: the models have no task of it in common. Run the same tasks on all")
    score = _score(harness, name, [of[task_name] for of in every for task_name in shared], options)
    first = every[0][shared[0]]
    unit_is_nats = score in first.nats
    rows: list[dict[str, float]] = [{} for _ in every]
    left_out = sum(_items(of[task_name]) for of in every for task_name in of if task_name not in shared)
    for task_name in shared:
        means_of_models, alone = _pair_items([of[task_name] for of in every], score)
        left_out += alone
        for row, means in zip(rows, means_of_models, strict=True):
            row |= {f"{task_name} {item}": value for item, value in means.items()}
    label = name if len(shared) == 1 else f"{name} ({len(shared)} tasks)"
    bare = score.partition(",")[0]
    lower = score in first.lower_is_better or bool({score, bare} & set(options.lower_is_better))
    return side_test(
        Measure(label, harness, score, "perplexity" if unit_is_nats else "rate", lower),
        rows[: len(a_S)],
        rows[len(a_S) :],
        margin=options.perplexity_margin if unit_is_nats else options.margin,
        left_out=left_out,
        confidence=options.confidence,
    )


def _score(harness: str, task: str, files: Sequence[HarnessAnswers], options: SideOptions) -> str:
    """Return the name of the score that counts.

    This is the requested one, else that of whole items, else the first that all items of all files have.
    """
    names = [list(dict.fromkeys(name for answer in file.answers for name in answer.scores)) for file in files]
    common = [name for name in names[0] if all(name in other for other in names)]
    requested_score = options.scores.get(task)
    if requested_score is not None and requested_score not in common:
        raise UsageError(
            f"{harness}'s {task}: no score {requested_score!r}.{nearest(requested_score, common)} "
            f"It has: {_list_some(common)}"
        )
    chosen = requested_score or whole_prompt_score(common) or next(iter(common), None)
    if chosen is None:
        raise UsageError(f"{harness}'s {task}: no score that is a number for each item, of both models")
    return chosen


def _pair_items(files: Sequence[HarnessAnswers], score: str) -> tuple[list[dict[str, float]], int]:
    """Return, for each file, item -> mean over its measured answers; and the number of items left out.

    Items are left out if the files do not ask the same in them.
    """
    values, prompts_of_files = zip(*(_by_item(file, score) for file in files), strict=True)
    first: dict[str, str] = {}
    other = {
        item for prompts in prompts_of_files for item, text in prompts.items() if first.setdefault(item, text) != text
    }
    return [{item: value for item, value in means.items() if item not in other} for means in values], len(other)


def _by_item(harness_answers: HarnessAnswers, score: str) -> tuple[dict[str, float], dict[str, str]]:
    answers: dict[str, list[float]] = {}
    prompts: dict[str, str] = {}
    for answer in harness_answers.answers:
        prompts[answer.item] = answer.asked
        if answer.status != "error" and score in answer.scores:
            answers.setdefault(answer.item, []).append(answer.scores[score])
    return {item: sum(scores) / len(scores) for item, scores in answers.items()}, prompts


def _items(harness_answers: HarnessAnswers) -> int:
    return len({answer.item for answer in harness_answers.answers})


def _list_some(names: Iterable[object] | Mapping[tuple[str, str], object]) -> str:
    texts = [" ".join(name) if isinstance(name, tuple) else str(name) for name in names]
    return ", ".join(texts[:8]) + (" …" if len(texts) > 8 else "") if texts else "none"
