"""What samples mean: values, deltas, counts, and the buckets of series."""

import struct
from collections import defaultdict
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.fleet.model import AlertRule, Monitor
from watchbell.fleet.monitoring import buckets, compiled, counting, figures, trial, values
from watchbell.fleet.monitoring import state as states
from watchbell.fleet.monitoring.buckets import RINGS, SIZE, SLOT, Resolution
from watchbell.fleet.monitoring.counting import Count
from watchbell.fleet.monitoring.state import MonitorState, Turn
from watchbell.fleet.monitoring.values import Before
from watchbell.jobs.monitoring_stock import ALERTS, MONITORS


def monitor(source: str, **more: Any) -> Monitor:
    return Monitor(id="m", title="M", source=source, **more)


@pytest.mark.parametrize(
    ("source", "more", "data", "expected"),
    [
        ("load[0]", {}, {"load": [1.234567]}, 1.23457),
        ("memory.used", {"data_type": "bytes"}, {"memory": {"used": 12.9}}, 12),
        ("commands.x", {"data_type": "integer"}, {"commands": {"x": "42"}}, 42),
        ("commands.x", {"data_match": r"(\d+) files"}, {"commands": {"x": "7 files"}}, 7),
        ("commands.x", {"data_match": r"\d+"}, {"commands": {"x": "a 7 b"}}, 7),
        ("commands.x", {}, {"commands": {}}, None),
        ("nothing.at.all", {}, {}, None),
        ("x", {}, {"x": True}, 1),
    ],
)
def test_a_source_gives_a_number_or_nothing(
    source: str, more: dict[str, Any], data: dict[str, Any], expected: float | None
) -> None:
    assert trial.monitor(monitor(source, **more), data) == expected


