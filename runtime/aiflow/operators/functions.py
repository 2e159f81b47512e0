"""`@operator`: an operator out of a plain function, its ports and params read off its types.

The function's first argument is the payload, its keyword-only arguments are the params, and
one called `scope` is handed the scope. What a class can say beside (ports by name, state,
resources) goes into the decorator; who needs more writes a class, see `base`.
"""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any

from pydantic import Field, create_model
from pydantic.fields import FieldInfo

from aiflow import events
from aiflow.operators.base import Emit, NoParams, Operator, Params, Port
from aiflow.operators.scope import Scope
from aiflow.types import (
    ANY,
    AUDIO,
    CHUNK,
    CONTROL,
    JOINED,
    MESSAGE,
    RETRIEVAL,
    SAFETY,
    TOKEN,
    TOOL_CALL,
    TOOL_FRAGMENT,
    TOOL_RESULT,
    PortType,
    least_common,
)

_TYPES: dict[object, PortType] = {
    events.Token: TOKEN,
    events.Chunk: CHUNK,
    events.Message: MESSAGE,
    events.ToolFragment: TOOL_FRAGMENT,
    events.ToolCall: TOOL_CALL,
    events.ToolResult: TOOL_RESULT,
    events.Retrieval: RETRIEVAL,
    events.SafetyLabel: SAFETY,
    events.Joined: JOINED,
    events.Audio: AUDIO,
    events.Control: CONTROL,
    Any: ANY,
    object: ANY,
}
_SEVERAL = (
    *(list, collections.abc.Iterator, collections.abc.Iterable, collections.abc.Generator),
    *(collections.abc.AsyncIterator, collections.abc.AsyncIterable),
    collections.abc.AsyncGenerator,
)

Function = Callable[..., Any]
#: Raises where a result is not what the function says.
Check = Callable[[object], None]


@typing.overload
def operator(function: Function, /) -> type[Operator[Any]]: ...
@typing.overload
def operator(
    *,
    name: str = "",
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
    **declared: Any,
) -> Callable[[Function], type[Operator[Any]]]: ...


def operator(
    function: Function | None = None,
    /,
    *,
    name: str = "",
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
    **declared: Any,
) -> type[Operator[Any]] | Callable[[Function], type[Operator[Any]]]:
    """Make an operator of a function.

    Args:
        function: takes the payload; see the module.
        name: its id in files; by default the function's, with `-` for `_`.
        inputs: ports in place of the one called `in`, whose type is the payload's.
        outputs: ports in place of the one called `out`, whose type is the result's.
        declared: any other attribute of `Operator`, such as `state` or `max_outputs`.

    Raises:
        TypeError: the function's types do not say what it takes or gives.
    """
    if function is None:
        return lambda each: _made(each, name, inputs, outputs, declared)
    return _made(function, name, inputs, outputs, declared)


def _made(
    function: Function,
    name: str,
    inputs: Sequence[Port] | None,
    outputs: Sequence[Port] | None,
    declared: dict[str, Any],
) -> type[Operator[Any]]:
    unknown = [key for key in declared if not hasattr(Operator, key) or key.startswith("_")]
    if unknown:
        raise TypeError(f"{function.__name__}: an operator has no {', '.join(unknown)}")
    hints = typing.get_type_hints(function, include_extras=True)
    arguments = list(inspect.signature(function).parameters.values())
    if not arguments:
        raise TypeError(f"{function.__name__}: its first argument must be the payload")
    payload = arguments[0].name
    if inputs is None:
        taken = _port_type(function, f"argument {payload}", hints.get(payload, inspect.Parameter))
        inputs = (Port("in", taken, "what comes in"),)
    check: Check | None = None
    if outputs is None:
        given = _single(hints.get("return", inspect.Parameter))
        outputs = ()
        if given not in (None, type(None)):
            told = _port_type(function, "result", given)
            outputs = (Port("out", told, "what goes out"),)
            check = None if told.takes_all else _check(function, told)
    title = function.__name__.replace("_", " ").capitalize()
    body = {
        "name": name or function.__name__.replace("_", "-"),
        "title": title,
        "category": "text" if outputs else "sinks",
        "summary": (inspect.getdoc(function) or f"{title}.").splitlines()[0],
        "inputs": tuple(inputs),
        "outputs": tuple(outputs),
        "Params": _params(function, arguments[1:], hints),
        "process": _process(function, any(each.name == "scope" for each in arguments), check),
        "__doc__": function.__doc__,
        "__module__": function.__module__,
        **declared,
    }
    return type(function.__name__, (Operator,), body)


