"""Compute what small Python functions return by walking their syntax tree: nothing is compiled or run.

Supported are numbers, texts, lists, tuples, comparisons, conditions, `for` over lists, comprehensions with one `for`,
calls of functions of the same repository and of a few built-in ones. Anything else raises Incomputable.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

MOST_STEPS, MOST_DEPTH, MOST_BITS, MOST_LENGTH = 20_000, 20, 512, 1_000
_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod,
}  # fmt: skip
_COMPARISONS: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.In: lambda entry, many: entry in many, ast.NotIn: lambda entry, many: entry not in many,
}  # fmt: skip
_BUILT_IN: Mapping[str, Callable[..., Any]] = {
    function.__name__: function for function in (abs, bool, float, int, len, list, max, min, round, sorted, str, sum)
}
_METHODS = frozenset("upper lower strip title capitalize split startswith endswith count".split())


class Incomputable(Exception):
    """Says why code cannot be computed here, or why it fails."""


class _ReturnSignal(Exception):
    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Program:
    """Computes with the modules of a repository.

    Args:
        sources: Text by dotted name.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources, self._trees = sources, dict[str, ast.Module]()
        self._left, self._depth = MOST_STEPS, 0

    def call(self, module: str, name: str, *arguments: Any) -> Any:
        """Return what a function of a module returns.

        Raises:
            Incomputable: There is no such function, it cannot be computed here, or it fails.
        """
        return self._guarded(lambda: self._call(module, name, list(arguments)))

    def check(self, module: str, test: ast.expr) -> bool:
        """Tell whether an expression, evaluated in a module, is true.

        Raises:
            Incomputable: The expression cannot be computed here, or it fails.
        """
        return bool(self._guarded(lambda: self._value(test, module, {})))

    def _guarded(self, compute: Callable[[], Any]) -> Any:
        self._left, self._depth = MOST_STEPS, 0
        try:
            return compute()
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
            raise Incomputable(f"{type(error).__name__}: {error}") from error

    def _tree(self, module: str) -> ast.Module:
        if module not in self._sources:
            raise Incomputable(f"there is no module {module}")
        if module not in self._trees:
            try:
                self._trees[module] = ast.parse(self._sources[module])
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise Incomputable(f"{module}: {type(error).__name__}: {error}") from error
        return self._trees[module]

    def _find(self, module: str, name: str) -> tuple[str, ast.stmt | None]:
        """Find the module and the statement that define a name, following imports; None if there is no statement."""
        for statement in reversed(self._tree(module).body):
            targets = statement.targets if isinstance(statement, ast.Assign) else ()
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return module, statement
            if any(isinstance(to, ast.Name) and to.id == name for to in targets):
                return module, statement
            if isinstance(statement, ast.ImportFrom) and statement.module:
                for alias in statement.names:
                    if (alias.asname or alias.name) == name:
                        return self._find(statement.module, alias.name)
        return module, None

    def _call(self, module: str, name: str, arguments: list[Any]) -> Any:
        module, function = self._find(module, name)
        if not isinstance(function, ast.FunctionDef):
            raise Incomputable(f"{module} has no function {name}")
        parameters = [parameter.arg for parameter in function.args.args]
        defaults = [self._value(default, module, {}) for default in function.args.defaults]
        missing = len(parameters) - len(arguments)
        if (
            missing < 0
            or missing > len(defaults)
            or function.args.vararg
            or function.args.kwarg
            or function.args.kwonlyargs
        ):
            raise Incomputable(f"{name} takes {len(parameters)} arguments, got {len(arguments)}")
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise Incomputable(f"{name}: calls are nested more than {MOST_DEPTH} deep")
        values = [*arguments, *defaults[len(defaults) - missing :]]
        try:
            self._body(function.body, module, dict(zip(parameters, values, strict=True)))
        except _ReturnSignal as returned:
            return returned.value
        finally:
            self._depth -= 1
        return None

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Incomputable(f"it takes more than {MOST_STEPS:,} steps")

    def _body(self, body: list[ast.stmt], module: str, names: dict[str, Any]) -> None:
        for statement in body:
            self._step()
            match statement:
                case ast.Return():
                    raise _ReturnSignal(statement.value and self._value(statement.value, module, names))
                case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                    statement.value
                ):
                    names[name] = self._value(statement.value, module, names)
                case ast.AugAssign(target=ast.Name(id=name)):
                    now = self._value(ast.Name(name, ast.Load()), module, names)
                    names[name] = _limit(_binary(statement.op, now, self._value(statement.value, module, names)))
                case ast.If():
                    is_true = self._value(statement.test, module, names)
                    self._body(statement.body if is_true else statement.orelse, module, names)
                case ast.For(target=ast.Name(id=name)):
                    for value in list(self._value(statement.iter, module, names)):
                        names[name] = value
                        self._body(statement.body, module, names)
                case ast.Expr() | ast.Pass():
                    pass
                case _:
                    raise Incomputable(f"line {statement.lineno}: {type(statement).__name__} is unknown here")

    def _value(self, expression: ast.expr, module: str, names: dict[str, Any]) -> Any:  # noqa: C901, PLR0911, PLR0912 - one branch a form
        self._step()

        def value(of: ast.expr) -> Any:
            return self._value(of, module, names)

        match expression:
            case ast.Constant():
                return expression.value
            case ast.Name(id=name):
                if name in names:
                    return names[name]
                where, definition = self._find(module, name)
                if isinstance(definition, ast.Assign):
                    return self._value(definition.value, where, {})
                raise Incomputable(f"the name {name} is unknown here")
            case ast.BinOp():
                return _limit(_binary(expression.op, value(expression.left), value(expression.right)))
            case ast.UnaryOp(op=ast.USub()):
                return -value(expression.operand)
            case ast.UnaryOp(op=ast.Not()):
                return not value(expression.operand)
            case ast.BoolOp():
                last: Any = None
                for part in expression.values:
                    last = value(part)
                    if bool(last) is isinstance(expression.op, ast.Or):
                        break
                return last
            case ast.Compare():
                left = value(expression.left)
                for op, of in zip(expression.ops, expression.comparators, strict=True):
                    right = value(of)
                    if type(op) not in _COMPARISONS:
                        raise Incomputable(f"{type(op).__name__} is unknown here")
                    if not _COMPARISONS[type(op)](left, right):
                        return False
                    left = right
                return True
            case ast.IfExp():
                return value(expression.body if value(expression.test) else expression.orelse)
            case ast.List() | ast.Tuple():
                values = [value(part) for part in expression.elts]
                return values if isinstance(expression, ast.List) else tuple(values)
            case ast.Subscript(slice=ast.Constant() | ast.UnaryOp() | ast.Name() | ast.BinOp()):
                return value(expression.value)[value(expression.slice)]
            case ast.JoinedStr():
                return _limit("".join(str(value(part)) for part in expression.values))
            case ast.FormattedValue(format_spec=None):
                return value(expression.value)
            case ast.ListComp(generators=[generator]) | ast.GeneratorExp(generators=[generator]):
                return self._comprehended(expression.elt, generator, module, names)
            case ast.Call(keywords=[]):
                return self._called(expression, module, names)
        raise Incomputable(f"line {expression.lineno}: {type(expression).__name__} is unknown here")

    def _comprehended(
        self, element: ast.expr, generator: ast.comprehension, module: str, names: dict[str, Any]
    ) -> list[Any]:
        if not isinstance(generator.target, ast.Name):
            raise Incomputable("a comprehension over several names is unknown here")
        values = []
        for value in list(self._value(generator.iter, module, names)):
            inner = names | {generator.target.id: value}
            if all(self._value(test, module, inner) for test in generator.ifs):
                values.append(self._value(element, module, inner))
        return values

    def _called(self, call: ast.Call, module: str, names: dict[str, Any]) -> Any:
        arguments = [self._value(part, module, names) for part in call.args]
        if isinstance(call.func, ast.Attribute):
            text = self._value(call.func.value, module, names)
            if not isinstance(text, str) or call.func.attr not in _METHODS:
                raise Incomputable(f"the method {call.func.attr} is unknown here")
            return _limit(getattr(text, call.func.attr)(*arguments))
        if not isinstance(call.func, ast.Name):
            raise Incomputable(f"line {call.lineno}: such a call is unknown here")
        if self._find(module, call.func.id)[1] is None and call.func.id in _BUILT_IN:
            return _limit(_BUILT_IN[call.func.id](*arguments))
        return self._call(module, call.func.id, arguments)


def _binary(op: ast.operator, left: Any, right: Any) -> Any:
    if type(op) not in _BINARY:
        raise Incomputable(f"{type(op).__name__} is unknown here")
    if isinstance(op, ast.Mult):
        for text, times in ((left, right), (right, left)):
            if isinstance(text, str | list | tuple) and isinstance(times, int) and len(text) * times > MOST_LENGTH:
                raise Incomputable("a value is too long")
    if isinstance(op, ast.Mod) and isinstance(left, str):
        raise Incomputable("formatting by % is unknown here")
    return _BINARY[type(op)](left, right)


def _limit(value: Any) -> Any:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise Incomputable("a number is too large")
    if isinstance(value, str | list | tuple) and len(value) > MOST_LENGTH:
        raise Incomputable("a value is too long")
    return value
