"""Maintenance: which window is open, what its end changes, and mirrors that always agree."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.alerting import maintenance
from watchbell.alerting.keys import Alerting, AlertingOwn
from watchbell.alerting.model import split_id
from watchbell.alerting.windows import (
    Kind,
    Window,
    commands_for_create_unscheduled,
    commands_for_end_unscheduled,
    commands_for_scheduled,
    current_window,
    family,
    glued,
)
from watchbell.errors import Refused
from watchbell.store.client import Store
from watchbell.store.replies import pairs

NOW = 1_700_000_000
HOUR = 3600
CHECK = "web-1.example.com:Disk: /var [ü]"
KEYS = Alerting()
KINDS: tuple[Kind, ...] = ("scheduled", "unscheduled")


async def present(store: Store, kind: Kind, check: str = CHECK) -> tuple[int, int] | None:
    """Beginning and seconds left of the window that is open, by its key."""
    key = family(KEYS, kind).current(*split_id(check))
    value, left = await store.call("GET", key), await store.call("PTTL", key)
    return None if value is None else (int(value), -(-left // 1000))


async def mirrored(store: Store, kind: Kind, check: str = CHECK) -> dict[int, int]:
    """Windows by their beginning; both sorted sets have the same ones."""
    names, parts = family(KEYS, kind), split_id(check)
    windows = await store.call("ZRANGE", names.windows(*parts), 0, -1, "WITHSCORES")
    times = await store.call("ZRANGE", names.times(*parts), 0, -1, "WITHSCORES")
    lengths = {int(start): int(score) for start, score in pairs(windows)}
    assert {start: start for start in lengths} == {int(a): int(b) for a, b in pairs(times)}
    return lengths


@pytest.mark.parametrize(
    ("windows", "now", "found"),
    [
        ([], 10, None),
        ([(0, 10)], 9, (0, 10)),
        ([(0, 10)], 10, None),
        ([(10, 5)], 10, (10, 5)),
        ([(10, 5)], 9, None),
        ([(0, 100), (5, 10)], 7, (0, 100)),
        ([(5, 10), (0, 100)], 7, (0, 100)),
        ([(0, 10), (5, 5)], 7, (5, 5)),
        ([(0, 0)], 0, None),
    ],
)
def test_of_the_open_windows_the_one_that_ends_last_counts(
    windows: list[tuple[int, int]], now: int, found: tuple[int, int] | None
) -> None:
    expected = None if found is None else Window(*found)
    assert current_window([Window(*one) for one in windows], now) == expected


@pytest.mark.parametrize(
    ("said", "together"),
    [
        ([], ""),
        (["", "a"], "a"),
        (["a", ""], "a"),
        (["a", "b"], "a / b"),
        (["a / b", "b"], "a / b"),
        (["a", "a"], "a"),
        (["ab", "a"], "ab / a"),
    ],
)
def test_summaries_are_glued_and_none_is_repeated(said: list[str], together: str) -> None:
    assert glued(*said) == together


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))), st.integers(0, 100))
def test_a_window_is_open_if_and_only_if_one_covers_the_moment(
    windows: list[tuple[int, int]], now: int
) -> None:
    known = [Window(*one) for one in windows]
    found = current_window(known, now)
    covering = [one for one in known if one.start <= now < one.end]
    assert (found is None) == (not covering)
    assert found is None or found.end == max(one.end for one in covering)


def test_commands_are_plain_and_say_what_the_document_says() -> None:
    entity, check = split_id(CHECK)
    assert commands_for_scheduled(KEYS, CHECK, [], NOW - 10, 100, "move", NOW) == [
        ["ZADD", KEYS.scheduled_windows(entity, check), 100, NOW - 10],
        ["ZADD", KEYS.scheduled_times(entity, check), NOW - 10, NOW - 10],
        ["SET", KEYS.scheduled_summary(entity, check, NOW - 10), "move"],
        ["SET", KEYS.scheduled(entity, check), NOW - 10, "PX", 90_000],
    ]
    ended = [
        ["ZADD", KEYS.unscheduled_windows(entity, check), "LT", 60, NOW - 60],
        ["ZADD", KEYS.unscheduled_times(entity, check), NOW - 60, NOW - 60],
        ["DEL", KEYS.unscheduled(entity, check)],
    ]
    assert commands_for_end_unscheduled(KEYS, CHECK, NOW - 60, NOW) == ended
    assert commands_for_create_unscheduled(KEYS, CHECK, NOW - 60, NOW, 100, "", NOW) == [
        *ended,
        ["ZADD", KEYS.unscheduled_windows(entity, check), 100, NOW],
        ["ZADD", KEYS.unscheduled_times(entity, check), NOW, NOW],
        ["SET", KEYS.unscheduled(entity, check), NOW, "PX", 100_000],
    ]


async def test_a_planned_window_is_recorded_and_opens_only_at_its_time(store: Store) -> None:
    await maintenance.create_scheduled(store, CHECK, NOW + 60, HOUR, "new disk", NOW)
    assert await maintenance.windows(store, CHECK, "scheduled") == [
        Window(NOW + 60, HOUR, "new disk")
    ]
    assert await mirrored(store, "scheduled") == {NOW + 60: HOUR}
    assert await present(store, "scheduled") is None


@pytest.mark.parametrize(
    ("start", "left"),
    [(NOW, HOUR), (NOW - HOUR + 1, 1), (NOW - HOUR, None), (NOW + 1, None)],
)
async def test_a_window_is_open_from_its_start_to_just_before_its_end(
    store: Store, start: int, left: int | None
) -> None:
    await maintenance.create_scheduled(store, CHECK, start, HOUR, "", NOW)
    assert await present(store, "scheduled") == (None if left is None else (start, left))


async def test_of_several_planned_windows_the_latest_end_counts(store: Store) -> None:
    await maintenance.create_scheduled(store, CHECK, NOW - 100, 10 * HOUR, "long", NOW)
    await maintenance.create_scheduled(store, CHECK, NOW - 10, HOUR, "short", NOW)
    assert await present(store, "scheduled") == (NOW - 100, 10 * HOUR - 100)
    assert await maintenance.end_scheduled(store, CHECK, NOW - 100, NOW)
    assert await present(store, "scheduled") == (NOW - 10, HOUR - 10)
    assert await mirrored(store, "scheduled") == {NOW - 100: 100, NOW - 10: HOUR}


async def test_the_same_start_again_is_the_same_window_with_a_new_length(store: Store) -> None:
    for summary in ("disk", "disk", "and memory"):
        await maintenance.create_scheduled(store, CHECK, NOW, HOUR, summary, NOW)
    await maintenance.create_scheduled(store, CHECK, NOW, 2 * HOUR, "", NOW)
    assert await maintenance.windows(store, CHECK, "scheduled") == [
        Window(NOW, 2 * HOUR, "disk / and memory")
    ]
    assert await present(store, "scheduled") == (NOW, 2 * HOUR)


@pytest.mark.parametrize(
    ("start", "ended", "left"),
    [
        (NOW + 1, True, {}),
        (NOW, True, {NOW: 0}),
        (NOW - 10, True, {NOW - 10: 10}),
        (NOW - HOUR, False, {NOW - HOUR: HOUR}),
        (NOW - HOUR + 1, True, {NOW - HOUR + 1: HOUR - 1}),
    ],
)
async def test_the_end_of_a_planned_window_depends_on_where_it_is(
    store: Store, start: int, ended: bool, left: dict[int, int]
) -> None:
    await maintenance.create_scheduled(store, CHECK, start, HOUR, "why", NOW)
    assert await maintenance.end_scheduled(store, CHECK, start, NOW) is ended
    assert await mirrored(store, "scheduled") == left
    assert await present(store, "scheduled") is None
    summary = KEYS.scheduled_summary(*split_id(CHECK), start)
    assert await store.call("EXISTS", summary) == bool(left)
    assert not await maintenance.end_scheduled(store, CHECK, start + 5, NOW)


async def test_the_end_of_another_window_leaves_the_open_one_open(store: Store) -> None:
    await maintenance.create_scheduled(store, CHECK, NOW - 10, HOUR, "", NOW)
    await maintenance.create_scheduled(store, CHECK, NOW + HOUR, HOUR, "", NOW)
    assert await maintenance.end_scheduled(store, CHECK, NOW + HOUR, NOW)
    assert await present(store, "scheduled") == (NOW - 10, HOUR - 10)


async def test_an_acknowledgement_takes_over_from_the_one_before(store: Store) -> None:
    await maintenance.create_unscheduled(store, CHECK, NOW, 4 * HOUR, "Alice looks", NOW)
    later = NOW + 600
    await maintenance.create_unscheduled(store, CHECK, later, HOUR, "Bob looks", later)
    assert await maintenance.windows(store, CHECK, "unscheduled") == [
        Window(NOW, 600, "Alice looks"),
        Window(later, HOUR, "Bob looks"),
    ]
    assert await present(store, "unscheduled") == (later, HOUR)
    await mirrored(store, "unscheduled")


async def test_two_acknowledgements_in_one_second_are_one_window(store: Store) -> None:
    await maintenance.create_unscheduled(store, CHECK, NOW, HOUR, "Alice looks", NOW)
    await maintenance.create_unscheduled(store, CHECK, NOW, 2 * HOUR, "Bob looks", NOW)
    assert await maintenance.windows(store, CHECK, "unscheduled") == [
        Window(NOW, 2 * HOUR, "Alice looks / Bob looks")
    ]
    assert await present(store, "unscheduled") == (NOW, 2 * HOUR)


async def test_unscheduled_maintenance_of_the_past_is_only_recorded(store: Store) -> None:
    await maintenance.create_unscheduled(store, CHECK, NOW, HOUR, "", NOW)
    await maintenance.create_unscheduled(store, CHECK, NOW - HOUR, HOUR, "earlier", NOW)
    assert await mirrored(store, "unscheduled") == {NOW: HOUR, NOW - HOUR: HOUR}
    assert await present(store, "unscheduled") == (NOW, HOUR)


async def test_a_window_that_began_before_the_open_one_swallows_it(store: Store) -> None:
    await maintenance.create_unscheduled(store, CHECK, NOW - 10, HOUR, "", NOW)
    await maintenance.create_unscheduled(store, CHECK, NOW - 100, HOUR, "", NOW)
    assert await mirrored(store, "unscheduled") == {NOW - 10: 0, NOW - 100: HOUR}
    assert await present(store, "unscheduled") == (NOW - 100, HOUR - 100)


@pytest.mark.parametrize(
    ("end", "length", "left"),
    [
        (NOW + 60, 60, None),
        (NOW - 5, 0, None),
        (NOW + 600, 600, 540),
        (NOW + 9 * HOUR, HOUR, HOUR - 60),
    ],
)
async def test_ending_unscheduled_maintenance_never_makes_it_longer_or_negative(
    store: Store, end: int, length: int, left: int | None
) -> None:
    now = NOW + 60
    await maintenance.create_unscheduled(store, CHECK, NOW, HOUR, "", NOW)
    assert await maintenance.end_unscheduled(store, CHECK, end, now)
    assert await mirrored(store, "unscheduled") == {NOW: length}
    assert await present(store, "unscheduled") == (None if left is None else (NOW, left))


async def test_there_may_be_no_unscheduled_maintenance_to_end(store: Store) -> None:
    assert not await maintenance.end_unscheduled(store, CHECK, NOW, NOW)
    await maintenance.create_unscheduled(store, CHECK, NOW - HOUR, HOUR, "", NOW)
    assert not await maintenance.end_unscheduled(store, CHECK, NOW, NOW)
    assert await mirrored(store, "unscheduled") == {NOW - HOUR: HOUR}


async def test_a_window_that_only_its_key_knows_can_be_ended(store: Store) -> None:
    key = KEYS.unscheduled(*split_id(CHECK))
    await store.call("SET", key, NOW - 30, "EX", 600)
    assert await maintenance.end_unscheduled(store, CHECK, NOW, NOW)
    assert await mirrored(store, "unscheduled") == {NOW - 30: 30}
    assert await present(store, "unscheduled") is None


async def test_what_is_in_maintenance_counts_in_nobodys_rollup(store: Store) -> None:
    own, entity_check = AlertingOwn(), split_id(CHECK)
    alerting = KEYS.alerting_checks("alice:1", "email")
    for create in (maintenance.create_scheduled, maintenance.create_unscheduled):
        await store.call("ZADD", alerting, NOW, CHECK, NOW, "web-2:HTTP")
        await store.call("SADD", own.alerting_media(*entity_check), "alice:1:media:email")
        await create(store, CHECK, NOW - HOUR, HOUR, "over", NOW)
        assert await store.call("ZCARD", alerting) == 2
        await create(store, CHECK, NOW, HOUR, "", NOW)
        assert await store.call("ZRANGE", alerting, 0, -1) == [b"web-2:HTTP"]
        assert await store.call("EXISTS", own.alerting_media(*entity_check)) == 0


async def test_many_at_once_leave_one_window_open_and_lose_none(store: Store) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            group.create_task(
                maintenance.create_scheduled(store, CHECK, NOW - number, HOUR, f"{number}", NOW)
            )
            group.create_task(
                maintenance.create_unscheduled(store, CHECK, NOW, HOUR, f"{number}", NOW)
            )
    assert set(await mirrored(store, "scheduled")) == {NOW - number for number in range(20)}
    assert await present(store, "scheduled") == (NOW, HOUR)
    [window] = await maintenance.windows(store, CHECK, "unscheduled")
    assert sorted(window.summary.split(" / "), key=int) == [str(n) for n in range(20)]


async def test_names_and_reasons_may_be_anything(store: Store) -> None:
    name = "e" * 300 + ":" + "ü\n/:*" * 100
    for kind, create in zip(
        KINDS, (maintenance.create_scheduled, maintenance.create_unscheduled), strict=True
    ):
        await create(store, name, NOW, HOUR, "\x1b[31m\n'ü" * 1000, NOW)
        [window] = await maintenance.windows(store, name, kind)
        assert window.summary == "\x1b[31m\n'ü" * 1000
        assert await present(store, kind, name) == (NOW, HOUR)


async def test_a_window_of_a_million_years_fits_into_every_store(store: Store) -> None:
    await maintenance.create_scheduled(store, CHECK, NOW, maintenance.LATEST, "", NOW)
    assert (await present(store, "scheduled") or (0, 0))[0] == NOW


@pytest.mark.parametrize(
    ("check", "start", "duration", "says"),
    [
        ("web-1", NOW, HOUR, "check: 'web-1' is no check; expected ENTITY:CHECK"),
        (CHECK, NOW, 0, "duration: 0 is not allowed; expected at least one second"),
        (CHECK, -1, HOUR, "start: -1 is no time; expected seconds since 1970"),
        (CHECK, 1 << 60, HOUR, "start: "),
    ],
)
async def test_what_makes_no_sense_is_refused(
    store: Store, check: str, start: int, duration: int, says: str
) -> None:
    for create in (maintenance.create_scheduled, maintenance.create_unscheduled):
        with pytest.raises(Refused) as refused:
            await create(store, check, start, duration, "", NOW)
        assert says in str(refused.value)


async def test_unscheduled_maintenance_is_not_planned_ahead(store: Store) -> None:
    with pytest.raises(Refused, match="schedule what is to come"):
        await maintenance.create_unscheduled(store, CHECK, NOW + 1, HOUR, "", NOW)
