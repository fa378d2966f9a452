"""A store whose answers a test holds back or loses, to force the order in which things happen."""

import asyncio
from collections.abc import Callable
from typing import Any

from watchbell.errors import StoreUnavailable
from watchbell.store.client import Argument, Store

Choice = Callable[[tuple[Argument, ...]], bool]


class Gate:
    """Closed: the store has run the commands that it is for, and nobody has their answers yet."""

    def __init__(self, choice: Choice, *, loses: bool) -> None:
        self.choice, self.loses = choice, loses
        self.reached = asyncio.Event()
        self._open = asyncio.Event()

    async def passed(self) -> None:
        self.reached.set()
        await self._open.wait()
        if self.loses:
            self.loses = False
            raise StoreUnavailable("the answer was lost")

    def open(self) -> None:
        self._open.set()


class GatedStore(Store):
    """The real store, with gates behind it."""

    def __init__(self, store: Store) -> None:
        super().__init__(store.url)
        self.prefix = store.prefix
        self.gates: list[Gate] = []
        self.is_away = False
        self.calls: list[tuple[Argument, ...]] = []

    def gate(self, script: str, word: bytes = b"", *, loses: bool = False) -> Gate:
        """For the answers of a script, by its digest, that was called with a word in its args."""

        def is_meant(command: tuple[Argument, ...]) -> bool:
            return script in command and any(
                word in one for one in command if isinstance(one, bytes)
            ) >= bool(word)

        self.gates.append(Gate(is_meant, loses=loses))
        return self.gates[-1]

    def times(self, script: str) -> int:
        return sum(script in command for command in self.calls)

    async def call(self, *command: Argument) -> Any:
        if self.is_away:
            raise StoreUnavailable("the store is away")
        self.calls.append(command)
        answer = await super().call(*command)
        for gate in self.gates:
            if gate.choice(command):
                await gate.passed()
        return answer
