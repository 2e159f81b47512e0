"""Which tool call a fragment belongs to, whatever the server leaves out.

The key is (choice, index), else the id, else the call opened last. A new id at a used index
opens a new call, because some servers give every call index 0. What leaves here can simply be
joined: names that servers repeat are dropped, ids come once, every call has its own place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from aiflow.events import ToolCall, ToolFragment
from aiflow.providers.text import HalfKeeper, scrub


class ToolCalls:
    """The tool calls of one choice, as far as they are known.

    Args:
        choice: number of the choice.
    """

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._calls: list[_Call] = []

    def __len__(self) -> int:
        return len(self._calls)

    def add(self, entry: Mapping[str, Any], *, is_whole: bool = False) -> ToolFragment:
        """Return the fragment of one entry of a `tool_calls` list.

        Args:
            entry: `{index, id, function: {index, name, arguments}}`, all of it optional.
            is_whole: the dialect never cuts calls, so each entry without a known id is one.
        """
        function = entry.get("function")
        function = function if isinstance(function, Mapping) else {}
        index = entry.get("index", function.get("index"))
        index = index if isinstance(index, int) else None
        id = entry.get("id")
        id = scrub(str(id)) if id is not None else ""
        name = function.get("name")
        name = scrub(name) if isinstance(name, str) else ""
        call = self._find_whole(id) if is_whole else self._find(index, id, name)
        if call is None:
            call = _Call(len(self._calls), index)
            self._calls.append(call)
        return ToolFragment(
            index=call.place,
            id=call.add_id(id),
            name=call.add_name(name),
            arguments=call.add_arguments(function.get("arguments")),
            choice=self._choice,
        )

    def end(self) -> list[ToolFragment]:
        """Return what was held back of the arguments."""
        return [
            ToolFragment(index=call.place, arguments=rest, choice=self._choice)
            for call in self._calls
            if (rest := call.end())
        ]

    def _find(self, index: int | None, id: str, name: str) -> _Call | None:
        """Return the call that a fragment continues, None where it opens one."""
        if index is None:
            if id:
                return self._with_id(id)
            last = self._calls[-1] if self._calls else None
            return None if last and name and last.is_complete() else last
        at_index = [call for call in self._calls if call.index == index]
        last = at_index[-1] if at_index else None
        if last is None or not id or not last.id or last.id == id:
            is_next = last and not id and name and last.name != name and last.is_complete()
            return None if is_next else last
        return next((call for call in at_index if call.id == id), None)

    def _find_whole(self, id: str) -> _Call | None:
        return self._with_id(id) if id else None

    def _with_id(self, id: str) -> _Call | None:
        return next((call for call in self._calls if call.id == id), None)


def joined(fragments: Iterable[ToolFragment], choice: int = 0) -> ToolCall:
    """Return the call that fragments of one index are, in the order in which they came."""
    parts = list(fragments)
    raw = "".join(part.arguments for part in parts)
    return ToolCall(
        id=next((part.id for part in parts if part.id), ""),
        name="".join(part.name for part in parts),
        arguments=parse_arguments(raw),
        arguments_raw=raw,
        choice=choice,
    )


def parse_arguments(raw: str) -> dict[str, Any] | None:
    """Return the arguments' object; {} for no text, None where it is no JSON object."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class _Call:
    """One call: where it stands and what is known of it."""

    def __init__(self, place: int, index: int | None) -> None:
        self.place = place
        self.index = index
        self.id = ""
        self.name = ""
        self._arguments: list[str] = []
        self._keeper = HalfKeeper()

    def add_id(self, id: str) -> str:
        if not id or self.id:
            return ""
        self.id = id
        return id

    def add_name(self, name: str) -> str:
        """Return what is new of the name: a piece equal to the name so far is a repeat."""
        if not name or name == self.name:
            return ""
        self.name += name
        return name

    def add_arguments(self, arguments: object) -> str:
        if arguments is None:
            return ""
        if not isinstance(arguments, str):
            arguments = json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
        text = self._keeper.add(arguments)
        if text:
            self._arguments.append(text)
        return text

    def end(self) -> str:
        return self._keeper.end()

    def is_complete(self) -> bool:
        text = "".join(self._arguments)
        return bool(text.strip()) and parse_arguments(text) is not None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not JSON")
