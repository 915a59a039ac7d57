"""IFScale: a business report that must use 10 to 500 given words, exactly.

`ifscale:FOLDER` reads two files of its repository's `src`: `inputs/pruned_rules.csv` (500 words, one a line) and the
prompt in `runner.py`, which is read, not run. As its configuration has it, there are 50 densities (10, 20, … 500 words)
and five seeds; a seed's words at one density are the first ones of a larger one. `ifscale:FOLDER@10+50+100+250+500`
takes the densities of its tables.

Official aggregation: the accuracy of a density is the mean over its seeds of the share of words that stand in the
answer: the slice's `instruction_macro`. The summary's measures have omitted and distorted words as shares of all words
(published: as shares of the errors). The ratio of late to early errors is not computed.

Different from the published runner: an answer is taken as it is. The runner asks again, up to ten times, where an
answer has fewer than 20 words, is a bare list of words, or where a judge (o4-mini) finds it incoherent. It sets neither
temperature nor token limit; here answers are drawn at temperature 1 with at most 16,384 tokens.

Known defects: see `adhere.constraints.published.ifscale.table`.

Source: D. Jaroslawicz et al., arXiv 2507.11538; `src/` of DistylAI/distylai.github.io on GitHub (MIT) at 16dd8ce,
written anew.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adhere.constraints.published.ifscale.table import WORD
from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn, content_hash
from adhere.suites.base import Suite
from adhere.suites.published.code_texts import Code
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import need_path, where

DENSITIES = tuple(range(10, 501, 10))
SEEDS = 5
WORDS_FILE, RUNNER = "inputs/pruned_rules.csv", "runner.py"
PUBLISHED_WORDS = "b67efaa957f07188943da4ce7790fbf2f971ec9d790d0f012d0d78429f9729f9"
"""The hash of the published words in their order (57782b4)."""
_GAP = "{CONSTRAINTS}"


def load(argument: str | None) -> Suite:
    """Load the suite of a folder, or only some densities (numbers of words that a prompt asks for).

    Raises:
        UsageError: No folder was given, it lacks a file, or a density was not published.
        SpecError: A file is not as published.
    """
    name, densities = _densities(argument)
    folder = need_path("ifscale", name)
    for file in (WORDS_FILE, RUNNER):
        if not (folder / file).is_file():
            raise UsageError(f"ifscale:{name}: no {file} there. It is {where('ifscale')}")
    words = _words(folder / WORDS_FILE, max(densities))
    template = Code.read(folder / RUNNER).constant("initial_prompt_template", str)
    if template.count(_GAP) != 1:
        raise SpecError(
            f"{folder / RUNNER}: initial_prompt_template must have {_GAP} once. Is this another version of it?"
        )
    refs = {word: checked_ref(ConstraintRef(WORD, {"word": word}), word, "ifscale") for word in words}
    prompts = []
    for seed in range(SEEDS):
        # As pandas' DataFrame.sample(n, random_state=seed): the first n of one permutation.
        order = [words[at] for at in np.random.RandomState(seed).permutation(len(words))]
        for density in densities:
            prompt_words = order[:density]
            rule_list = "\n".join(
                f"{number}. Include the exact word: '{word}'." for number, word in enumerate(prompt_words, start=1)
            )
            tags = {"slice": f"{density} words", "level": str(density), "group": f"seed {seed}", "profile": "ifscale"}
            text = template.replace(_GAP, rule_list)
            prompts.append(
                Prompt(
                    f"{density}-{seed}",
                    (Turn(text, tuple(refs[word] for word in prompt_words)),),
                    source="ifscale",
                    tags=tags,
                )
            )
    prompts.sort(key=lambda prompt: int(prompt.tags["level"]))
    return Suite(
        name=f"ifscale:{argument}",
        version="1",
        prompts=tuple(prompts),
        slices=tuple(f"{density} words" for density in densities),
        settings={
            "files_sha256": content_hash({WORDS_FILE: words, RUNNER: template}),
            "note": f"{len(prompts)} prompts, {len(words)} words: "
            + (
                "the published words"
                if content_hash(words) == PUBLISHED_WORDS
                else "other words than the published file's"
            ),
        },
        citation="D. Jaroslawicz et al., How Many Instructions Can LLMs Follow at Once? (IFScale), arXiv 2507.11538",
        sampling=Sampling(max_new_tokens=16384, temperature=1.0),
    )


def _densities(argument: str | None) -> tuple[str | None, tuple[int, ...]]:
    """Split the argument into the folder and the densities behind its `@` (all without one)."""
    folder, mark, suffix = (argument or "").rpartition("@")
    if not mark or "/" in suffix:
        return argument, DENSITIES
    names = suffix.split("+")
    unknown = [name for name in names if name not in map(str, DENSITIES)]
    if unknown:
        raise UsageError(f"ifscale: no density {unknown[0]!r}. There are 10, 20, … 500, joined by +")
    return folder, tuple(sorted({int(name) for name in names}))


def _words(path: Path, most: int) -> list[str]:
    """Read a file with one word a line; it must have `most` words or more.

    Raises:
        SpecError: A line holds something else, a word is repeated, or there are fewer than the largest density asks
            for.
    """
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    words = [line for line in lines if line.strip()]
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.isalnum():
            raise SpecError(f"{path}:{number}: {line[:60]!r} must be one word. Is this another version of the file?")
    if len({word.lower() for word in words}) < len(words):
        twice = next(word for word in words if [other.lower() for other in words].count(word.lower()) > 1)
        raise SpecError(f"{path}: {twice!r} stands twice. Delete one")
    if len(words) < most:
        raise SpecError(f"{path}: {len(words)} words, but {most} are to be asked for. Give fewer: ifscale:FOLDER@10+50")
    return words
