"""Held-out family: Python that a model wrote.

`code:passes` runs it in the sandbox, `code:form` reads its syntax tree. Never trained on. If this machine cannot
isolate code, nothing runs and the verdict of `code:passes` is undecided.
"""

from __future__ import annotations

import ast
import json
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Self

from adhere import sandbox
from adhere.constraints.base import Choice, Finding, Words, kind, param
from adhere.constraints.finding import Fault, FinalFailure
from adhere.constraints.kinds.held_out.exact import AnswerText
from adhere.constraints.rule import HeldOut, accept, decide, reject
from adhere.text.parts import code_blocks

LONGEST = 20_000
"""The most characters of code that are read."""
_NAME = Words(60)
_CALLER = """

def __adhere_calls(cases):
    outcomes = []
    for arguments in cases:
        try:
            outcomes.append([True, {function}(*arguments)])
        except Exception as error:
            outcomes.append([False, type(error).__name__])
    return outcomes
"""


def code_of(text: str, function: str) -> str | None:
    """Return the first fenced block (or, without blocks, the answer) that defines the function; None if none does."""
    header = f"def {function}("
    if header not in text:
        return None
    blocks = [text[block.span[0] : block.span[1]] for block in code_blocks(text)]
    code = next((block for block in blocks if header in block), text if not blocks else None)
    return code if code is not None and len(code) <= LONGEST else None


def _trees(code: str, function: str) -> tuple[ast.Module, ast.FunctionDef] | None:
    """Return the syntax trees of all the code and of the function; None if the code has no such function."""
    try:
        with warnings.catch_warnings():  # an invalid escape in the answer is no concern of ours
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    definitions = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    return next(((tree, node) for node in definitions), None)


class _Code(HeldOut):
    is_task = True
    function: str

    def problem(self) -> str | None:
        return None if self.function.isidentifier() else f"function={self.function!r} must be a name in Python"

    def judge(self, text: str) -> Finding:
        code = code_of(text, self.function)
        if code is None:
            return reject(f"no code defines {self.function}", score=0)
        return self.judge_code(code)

    def judge_code(self, code: str) -> Finding:
        """Judge code that seems to define the function; `judge` fails other answers."""
        raise NotImplementedError

    def counter_witness(self) -> str:
        return "There is no code here."


@kind
class Passes(_Code):
    r"""The function returns what it must for hidden calls.

    With double, [[[2], 4]]: "def double(n):\n    return 2 * n" passes, without code it fails. `cases` is a JSON list
    of [arguments, value], which no wording says. The code is run twice, isolated, for a second each.
    """

    id = "code:passes"
    version = 2
    runs_code = True
    phrasings = (
        "Write a Python function `{function}`; hidden calls check what it returns.",
        "Your answer must hold Python code that defines `{function}` and is right for every hidden call.",
        "Define `{function}` in Python. It is run on examples that you do not see.",
        "The Python function `{function}` must return the right value each time it is called.",
    )
    passing = ({"function": "double", "cases": "[[[2], 4]]"}, "```python\ndef double(n):\n    return 2 * n\n```")
    failing = ({"function": "double", "cases": "[[[2], 4]]"}, "There is no code here.")

    function: str = param(_NAME)
    cases: str = param(AnswerText(), said=False)

    def problem(self) -> str | None:
        return super().problem() or (
            None if self._cases() else "cases must be a JSON list of [arguments, value], not empty"
        )

    def _cases(self) -> list[Any] | None:
        try:
            cases = json.loads(self.cases)
        except ValueError:
            return None
        fits = isinstance(cases, list) and all(
            isinstance(case, list) and len(case) == 2 and isinstance(case[0], list) for case in cases
        )
        return cases if fits else None

    def judge_code(self, code: str) -> Finding:
        cases = self._cases() or []
        caller = _CALLER.format(function=self.function)
        outcome = sandbox.run(code + caller, "__adhere_calls", [[arguments for arguments, _ in cases]])
        if outcome.status == "refused":
            return Finding("undecided", f"not run: {outcome.reason}")
        if outcome.waited:
            return Fault("undecided", f"not run to its end: {outcome.reason}")
        if outcome.status != "ok" or not isinstance(outcome.value, list) or len(outcome.value) != len(cases):
            return _final(reject(f"{outcome.status}: {outcome.reason[:200] or 'it returned something else'}", score=0))
        right = [reply == [True, value] for reply, (_, value) in zip(outcome.value, cases, strict=True)]
        first = next((at for at, ok in enumerate(right) if not ok), None)
        if first is None:
            return accept(
                f"right in {len(cases)} of {len(cases)} calls", measured=len(cases), needed=len(cases), score=1.0
            )
        got = json.dumps(outcome.value[first])[:80]
        reason = f"right in {sum(right)} of {len(cases)} calls; call {first + 1} gave {got}"
        return _final(reject(reason, measured=sum(right), needed=len(cases), score=sum(right) / len(cases)))

    @classmethod
    def draw(cls, rng: random.Random, *, words: Sequence[str]) -> Self:
        numbers = rng.sample(range(2, 99), 3)
        return cls(rng.choice(("echo", "same", "give_back")), json.dumps([[[n], n] for n in numbers]))

    def witness(self) -> str:
        values = {json.dumps(arguments): value for arguments, value in self._cases() or []}
        body = f"    import json\n    return json.loads({json.dumps(values)!r})[json.dumps(list(given))]"
        return f"```python\ndef {self.function}(*given):\n{body}\n```"