@pytest.mark.parametrize(
    ("source", "more", "x", "reason"),
    [
        ("x", {}, "many", "expected a number, got 'many'"),
        ("x", {}, {"a": 1}, "got an object of 1"),
        ("x", {}, [1, 2], "got a list of 2"),
        ("x", {}, float("nan"), "expected a number up to"),
        ("x", {}, 10**30, "expected a number up to"),
        ("x", {"data_match": r"(\d+)"}, "none", "does not match 'none'"),
        ("x +", {}, 1, "column"),
    ],
)
def test_what_is_no_number_says_so(
    source: str, more: dict[str, Any], x: object, reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        trial.monitor(monitor(source, **more), {"x": x})


@pytest.mark.parametrize(
    ("before", "elapsed", "now", "more", "expected"),
    [
        (100, 60, 700, {}, 600),
        (100, 60, 700, {"divide_by_delta": True}, 10),
        (100, 60, 100, {"divide_by_delta": True}, 0),
        (None, 60, 700, {}, None),
        (100, None, 700, {}, None),  # the server started anew
        (100, 181, 700, {}, None),  # a gap
        (100, 60, 50, {}, None),  # set back
        (100, 60, 50, {"delta_min_value": 0}, None),
        (100, 60, 50, {"delta_min_value": -20}, -20),
        (100, 60, 103, {"delta_min_value": 5}, 5),
    ],
)
def test_a_counter_gives_differences_without_spikes(
    before: float | None,
    elapsed: float | None,
    now: float,
    more: dict[str, Any],
    expected: float | None,
) -> None:
    known = {} if before is None else {"m": before}
    one = compiled.monitor(monitor("x", delta=True, data_type="integer", **more))
    found = values.measure([one], {"x": now}, Before(known, elapsed))
    assert found.deltas.get("m") == expected
    assert found.values == {"m": now}


MINUTE = 30_000_000


@pytest.mark.parametrize(
    ("minutes", "expected"),
    [
        (1, Turn.NEXT),
        (1_440, Turn.NEXT),
        (0, Turn.DUPLICATE),
        (-1, Turn.LATE),
        (-10, Turn.LATE),
        (-11, Turn.SET_BACK),
    ],
)
def test_a_sample_is_next_late_or_a_duplicate(minutes: int, expected: Turn) -> None:
    state = MonitorState(minute=MINUTE, at=MINUTE * 60.0)
    assert states.turn(state, (MINUTE + minutes) * 60.0 + 59) is expected
    assert states.turn(MonitorState(), 1) is Turn.NEXT


@pytest.mark.parametrize(
    ("uptime", "at", "expected"),
    [
        (160, 60, 60),
        (160, 3_660, 60),  # our clock was set forward
        (160, -3_600, 60),
        (30, 60, None),  # the server started anew
        (0, 60, 60),
        (0, -60, None),
    ],
)
def test_the_time_between_samples_is_that_of_the_server(
    uptime: float, at: float, expected: float | None
) -> None:
    state = MonitorState(minute=MINUTE, at=MINUTE * 60.0, uptime=100)
    assert states.elapsed(state, MINUTE * 60.0 + at, uptime) == expected


@given(st.lists(st.booleans()), st.integers(1, 6))
def test_an_alert_begins_when_its_samples_are_reached_and_ends_at_zero(
    seen: list[bool], samples: int
) -> None:
    count, is_active, changes = 0, False, []
    for is_true in seen:
        found = counting.counted(count, samples, is_true=is_true, is_active=is_active)
        assert abs(found.reached - count) <= 1
        count = found.reached
        assert 0 <= count <= samples
        if found.change:
            changes.append(found.change)
            is_active = found.change == "fire"
            assert count == (samples if is_active else 0)
        assert is_active or count < samples
        assert not is_active or count > 0
    assert changes == [("fire", "clear")[place % 2] for place in range(len(changes))]


def test_fewer_samples_make_an_alert_active_with_the_next_true_one() -> None:
    assert counting.counted(3, 2, is_true=False, is_active=False) == Count(1, "")
    assert counting.counted(3, 2, is_true=True, is_active=False) == Count(2, "fire")


def written(samples: list[tuple[int, float]]) -> bytes:
    """What the store has after values at these times, as its script writes them."""
    raw = bytearray(SIZE)
    for at, value in samples:
        for place, ring in enumerate(RINGS.values()):
            bucket = at // ring.step
            start = ring.place + bucket % ring.slots * SLOT
            number, count, total = struct.unpack_from("<IHd", raw, start)
            if number != bucket:
                count, total = 0, 0.0
            if place == 0 and number == bucket and count:
                break
            struct.pack_into("<IHd", raw, start, bucket, count + 1, total + value)
    return bytes(raw)


@given(
    st.lists(st.tuples(st.integers(0, 400 * 1_440), st.floats(-1e6, 1e6)), max_size=60),
    st.sampled_from(list(RINGS)),
    st.integers(60, 400 * 86_400),
)
def test_series_have_the_averages_of_their_buckets_and_true_gaps(
    given_samples: list[tuple[int, float]], resolution: Resolution, span: int
) -> None:
    base = 1_900_000_000 // 86_400 * 86_400
    samples = sorted(dict(given_samples).items())
    times = [(base + minute * 60, value) for minute, value in samples]
    until = times[-1][0] if times else base
    ring = RINGS[resolution]
    window = buckets.window(resolution, until - span, until)
    raw = written(times)[ring.place : ring.place + ring.size]
    found = buckets.points(raw, window)
    expected: dict[int, list[float]] = defaultdict(list)
    for at, value in times:
        expected[at // ring.step].append(value)
    assert len(found.values) == window.count <= ring.slots
    for place, average in enumerate(found.values):
        known = expected.get(window.first + place)
        if known is None:
            assert average is None
        else:
            assert average == pytest.approx(sum(known) / len(known), abs=1e-4)


@given(st.binary(max_size=20_000))
def test_a_series_that_other_programs_spoiled_can_be_read(raw: bytes) -> None:
    found = buckets.points(raw, buckets.window("hour", 0, 3_600))
    assert len(found.values) == 61
    msgspec.json.encode(found)


def test_the_stock_definitions_can_be_evaluated() -> None:
    assert len(MONITORS) == 15
    known = compiled.definitions(MONITORS, ALERTS)
    assert [one.error for one in known.monitors] == [""] * 15
    assert [one.error for one in known.alerts] == [""] * 5
    assert not any(one.limit_jobs or one.abort_jobs for one in ALERTS)
    ids = {one.id for one in MONITORS}
    assert {one.monitor_id for one in ALERTS} <= ids
    for one in ALERTS:
        trial.check_alert(one)


def test_a_broken_message_does_not_stop_an_alert() -> None:
    rule = AlertRule(id="a", title="A", expression="x > 1", message="{{x +}} and {{x}}")
    found = trial.alert(rule, {"x": 2}, MonitorState())
    assert found.is_true
    assert found.message.endswith("and 2")


@pytest.mark.parametrize(
    ("kind", "value", "suffix", "expected"),
    [
        ("bytes", 3 << 20, "/sec", "3.0 MiB/sec"),
        ("float", 12.345, "%", "12.35 %"),
        ("integer", 1_234, "", "1,234"),
        ("seconds", 90, "", "1 minute, 30 seconds"),
        ("milliseconds", 90, "", "90 ms"),
        ("integer", None, "%", "-"),
    ],
)
def test_values_are_shown_in_their_units(
    kind: Any, value: float | None, suffix: str, expected: str
) -> None:
    assert figures.in_units(monitor("x", data_type=kind, suffix=suffix), value) == expected
