"""Judges one conversation and computes the four numbers that other harnesses know.

The judge is `pipeline.check`, as everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from adhere.pipeline.check import check
from adhere.pipeline.outcomes import keeps_all
from adhere.schema import CutAnswers, Mode, Prompt, Response, Status, ToolCall, Verdict, View, decoder_of, unpack
from adhere.store.summary import Summary
from adhere.text.reasoning import split_answer

STRICT, LOOSE = "prompt_level_strict", "prompt_level_loose"
INST_STRICT, INST_LOOSE = "inst_level_strict", "inst_level_loose"
SCORES = (STRICT, INST_STRICT, LOOSE, INST_LOOSE)
"""The names of the four numbers as in EvalScope; lm-eval adds `_acc`."""
STATUS = "adhere_status"
"""Column in which rows of lm-eval and reviews of EvalScope store an answer's status; neither has one for it."""
_VIEWS: tuple[tuple[View, str, str], ...] = (("strict", STRICT, INST_STRICT), ("loose", LOOSE, INST_LOOSE))


def floor_columns(summary: Summary | None) -> dict[str, Any]:
    """Return the `floor` of a finished run (prompts, strict) and its `floor_answerer`; empty if there is no floor."""
    floor = None if summary is None else summary.floor
    return {} if floor is None else {"floor": floor.rate, "floor_answerer": floor.answerer}


class SaidAnswer(NamedTuple):
    """Holds one answer of a conversation: its text, its status, and its tool calls."""

    text: str
    status: Status = "ok"
    calls: tuple[ToolCall, ...] = ()


class ScoredConversation(NamedTuple):
    """Holds the scores and verdicts of a conversation.

    Attributes:
        scores: Those of SCORES that were measured: an undecided prompt has no number.
        verdicts: Verdicts of every turn, in the strict and the loose view.
    """

    scores: dict[str, float]
    verdicts: list[Verdict]

    def instructions(self, view: View) -> list[bool]:
        """Return whether each decided instruction was followed, in order."""
        return [
            verdict.outcome == "pass"
            for verdict in self.verdicts
            if verdict.view == view and verdict.outcome != "undecided"
        ]

    def weight(self, name: str) -> int:
        """Return the weight of one of SCORES in a mean over conversations: its decided instructions, 1 for a prompt."""
        return (
            len(self.instructions("loose" if name == INST_LOOSE else "strict"))
            if name in {INST_STRICT, INST_LOOSE}
            else 1
        )

    @property
    def failures(self) -> str:
        """The reasons of all verdicts that are no pass (strict), a line each."""
        lines = [
            f"{verdict.outcome}: {verdict.constraint_id}: {verdict.reason}"
            for verdict in self.verdicts
            if verdict.view == "strict" and verdict.outcome != "pass"
        ]
        return "\n".join(lines) or "every instruction was followed"


def score_answers(
    prompt: Prompt, answers: Sequence[SaidAnswer], *, cut_answers: CutAnswers = "judge", mode: Mode = "reference"
) -> ScoredConversation:
    """Judge the answers to the turns of a prompt; reasoning is no part of an answer (`text.reasoning.split_answer`).

    Args:
        prompt: The prompt.
        answers: The answers to its turns, in order; fewer if the conversation broke off.
        cut_answers: The suite's `cut_answers`.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
    """
    verdicts: list[Verdict] = []
    for turn, answer in enumerate(answers):
        text, reasoning, status = split_answer(answer.text, answer.status)
        status = "ok" if status == "empty" and answer.calls else status
        response = Response(prompt.id, turn, 0, text, status, reasoning=reasoning, calls=answer.calls)
        verdicts += check(prompt, response, cut_answers=cut_answers, mode=mode)
    return score_conversation(prompt, verdicts)


def score_conversation(prompt: Prompt, verdicts: Sequence[Verdict]) -> ScoredConversation:
    """Compute the numbers of one conversation from its verdicts."""
    count = sum(len(turn.constraints) for turn in prompt.turns)
    scores: dict[str, float] = {}
    for view, whole, parts in _VIEWS:
        outcomes = [verdict.outcome for verdict in verdicts if verdict.view == view]
        is_kept = keeps_all(outcomes, count)
        passes = [outcome == "pass" for outcome in outcomes if outcome != "undecided"]
        if is_kept is not None:
            scores[whole] = float(is_kept)
        if passes:
            scores[parts] = sum(passes) / len(passes)
    return ScoredConversation({name: scores[name] for name in SCORES if name in scores}, list(verdicts))


def columns(prompt: Prompt) -> dict[str, Any]:
    """Return a prompt in the columns that other harnesses store.

    They are IFEval's columns of the last turn, and under `adhere` the whole prompt, for judging.
    """
    last = prompt.turns[-1]
    return {
        "key": prompt.key,
        "prompt": last.text,
        "instruction_id_list": [ref.id for ref in last.constraints],
        "kwargs": [msgspec.to_builtins(ref.params) for ref in last.constraints],
        "adhere": msgspec.json.encode(prompt, enc_hook=unpack).decode(),
    }


def prompt_of(row: Mapping[str, Any]) -> Prompt:
    """Return the prompt that `columns` stored."""
    return decoder_of(Prompt).decode(row["adhere"])


def verdict_rows(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """Return verdicts as plain rows, without the answer's key."""
    return [
        {
            "turn": verdict.turn,
            "index": verdict.index,
            "instruction_id": verdict.constraint_id,
            "view": verdict.view,
            "outcome": verdict.outcome,
            "reason": verdict.reason,
        }
        for verdict in verdicts
    ]
