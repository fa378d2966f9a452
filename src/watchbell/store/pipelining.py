"""Load, decide, apply, piece by piece, so that the store and we work at the same time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from watchbell.store.queue import Batch

Item = TypeVar("Item")
Facts = TypeVar("Facts")
Verdicts = TypeVar("Verdicts")


async def pipelined(
    pieces: Sequence[Batch],
    load: Callable[[Batch], Coroutine[Any, Any, Facts]],
    decide: Callable[[Batch, Facts], Coroutine[Any, Any, Verdicts]],
    apply: Callable[[Batch, Verdicts], Coroutine[Any, Any, None]],
    enough: Callable[[], bool] = bool,
) -> int:
    """While we decide on a piece, the store applies the one before it and reads the one after it.

    Pieces are decided on and applied in order. What is loaded may lack what the pieces before it
    change, since that may not be applied yet: `decide` has to remember what it decided. It also
    has to let others have their turn now and then, or a long request would not be sent.
    Once there is `enough`, no further piece is begun; returns how many are done.
    """
    done = 0
    if len(pieces) == 1:  # an idle system answers sooner without tasks
        await apply(pieces[0], await decide(pieces[0], await load(pieces[0])))
        return 1
    try:
        async with asyncio.TaskGroup() as group:
            loading = group.create_task(load(pieces[0]))
            applying: asyncio.Task[None] | None = None
            for piece, following in zip_longest(pieces, pieces[1:]):
                facts = await loading
                if following is not None:
                    loading = group.create_task(load(following))
                await asyncio.sleep(0)  # so that the store has its work when we begin with ours
                verdicts = await decide(piece, facts)
                if applying is not None:
                    await applying
                applying = group.create_task(apply(piece, verdicts))
                done += 1
                if enough():
                    break
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return done


async def yielding(items: Iterable[Item], every: int) -> AsyncIterator[Item]:
    """The same, one by one; everybody else has a turn after every so many of them."""
    for number, item in enumerate(items, 1):
        yield item
        if number % every == 0:
            await asyncio.sleep(0)