def _params(
    function: Function, arguments: Sequence[inspect.Parameter], hints: dict[str, Any]
) -> type[Params]:
    """Return a model of the keyword-only arguments."""
    fields: dict[str, Any] = {}
    for each in arguments:
        if each.name == "scope":
            continue
        if each.kind is not inspect.Parameter.KEYWORD_ONLY:
            raise TypeError(f"{function.__name__}: put * before {each.name}, so that it is a param")
        default = ... if each.default is inspect.Parameter.empty else each.default
        hint = hints.get(each.name, Any)
        given = typing.get_args(hint)[1:] if typing.get_origin(hint) is Annotated else ()
        is_named = any(isinstance(part, FieldInfo) and part.title for part in given)
        title = None if is_named else each.name.replace("_", " ").capitalize()
        field = Field(default) if title is None else Field(default, title=title)
        fields[each.name] = (hint, field)
    if not fields:
        return NoParams
    return create_model(
        f"{function.__name__}_params",
        __base__=Params,
        __module__=function.__module__,
        **fields,
    )


def _check(function: Function, told: PortType) -> Check:
    """Return what raises where a result is of another type than the function says.

    Without it the next node would fail, and be blamed. What a generator yields is not looked at.
    """
    fitting = tuple(
        kind for kind, type_ in _TYPES.items() if isinstance(kind, type) and told.accepts(type_)
    )
    unseen = frozenset((*fitting, type(None)))

    def check(result: object) -> None:
        if type(result) in unseen:
            return
        for output in result if isinstance(result, list) else (result,):
            if not isinstance(output, (*fitting, Emit, collections.abc.Iterator, type(None))):
                raise TypeError(
                    f"{function.__name__} returned a {type(output).__name__}, and its result is"
                    f" said to be a {' or '.join(kind.__name__ for kind in fitting)}"
                )

    return check


def _process(function: Function, takes_scope: bool, check: Check | None) -> Function:
    """Return the method, of the same kind as the function: the engine looks at that."""

    def arguments(self: Operator[Any], scope: Scope) -> dict[str, Any]:
        # Not `model_dump`, which would turn models and enums into plain values.
        given = {name: getattr(self.params, name) for name in type(self.params).model_fields}
        return {**given, "scope": scope} if takes_scope else given

    if inspect.isasyncgenfunction(function):

        async def streams(
            self: Operator[Any],
            payload: Any,  # noqa: ANN401 - payloads are any type
            scope: Scope,
        ) -> AsyncIterator[Any]:
            async for output in function(payload, **arguments(self, scope)):
                yield output

        return streams
    if inspect.iscoroutinefunction(function):

        async def waits(self: Operator[Any], payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
            result = await function(payload, **arguments(self, scope))
            if check is not None:
                check(result)
            return result

        return waits

    def calls(self: Operator[Any], payload: Any, scope: Scope) -> Any:  # noqa: ANN401 - payloads are any type
        result = function(payload, **arguments(self, scope))
        if check is not None:
            check(result)
        return result

    return calls


def _single(hint: Any) -> Any:  # noqa: ANN401 - any type
    """Return the type of one output: without None, out of its list or iterator."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _SEVERAL and inner:
        return _single(inner[0])
    if origin in (typing.Union, types.UnionType):
        left = [each for each in inner if each is not type(None)]
        return left[0] if len(left) == 1 else typing.Union[tuple(left)]  # noqa: UP007 - made here
    return hint


def _port_type(function: Function, what: str, hint: Any) -> PortType:  # noqa: ANN401 - annotations are any object
    """Return the narrowest port type for a payload's type."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    parts = typing.get_args(hint) if is_union else (hint,)
    found = [_TYPES[part] for part in parts if part in _TYPES]
    if len(found) < len(parts):
        raise TypeError(
            f"{function.__name__}: the {what} needs a payload's type, such as Chunk,"
            " or name the ports yourself"
        )
    return least_common(found)
