"""The settings of CHECKS.toml, and the presets of thresholds."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from adhere.config import load_toml
from adhere.errors import SpecError
from adhere.schema import Json, Record, Sampling


class Thresholds(Record, frozen=True):
    """The thresholds that functions and cases must reach.

    Attributes:
        functions: Different functions that run, at least.
        cases: Cases to test on, at least.
        case_share: A case stays if more than this share of the functions agree with it; 0: one function is enough.
        function_share: A function stays if at least this share of the remaining cases agree with it.
        strictly: Whether `function_share` itself is too little.
    """

    functions: int
    cases: int
    case_share: float
    function_share: float
    strictly: bool = False


# `published`: AutoIF's code (3_cross_validation.py). `paper`: its text.
PRESETS = {"published": Thresholds(3, 10, 0.0, 0.8), "paper": Thresholds(1, 1, 0.5, 0.5, strictly=True)}


class ChecksSpec(Record, frozen=True):
    """Holds the settings of CHECKS.toml.

    Attributes:
        model: The model that writes functions and cases.
        instructions: The instructions to write checks for; empty: those of `path`, else 24 of ours.
        path: A file with one instruction a line.
        functions: Calls for each instruction that ask for a function.
        cases: Calls for each instruction that ask for cases, six a call.
        held_out: Share of the calls for cases whose cases are held out from the choice; the last calls.
        preset: The name of the thresholds.
        back_translation: `model`: the model says what a function checks, and in another call whether that is the same
            rule; `words`: the two must share half of the instruction's longer words and numbers; `off`.
        echo: Whether an answer that only repeats the instruction must fail.
        keep: Functions kept for each instruction, at most.
        send: Fields added to every request to an endpoint.
        omit: Fields left out of every request.
    """

    model: str
    name: str = "checks"
    seed: int = 0
    instructions: tuple[str, ...] = ()
    path: str = ""
    functions: int = 6
    cases: int = 4
    held_out: float = 0.25
    preset: Literal["published", "paper"] = "published"
    back_translation: Literal["model", "words", "off"] = "model"
    echo: bool = True
    keep: int = 3
    sampling: Sampling = Sampling(max_new_tokens=400, temperature=0.8)
    send: dict[str, Json] = {}
    omit: tuple[str, ...] = ()


def load_checks_spec(path: Path) -> ChecksSpec:
    """Read CHECKS.toml; its `path` is relative to the file.

    Raises:
        SpecError: The file cannot be read as CHECKS.toml, or a setting is out of range.
    """
    spec = load_toml(path, ChecksSpec)
    if spec.path:
        spec = msgspec.structs.replace(spec, path=str(path.parent / spec.path))
    return check_spec(spec, str(path))


def check_spec(spec: ChecksSpec, name: str = "the spec") -> ChecksSpec:
    """Return the spec unchanged if every setting is in range.

    Raises:
        SpecError: A setting is out of range; the message names the key, its value and what is allowed.
    """
    problems = {
        f"functions = {spec.functions}: 1 to 50": not 1 <= spec.functions <= 50,
        f"cases = {spec.cases}: 2 to 50, because some calls are held out": not 2 <= spec.cases <= 50,
        f"held_out = {spec.held_out}: above 0 and below 1": not 0 < spec.held_out < 1,
        f"keep = {spec.keep}: 1 to 5": not 1 <= spec.keep <= 5,
        f"functions = {spec.functions}: preset {spec.preset!r} needs {PRESETS[spec.preset].functions}": (
            spec.functions < PRESETS[spec.preset].functions
        ),
    }
    for problem, is_one in problems.items():
        if is_one:
            raise SpecError(f"{name}: {problem}")
    return spec


def instructions_of(spec: ChecksSpec) -> tuple[str, ...]:
    """Return the instructions to write checks for, without repeats.

    Raises:
        SpecError: The file cannot be read or is empty.
    """
    instructions: tuple[str, ...] = spec.instructions
    if not instructions and spec.path:
        try:
            instructions = tuple(Path(spec.path).read_text(encoding="utf-8").splitlines())
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError(f"path: {spec.path} cannot be read as UTF-8 text: {error}") from error
    instructions = tuple(dict.fromkeys(text.strip() for text in instructions or OURS if text.strip()))
    if not instructions:
        raise SpecError(f"path: {spec.path} holds no instruction")
    return instructions


OURS = (
    "Use at least three exclamation marks.",
    "Write every word in lower case.",
    'Mention the word "river" at least twice.',
    'Begin the answer with the word "Today".',
    "End the answer with a question mark.",
    "Write exactly two paragraphs, with a blank line between them.",
    "Put the whole answer in double quotation marks.",
    "Write at least 40 words.",
    "Do not use the letter z.",
    "Use at most 25 words.",
    "Write the answer as a list with at least three bullet points.",
    "Include a number that is larger than 100.",
    "Do not use any commas.",
    "Let every line begin with a dash.",
    'Use the word "because" exactly once.',
    "Write every sentence with at most ten words.",
    "Include one word in capital letters.",
    "Answer with valid JSON.",
    "Name at least two colours.",
    'End with the sentence "That is all."',
    "Put a colon somewhere in the first line.",
    "Use at least one pair of parentheses.",
    "Write exactly four sentences.",
    "Include an e-mail address.",
)
