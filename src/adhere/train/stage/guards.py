"""Stop a training run that is being wasted: before it starts, and at every step of a stage.

before:  `template_trouble` (what is trained is not what the chat template says), `find_repeats` (test items among the
         training prompts)
at work: `Guards` reads the log rows of a stage as they come
always:  refused by the loop and by `data.open_start`: a loss that is not finite, weights too coarse for the rate, no
         chat template
memory:  `halved_once` tries a stage again with micro-batches of half the size

A recipe stops at all of them, or warns of all. A study compares arms: it stops a cell where its measurement is broken,
and notes what an arm did to itself, which is a finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec

from adhere.errors import AdhereError, ContaminationError, Divergence, ResourceError, UsageError
from adhere.models.local.decoder.device import available_bytes
from adhere.progress import Progress
from adhere.train.settings import OptimizerSettings
from adhere.train.stage.memory import Memory

if TYPE_CHECKING:
    from adhere.suites.base import Suite

T = TypeVar("T")
Policy = Literal["stop", "warn", "compare"]
PROMPT, ANSWER = "Name three colours.", "Red, green, blue."  # what a template is tried on


class GuardStop(AdhereError):
    """A guard has stopped a run; the message says which guard, at which step, and what to change."""


class Guard(NamedTuple):
    """Describes a limit on a column of the log, with advice; it trips after `steps` values above it in a row.

    `breaks`: the training then no longer follows its settings, so its result shows nothing about them. Otherwise the
    recipe itself caused the trouble.
    """

    column: str
    above: float
    steps: int
    advice: str
    breaks: bool = False

    def is_bad(self, row: Mapping[str, Any]) -> bool:
        """Tell whether a step is above the limit; a step that did not measure the column is not."""
        value = row.get(self.column)
        return isinstance(value, int | float) and value > self.above


GUARDS = (
    Guard("truncated_share", 0.2, 3,
        "Answers hit max_new_tokens before they end. Raise it, or ask for shorter answers"),
    Guard(
        "frac_zero_variance", 0.8, 3,
        "Nearly all groups have equal scores, so there is nothing to learn from. Train with SFT first, "
        "use prompts of another difficulty, or draw more answers a prompt",
    ),
    Guard("one_answer_share", 0.5, 3,
        "Most answers are said to several prompts. Pay only what responds (traps = true of the reward), lower the "
        "learning rate, or raise the KL penalty"),
    Guard("style_leak_share", 0.5, 3,
        "Most answers are in a form that nobody asked for: one rule's form has spread. Mix the rules of prompts, lower "
        "the learning rate, or raise the KL penalty"),
    Guard("unmeasured_share", 0.1, 1,
        "The judge could not decide these answers. Look at their constraints (adhere verify)", breaks=True),
    Guard(
        "merging_lost_share", 0.9, 3,
        "Online merging takes less than a tenth of the optimizer's steps, so next to nothing is learnt. "
        "Use mode = 'released', or a larger p",
    ),
    Guard("importance_cut_share", 0.2, 3, "Sampler and trainer disagree. Use rollout_precision = 'fp32'", breaks=True),
)  # fmt: skip


class Guards:
    """Watches the log of one stage.

    Args:
        stage: The stage's name, for messages.
        policy: `stop` raises when a guard trips, `warn` records a warning; `compare` raises if the guard
            `breaks`, and records a warning of others.
    """

    def __init__(self, stage: str, policy: Policy) -> None:
        self.stage, self.policy = stage, policy
        self.warnings: list[str] = []
        self._bad = dict.fromkeys((guard.column for guard in GUARDS), 0)

    def see(self, row: Mapping[str, Any]) -> None:
        """Check the log row of one step.

        Raises:
            GuardStop: A guard trips, and the policy is to stop at it.
        """
        for guard in GUARDS:
            self._bad[guard.column] = self._bad[guard.column] + 1 if guard.is_bad(row) else 0
            if self._bad[guard.column] == guard.steps:
                message = (
                    f"{self.stage}, step {int(row.get('step') or 0)}: {guard.column} is {row[guard.column]:.2f}, "
                    f"above {guard.above:g}{f' for {guard.steps} steps' if guard.steps > 1 else ''}. {guard.advice}"
                )
                if self.policy == "stop":
                    raise GuardStop(f"{message}. {GO_ON}")
                if self.policy == "compare" and guard.breaks:
                    raise GuardStop(message)
                self.warnings.append(message)


def trips(log: Iterable[Mapping[str, Any]]) -> list[tuple[Guard, int, int]]:
    """List the guards that trip in a stage's whole log: (guard, step of its first trip, number of bad steps)."""
    rows = list(log)
    tripped_guards = []
    for guard in GUARDS:
        in_a_row = bad = first = 0
        for place, row in enumerate(rows, start=1):
            in_a_row = in_a_row + 1 if guard.is_bad(row) else 0
            bad += in_a_row > 0
            if in_a_row == guard.steps and not first:
                first = int(row.get("step") or place)
        if first:
            tripped_guards.append((guard, first, bad))
    return tripped_guards


GO_ON = "To go on all the same: guards = 'warn'"


def heed(trouble: AdhereError | None, policy: Policy) -> list[str]:
    """Raise the trouble that a guard saw before the start, or return it as a warning; an empty list for None.

    Raises:
        AdhereError: There is trouble, and the policy is to stop.
    """
    if trouble is None:
        return []
    if policy == "stop":
        raise type(trouble)(f"{trouble}. {GO_ON}")
    return [str(trouble)]


