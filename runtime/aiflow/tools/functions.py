"""`@tool`: a tool out of a Python function, its schema read off its types.

The docstring is what the model reads of it. An argument called `context` is not shown to the
model: the function is handed a `ToolContext` there. A plain function blocks its thread, so it
runs in one of its own; a coroutine function is awaited.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import typing
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from aiflow.errors import ToolError, words_of
from aiflow.providers.messages import ToolSpec
from aiflow.tools.schema import NAME, fitting_name, shown_faults
from aiflow.tools.tool import ToolAnswer, ToolContext, ToolEffect
from aiflow.transport.excerpt import redact, shorten

P = ParamSpec("P")
R = TypeVar("R")

_CONTEXT = "context"


class PythonTool(Generic[P, R]):
    """A function that a model may ask for; it can still be called as what it is.

    Args:
        function: with a type for each argument.
        name: as the model is shown it; by default the function's.
        effect: what calling it twice would do.

    Raises:
        TypeError: an argument has no type, or cannot be given by name.
    """

    def __init__(
        self, function: Callable[P, R], name: str, effect: ToolEffect = ToolEffect.NON_IDEMPOTENT
    ) -> None:
        self._function = function
        self._takes_context = _CONTEXT in inspect.signature(function).parameters
        self._names = _argument_names(function)
        self._model = _model_of(function, self._names)
        self.effect = effect
        self.spec = ToolSpec(name, inspect.getdoc(function) or "", _schema_of(self._model))

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself."""
        return self._function(*args, **kwargs)

    @property
    def name(self) -> str:
        """The name under which graphs and models know it."""
        return self.spec.name

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolAnswer:
        """Call the function with arguments that fit its types.

        Raises:
            ToolError: they do not fit, or the function raised.
        """
        function: Callable[..., Any] = self._function
        call = partial(function, **self._fitted(arguments, context))
        try:
            if inspect.iscoroutinefunction(function):
                result = await call()
            elif context.clock.is_virtual:
                result = call()
            else:
                result = await _in_thread(call, self.spec.name)
        except Exception as error:
            said = shorten(redact(words_of(error)))
            raise ToolError(
                f"the tool {self.spec.name} failed: {said}", kind="failed", has_begun=True
            ) from error
        return ToolAnswer(_text(result))

    def _fitted(self, arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            found = [(_place(each["loc"]), each["msg"]) for each in error.errors()]
            raise shown_faults(self.spec.name, found) from error
        given = {
            name: getattr(model, field)
            for field, name in zip(type(model).model_fields, self._names, strict=True)
            if field in model.model_fields_set
        }
        return {**given, _CONTEXT: context} if self._takes_context else given


@typing.overload
def tool(function: Callable[P, R], /) -> PythonTool[P, R]: ...
@typing.overload
def tool(
    *, name: str = "", effect: ToolEffect | str = ToolEffect.NON_IDEMPOTENT
) -> Callable[[Callable[P, R]], PythonTool[P, R]]: ...


def tool(
    function: Callable[P, R] | None = None,
    /,
    *,
    name: str = "",
    effect: ToolEffect | str = ToolEffect.NON_IDEMPOTENT,
) -> PythonTool[P, R] | Callable[[Callable[P, R]], PythonTool[P, R]]:
    """Make a tool of a function.

    Args:
        function: typed and with a docstring, which the model reads.
        name: as the model is shown it; by default the function's.
        effect: what calling it twice would do: `none`, `idempotent` or `non_idempotent`; only a
            tool of the first two is ever tried again.

    Raises:
        TypeError: an argument has no type or cannot be given by name, or the name is none.
    """
    if function is None:
        return lambda each: _made(each, name, ToolEffect(effect))
    return _made(function, name, ToolEffect(effect))


def _made(function: Callable[P, R], name: str, effect: ToolEffect) -> PythonTool[P, R]:
    name = name or function.__name__
    if not fitting_name(name):
        raise TypeError(f"a tool cannot be called {name!r}; its name is {NAME}")
    return PythonTool(function, name, effect)


def _argument_names(function: Callable[..., Any]) -> list[str]:
    arguments = inspect.signature(function).parameters.values()
    for each in arguments:
        if each.kind in (each.POSITIONAL_ONLY, each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise TypeError(f"{function.__name__}: a model cannot give {each}; name the argument")
    return [each.name for each in arguments if each.name != _CONTEXT]


def _model_of(function: Callable[..., Any], names: list[str]) -> type[BaseModel]:
    """Return a model of the arguments; its fields have names of ours, for any name is allowed."""
    hints = typing.get_type_hints(function, include_extras=True)
    arguments = inspect.signature(function).parameters
    fields: dict[str, Any] = {}
    for number, name in enumerate(names):
        if name not in hints:
            raise TypeError(f"{function.__name__}: give the argument {name} a type")
        default = arguments[name].default
        default = ... if default is inspect.Parameter.empty else default
        fields[f"argument_{number}"] = (hints[name], Field(default, alias=name))
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _schema_of(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    schema.pop("title", None)
    for part in schema.get("properties", {}).values():
        part.pop("title", None)
    return schema


def _place(where: tuple[int | str, ...]) -> str:
    return ".".join(map(str, where))


def _text(result: object) -> str:
    if isinstance(result, str):
        return result
    return pydantic_core.to_json(result, fallback=str).decode()


async def _in_thread(call: Callable[[], Any], name: str) -> Any:  # noqa: ANN401 - any result
    """Run a call in a thread of its own, which nobody waits for once this is cancelled.

    Not in a pool: a call that never ends would keep its place there, and the program from ending.
    """
    loop = asyncio.get_running_loop()
    done: Future[Any] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        if not done.set_running_or_notify_cancel():
            return
        try:
            done.set_result(context.run(call))
        except StopIteration as stop:  # which no future takes
            error = RuntimeError("it raised StopIteration")
            error.__cause__ = stop
            done.set_exception(error)
        except BaseException as error:  # noqa: BLE001 - handed to whoever awaits it
            done.set_exception(error)

    threading.Thread(target=run, name=f"aiflow-tool-{name}", daemon=True).start()
    return await asyncio.wrap_future(done, loop=loop)
