"""The archive on IRC: commands that people give in channels are carried out and answered, and
crawls that end are announced."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from msgspec.structs import replace

from watchbell import logs
from watchbell.archive import chat
from watchbell.archive.announcer import Announcer
from watchbell.archive.irc.client import IrcClient
from watchbell.archive.irc.connection import Account, Said
from watchbell.archive.irc.lines import folded
from watchbell.archive.irc.outbox import Pace
from watchbell.clock import Clock
from watchbell.errors import StoreUnavailable, WatchbellError
from watchbell.store.client import Store

Answer = Callable[[Said], Awaitable[Sequence[str]]]
"""Carries out a command and answers it."""

_MOST_WAITING = 200
_MOST_OF_ONE = 5
"""Commands of one person that wait; more are dropped."""


class IrcBot:
    def __init__(
        self,
        store: Store,
        account: Account,
        clock: Clock,
        answer: Answer,
        show: Callable[[str], None],
        pace: Pace | None = None,
    ) -> None:
        self._answer = answer
        self._channels = {folded(one.split()[0]): one.split()[0] for one in account.channels}
        self._waiting: asyncio.Queue[Said] = asyncio.Queue(_MOST_WAITING)
        self._of_each = Counter[str]()
        self.client = IrcClient(account, clock, self._hear, show, pace)
        self._announcer = Announcer(store, self, clock)
        self._log = logs.get(role="irc")

    async def run(self) -> None:
        """Runs until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            group.create_task(self._answer_all())
            group.create_task(self._announcer.run())

    def places(self) -> Sequence[str]:
        connection = self.client.connection
        inside = connection.channels if connection else frozenset()
        return [name for key, name in self._channels.items() if key in inside]

    async def announce(self, place: str, text: str) -> bool:
        connection = self.client.connection
        if connection is None or not connection.say(place, text):
            return False
        await connection.has_sent_all(place)
        return self.client.connection is connection

    def _hear(self, said: Said) -> None:
        person = folded(said.nick)
        if not said.text.startswith("!") or self._of_each[person] >= _MOST_OF_ONE:
            return
        channel = self._channels.get(folded(said.channel), said.channel)
        try:
            self._waiting.put_nowait(replace(said, channel=channel))
        except asyncio.QueueFull:  # nobody would read so many answers
            return
        self._of_each[person] += 1

    async def _answer_all(self) -> None:
        while True:
            said = await self._waiting.get()
            self._of_each -= Counter([folded(said.nick)])
            self._reply(said, await self._answered(said))

    async def _answered(self, said: Said) -> Sequence[str]:
        try:
            return await self._answer(said)
        except StoreUnavailable as error:
            self._log.warning("a command could not be carried out", reason=str(error))
            return ["I can't reach the store right now. Please try again in a moment."]
        except WatchbellError as error:
            return [str(error)]
        except Exception:  # noqa: BLE001 logged; the next command may work
            self._log.exception("a command failed", by=said.nick, text=said.text)
            return ["That failed; see my log for the reason."]

    def _reply(self, said: Said, answer: Sequence[str]) -> None:
        connection = self.client.connection
        if connection is None:
            return
        is_private = chat.is_private(said.text)
        to, lead = (said.nick, "") if is_private else (said.channel, f"{said.nick}: ")
        for line in answer:
            if not connection.say(to, lead + line):
                self._log.warning("an answer was dropped: too many wait", to=to)
                return
