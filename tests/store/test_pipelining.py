"""Load, decide, apply at the same time: in order, together, and with errors as they are."""

import asyncio

import pytest

from watchbell.errors import LeaseLost
from watchbell.store.pipelining import pipelined, yielding
from watchbell.store.queue import Batch


def pieces(count: int) -> list[Batch]:
    return Batch(1, [str(number).encode() for number in range(count)], 0, count).pieces(1)


class Diary:
    """A worker that writes down what it does."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def _act(self, act: str, piece: Batch) -> None:
        self.lines.append(f"{act} {name(piece)}")

    async def load(self, piece: Batch) -> str:
        self._act("load", piece)
        return name(piece)

    async def decide(self, piece: Batch, facts: str) -> str:
        assert facts == name(piece)
        self._act("decide", piece)
        return facts

    async def apply(self, piece: Batch, verdicts: str) -> None:
        assert verdicts == name(piece)
        self._act("apply", piece)


def name(piece: Batch) -> str:
    return piece.items[0].decode()


@pytest.mark.parametrize("count", [1, 2, 5])
async def test_each_piece_is_loaded_decided_on_and_applied_in_order(count: int) -> None:
    diary = Diary()
    await pipelined(pieces(count), diary.load, diary.decide, diary.apply)
    for act in ("load", "decide", "apply"):
        told = [line for line in diary.lines if line.startswith(act)]
        assert told == [f"{act} {number}" for number in range(count)]
    for number in range(count):
        places = [diary.lines.index(f"{act} {number}") for act in ("load", "decide", "apply")]
        assert places == sorted(places)


async def test_the_next_is_read_and_the_last_applied_while_we_decide() -> None:
    diary, begun = Diary(), [asyncio.Event() for _ in range(4)]

    async def load(piece: Batch) -> str:
        if piece.left < 4:  # every one but the first waits for us to decide on the one before it
            await begun[3 - piece.left].wait()
        return await diary.load(piece)

    async def decide(piece: Batch, facts: str) -> str:
        begun[4 - piece.left].set()
        return await diary.decide(piece, facts)

    async def apply(piece: Batch, verdicts: str) -> None:
        if piece.left > 1:  # and every one but the last for us to decide on the one after it
            await begun[5 - piece.left].wait()
        await diary.apply(piece, verdicts)

    async with asyncio.timeout(60):
        await pipelined(pieces(4), load, decide, apply)
    assert len(diary.lines) == 12


@pytest.mark.parametrize("act", ["load", "decide", "apply"])
@pytest.mark.parametrize(("count", "at"), [(1, 0), (3, 0), (3, 2)])
async def test_an_error_is_raised_as_it_is_and_stops_the_rest(
    act: str, count: int, at: int
) -> None:
    diary = Failing(act, at)
    with pytest.raises(LeaseLost, match="gone"):
        await pipelined(pieces(count), diary.load, diary.decide, diary.apply)
    applied = [line for line in diary.lines if line.startswith("apply")]
    assert applied == [f"apply {number}" for number in range(at)][: len(applied)]


class Failing(Diary):
    """One that fails at one act on one piece."""

    def __init__(self, act: str, at: int) -> None:
        super().__init__()
        self._fault = f"{act} {at}"

    def _act(self, act: str, piece: Batch) -> None:
        if f"{act} {name(piece)}" == self._fault:
            raise LeaseLost("gone")
        super()._act(act, piece)


async def test_others_have_their_turn_after_every_so_many_items() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        task = group.create_task(other())
        seen = [(item, turns) async for item in yielding("abcde", 2)]
        task.cancel()
    assert seen == [("a", 0), ("b", 0), ("c", 1), ("d", 1), ("e", 2)]
