"""Read a study's TOML and check what types cannot.

load_study(PATH)   the spec, or an error with file, line, key and the nearest valid name
validate(SPEC)     the same check for a spec that is made in Python
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from adhere.config import load_toml, locate
from adhere.constraints import registry
from adhere.errors import SpecError, UnknownName, UsageError, nearest
from adhere.study.design.command import METHOD
from adhere.study.design.spec import (
    STUDY_KEYS,
    ArmSpec,
    ContrastSpec,
    DataSpec,
    GuardSpec,
    NamedStage,
    ResampleSpec,
    StudySpec,
    in_slice,
)
from adhere.suites.generated.core.deal import kinds_of
from adhere.suites.generated.core.free import free_kinds
from adhere.train.recipe import StageSpec
from adhere.train.recipe.spec import settle_reward
from adhere.train.stage.settings import passing_trouble, uses_reward_model


def load_study(path: Path, *, seeds: Sequence[int] | None = None) -> StudySpec:
    """Read and validate a study's TOML. `seeds` replaces its seeds.

    Raises:
        SpecError: The study is not valid; the message has file, line, key and the nearest valid name.
    """
    spec = load_toml(path, StudySpec, settle=_settle)
    if seeds is not None:
        spec = msgspec.structs.replace(spec, seeds=list(seeds))
    _locate_unknown_settings(spec, path)
    try:
        validate(spec)
    except SpecError as error:
        raise SpecError(f"{path}: {error}") from error
    return spec


def _settle(document: dict[str, Any]) -> None:
    """Turn one `[reward]` into a list, and take the study's seeds from tables of models or answers if not given."""
    settle_reward(document)
    arms = document.get("arms")
    if "seeds" not in document and isinstance(arms, list):
        tables = [arm.get(name) for arm in arms if isinstance(arm, dict) for name in ("models", "answers")]
        seeds = {seed for table in tables if isinstance(table, dict) for seed in table if seed.isdecimal()}
        if seeds:
            document["seeds"] = sorted(map(int, seeds))


