"""Uses of the links by which messages are acknowledged: limited per address, and audited."""

from watchbell.gateways.ack_page import Use
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.audit import Entry
from watchbell.web.limits import BY_ACK_LINK, sender


class LinkUses:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def wait(self, address: str) -> int:
        return await BY_ACK_LINK.spend(self._store, sender(address))

    async def record(self, use: Use) -> None:
        entry = Entry(
            time=use.time,
            who=f"{use.who} (link)" if use.who else "",
            action="acknowledgement.refused" if use.refusal else "check.acknowledge",
            subject=use.check,
            details=use.refusal or use.details,
            address=use.address,
        )
        await audit.record(self._store, entry)
