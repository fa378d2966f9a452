"""Identifiers: unguessable tokens, and the names processes go by."""

import hashlib
import os
import secrets
import socket

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def token() -> str:
    return secrets.token_hex(16)


def record_id(letter: str, now: float) -> str:
    """Of a new record: begins with the letter of its kind, and sorts by time."""
    return letter + _base_36(int(now * 1000), 8) + _base_36(secrets.randbelow(36**9), 9)


def derived_id(letter: str, now: float, seed: str) -> str:
    """As `record_id`, and always the same for the same time and seed."""
    digest = hashlib.sha256(seed.encode()).digest()
    rest = int.from_bytes(digest[:8], "big") % 36**9
    return letter + _base_36(int(now * 1000), 8) + _base_36(rest, 9)


def _base_36(number: int, width: int) -> str:
    found = ""
    while number:
        number, digit = divmod(number, 36)
        found = _DIGITS[digit] + found
    return found.rjust(width, "0")


def process_name() -> str:
    """Unique to this process for all time, and readable: host, pid and a few random letters."""
    host = socket.gethostname().replace(":", "-")
    return f"{host}.{os.getpid()}.{secrets.token_hex(4)}"
