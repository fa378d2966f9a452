"""What people may run on one server now, to see what it gives."""

from collections.abc import Mapping
from typing import Any

from watchbell.errors import Refused
from watchbell.fleet import servers
from watchbell.fleet.model import Command, Server
from watchbell.jobs import definitions, monitor_commands, server_status, validation
from watchbell.jobs.model import Plugin
from watchbell.store.client import Store

_UNNAMED = {"id": "try", "title": "Try", "type": monitor_commands.MONITOR}


async def saved(store: Store, id_: str) -> Plugin:
    """Raises NotFound."""
    plugin = await definitions.get(store, "plugin", id_)
    assert isinstance(plugin, Plugin)
    return plugin


def unsaved(properties: Mapping[str, Any]) -> Plugin:
    """A plugin as somebody edits it. Raises Refused."""
    plugin = validation.read("plugin", {**_UNNAMED, **properties})
    assert isinstance(plugin, Plugin)
    return plugin


async def ready(store: Store, server: Server, plugin: Plugin, down_after: float) -> Command:
    """What `command_requests.run` runs. Raises Refused where the server is offline."""
    command = monitor_commands.command(plugin)
    status = await server_status.one(store, server.id, down_after)
    if status.link is None or not status.seen:
        raise Refused(f"the server {servers.label(server)} is offline")
    return command
