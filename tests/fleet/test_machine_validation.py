"""Whatever an agent sends as a full sample, it is valid or it is refused."""

import zlib
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.fleet import command_values, samples, validation
from watchbell.fleet.machine_sample import MachineSample
from watchbell.fleet.model import Quick

_DEEP = b"\x91" * 100_000 + b"\x01"


def packed(value: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value))


def sample(**more: Any) -> dict[str, Any]:
    return {"hostname": "db-1", "date": 1, **more}


def test_a_sample_gets_the_name_and_time_that_we_know() -> None:
    found = validation.machine(packed(sample(date=5e9)), "web-1", 1_000.1234)
    assert (found.hostname, found.date) == ("web-1", 1_000.123)
    data = samples.as_data(found)
    assert data["cpu"]["currentLoad"] == 0
    assert data["memory"] == {}


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"nonsense",
        zlib.compress(b"nonsense"),
        zlib.compress(_DEEP),
        zlib.compress(b"\0" * (64 << 20)),
        packed([]),
        packed({}),
        packed(sample(load=[float("nan"), 0, 0])),
        packed(sample(load=[float("inf"), 0, 0])),
        packed(sample(load=[-1, 0, 0])),
        packed(sample(cpu={"currentLoad": 1e300})),
        packed(sample(cpu=5)),
        packed(sample(memory={"total": "much"})),
        packed(sample(processes={"list": [{"pid": 1}] * 201})),
        packed(sample(processes={"list": [{"pid": 1, "command": "x" * 1_001}]})),
        packed(sample(mounts={"root": {}})),
        packed(sample(commands={"deep": [[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]})),
        packed(sample(commands={"many": [0] * 20_001})),
        packed(sample(commands={"nan": float("nan")})),
        packed(sample(commands={"bytes": b"x"})),
        packed(sample(commands={"map": {1: 2}})),
    ],
)
def test_what_is_no_sample_is_refused(value: bytes) -> None:
    with pytest.raises(Refused):
        validation.machine(value, "db-1", 1)


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), 1 << 63)
    | st.floats()
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(MachineSample.__struct_fields__), _VALUES) | _VALUES)
def test_garbage_is_refused_or_becomes_json(value: Any) -> None:
    try:
        found = validation.machine(packed(value), "db-1", 1)
    except Refused:
        return
    msgspec.json.decode(msgspec.json.encode(samples.as_data(found)))


def test_values_of_commands_are_bounded() -> None:
    command_values.check({"a": [1, 2.5, None, True, "x"]})
    with pytest.raises(Refused, match="too large"):
        command_values.check(1 << 64)


def test_quick_values_are_put_on_our_clock_and_cleaned() -> None:
    values = [Quick(5_000 + n, float("nan"), -1, 3, 1e300, 5, 6, 7, 8) for n in range(100)]
    found = validation.quick(values, 1_000)
    assert len(found) == 60
    assert (found[0].date, found[-1].date) == (941, 1_000)
    assert (found[0].cpu_load, found[0].cpu_usage, found[0].mem_used) == (0, 0, 3)
    wild = [Quick(float("inf"), *[0.0] * 8), Quick(-1e300, *[0.0] * 8)]
    assert all(940 <= one.date <= 1_000 for one in validation.quick(wild, 1_000))
