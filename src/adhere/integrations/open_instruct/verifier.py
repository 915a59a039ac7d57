"""The environment for open-instruct: a verifier for its registry, named `adhere`.

open-instruct collects the subclasses of its `VerifierFunction` in its process. This module makes ours in the process
that then runs a script of open-instruct:

    python -m adhere.integrations.open_instruct.verifier open_instruct/grpo_fast.py …
    # rows: ground_truth = json of {"instruction_id": […], "kwargs": […]}, dataset = "adhere";
    # for the gate "traps": true and "prompt"

`rows_of` writes such rows. Its registry has no place for a missing score, so an answer that could not be judged raises
`Undecided` and the training stops: judge prompts without undecidable constraints there, or use another trainer.

Written against allenai/open-instruct at e6c3044, which is on no package registry: put its checkout on PYTHONPATH.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adhere.environments.environment import Environment, Undecided, judge_episode
from adhere.errors import MissingExtra, UsageError
from adhere.rewards.rows import answer_of, asked_by, is_cut_by, refs_in
from adhere.schema import Prompt, Turn
from adhere.shapes.labels import label_of

NAME = "adhere"


def rows_of(environment: Environment) -> list[dict[str, Any]]:
    """Return the prompts as open-instruct's rows: `messages`, `ground_truth` (JSON text), `dataset`.

    Raises:
        UsageError: A prompt has several turns, or tools.
    """
    environment.insist_on_one_turn()
    return [
        {
            "messages": row["prompt"],
            "ground_truth": msgspec.json.encode(
                {
                    "instruction_id": row["instruction_id_list"],
                    "kwargs": row["kwargs"],
                    "mode": environment.mode,
                    "reward": environment.reward,
                    "profile": prompt.tags.get("profile"),
                    "traps": environment.traps,
                    "cut_answers": environment.cut_answers,
                    "prompt": prompt.turns[-1].text,
                }
            ).decode(),
            "dataset": NAME,
        }
        for prompt, row in zip(environment.prompts, environment.rows(), strict=True)
    ]


def score_of(prediction: Any, label: Any, *, is_cut: bool = False) -> float:
    """Return what an answer earns under a row's ground truth.

    Args:
        prediction: The answer, including reasoning: a text, or messages.
        label: JSON text or Python literal with `instruction_id` (or `instruction_id_list`) and `kwargs`; `mode`,
            `reward`, `profile`, `traps`, `cut_answers` and `prompt` if `rows_of` wrote them.
        is_cut: Whether the answer was cut at its token limit: it fails, unless the label has `cut_answers` = `judge`.

    Raises:
        Undecided: The answer could not be judged.
        UsageError: The label names no constraints, or has `traps` and no `prompt`.
    """
    refs = refs_in(label, where="open-instruct's ground_truth")
    settings = _settings_of(label)
    tags = {"profile": settings["profile"]} if settings.get("profile") else {}
    traps = settings.get("traps") is True
    request = asked_by(label, where="open-instruct's ground_truth") if traps else ""
    judgement = judge_episode(
        Prompt("", (Turn(request, refs),), tags=tags),
        answer_of(prediction),
        is_cut=is_cut,
        cut_answers=settings.get("cut_answers") or "fail",
        mode=settings.get("mode") or "reference",
        reward=settings.get("reward") or "dense",
        traps=traps,
    )
    if judgement.score is None:
        raise Undecided(
            "An answer could not be judged, and open-instruct has no place for that: " + "; ".join(judgement.reasons)
        )
    return judgement.score


def _settings_of(label: Any) -> Mapping[str, Any]:
    settings = label_of(label, "open-instruct's ground_truth")
    return settings if isinstance(settings, Mapping) else {}


def _verifier() -> Any:
    try:
        from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"This needs open-instruct ({error.name} is not installed). It is on no package registry: clone "
            "allenai/open-instruct, install what it needs, and put the checkout on PYTHONPATH"
        ) from error

    class AdhereVerifier(VerifierFunction):
        """Judges with `score_of`; see the module."""

        def __init__(self, verifier_config: Any = None) -> None:
            super().__init__(NAME, weight=1.0, verifier_config=verifier_config)

        def __call__(
            self,
            tokenized_prediction: list[int],
            prediction: str,
            label: Any,
            query: str | None = None,
            rollout_state: dict[str, Any] | None = None,
        ) -> Any:
            is_cut = is_cut_by(rollout_state) if isinstance(rollout_state, Mapping) else None
            return VerificationResult(score=score_of(prediction, label, is_cut=is_cut is True))

    return AdhereVerifier


def __getattr__(name: str) -> Any:
    if name != "AdhereVerifier":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    verifier = _verifier()
    globals()[name] = verifier
    return verifier


def main(arguments: Sequence[str]) -> None:
    """Make the verifier, then run a script of open-instruct with its own arguments in this process.

    Raises:
        UsageError: No script is named.
        MissingExtra: open-instruct is not on the path.
    """
    if not arguments:
        raise UsageError("Name the script to run: open_instruct/grpo_fast.py, and its arguments")
    globals()["AdhereVerifier"] = _verifier()
    sys.argv = list(arguments)
    runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
