"""Options that give a user, an API key or a role privileges, and limit them."""

import functools
from collections.abc import Callable
from typing import Any

import click

from watchbell.cli.arguments import storable
from watchbell.web.people.rights import CustomRole, Rights, privilege_of

_NONE = "none"
_FIELDS = {
    "privilege": ("privileges", "PRIVILEGE", "A privilege; see `watchbell roles privileges`"),
    "custom-role": ("roles", "ID", "A custom role; see `watchbell roles list`"),
    "category": ("categories", "ID", "Limit to this category of events and jobs"),
    "group": ("groups", "ID", "Limit to this server group"),
}


def rights_options(*left_out: str, clear: bool = False) -> Callable[[Any], Any]:
    """--privilege, --custom-role, --category and --group; the command receives `changes`: what was
    given, by field. With `clear`, `none` stands for an empty list."""
    used = {name: field for name, field in _FIELDS.items() if name not in left_out}
    tail = f"; can be repeated, {_NONE}: clear." if clear else "; can be repeated."

    def decorated(command: Any) -> Any:
        @functools.wraps(command)
        def wrapped(**given: Any) -> Any:
            lists = {field: given.pop(field) for field, _, _ in used.values()}
            changes = {field: _read(field, names) for field, names in lists.items() if names}
            return command(changes=changes, **given)

        for name, (field, metavar, words) in reversed(used.items()):
            option = click.option(
                f"--{name}", field, metavar=metavar, multiple=True, type=storable, help=words + tail
            )
            wrapped = option(wrapped)
        return wrapped

    return decorated


def _read(field: str, names: tuple[str, ...]) -> tuple[str, ...]:
    chosen = tuple(dict.fromkeys(name for name in names if name != _NONE))
    return tuple(privilege_of(name) for name in chosen) if field == "privileges" else chosen


def extras(rights: Rights | CustomRole) -> str:
    """Custom roles and privileges, for a table."""
    roles = rights.roles if isinstance(rights, Rights) else ()
    return ", ".join([*roles, *rights.privileges]) or "-"


def limits(rights: Rights | CustomRole) -> str:
    parts = {"category": rights.categories, "group": rights.groups}
    return "; ".join(f"{noun} {', '.join(names)}" for noun, names in parts.items() if names) or "-"
