"""`watchbell records` as people use it."""

import asyncio

from tests import servers
from tests.alerting.record_model import made_id
from tests.alerting.test_record_mirror import a_day
from tests.cli.commands import printed, ran
from tests.conftest import emptied
from watchbell.store import url as store_url
from watchbell.store.client import Store


def _do(url: str, *words: str) -> None:
    async def run() -> None:
        async with Store(store_url.parse(url)) as store:
            if words:
                await store.call(*words)
            else:
                await emptied(store)
                await a_day(store)

    asyncio.run(run())


def test_records_are_built_verified_and_dropped(server: servers.Single) -> None:
    url = ["--store", server.url]
    _do(server.url)
    shown = ran("records", "status", *url)
    assert shown.stdout.startswith("Records are not kept.\n")
    built = ran("records", "build", *url)
    assert built.returncode == 0
    assert built.stdout.endswith("parts built. Records are kept from now on.\n")
    verified = ran("records", "verify", *url)
    assert (verified.returncode, verified.stdout) == (0, "No difference.\n")
    _do(server.url, "HSET", "contact:alice:attrs", "timezone", "Nowhere")
    wrong = ran("records", "verify", *url)
    assert wrong.returncode == 1
    assert wrong.stdout == "contact:alice:attrs timezone: 'Nowhere' does not belong there\n"
    again = ran("records", "build", *url)
    assert again.returncode == 0
    assert ran("records", "verify", *url).returncode == 0
    assert printed("records", "status", *url)["keeping"] == "on"
    dropped = ran("records", "drop", "--yes", *url)
    assert dropped.stdout.endswith(" keys removed.\n")
    counts = printed("records", "status", *url)
    assert counts["keeping"] == "never"
    assert set(counts["records"].values()) == {0}


def test_differences_of_one_field_are_listed_in_order(server: servers.Single) -> None:
    """Two windows have one record, as in a store that somebody spoilt."""
    url, ids = ["--store", server.url], list[str]()
    _do(server.url)
    for start, summary in (("500", "work"), ("900", "")):
        _do(server.url, "ZADD", "web:disk:scheduled_maintenances", "60", start)
        if summary:
            _do(server.url, "SET", f"web:disk:{start}:scheduled_maintenance:summary", summary)
        ids += [made_id(f"scheduled:web:disk:{start}"), "f" * 32]
    _do(server.url, "HSET", "record_ids", *ids)
    assert ran("records", "build", *url).returncode == 0
    _do(server.url, "HSET", f"scheduled_maintenance:{'f' * 32}:attrs", "summary", "other")
    wrong = ran("records", "verify", *url)
    assert (wrong.returncode, wrong.stderr) == (1, "")
    assert "summary: 'other' does not belong there\n" in wrong.stdout
    assert "summary: is 'other', expected 'work'\n" in wrong.stdout
    _do(server.url, "FLUSHALL")


def test_records_of_another_program_are_adopted(server: servers.Single) -> None:
    url = ["--store", server.url]
    _do(server.url)
    _do(server.url, "FLUSHALL")
    _do(server.url, "SADD", "contact::ids", "alice", "bob")
    _do(server.url, "HSET", "contact:alice:attrs", "first_name", "Alice")
    found = ran("records", "adopt", *url)
    assert found.returncode == 1
    assert found.stdout.startswith("Adopted 1 contact. Records are kept from now on.")
    assert "Set alerting.records = true" in found.stdout
    assert found.stderr == "Not adopted: contact:bob:attrs: it has no first_name\n"
    _do(server.url, "HSET", "contact:bob:attrs", "first_name", "Bob")
    assert printed("records", "adopt", *url)["contacts"] == 1
    assert ran("records", "verify", *url).returncode == 0
    assert "alice" in ran("contacts", "show", *url).stdout


def test_each_message_says_what_to_do(server: servers.Single) -> None:
    url = ["--store", server.url]
    _do(server.url)
    none = ran("records", "verify", "--all", *url)
    assert none.stderr == "There are no records; `watchbell records build` creates them.\n"
    assert "contact::ids alice is missing\n" in none.stdout
    refused = ran("records", "adopt", *url)
    assert refused.stderr == (
        "watchbell: there are no records; `watchbell records build` creates them\n"
    )
    _do(server.url, "FLUSHALL")
    _do(server.url, "SADD", "contact::ids", "alice")
    _do(server.url, "HSET", "contact:alice:attrs", "first_name", "Alice")
    foreign = ran("records", "verify", *url)
    assert "`watchbell records adopt` brings them" in foreign.stderr
    assert "contact::ids alice does not belong there\n" in foreign.stdout
    assert ran("records", "adopt", *url).returncode == 0
    again = ran("records", "adopt", *url)
    assert again.stdout.startswith("Adopted nothing new. Records are kept from now on.\n")
