"""Choose the numbers of a Run that trackers are given, by `adhere.callback` and `adhere eval --track`."""

from __future__ import annotations

from adhere.store.summary import Summary


def tracked_numbers(summary: Summary) -> dict[str, float]:
    """Return a summary's main numbers by name, each in [0, 1]; what was not measured is left out."""
    score = summary.overall
    numbers = {
        "prompts_passed": score.prompt_strict.of_all,
        "prompts_passed_low": score.prompt_strict.low,
        "prompts_passed_high": score.prompt_strict.high,
        "constraints_passed": score.instruction_strict.of_all,
        "sound": score.guard.sound_share,
        "responds": score.guard.responsive_share,
        "coverage": summary.coverage,
    }
    return {name: value for name, value in numbers.items() if value is not None}
