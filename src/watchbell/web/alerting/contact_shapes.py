"""What the API accepts and returns for contacts."""

from typing import Annotated

from msgspec import Meta, Struct

from watchbell.alerting.contact_loading import LONGEST_INTERVAL, MOST

Line = Annotated[str, Meta(max_length=500)]
Name = Annotated[str, Meta(min_length=1, max_length=500)]
Tag = Annotated[str, Meta(min_length=1, max_length=200)]
Tags = Annotated[tuple[Tag, ...], Meta(max_length=200)]
MediumName = Annotated[str, Meta(min_length=1, max_length=64)]


class MediumBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    address: Annotated[str, Meta(min_length=1, max_length=2_000)]
    interval: Annotated[int, Meta(ge=1, le=LONGEST_INTERVAL)] = 900
    """Seconds within which the same alert is not sent again."""
    rollup_threshold: Annotated[int, Meta(ge=0, le=MOST)] = 0
    """Number of failing checks from which one summary replaces single alerts; 0 for never."""


class ContactBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A contact; what is left out is empty."""

    first_name: Name
    last_name: Line = ""
    email: Line = ""
    timezone: Annotated[str, Meta(max_length=100)] = ""
    """The time zone of its rules, as `Europe/Rome`; empty for that of the settings."""
    tags: Tags = ()
    media: Annotated[dict[MediumName, MediumBody], Meta(max_length=50)] = {}
    pagerduty: Annotated[dict[MediumName, Line], Meta(max_length=4)] = {}
    """The account from which acknowledgements are read: `subdomain`, `username`, `password`,
    `token`. A secret that is `***` stays as it is."""


class NewContact(ContactBody, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: Annotated[str, Meta(min_length=1, max_length=200)]
    """Any text without colons."""


class ContactView(Struct, frozen=True, kw_only=True):
    id: str
    first_name: str
    last_name: str
    email: str
    timezone: str
    zone: str
    """The time zone of its rules."""
    tags: list[str]
    media: dict[str, "MediumView"]
    pagerduty: dict[str, str]
    """Secrets are `***`, unless they are references."""
    warnings: list[str]
    """Why media will probably fail, such as no gateway or a phone number that is too short."""
    version: str


class MediumView(Struct, frozen=True, kw_only=True):
    address: str
    interval: int
    rollup_threshold: int


class ContactRow(Struct, frozen=True, kw_only=True):
    id: str
    name: str
    email: str
    timezone: str
    tags: list[str]
    media: dict[str, str]
    """Each with its address."""
    rules: int
    links: int
    told_about: list[str]
    """The first few of its links, in words."""


class LinkBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    entity: Annotated[str, Meta(min_length=1, max_length=500)]
    """Its name, or `ALL`; an unknown one is created."""
    check: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    """Only this check of it."""


class CreatedLink(Struct, frozen=True, kw_only=True):
    entity: str
    check: str | None
    words: str
    is_new: bool
    """Whether the entity was created."""


class TestBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    medium: MediumName


class TestSent(Struct, frozen=True, kw_only=True):
    alert: str
    """The id by which `/alert` shows its delivery."""
    has_gateway: bool
    """Whether the settings of this server have the medium; if no server has it, nothing is sent."""


class AvailableMedium(Struct, frozen=True, kw_only=True):
    medium: str
    has_gateway: bool
    """Whether the settings of this server have it."""
