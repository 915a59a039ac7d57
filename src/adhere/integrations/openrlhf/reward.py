"""The judge as OpenRLHF's reward. OpenRLHF is imported only when its executor is used, torch only in calls.

    --train.agent_func_path PATH/TO/adhere/integrations/openrlhf/reward.py --data.label_key label

That is `AgentExecutor`: it is told which answers were cut, and an error in a row stops the training. The following is
the reward function alone. OpenRLHF calls it with one answer at a time and does not tell it of cuts; its exceptions
become a line of the log and no reward.

    --reward.remote_url PATH/TO/adhere/integrations/openrlhf/reward.py --data.label_key label

If an answer was not measured, OpenRLHF stops. With --algo.dynamic_filtering_enable it can drop the whole group of
such an answer and ask another prompt instead; put this into a file of your own and give it to the flag:

    from adhere.integrations.openrlhf import reward as openrlhf
    class AgentExecutor(openrlhf.AgentExecutor):
        settings = {"missing": "mask"}                              # and "traps": True

    from functools import partial
    reward_func = partial(openrlhf.reward_func, missing="mask")     # the same for --reward.remote_url

A row's label is the JSON text of a mapping with `instruction_id_list` and `kwargs`, for `traps` with the `prompt`, too.
Written against OpenRLHF 0.11.2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from adhere.errors import MissingExtra, UsageError, one_of
from adhere.extras import need
from adhere.rewards.rows import (
    MISSING,
    Coverage,
    Missing,
    TooFewMeasurements,
    asked_by,
    insist_on_no_typo,
    insist_on_words,
    is_cut_by,
    mask_missing,
    refs_in,
    reward_of,
    without_end_tokens,
)
from adhere.schema import CutAnswers, Mode
from adhere.shapes.messages import ROLES

_LABEL = "OpenRLHF's label"


class Settings(NamedTuple):
    """Holds how answers are judged: arguments of `reward_func`."""

    mode: Mode = "reference"
    profile: str | None = None
    cut_answers: CutAnswers = "fail"
    missing: Missing = "stop"
    most_unmeasured: float = 0.5
    traps: bool = False


def reward_func(
    queries: Sequence[str],
    prompts: Sequence[str],
    labels: Sequence[Any],
    *,
    mode: Mode = "reference",
    profile: str | None = None,
    cut_answers: CutAnswers = "fail",
    missing: Missing = "stop",
    most_unmeasured: float = 0.5,
    traps: bool = False,
    **others: Any,
) -> dict[str, Any]:
    """Compute the rewards of some answers.

    Args:
        queries: Prompt and answer in one text, as OpenRLHF decodes them; special tokens at the end are removed.
        prompts: The prompts, with which the queries begin.
        labels: The constraints of each row; see the module.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        profile: The version of a published suite, if there are several.
        cut_answers: Whether an answer that was cut at its token limit fails, or is judged like others. OpenRLHF
            decodes with special tokens, so an answer without one at its end was cut, if its prompt or any other answer
            has one.
        missing: For an answer that was not measured, `stop` gives None, at which OpenRLHF stops, and `mask` gives
            NaN. Its dynamic filtering drops a group whose mean score is NaN; without that option NaN would reach the
            weights.
        most_unmeasured: The share of such answers above which `mask` stops, too, from this process's hundredth on.
        traps: Whether an answer that fulfils the wording but not the intent (`pipeline.intent.gate`) gets 0. The
            prompt is taken from `prompt` in the label, because OpenRLHF's own is templated.
        others: Ignored: releases pass different ones. One that is nearly an argument of ours is refused.

    Returns:
        `rewards`: the share of constraints that pass, for the advantages. `scores`: 1.0 only where all pass, which is
        what dynamic filtering asks for. `extra_logs`: both, under names. They are float tensors of one number a query.
        Where any answer could not be measured and `missing` is `stop` they are lists in which it is None, never 0.

    Raises:
        TooFewMeasurements: More answers than `most_unmeasured` were not measured.
        UsageError: The lists differ in length, a query does not begin with its prompt, a label names no
            constraints, or with `traps` no prompt.
        UnknownName, BadParameter: A label names a constraint that cannot be judged.
    """
    if not len(queries) == len(prompts) == len(labels):
        raise UsageError(f"Got {len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels")
    insist_on_no_typo(others, Settings._fields)
    answers = [_answer(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    have_end_token = [len(without_end_tokens(answer)) < len(answer) for answer in answers]
    cuts = [
        not one_ended and (any(have_end_token) or _SPECIAL.search(prompt) is not None)
        for one_ended, prompt in zip(have_end_token, prompts, strict=True)
    ]
    return _rewards(answers, labels, cuts, Settings(mode, profile, cut_answers, missing, most_unmeasured, traps))


def _rewards(answers: Sequence[str], labels: Sequence[Any], cuts: Sequence[bool], how: Settings) -> dict[str, Any]:
    """Judge decoded answers, given whether each was cut; return what `reward_func` returns."""
    insist_on_words("dense", how.mode, how.profile, how.cut_answers)
    one_of(how.missing, MISSING, "treatment of missing rewards")
    shares = [
        reward_of(
            last_turn(answer),
            refs_in(label, where=_LABEL),
            kind="dense",
            mode=how.mode,
            profile=how.profile,
            is_cut=is_cut,
            cut_answers=how.cut_answers,
            request=asked_by(label, where=_LABEL) if how.traps else None,
        )
        for answer, label, is_cut in zip(answers, labels, cuts, strict=True)
    ]
    if how.missing == "mask":
        shares = list(mask_missing(shares, _seen.setdefault(how.most_unmeasured, Coverage(how.most_unmeasured))))
    dense, binary = _numbers(shares), _numbers([_is_whole(share) for share in shares])
    return {"rewards": dense, "scores": binary, "extra_logs": {"constraints_passed": dense, "all_passed": binary}}


_seen: dict[float, Coverage] = {}

# What a chat template puts into a prompt that was decoded with its special tokens.
_SPECIAL = re.compile(r"<\|[A-Za-z0-9_]{1,40}\|>|<\uff5c[^<>\uff5c]{1,40}\uff5c>|</?s>|<bos>|<start_of_turn>|\[INST\]")
# Who speaks from here on, by the marks of ChatML, Llama, Granite, Gemma, GLM and Phi, DeepSeek, Kimi, Cohere, Mistral.
_TURN = re.compile(
    r"<\|im_start\|>(\w+)[^\n]*\n|<start_of_turn>(\w+)\n"
    r"|<\|(?:start_header_id|header_start|start_of_role)\|>(\w+)<\|(?:end_header_id|header_end|end_of_role)\|>\s*"
    r"|<\|(user|assistant|observation|tool|system)\|>\n?"
    r"|<\uff5c(User|Assistant|tool\u2581outputs\u2581(?:begin|end))\uff5c>"
    r"|<\|im_(user|assistant|system)\|>\w*<\|im_middle\|>"
    r"|<\|START_OF_TURN_TOKEN\|><\|(USER|CHATBOT|SYSTEM)_TOKEN\|>"
    r"|</s>\s?\[(INST|TOOL_RESULTS)\]|\[(/INST|/TOOL_RESULTS)\]"
)
_SPEAKERS: Mapping[str, str] = {
    **ROLES,
    "tool\u2581outputs\u2581begin": "tool", "tool\u2581outputs\u2581end": "assistant",
    "inst": "user", "/inst": "assistant", "tool_results": "tool", "/tool_results": "assistant",
}  # fmt: skip


def last_turn(text: str) -> str:
    """Return the model's last turn of a decoded answer in which others (a tool, a user) speak, too; else the text."""
    text = without_end_tokens(text)
    marks = list(_TURN.finditer(text))
    roles = ["assistant", *(str(next(filter(None, mark.groups()))).lower() for mark in marks)]
    starts, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(text)]
    own_turns = [at for at, role in enumerate(roles) if _SPEAKERS.get(role) == "assistant"]
    return without_end_tokens(text[starts[own_turns[-1]] : ends[own_turns[-1]]])


