"""Tests of `aiflow.tools.http`, over real sockets of this machine."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from pydantic import ValidationError

from aiflow.errors import ToolError
from aiflow.tools.http import HttpTool, HttpToolParams
from aiflow.tools.tool import ToolAnswer, ToolEffect
from tests.runtime.tools.calling import context
from tests.runtime.transport.faulty_server import Exchange, serving

SECRET = "sesame-0123456789"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "tags": {}},
    "required": ["city"],
}


def params(url: str = "http://a.test/weather/{city}", **more: Any) -> HttpToolParams:
    """Return the params of a tool."""
    given = {"name": "weather", "url": url, "parameters": SCHEMA, **more}
    return HttpToolParams.model_validate(given)


def asked(
    arguments: dict[str, Any],
    path: str = "/weather/{city}",
    *,
    key: str = "",
    secret: str = "",
    allow_private: bool = True,
    **more: Any,
) -> tuple[bytes, ToolAnswer]:
    """Return the request that a call sends, and its answer."""

    async def scenario() -> tuple[bytes, ToolAnswer]:
        async def answer(exchange: Exchange) -> None:
            await exchange.whole("200 OK", b'{"sky": "grey"}', "application/json")

        async with serving(answer) as server:
            tool = HttpTool(params(server.url + path, **more), secret)
            given = context(key=key, allow_private=allow_private)
            result = await tool.call(arguments, given)
        return server.requests[0], result

    return asyncio.run(scenario())


def test_arguments_go_into_the_address_and_the_query() -> None:
    """Escaped, so that none of them can change the path."""
    request, answer = asked({"city": "a/b?c#d é", "days": 2, "tags": ["x", 1]})

    assert request.split(b"\r\n")[0] == (
        b"GET /weather/a%2Fb%3Fc%23d%20%C3%A9?days=2&tags=%5B%22x%22%2C+1%5D HTTP/1.1"
    )
    assert answer.content == '{"sky": "grey"}'


def test_a_query_that_is_there_is_kept() -> None:
    """What the model gives stands behind it."""
    request, _ = asked({"city": "x", "days": 1}, "/w/{city}?unit=C")

    assert request.startswith(b"GET /w/x?unit=C&days=1 ")


def test_a_method_with_a_body_sends_the_rest_as_json() -> None:
    """What stands in the address is not sent twice."""
    request, _ = asked({"city": "x", "days": 1}, method="POST")

    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /weather/x ")
    assert b"content-type: application/json" in head.lower()
    assert json.loads(body) == {"days": 1}


def test_the_key_goes_into_the_header_that_the_params_name() -> None:
    """With its scheme, or alone."""
    bearer, _ = asked({"city": "x"}, secret=SECRET)
    alone, _ = asked(
        {"city": "x"}, secret=SECRET, credential_header="X-Api-Key", credential_scheme=""
    )

    assert f"Authorization: Bearer {SECRET}".encode() in bearer
    assert f"X-Api-Key: {SECRET}".encode() in alone


def test_each_call_carries_the_headers_that_the_params_name() -> None:
    """Also in place of our own word for what is taken; the key stands beside them."""
    given = {"Accept": "text/csv", "X-Api-Version": "2026-11"}

    request, _ = asked({"city": "x"}, headers=given, secret=SECRET)

    lines = request.decode().lower().split("\r\n")
    assert "accept: text/csv" in lines
    assert "x-api-version: 2026-11" in lines
    assert f"authorization: bearer {SECRET}" in lines
    assert sum(line.startswith("accept:") for line in lines) == 1


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("two words", "x", "is no name of a header"),
        ("Host", "elsewhere.test", "is set by the call itself"),
        ("Authorization", "Bearer x", "carries a key, which never stands in a graph"),
        ("cookie", "session=1", "carries a key"),
        ("X-Line", "a\r\nX-Other: b", "holds what no header can carry"),
    ],
)
def test_a_header_that_is_not_the_graphs_to_say_is_refused(
    name: str, value: str, says: str
) -> None:
    """Before anything is sent."""
    with pytest.raises(ValidationError, match=says):
        params(headers={name: value})


def test_each_call_carries_its_idempotency_key() -> None:
    """Where it was given one; the name of the header is the API's."""
    plain, _ = asked({"city": "x"}, key="k1", method="PUT")
    named, _ = asked({"city": "x"}, key="k1", method="PUT", key_header="X-Once")
    none, _ = asked({"city": "x"})

    assert b"Idempotency-Key: k1" in plain
    assert b"X-Once: k1" in named
    assert b"dempotency" not in none


@pytest.mark.parametrize("city", [".", ".."])
def test_an_argument_cannot_climb_out_of_its_place(city: str) -> None:
    """These two cannot be escaped."""
    with pytest.raises(ToolError, match="cannot be"):
        asked({"city": city})


def test_arguments_that_do_not_fit_send_nothing() -> None:
    """The schema is held before a connection is made."""
    with pytest.raises(ToolError, match="'city' is a required property"):
        asked({})


def test_this_machine_is_refused_by_default() -> None:
    """The node allows it, not the tool."""
    with pytest.raises(ToolError, match="not on the open internet"):
        asked({"city": "x"}, allow_private=False)


def test_an_error_of_the_server_is_told_without_the_key() -> None:
    """In its own words."""

    async def scenario() -> ToolError:
        async def answer(exchange: Exchange) -> None:
            body = f"no such city, {SECRET}".encode()
            await exchange.whole("404 Not Found", body, "text/plain")

        async with serving(answer) as server:
            tool = HttpTool(params(server.url + "/{city}"), SECRET)
            with pytest.raises(ToolError) as caught:
                await tool.call({"city": "x"}, context())
        return caught.value

    error = asyncio.run(scenario())

    assert f"answered 404: no such city, {'*' * len(SECRET)}" in str(error)
    assert (error.kind, error.is_transient) == ("status", False)


@pytest.mark.parametrize(
    ("method", "own", "effect"),
    [("GET", None, "none"), ("DELETE", None, "non_idempotent"), ("POST", "none", "none")],
)
def test_what_calling_it_twice_does_is_said_or_taken_from_the_method(
    method: str, own: str | None, effect: str
) -> None:
    """Of anything but a GET only the API knows."""
    assert HttpTool(params(method=method, effect=own)).effect is ToolEffect(effect)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"name": "two words"}, "no name of a tool"),
        ({"url": "file:///etc/passwd"}, "no http or https address"),
        ({"url": "http://[/"}, "no address"),
        ({"url": "http://{city}.test/"}, "holds a place for an argument"),
        ({"url": "http://u:p@a.test/"}, "or a password"),
        ({"url": "http://a.test/{town}"}, "which is no argument"),
        ({"url": "http://a.test/{days}"}, "must be a required argument"),
        ({"parameters": {"type": "array"}}, "no schema of arguments"),
        ({"credential": "a key"}, "pattern"),
        ({"key_header": "no colon: here"}, "pattern"),
    ],
)
def test_params_that_cannot_be_meant_are_refused(given: dict[str, Any], says: str) -> None:
    """With what is wrong with them."""
    with pytest.raises(ValidationError, match=says):
        params(**{"url": "http://a.test/weather", **given})
