"""An environment: the prompts of a suite, and what an answer to one of them earns.

    environment = adhere.environments.env("core:x20")
    for prompt in environment.prompts:
        reward = environment.score(prompt, policy(prompt.messages()))  # None: could not be judged

The judge is `pipeline.check`, as in an evaluation. An answer that could not be judged has no score; adapters mask it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from adhere.errors import AdhereError, BadParameter, UnknownName, UsageError, nearest, one_of
from adhere.pipeline.check import check
from adhere.pipeline.intent.gate import traps_of
from adhere.pipeline.judge import judge_of
from adhere.pipeline.outcomes import keeps_all
from adhere.pipeline.responding import Exchange, responds
from adhere.pipeline.reward import REWARD_KINDS, RewardKind, without_empty_passes
from adhere.pipeline.reward import reward as earned
from adhere.schema import CUT_ANSWERS, CutAnswers, Mode, Prompt, Response, Verdict, unpack
from adhere.shapes.messages import answer_of, is_message, read_message, without_calls
from adhere.suites import Suite, load
from adhere.text.reasoning import split_answer

Answer = str | None | Sequence[Any]
"""A text (None: there is no answer), a text for each turn of the prompt, or a conversation as messages."""


class Undecided(AdhereError):
    """Says that an answer could not be judged, and that the trainer's interface has no place for a missing score."""


class JudgedEpisode(NamedTuple):
    """Holds the judgement of one episode.

    Attributes:
        score: In [0, 1]; None: no measurement was made.
        metrics: `prompt_strict`, `prompt_loose` (0 or 1) and a pass rate for each kind of constraint. What was not
            decided has no entry.
        reasons: Why each constraint failed or stayed undecided (strict), one line each.
    """

    score: float | None
    metrics: dict[str, float]
    reasons: tuple[str, ...]