def _is_whole(share: float | None) -> float | None:
    """Return 1.0 if all constraints pass, else 0.0; None and NaN stay."""
    return share if share is None or math.isnan(share) else float(share == 1)


def _answer(query: str, prompt: str) -> str:
    if not query.startswith(prompt):
        raise UsageError(
            f"A query must begin with its prompt, and this one does not: query {query[:80]!r}, prompt {prompt[:80]!r}"
        )
    return query[len(prompt) :]


def _numbers(rewards: list[float | None]) -> Any:
    if None in rewards:
        return rewards
    return need("torch", extra="train").tensor(rewards)


def _executor() -> Any:
    try:
        from openrlhf.utils.agent import SingleTurnAgentExecutor
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"AgentExecutor is a part of OpenRLHF's, and needs it ({error.name} is not installed)"
        ) from error

    class AgentExecutor(SingleTurnAgentExecutor):
        """Draws one answer for each prompt and judges it, with the engine's report of how it ended.

        Attributes:
            settings: Arguments of `reward_func`.
        """

        settings: ClassVar[Mapping[str, Any]] = {}

        def __init__(self) -> None:
            super().__init__(None)

        async def execute(  # noqa: PLR0917 - OpenRLHF's signature
            self,
            prompt: str,
            label: Any,
            sampling_params: Any,
            max_length: int,
            hf_tokenizer: Any,
            llm_engine: Any,
            images: Any = None,
        ) -> dict[str, Any]:
            """Answer the prompt, and judge the answer; errors are those of `judged_response`."""
            response = await super().execute(
                prompt, label, sampling_params, max_length, hf_tokenizer, llm_engine, images=images
            )
            return judged_response(response, hf_tokenizer, self.settings)

    return AgentExecutor


def judged_response(response: Mapping[str, Any], tokenizer: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Add the reward to an executor's response; only the model's tokens are judged, `truncated` says how they end.

    Args:
        response: The response of OpenRLHF's executor.
        tokenizer: The tokenizer that decodes its tokens.
        settings: Arguments of `reward_func`.

    Raises:
        TooFewMeasurements: The answer could not be judged, and `missing` is `stop`.
        UsageError, UnknownName, BadParameter: `reward_func` would raise it.
    """
    insist_on_no_typo([name for name in settings if name not in Settings._fields], Settings._fields)
    how = Settings(**settings)
    start, end = response["action_ranges"][-1]
    answer = tokenizer.decode(response["observation_tokens"][start:end], skip_special_tokens=False)
    is_cut = is_cut_by({"is_truncated": response["truncated"]}) is True
    rewards = _rewards([answer], [response["label"]], [is_cut], how)
    if rewards["rewards"] == [None]:
        raise TooFewMeasurements(
            f"An answer to {response['prompt']!r:.80} could not be judged, and OpenRLHF has no place for that. Leave "
            'prompts out that no answer decides (adhere.check_rows names them), or say settings = {"missing": "mask"}'
        )
    return {**response, "reward": rewards["rewards"], "scores": rewards["scores"], "extra_logs": rewards["extra_logs"]}


def __getattr__(name: str) -> Any:
    if name != "AgentExecutor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    executor = _executor()
    globals()[name] = executor
    return executor
