"""Hosts take turns, and wait where they have to."""

from watchbell.archive.host_turns import HostTurns


def test_hosts_take_turns() -> None:
    turns = HostTurns()
    for host in ("a", "b", "a", "c"):
        turns.add(host)
    taken: list[str] = []
    for _ in range(6):
        taken.append(turns.take(0) or "")
        turns.add(taken[-1])
    assert taken == ["a", "b", "c", "a", "b", "c"]


def test_a_host_that_has_no_more_gets_no_turn() -> None:
    turns = HostTurns()
    turns.add("a")
    assert (turns.take(0), turns.take(0)) == ("a", None)


def test_a_host_that_is_deferred_waits_until_its_time() -> None:
    turns = HostTurns()
    turns.add("a")
    turns.add("b")
    turns.defer("a", 10)
    turns.add("a")
    assert (turns.take(9), turns.take(9), turns.next_at()) == ("b", None, 10)
    assert (turns.take(10), turns.next_at()) == ("a", None)


def test_the_later_time_counts() -> None:
    turns = HostTurns()
    turns.defer("a", 10)
    turns.defer("a", 20)
    turns.defer("a", 5)
    assert (turns.take(10), turns.next_at(), turns.take(20)) == (None, 20, "a")
