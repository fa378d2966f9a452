"""What the API accepts and returns for entities."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.web.alerting.contact_shapes import Tags

Name = Annotated[str, Meta(min_length=1, max_length=500)]
Ids = Annotated[tuple[Name, ...], Meta(max_length=1_000)]


class EntityBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Name
    """A different one renames it; stored in lower case, without colons."""
    tags: Tags = ()
    contacts: Ids = ()
    """Ids of the contacts who are alerted about all of its checks."""


class EntityView(Struct, frozen=True, kw_only=True):
    name: str
    id: str
    """Stays the same when it is renamed."""
    tags: list[str]
    contacts: list[str]
    check_contacts: dict[str, list[str]]
    """The contacts of single checks."""
    checks: int
    """Checks that have reported."""
    failing: int
    """Checks that fail now, without disabled ones."""
    version: str
