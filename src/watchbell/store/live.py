"""Live channels: pub/sub that reconnects and reports when messages may have been missed."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from msgspec import Struct
from redis import exceptions

from watchbell.errors import StoreNotReady
from watchbell.store import outage
from watchbell.store.client import CLIENT_ERRORS, Backoff, Store, heeding

QUIET = 5.0
_INVALIDATED = "__redis__:invalidate"
"""Where a store lists keys that changed."""
_PONG = {"type": "pong", "channel": None}


class Message(Struct, frozen=True):
    channel: str
    body: bytes


class Gap(Struct, frozen=True):
    """Earlier messages may have been missed: read the state anew."""

    reason: str


async def listen(
    store: Store, *channels: str, quiet: float = QUIET, begin: Sequence[str] = ()
) -> AsyncGenerator[Message | Gap, None]:
    """Messages of the channels, for ever; the first item, and one after each disconnect, is a Gap.

    After `quiet` seconds without messages the connection is tested by a ping.
    """
    reason = "just subscribed"
    backoff = Backoff(first=0.2)
    while True:
        pubsub = store.pubsub(*begin[:1])
        try:
            if begin:
                await heeding(_track(pubsub, begin))
            async with aclosing(_messages(store, pubsub, channels, reason, quiet)) as messages:
                async for item in messages:
                    if backoff.has_waited:
                        outage.end()
                        backoff.reset()
                    yield item
        except CLIENT_ERRORS as error:
            unavailable = store.unavailable(error)
            if unavailable is None:
                raise
            reason = str(error) or type(error).__name__
            outage.begin(unavailable)
        finally:
            await pubsub.aclose()
        await backoff.wait()


async def changed_keys(
    store: Store, begin: Sequence[str]
) -> AsyncGenerator[list[bytes] | Gap, None]:
    """The keys that change of those that begin so, for ever, soon after each change, whoever made
    it; none of the beginnings begins another. Gaps are as for `listen`."""
    async with aclosing(listen(store, _INVALIDATED, begin=begin)) as items:
        async for item in items:
            keys: Any = item.body if isinstance(item, Message) else None
            yield item if isinstance(item, Gap) else keys or Gap("the store was emptied")


async def _track(pubsub: Any, begin: Sequence[str]) -> None:
    """Has the store report changes to the connection that subscribes."""
    await pubsub.connect()
    await pubsub.connection.send_command("CLIENT", "ID")
    number = await pubsub.connection.read_response()
    words = [word for one in begin for word in ("PREFIX", one)]
    command = ("CLIENT", "TRACKING", "ON", "REDIRECT", number, "BCAST", *words)
    await pubsub.connection.send_command(*command)
    await pubsub.connection.read_response()


async def _messages(
    store: Store, pubsub: Any, channels: tuple[str, ...], reason: str, quiet: float
) -> AsyncGenerator[Message | Gap, None]:
    await heeding(pubsub.subscribe(*channels))
    waiting, asked = set(channels), False
    while True:
        item = await _next(store, pubsub, quiet, is_subscribed=not waiting)
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


async def _next(store: Store, pubsub: Any, quiet: float, *, is_subscribed: bool) -> Any:
    try:
        return await heeding(pubsub.get_message(timeout=quiet))
    except exceptions.ResponseError as error:
        # A store with a full disk refuses even a ping, and goes on to publish: that is a sign of
        # life. A subscription that was refused has to be asked for again.
        if not is_subscribed or not isinstance(store.unavailable(error), StoreNotReady):
            raise
        return _PONG
