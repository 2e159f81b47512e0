"""Compressed bodies, undone a bounded piece at a time.

We ask for none, yet a proxy may compress all the same. httpx would undo a whole read at once,
which can be a thousand times its size.
"""

from __future__ import annotations

import zlib

PIECE_BYTES = 64 * 1024
_GZIP = zlib.MAX_WBITS | 16
_ZLIB = zlib.MAX_WBITS
_NO_HEADER = -zlib.MAX_WBITS
_WINDOWS = {"gzip": _GZIP, "x-gzip": _GZIP, "deflate": _ZLIB}
_HEADER_BYTES = 2
_GZIP_MAGIC = b"\x1f"


class InflateError(Exception):
    """A body is not what its content encoding says, or in one that we do not know."""


class Inflater:
    """Undoes one body's content encoding.

    Args:
        encoding: the header's value; "" and "identity" leave bytes as they are.

    Raises:
        InflateError: the encoding is not known.
    """

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        self._is_plain = encoding in ("", "identity")
        if not self._is_plain and encoding not in _WINDOWS:
            raise InflateError(f"its encoding is {encoding}, which nobody asked for")
        self._window = _WINDOWS.get(encoding, _ZLIB)
        self._engine: zlib._Decompress | None = None
        self._rest = b""

    def push(self, data: bytes) -> None:
        """Add bytes of the body."""
        self._rest += data

    def pull(self) -> bytes:
        """Return the next bytes, b"" where more of the body is needed.

        Raises:
            InflateError: the body is broken.
        """
        if self._is_plain:
            piece, self._rest = self._rest, b""
            return piece
        while self._rest:
            engine = self._started()
            if engine is None:
                break
            try:
                piece = engine.decompress(self._rest, PIECE_BYTES)
            except zlib.error as error:
                raise InflateError(str(error)) from None
            self._rest = engine.unconsumed_tail or engine.unused_data
            if piece:
                return piece
        return b""

    def finish(self) -> None:
        """Say that the body has ended.

        Raises:
            InflateError: it ended before what was compressed did.
        """
        has_begun = self._engine is not None and not self._engine.eof
        if has_begun or self._rest:
            raise InflateError("it ends in the middle")

    def _started(self) -> zlib._Decompress | None:
        """Return the engine for what comes next; None where the header is not there yet."""
        if self._engine is not None and self._engine.eof:
            # gzip allows several bodies in a row; anything else behind one is padding.
            if not (self._window == _GZIP and self._rest.startswith(_GZIP_MAGIC)):
                self._rest = b""
                return None
            self._engine = None
        if self._engine is None:
            if len(self._rest) < _HEADER_BYTES:
                return None
            has_header = self._window == _GZIP or _is_zlib_header(self._rest)
            self._engine = zlib.decompressobj(self._window if has_header else _NO_HEADER)
        return self._engine


def _is_zlib_header(data: bytes) -> bool:
    """Say whether zlib's header is there: servers take `deflate` by its name and leave it out.

    Source: RFC 1950, section 2.2.
    """
    return data[0] & 0x0F == zlib.DEFLATED and int.from_bytes(data[:2], "big") % 31 == 0
