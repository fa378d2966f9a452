"""Addresses of pages in messages."""

from collections.abc import Callable

import pytest

from tests.web.site import Site
from watchbell.jobs import links


@pytest.mark.parametrize("page", [links.job_page, links.event_page, links.server_page])
async def test_a_link_in_a_message_opens_a_page(
    site: Site, page: Callable[[str, str], str]
) -> None:
    async with site.somebody("viewer") as alice:
        answer = await alice.get(page("", "a b&c"))
        assert answer.status == 200, answer.text
        assert "<html" in answer.text
