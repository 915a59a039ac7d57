"""Requests that have a model write checks, and readers of its replies."""

from __future__ import annotations

import ast
import json
import re
from typing import NamedTuple

FUNCTION = "evaluate"
CASES = 6
MOST_SOURCE = 8000
# A cheap refusal before anything runs; the sandbox is what isolates.
ALLOWED_IMPORTS = frozenset({
    "re", "json", "math", "string", "collections", "itertools", "functools", "unicodedata", "datetime", "decimal",
    "fractions", "statistics", "textwrap", "difflib", "operator", "html", "typing", "enum", "dataclasses", "calendar",
    "bisect", "heapq", "csv", "io", "ast", "numbers",
})  # fmt: skip
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_LABELS = {"true": True, "false": False}


class Case(NamedTuple):
    """An answer and whether it keeps the instruction."""

    response: str
    passes: bool


class Function(NamedTuple):
    """Holds Python text that defines `evaluate`."""

    source: str
    shape: str  # its syntax tree as text: equal for texts that differ in blanks and comments only


def function_request(instruction: str) -> str:
    """Return the request that has a model write one function, which checks answers to an instruction."""
    return (
        f"Here is a rule for an answer:\n{json.dumps(instruction, ensure_ascii=False)}\n\n"
        f"Write a Python function {FUNCTION}(response) that gets the answer as a str and returns True if the answer "
        "keeps the rule and False if it does not. Where the rule can be meant in several ways, accept each of them. "
        "Use only the standard library. Write one code block and nothing else."
    )


def cases_request(instruction: str) -> str:
    """Return the request that has a model write answers to an instruction, each with whether it keeps it.

    The functions are not shown.
    """
    return (
        f"Here is a rule for an answer:\n{json.dumps(instruction, ensure_ascii=False)}\n\n"
        f"Write {CASES} short answers on different topics: {CASES // 2} that keep the rule and {CASES // 2} that "
        "break it, some of these only just. "
        'Write them as a JSON list of objects like {"response": "the answer", "passes": true} and write nothing else.'
    )


def meaning_request(function: Function) -> str:
    """Return the request that has a model say in one sentence what a function checks; the instruction is not shown."""
    return (
        f"Here is a Python function that checks an answer:\n```python\n{function.source}\n```\n"
        "Say in one sentence, as an instruction to a writer, what an answer must do to pass. Write only that sentence."
    )


def same_request(instruction: str, meaning: str) -> str:
    """Return the request to tell whether two instructions ask for the same thing.

    The second was written by a model, so both come as data, with the question after them.
    """
    pair = json.dumps({"first": instruction, "second": meaning}, ensure_ascii=False)
    return (
        f"Two rules for an answer, as data:\n{pair}\n\nDo both ask for the same thing? Answer with one word: YES or NO."
    )


def read_function(text: str) -> Function | str:
    """Return the function in a model's answer, or a text that says why there is none."""
    blocks = _FENCED.findall(text)
    sources = [block for block in blocks if f"def {FUNCTION}" in block] or (
        [text] if f"def {FUNCTION}" in text and not blocks else []
    )
    if not sources:
        return f"no code block with a function {FUNCTION}"
    source = sources[0].strip() + "\n"
    if len(source) > MOST_SOURCE:
        return f"longer than {MOST_SOURCE} characters"
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"no Python: {type(error).__name__}"
    if not any(isinstance(node, ast.FunctionDef) and node.name == FUNCTION for node in tree.body):
        return f"no function {FUNCTION} at the top level"
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
        for name in names:
            if name.partition(".")[0] not in ALLOWED_IMPORTS:
                return f"imports {name[:40]}"
    return Function(source, ast.dump(tree))


def read_cases(text: str) -> tuple[list[Case], list[str]]:
    """Return (cases, reasons for leaving entries out) from a model's answer.

    A case's `passes` must be a JSON truth value or the text `true` or `false`.
    """
    entries = _json_list(text)
    if entries is None:
        return [], ["no JSON list"]
    cases, problems = [], []
    for item in entries:
        if not isinstance(item, dict) or not isinstance(item.get("response"), str) or "passes" not in item:
            problems.append("no object with response and passes")
            continue
        label = item["passes"]
        if isinstance(label, str):  # AutoIF compared "True" with True, and lost the case
            label = _LABELS.get(label.strip().lower())
        if not isinstance(label, bool):
            problems.append("a label that is no truth value")
        elif not item["response"].strip() or len(item["response"]) > 4000:
            problems.append("an answer without text or with more than 4000 characters")
        else:
            cases.append(Case(item["response"], label))
    return cases, problems


def _json_list(text: str) -> list[object] | None:
    for candidate in [*_FENCED.findall(text), text]:
        start, end = candidate.find("["), candidate.rfind("]")
        if 0 <= start < end:
            try:
                json_value = json.loads(candidate[start : end + 1])
            except (ValueError, RecursionError):
                continue
            if isinstance(json_value, list):
                return json_value
    return None


def read_same(text: str) -> bool | None:
    """Read an answer that is YES or NO and nothing else; None for any other answer."""
    return {"yes": True, "no": False}.get(text.strip().strip(".!*\"'").lower())
