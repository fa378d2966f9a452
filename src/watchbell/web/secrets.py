"""Random secrets and their digests."""

import hashlib
import secrets


def secret() -> str:
    """256 random bits, fit for URLs, headers and cookies."""
    return secrets.token_urlsafe(32)


def short_id() -> str:
    return secrets.token_hex(6)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def same(one: str, other: str) -> bool:
    """Compares in constant time."""
    return secrets.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
