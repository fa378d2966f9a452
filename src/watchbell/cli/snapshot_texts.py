"""Snapshots and comparisons as lines of text."""

from collections.abc import Iterator
from typing import Any

from watchbell.cli.formatting import when
from watchbell.fleet.model import ServerState, Snapshot
from watchbell.fleet.snapshot_comparison import (
    Comparison,
    Mover,
    ProcessShown,
    ServerComparison,
    Value,
)
from watchbell.units import in_bytes, in_words

_MOST_PROCESSES = 20


def shown_lines(found: Snapshot) -> Iterator[str]:
    head = found.head
    name = head.hostname if head.type == "server" else f"group {', '.join(head.groups)}"
    yield f"{name}, {when(int(head.date))}, taken by {head.source} {head.username}".rstrip()
    if head.jobs:
        yield f"jobs: {', '.join(head.jobs)}"
    if head.alerts:
        yield f"alerts: {', '.join(head.alerts)}"
    for state in found.states:
        yield ""
        yield from _state_lines(state)


def _state_lines(state: ServerState) -> Iterator[str]:
    data = state.data
    if data is None:
        yield f"{state.server.hostname}: it had sent no full sample"
        return
    cpu, memory = data["cpu"], data["memory"]
    yield f"{state.server.hostname}, up {in_words(int(data['uptime_sec']))}"
    load = "  ".join(f"{one:.2f}" for one in data["load"])
    totals = cpu["totals"]
    yield f"  load         {load}"
    yield (
        f"  CPU          {cpu['currentLoad']:.0f} % of {cpu['cores']} cores:"
        f" {totals['user']:.0f} % user, {totals['system']:.0f} % system,"
        f" {totals['iowait']:.0f} % waiting"
    )
    yield (
        f"  memory       {in_bytes(memory.get('used', 0))} of {in_bytes(memory.get('total', 0))},"
        f" swap {in_bytes(memory.get('swapused', 0))}"
    )
    for one in data["mounts"].values():
        yield f"  {one['use']:3.0f} % full   {one['mount']} ({in_bytes(one['size'])})"
    network = data["stats"]["network"]
    yield (
        f"  network      {in_bytes(int(network['rx_sec']))}/s in,"
        f" {in_bytes(int(network['tx_sec']))}/s out, {data['connections']['all']:,} connections"
    )
    yield from _process_lines(data)


def _process_lines(data: dict[str, Any]) -> Iterator[str]:
    processes = data["processes"]
    yield (
        f"  processes    {processes['all']:,}: {processes['running']:,} running,"
        f" {processes['blocked']:,} blocked, {processes['zombie']:,} zombies"
    )
    yield f"  {'PID':>8}  {'USER':10}  {'CPU':>6}  {'MEMORY':>9}  COMMAND"
    for one in sorted(processes["list"], key=lambda one: -one["cpu"])[:_MOST_PROCESSES]:
        yield (
            f"  {one['pid']:>8}  {one['user'][:10]:10}  {one['cpu']:5.1f}%"
            f"  {in_bytes(one['memRss']):>9}  {one['command']}"
        )


def compared_lines(found: Comparison) -> Iterator[str]:
    yield (
        f"from {found.before.id} ({when(int(found.before.date))})"
        f" to {found.after.id} ({when(int(found.after.date))}), {in_words(int(found.seconds))}"
    )
    for label, names in (
        ("servers no longer there", found.only_before),
        ("new servers", found.only_after),
        ("jobs started", found.jobs_started),
        ("jobs ended", found.jobs_ended),
        ("alerts raised", found.alerts_raised),
        ("alerts cleared", found.alerts_cleared),
    ):
        if names:
            yield f"{label}: {', '.join(names)}"
    for server in found.servers:
        yield ""
        yield from _server_lines(server)


def _server_lines(found: ServerComparison) -> Iterator[str]:
    yield found.hostname
    for value in found.values:
        if value.before != value.after:
            before, after = _figure(value.before, value), _figure(value.after, value)
            yield f"  {value.name:30} {before} -> {after}"
    for label, values in (("full", found.mounts), ("connections", found.connections)):
        for value in values:
            before, after = _figure(value.before, value), _figure(value.after, value)
            yield f"  {value.name} {label}: {before} -> {after}"
    for label, count, processes in (
        ("started", found.started_count, found.started),
        ("ended", found.ended_count, found.ended),
    ):
        if count:
            yield f"  {label} processes: {count:,}"
            yield from (f"    {_process(one)}" for one in processes)
    yield from _mover_lines("CPU", found.cpu_movers)
    yield from _mover_lines("memory", found.memory_movers)


def _mover_lines(label: str, movers: tuple[Mover, ...]) -> Iterator[str]:
    if movers:
        yield f"  {label} changed most:"
    for one in movers:
        before, after = one.before, one.after
        if label == "CPU":
            figures = f"{before.cpu:.1f} % -> {after.cpu:.1f} %"
        else:
            figures = f"{in_bytes(before.memory)} -> {in_bytes(after.memory)}"
        yield f"    {figures}  {after.pid} {after.command}"


def _process(one: ProcessShown) -> str:
    return f"{one.pid} {one.user} {one.cpu:.1f} % {in_bytes(one.memory)} {one.command}"


def _figure(figure: float, of: Value) -> str:
    if of.unit == "bytes":
        return in_bytes(int(figure))
    return f"{figure:.1f} %" if of.unit == "%" else f"{figure:g}"
