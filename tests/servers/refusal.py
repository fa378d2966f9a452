"""A store that refuses writes as one with a full disk does, until it is told not to."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.servers.process import Server
from tests.waiting import wait_until

SNAPSHOTS = "save 3600 1"
"""The configuration of a server that can refuse."""


@contextmanager
def misconf(server: Server) -> Iterator[None]:
    """Its snapshots fail while the body runs, so that it answers MISCONF to writes and to PING."""
    in_the_way = server.folder / "dump.rdb"
    in_the_way.unlink(missing_ok=True)
    in_the_way.mkdir()
    _snapshot(server, "err")
    try:
        yield
    finally:
        in_the_way.rmdir()
        _snapshot(server, "ok")


def _snapshot(server: Server, outcome: str) -> None:
    def is_done() -> bool:
        facts = server.info("persistence")
        return not facts["rdb_bgsave_in_progress"] and facts["rdb_last_bgsave_status"] == outcome

    server.call("BGSAVE")
    wait_until(is_done, why=f"a snapshot that is {outcome}")


def calls(server: Server) -> Counter[str]:
    """How often each command was called, those that were refused included."""
    found = server.info("commandstats")
    return Counter(
        {
            name.removeprefix("cmdstat_"): int(stat["calls"]) + int(stat.get("rejected_calls", 0))
            for name, stat in found.items()
        }
    )
