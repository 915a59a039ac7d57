"""A part of the training prompts leaves room for long answers; a study without it is as it was."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest

pytest.importorskip("torch", reason="a study computes in what torch can do")

from tests.unit.study.test_plan import SPEC, plan

from adhere.errors import SpecError
from adhere.models.local.transformers import load_weights, weights_sha256
from adhere.pipeline.respond import request_of
from adhere.schema import Prompt, RlRow, Sampling, derive_seed
from adhere.study.design.check import validate
from adhere.study.design.inputs import _inputs
from adhere.study.design.spec import EvaluationSpec, LongSpec, StudySpec, TuneSpec
from adhere.study.design.tuning import _without_defaults, tuning_key
from adhere.study.run.merged import keep_part
from adhere.study.run.training import _answerable
from adhere.suites.generated.core.slices import Sizes, study_prompts
from adhere.suites.generated.core.templates import queries_of_seed
from adhere.train.methods.grpo import GrpoSettings

LONG = LongSpec(
    kinds=["length:at_least", "paragraphs:paragraphs", "last_word:last_word_answer"], share=0.25, max_new_tokens=256
)


def with_long(**changed: object) -> StudySpec:
    data = msgspec.structs.replace(SPEC.data, prompts=40, long=msgspec.structs.replace(LONG, **changed))
    return msgspec.structs.replace(SPEC, data=data, evaluation=EvaluationSpec(new_topic=Sizes(single=2)))


def limit_of(prompt: Prompt, most: int) -> int | None:
    asked = request_of(prompt, (prompt.id, 0, 0), lambda _: None, Sampling(max_new_tokens=most))
    assert not isinstance(asked, int)
    return asked.most_tokens


def test_a_quarter_of_both_parts_may_be_long_and_only_they() -> None:
    spec = with_long()
    found = _inputs(spec, 3, ())
    for prompts, count in ((found.prompts, 40), (found.again, 200)):
        long = [prompt for prompt in prompts if prompt.tags["slice"].endswith("-long")]
        assert len(prompts) == count
        assert len(long) == count // 4
        assert {limit_of(prompt, spec.data.most_tokens) for prompt in long} == {None}
        assert {limit_of(prompt, spec.data.most_tokens) for prompt in prompts if prompt not in long} == {64}
    queries = [{prompt.tags["query"] for prompt in part} for part in (found.prompts, found.again)]
    assert queries[0].isdisjoint(queries[1])


def test_without_it_the_prompts_are_as_they_were() -> None:
    spec = with_long()
    plain = msgspec.structs.replace(spec, data=msgspec.structs.replace(spec.data, long=None))
    root = derive_seed(0, "prompts", 3) % 2**31
    among = queries_of_seed(3, first=40, second=200)[0]
    assert _inputs(plain, 3, ()).prompts == study_prompts(root, 40, name="train", among=among)
    assert plain.data.most_tokens == 64


@pytest.mark.parametrize(("most", "kept"), [(64, ["a"]), (256, ["a", "b"])])
def test_online_stages_take_long_prompts_only_where_they_draw_as_long(most: int, kept: list[str]) -> None:
    prompts = [Prompt(id=name, turns=(), tags={"slice": part}) for name, part in (("a", "again"), ("b", "again-long"))]
    pool = SimpleNamespace(prompts=prompts, rl=[RlRow(name, "?", 2, 0.5, 0.1, (), ()) for name in "ab"])
    found = _answerable(pool, LONG, GrpoSettings(max_new_tokens=most))  # type: ignore[arg-type]
    assert [row.prompt_id for row in found] == kept
    assert _answerable(pool, None, GrpoSettings()) is pool.rl  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kinds": ["no:such"]}, "data.long.kinds: No free wording of 'no:such' is known"),
        ({"share": 1.0}, "data.long.share: got 1.0, must lie between 0 and 1"),
        ({"max_new_tokens": 64}, r"data.long.max_new_tokens: got 64, must be larger than data.max_new_tokens \(64\)"),
    ],
)
def test_long_settings_are_checked(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        validate(with_long(**changed))


def test_an_arm_may_run_at_some_seeds_only() -> None:
    def arms(**seeds: list[int]) -> StudySpec:
        changed = [msgspec.structs.replace(arm, seeds=seeds.get(arm.name.replace("+", "_"))) for arm in SPEC.arms]
        return msgspec.structs.replace(SPEC, arms=changed, evaluation=EvaluationSpec(new_topic=Sizes(single=2)))

    made, whole = plan(arms(sft_more=[1])), plan()
    assert {cell.seed for cell in made.cells if cell.path == ("sft", "more")} == {1}
    assert [(e.arm, e.seed) for e in made.evaluations if e.arm == "sft+more"] == [("sft+more", 1)]
    assert {cell.key for cell in made.cells} < {cell.key for cell in whole.cells}
    for bad, message in (
        ({"sft_dpo": [0]}, "the verdict compares this arm"),
        ({"sft_more": []}, "give at least one seed"),
        ({"sft_dpo_grpo": [0]}, "'more' of arm 'sft\\+more' is matched to it at other seeds"),
    ):
        with pytest.raises(SpecError, match=message):
            validate(arms(**bad))


def test_what_a_spec_leaves_empty_is_no_part_of_a_tuning_s_key() -> None:
    spec = msgspec.structs.replace(SPEC, tune=TuneSpec(grid={"grpo": {"steps": [1]}}))
    assert _without_defaults({"a": None, "b": [], "c": {"d": None, "e": 0}}) == {"c": {"e": 0}}
    assert tuning_key(spec) != tuning_key(msgspec.structs.replace(spec, data=with_long().data))
    named = [msgspec.structs.replace(arm, seeds=None) for arm in spec.arms]
    assert tuning_key(spec) == tuning_key(msgspec.structs.replace(spec, arms=named))


def test_a_stage_may_replay_plain_answers_and_leave_a_part_of_its_change() -> None:
    def keys(**own: object) -> dict[tuple[str, ...], str]:
        spec = msgspec.structs.replace(SPEC, stages={**SPEC.stages, "sft": {"method": "sft", **own}})
        return {cell.path: cell.key for cell in plan(spec).cells if cell.seed == 0}

    assert keys() == keys(kept=1.0) == keys(answers="verified")
    assert (
        len({keys()["sft",], keys(kept=0.5)["sft",], keys(answers="both")["sft",], keys(answers="plain")["sft",]}) == 4
    )
    both = plan(msgspec.structs.replace(SPEC, stages={**SPEC.stages, "sft": {"method": "sft", "answers": "both"}}))
    read = [
        both.pool(key).like for cell in both.cells if cell.path == ("sft",) and cell.seed == 0 for key in cell.pools
    ]
    assert [like is not None for like in read] == [False, True], "verified answers, and plain ones beside them"
    for own, message in (
        ({"dpo": {"method": "dpo", "answers": "both"}}, "only SFT learns from them"),
        ({"sft": {"method": "sft", "kept": 0.0}}, "stages.sft"),
        ({"sft": {"method": "sft", "kept": 0.5, "lora": {}}}, "only a stage that trains whole weights"),
    ):
        changed = msgspec.structs.replace(SPEC, stages={**SPEC.stages, **own}, evaluation=with_long().evaluation)
        with pytest.raises(SpecError, match=message):
            validate(changed)


def test_a_part_of_the_change_is_kept_between_the_two_models(tiny_llama_dir: Path, tmp_path: Path) -> None:
    import torch

    trained = tmp_path / "model"
    shutil.copytree(tiny_llama_dir, trained)
    model, _ = load_weights(trained, "cpu")
    with torch.no_grad():
        model.model.norm.weight += 0.5
    model.save_pretrained(trained)
    before = weights_sha256(trained)
    assert keep_part(trained, tiny_llama_dir, 0.5) == weights_sha256(trained) != before
    changed, start = (load_weights(place, "cpu")[0].model.norm.weight for place in (trained, tiny_llama_dir))
    torch.testing.assert_close(changed, start + 0.25)
