"""A web server for each test."""

from collections.abc import AsyncIterator

import pytest

from tests.web.site import Site, served
from watchbell.store.client import Store


@pytest.fixture
async def site(store: Store) -> AsyncIterator[Site]:
    async with served(store) as running:
        yield running
