"""Our suites as the benchmark `adhere` of EvalScope. Importing this module registers it.

    import adhere.integrations.evalscope.task
    from evalscope import TaskConfig, run_task
    run_task(TaskConfig(model="qwen-plus", api_url=…, datasets=["adhere"],
                        dataset_args={"adhere": {"extra_params": {"suite": "core"}}}))

Source: modelscope/evalscope 1.14.1, `api/benchmark/adapters/default_data_adapter.py`,
`benchmarks/ifeval/ifeval_adapter.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adhere import suites
from adhere.integrations import need_harness
from adhere.integrations.inspect_ai.read import STOPS
from adhere.integrations.lm_eval.task import refuse
from adhere.integrations.shared.scoring import (
    SCORES,
    STRICT,
    SaidAnswer,
    columns,
    prompt_of,
    score_answers,
    verdict_rows,
)

if TYPE_CHECKING:
    from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
    from evalscope.api.dataset import DatasetDict, Sample
    from evalscope.api.dataset.builder import build_dataset_from_records
    from evalscope.api.messages import ChatMessageUser
    from evalscope.api.metric import Score
    from evalscope.api.registry import register_benchmark
    from evalscope.constants import ScoreStatus, Tags
    from evalscope.metrics.aggregators import METRIC_WEIGHTS_KEY
else:
    _benchmark = need_harness("evalscope.api.benchmark", "evalscope")
    BenchmarkMeta, DefaultDataAdapter = _benchmark.BenchmarkMeta, _benchmark.DefaultDataAdapter
    _dataset = need_harness("evalscope.api.dataset", "evalscope")
    DatasetDict, Sample = _dataset.DatasetDict, _dataset.Sample
    build_dataset_from_records = need_harness("evalscope.api.dataset.builder", "evalscope").build_dataset_from_records
    ChatMessageUser = need_harness("evalscope.api.messages", "evalscope").ChatMessageUser
    Score = need_harness("evalscope.api.metric", "evalscope").Score
    register_benchmark = need_harness("evalscope.api.registry", "evalscope").register_benchmark
    _constants = need_harness("evalscope.constants", "evalscope")
    ScoreStatus, Tags = _constants.ScoreStatus, _constants.Tags
    METRIC_WEIGHTS_KEY = need_harness("evalscope.metrics.aggregators", "evalscope").METRIC_WEIGHTS_KEY


@register_benchmark(
    BenchmarkMeta(
        name="adhere",
        pretty_name="adhere",
        description=(
            "Prompts whose constraints a program checks: any suite of adhere with single questions "
            "(`adhere list suites`)."
        ),
        tags=[Tags.INSTRUCTION_FOLLOWING],
        dataset_id="adhere",
        subset_list=["default"],
        metric_list=list(SCORES),
        primary_metric=STRICT,
        aggregation="weighted_mean",
        few_shot_num=0,
        eval_split="test",
        prompt_template="",
        extra_params={
            "suite": {"type": "str", "description": "A suite as `adhere list suites` names it.", "value": "core"},
            "mode": {
                "type": "str",
                "description": "`reference` or `fixed` semantics of published kinds.",
                "value": "reference",
            },
        },
    )
)
class AdhereAdapter(DefaultDataAdapter):
    """Loads the prompts from the package and judges each answer by the package's judge."""

    def load(self) -> tuple[Any, None]:
        """Load the suite's prompts as one subset; nothing is downloaded."""
        name = str(self.extra_params["suite"])
        suite = suites.load(name)
        for prompt in suite.prompts:
            refuse(prompt, name)
        self._cut_answers = suite.cut_answers
        records = [columns(prompt) for prompt in suite.prompts]
        dataset = build_dataset_from_records(
            records,
            self.record_to_sample,
            name="default",
            location=name,
            limit=self.limit,
            repeats=self.repeats,
            shuffle=self.shuffle,
            seed=self.seed,
        )
        return DatasetDict({"default": dataset}), None

    def record_to_sample(self, record: dict[str, Any]) -> Any:
        """Make the sample of one prompt."""
        return Sample(input=[ChatMessageUser(content=record["prompt"])], target="", metadata=record)

    def match_score(self, original_prediction: str, filtered_prediction: str, reference: Any, task_state: Any) -> Any:
        """Compute IFEval's four numbers; an undecided prompt is excluded, not 0."""
        stop_reason = task_state.output.stop_reason if task_state.output is not None else None
        answer = SaidAnswer(original_prediction, STOPS.get(str(stop_reason), "ok"))
        conversation = score_answers(
            prompt_of(task_state.metadata), [answer], cut_answers=self._cut_answers, mode=self.extra_params["mode"]
        )
        score = Score(
            value=conversation.scores,
            prediction=original_prediction,
            extracted_prediction=filtered_prediction,
            explanation=conversation.failures,
            main_score_name=STRICT,
            metadata={"verdicts": verdict_rows(conversation.verdicts)},
        )
        if STRICT not in conversation.scores:
            score.status = ScoreStatus.DEGRADED if conversation.scores else ScoreStatus.EXCLUDED
        score.metadata[METRIC_WEIGHTS_KEY] = {name: conversation.weight(name) for name in SCORES}
        return score
