"""SysBench: system messages with several rules, held over five turns; what each turn must keep is judged by a model.

`sysbench:FILE` reads `system_benchmark_eval_datas.json`: sessions with `system_id`, `messages` (system, then user and
assistant in turns), `prompt_infos` (for each user message its `criteria` and whether it is `align`ed with the system
message), and `rounds_related`. The assistant messages of the file are left out: each turn is asked with the model's own
answers before it, as in the published main setting.

Official aggregation: CSR, ISR and SSR (`pipeline.official.sysbench`).

Different from the published code: all criteria are judged in our question (`adhere judge`), not in the published prompt
by GPT-4o. Its length rule by program never applies there (it asserts that there is none), so there is none here.

Source: Y. Qin et al., arXiv 2408.10943; `eval_system_bench.py` and `utils.py` in PKU-Baichuan-MLSystemLab/SysBench.
"""

from __future__ import annotations

from typing import Any

from adhere.errors import SpecError
from adhere.schema import Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import judged_refs
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

ALIGNMENTS = ("align", "misalign")
_COLUMNS = {"messages": list, "prompt_infos": dict, "rounds_related": bool}


def load(argument: str | None) -> Suite:
    """Load the suite of the published file; errors as in `published.table`."""
    path = need_path("sysbench", argument)
    rows, sha256 = read_rows(path)
    prompts = tuple(_prompt(at, row) for at, row in rows)
    counts = {"sessions": len(prompts), "turns": sum(len(prompt.turns) for prompt in prompts)}
    return make_suite(
        "sysbench",
        argument,
        prompts,
        sha256=sha256,
        note=f"{note(counts, {'sessions': 500})}; a model judges all criteria (adhere judge)",
        citation="Y. Qin et al., SysBench, arXiv 2408.10943",
        sampling=Sampling(max_new_tokens=2048),
        slices=("dependent turns", "parallel turns"),
        version="2",
        nothing="no sessions",
    )


def _prompt(at: str, row: dict[str, Any]) -> Prompt:
    need_columns(at, row, _COLUMNS)
    if not isinstance(row.get("system_id"), int | str):
        raise SpecError(f"{at}: system_id is missing, or no number nor text. Is this another version of the file?")
    at = f"{at}: system_id {row['system_id']!r}"
    roles = [message.get("role") if isinstance(message, dict) else None for message in row["messages"]]
    user_messages = row["messages"][1::2]
    if roles[:1] != ["system"] or set(roles[1::2]) != {"user"} or not set(roles[2::2]) <= {"assistant"}:
        raise SpecError(
            f"{at}: messages must be one system message, then user and assistant in turns; they are {roles}"
        )
    turns = tuple(_turn(at, str(message.get("content", "")), row["prompt_infos"]) for message in user_messages)
    tags = {
        "slice": "dependent turns" if row["rounds_related"] else "parallel turns",
        "profile": "judged",
        "alignment": ",".join(row["prompt_infos"][turn.text]["alignment"] for turn in turns),
    }
    return Prompt(
        f"session-{row['system_id']}",
        turns,
        system=str(row["messages"][0].get("content", "")),
        source="sysbench",
        tags=tags,
    )


def _turn(at: str, text: str, infos: dict[str, Any]) -> Turn:
    info = infos.get(text)
    info = info if isinstance(info, dict) else {}
    criteria = info.get("criteria")
    if not text or not isinstance(criteria, dict) or not criteria or info.get("alignment") not in ALIGNMENTS:
        raise SpecError(
            f"{at}: prompt_infos must have criteria and alignment ({' or '.join(ALIGNMENTS)}) "
            f"for the user message {text[:60]!r}"
        )
    statements = [entry.get("criteria_content") if isinstance(entry, dict) else None for entry in criteria.values()]
    if not all(isinstance(statement, str) for statement in statements):
        raise SpecError(f"{at}: a criterion of {text[:60]!r} has no criteria_content")
    return Turn(text, judged_refs(map(str, statements)))
