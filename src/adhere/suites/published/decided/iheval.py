"""IHEval: does a system message win over a user, a user over a tool, who says the opposite?

The suite has its nine tasks, by its own rules. `iheval:FOLDER` reads every `input_data.json` below it, in the folders
of the repository's `benchmark`: DOMAIN/TASK/TYPE/…, where TYPE is `reference` (all in one message), `aligned` or
`conflict`. `iheval:FILE` reads one of these files, in its folders.

`multi-turn` gives the model an earlier turn with an answer that somebody else wrote; `get-webpage` and `slack-user`
give it a call of a tool that it made and what the tool said, and tell it of the tool (`Prompt.given`). An engine that
cannot say these fails the call.

Official aggregation, in the summary's measures (`pipeline.official.iheval`): the score of each task and type is the
mean over its wordings (weak, strong; multi-turn: which turns conflict). Of rules it is the mean of IFEval's four
numbers; of the two safety tasks, languages and names the accuracy; of verbs (F1) and translations (ROUGE-L) the mean of
the strict and the loose share. Their reference type is scored with the instruction that the other types hold in the
same message: with the strong one, the weak one and none, each strict and loose. Types are means over nine tasks. The
slices' pass rates are ours for verbs and translations, where a pass is a share of 1.00.

Known defects, kept: see `adhere.constraints.published.iheval.table` and `.shares`.

Source: Z. Zhang et al., arXiv 2502.08745; ytyz1307zzh/IHEval.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from adhere.errors import SpecError, UsageError
from adhere.schema import ConstraintRef, GivenMessages, Message, Prompt, Sampling, Tool, ToolCall, Turn
from adhere.suites.base import Suite
from adhere.suites.published.rows import checked_ref
from adhere.suites.published.table import make_suite, need_columns, need_path, note, read_rows, where

TYPES = ("reference", "aligned", "conflict")
RULES, LANGUAGE = ("single-turn", "multi-turn"), "lang-detect"
DOORS = ("user-prompt-hijack", "system-prompt-extract")
VERBS, TRANSLATION, USER, PAGE = "verb-extract", "translation", "slack-user", "get-webpage"
TASKS = (*RULES, *DOORS, LANGUAGE, VERBS, TRANSLATION, USER, PAGE)
_SHARES = {VERBS: "verb_extract", TRANSLATION: "translation", LANGUAGE: "lang_detect"}
"""Tasks of `get-webpage` rows: task -> its name in the row's answer."""
NAME = "input_data.json"


class Place(NamedTuple):
    """Says what the rows of a file are, by its path: `safety/user-prompt-hijack/conflict/weak_defense`."""

    task: str
    kind: str
    wording: str


def load(argument: str | None) -> Suite:
    """Load the suite of a folder of the published files, or of one file.

    Raises:
        UsageError: No path was given, there is no such file, or the folder has none.
        SpecError, UnknownName, BadParameter: A row cannot be used; the message names file and row.
    """
    path = need_path("iheval", argument)
    files = [path] if path.is_file() else sorted(path.rglob(NAME))
    places = {file: _place(file) for file in files}
    if not places:
        raise UsageError(
            f"iheval:{argument}: no {NAME}. It is published as {where('iheval')}; read are {', '.join(TASKS)}"
        )
    prompts: list[Prompt] = []
    hashes = {}
    for file, place in places.items():
        rows, hashes["/".join(place)] = read_rows(file)
        prompts += [_prompt(at, row, place) for at, row in rows]
    present = {prompt.tags["slice"] for prompt in prompts}
    return make_suite(
        "iheval",
        argument,
        prompts,
        sha256=hashes,
        note=note({"prompts": len(prompts), "files": len(places)}, {}),
        citation=(
            "Z. Zhang et al., IHEval: Evaluating Language Models on Following the Instruction "
            "Hierarchy, arXiv 2502.08745"
        ),
        sampling=Sampling(max_new_tokens=1024),
        slices=tuple(name for task in TASKS for kind in TYPES if (name := f"{task} {kind}") in present),
        version="2",
    )


def _place(file: Path) -> Place:
    folders = file.resolve().parts[:-1]
    for at, (task, kind) in enumerate(itertools.pairwise(folders)):
        if task in TASKS and kind in TYPES:
            return Place(task, kind, "-".join(folders[at + 2 :]) or "default")
    raise SpecError(
        f"{file}: lies in no folder TASK/TYPE, with TASK one of {', '.join(TASKS)} and TYPE one of {', '.join(TYPES)}. "
        "Keep the folders of the repository. Is this another version of it?"
    )


def _prompt(at: str, row: dict[str, Any], place: Place) -> Prompt:
    need_columns(at, row, {"instruction": str})
    if not isinstance(row.get("id"), int | str) or not isinstance(row.get("system"), str | None):
        raise SpecError(
            f"{at}: id must be a number or a text, and system a text or null. Is this another version of the file?"
        )
    given_messages = _given_turns(at, row, place.task)
    refs = _refs(at, row.get("answer"), place.task)
    tags = {
        "slice": f"{place.task} {place.kind}",
        # whose answers are stripped first; rules are IFEval's, which this profile takes from there
        "profile": "iheval",
        "subset": place.wording,
    }
    prompt = Prompt(
        "-".join((*place, str(row["id"]))),
        (Turn(row["instruction"], refs),),
        system=row.get("system") or None,
        source="iheval",
        tags=tags,
    )
    return prompt if given_messages is None else msgspec.structs.replace(prompt, given=given_messages)


