"""The kinds of media there are, and those that the settings name."""

import difflib
import importlib
from collections.abc import Iterator
from typing import Protocol

import msgspec
from msgspec import Struct

from watchbell.errors import BadSettings
from watchbell.gateways.medium import Medium, SendLimits
from watchbell.settings import Secret, Settings, Tables, decode, shown

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
    """The module of one kind of medium."""

    Settings: type[SendLimits]
    """The fields of its table."""
    STYLE: str
    """The style of its built-in templates."""

    def open_medium(self, name: str, settings: SendLimits) -> Medium: ...


class Configured(Struct, frozen=True):
    """A medium as it stands in the settings."""

    name: str
    kind: str
    settings: SendLimits
    given: frozenset[str]
    """The fields that the table contains."""

    def shown(self) -> Iterator[tuple[str, str | int]]:
        """Each setting, with secrets masked."""
        for field in self.settings.__struct_fields__:
            yield field, shown(getattr(self.settings, field))

    def secrets(self) -> Iterator[str]:
        for field in self.settings.__struct_fields__:
            value = getattr(self.settings, field)
            for one in value if isinstance(value, tuple) else [value]:
                if isinstance(one, Secret) and one:
                    yield one.reveal()

    @property
    def style(self) -> str:
        return module(self.kind).STYLE

    def open(self) -> Medium:
        """BadSettings where the settings can't work."""
        try:
            return module(self.kind).open_medium(self.name, self.settings)
        except BadSettings as error:
            raise BadSettings(f"gateways.{self.name}: {error}") from None


def configured(settings: Settings) -> list[Configured]:
    """The media of the settings, by name; BadSettings where a table is wrong."""
    return [_read(name, settings.gateways) for name in sorted(settings.gateways.content)]


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
        read_settings = msgspec.convert(table, module(kind).Settings, dec_hook=decode)
        read = Configured(name, kind, read_settings, frozenset(table))
        for _ in read.secrets():
            pass  # reads each file and variable, so that a missing one stops the start
    except msgspec.ValidationError as error:
        raise BadSettings(f"gateways.{name}: {error}") from None
    return read
