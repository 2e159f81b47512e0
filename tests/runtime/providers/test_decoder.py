"""Tests of `aiflow.providers.decoder`: laziness, ends, and time."""

from __future__ import annotations

import json
import sys

import pytest

from aiflow.events import Control, Token
from aiflow.providers.decoder import StreamDecoder
from aiflow.providers.dialect import find_dialect
from aiflow.providers.failure import Failure
from aiflow.providers.frames import MAX_FRAME_BYTES
from aiflow.providers.profile import DEFAULT_PROFILE
from tests.runtime.providers.cases import STOP, chunk, sse
from tests.runtime.providers.read_stream import decode, read

TEXT = sse(chunk({"content": "x"}), done=False)


def decoder_of(
    dialect: str = "openai-chat", max_frame_bytes: int = MAX_FRAME_BYTES
) -> StreamDecoder:
    """Return a decoder of one answer."""
    return StreamDecoder(find_dialect(dialect).reader(DEFAULT_PROFILE), max_frame_bytes)


def test_one_payload_is_decoded_at_a_time() -> None:
    """Pulling one leaves the bytes behind it undecoded and counted."""
    decoder = decoder_of()
    decoder.push(TEXT * 100)
    decoder.pull()  # the start

    before = decoder.undecoded_bytes
    first = decoder.pull()
    second = decoder.pull()

    assert [first, second] == [Token("x"), Token("x")]
    assert before - decoder.undecoded_bytes == len(TEXT)


def test_nothing_follows_the_finish() -> None:
    """Bytes after the end are ignored, and closing adds nothing."""
    decoder = decoder_of()

    payloads = decoder.feed(sse(chunk({"content": "x"}), STOP) + TEXT)

    assert isinstance(payloads[-1], Control)
    assert payloads[-1].data["reason"] == "stop"
    assert decoder.is_done
    assert decoder.feed(TEXT) == []
    assert decoder.close() == []


def test_one_error_ends_a_stream_of_many_choices() -> None:
    """However many choices were open, the error is told once and holds for all."""
    body = sse(chunk({"content": "a"}), chunk({"content": "b"}, "stop", index=1), {"error": "no"})

    payloads = decode([body])

    finishes = [each for each in payloads if isinstance(each, Control) and each.kind == "finish"]
    assert len(finishes) == 1
    assert [each["finish"] for each in read([body])["choices"]] == ["error", "error"]


@pytest.mark.parametrize(
    ("body", "clean", "kind"),
    [
        (sse(chunk({"content": "x"}), STOP), True, None),
        (sse(chunk({"content": "x"}), done=False), True, "incomplete"),
        (TEXT, False, "connection"),
        (b"", True, "protocol"),
        (sse({"error": "no"}), True, "stream"),
    ],
)
def test_the_decoder_says_why_there_is_no_whole_answer(
    body: bytes, clean: bool, kind: str | None
) -> None:
    """`failure` is None exactly where the answer is whole."""
    decoder = decoder_of()
    decoder.feed(body)
    decoder.close(clean=clean)

    assert (decoder.failure and decoder.failure.kind) == kind


def test_text_that_was_held_back_comes_before_the_error() -> None:
    """What looked like the start of a tag is given out when the connection breaks."""
    payloads = decode([sse(chunk({"content": "a <thi"}), done=False)], clean=False, think_tags=True)

    assert [each.text for each in payloads if isinstance(each, Token)] == ["a ", "<thi"]


def test_a_given_failure_is_the_error() -> None:
    """What the transport found out is what the reading says."""
    failure = Failure("silent", "idle_timeout", retryable=True)

    summary = read([TEXT], clean=False, failure=failure)

    assert summary["error"] == failure.as_data()
    assert summary["answer"] == "x"


def test_a_frame_longer_than_the_bound_is_an_error() -> None:
    """A server that never ends its line cannot fill the memory."""
    decoder = decoder_of(max_frame_bytes=100)

    payloads = decoder.feed(TEXT + b"data: " + b"x" * 200)

    assert isinstance(payloads[-1], Control)
    assert payloads[-1].data["error"]["kind"] == "protocol"
    assert decoder.undecoded_bytes == 0


def test_deeply_nested_json_is_malformed_and_no_crash() -> None:
    """A frame that would break the parser's stack is only a bad frame."""
    deep = b"data: " + b"[" * sys.getrecursionlimit() * 50 + b"\n\n"

    summary = read([deep + sse(chunk({"content": "x"}), STOP)])

    assert summary["malformed_frames"] == 1
    assert summary["answer"] == "x"


@pytest.mark.parametrize("value", ["3", '"text"', "[1]", "true"])
def test_json_that_is_no_object_is_malformed(value: str) -> None:
    """A number or text where a chunk was due is told, and the rest is read."""
    summary = read([f"data: {value}\n\n".encode() + sse(chunk({"content": "x"}), STOP)])

    assert summary["malformed_frames"] == 1
    assert summary["answer"] == "x"


ERROR = b'event: error\ndata: {"type": "error", "code": "server_error", "message": "gone"}\n\n'


def test_an_error_that_is_told_before_the_end_waits_for_the_providers_last_word() -> None:
    """Where a dialect says so: nothing is handed over until the response has failed."""
    decoder = decoder_of("openai-responses")

    assert decoder.feed(ERROR) == []
    assert not decoder.is_done
    last = decoder.close()[-1]

    assert isinstance(last, Control)
    assert last.data["error"]["message"] == "gone"
    assert decoder.failure is not None
    assert decoder.failure.code == "server_error"


def test_what_the_provider_said_stands_over_how_the_connection_broke() -> None:
    """A reset or a silence after the error is a consequence of it."""
    decoder = decoder_of("openai-responses")
    decoder.feed(ERROR)

    decoder.close(clean=False, failure=Failure("silent", "idle_timeout"))

    assert decoder.failure is not None
    assert decoder.failure.message == "gone"


def test_an_error_that_cannot_be_read_is_one_all_the_same() -> None:
    """Its text is the message."""
    decoder = decoder_of()

    decoder.feed(b"event: error\ndata: out of order\n\n")

    assert decoder.failure is not None
    assert decoder.failure.message == "out of order"


def test_what_stands_whole_on_its_line_is_read_out_of_a_torn_event() -> None:
    """The rest is one malformed frame."""
    decoder = decoder_of()

    body = sse(f'data: {{"choices": [\ndata: {{"half\ndata: {json.dumps(chunk({"content": "x"}))}')
    payloads = decoder.feed(body)

    torn = '{"choices": [ {"half'
    assert payloads[0] == Control("notice", {"what": "malformed-frame", "text": torn})
    assert Token("x") in payloads
