"""HTTP tools: a graph says the address, method and schema; the model gives the arguments.

The model fills places in the path and the query, or a JSON body. It never chooses the host, and
the credential stays with the origin that it is for (see `aiflow.transport.fetch`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator, model_validator

from aiflow.errors import ToolError
from aiflow.providers.messages import ToolSpec
from aiflow.tools.schema import NAME, ArgumentsCheck, fitting_name, schema_fault
from aiflow.tools.tool import ToolAnswer, ToolContext, ToolEffect
from aiflow.transport.client import HEADER_VALUE
from aiflow.transport.excerpt import place_of
from aiflow.transport.fetch import Fetcher, FetchRequest, refused
from aiflow.transport.guard import AddressGuard, Resolver, system_addresses

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]

_PLACE = re.compile(r"\{([^{}]*)\}")
_HEADER = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$"
# What only the call knows, and what a key travels in: neither is said by a graph.
_NOT_TO_BE_SET = frozenset(
    {"host", "content-type", "content-length", "transfer-encoding", "connection", "upgrade"}
)
_FOR_KEYS = frozenset({"authorization", "proxy-authorization", "cookie", "x-api-key", "api-key"})
_WITH_BODY = ("POST", "PUT", "PATCH")
# A GET changes nothing (RFC 9110, section 9.2.1); of the others an API may make what it likes.
_EFFECTS = {"GET": ToolEffect.NONE}


class HttpToolParams(BaseModel):
    """One HTTP tool of a tool set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(description=f"What the model calls it: {NAME}.")
    description: str = Field("", description="What it does, for the model.")
    url: str = Field(
        description="Its address; {name} in path or query is replaced by the argument of that name."
    )
    method: Method = Field("GET", description="The HTTP method.")
    parameters: dict[str, JsonValue] = Field(
        default_factory=lambda: dict[str, JsonValue](type="object"),
        description="JSON Schema of the arguments. Those without a place in the address go into the"
        " query, or into a JSON body where the method has one.",
    )
    headers: dict[str, str] = Field(
        default_factory=dict,
        description="Headers that each call carries, such as the version of an API that is meant;"
        " a key is none of them, it is named as the credential.",
    )
    credential: str = Field(
        "",
        pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$",
        description="Name of the environment variable, or of the entry in the system's keyring,"
        " that holds the key; never the key itself.",
        json_schema_extra={"x-editor": "secret-name"},
    )
    credential_header: str = Field(
        "Authorization", description="Header that carries the key.", pattern=_HEADER
    )
    credential_scheme: str = Field(
        "Bearer", description="Word before the key in that header; empty sends the key alone."
    )
    effect: ToolEffect | None = Field(
        None,
        description="What calling it twice would do: none, idempotent or non_idempotent; empty is"
        " none for GET, else non_idempotent.",
    )
    key_header: str = Field(
        "Idempotency-Key",
        pattern=_HEADER,
        description="Header that tells a repeated call from a new one, sent unless the effect is"
        " none.",
    )

    @field_validator("name")
    @classmethod
    def _name_fits(cls, name: str) -> str:
        if not fitting_name(name):
            raise ValueError(f"{name!r} is no name of a tool, which is {NAME}")
        return name

    @field_validator("url")
    @classmethod
    def _model_does_not_choose_the_host(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
            is_right = is_right and parts.port != 0
        except ValueError as error:
            raise ValueError(f"{url} is no address") from error
        if not is_right:
            raise ValueError(f"{url} is no http or https address")
        if "{" in parts.netloc or "@" in parts.netloc:
            raise ValueError("the host holds a place for an argument, or a password")
        return url

    @field_validator("headers")
    @classmethod
    def _headers_can_be_sent(cls, headers: dict[str, str]) -> dict[str, str]:
        for name, value in headers.items():
            if not re.fullmatch(_HEADER, name):
                raise ValueError(f"{name!r} is no name of a header")
            if name.lower() in _NOT_TO_BE_SET:
                raise ValueError(f"{name} is set by the call itself; leave it out")
            if name.lower() in _FOR_KEYS:
                raise ValueError(
                    f"{name} carries a key, which never stands in a graph; name the key as the"
                    " credential, and this header as its credential_header"
                )
            if not HEADER_VALUE.fullmatch(value):
                raise ValueError(f"the value of {name} holds what no header can carry")
        return headers

    @field_validator("parameters")
    @classmethod
    def _is_a_schema(cls, parameters: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if fault := schema_fault(parameters):
            raise ValueError(f"this is no schema of arguments: {fault}")
        return parameters

    @model_validator(mode="after")
    def _places_are_arguments(self) -> HttpToolParams:
        known = self.parameters.get("properties", {})
        required = self.parameters.get("required", [])
        for name in _PLACE.findall(self.url):
            if not isinstance(known, dict) or name not in known:
                raise ValueError(f"the address has a place {{{name}}}, which is no argument")
            if not isinstance(required, list) or name not in required:
                raise ValueError(f"the address needs {name}, so it must be a required argument")
        return self


class HttpTool:
    """Calls an address with what the model gave.

    Args:
        params: what to call.
        secret: the key, "" for none.
        resolve: looks names up.
    """

    def __init__(
        self, params: HttpToolParams, secret: str = "", resolve: Resolver = system_addresses
    ) -> None:
        self.spec = ToolSpec(params.name, params.description, params.parameters)
        self.effect = params.effect or _EFFECTS.get(params.method, ToolEffect.NON_IDEMPOTENT)
        self._params = params
        self._secret = secret
        self._check = ArgumentsCheck(params.name, params.parameters)
        # One for nodes that allow private addresses, one for those that do not.
        self._fetchers = {
            allowed: Fetcher(AddressGuard(allowed, resolve)) for allowed in (False, True)
        }

    async def call(self, arguments: Mapping[str, Any], context: ToolContext) -> ToolAnswer:
        """Call the address and return the body of its answer.

        Raises:
            ToolError: the arguments do not fit, the address may not be called or does not answer,
                or it answers with an error.
        """
        self._check.check(arguments)
        fetcher = self._fetchers[context.allow_private]
        answer = await fetcher.fetch(self._request(arguments, context))
        where = f"the tool {self._params.name} at {place_of(self._params.url)}"
        if error := refused(answer, where, self._secret):
            raise error
        return ToolAnswer(answer.text, is_cut=answer.is_cut)

    def _request(self, arguments: Mapping[str, Any], context: ToolContext) -> FetchRequest:
        params = self._params
        placed = set(_PLACE.findall(params.url))
        rest = {name: value for name, value in arguments.items() if name not in placed}
        url = _PLACE.sub(lambda place: self._filled(place[1], arguments[place[1]]), params.url)
        headers = {"accept": "application/json, text/*;q=0.9, */*;q=0.1"}
        headers |= {name.lower(): value for name, value in params.headers.items()}
        body = b""
        if params.method in _WITH_BODY:
            body = json.dumps(rest, ensure_ascii=False).encode("utf-8", "replace")
            headers["content-type"] = "application/json"
        elif rest:
            parts = urlsplit(url)
            plain = {name: _plain(value) for name, value in rest.items()}
            given = urlencode(plain, errors="replace")
            url = urlunsplit(parts._replace(query="&".join(filter(None, [parts.query, given]))))
        if self._secret:
            scheme = f"{params.credential_scheme} " if params.credential_scheme else ""
            headers[params.credential_header] = scheme + self._secret
        if context.key:
            headers[params.key_header] = context.key
        return FetchRequest(params.method, url, headers, body, self._secret, context.max_bytes)

    def _filled(self, name: str, value: object) -> str:
        text = _plain(value)
        # These two would lead to another place on the same host, and cannot be escaped.
        if text in (".", ".."):
            raise ToolError(
                f"the argument {name} of the tool {self._params.name} cannot be {text!r}",
                kind="arguments",
            )
        return quote(text, safe="", errors="replace")


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
