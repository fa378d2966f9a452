"""Watches a store's mark and reports its loss as a check event until it is accepted."""

from msgspec import Struct
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting.intake import submit
from watchbell.alerting.keys import Alerting
from watchbell.alerting.model import FAILING, CheckEvent
from watchbell.roles.role import Context
from watchbell.store import store_identity
from watchbell.store.client import Store
from watchbell.store.health import Finding
from watchbell.store.script import Script
from watchbell.store.store_identity import Memory, StoreIdentity

ENTITY, CHECK = "watchbell", "store"
AGAIN = 60.0
"""Seconds between two reports of a loss, so that contacts that are added later are notified."""


class Watch:
    def __init__(self, context: Context) -> None:
        self._store, self._clock = context.store, context.clock
        self._memory = Memory(context.settings, context.store)
        self._reported: tuple[StoreIdentity | None, float] = None, 0
        """The mark of the last report, and when that was made."""

    async def look(self) -> list[Finding]:
        """Corrects the store's mark and returns findings about it."""
        now = int(self._clock.now())
        found, raw = await store_identity.read(self._store)
        wanted = store_identity.next_identity(self._memory.mark, found, ids.token(), now)
        standing = await _standing(self._store)
        if wanted.lost and _is_accepted(wanted, standing, now):
            wanted = replace(wanted, lost=0)
        if wanted != found and not await store_identity.put(self._store, wanted, raw):
            return []  # another lookout was quicker; next time we see what it wrote
        if wanted.is_settled(now):
            self._memory.keep(wanted)
        await self._report_loss(wanted, standing)
        return store_identity.findings(wanted)

    async def _report_loss(self, seen: StoreIdentity, standing: "Standing") -> None:
        """Reports a change at once, and a loss again only after the last report was processed."""
        time, is_failing = self._clock.monotonic(), standing.state in FAILING
        reported, before = self._reported
        is_new = reported != seen and (seen.lost or is_failing)
        if is_new or (seen.lost and is_failing and time - before >= AGAIN):
            await submit(self._store, _report(seen))
            self._reported = seen, time


class Standing(Struct, frozen=True):
    """The state of our check in alerting."""

    state: str
    changed: int
    acknowledged: int


# KEYS[1] any key of the namespace; ARGV[1] the check, ARGV[2] its unscheduled maintenance. Returns
# its state, when that began, and when the maintenance did.
_STANDING = Script("""
local fields = redis.pcall('HMGET', ARGV[1], 'state', 'last_change')
local start = redis.pcall('GET', ARGV[2])
if fields.err then fields = {false, false} end
return {fields[1], fields[2], type(start) == 'string' and start}
""")


async def _standing(store: Store) -> Standing:
    keys = Alerting(store.prefix)
    args = [keys.current(ENTITY, CHECK), keys.unscheduled(ENTITY, CHECK)]
    state, changed, start = await _STANDING(store, [keys.events()], args)
    return Standing((state or b"").decode(errors="replace"), _number(changed), _number(start))


def _number(raw: bytes | None) -> int:
    return int(raw) if raw and raw.isdigit() and len(raw) < 20 else 0


def _is_accepted(missed: StoreIdentity, standing: Standing, now: int) -> bool:
    """Whether the loss was acknowledged, reported as ok, or is old enough."""
    return (
        standing.acknowledged >= missed.lost
        or (standing.state == "ok" and standing.changed >= missed.lost)
        or now - missed.lost >= store_identity.ACCEPTED
    )


def _report(seen: StoreIdentity) -> CheckEvent:
    if not seen.lost:
        words = "the store is as it was before, or its loss was accepted"
        return CheckEvent(type="service", state="ok", entity=ENTITY, check=CHECK, summary=words)
    (finding,) = store_identity.findings(seen)
    return CheckEvent(
        type="service",
        state="critical",
        entity=ENTITY,
        check=CHECK,
        summary=finding.text,
        details=finding.advice,
        initial_failure_delay=0,
    )
