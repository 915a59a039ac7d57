"""Multi-IF: conversations of up to three turns in eleven languages, IFEval's instructions accumulating over the turns.

`multi-if:FILE` reads the published CSV, or its rows as JSON lines: `key`, `language` and, for each turn,
`turn_N_prompt` (one message as JSON), `turn_N_instruction_id_list` (a JSON list) and `turn_N_kwargs` (a JSON list of
objects as JSON). `multi-if:FILE@Hindi+Thai` takes some languages. Each turn is asked with the model's own answers
before it.

Official aggregation: the mean of IFEval's four accuracies by turn and language (`pipeline.official.multi_if`). A failed
turn and those behind it are errors here; the published runner grades the text of the failure.

Known defects, kept: see `adhere.constraints.published.multiif.table`. Which tokens an answer may have is not fixed by
the paper; its runner takes 1,024 at temperature 0.6 and top-p 0.9, which is the default here.

Source: Y. He et al., arXiv 2410.15553; `metrics.py` of facebookresearch/Multi-IF (Apache-2.0); the data are
facebook/Multi-IF on the Hugging Face hub, CC BY-NC 2.0: not for commercial use.
"""

from __future__ import annotations

from typing import Any

from adhere.constraints.published.shared.registry import ids, is_in
from adhere.errors import SpecError, UnknownName, UsageError, nearest
from adhere.schema import ConstraintRef, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import loaded_json, make_suite, need_columns, need_path, note, read_rows

LANGUAGES = (
    "English", "Chinese", "French", "German", "Hindi", "Italian", "Portuguese", "Russian", "Spanish", "Thai",
    "Vietnamese",
)  # fmt: skip
MOST_TURNS = 3
CONVERSATIONS = 4501


def load(argument: str | None) -> Suite:
    """Load the suite of a file, or only some of its languages.

    Raises:
        UsageError: No path was given, there is no such file, or it has no conversation in a language.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, row and turn.
    """
    name, languages = _languages(argument)
    path = need_path("multi-if", name)
    rows, sha256 = read_rows(path)
    prompts = [_prompt(at, row) for at, row in rows]
    present = tuple(
        language for language in LANGUAGES if any(prompt.tags["language"] == language for prompt in prompts)
    )
    absent = [language for language in languages if language not in present]
    if absent or not prompts:
        raise UsageError(
            f"multi-if:{argument}: no conversation in {', '.join(absent) or 'it'}. {path} has: "
            f"{', '.join(present) or '–'}"
        )
    chosen = [prompt for prompt in prompts if not languages or prompt.tags["language"] in languages]
    counts = {"conversations": len(chosen), "turns": sum(len(prompt.turns) for prompt in chosen)}
    return make_suite(
        "multi-if",
        argument,
        chosen,
        sha256=sha256,
        note=note(counts, {} if languages else {"conversations": CONVERSATIONS}),
        citation="Y. He et al., Multi-IF, arXiv 2410.15553",
        sampling=Sampling(max_new_tokens=1024, temperature=0.6, top_p=0.9),
        slices=tuple(language for language in present if not languages or language in languages),
    )


def _languages(argument: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Split the argument into the path and the languages behind its `@` (empty without one)."""
    path, mark, names = (argument or "").rpartition("@")
    if not mark or "/" in names or "." in names:
        return argument, ()
    languages = tuple(names.split("+"))
    for name in languages:
        if name not in LANGUAGES:
            raise UsageError(
                f"multi-if: no language {name!r}.{nearest(name, LANGUAGES)} There are: {', '.join(LANGUAGES)}"
            )
    return path, languages


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, {"key": str, "language": str, "turn_1_prompt": str})
    if row["language"] not in LANGUAGES:
        raise SpecError(f"{at}: language={row['language']!r} must be one of {', '.join(LANGUAGES)}")
    at = f"{at}: key {row['key']!r}"
    turns = []
    for number in range(1, MOST_TURNS + 1):
        if row.get(f"turn_{number}_prompt") in {None, "", "None"}:
            break
        turns.append(_turn(f"{at}, turn {number}", row, number))
    later = [
        number
        for number in range(len(turns) + 2, MOST_TURNS + 1)
        if row.get(f"turn_{number}_prompt") not in {None, "", "None"}
    ]
    if not turns or later:
        raise SpecError(
            f"{at}: turn {len(turns) + 1} is missing" + (f", but there is turn {later[0]}" if later else "")
        )
    tags = {"slice": row["language"], "language": row["language"], "profile": "multi-if"}
    return Prompt(row["key"], tuple(turns), source="multi-if", tags=tags)


def _turn(at: str, row: dict[str, Any], number: int) -> Turn:
    columns = {column: f"turn_{number}_{column}" for column in ("prompt", "instruction_id_list", "kwargs")}
    need_columns(at, row, dict.fromkeys(columns.values(), str))
    message = loaded_json(at, columns["prompt"], row[columns["prompt"]], dict)
    if message.get("role") != "user" or not isinstance(message.get("content"), str):
        raise SpecError(f"{at}: {columns['prompt']} must be a message with role user and content")
    ids = loaded_json(at, columns["instruction_id_list"], row[columns["instruction_id_list"]], list)
    kwargs = loaded_json(at, columns["kwargs"], row[columns["kwargs"]], list)
    if not ids or len(ids) != len(kwargs):
        raise SpecError(
            f"{at}: {len(ids)} instruction ids, but {len(kwargs)} kwargs; both must be as many, and at least one"
        )
    return Turn(message["content"], tuple(_ref(at, *pair) for pair in zip(ids, kwargs, strict=True)))


def _ref(at: str, name: object, kwargs: object) -> ConstraintRef:
    arguments = loaded_json(at, "kwargs", kwargs, dict) if isinstance(kwargs, str) else kwargs
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise SpecError(f"{at}: {name!r:.60} with kwargs {kwargs!r:.60}: must be an id and an object as JSON")
    if not is_in(name, "ifeval"):
        raise UnknownName(f"{at}: {name!r} is none of IFEval's kinds.{nearest(name, ids('ifeval'))}")
    params = {key: value for key, value in arguments.items() if value is not None}
    return checked_ref(ConstraintRef(name, params), at, "multi-if")
