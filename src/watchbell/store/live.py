"""Live channels: pub/sub that comes back by itself and says when messages may have been missed."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from redis import exceptions

from watchbell import logs
from watchbell.store.client import Store, heeding

QUIET = 5.0


class Message(Struct, frozen=True):
    channel: str
    body: bytes


class Gap(Struct, frozen=True):
    """Listening starts here: what was said before may have been missed, so read the state anew."""

    reason: str


async def listen(
    store: Store, *channels: str, quiet: float = QUIET
) -> AsyncGenerator[Message | Gap, None]:
    """What is said on the channels, for ever; the first item, and one after each cut, is a Gap.

    After `quiet` seconds of silence the connection is asked whether it is still there.
    """
    reason = "just subscribed"
    while True:
        pubsub = store.pubsub()
        try:
            async with aclosing(_heard(pubsub, channels, reason, quiet)) as heard:
                async for item in heard:
                    yield item
        except (exceptions.ConnectionError, exceptions.TimeoutError, OSError) as error:
            reason = str(error) or type(error).__name__
            logs.get().warning("live channel cut, subscribing again", reason=reason)
            await asyncio.sleep(0.2)
        finally:
            await pubsub.aclose()


async def _heard(
    pubsub: Any, channels: tuple[str, ...], reason: str, quiet: float
) -> AsyncGenerator[Message | Gap, None]:
    await heeding(pubsub.subscribe(*channels))
    waiting, asked = set(channels), False
    while True:
        item = await heeding(pubsub.get_message(timeout=quiet))
        if item is None:
            if asked:
                raise exceptions.ConnectionError("the store no longer answers")
            await heeding(pubsub.ping())
            asked = True
            continue
        asked = False
        channel = item["channel"].decode(errors="replace") if item["channel"] else ""
        if item["type"] == "subscribe":
            waiting.discard(channel)
            if not waiting:
                yield Gap(reason)
        elif item["type"] == "message":
            yield Message(channel, item["data"])
