"""Every kind of store, with all keys in one slot where it has slots."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.conftest import watched
from watchbell.store.client import Store


@pytest.fixture
async def anywhere(topology: Any) -> AsyncIterator[Store]:
    async for store in watched(f"{topology.url}?prefix={{bell}}:"):
        yield store
