"""An agent comes: its token becomes that of one server, which is created where it is new."""

from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.errors import Refused
from watchbell.fleet import grouping, records, tokens, validation
from watchbell.fleet.model import AgentToken, Server, ServerInfo
from watchbell.fleet.records import Change, Fleetwide
from watchbell.store.client import Store

REVOKED = "revoked"
"""The code of a refusal after which trying again is of no use."""


class Arrival(Struct, frozen=True, kw_only=True):
    hostname: str
    info: ServerInfo
    address: str
    now: int


async def arrive(store: Store, token_id: str, arrival: Arrival) -> tuple[Server, AgentToken]:
    """The server whose agent has come with this token. Raises Refused."""
    name, info = validation.hostname(arrival.hostname), validation.info(arrival.info)
    arrival = replace(arrival, hostname=name, info=info)
    while True:
        token, text = await records.find(store, AgentToken, token_id)
        if token is None or tokens.is_expired(token, arrival.now):
            raise Refused("the token was revoked or has expired", code=REVOKED)
        known = await records.load(store, token.server)
        is_joining = not token.server
        server = _joined(known, token, arrival) if is_joining else _returned(known, token, arrival)
        used = replace(token, server=server.id, last_used=arrival.now, following="")
        changes = [Change(AgentToken, token_id, text, used)]
        if is_joining:
            changes += await tokens.deletions(store, server.id)
        else:
            changes += await tokens.superseded(store, token)
        before = known.servers.get(server.id)
        if server != before:
            changes.append(Change(Server, server.id, known.server_text(server.id), server))
        if await records.write(
            store,
            changes,
            servers=known.server_texts if is_joining else None,
            groups=known.group_texts,
            published=[server.id] if server != before else [],
        ):
            return server, used


def _joined(known: Fleetwide, token: AgentToken, arrival: Arrival) -> Server:
    name = arrival.hostname
    if token.hostname and token.hostname != name:
        raise Refused(f"this token is for {token.hostname}, and not for {name}", code=REVOKED)
    same = next((one for one in known.servers.values() if one.hostname == name), None)
    if same is not None and not token.hostname:
        raise Refused(
            f"there is a server {name} already; to replace it, create a token for this hostname",
            code=REVOKED,
        )
    blank = Server(
        id=ids.record_id("s", arrival.now),
        hostname=name,
        groups=token.groups,
        auto_group=not token.groups,
        created=arrival.now,
        modified=arrival.now,
    )
    return _seen(same or blank, known, arrival)


def _returned(known: Fleetwide, token: AgentToken, arrival: Arrival) -> Server:
    server = known.servers.get(token.server)
    if server is None:
        raise Refused("the server of this token was removed", code=REVOKED)
    if server.hostname != arrival.hostname:
        raise Refused(
            f"this token is for {server.hostname}, and this machine is {arrival.hostname}; rename "
            "the server, or let the machine join with a token of its own",
        )
    return _seen(server, known, arrival)


def _seen(server: Server, known: Fleetwide, arrival: Arrival) -> Server:
    current = replace(server, ip=arrival.address, info=arrival.info)
    return grouping.regrouped(current, known.groups)
