"""Which commands a server runs: the plugins of type monitor, as agents take them."""

from collections.abc import Collection, Iterable

from watchbell.errors import Refused
from watchbell.fleet.machine_sample import MOST_COMMANDS
from watchbell.fleet.model import Command
from watchbell.jobs.model import Plugin

MONITOR = "monitor"


def of_server(plugins: Iterable[Plugin], groups: Collection[str]) -> tuple[Command, ...]:
    """Those of a server in these groups."""
    own = [one for one in plugins if one.type == MONITOR and one.enabled]
    matching = [one for one in own if not one.groups or not set(one.groups).isdisjoint(groups)]
    return tuple(command(one) for one in sorted(matching, key=lambda one: one.id)[:MOST_COMMANDS])


def command(plugin: Plugin) -> Command:
    """Raises Refused for a plugin of another type."""
    if plugin.type != MONITOR:
        raise Refused(f"{plugin.title} is a plugin of type {plugin.type}; expected {MONITOR}")
    return Command(
        id=plugin.id,
        command=plugin.command,
        script=plugin.script,
        format=plugin.format,
        timeout=plugin.timeout,
        uid=plugin.uid,
        gid=plugin.gid,
        cwd=plugin.cwd,
        env=plugin.env,
    )
