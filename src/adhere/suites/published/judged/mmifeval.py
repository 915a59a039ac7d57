"""MM-IFEval: pictures with instructions; programs decide some of its constraints, a model judges the others.

`mmifeval:FILE` reads its rows as JSON lines (or a table): `id`, the picture (a file beside the rows, or base64, under
one of the names that its runner knows), and either `instruction` with `constraints` (compose level; each with `value`
and a `judge` with its `method`) or `question` with `answer` (perception level). The prompt is that of its runner: the
instruction, then each constraint's value.

Decided here: `rule_based`, by the functions that the row names (`verify_funcs`; several must all hold). `direct_gpt`
and `cmp_gpt` are left to `adhere judge`; the published `cmp_gpt` also shows the judge an answer made without the
constraint, ours does not, so those numbers differ.

Source: S. Ding et al., arXiv 2504.07957; `eval_mmifeval/` in SYuan03/MM-IFEngine at bb844a7.
"""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from adhere import media
from adhere.constraints.published.judged.table import JUDGED
from adhere.constraints.published.mmifeval.table import RULES, id_of
from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, Media, Prompt, Sampling, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows

PICTURES = (
    "image", "filename", "img_name", "image_name", "image_local_name", "image_path", "image_local_path", "img",
    "img_path", "img_local_path", "img_local_name",
)  # fmt: skip
LEVELS = ("compose", "perception")


def load(argument: str | None) -> Suite:
    """Load the suite of a file of rows.

    Raises:
        UsageError: No path was given, or there is no such file.
        SpecError, BadParameter: A row cannot be used; the message names file and row.
    """
    path = need_path("mmifeval", argument)
    rows, sha256 = read_rows(path)
    prompts = tuple(_prompt(at, row, path.parent) for at, row in rows)
    refs = [ref for prompt in prompts for ref in prompt.constraints]
    n_judged = sum(ref.id == JUDGED for ref in refs)
    return make_suite(
        "mmifeval",
        argument,
        prompts,
        sha256=sha256,
        note=(
            f"{note({'prompts': len(prompts), 'constraints': len(refs)}, {})}; "
            f"a model judges {n_judged} of them (adhere judge)"
        ),
        citation="S. Ding et al., MM-IFEngine, arXiv 2504.07957",
        sampling=Sampling(max_new_tokens=4096),
        slices=LEVELS,
    )


def _prompt(at: str, row: dict[str, Any], base: Path) -> Prompt:
    name = row.get("id", row.get("index"))
    if name is None:
        raise SpecError(f"{at}: there is no id")
    if row.get("tag") == "P-Level" or ("question" in row and "instruction" not in row):
        need_columns(at, row, {"question": str})
        text, level = row["question"], "perception"
        statement = f"The answer says every point of this list: {row.get('answer')}"
        refs: tuple[ConstraintRef, ...] = (ConstraintRef(JUDGED, {"statement": statement}),)
    else:
        need_columns(at, row, {"instruction": str, "constraints": list})
        refs = tuple(_ref(at, constraint) for constraint in row["constraints"])
        rules = [constraint["value"] for constraint in row["constraints"]]
        text, level = " ".join([row["instruction"], *rules]), "compose"
    is_judged = any(ref.id == JUDGED for ref in refs)
    tags = {"slice": level, "profile": "mmifeval", **({"judged": "yes"} if is_judged else {})}
    return Prompt(str(name), (Turn(text, refs, (_picture(at, row, base),)),), source="mmifeval", tags=tags)


def _ref(at: str, constraint: Any) -> ConstraintRef:
    judge = constraint.get("judge") if isinstance(constraint, dict) else None
    if not isinstance(judge, dict) or not isinstance(constraint.get("value"), str):
        raise SpecError(f"{at}: a constraint is an object with value and judge; got {constraint!r:.80}")
    if judge.get("method") != "rule_based":
        return ConstraintRef(JUDGED, {"statement": f"The answer keeps this constraint: {constraint['value']}"})
    calls = judge.get("verify_funcs")
    if not isinstance(calls, list) or not calls:
        raise SpecError(f"{at}: judge.verify_funcs must be a list of functions with parameters; got {calls!r:.80}")
    refs = [_call(at, call) for call in calls]
    if len(refs) == 1:
        return refs[0]
    return ConstraintRef("compose:all_of", {"of": [{"id": ref.id, "params": ref.params} for ref in refs]})


def _call(at: str, call: Any) -> ConstraintRef:
    name = str(call.get("func")).removeprefix("check_") if isinstance(call, dict) else ""
    if name not in RULES:
        raise SpecError(f"{at}: {call!r:.120} names no published function")
    params, arguments = [*RULES[name][0]], call.get("params")
    if not isinstance(arguments, list) or len(arguments) != len(params):
        raise SpecError(f"{at}: check_{name} takes {', '.join(params) or 'nothing'}; got {arguments!r:.80}")
    values = dict(zip(params, arguments, strict=True))
    if isinstance(values.get("ranges"), list):
        values["ranges"] = [
            " ".join(map(str, pair)) if isinstance(pair, list) else str(pair) for pair in values["ranges"]
        ]
    return checked_ref(ConstraintRef(id_of(name), values), at, "mmifeval")


def _picture(at: str, row: dict[str, Any], base: Path) -> Media:
    source = next((row[name] for name in PICTURES if row.get(name)), None)
    if not isinstance(source, str):
        raise SpecError(f"{at}: there is no picture under {', '.join(PICTURES)}")
    is_file = len(source) < 1000 and (base / source).is_file()
    try:
        if is_file or source.startswith("data:"):
            return media.read(source, base=base)
        return media.keep(base64.b64decode(source, validate=True))
    except (UsageError, ValueError) as error:
        raise SpecError(
            f"{at}: the picture {source[:40]!r} is no file in {base} and no base64 of one ({error})"
        ) from error