class Environment:
    """Scores answers to the prompts of a suite. `env` makes it from a suite's name.

    Args:
        suite: The suite whose prompts are asked.
        mode: Which semantics published kinds have.
        reward: `dense` is the share of constraints that pass; `binary` is 1.0 only if all pass.
        cut_answers: Whether an answer that was cut at its token limit fails, or is judged as it stands; None: as the
            suite says.
        traps: Whether an answer that meets a constraint's wording but not its intent (`pipeline.intent.gate`) gets 0.

    Raises:
        UsageError: `reward` or another word is unknown, or a prompt occurs twice.
        UnknownName, BadParameter: A prompt names a constraint that cannot be judged.
    """

    def __init__(
        self,
        suite: Suite,
        *,
        mode: Mode = "reference",
        reward: RewardKind = "dense",
        cut_answers: CutAnswers | None = None,
        traps: bool = False,
    ) -> None:
        self.suite = suite
        self.mode: Mode = mode
        self.traps = traps
        self.reward: RewardKind = one_of(reward, REWARD_KINDS, "reward")
        self.cut_answers: CutAnswers = one_of(cut_answers or suite.cut_answers, CUT_ANSWERS, "treatment of cut answers")
        self._by_id = {prompt.id: prompt for prompt in suite.prompts}
        if len(self._by_id) < len(suite.prompts):
            raise UsageError(f"Suite {suite.name!r} has several prompts of one id; an environment finds prompts by id")
        for prompt in suite.prompts:
            _insist_on_judge(prompt, mode)

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """The prompts in the suite's order."""
        return self.suite.prompts

    def prompt(self, id: str | int) -> Prompt:  # noqa: A002 - the field's word
        """Return the prompt of an id.

        Raises:
            UnknownName: There is no such prompt.
        """
        prompt = self._by_id.get(str(id))
        if prompt is None:
            raise UnknownName(f"Suite {self.suite.name!r} has no prompt {id!r}.{nearest(str(id), list(self._by_id))}")
        return prompt

    def score(self, prompt: Prompt | str, answer: Answer, *, is_cut: bool = False) -> float | None:
        """Return what an answer earns, in [0, 1]; None where it could not be judged. See `judge`."""
        return self.judge(prompt, answer, is_cut=is_cut).score

    def judge(self, prompt: Prompt | str, answer: Answer, *, is_cut: bool = False) -> JudgedEpisode:
        """Judge an answer without its reasoning; the score is of the strict view.

        A prompt of several turns takes one answer a turn. If the conversation broke off, the constraints of the
        turns that were not answered count as failed.

        Args:
            prompt: One of `prompts`, or its id.
            answer: What the model wrote, reasoning included; for several turns a list. Of a list of messages the
                model's own are judged, the last one before each message of the user. None: there is no answer, so
                nothing is measured.
            is_cut: Whether the last answer was cut at its token limit.

        Raises:
            UsageError: There are more answers than turns.
            UnknownName: There is no such prompt.
        """
        return judge_episode(
            self.prompt(prompt) if isinstance(prompt, str) else prompt,
            answer,
            is_cut=is_cut,
            mode=self.mode,
            reward=self.reward,
            cut_answers=self.cut_answers,
            traps=self.traps,
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return the prompts as trainers' data: `id`, `prompt` (messages), `turns`, and IFEval's two columns.

        `turns` holds the texts of all user turns, for environments that lead the conversation themselves. IFEval's
        columns (`instruction_id_list`, `kwargs`) are those of the last turn.
        """
        return [
            {
                "id": prompt.id,
                "prompt": messages_of(prompt),
                "turns": [turn.text for turn in prompt.turns],
                "instruction_id_list": [ref.id for ref in prompt.turns[-1].constraints],
                "kwargs": [msgspec.to_builtins(ref.params, enc_hook=unpack) for ref in prompt.turns[-1].constraints],
            }
            for prompt in self.prompts
        ]

    def insist_on_one_turn(self) -> None:
        """Refuse prompts that an adapter of single exchanges would cut short.

        Raises:
            UsageError: A prompt has several turns.
        """
        several = next((prompt.id for prompt in self.prompts if len(prompt.turns) > 1), None)
        if several is not None:
            raise UsageError(
                f"Prompt {several!r} of suite {self.suite.name!r} has several turns, "
                "and this environment is one exchange. TRL's (adhere.integrations.trl.environment) "
                "and OpenEnv's lead the whole conversation"
            )


def _insist_on_judge(prompt: Prompt, mode: Mode) -> None:
    """Refuse a prompt that cannot be judged, when the environment is made and not in the middle of a training.

    Raises:
        UnknownName, BadParameter: A constraint cannot be judged; the error names the prompt.
    """
    for turn in prompt.turns:
        try:
            judge_of(turn.constraints, mode=mode, profile=prompt.tags.get("profile"))
        except (UnknownName, BadParameter) as problem:
            raise type(problem)(f"prompt {prompt.id!r}: {problem}") from problem


def judge_episode(
    prompt: Prompt,
    answer: Answer,
    *,
    is_cut: bool = False,
    mode: Mode = "reference",
    reward: RewardKind = "dense",
    cut_answers: CutAnswers = "judge",
    traps: bool = False,
) -> JudgedEpisode:
    """Judge like `Environment.judge`, for adapters that have a prompt and no environment. Arguments as there.

    Raises:
        UsageError: There are more answers than turns.
    """
    answers = _texts_of(answer)
    if len(answers) > len(prompt.turns):
        raise UsageError(f"Prompt {prompt.id!r} has {len(prompt.turns)} turns, got {len(answers)} answers")
    verdicts: list[Verdict] = []
    paid_verdicts: list[Verdict] = []
    traps_taken: list[str] = []
    for turn, whole in enumerate(answers):
        if whole is None:
            return JudgedEpisode(None, {}, (f"turn {turn}: there is no answer, so nothing was measured",))
        text, reasoning, status = split_answer(whole, "truncated" if is_cut and turn == len(answers) - 1 else "ok")
        text = without_calls(text)
        response = Response(prompt.id, turn, 0, text, status, reasoning=reasoning)
        if traps:
            turn_of = prompt.turns[turn]
            exchange = Exchange(turn_of.text, text, turn_of.constraints, prompt.tags.get("profile"))
            turn_traps = traps_of(exchange.request, text, exchange.refs, mode=mode, profile=exchange.profile)
            outcome, reason = responds(exchange, mode=mode, traps=turn_traps)
            if outcome == "no":
                traps_taken += turn_traps or (reason,)
        turn_verdicts = check(prompt, response, cut_answers=cut_answers, mode=mode)
        verdicts += turn_verdicts
        refs, profile = prompt.turns[turn].constraints, prompt.tags.get("profile")
        paid_verdicts += without_empty_passes(
            turn_verdicts, refs, text, mode=mode, profile=profile, reasoning=reasoning
        )
    episode = judged_of(prompt, paid_verdicts, reward=reward, mode=mode)._replace(metrics=_metrics(prompt, verdicts))
    return _gate(episode, traps_taken) if traps else episode


def _texts_of(answer: Answer) -> list[str | None]:
    """Return one text for each turn; None where there is no answer."""
    if answer is None or isinstance(answer, str):
        return [answer]
    if is_message(answer):
        return [answer_of(answer)]
    if not any(map(is_message, answer)):
        return list(answer)
    turns: list[list[Any]] = [[]]
    for message in answer:
        if read_message(message, "An answer").role == "user":
            turns.append([])
        else:
            turns[-1].append(message)
    return [
        answer_of(turn) for turn in turns if any(read_message(message).role == "assistant" for message in turn)
    ] or [""]


def judged_of(
    prompt: Prompt, verdicts: list[Verdict], *, reward: RewardKind = "dense", mode: Mode = "reference"
) -> JudgedEpisode:
    """Make a JudgedEpisode of verdicts on the turns of a prompt; arguments as in `judge_episode`."""
    strict = [verdict for verdict in verdicts if verdict.view == "strict"]
    return JudgedEpisode(
        _score(prompt, strict, kind=reward, mode=mode),
        _metrics(prompt, verdicts),
        tuple(
            f"{verdict.constraint_id}: {verdict.outcome}: {verdict.reason}"
            for verdict in strict
            if verdict.outcome != "pass"
        ),
    )


def _gate(episode: JudgedEpisode, traps: Sequence[str]) -> JudgedEpisode:
    """Apply the intent gate: the score becomes 0 if a trap was taken, and a metric `traps` is added."""
    return JudgedEpisode(
        0.0 if traps and episode.score is not None else episode.score,
        episode.metrics | {"traps": float(bool(traps))},
        (*episode.reasons, *(f"trap: {trap}" for trap in dict.fromkeys(traps))),
    )


def _score(prompt: Prompt, strict: list[Verdict], *, kind: RewardKind, mode: Mode) -> float | None:
    refs = [ref for turn in prompt.turns for ref in turn.constraints]
    # Positions run through all turns, because `undecidable` is asked of all constraints at once.
    numbered_verdicts = [msgspec.structs.replace(verdict, index=place) for place, verdict in enumerate(strict)]
    undecidable = None
    if any(verdict.outcome == "undecided" for verdict in numbered_verdicts):
        undecidable = judge_of(refs, mode=mode, profile=prompt.tags.get("profile")).undecidable
    if len(numbered_verdicts) == len(refs):
        return earned(numbered_verdicts, kind=kind, undecidable=undecidable)
    # The rest belongs to turns that were never reached, which counts as failed.
    share = earned(numbered_verdicts, kind=kind, undecidable=undecidable) if numbered_verdicts else 0.0
    return None if share is None else 0.0 if kind == "binary" else share * len(numbered_verdicts) / len(refs)


def env(
    suite: str | Suite,
    *,
    mode: Mode = "reference",
    reward: RewardKind = "dense",
    limit: int | None = None,
    seed: int | None = None,
    cut_answers: CutAnswers | None = None,
    traps: bool = False,
) -> Environment:
    """Make the environment of a suite.

    Args:
        suite: A name as `adhere eval --suite` takes it (`core:x20+seed7`, `ifeval:PATH`), or a Suite.
        mode: `reference` judges published kinds as the published code does, `fixed` with its defects mended.
        reward: `dense` is the share of constraints that pass; `binary` is 1.0 only if all pass.
        limit: The most prompts, an even share of each slice.
        seed: For generated suites.
        cut_answers: See `Environment`.
        traps: See `Environment`.

    Raises:
        UnknownName, UsageError: There is no such suite, or `reward` or another word is unknown.
    """
    loaded_suite = load(suite, limit=limit, seed=seed) if isinstance(suite, str) else suite
    loaded_suite.insist_on_no_episodes("adhere.environments.worlds.world_env leads them")
    return Environment(loaded_suite, mode=mode, reward=reward, cut_answers=cut_answers, traps=traps)


def messages_of(prompt: Prompt, answers: Sequence[str] = ()) -> list[dict[str, str]]:
    """Return the messages that the model is sent, as role and content; see `Prompt.messages`.

    Raises:
        UsageError: The prompt gives the model tools or their messages, pictures or sounds, which no adapter passes on.
    """
    messages = prompt.messages(answers)
    if prompt.tools or any(message.calls or message.role == "tool" for message in messages):
        raise UsageError(f"Prompt {prompt.id!r} holds calls of tools, which environments do not pass on yet")
    if any(message.media for message in messages):
        raise UsageError(
            f"Prompt {prompt.id!r} shows a picture or plays a sound, which environments do not pass on yet"
        )
    return [{"role": message.role, "content": message.content} for message in messages]


def _metrics(prompt: Prompt, verdicts: list[Verdict]) -> dict[str, float]:
    n_constraints = sum(len(turn.constraints) for turn in prompt.turns)
    metrics: dict[str, float] = {}
    for view in ("strict", "loose"):
        is_kept = keeps_all([verdict.outcome for verdict in verdicts if verdict.view == view], n_constraints)
        if is_kept is not None:
            metrics[f"prompt_{view}"] = float(is_kept)
    by_kind: dict[str, list[bool]] = {}
    for verdict in verdicts:
        if verdict.view == "strict" and verdict.outcome != "undecided":
            by_kind.setdefault(verdict.constraint_id, []).append(verdict.outcome == "pass")
    return metrics | {kind: sum(passed) / len(passed) for kind, passed in sorted(by_kind.items())}
