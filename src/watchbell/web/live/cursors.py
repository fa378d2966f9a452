"""Cursors of pages of a live table: the key of the last row, as text."""

import base64
import binascii
from collections.abc import Callable

import msgspec

from watchbell.web.live.views import Key
from watchbell.web.problems import wrong_cursor

_decoded: Callable[[bytes], Key] = msgspec.json.Decoder(Key).decode


def cursor_of(key: Key) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(key)).decode()


def key_of(cursor: str) -> Key:
    try:
        return _decoded(base64.urlsafe_b64decode(cursor))
    except (binascii.Error, ValueError, msgspec.MsgspecError):
        raise wrong_cursor() from None
