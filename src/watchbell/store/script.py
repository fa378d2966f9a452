"""Lua scripts, called by their digest; sent whole where the store does not have them."""

import hashlib
from collections.abc import Sequence
from typing import Any

from redis.exceptions import NoScriptError

from watchbell.store.client import NOT_NOW, Argument, Primary, Store

READ = """
local function read(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then return false end
  return answer
end
"""
"""Lua for scripts that read: a key of a wrong type, left by somebody else, counts as absent."""

RAISE_NOT_NOW = f"""
local not_now = {{{", ".join(f"{code} = true" for code in NOT_NOW)}}}
local function raise_not_now(answer)
  if not_now[string.match(answer.err, '^%-?(%u+)')] then error(answer) end
end
"""
"""Lua for scripts that go on after a command that the store refuses: where the reply means "not
now", the script ends with it. The store refuses the first write of a script or none of them, so
nothing was written, and the whole script is sent again later."""


class Script:
    """One Lua text. A call may reach the store twice, so a script must be safe to run again."""

    def __init__(self, lua: str) -> None:
        self.lua = lua
        self.digest = hashlib.sha1(lua.encode(), usedforsecurity=False).hexdigest()

    async def __call__(
        self, store: Store, keys: Sequence[str], args: Sequence[Argument] = ()
    ) -> Any:
        return await self._sent(store, [len(keys), *keys, *args])

    async def on(self, primary: Primary, args: Sequence[Argument]) -> Any:
        """The script on one server, for what concerns that server's own keys."""
        return await self._sent(primary, [0, *args])

    async def _sent(self, where: Store | Primary, args: Sequence[Argument]) -> Any:
        try:
            return await where.call("EVALSHA", self.digest, *args)
        except NoScriptError:
            return await where.call("EVAL", self.lua, *args)
