"""Make the suite `breadth`: one slice for each kind of constraint, which its prompts have alone.

A prompt is a request with a constraint that the kind draws, in one of the kind's wordings. Two sorts of kind are left
out, because other suites have them: those whose prompts do not say the answer key (`exact`, `answer`) and those whose
rule is a request of its own (code, plans). A passing answer is the kind's `witness`.
"""

from __future__ import annotations

import dataclasses
import random

from adhere.constraints.base import Constraint, registry
from adhere.constraints.kinds.trained.keywords import Forbid
from adhere.errors import UsageError
from adhere.schema import Prompt, Sampling, Turn, derive_seed
from adhere.suites.base import Suite
from adhere.suites.generated.names import name_of, read_argument
from adhere.suites.generated.rules import SUBJECTS

VERSION = "1"
USUAL = 2
MOST = 1000
REDRAWS = 50
MAX_NEW_TOKENS = 512
# Who copies the request, or its last sentence, writes this word, which stands there and must not stand in the answer.
NEVER = "instruction"


def kinds_said() -> dict[str, type[Constraint]]:
    """Return this package's kinds of constraint that can be added to any request as one sentence, by id.

    Left out are kinds that are tasks themselves and kinds with a parameter that their sentence does not mention.
    """
    own = {name: registry.get(name) for name in registry}
    return {
        name: kind
        for name, kind in own.items()
        if kind.__module__.startswith("adhere.")
        and not kind.is_task
        and all(field.metadata.get("said", True) for field in dataclasses.fields(kind))
    }


def breadth(seed: int = 0, prompts: int = USUAL, chosen: tuple[str, ...] = ()) -> Suite:
    """Make the suite with `prompts` prompts for each kind, or for those in `chosen`.

    `chosen` holds ids, or families of ids such as `markdown`; empty: all. A prompt depends only on the seed, its kind
    and its number.

    Raises:
        UsageError: `prompts` is out of range.
    """
    if not 1 <= prompts <= MOST:
        raise UsageError(f"breadth: {prompts} prompts of each kind: must be 1 to {MOST:,}, e.g. breadth:x5")
    kinds = {
        name: kind for name, kind in kinds_said().items() if not chosen or name in chosen or kind.family() in chosen
    }
    return Suite(
        name=name_of("breadth", f"x{prompts}" if prompts != USUAL else "", *chosen, f"seed{seed}" if seed else ""),
        version=VERSION,
        prompts=tuple(prompt for kind in kinds.values() for prompt in _draw_prompts(kind, seed, prompts)),
        slices=tuple(kinds),
        settings={"seed": seed, "prompts_per_kind": prompts},
        citation="Items: adhere.",
        sampling=Sampling(max_new_tokens=MAX_NEW_TOKENS),
    )


def load_breadth(argument: str | None, seed: int | None) -> Suite:
    """Load `breadth:ARGUMENT`; the argument joins `x5`, `seed7`, ids and families of kinds by `+`.

    Raises:
        UsageError: A part of the argument is none of these.
    """
    kinds = kinds_said()
    families = sorted({kind.family() for kind in kinds.values()})
    choices = (*families, *kinds)
    options = read_argument("breadth", argument, seed=seed, counts="prompts of each kind", choices=choices)
    return breadth(options.seed, USUAL if options.number is None else options.number, options.chosen)


def _draw_prompts(kind: type[Constraint], seed: int, count: int) -> list[Prompt]:
    texts: dict[str, Prompt] = {}
    for number in range(1, count + 1):
        for attempt in range(REDRAWS):
            prompt = _draw_prompt(kind, seed, number, attempt)
            if prompt.text not in texts:
                break
        texts[prompt.text] = prompt
    return list(texts.values())


def _draw_prompt(kind: type[Constraint], seed: int, number: int, attempt: int) -> Prompt:
    rng = random.Random(derive_seed(seed, "breadth", VERSION, kind.id, number, attempt))
    subject = rng.choice(SUBJECTS)
    rule = kind.draw(rng, words=[word for word in subject.split() if len(word) > 4 and word != "without"])
    wish = rule.describe(rng.randrange(len(kind.phrasings)))
    text = f"Write about {subject}. {wish}{'' if wish[-1] in '.!?' else '.'} Do not write the word “{NEVER}” itself."
    return Prompt(
        id=f"{kind.id.replace(':', '-').replace('_', '-')}-s{seed}-{number:04d}",
        turns=(Turn(text, (rule.ref(), Forbid((NEVER,)).ref())),),
        source="breadth",
        tags={"slice": kind.id, "family": kind.family(), "part": kind.part, "roles": "rule,own words"},
    )