def template_trouble(tokenizer: Any) -> GuardStop | None:
    """Return how the text trained on differs from what the chat template writes; None if it is equal.

    The text trained on is the opened prompt, the answer and the end token.

    Raises:
        UsageError: The template leaves the prompt out: nothing could be learned from it.
    """

    def rendered(turns: Sequence[tuple[str, str]], *, opens_answer: bool) -> str:
        conversation = [{"role": role, "content": content} for role, content in turns]
        return str(tokenizer.apply_chat_template(conversation, add_generation_prompt=opens_answer, tokenize=False))

    prompt = rendered([("user", PROMPT)], opens_answer=True)
    if PROMPT not in prompt:
        raise UsageError(
            f"The chat template leaves the prompt out: it makes {prompt!r} of {PROMPT!r}. Mend the template"
        )
    whole = rendered([("user", PROMPT), ("assistant", ANSWER)], opens_answer=False)
    trained = f"{prompt}{ANSWER}{tokenizer.eos_token}"
    if whole.startswith(trained):
        return None
    return GuardStop(
        f"The chat template makes {whole!r} of a prompt and its answer, but training is on {trained!r}: "
        "the model would learn another form than the one it is served in. Mend the template, "
        "or the tokenizer's eos_token"
    )


class RepeatedPrompt(NamedTuple):
    """Describes a training prompt that repeats a test item: its file and row, and `why` in words."""

    file: str
    row: int  # from 1
    against: str
    item: str | int
    why: str


def find_repeats(
    prompts: Mapping[str, Sequence[str]], suites: Sequence[tuple[str, Suite]]
) -> ContaminationError | None:
    """Find the training prompts (by file) that repeat test items of `suites`; None if there are none.

    The error holds the first one and the count. A prompt repeats an item by the rule of the Qwen2.5 report
    (`text.repeats.SubsequenceRule`) or word for word, for the rule ignores short texts.
    """
    from adhere.text.repeats import SubsequenceRule, tokens

    items = [(name, prompt.key, prompt.everything) for name, suite in suites for prompt in suite.prompts]
    rule = SubsequenceRule([text for *_, text in items])
    place_by_tokens: dict[tuple[bytes, ...], int] = {}
    for place, (*_, text) in enumerate(items):
        place_by_tokens.setdefault(tuple(tokens(text)), place)
    repeats: list[RepeatedPrompt] = []
    for file, texts in prompts.items():
        for row, (text, match) in enumerate(zip(texts, rule.matches(texts), strict=True), start=1):
            same = place_by_tokens.get(tuple(tokens(text)))
            if same is not None:
                repeats.append(RepeatedPrompt(file, row, items[same][0], items[same][1], "word for word"))
            elif match is not None:
                against, item, _ = items[match.item]
                repeats.append(RepeatedPrompt(file, row, against, item, f"{match.common} of {match.shorter} tokens"))
    if not repeats:
        return None
    first, total = repeats[0], sum(map(len, prompts.values()))
    return ContaminationError(
        f"{len(repeats)} of {total} training prompts repeat a test item. The first: {first.file}, row {first.row}, "
        f"item {first.item} of {first.against} ({first.why}). Leave them out: "
        f"adhere decontaminate {first.file} --against {first.against} --out KEPT"
    )


def halved_once(
    attempt: Callable[[OptimizerSettings], T],
    settings: OptimizerSettings,
    *,
    name: str,
    needs: Callable[[OptimizerSettings], str],
    progress: Progress,
) -> tuple[T, OptimizerSettings]:
    """Run `attempt`; if memory runs out, run it once more with micro-batches of half the size.

    The result is returned with the settings that gave it.

    Args:
        attempt: Trains with the settings that it is given.
        settings: The first ones.
        name: The stage's name, for messages.
        needs: Makes the message if memory runs out twice, from the second settings (`too_large`).
        progress: Where the second attempt is announced.

    Raises:
        ResourceError: Memory ran out again.
    """
    for is_second in (False, True):
        try:
            return attempt(settings), settings
        except (MemoryError, RuntimeError) as error:
            if isinstance(error, Divergence) or not _is_memory(error):
                raise
            if is_second:
                raise ResourceError(needs(settings)) from error
        _free_memory()  # outside of `except`, whose traceback holds what the first attempt took
        settings = msgspec.structs.replace(settings, tree_tokens=max(1, settings.tree_tokens // 2))
        progress.say(f"{name}: out of memory; once more with micro-batches of {settings.tree_tokens} tokens")
    raise AssertionError("the second attempt ends above")


def too_large(name: str, settings: OptimizerSettings, memory: Memory, device: str) -> str:
    """Say how much memory a stage that ran out of memory twice needs, and for what, and how much is free now."""
    free = available_bytes(device)
    note = "" if free is None else f"; {free / 1e9:.1f} GB are free now"
    return (
        f"{name} ran out of memory, also with micro-batches of {settings.tree_tokens} tokens. It needs about "
        f"{memory.total / 1e9:.1f} GB on {device} by estimate ({memory.describe()}){note}. "
        "Set gradient_checkpointing = true, fewer decode_rows, or take a smaller model or a larger machine"
    )


def _free_memory() -> None:
    """Release the memory of the first attempt."""
    import gc

    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _is_memory(error: Exception) -> bool:
    """Tell whether torch or Python reports that memory ran out; torch has no such class for the CPU."""
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == "OutOfMemoryError"
        or "DefaultCPUAllocator" in str(error)
    )
