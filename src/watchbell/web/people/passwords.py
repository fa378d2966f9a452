"""Passwords: which are accepted, and how they are hashed (argon2id)."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

from watchbell.errors import Refused

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 10, 1_000


def check(password: str, user: str) -> None:
    """Raises Refused where a password is too easily guessed."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Refused(f"a password has {SHORTEST} to {LONGEST:,} characters")
    if len(set(password)) < 5 or user in password.lower():
        raise Refused(
            "a password has at least five different characters and does not contain the user's name"
        )


async def hashed(password: str) -> str:
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_workers(), _hashed, _known(password))


async def matches(password: str, kept: str) -> bool:
    """Takes as long for a user without a password, so that nobody learns who has one."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_workers(), _verified, _known(password), kept)


def _hashed(password: str) -> str:
    return _hasher().hash(password)


def _verified(password: str, kept: str) -> bool:
    from argon2.exceptions import Argon2Error, InvalidHashError  # noqa: PLC0415

    try:
        _hasher().verify(kept or _nobody(), password)
    except (Argon2Error, InvalidHashError):
        return False
    return bool(kept)


def _known(password: str) -> str:
    return password.encode(errors="replace").decode()


@cache
def _workers() -> ThreadPoolExecutor:
    """Few threads, because hashing takes 64 MiB each."""
    return ThreadPoolExecutor(2, "passwords")


@cache
def _hasher() -> "PasswordHasher":
    from argon2 import PasswordHasher  # noqa: PLC0415  (slow to import, and rarely needed)

    return PasswordHasher()


@cache
def _nobody() -> str:
    return _hasher().hash("a password of nobody")
