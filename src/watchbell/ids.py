"""Identifiers: unguessable tokens, and the names processes go by."""

import os
import secrets
import socket


def token() -> str:
    return secrets.token_hex(16)


def process_name() -> str:
    """Unique to this process for all time, and readable: host, pid and a few random letters."""
    host = socket.gethostname().replace(":", "-")
    return f"{host}.{os.getpid()}.{secrets.token_hex(4)}"
