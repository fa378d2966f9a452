"""Which of our environment variables a child process inherits: none that could hold a secret."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from msgspec import Struct

from watchbell.settings.loading import PREFIX
from watchbell.settings.sections import Settings
from watchbell.settings.values import Secret, Tables


def secret_variables(settings: Settings) -> frozenset[str]:
    """The variables that settings refer to as `env:NAME`."""
    return frozenset(_named(settings))


def for_children(environ: Mapping[str, str], secrets: Collection[str] = ()) -> dict[str, str]:
    """The environment without our own variables, and without those that hold secrets."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(PREFIX) and name not in secrets
    }


def _named(value: Any) -> Iterator[str]:
    if isinstance(value, Secret):
        value = value.reference
    if isinstance(value, Tables):
        value = value.content
    if isinstance(value, str) and value.startswith("env:"):
        yield value.removeprefix("env:")
    for part in _parts(value):
        yield from _named(part)


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, Struct):
        yield from (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
