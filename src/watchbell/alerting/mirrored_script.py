"""A Lua script that changes the working layout, and the records of what it changed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from watchbell import logs
from watchbell.alerting.keys import AlertingOwn
from watchbell.alerting.record_lua import LIBRARY
from watchbell.store.client import Argument, Store
from watchbell.store.script import Script

Unit = tuple[str, ...]
"""The name of a unit of the mirror, and what it is about."""


class MirroredScript(Script):
    """One Lua text, after which units of the mirror are brought up to date in the same step.

    The Lua may `mark(unit, …)` more of them.
    """

    def __init__(self, lua: str) -> None:
        # The last of KEYS is the switch of the records, the last of ARGV msgpack: units; the others
        # are the Lua's own.
        super().__init__(
            LIBRARY
            + f"local function change(KEYS, ARGV) {lua}\nend\n"
            + """
switch = table.remove(KEYS)
local units = table.remove(ARGV)
local answer = change(KEYS, ARGV)
for _, unit in ipairs(records() and cmsgpack.unpack(units) or {}) do mark(unpack(unit)) end
return {answer or false, mirror_marked({})}
"""
        )

    async def __call__(
        self,
        store: Store,
        keys: Sequence[str],
        args: Sequence[Argument] = (),
        units: Sequence[Unit] = (),
    ) -> Any:
        switch = AlertingOwn(store.prefix).records()
        packed = msgspec.msgpack.encode(units)
        answer, refused = await super().__call__(store, [*keys, switch], [*args, packed])
        for words in refused:
            logs.get().error("the store refused", command=words)
        return answer
