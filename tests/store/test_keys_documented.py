"""docs/keys.md and the key families say the same, and a key finds its way back to its family."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.alerting.keys import Alerting
from watchbell.alerting.record_keys import CLASSES
from watchbell.archive.keys import Archive
from watchbell.cli.keys import KEYSPACES
from watchbell.cron.keys import Cron
from watchbell.store.families import Family, Keyspace, Named, family_of
from watchbell.store.keys import StoreKeys

PAGE = Path(__file__).parents[2] / "docs" / "keys.md"
FAMILIES = [family for keyspace in KEYSPACES for family in keyspace.families()]
COLUMNS = ["name", "pattern", "type", "expires", "fields or content", "meaning"]
EXPIRY = {False: "no", True: "yes", "sometimes": "sometimes"}

# Plausible values of each part; free text stands for names that people choose.
PLAIN = st.from_regex(r"[a-z][a-z0-9.-]{0,12}", fullmatch=True)
FREE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)
UNCOLONED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":"), min_size=1)
FORMED = {
    "TIMESTAMP": st.integers(0, 10**11).map(str),
    "DATE": st.dates().map(lambda day: f"{day:%Y%m%d}".zfill(8)),
    "YYYYMMDDHH": st.datetimes().map(lambda hour: f"{hour:%Y%m%d%H}".zfill(10)),
    "PID": st.integers(1, 2**22).map(str),
    "STATE": st.sampled_from(["ok", "warning", "critical", "unknown"]),
    "IDENT": st.from_regex(r"[a-z0-9]{20,25}", fullmatch=True),
    "PIPELINE_ID": st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    "TAKER": UNCOLONED,
    "RECORD_ID": st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    "INDEXED": PLAIN,
    "BOOLEAN": st.sampled_from(["true", "false"]),
    "CLASS": st.sampled_from(CLASSES),
    "<run_id>": st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    "<success/fail>": st.sampled_from(["success", "fail"]),
    "<sha1_of_lock_name>": st.from_regex(r"[0-9a-f]{40}", fullmatch=True),
}


class Row(NamedTuple):
    section: str
    name: str
    pattern: str
    kind: str
    expires: str


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def documented() -> Iterator[Row]:
    section, in_table = "", False
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ").lower()
        if not line.startswith("|"):
            in_table = False
        elif cells(line) == COLUMNS:
            in_table = True
        elif in_table and not re.fullmatch(r"[|\s:-]+", line):
            assert len(cells(line)) == len(COLUMNS), f"not {len(COLUMNS)} cells: {line}"
            name, pattern, kind, expires, _content, _meaning = cells(line)
            yield Row(section, name, pattern.removeprefix("`").removesuffix("`"), kind, expires)


def declared() -> Iterator[Row]:
    for keyspace in KEYSPACES:
        for family in keyspace.families():
            expires = EXPIRY[family.expires]
            yield Row(keyspace.document, family.name, family.pattern, family.kind, expires)


def listing(rows: set[Row]) -> str:
    return "".join(f"\n  {' | '.join(row)}" for row in sorted(rows))


def parts_of(family: Family, free: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.tuples(*(FORMED.get(part, free) for part in family.parts))


def test_every_family_has_its_row_on_the_page() -> None:
    missing = set(declared()) - set(documented())
    assert not missing, f"docs/keys.md lacks or contradicts:{listing(missing)}"


def test_every_row_of_the_page_has_its_family() -> None:
    extra = set(documented()) - set(declared())
    assert not extra, f"docs/keys.md lists what no keys.py declares:{listing(extra)}"


def test_no_row_stands_twice_on_the_page() -> None:
    rows = list(documented())
    assert len(rows) == len(set(rows))


def test_no_cell_of_the_page_is_empty() -> None:
    bare = [
        line
        for line in PAGE.read_text().splitlines()
        if line.startswith("|") and not all(cells(line))
    ]
    assert not bare, f"docs/keys.md has empty cells: {bare}"


@pytest.mark.parametrize("keyspace", KEYSPACES, ids=lambda keyspace: keyspace.document)
def test_no_two_families_of_a_keyspace_share_a_pattern(keyspace: type[Keyspace]) -> None:
    patterns = [family.pattern for family in keyspace.families()]
    assert len(patterns) == len(set(patterns))


@pytest.mark.parametrize(
    ("named", "parts", "key"),
    [
        (Alerting().events, (), "events"),
        (Alerting().archive, (2013041815,), "events_archive:2013041815"),
        (Alerting().current, ("web-1", "HTTP:80"), "check:web-1:HTTP:80"),
        (Alerting().state, ("web-1", "HTTP", 1384473626), "web-1:HTTP:1384473626:state"),
        (Alerting("{a07}:").events, (), "{a07}:events"),
        (Alerting("{a07}:").states, ("web-1", "HTTP"), "{a07}:web-1:HTTP:states"),
        (
            Alerting().alerting_checks,
            ("7", "sms"),
            "contact_alerting_checks:7:media:sms",
        ),
        (
            Alerting().state_drop,
            ("7", "sms", "web-1", "HTTP", "critical"),
            "drop_alerts_for_contact:7:sms:web-1:HTTP:critical",
        ),
        (Cron().jobs, (), "{cronken}:jobs"),
        (Cron().job_results, ("backup", "fail"), "{cronken}:results:backup:fail"),
        (Cron("east:").commands, (), "east:{cronken}:__events__"),
        (Archive().job, ("43z7a11vo6of3a7i173441dtc",), "43z7a11vo6of3a7i173441dtc"),
        (Archive().log, ("43z7a11vo6of3a7i173441dtc",), "43z7a11vo6of3a7i173441dtc_log"),
        (Archive("ab:").pipeline, ("c0ffee",), "ab:pipeline:c0ffee"),
        (StoreKeys().taken, ("{events}", "alpha.1.00ff"), "{events}:taken:alpha.1.00ff"),
    ],
)
def test_a_family_called_with_its_parts_gives_the_key(
    named: Named, parts: tuple[str | int, ...], key: str
) -> None:
    assert named(*parts) == key


@pytest.mark.parametrize(
    ("named", "parts", "complaint"),
    [
        (Alerting().events, ("web-1",), "takes 0 parts, got 1"),
        (Alerting().current, ("web-1",), "takes 2 parts, got 1"),
        (Alerting().current, ("web-1", "HTTP", "80"), "takes 2 parts, got 3"),
        (Cron().job_results, ("fail",), "takes 2 parts, got 1"),
        (Archive().job, (), "takes 1 parts, got 0"),
        (StoreKeys().taken, ("{events}",), "takes 2 parts, got 1"),
    ],
)
def test_a_wrong_number_of_parts_is_a_type_error(
    named: Named, parts: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(TypeError, match=complaint):
        named(*parts)


@pytest.mark.parametrize(
    ("key", "kind", "family"),
    [
        ("web-1:HTTP:80:1384473626:state", "string", Alerting.state),
        ("web-1:HTTP:80:1384473626:summary", "string", Alerting.summary),
        (
            "web-1:HTTP:80:1384473626:unscheduled_maintenance:summary",
            "string",
            Alerting.unscheduled_summary,
        ),
        (
            "web-1:HTTP:1384473626:scheduled_maintenance:summary",
            "string",
            Alerting.scheduled_summary,
        ),
        ("web-1:HTTP:unscheduled_maintenance", "string", Alerting.unscheduled),
        ("web-1:HTTP:scheduled_maintenance", "string", Alerting.scheduled),
        ("web-1:HTTP:last_problem_notification", "string", Alerting.last_problem),
        ("check:web-1:HTTP:80", "hash", Alerting.current),
        ("drop_alerts_for_contact:7", "string", Alerting.contact_drop),
        ("drop_alerts_for_contact:7:sms", "string", Alerting.medium_drop),
        ("drop_alerts_for_contact:7:sms:web-1:HTTP", "string", Alerting.check_drop),
        ("drop_alerts_for_contact:7:sms:web-1:HTTP:critical", "string", Alerting.state_drop),
        ("drop_alerts_for_contact:7:sms:web-1:HTTP:80:critical", "string", Alerting.state_drop),
        ("drop_rollup_alerts_for_contact:7:sms", "string", Alerting.rollup_drop),
        ("alerts", "zset", Alerting.alerts),
        ("alerts_by_contact:7", "zset", Alerting.alerts_by_contact),
        ("alerts_by_contact:7:sms", "zset", Alerting.alerts_by_medium),
        ("contacts_for:ALL", "set", Alerting.entity_contacts),
        ("contacts_for:12:HTTP:80", "set", Alerting.check_contacts),
        ("event_counters", "hash", Alerting.counters),
        ("event_counters:alpha.example.com:4711", "hash", Alerting.instance_counters),
        ("events_archive:2013041815", "list", Alerting.archive),
        ("{cronken}:jobs", "hash", Cron.jobs),
        ("{cronken}:jobs:paused", "set", Cron.paused),
        ("{cronken}:rundata:active", "zset", Cron.active),
        ("{cronken}:results:fail", "zset", Cron.results),
        ("{cronken}:results:nightly:backup:fail", "zset", Cron.job_results),
        ("{cronken}:locks:__reaper__", "string", Cron.reaper_lock),
        (f"{{cronken}}:locks:{'0af1' * 10}", "string", Cron.lock),
        ("43z7a11vo6of3a7i173441dtc", "hash", Archive.job),
        ("43z7a11vo6of3a7i173441dtc_ignores", "set", Archive.ignores),
        ("43z7a11vo6of3a7i173441dtc_log", "zset", Archive.log),
        ("pipeline:0123456789abcdef0123456789abcdef", "hash", Archive.pipeline),
        ("{events}:taken:alpha.4711.00ff00ff", "list", StoreKeys.taken),
        ("{events}:takers", "zset", StoreKeys.takers),
    ],
)
def test_a_key_belongs_to_the_most_specific_family(key: str, kind: str, family: Family) -> None:
    assert family_of(key, kind, FAMILIES) is family


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("events", "hash"),
        ("event", "list"),
        ("events_archive:yesterday", "list"),
        ("web-1:HTTP:soon:state", "string"),
        ("{cronken}:results:frozen", "zset"),
        ("{cronken}:locks:backup", "string"),
        ("short", "hash"),
        ("{a07}:events", "list"),
    ],
)
def test_a_key_of_another_name_or_type_has_no_family(key: str, kind: str) -> None:
    assert family_of(key, kind, FAMILIES) is None


@settings(max_examples=15)
@given(st.data())
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_a_family_matches_the_keys_it_builds(family: Family, data: st.DataObject) -> None:
    parts = data.draw(parts_of(family, FREE))
    assert family.matches(Named(family, "")(*parts))


@settings(max_examples=15)
@given(st.data())
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.pattern)
def test_a_key_of_plain_words_belongs_to_the_family_that_built_it(
    family: Family, data: st.DataObject
) -> None:
    parts = data.draw(parts_of(family, PLAIN))
    assert family_of(Named(family, "")(*parts), family.kind, FAMILIES) is family