def _final(finding: Finding) -> FinalFailure:
    """Return the failure as one that the loose view does not judge again.

    The loose variants of an answer lack stars or lines, so code in them is broken, and judging would run it.
    """
    return FinalFailure(*finding)


def _no(*kinds: type[ast.AST]) -> Callable[[ast.AST], bool]:
    return lambda tree: not any(isinstance(node, kinds) for node in ast.walk(tree))


def _has_hints(tree: ast.FunctionDef) -> bool:
    rest = [argument for argument in (tree.args.vararg, tree.args.kwarg) if argument is not None]
    arguments = [*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs, *rest]
    return tree.returns is not None and all(argument.annotation is not None for argument in arguments)


def _one_return(tree: ast.FunctionDef) -> bool:
    return sum(isinstance(node, ast.Return) for node in ast.walk(tree)) == 1


_NO_IMPORT = "no import"
FORMS: dict[str, Callable[[Any], bool]] = {
    "no for or while statement": _no(ast.For, ast.While, ast.AsyncFor),
    _NO_IMPORT: _no(ast.Import, ast.ImportFrom),
    "no lambda": _no(ast.Lambda),
    "a docstring": lambda tree: bool(ast.get_docstring(tree)),
    "type hints for every argument and for the result": _has_hints,
    "exactly one return statement": _one_return,
}
"""Rules about the form of a function: the rule's words -> a judge of the syntax tree."""


@kind
class Form(_Code):
    r"""The function's code keeps a rule about its form.

    With "no lambda": "def f(n):\n    return n" passes; one with a lambda fails.
    """

    id = "code:form"
    version = 3
    phrasings = (
        "The Python function `{function}` must have this form: {form}.",
        "Write `{function}` in Python with {form}.",
        "For the code of `{function}` (Python) this holds: {form}.",
        "Mind the form of the Python function `{function}`: {form}.",
    )
    passing = ({"function": "f", "form": "no lambda"}, "```python\ndef f(n):\n    return n\n```")
    failing = ({"function": "f", "form": "no lambda"}, "```python\ndef f(n):\n    return (lambda m: m)(n)\n```")
    right_text = '```python\ndef {function}(n: int) -> int:\n    """Give it back."""\n    return n\n```'

    function: str = param(_NAME, drawn=("f", "run", "solve"))
    form: str = param(Choice(tuple(FORMS)), drawn=tuple(FORMS))

    def judge_code(self, code: str) -> Finding:
        trees = _trees(code, self.function)
        if trees is None:
            return reject(f"{self.function} is not readable as a Python function")
        module, tree = trees
        ok = FORMS[self.form](module if self.form == _NO_IMPORT else tree)  # an import above serves the function, too
        return decide(ok, f"{'keeps' if ok else 'breaks'} the form: {self.form}", needed=self.form)
