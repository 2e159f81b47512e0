"""Expressions: what `map` and `branch` compute, in a language that cannot do anything else.

Python's grammar is used for reading only. The tree is walked here, node type by node type, and
a type that is not in the table is refused before a run: there are no attributes, no keyword
arguments, no comprehensions and no names but those of `names`, so nothing can be reached that
was not handed in. Sizes are bounded, because `text * 999999999` needs no attribute to do harm.

Why not simpleeval (MIT, kept up): its escapes were all found in what it offers beyond this,
attribute access above all, and what is left is one table.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiflow.operators.names import missing_name

#: Longest expression, in characters.
MAX_SOURCE = 2_000
#: Longest text that an expression may make, in characters.
MAX_TEXT = 1_000_000

Names = Mapping[str, object]


class Expression:
    """One expression, read and checked once, evaluated for each event.

    Args:
        source: such as `len(text) > 20 and channel == "answer"`.

    Raises:
        ValueError: it cannot be read, or uses what the language does not have.
    """

    def __init__(self, source: str) -> None:
        if len(source) > MAX_SOURCE:
            raise ValueError(f"an expression has at most {MAX_SOURCE:,} characters; shorten it")
        try:
            tree = ast.parse(source.strip(), mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = getattr(error, "msg", None) or "it is nested too deeply"
            raise ValueError(f"{source!r} is no expression: {reason}; mend it") from None
        self.source = source
        self._body = tree.body
        try:
            _check(self._body)
        except RecursionError:
            raise ValueError("the expression is nested too deeply; shorten it") from None

    def evaluate(self, names: Names) -> object:
        """Return the value.

        Raises:
            ValueError: a name is missing, or an operation cannot be done; the sentence says
                which.
        """
        try:
            return _value(self._body, names)
        except (TypeError, ArithmeticError, LookupError, RecursionError, re.error) as error:
            raise ValueError(f"{self.source!r} cannot be computed: {error}") from error


def _value(node: ast.AST, names: Names) -> Any:  # noqa: ANN401 - any value of the language
    return _RULES[type(node)](node, names)


def _check(node: ast.AST) -> None:
    """Refuse what the language does not have.

    Raises:
        ValueError: naming it.
    """
    if type(node) not in _RULES:
        raise ValueError(f"an expression may not hold {_described(node)}; {_HELP}")
    if isinstance(node, ast.Constant) and type(node.value) not in _CONSTANTS:
        raise ValueError(f"an expression may not hold {ast.unparse(node)}; {_HELP}")
    if isinstance(node, ast.Call):
        _check_call(node)
    for operation in _operations_of(node):
        if type(operation) not in _OPERATORS:
            raise ValueError(f"an expression may not use {_described(operation)}; {_HELP}")
    for part in _parts_of(node):
        _check(part)


def _check_call(call: ast.Call) -> None:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in FUNCTIONS:
        raise ValueError(
            f"there is no function {ast.unparse(call.func)}; there are {', '.join(FUNCTIONS)}"
        )
    if call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
        raise ValueError(f"the arguments of {name} are given in a row, without names or stars")
    fewest, most, _ = FUNCTIONS[name]
    if not fewest <= len(call.args) <= most:
        wanted = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        raise ValueError(f"{name} takes {wanted} values, not {len(call.args)}")


def _parts_of(node: ast.AST) -> list[ast.AST]:
    parts = [
        each
        for each in ast.iter_child_nodes(node)
        if not isinstance(each, ast.expr_context | ast.operator | ast.cmpop | ast.unaryop)
        and not isinstance(each, ast.boolop)
    ]
    return [each for each in parts if not (isinstance(node, ast.Call) and each is node.func)]


def _operations_of(node: ast.AST) -> Sequence[ast.AST]:
    if isinstance(node, ast.Compare):
        return node.ops
    return [node.op] if isinstance(node, ast.BinOp | ast.UnaryOp) else []


def _described(node: ast.AST) -> str:
    return _WORDS.get(type(node), type(node).__name__.lower())


def _name(node: ast.Name, names: Names) -> object:
    if node.id not in names:
        raise missing_name(node.id, names)
    return names[node.id]


def _bool(node: ast.BoolOp, names: Names) -> object:
    # As in Python, the last value that was looked at; the rest is never computed.
    wanted = isinstance(node.op, ast.Or)
    value: object = None
    for part in node.values:
        value = _value(part, names)
        if bool(value) is wanted:
            break
    return value


def _unary(node: ast.UnaryOp, names: Names) -> object:
    return _OPERATORS[type(node.op)](_value(node.operand, names))


def _binary(node: ast.BinOp, names: Names) -> object:
    return _OPERATORS[type(node.op)](_value(node.left, names), _value(node.right, names))


def _compare(node: ast.Compare, names: Names) -> bool:
    left = _value(node.left, names)
    for operation, part in zip(node.ops, node.comparators, strict=True):
        right = _value(part, names)
        if not _OPERATORS[type(operation)](left, right):
            return False
        left = right
    return True


def _choice(node: ast.IfExp, names: Names) -> object:
    return _value(node.body if _value(node.test, names) else node.orelse, names)


def _call(node: ast.Call, names: Names) -> object:
    assert isinstance(node.func, ast.Name)
    values = [_value(each, names) for each in node.args]
    return FUNCTIONS[node.func.id][2](*values)


def _item(node: ast.Subscript, names: Names) -> object:
    held = _value(node.value, names)
    if not isinstance(held, str | list | tuple | Mapping):
        raise TypeError(f"a {type(held).__name__} has no parts")
    return held[_value(node.slice, names)]


def _slice(node: ast.Slice, names: Names) -> slice:
    ends = (node.lower, node.upper, node.step)
    return slice(*(None if each is None else _value(each, names) for each in ends))


def _list(node: ast.List | ast.Tuple, names: Names) -> list[object]:
    return [_value(each, names) for each in node.elts]


def _number(value: object) -> int | float:
    if not isinstance(value, int | float):
        raise TypeError(f"a number is wanted, not {value!r:.40}")
    return value


def _plus(left: Any, right: Any) -> object:  # noqa: ANN401 - any plain value
    if isinstance(left, str) and isinstance(right, str):
        return _bounded(len(left) + len(right)) and left + right
    return _number(left) + _number(right)


def _times(left: object, right: object) -> object:
    if isinstance(left, str) and isinstance(right, int):
        return left * right if _bounded(len(left) * max(0, right)) else ""
    return _number(left) * _number(right)


def _bounded(length: int) -> bool:
    if length > MAX_TEXT:
        raise TypeError(f"a text would get longer than {MAX_TEXT:,} characters")
    return True


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, not {value!r:.40}; write str(…)")
    return value


def _replace(text: object, old: object, new: object) -> str:
    text, old, new = _text(text), _text(old), _text(new)
    _bounded(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join(parts: object, between: object = " ") -> str:
    if not isinstance(parts, list):
        raise TypeError("join takes a list")
    texts = [str(each) for each in parts]
    between = _text(between)
    _bounded(sum(map(len, texts)) + len(between) * len(texts))
    return between.join(texts)


def _whole(value: Any) -> int:  # noqa: ANN401 - any plain value
    try:
        return int(value)
    except (ValueError, OverflowError):
        raise TypeError(f"{value!r:.40} is no whole number") from None


def _real(value: Any) -> float:  # noqa: ANN401 - any plain value
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise TypeError(f"{value!r:.40} is no number") from None


#: Function -> fewest and most values it takes, and what it does with them.
FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "len": (1, 1, len),
    "str": (1, 1, str),
    "int": (1, 1, _whole),
    "float": (1, 1, _real),
    "abs": (1, 1, lambda value: abs(_number(value))),
    "round": (1, 2, lambda value, digits=0: round(_number(value), digits)),
    "min": (2, 9, lambda *values: min(map(_number, values))),
    "max": (2, 9, lambda *values: max(map(_number, values))),
    "upper": (1, 1, lambda text: _text(text).upper()),
    "lower": (1, 1, lambda text: _text(text).lower()),
    "title": (1, 1, lambda text: _text(text).title()),
    "strip": (1, 1, lambda text: _text(text).strip()),
    "words": (1, 1, lambda text: _text(text).split()),
    "lines": (1, 1, lambda text: _text(text).splitlines()),
    "join": (1, 2, _join),
    "replace": (3, 3, _replace),
    "starts": (2, 2, lambda text, part: _text(text).startswith(_text(part))),
    "ends": (2, 2, lambda text, part: _text(text).endswith(_text(part))),
    "count": (2, 2, lambda text, part: _text(text).count(_text(part))),
    "matches": (2, 2, lambda text, pattern: bool(re.search(_text(pattern), _text(text)))),
}

_CONSTANTS = (str, int, float, bool, type(None))
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _plus,
    ast.Sub: lambda left, right: _number(left) - _number(right),
    ast.Mult: _times,
    ast.Div: lambda left, right: _number(left) / _number(right),
    ast.FloorDiv: lambda left, right: _number(left) // _number(right),
    # Of numbers only: on a text it would be the old way to format, with widths.
    ast.Mod: lambda left, right: _number(left) % _number(right),
    ast.Not: operator.not_,
    ast.USub: lambda value: -_number(value),
    ast.UAdd: _number,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda part, whole: part in whole,
    ast.NotIn: lambda part, whole: part not in whole,
}
_RULES: dict[type[ast.AST], Callable[[Any, Names], Any]] = {
    ast.Constant: lambda node, names: node.value,
    ast.Name: _name,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.Call: _call,
    ast.Subscript: _item,
    ast.Slice: _slice,
    ast.List: _list,
    ast.Tuple: _list,
}
_WORDS: dict[type[ast.AST], str] = {
    ast.Attribute: "a point behind a value",
    ast.Lambda: "lambda",
    ast.NamedExpr: "an assignment",
    ast.Pow: "a power",
}
_HELP = "it has values, names, arithmetic, comparisons, and, or, not, if-else and functions"
