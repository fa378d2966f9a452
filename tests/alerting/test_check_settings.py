"""What people set for one check."""

import pytest

from tests.alerting.scenes import Stage
from watchbell.alerting import check_settings
from watchbell.errors import NotFound, Refused
from watchbell.store.client import Store


async def test_what_is_set_holds_until_it_is_taken_back(store: Store) -> None:
    assert await check_settings.configure(store, "web:http", {"ttl": 60}) == {"ttl": 60}
    both = await check_settings.configure(store, "web:http", {"initial_failure_delay": 0})
    assert both == {"ttl": 60, "initial_failure_delay": 0}
    assert await check_settings.configure(store, "web:http", {"ttl": None}) == {
        "initial_failure_delay": 0
    }
    assert await check_settings.configure(store, "web:http", {"initial_failure_delay": None}) == {}


async def test_what_makes_no_sense_is_refused(store: Store) -> None:
    with pytest.raises(Refused, match="ttl: -1 is not allowed; expected seconds"):
        await check_settings.configure(store, "web:http", {"ttl": -1})
    with pytest.raises(Refused, match="colour: 1 is not allowed"):
        await check_settings.configure(store, "web:http", {"colour": 1})


async def test_the_silence_of_a_check_with_a_ttl_of_its_own_is_called_out(store: Store) -> None:
    stage = Stage(store)
    await check_settings.configure(store, "web:http", {"ttl": 60})
    await stage.send("ok")
    assert (await stage.later(60).drain()).events == 1


async def test_a_ttl_that_is_set_or_taken_back_counts_from_the_last_report(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok")
    stage.later(10)
    await check_settings.configure(store, "web:http", {"ttl": 60})
    assert (await stage.later(49).drain()).events == 0
    assert (await stage.later(1).drain()).events == 1
    await check_settings.configure(store, "web:http", {"ttl": None})
    assert (await stage.later(600).drain()).events == 0


async def test_the_ttl_of_a_report_wins_over_one_that_is_set_later(store: Store) -> None:
    stage = Stage(store)
    await stage.send("ok", ttl=30)
    await check_settings.configure(store, "web:http", {"ttl": 600})
    assert (await stage.later(30).drain()).events == 1


async def test_nothing_is_awaited_of_a_check_that_never_reported(store: Store) -> None:
    stage = Stage(store)
    await check_settings.configure(store, "web:http", {"ttl": 60})
    assert (await stage.later(600).drain()).events == 0


async def test_a_disabled_check_is_hidden_until_it_reports_again(store: Store) -> None:
    stage = Stage(store)
    await stage.contact("alice", "email", threshold=5)
    await stage.fails()
    alerting = stage.keys.alerting_checks("alice", "email")
    assert await store.call("ZCARD", alerting) == 1
    await check_settings.disable(store, "web:http")
    assert await store.call("EXISTS", stage.keys.current_checks("web")) == 0
    assert await store.call("EXISTS", stage.keys.current_entities()) == 0
    assert await store.call("ZCARD", alerting) == 0
    with pytest.raises(NotFound, match="no enabled check"):
        await check_settings.disable(store, "web:http")
    await stage.later(10).send("ok")
    assert await store.call("ZRANGE", stage.keys.current_checks("web"), 0, -1) == [b"http"]
