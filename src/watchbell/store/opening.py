"""Opening the store that the settings name."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from redis.exceptions import NoPermissionError, ResponseError

from watchbell.errors import Refused, StoreUnavailable
from watchbell.settings import Settings
from watchbell.store import embedded, health
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.store.url import StoreURL


def url_of(chosen: Settings) -> StoreURL:
    """The store's URL: that of the settings, or of the embedded store of the data folder."""
    if chosen.store.url:
        return store_url.parse(chosen.store.url, chosen.store.password.reveal())
    if not embedded.is_running(chosen.data):
        raise StoreUnavailable(
            f"no store is running on {chosen.data}; start it with `watchbell up`, "
            "or name another with --store URL"
        )
    return embedded.url(chosen)


@asynccontextmanager
async def opened(chosen: Settings) -> AsyncIterator[Store]:
    """The store, once it answers. What it refuses inside the block becomes an error of ours."""
    async with Store(url_of(chosen)) as store:
        try:
            await health.admit(store)
            yield store
        except NoPermissionError as error:
            raise StoreUnavailable(
                f"the store at {store.url.redacted()} refuses: {error}"
            ) from error
        except ResponseError as error:
            if not str(error).startswith("WRONGTYPE"):
                raise
            what = "; ".join(getattr(error, "__notes__", []))
            raise Refused(
                f"another program left a key of a wrong type in the store: {what} was refused"
            ) from error
