"""Sends check events of cron to alerting, and limits how many wait there."""

from collections.abc import Sequence

import msgspec

from watchbell.alerting.keys import Alerting
from watchbell.cron import check_reports, lua
from watchbell.cron.keys import CronOwn
from watchbell.store.client import Store
from watchbell.store.effects import verbatim
from watchbell.store.script import Script

# KEYS events, unreported; ARGV[1] most events, ARGV[2] msgpack: {check, event}.
_REPORT = Script(
    """
local events, unreported = KEYS[1], KEYS[2]
local own = {most_events = tonumber(ARGV[1])}
"""
    + lua.REPORT
    + """
for _, one in ipairs(cmsgpack.unpack(ARGV[2])) do report(one[1], one[2]) end
"""
)


async def report(store: Store, events: Sequence[tuple[str, bytes]], most_events: int) -> None:
    """Sends events of jobs. While too many wait for alerting, keeps back the latest of each job."""
    if events:
        keys = [Alerting(store.prefix).events(), CronOwn(store.prefix).unreported()]
        items = [(f"{check_reports.ENTITY}:{job}", verbatim(event)) for job, event in events]
        await _REPORT(store, keys, [most_events, msgspec.msgpack.encode(items)])
