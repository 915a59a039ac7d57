"""The judge as verl's custom reward function. Nothing here imports verl.

    reward.custom_reward_function.path=pkg://adhere.integrations.verl.reward
    reward.custom_reward_function.name=compute_score  +reward.custom_reward_function.reward_kwargs.kind=binary

The ground truth of a row (`reward_model.ground_truth`) is a mapping with `instruction_id_list` and `kwargs`, or its
JSON text (safer in Parquet, which gives every row the same keys). For `traps=True` it has the `prompt`, too.

Where nothing was measured the score is None, never 0, and verl stops there. With `missing=mask` it is NaN, which our
advantage estimator leaves out (`integrations.verl.advantages`):

    algorithm.adv_estimator=adhere_grpo  +reward.custom_reward_function.reward_kwargs.missing=mask

Of a rollout of several turns (a tool or a user speaks in between) verl decodes all turns into one text without special
tokens and says in `extra_info["num_turns"]` how many there were. The model's last turn is judged. Where a chat template
leaves no lines `user` and `assistant` in that text, or there are not as many as turns, nobody can tell whose words are
whose, and nothing was measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adhere.errors import UsageError, one_of
from adhere.pipeline.reward import RewardKind
from adhere.rewards.parts import PARTS, TRAP_NAMES, Parts, parts_of
from adhere.rewards.rows import (
    MISSING,
    Coverage,
    Missing,
    answer_of,
    asked_by,
    insist_on_no_typo,
    insist_on_words,
    is_cut_by,
    mask_missing,
    refs_in,
    reward_of,
)
from adhere.schema import CutAnswers, Mode


def compute_score(
    data_source: str | None,  # noqa: ARG001 - verl passes it
    solution_str: Any,
    ground_truth: Any,
    extra_info: Any = None,
    *,
    kind: RewardKind = "dense",
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    missing: Missing = "stop",
    most_unmeasured: float = 0.5,
    traps: bool = False,
    parts: Parts | None = None,
    part_names: Sequence[str] = (),
    **others: Any,
) -> float | dict[str, float] | None:
    """Return the reward of one answer, judged strictly and without its reasoning; None if nothing was measured.

    Args:
        data_source: Ignored.
        solution_str: The decoded answer, or messages, of which the model's last one is judged; for several turns see
            the module.
        ground_truth: The row's constraints; see the module.
        extra_info: If it has `is_truncated`, `truncated`, `finish_reason`, `stop_reason` or `status`, that says whether
            the answer was cut at its token limit. verl itself passes none of these; without them the answer counts as
            complete. `num_turns` is verl's number of turns, of the prompt and the answer together.
        kind: `dense` is the share of constraints that pass; `binary` is 1.0 only if all pass.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite, if there are several.
        cut_answers: Whether an answer that was cut fails, or is judged as it stands.
        missing: For an answer that was not measured, `stop` gives None, at which verl stops, and `mask` gives NaN,
            which only `adhere_grpo` understands.
        most_unmeasured: The share of such answers above which `mask` stops, too, from this process's hundredth on.
        traps: Whether an answer that fulfils the wording but not the intent (`pipeline.intent.gate`) gets 0. The prompt
            is taken from `prompt` in the ground truth or in `extra_info`.
        parts: Return components beside the score, as verl's `gdpo` estimator reads them: by `constraint`, by `kind`, or
            (`trap`) the judge and the intent gate. The result is then a mapping. verl has no place for a component that
            a row lacks: such a component is 0 in the whole group, which GDPO's normalisation within the group takes
            out.
        part_names: The components of the whole data set, because verl wants the same ones in every row
            (`adhere.judge_reward(parts=…, rows=dataset).names`); those of `trap` are known.
        others: Ignored: releases of verl pass different ones. One that is nearly an argument of ours is refused.

    Raises:
        TooFewMeasurements: More answers than `most_unmeasured` were not measured.
        UsageError: A word or argument is unknown, the ground truth names no constraints, or with `traps` there is no
            prompt.
        UnknownName, BadParameter: The ground truth names a constraint that cannot be judged.
    """
    insist_on_words(kind, mode, profile, cut_answers)
    insist_on_no_typo(others, _ARGUMENTS)
    refs = refs_in(ground_truth, where="verl's ground_truth")
    one_of(missing, MISSING, "treatment of missing rewards")
    is_cut = is_cut_by(extra_info) if isinstance(extra_info, Mapping) else None
    answer = _last_turn(solution_str, extra_info)
    if answer is None:
        return mask_missing([None], _coverage(most_unmeasured))[0] if missing == "mask" else None
    score = reward_of(
        answer,
        refs,
        kind=kind,
        mode=mode,
        profile=profile,
        is_cut=is_cut,
        cut_answers=cut_answers,
        request=asked_by(ground_truth, extra_info, where="verl's ground_truth") if traps else None,
    )
    if missing == "mask":
        score = mask_missing([score], _coverage(most_unmeasured))[0]
    if parts is None or score is None:
        return score
    names = TRAP_NAMES if parts == "trap" else tuple(part_names)
    own = parts_of(
        answer,
        refs,
        one_of(parts, PARTS, "way to part a reward"),
        kind=kind,
        mode=mode,
        profile=profile,
        is_cut=is_cut,
        cut_answers=cut_answers,
        request=asked_by(ground_truth, extra_info, where="verl's ground_truth") if parts == "trap" else None,
    )
    missing_names = [name for name in own if name not in names]
    if missing_names:
        raise UsageError(
            f"part_names lacks {', '.join(missing_names)}, which this row has; it has {', '.join(names) or 'none'}. "
            "adhere.judge_reward(parts=…, rows=dataset).names are all"
        )
    return {"score": score, **{name: own.get(name) or 0.0 for name in names}}


_seen: dict[float, Coverage] = {}


def _coverage(most_unmeasured: float) -> Coverage:
    return _seen.setdefault(most_unmeasured, Coverage(most_unmeasured))


_HEADER = re.compile(r"^(user|assistant|tool|system)\n", re.MULTILINE)
_SINGLE = 2  # turns of a prompt and its answer


def _last_turn(solution: Any, extra_info: Any) -> str | None:
    """Return the text that is judged; None if it holds several turns that cannot be told apart."""
    text = answer_of(solution)
    turns = extra_info.get("num_turns") if isinstance(extra_info, Mapping) else None
    if text is None or not isinstance(solution, str) or turns is None or int(turns) <= _SINGLE:
        return text
    headers = list(_HEADER.finditer(text))
    if len(headers) != int(turns) - _SINGLE:
        return None
    roles = ["assistant", *(header[1] for header in headers)]
    starts, ends = [0, *(header.end() for header in headers)], [*(header.start() for header in headers), len(text)]
    last = max(at for at, role in enumerate(roles) if role == "assistant")
    return text[starts[last] : ends[last]]


def compute_score_batch(
    data_sources: Sequence[str | None],
    solution_strs: Sequence[Any],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Any] | None = None,
    **options: Any,
) -> list[float | dict[str, float] | None]:
    """Score several answers as `compute_score` does, for the reward manager `batch` of verl before 0.9; 0.9.1 has none.

    Args:
        data_sources: Ignored.
        solution_strs: The decoded answers.
        ground_truths: The constraints of as many rows.
        extra_infos: As many as answers, each as for `compute_score`.
        options: Other arguments of `compute_score`.

    Raises:
        UsageError: `compute_score` would raise it, or the numbers of answers and ground truths differ.
    """
    if len(solution_strs) != len(ground_truths):
        raise UsageError(f"Got {len(solution_strs)} answers and {len(ground_truths)} ground truths")
    infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
    rows = zip(data_sources, solution_strs, ground_truths, infos, strict=True)
    return [compute_score(source, text, truth, info, **options) for source, text, truth, info in rows]


_ARGUMENTS = ("kind", "mode", "profile", "cut_answers", "missing", "most_unmeasured", "traps", "parts", "part_names")
