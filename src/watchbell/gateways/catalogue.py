"""The kinds of media there are, and those that the settings name."""

import difflib
import importlib
from collections.abc import Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from watchbell import settings
from watchbell.errors import BadSettings
from watchbell.gateways.medium import Medium, SendLimits
from watchbell.settings import Secret, Settings, Tables

# A kind's module is imported when it is used: their libraries are slow to import.
KINDS = {
    kind: f"watchbell.gateways.{module}"
    for kind, module in (
        ("email", "email"),
        ("jabber", "jabber"),
        ("pagerduty", "pagerduty"),
        ("slack", "slack"),
        ("webhook", "webhook"),
        ("sms", "messagenet"),
        ("messagenet", "messagenet"),
        ("twilio", "twilio"),
        ("sms_twilio", "twilio"),
        ("vonage", "vonage"),
        ("sms_nexmo", "vonage"),
        ("sns", "sns"),
        ("apprise", "apprise"),
    )
}


class Kind(Protocol):
    """What the module of a kind offers."""

    Settings: type[SendLimits]
    """The fields of its table."""
    STYLE: str
    """Which of the built-in texts suit it."""

    def open_medium(self, name: str, chosen: SendLimits) -> Medium: ...


class Configured(Struct, frozen=True):
    """A medium as the settings have it."""

    name: str
    kind: str
    chosen: SendLimits
    given: frozenset[str]
    """The fields that are not as they are by default."""

    def shown(self) -> Iterator[tuple[str, str | int]]:
        """Each setting as it may be shown to anybody."""
        for field in self.chosen.__struct_fields__:
            yield field, settings.shown(getattr(self.chosen, field))

    def secrets(self) -> Iterator[str]:
        for field in self.chosen.__struct_fields__:
            value = getattr(self.chosen, field)
            for one in value if isinstance(value, tuple) else [value]:
                if isinstance(one, Secret) and one:
                    yield one.reveal()

    @property
    def style(self) -> str:
        return module(self.kind).STYLE

    def open(self) -> Medium:
        return module(self.kind).open_medium(self.name, self.chosen)


def configured(chosen: Settings) -> list[Configured]:
    """The media of the settings, by name; BadSettings where a table can't be one."""
    return [_read(name, chosen.gateways) for name in sorted(chosen.gateways.content)]


def module(kind: str) -> Kind:
    found: Kind = importlib.import_module(KINDS[kind])
    return found


def _read(name: str, tables: Tables) -> Configured:
    table = tables.content[name]
    kind = table.get("kind", name)
    if kind not in KINDS:
        close = difflib.get_close_matches(str(kind), KINDS, n=1)
        hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(KINDS))}"
        raise BadSettings(f"gateways.{name}: there is no kind of medium {kind!r}; {hint}")
    try:
        chosen = msgspec.convert(table, module(kind).Settings, dec_hook=settings.decode)
        read = Configured(name, kind, chosen, frozenset(table))
        for _ in read.secrets():
            pass  # one that can't be read stops the start
    except msgspec.ValidationError as error:
        raise BadSettings(f"gateways.{name}: {error}") from None
    return read
