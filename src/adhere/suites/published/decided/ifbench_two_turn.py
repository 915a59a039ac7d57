"""IFBench's two-turn set: a request and its answer are given, and the next message adds the constraint.

`ifbench-two-turn:FILE` reads a file of allenai/IFBench_multi-turn (one of its two halves): `key`,
`instruction_id_list`, `kwargs` as in IFEval's rows, and `messages`, whose last is the user's. What stands before it,
the first answer included, is the data set's and is given to every model; `prompt`, the same in one turn, is ignored. A
key that comes again gets its place behind it (`12`, `12 (2)`).

Official aggregation: as IFBench's, of the answer to the last message.

Source: V. Pyatkin et al., arXiv 2507.02833; columns from the data set's card, its rows were not at hand.
"""

from __future__ import annotations

from collections import Counter

from adhere.schema import ConstraintRef, Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.published.judged.conversations import prompt_of_messages
from adhere.suites.published.rows import PromptRow, constraints_of
from adhere.suites.published.table import Row, make_suite, need_columns, need_path, note, read_rows

PROFILE = "ifbench-2026"
_COLUMNS = {"instruction_id_list": list, "kwargs": list, "messages": list}


def load(argument: str | None) -> Suite:
    """The suite of a published file.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, line and key.
    """
    rows, sha256 = read_rows(need_path("ifbench-two-turn", argument))
    seen: Counter[str] = Counter()
    known: dict[bytes, tuple[ConstraintRef, ...]] = {}
    prompts = [_prompt(at, row, seen, known) for at, row in rows]
    counts = {"prompts": len(prompts), "instructions": sum(len(prompt.constraints) for prompt in prompts)}
    return make_suite(
        "ifbench-two-turn",
        argument,
        prompts,
        sha256=sha256,
        note=note(counts, {}),
        citation="V. Pyatkin et al., Generalizing Verifiable Instruction Following, arXiv 2507.02833",
        sampling=Sampling(max_new_tokens=2048),
    )


def _prompt(at: str, row: Row, seen: Counter[str], known: dict[bytes, tuple[ConstraintRef, ...]]) -> Prompt:
    need_columns(at, row, _COLUMNS | ({} if isinstance(row.get("key"), str) else {"key": int}))
    key = str(row["key"])
    at = f"{at}: key {row['key']!r}"
    seen[key] += 1
    refs = constraints_of(PromptRow(key, "", row["instruction_id_list"], row["kwargs"]), at, PROFILE, known)
    name = key if seen[key] == 1 else f"{key} ({seen[key]})"
    tags = {"profile": PROFILE, "key": "int" if name == key and isinstance(row["key"], int) else "str"}
    return prompt_of_messages(at, name, row["messages"], refs, source="ifbench-two-turn", tags=tags)
