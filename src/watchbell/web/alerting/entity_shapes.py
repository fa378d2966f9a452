"""What the API takes and gives of entities."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.web.alerting.contact_shapes import Tags

Name = Annotated[str, Meta(min_length=1, max_length=500)]
Ids = Annotated[tuple[Name, ...], Meta(max_length=1_000)]


class EntityBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Name
    """Another than before renames it; kept in lower case, and without colons."""
    tags: Tags = ()
    contacts: Ids = ()
    """Ids of those who are told about all of it."""


class EntityShown(Struct, frozen=True, kw_only=True):
    name: str
    id: str
    """Which it keeps when it is renamed."""
    tags: list[str]
    contacts: list[str]
    check_contacts: dict[str, list[str]]
    """Who is told about single checks of it."""
    checks: int
    """That have reported."""
    failing: int
    """That are failing now, disabled ones left out."""
    version: str
