"""Which servers may run a job, in which order, and why a job waits."""

import pytest
from msgspec.structs import replace

from watchbell.jobs.decide import placement
from watchbell.jobs.decide.placement import FleetState, Obstacle, Order, ServerState
from watchbell.jobs.model import Algorithm

ALPHA = ServerState(id="s3", name="alpha", groups=("main",), cpu=50, memory=1_000)
BRAVO = ServerState(id="s2", name="Bravo", groups=("main", "db"), cpu=10, memory=3_000)
CHARLIE = ServerState(id="s1", name="charlie", groups=("db",), cpu=None, memory=None)
FLEET = FleetState({one.id: one for one in (CHARLIE, BRAVO, ALPHA)}, {"main": "Main", "db": "DB"})


def of(*servers: ServerState) -> FleetState:
    return FleetState({one.id: one for one in servers}, {"main": "Main", "empty": "Empty"})


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        (("main",), {"s2", "s3"}),
        (("db",), {"s1", "s2"}),
        (("main", "db"), {"s1", "s2", "s3"}),
        (("s1",), {"s1"}),
        (("s1", "main"), {"s1", "s2", "s3"}),
        (("nothing",), set()),
        ((), set()),
    ],
)
def test_targets_name_servers_and_groups(targets: tuple[str, ...], expected: set[str]) -> None:
    found = placement.candidates(targets, FLEET)
    assert {one.server.id for one in found} == expected
    assert all(one.obstacle is None for one in found)


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("random", Order(("s3", "s2", "s1"), "chance")),
        ("round_robin", Order(("s3", "s2", "s1"), "turn")),
        ("least_cpu", Order(("s2", "s3", "s1"), "first")),
        ("least_mem", Order(("s3", "s2", "s1"), "first")),
        ("prefer_first", Order(("s3", "s2", "s1"), "first")),
        ("prefer_last", Order(("s1", "s2", "s3"), "first")),
        ("fewest_jobs", Order(("s3", "s2", "s1"), "fewest")),
    ],
)
def test_each_algorithm_has_its_order(algorithm: Algorithm, expected: Order) -> None:
    found = placement.candidates(["main", "db"], FLEET)
    assert placement.order(algorithm, found) == expected


@pytest.mark.parametrize(
    ("server", "obstacle"),
    [
        (ServerState(id="s", name="one", is_enabled=False), Obstacle.DISABLED),
        (ServerState(id="s", name="one", is_online=False), Obstacle.OFFLINE),
        (ServerState(id="s", name="one", is_enabled=False, is_online=False), Obstacle.DISABLED),
    ],
)
def test_a_server_that_takes_no_jobs_is_left_out_with_a_reason(
    server: ServerState, obstacle: Obstacle
) -> None:
    found = placement.candidates(["s"], of(server))
    assert [one.obstacle for one in found] == [obstacle]
    assert placement.order("random", found).servers == ()


def test_targets_of_which_none_exists_have_no_server_ever() -> None:
    expected = "No available servers matching targets: gone, lost"
    assert placement.no_target(["gone", "lost"], FLEET) == expected
    assert placement.no_target(["gone", "main"], FLEET) == ""
    assert placement.no_target(["empty"], of()) == ""
    assert placement.no_target([], FLEET) != ""


DB = ServerState(id="s1", name="db-1", groups=("main",), slots=4)
OFF = ServerState(id="s2", name="db-2", groups=("main",), is_online=False)
DISABLED = ServerState(id="s3", name="db-3", groups=("main",), is_enabled=False)


@pytest.mark.parametrize(
    ("fleet", "targets", "ahead", "expected"),
    [
        (of(DB), ["main"], 3, "all 4 slots on db-1 are in use; 3 jobs ahead"),
        (of(DB), ["main"], 1, "all 4 slots on db-1 are in use; 1 job ahead"),
        (of(DB), ["main"], 0, "all 4 slots on db-1 are in use"),
        (of(ServerState(id="s1", name="db-1")), ["s1"], None, "the only slot on db-1 is in use"),
        (
            of(ServerState(id="s1", name="db-1", slots=0)),
            ["s1"],
            2,
            "db-1 has no slots; 2 jobs ahead",
        ),
        (of(DB, ALPHA), ["main"], None, "all 5 slots on 2 servers are in use"),
        (of(DB, OFF), ["main"], None, "all 4 slots on db-1 are in use"),
        (of(OFF), ["main"], 3, "db-2 is offline"),
        (of(DISABLED), ["s3"], None, "db-3 is disabled"),
        (of(OFF, DISABLED), ["main"], 1, "none of 2 servers is available: 1 disabled, 1 offline"),
        (of(DB), ["empty"], None, "no server belongs to Empty"),
    ],
)
def test_the_reason_to_wait_says_what_is_missing(
    fleet: FleetState, targets: list[str], ahead: int | None, expected: str
) -> None:
    assert placement.waiting_reason(targets, fleet, ahead) == expected


def test_the_reason_to_queue_names_the_limit() -> None:
    assert placement.limit_reason(1) == (
        "another job of this event is in progress, the most at a time"
    )
    assert placement.limit_reason(3, 2) == (
        "3 other jobs of this event are in progress, the most at a time; 2 jobs ahead"
    )


def test_servers_that_an_alert_holds_back_are_left_out_and_named() -> None:
    busy = replace(ALPHA, alerts=("Low memory",))
    assert busy.obstacle is Obstacle.ALERT
    fleet = of(busy, BRAVO)
    found = placement.candidates(("main",), fleet)
    assert placement.order("prefer_first", found).servers == ("s2",)
    reason = placement.waiting_reason(("s3",), fleet)
    assert reason == "alpha is held back by the alert 'Low memory'"
    away = replace(BRAVO, is_online=False)
    reason = placement.waiting_reason(("main",), of(busy, away))
    assert reason == "none of 2 servers is available: 1 offline, 1 held back by an alert"
