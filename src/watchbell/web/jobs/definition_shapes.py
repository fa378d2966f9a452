"""What the API returns for categories, plugins, channels and tags."""

from typing import Any

from msgspec import Struct


class DefinitionRow(Struct, frozen=True):
    record: dict[str, Any]
    """All its properties."""
    events: int
    """How many events use it."""
    problem: str = ""
    """Why the stored record can't be used; empty if it can."""


class DefinitionShown(Struct, frozen=True):
    record: dict[str, Any]
    is_masked: bool
    """Whether values of the environment are masked, because you may not edit it."""
    revision: int
    """Send it as `If-Match` with a change, so that no other change is overwritten."""


class SavedDefinition(Struct, frozen=True):
    id: str
    revision: int