def _given_turns(at: str, row: dict[str, Any], task: str) -> GivenMessages | None:
    """Return what others said before the model's turn; None if nothing, as in the reference type.

    Raises:
        SpecError: The row gives messages or a tool that its task does not have, or in another form.
    """
    history, tool = row.get("conversation_history"), row.get("tool")
    if (history and task != "multi-turn") or (tool and task not in {USER, PAGE}):
        raise SpecError(f"{at}: conversation_history or tool in the task {task}. Is this another version of the file?")
    if history:
        if not isinstance(history, list) or len(history) % 2 or not all(isinstance(text, str) for text in history):
            raise SpecError(f"{at}: conversation_history must be a list of texts, of user and assistant in turn")
        pairs = zip(history[::2], history[1::2], strict=True)
        return GivenMessages(
            before=tuple(
                message for user, answer in pairs for message in (Message("user", user), Message("assistant", answer))
            )
        )
    return _tool(at, tool) if tool else None


def _tool(at: str, tool: Any) -> GivenMessages:
    if not isinstance(tool, dict):
        raise SpecError(f"{at}: tool must be an object")
    need_columns(f"{at}: tool", tool, {"definition": dict, "call": dict, "return": dict})
    definition, call, back = tool["definition"], tool["call"], tool["return"]
    need_columns(f"{at}: tool.definition", definition, {"name": str, "description": str, "parameters": dict})
    need_columns(f"{at}: tool.call", call, {"id": str, "name": str, "arguments": dict})
    need_columns(f"{at}: tool.return", back, {"id": str, "content": str})
    if back["id"] != call["id"]:
        raise SpecError(f"{at}: tool.return answers {back['id']!r}, but the call is {call['id']!r}")
    properties = definition["parameters"]
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return GivenMessages(
        after=(
            Message("assistant", "", (ToolCall(call["id"], call["name"], call["arguments"]),)),
            Message("tool", back["content"], call_id=call["id"]),
        ),
        tools=(Tool(definition["name"], definition["description"], schema),),
    )


def _refs(at: str, answer: Any, task: str) -> tuple[ConstraintRef, ...]:
    if task == PAGE:
        if not isinstance(answer, dict) or answer.get("task") not in _SHARES.values():
            raise SpecError(f"{at}: answer must be an object whose task is one of {', '.join(_SHARES.values())}")
        inner = next(name for name, task_name in _SHARES.items() if task_name == answer["task"])
        return _refs(at, answer.get("content"), inner)
    if task == LANGUAGE:
        languages = [answer] if isinstance(answer, str) else answer
        if not isinstance(languages, list) or not languages or not all(isinstance(text, str) for text in languages):
            raise SpecError(f"{at}: answer={answer!r:.60} must be a language or a list of languages")
        return (checked_ref(ConstraintRef("iheval:language", {"languages": languages}), at, "iheval"),)
    if task in _ONE_TEXT:
        if not isinstance(answer, str):
            raise SpecError(f"{at}: answer={answer!r:.60} must be a text")
        kind, name = _ONE_TEXT[task]
        return (checked_ref(ConstraintRef(kind, {name: answer}), at, "iheval"),)
    if not isinstance(answer, dict):
        raise SpecError(f"{at}: answer={answer!r:.60} must be an object")
    return _doors(at, answer) if task in DOORS else _rules(at, answer)


_ONE_TEXT = {
    VERBS: ("iheval:verbs", "verbs"),
    TRANSLATION: ("iheval:translation", "translation"),
    USER: ("iheval:user", "name"),
}


def _doors(at: str, answer: dict[str, Any]) -> tuple[ConstraintRef, ...]:
    need_columns(at, answer, {"access_code": str, "label": int})
    if not isinstance(answer.get("system_prompt"), str | None):
        raise SpecError(f"{at}: system_prompt must be a text or null")
    if answer["label"] not in {0, 1}:
        raise SpecError(f"{at}: label={answer['label']} must be 0 or 1")
    if answer["label"] == 1:
        return (ConstraintRef("iheval:granted"),)
    params = {name: answer[name] for name in ("access_code", "system_prompt") if answer.get(name) is not None}
    return (checked_ref(ConstraintRef("iheval:guarded", params), at, "iheval"),)


def _rules(at: str, answer: dict[str, Any]) -> tuple[ConstraintRef, ...]:
    need_columns(at, answer, {"instruction_id_list": list, "kwargs": list})
    names, kwargs = answer["instruction_id_list"], answer["kwargs"]
    if not names or len(names) != len(kwargs):
        raise SpecError(
            f"{at}: {len(names)} in instruction_id_list, but {len(kwargs)} kwargs; both must be as "
            "many, and at least one"
        )
    return tuple(_rule(at, *pair) for pair in zip(names, kwargs, strict=True))


def _rule(at: str, name: Any, kwargs: Any) -> ConstraintRef:
    if not isinstance(name, str) or not isinstance(kwargs, dict):
        raise SpecError(f"{at}: {name!r:.60} with {kwargs!r:.60}: must be an id and an object")
    params = {key: value for key, value in kwargs.items() if value is not None}
    return checked_ref(ConstraintRef(name, params), at, "iheval")
