"""SysBench's published numbers: CSR of criteria, ISR of turns, SSR of sessions (its Tables 2 to 4).

CSR: the share of criteria that hold. ISR: the share of turns that keep all of theirs, also by whether the turn is
aligned with the system message. SSR: the share of a session's turns that are kept in a row from the first, also by
whether the turns depend on each other. A turn with an undecided criterion and no failed one is in no ISR, and its
session in no SSR unless an earlier turn failed.

Source: Y. Qin et al., arXiv 2408.10943; `plot/tab2_overall.py`, `tab3_align.py` and `tab4_turn.py` in
PKU-Baichuan-MLSystemLab/SysBench at 627ffa8, written anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from adhere.pipeline.outcomes import Answers, keeps_all
from adhere.pipeline.summarize.estimates import Trial, Value, estimate_mean, estimate_share, length_of_run, list_decided
from adhere.schema import Prompt
from adhere.store.summary import Measure


def scores(answers: Answers) -> Iterator[Measure]:
    """Yield CSR; ISR in total, aligned and misaligned; SSR in total, of dependent and of parallel turns."""
    criteria: list[Trial] = []
    turns: dict[str, list[Trial]] = defaultdict(list)
    sessions: dict[str, list[Value]] = defaultdict(list)
    for prompt in answers.prompts:
        for draw in range(answers.draws):
            keeps = _kept_turns(answers, prompt, draw)
            alignments = prompt.tags.get("alignment", "").split(",")
            for turn, ok in enumerate(keeps):
                passes = list_decided(answers, prompt, turn, draw)
                criteria.append((prompt.id, sum(passes), len(passes)))
                for scope in ("", *alignments[turn : turn + 1]) if ok is not None else ():
                    turns[scope].append((prompt.id, int(bool(ok)), 1))
            run_length = length_of_run([ok is True for ok in keeps])
            if run_length == len(keeps) or keeps[run_length] is False:  # else nobody knows whether it goes on
                for scope in ("", prompt.tags.get("slice", "")):
                    sessions[scope].append((prompt.id, run_length / len(keeps)))
    yield estimate_share("CSR", "", criteria, "criteria")
    for scope in ("", "align", "misalign"):
        if scope in turns or not scope:
            yield estimate_share("ISR", f"{scope}ed turns" if scope else "", turns[scope], "turns")
    for scope in dict.fromkeys(("", *sessions)):
        yield estimate_mean("SSR", scope, sessions[scope], "sessions")


def _kept_turns(answers: Answers, prompt: Prompt, draw: int) -> list[bool | None]:
    """Return for each turn whether it kept all its criteria; None where that is undecided."""
    return [
        keeps_all(answers.outcomes(prompt, number, draw), len(turn.constraints))
        for number, turn in enumerate(prompt.turns)
    ]
