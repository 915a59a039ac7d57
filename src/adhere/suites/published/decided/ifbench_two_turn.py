"""IFBench's two-turn set: a request and its answer are given, and the next message adds the constraint.

`ifbench-two-turn:FILE` reads a file of allenai/IFBench_multi-turn (one of its two halves): `key`,
`instruction_id_list`, `kwargs` as in IFEval's rows, and `messages`, whose last is the user's. The messages before it,
with the first answer, are given to every model as they are. `prompt`, which says the same in one turn, is ignored. A
repeated key gets a number (`12`, `12 (2)`).

Official aggregation: as IFBench's, of the answer to the last message.

Source: V. Pyatkin et al., arXiv 2507.02833; columns from the data set's card, its rows were not at hand.
"""

from __future__ import annotations

from collections import Counter

from adhere.schema import ConstraintRef, Prompt, Sampling
from adhere.suites.base import Suite
from adhere.suites.published.ifeval_rows.ifbench import IFBENCH
from adhere.suites.published.judged.conversations import prompt_of_messages
from adhere.suites.published.rows import PromptRow, constraints_of
from adhere.suites.published.table import Row, make_suite, need_columns, need_path, note, read_rows

NAME = "ifbench-two-turn"


def load(argument: str | None) -> Suite:
    """Load the suite of a published file.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file, line and key.
    """
    rows, sha256 = read_rows(need_path(NAME, argument))
    key_counts: Counter[str] = Counter()
    shared_refs: dict[bytes, tuple[ConstraintRef, ...]] = {}
    prompts = [_prompt(at, row, key_counts, shared_refs) for at, row in rows]
    count_note, sampling = note({"prompts": len(prompts)}, {}), Sampling(max_new_tokens=IFBENCH.max_new_tokens)
    return make_suite(
        NAME, argument, prompts, sha256=sha256, note=count_note, citation=IFBENCH.citation, sampling=sampling
    )


def _prompt(at: str, row: Row, key_counts: Counter[str], shared_refs: dict[bytes, tuple[ConstraintRef, ...]]) -> Prompt:
    key = row.get("key")
    columns = {"key": str if isinstance(key, str) else int, "instruction_id_list": list, "kwargs": list}
    need_columns(at, row, {**columns, "messages": list})
    at, name = f"{at}: key {key!r}", str(key)
    refs = constraints_of(
        PromptRow(name, "", row["instruction_id_list"], row["kwargs"]), at, IFBENCH.profile, shared_refs
    )
    key_counts[name] += 1
    is_again = key_counts[name] > 1
    tags = {"profile": IFBENCH.profile, "key": "int" if isinstance(key, int) and not is_again else "str"}
    name += f" ({key_counts[name]})" * is_again
    return prompt_of_messages(at, name, row["messages"], refs, source=NAME, tags=tags)