def parse_seeds(text: str) -> list[int]:
    """Read seeds: `3` means 0, 1, 2; `3,5,8` means those three; `5,` means 5 alone.

    Raises:
        SpecError: The text is anything else.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise SpecError(f"--seeds {text}: write how many (--seeds 5) or which (--seeds 3,5,8)")
    if "," in text:
        return [int(part) for part in parts]
    if int(parts[0]) < 1:
        raise SpecError(f"--seeds {text}: a study needs at least one seed")
    return list(range(int(parts[0])))


def _locate_unknown_settings(spec: StudySpec, path: Path) -> None:
    """Raise a SpecError with the line of a setting that the stage's method does not have.

    The settings of a stage are typed by its method, so `load_toml` cannot know them.
    """
    text = path.read_text(encoding="utf-8")
    for name, table in spec.stages.items():
        method = table.get("method")
        if not isinstance(method, str) or method == METHOD:
            continue
        try:
            kind = StageSpec(method).kind
        except UnknownName as error:
            raise SpecError(f"{path}:{locate(text, ['stages', name, 'method'])}: {error}") from error
        others = ("trainer", "environment", "hours", "gpus") if "trainer" in table else ()
        valid_keys = [*STUDY_KEYS, *others, *(field.encode_name for field in msgspec.structs.fields(kind.settings))]
        for key in table:
            if key not in valid_keys:
                line = locate(text, ["stages", name, key])
                raise SpecError(
                    f"{path}:{line}: unknown key {key!r} in stages.{name}.{nearest(key, valid_keys)} Valid "
                    f"keys: {', '.join(valid_keys)}"
                )


def validate(spec: StudySpec) -> None:
    """Check the rules of a study's spec that its types cannot express.

    Raises:
        SpecError: A name is unknown or repeated, a number is outside its range, or keys do not fit together.
    """
    _require_unique("arm", [arm.name for arm in spec.arms])
    _require_unique("seed", [str(seed) for seed in spec.seeds])
    for arm in spec.arms:
        for stage in arm.stages:
            _require_known(f"arms.{arm.name}.stages", stage, spec.stages)
        _require_reward_model(spec, arm)
    for where, contrast in _contrasts(spec):
        _require_contrast(spec, where, contrast)
    for name in spec.stages:
        named_stage = spec.stage(name)
        _require_matched_arm(spec, named_stage)
        _require_own_keys(spec, named_stage)
    if spec.resample is not None:
        if not spec.resample.stages:
            raise SpecError("resample.after: names no stage; name the one whose model draws")
        _require_unique("resample.after", list(spec.resample.stages))
        for name in spec.resample.stages:
            _require_known("resample.after", name, spec.stages)
    _require_sources(spec)
    _require_start(spec)
    _require_suites(spec)
    _require_train_kinds(spec.data.kinds)
    _require_drawn_kinds(spec)
    _require_ranges(spec)
    _require_long(spec.data)
    _require_served(spec)
    _require_seeds_of_arms(spec)


def _require_contrast(spec: StudySpec, where: str, contrast: ContrastSpec) -> None:
    arms = [arm.name for arm in spec.arms]
    _require_known(f"{where}.treatment", contrast.treatment, arms)
    _require_known(f"{where}.control", contrast.control, arms)
    if contrast.treatment == contrast.control:
        raise SpecError(f"{where}: {contrast.treatment!r} is compared with itself")
    if spec.asked:
        if contrast.slice != "all":
            raise SpecError(f"{where}.slice: the verdict is about the whole suite {spec.asked}; leave `slice` out")
        return
    _require_known(f"{where}.slice", contrast.slice, spec.evaluation.slices)
    if not any(
        getattr(size, number)
        for name, size in spec.evaluation.sizes.items()
        for number in ("single", "multiple")
        if in_slice(f"{name}/{number}", contrast.slice)
    ):
        raise SpecError(f"{where}.slice: [evaluation] has no prompts in {contrast.slice!r}")


def _require_start(spec: StudySpec) -> None:
    if spec.trains and not spec.start and not spec.starts:
        raise SpecError(
            "start is missing: start = 'MODEL', or starts = ['MODEL', …] for the whole study from each. Arms that "
            "others trained take models = '…' instead of stages"
        )
    if spec.starts:
        _require_unique("start", [start.model for start in spec.each_start])


def _require_suites(spec: StudySpec) -> None:
    if spec.evaluation.suites:
        _require_unique("suite of [evaluation]", spec.evaluation.suite_names)
    suite_names = dict.fromkeys([*spec.evaluation.suite_names, *([spec.asked.partition(":")[0]] if spec.asked else [])])
    for name in spec.evaluation.suite_tokens:
        _require_known("evaluation.suite_tokens", name, suite_names)


def _require_sources(spec: StudySpec) -> None:
    """Require that models or answers of others are named in one way, and at every seed."""
    for arm in spec.arms:
        keys = [name for name in ("models", "answers") if getattr(arm, name) is not msgspec.UNSET]
        where = f"arms.{arm.name}"
        if len(keys) > 1 or (keys and arm.stages):
            raise SpecError(f"{where}: takes `stages`, `models` or `answers`, and has several of them")
        if arm.source is None:
            continue
        if not arm.source or (isinstance(arm.source, dict) and not all(arm.source.values())):
            raise SpecError(f"{where}.{keys[0]}: is empty. Give a name, with {{seed}} where there is one a seed")
        for seed in (arm.seeds or spec.seeds) if isinstance(arm.source, dict) else ():
            arm.at(seed)
        names = list(arm.source.values()) if isinstance(arm.source, dict) else [arm.source]
        if any("{start}" in name for name in names) != bool(spec.starts):
            raise SpecError(
                f"{where}.{keys[0]}: `starts` and {{start}} go together: the study is done of each of `starts`, whose "
                "name stands for {start}"
            )
        if spec.asks_rules and keys != ["answers"]:
            raise SpecError(f"{where}: rules are held against sessions: answers = 'sessions/{arm.name}-{{seed}}/'")
        if keys == ["answers"] and not spec.asked:
            raise SpecError(f"{where}.answers: say what was asked, as [verdict] suite = 'ifeval:input_data.jsonl'")
    if spec.asks_rules:
        _require_rules(spec)
    if spec.draws > 1 and spec.temperature <= 0:
        raise SpecError(
            f"evaluation.draws = {spec.draws}: greedy answers are all the same. Give evaluation.temperature, as 1.0"
        )
    if spec.trains and (spec.draws, spec.temperature) != (1, 0.0):
        raise SpecError("evaluation.draws and .temperature are for studies whose arms are all trained by others")


def _require_rules(spec: StudySpec) -> None:
    """Require a study of rules to have sessions as answers, one a task and seed, and nothing that needs prompts."""
    where = f"verdict.suite = {spec.asked!r}"
    if any(arm.source is None for arm in spec.arms):
        raise SpecError(
            f"{where}: every arm takes answers = 'sessions/NAME-{{seed}}/'; one here is trained or untrained"
        )
    if spec.verdict.counts not in {msgspec.UNSET, "passing"}:
        raise SpecError(f"{where}: a rule is kept or broken, so leave verdict.counts out")
    for name, is_given in {
        "suites": bool(spec.evaluation.suites), "suite_limit": spec.evaluation.suite_limit is not None,
        "draws": spec.draws > 1,
    }.items():  # fmt: skip
        if is_given:
            raise SpecError(f"evaluation.{name}: sessions answer no prompts, so leave it out with {where}")


def _require_reward_model(spec: StudySpec, arm: ArmSpec) -> None:
    has_model = False
    for name in arm.stages:
        stage = spec.stage(name)
        if stage.stage.online and uses_reward_model(stage.reward) and not has_model:
            raise SpecError(
                f"arms.{arm.name}: {name!r} has reward = 'model', and no stage before it trains a reward model. "
                "Put one of method 'reward-model' before it"
            )
        has_model = has_model or stage.stage.yields == "reward-model"


def _require_own_keys(spec: StudySpec, stage: NamedStage) -> None:
    """Require that the keys which a study adds to a stage's settings fit the stage's method."""
    where, method = f"stages.{stage.name}", stage.stage.name
    if "reward" in spec.stages[stage.name] and not stage.stage.online:
        raise SpecError(f"{where}.reward: {method!r} draws no answers to reward; take the key out")
    if (trouble := passing_trouble(stage.stage, stage.reward)) is not None:
        raise SpecError(f"{where}.reward: {trouble}")
    if stage.answers != "verified" and stage.stage.data != "sft":
        raise SpecError(f"{where}.answers: plain answers have no pairs and no scores, so only SFT learns from them")
    if stage.kept < 1 and (stage.lora or stage.stage.yields != "weights"):
        raise SpecError(f"{where}.kept: only a stage that trains whole weights can leave a part of its change")
    if stage.budget > 1 and not stage.stage.online:
        raise SpecError(f"{where}.budget: {method!r} is not online; only online stages have a budget")
    if stage.budget > 1 and spec.resample is None:
        raise SpecError(f"{where}.budget: the further prompts are resampled ones; give the study a [resample]")


def _require_train_kinds(kinds: Sequence[str]) -> None:
    try:
        kinds_of("train", kinds)
    except (UnknownName, UsageError) as error:
        raise SpecError(f"data.kinds: {error}") from error


def _require_drawn_kinds(spec: StudySpec) -> None:
    """Require that [kinds] can be drawn, and that every held-out prompt asks for one of them."""
    kinds_spec, evaluation = spec.kinds, spec.evaluation
    keys = [name for name in ("new_kind", "new_kinds") if getattr(evaluation, name) is not msgspec.UNSET]
    if kinds_spec is msgspec.UNSET:
        if len(keys) == 1:
            raise SpecError("evaluation.new_kind and .new_kinds go together; [kinds] draws the second by itself")
        return
    if "new_kinds" in keys or spec.data.kinds:
        raise SpecError("data.kinds and evaluation.new_kinds are drawn at every seed by [kinds]; leave them out")
    if not spec.trains or spec.asked or spec.starts or spec.budgets:
        raise SpecError("kinds: a study draws kinds where it trains from one start, on prompts of ours, at one budget")
    if spec.verdict.judge is not msgspec.UNSET:
        raise SpecError("verdict.judge: with [kinds] every seed has prompts and verifiers of its own; leave it out")
    try:
        able = [name for name in dict.fromkeys(kinds_spec.among) if registry.get(name).part == "train"]
        kinds_of("train", able)
    except (UnknownName, UsageError) as error:
        raise SpecError(f"kinds.among: {error}") from error
    n_kinds = len(set(kinds_spec.among))
    if len(able) < kinds_spec.trained or n_kinds < kinds_spec.trained + kinds_spec.untrained:
        raise SpecError(
            f"kinds: {kinds_spec.trained} trained and {kinds_spec.untrained} others cannot be drawn from {n_kinds} "
            f"kinds, of which {len(able)} may be trained (adhere list constraints)"
        )
    sizes = evaluation.sizes
    if any(size.multiple for size in sizes.values()) or sizes["new-family"].single:
        raise SpecError(
            "evaluation: with [kinds] every prompt asks for one of the drawn kinds: leave `multiple` and new_family out"
        )
    if bool(kinds_spec.untrained) != bool("new_kind" in keys and sizes["new-kind"].single):
        raise SpecError("kinds.untrained and evaluation.new_kind go together: give both or none")


def _require_long(data: DataSpec) -> None:
    if data.long is None:
        return
    try:
        free_kinds(data.long.kinds)
    except (UnknownName, UsageError) as error:
        raise SpecError(f"data.long.kinds: {error}") from error
    if not 0 < data.long.share < 1:
        raise SpecError(f"data.long.share: got {data.long.share}, must lie between 0 and 1")
    if data.long.max_new_tokens <= data.max_new_tokens:
        raise SpecError(
            f"data.long.max_new_tokens: got {data.long.max_new_tokens}, must be larger than data.max_new_tokens "
            f"({data.max_new_tokens})"
        )


def _require_served(spec: StudySpec) -> None:
    """Require that every setting about servers is used."""
    if not spec.trains:
        for key, value in (("served_by", spec.served_by), ("data.model", spec.data.model)):
            if value is not msgspec.UNSET:
                raise SpecError(f"{key}: nothing is drawn or trained here; arms name their server: models = 'vllm/…'")
    if spec.evaluation.precision != "fp32" and spec.served_by is msgspec.UNSET:
        raise SpecError("evaluation.precision: our own engine evaluates in fp32; 'bf16' goes with served_by = 'vllm'")
    if spec.data.model is not msgspec.UNSET and spec.data.model.partition("/")[0] in {"hf", "local", ""}:
        raise SpecError(
            f"data.model = {spec.data.model!r}: give an endpoint (http://HOST/v1#NAME) or vllm/…; a model that is here "
            "is the study's `start`"
        )


def _require_seeds_of_arms(spec: StudySpec) -> None:
    """Require that the verdict leaves out an arm at only some seeds, and that stages matched to it have its seeds."""
    for arm in (arm for arm in spec.arms if arm.seeds is not None):
        where = f"arms.{arm.name}.seeds"
        if not arm.seeds:
            raise SpecError(f"{where}: give at least one seed, or leave it out")
        if arm.name in {spec.verdict.treatment, spec.verdict.control}:
            raise SpecError(
                f"{where}: the verdict compares this arm, so it runs at all seeds of the study; leave it out"
            )
        for other in spec.arms:
            stages = [name for name in other.stages if spec.stage(name).equal_compute_to == arm.name]
            if stages and not set(other.seeds or spec.seeds) <= set(arm.seeds):
                raise SpecError(f"{where}: {stages[0]!r} of arm {other.name!r} is matched to it at other seeds, too")


def _require_matched_arm(spec: StudySpec, stage: NamedStage) -> None:
    """Require that the arm whose compute is matched stands before the arms that use this stage."""
    arm_name = stage.equal_compute_to
    if arm_name is None:
        return
    where = f"stages.{stage.name}.equal_compute_to"
    if not {"equivalent_tokens", "trained_tokens"} & set(stage.settings.__struct_fields__):
        raise SpecError(
            f"{where}: method {stage.stage.name!r} cannot train to a budget; only 'more-sft' and 'online-dpo' can"
        )
    arms = [arm.name for arm in spec.arms]
    _require_known(where, arm_name, arms)
    users = [arm.name for arm in spec.arms if stage.name in arm.stages]
    early = [name for name in users if arms.index(name) <= arms.index(arm_name)]
    if early:
        raise SpecError(f"{where}: arm {arm_name!r} must stand before arm {early[0]!r}, whose compute it sets")


def _contrasts(spec: StudySpec) -> list[tuple[str, ContrastSpec]]:
    rule = spec.verdict
    return [("verdict", rule.primary)] + [
        (f"verdict.secondary[{index}]", item) for index, item in enumerate(rule.secondary)
    ]


def _require_unique(noun: str, names: list[str]) -> None:
    if not names:
        raise SpecError(f"a study needs at least one {noun}")
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise SpecError(f"{noun} {', '.join(sorted(duplicates))} is given twice")


def _require_known(where: str, name: str, valid_names: Iterable[str]) -> None:
    names = list(valid_names)
    if name not in names:
        raise SpecError(f"{where}: unknown name {name!r}.{nearest(name, names)} Known: {', '.join(names)}")


def _require_ranges(spec: StudySpec) -> None:
    data, again, evaluation = spec.data, spec.resample, spec.evaluation
    for where, value in _counts(spec).items():
        if value < 1:
            raise SpecError(f"{where}: got {value}, must be at least 1")
    if any(budget < 1 for budget in spec.budgets):
        raise SpecError(f"budgets: got {spec.budgets}, each must be at least 1 (times the online steps and prompts)")
    drawings: list[tuple[str, DataSpec | ResampleSpec]] = [("data", data), *([("resample", again)] if again else [])]
    for where, drawing in drawings:
        if drawing.draws < 2:
            raise SpecError(f"{where}.draws: got {drawing.draws}, must be at least 2: a variance needs two answers")
        if drawing.temperature <= 0:
            raise SpecError(
                f"{where}.temperature: got {drawing.temperature}, must be above 0: greedy draws are all the same"
            )
    if not 0 <= data.singles <= 10:
        raise SpecError(f"data.singles: got {data.singles}, must be from 0 to 10 (of every ten prompts)")
    shares = {
        "verdict.confidence": spec.verdict.confidence,
        "verdict.smallest_effect": spec.verdict.smallest_effect,
        **{f"guards.{name}": getattr(spec.guards, name) for name in GuardSpec.__struct_fields__},
    }
    shares = {where: share for where, share in shares.items() if share is not msgspec.UNSET}
    for where, share in shares.items():
        if not 0 < share < 1:
            raise SpecError(f"{where}: got {share}, must lie between 0 and 1")
    if not 0 < evaluation.coverage <= 1:
        raise SpecError(f"evaluation.coverage: got {evaluation.coverage}, must lie between 0 and 1")


def _counts(spec: StudySpec) -> dict[str, int]:
    """Return every number of the spec that must be at least 1, by key; those that are not given are left out."""
    data, evaluation = spec.data, spec.evaluation
    counts = {
        "data.prompts": data.prompts,
        "data.max_new_tokens": data.max_new_tokens,
        "data.long.max_new_tokens": data.long.max_new_tokens if data.long else None,
        "data.wordings": data.wordings,
        "resample.prompts": spec.resample.prompts if spec.resample else None,
        "evaluation.max_new_tokens": evaluation.max_new_tokens,
        "evaluation: prompts in all slices": None if spec.asked else evaluation.prompts,
        "evaluation.draws": spec.draws,
        "evaluation.suite_limit": evaluation.suite_limit,
        **{f"evaluation.suite_tokens.{name}": most for name, most in evaluation.suite_tokens.items()},
    }
    return {where: value for where, value in counts.items() if value is not None}
