"""Acknowledgement links in messages: their use is limited per address, and audited."""

from watchbell.gateways.ack_page import Use
from watchbell.store.client import Store
from watchbell.web import audit
from watchbell.web.audit import Stamp
from watchbell.web.limits import BY_ACK_LINK, sender


class LinkUses:
    def __init__(self, store: Store) -> None:
        self._store = store

    async def wait(self, address: str) -> int:
        return await BY_ACK_LINK.spend(self._store, sender(address))

    async def record(self, use: Use) -> None:
        action = "acknowledgement.refused" if use.refusal else "check.acknowledge"
        stamp = Stamp(use.actor, use.time)
        entry = stamp.entry(action, use.check, use.refusal or use.details)
        await audit.record(self._store, entry)
