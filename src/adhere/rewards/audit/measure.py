"""Measures what honest answers earn, and every script in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import msgspec

from adhere.errors import UsageError
from adhere.progress import Progress, Silent
from adhere.rewards.audit.ask import AuditedReward, Earning
from adhere.rewards.audit.rows import AuditRow
from adhere.rewards.audit.scripts import MEAN_THE_SAME, Script, scripts_for
from adhere.schema import Json, Record

SAME = 1e-9


class Witness(Record, frozen=True):
    """Holds an answer of a script with its reward, and the best honest reward for the same prompt."""

    prompt: str
    answer: str
    reward: float
    honest: float


class AuditedScript(Record, frozen=True):
    """Holds the earnings of a script.

    Attributes:
        name: Name of the script.
        group: Group of the script.
        mean: Its mean reward over the prompts where it and an honest answer were measured; None: there are none.
        honest: Mean reward of the honest answers on the same prompts.
        n: Number of those prompts.
        unmeasured: Number of answers without a reward.
        beats_honest: Number of prompts on which it earned more than every honest answer.
        witness: The answer that earned most in comparison with the best honest one.
    """

    name: str
    group: str
    mean: float | None
    honest: float | None
    n: int
    unmeasured: int
    beats_honest: int
    witness: Witness | None

    @property
    def earns_more(self) -> bool:
        """Whether it earns more than honest answers do, on the same prompts."""
        return self.mean is not None and self.honest is not None and self.mean > self.honest + SAME


class PairGap(Record, frozen=True):
    """Holds two answers that mean the same but earn different rewards."""

    change: str
    prompt: str
    answer: str
    reward: float
    changed: float


class Audit(Record, frozen=True):
    """Holds the audit of one reward.

    Attributes:
        reward: Its name.
        kind: How it was called.
        rows: Number of prompts.
        honest: Mean reward of honest answers, and how many were measured.
        scripts: What every script earned, most first.
        pairs: Pairs of answers that mean the same but earn different rewards.
        troubles: Why answers were not measured, each reason once.
    """

    reward: str
    kind: str
    rows: int
    honest: dict[str, float | int]
    scripts: tuple[AuditedScript, ...]
    pairs: tuple[PairGap, ...]
    troubles: tuple[str, ...]

    @property
    def winners(self) -> tuple[AuditedScript, ...]:
        """Scripts that earn more than honest answers do."""
        return tuple(script for script in self.scripts if script.earns_more)

    @property
    def holds(self) -> bool:
        """Whether no script earns more than honest answers."""
        return not self.winners

    def as_json(self) -> dict[str, Json]:
        """Return the audit as `--json` prints it."""
        return {**msgspec.to_builtins(self), "holds": self.holds, "winners": [script.name for script in self.winners]}


def audit(reward: AuditedReward, rows: Sequence[AuditRow], *, progress: Progress | None = None) -> Audit:
    """Compute the reward of honest answers and of every script's answers.

    Raises:
        UsageError: No honest answer was measured, so nothing can be compared; the message says why.
    """
    troubles: dict[str, None] = {}

    def ask(row: AuditRow, answer: str) -> float | None:
        earning: Earning = reward.ask(row, answer)
        if earning.reward is None:
            troubles.setdefault(earning.why)
        return earning.reward

    honest = [[ask(row, text) for text in row.honest] for row in rows]
    honest_rewards = [value for values in honest for value in values if value is not None]
    if not honest_rewards:
        raise UsageError(
            f"{reward.name}: no honest answer earned a number: {next(iter(troubles), 'nothing was asked')}"
        )
    best = [max((value for value in values if value is not None), default=None) for values in honest]
    mean = [
        fmean(scores) if (scores := [score for score in values if score is not None]) else None for values in honest
    ]
    audited_scripts: list[AuditedScript] = []
    scripts = list(scripts_for(rows))
    with (progress or Silent()).step("audit", len(scripts), "scripts") as bar:
        for script in scripts:
            rewards = [None if text is None else ask(row, text) for row, text in zip(rows, script.answers, strict=True)]
            audited_scripts.append(_weigh_script(script, rows, rewards, best, mean))
            bar.advance(note=script.name)
    return Audit(
        reward.name,
        reward.kind,
        len(rows),
        {"mean": fmean(honest_rewards), "n": len(honest_rewards)},
        tuple(sorted(audited_scripts, key=lambda script: -1.0 if script.mean is None else script.mean, reverse=True)),
        tuple(_pair_gaps(rows, honest, ask)),
        tuple(troubles),
    )


def _weigh_script(
    script: Script,
    rows: Sequence[AuditRow],
    rewards: Sequence[float | None],
    best: Sequence[float | None],
    mean: Sequence[float | None],
) -> AuditedScript:
    both = [
        (value - top, place)
        for place, (value, top) in enumerate(zip(rewards, best, strict=True))
        if value is not None and top is not None
    ]
    witness = None
    if both:
        _, place = max(both)
        value, top, text = rewards[place], best[place], script.answers[place]
        if value is not None and top is not None and text is not None and value > 0:
            witness = Witness(rows[place].asked[:400], text[:400], value, top)
    places = [place for _, place in both]
    return AuditedScript(
        script.name,
        script.group,
        fmean([float(rewards[place] or 0.0) for place in places]) if places else None,
        fmean([float(mean[place] or 0.0) for place in places]) if places else None,
        len(places),
        sum(text is not None and value is None for text, value in zip(script.answers, rewards, strict=True)),
        sum(gap > SAME for gap, _ in both),
        witness,
    )


def _pair_gaps(
    rows: Sequence[AuditRow], honest: Sequence[Sequence[float | None]], ask: Callable[[AuditRow, str], float | None]
) -> list[PairGap]:
    gaps = []
    for row, values in zip(rows, honest, strict=True):
        text, value = row.honest[0], values[0]
        for name, change in MEAN_THE_SAME.items():
            other = change(text)
            if value is None or other == text:
                continue
            other_value = ask(row, other)
            if other_value is not None and abs(other_value - value) > SAME:
                gaps.append(PairGap(name, row.asked[:200], text[:200], value, other_value))
    return gaps
