"""Contacts, entities and rules as users and their scripts meet them: files, options, words."""

import asyncio
import json
import os
import stat
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests import families, servers
from tests.alerting.test_rules import some_rules
from tests.cli.commands import ran
from tests.conftest import bare_environment, emptied, watchbell
from watchbell.alerting import contacts, entities, json_items, validation
from watchbell.alerting.entities import Entity
from watchbell.alerting.model import Contact, Medium, Rule
from watchbell.errors import Refused
from watchbell.store import url as store_url
from watchbell.store.client import Store
from watchbell.web.keys import Web

PASSWORD = "hunter2-geheim"


class Commands:
    """The commands on one store."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, *arguments: str, code: int = 0, given: str = "") -> str:
        done = ran(*arguments, "--store", self.url, given=given)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    def shown(self, *arguments: str) -> Any:
        return json.loads(self(*arguments, "--json"))


@pytest.fixture
def run(server: servers.Single) -> Iterator[Commands]:
    server.server.call("FLUSHALL")
    yield Commands(server.url)
    wrong = asyncio.run(_strays(server.url))
    server.server.call("FLUSHALL")
    assert not wrong


async def _strays(url: str) -> list[str]:
    async with Store(store_url.parse(url)) as store:
        return await families.strays(store)


FLAPJACK = [
    {
        "id": 362,
        "first_name": "Alice",
        "last_name": "Ünal",
        "email": "alice@example.com",
        "media": {
            "sms": "+61412345678",
            "email": {"address": "alice@example.com", "interval": "300", "rollup_threshold": 5},
            "pagerduty": {
                "service_key": "0123456789",
                "subdomain": "example",
                "username": "alice",
                "password": PASSWORD,
            },
            "jabber": None,
        },
        "timezone": None,
        "tags": ["source:titanium", "foo"],
    },
    {"first_name": "Nobody"},
    {
        "id": "bob",
        "first_name": "Bob",
        "media": {"email": "bob@example.com"},
        "timezone": "Europe/Rome",
        "notification_rules": [
            {"entity_tags": ["db"], "critical_media": ["email"], "warning_blackhole": "true"}
        ],
    },
]


def test_contacts_of_flapjack_are_imported_and_shown(run: Commands) -> None:
    said = run("contacts", "import", "-", given=json.dumps(FLAPJACK))
    assert "contacts imported: 2" in said
    assert "item 2 has no id and was skipped" in said
    alice, bob = run.shown("contacts", "show")
    assert alice["media"] == {
        "sms": {"address": "+61412345678", "interval": 900, "rollup_threshold": 0},
        "email": {"address": "alice@example.com", "interval": 300, "rollup_threshold": 5},
        "pagerduty": {
            "service_key": "0123456789",
            "interval": 900,
            "rollup_threshold": 0,
            "subdomain": "example",
            "username": "alice",
            "password": "***",
        },
    }
    assert (alice["id"], alice["tags"]) == ("362", ["foo", "source:titanium"])
    assert bob["timezone"] == "Europe/Rome"
    (rule,) = bob["notification_rules"]
    assert (rule["tags"], rule["warning_blackhole"]) == (["db"], True)
    lines = run("contacts", "show").splitlines()
    assert lines[0].split() == ["contact", "name", "media", "time", "zone", "tags", "rules"]
    assert lines[1].split()[:5] == ["362", "Alice", "Ünal", "sms,", "email,"]
    told = run("contacts", "show", "362")
    assert PASSWORD not in told
    assert "password ***" in told
    assert "5 minutes" in told


def test_a_contact_is_replaced_by_an_import_and_its_rules_only_if_given(run: Commands) -> None:
    run("contacts", "import", "-", given=json.dumps(FLAPJACK))
    again = [{"id": "bob", "first_name": "Bobby", "tags": ["x"]}]
    run("contacts", "import", "-", given=json.dumps(again))
    bob = run.shown("contacts", "show", "bob")
    assert (bob["first_name"], bob["media"], bob["timezone"]) == ("Bobby", {}, "")
    assert len(bob["notification_rules"]) == 1
    run("contacts", "import", "-", given=json.dumps([{**again[0], "notification_rules": []}]))
    bob = run.shown("contacts", "show", "bob")
    assert (bob["notification_rules"], bob["tags"]) == ([], ["x"])


def test_bad_items_are_told_by_position_and_field_and_the_good_are_imported(run: Commands) -> None:
    json_items: list[Any] = [
        {"id": "good", "first_name": "Good", "colour": "red"},
        {"id": "a", "first_name": 5},
        {"id": "b"},
        "text",
        {
            "id": "c",
            "first_name": "C",
            "media": {"email": {"address": "c@example.com", "interval": "soon"}},
        },
        {"id": "d", "first_name": "D", "media": {"sms": {"interval": 5}}},
        {"id": "e:f", "first_name": "E"},
        {"id": "g", "first_name": "G", "timezone": "Mars"},
        {"id": "h", "first_name": "H", "notification_rules": [{}, {"entities": "web"}]},
        {"id": "i", "first_name": "I", "notification_rules": [{"regex_tags": ["("]}]},
        {"id": "j", "first_name": "J", "media": {"pagerduty": {"password": "***"}}},
        {"id": "k", "first_name": "K", "tags": "ops"},
    ]
    said = run("contacts", "import", "-", given=json.dumps(json_items), code=1)
    assert said.splitlines()[0] == "contacts imported: 1"
    for line in (
        "item 1: unknown field 'colour' was ignored",
        "item 2 (id 'a'): first_name: expected text, got a whole number",
        "item 3 (id 'b'): first_name: it is missing",
        "item 4: expected an object",
        "item 5 (id 'c'): media.email.interval: expected a whole number",
        "item 6 (id 'd'): media.sms.address: it is missing",
        "item 7 (id 'e:f'): id: 'e:f' is not allowed",
        "item 8 (id 'g'): timezone: there is no time zone 'Mars'",
        "item 9 (id 'h'): notification_rules[1].entities: expected a list, got text",
        "item 10 (id 'i'): regex_tags: '(' is no regular expression",
        "item 11 (id 'j'): pagerduty.password: *** stands for a secret",
        "item 12 (id 'k'): tags: expected a list, got text",
        "watchbell: 11 of 12 items could not be imported",
    ):
        assert line in said
    assert [one["id"] for one in run.shown("contacts", "show")] == ["good"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is not JSON"),
        ("{}", "does not contain a JSON array of objects"),
        ("[" * 100_000, "is not JSON"),
        ("", "is not JSON"),
        ('["\\ud800"]', "is not JSON"),
    ],
)
@pytest.mark.parametrize("group", ["contacts", "entities"])
def test_a_file_that_is_none_is_told_in_one_line(
    run: Commands, tmp_path: Path, group: str, text: str, says: str
) -> None:
    file = tmp_path / "items.json"
    file.write_text(text)
    said = run(group, "import", str(file), code=1)
    assert said.startswith(f"watchbell: {file}")
    assert says in said
    assert said.count("\n") == 1
    assert "can't be read: No such file" in run(group, "import", "/nowhere.json", code=1)


def digest(server: servers.Single) -> str:
    """Of all that there is, but for who changed it."""
    server.server.call("DEL", Web().audit())
    return str(server.server.call("DEBUG", "DIGEST"))


def test_what_is_exported_can_be_imported_elsewhere(
    run: Commands, server: servers.Single, tmp_path: Path
) -> None:
    people, things = tmp_path / "contacts.json", tmp_path / "entities.json"
    run("contacts", "import", "-", given=json.dumps(FLAPJACK))
    run("contacts", "link", "bob", "--all")
    run("contacts", "link", "bob", "--entity", "web-1", "--check", "HTTP:80")
    run("entities", "set", "web-1", "--tag", "eu", "--contact", "362")
    run("contacts", "export", str(people))
    run("entities", "export", str(things))
    assert stat.S_IMODE(people.stat().st_mode) == 0o600
    assert PASSWORD in people.read_text()
    before = digest(server)
    server.server.call("FLUSHALL")
    run("contacts", "import", str(people))
    run("entities", "import", str(things))
    assert digest(server) == before
    assert run("entities", "export") == things.read_text()
    assert "can't be written" in run("contacts", "export", "/nowhere/x", code=1)


def test_a_contact_is_made_and_changed_by_options(run: Commands) -> None:
    said = run("contacts", "set", "alice", "--last-name", "A", code=1)
    assert "there is no contact 'alice'; to add one, give --first-name" in said
    first = ["--first-name", "Alice", "--medium", "email=alice@example.com", "--tag", "ops"]
    run("contacts", "set", "alice", *first, "--medium", "sms=+1", "--interval", "sms=2 minutes")
    said = run("contacts", "set", "alice", "--interval", "email=soon", code=1)
    assert "--interval email: 'soon' was not understood" in said
    more = ["--interval", "email=300", "--rollup", "email=5", "--timezone", "Europe/Rome"]
    account = ["--pagerduty", "password=env:X", "--pagerduty", "token=secret"]
    run("contacts", "set", "alice", *more, *account, "--tag", "dev", "--untag", "ops")
    alice = run.shown("contacts", "show", "alice")
    assert alice["media"]["email"] == {
        "address": "alice@example.com",
        "interval": 300,
        "rollup_threshold": 5,
    }
    assert alice["media"]["sms"]["interval"] == 120
    assert alice["media"]["pagerduty"] == {"password": "env:X", "token": "***"}
    assert (alice["tags"], alice["timezone"]) == (["dev"], "Europe/Rome")
    run("contacts", "set", "alice", "--medium", "sms=", "--timezone", "", "--pagerduty", "token=")
    alice = run.shown("contacts", "show", "alice")
    assert list(alice["media"]) == ["email", "pagerduty"]
    assert alice["timezone"] == ""


def test_doubtful_addresses_are_saved_with_a_warning(run: Commands) -> None:
    first = ["--first-name", "Alice", "--medium", "sms=12", "--medium", "pager=alice"]
    said = run("contacts", "set", "alice", *first)
    assert "warning: sms: '12' has 2 digits; expected a phone number" in said
    assert "warning: pager: no gateway of that name is configured" in said
    assert set(run.shown("contacts", "show", "alice")["media"]) == {"sms", "pager"}


def test_a_contact_is_linked_to_several_entities_at_once(run: Commands) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice")
    both = ["--entity", "web-1", "--entity", "web-2"]
    said = run("contacts", "link", "alice", *both)
    assert "Alice gets alerts about web-1\n" in said
    assert "Alice gets alerts about web-2\n" in said
    run("contacts", "link", "alice", *both, "--check", "HTTP")
    shown = run("contacts", "show", "alice")
    assert "alerted about  web-1, web-1:HTTP, web-2, web-2:HTTP" in shown
    run("contacts", "unlink", "alice", *both)
    assert "alerted about  web-1:HTTP, web-2:HTTP" in run("contacts", "show", "alice")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["contacts", "set", "alice", "--medium", "email"], 2, "write NAME=VALUE"),
        (["contacts", "set", "alice", "--interval", "sms=5"], 1, "has no medium 'sms'"),
        (
            ["contacts", "set", "alice", "--rollup", "email=x"],
            1,
            "--rollup email: expected a whole number",
        ),
        (["contacts", "set", "alice", "--interval", "email=soon"], 1, "soon"),
        (["contacts", "set", "alice", "--timezone", "Rome"], 1, "did you mean Europe/Rome?"),
        (["contacts", "set", "a:b", "--first-name", "A"], 1, "id: 'a:b' is not allowed"),
        (["contacts", "set", "alice", "--first-name", ""], 1, "first_name: ''"),
        (["contacts", "show", "bob"], 1, "there is no contact bob"),
        (["contacts", "remove", "bob"], 1, "there is no contact bob"),
        (["contacts", "link", "bob", "--all"], 1, "there is no contact bob"),
        (["contacts", "link", "alice"], 2, "give --entity NAME"),
        (["contacts", "link", "alice", "--all", "--entity", "x"], 2, "give --entity NAME"),
        (["contacts", "link", "alice", "--all", "--check", "x"], 2, "give --entity NAME"),
        (["contacts", "link", "alice", "--entity", ""], 1, "name: '' is not allowed"),
        (["contacts", "unlink", "alice", "--entity", "x"], 1, "there is no entity x"),
        (["contacts", "unlink", "alice", "--all"], 1, "alice is not linked to this"),
        (["entities", "remove", "x"], 1, "there is no entity x"),
        (["entities", "set", "a:b"], 1, "name: 'a:b' is not allowed; expected a name: text"),
        (["entities", "show", "/(/"], 1, "is no regular expression"),
        (["rules", "show", "bob"], 1, "there is no contact bob"),
        (["rules", "add", "bob"], 1, "there is no contact bob"),
        (["rules", "add", "alice", "--when", "whenever"], 1, "'whenever' was not understood"),
        (["rules", "add", "alice", "--tag-regex", "("], 1, "regex_tags: '('"),
        (["rules", "add", "alice", "--critical", "E-Mail"], 1, "critical_media: 'E-Mail'"),
        (["rules", "add", "alice", "--blackhole", "ok"], 2, "critical"),
        (["rules", "edit", "none"], 1, "there is no rule 'none'"),
        (["rules", "remove", "none"], 1, "there is no rule 'none'"),
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    run: Commands, server: servers.Single, arguments: list[str], code: int, says: str
) -> None:
    server.server.call("HSET", "contact:alice", "first_name", "Alice")
    server.server.call("HSET", "contact_media:alice", "email", "alice@example.com")
    before = server.server.call("DEBUG", "DIGEST")
    said = run(*arguments, code=code)
    assert says in said
    if code == 1:
        assert said.startswith("watchbell: ")
        assert said.count("\n") == 1
    assert server.server.call("DEBUG", "DIGEST") == before


def test_links_are_made_shown_and_undone(run: Commands) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice")
    assert "web-1 is a new entity" in run("contacts", "link", "alice", "--entity", "Web-1").lower()
    said = run("contacts", "link", "alice", "--entity", "web-1", "--check", "HTTP")
    assert said == "Alice gets alerts about web-1:HTTP\n"
    run("contacts", "link", "alice", "--all")
    alice = run.shown("contacts", "show", "alice")
    assert alice["told_about"] == ["everything", "web-1", "web-1:HTTP"]
    assert "alerted about  everything, web-1, web-1:HTTP" in run("contacts", "show", "alice")
    run("contacts", "unlink", "alice", "--all")
    run("contacts", "unlink", "alice", "--entity", "web-1", "--check", "HTTP")
    assert run.shown("contacts", "show", "alice")["told_about"] == ["web-1"]


NIGHT = ("--tag", "db", "--when", "22:00-06:00", "--critical", "email")


def test_the_first_rule_replaces_the_general_one_if_that_is_wanted(run: Commands) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice", "--medium", "email=a@example.com")
    said = run("rules", "add", "alice", *NIGHT)
    assert (
        "Outside its hours, the general rule applies: Alice is notified of critical by email, "
        "warning by email.\n" in said
    )
    (rule,) = run.shown("rules", "show", "alice")
    hint = f"To send no alerts then: watchbell rules edit {rule['id'][:8]} --replace-general\n"
    assert hint in said
    said = run("rules", "edit", rule["id"], "--replace-general")
    assert "Outside its hours, Alice is not notified.\n" in said
    _, general = sorted(
        run.shown("rules", "show", "alice"), key=lambda one: one["id"] != rule["id"]
    )
    assert general["words"].startswith("If no specific rule matches, at any time: critical is not")
    assert "To send no alerts then" not in run("rules", "add", "alice", *NIGHT, "--keep-general")


@pytest.mark.parametrize(("answer", "count"), [(b"y\n", 2), (b"n\n", 1)])
def test_on_a_terminal_it_is_asked(
    run: Commands, server: servers.Single, answer: bytes, count: int
) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice", "--medium", "email=a@example.com")
    ours, theirs = os.openpty()
    try:
        os.write(ours, answer)
        done = subprocess.run(
            watchbell("rules", "add", "alice", *NIGHT, "--store", server.url),
            env=bare_environment(),
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert (
        "Replace the automatic general rule, so that no alerts are sent then? [y/N]" in done.stdout
    )
    assert len(run.shown("rules", "show", "alice")) == count


def test_rules_are_added_told_in_words_changed_and_removed(run: Commands) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice", "--medium", "email=a@example.com")
    assert run("rules", "show", "alice").startswith("There is no general rule yet")
    said = run(
        *("rules", "add", "alice", "--entity", "WEB-1", "--entity-regex", "^web", "--tag", "db"),
        *("--tag-regex", "^eu", "--when", "mon-fri 08:00-18:00; sat 10:00-12:00"),
        *("--critical", "email, sms", "--warning", "email", "--blackhole", "unknown"),
    )
    assert "Alice has no sms, so no alerts are sent by it" in said
    (rule,) = run.shown("rules", "show", "alice")
    assert rule["entities"] == ["web-1"]
    assert rule["critical_media"] == ["email", "sms"]
    assert len(rule["time_restrictions"]) == 2
    assert rule["unknown_blackhole"]
    told = run("rules", "show", "alice")
    assert rule["words"] in told
    assert "Monday to Friday" in told
    assert "There is no general rule" in told
    changed = ["--entity", "", "--entity-regex", "", "--tag", "x", "--when", "", "--blackhole"]
    run("rules", "edit", rule["id"], *changed, "none", "--critical", "", "--tag-regex", "")
    (rule,) = run.shown("rules", "show", "alice")
    assert rule["words"] == (
        "If the event is tagged x, at any time: critical is not sent, warning by email, "
        "unknown is not sent."
    )
    assert "If the event is tagged x" in run("rules", "remove", rule["id"][:6])
    assert run.shown("rules", "show", "alice") == []


def test_a_rule_that_cannot_be_read_is_mended_field_by_field(
    run: Commands, server: servers.Single
) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice", "--medium", "sms=+1")
    server.server.call("SADD", "contact_notification_rules:alice", "r1")
    server.server.call(
        *("HSET", "notification_rule:r1", "contact_id", "alice", "tags", "[", "entities", "5")
    )
    assert "its entities and tags can't be read" in run("rules", "show", "alice")
    assert "tags: what is stored" in run("rules", "edit", "r1", "--entity", "web", code=1)
    said = run("rules", "edit", "r1", "--entity-regex", "w", "--entity", "web", code=1)
    assert "tags: what is stored" in said
    run("rules", "edit", "r1", "--entity", "web", "--tag", "db")
    (rule,) = run.shown("rules", "show", "alice")
    assert (rule["entities"], rule["tags"], rule["regex_entities"]) == (["web"], ["db"], [])


def test_a_contact_that_nobody_knows_is_told_where_an_entity_gets_it(run: Commands) -> None:
    run("contacts", "set", "alice", "--first-name", "Alice")
    said = run("entities", "set", "web-1", "--contact", "alice", "--contact", "alcie")
    assert "warning: there is no contact 'alcie' yet, so no alerts are sent to it\n" in said
    assert "contact alice so far" not in said


def test_a_rule_is_told_as_it_is_stored(run: Commands) -> None:
    run("contacts", "set", "bob", "--first-name", "Bob")
    said = run("rules", "add", "bob", "--entity", "WEB-1", "--critical", "email,sms")
    assert "If the entity is web-1, at any time" in said
    assert "Bob has no email and no sms, so no alerts are sent by them" in said


def test_entities_are_imported_renamed_and_shown(run: Commands) -> None:
    json_items: list[Any] = [
        {"id": 10001, "name": "Clientx-App-01", "contacts": [362, "363"], "tags": ["a", "b"]},
        {"name": "skipped"},
        {"id": "2", "name": "a:b"},
        {"id": "3", "contacts": []},
        {"id": "4", "name": "x", "check_contacts": {"HTTP": 5}},
        {"id": "ALL", "name": "ALL", "contacts": ["364"]},
    ]
    said = run("entities", "import", "-", given=json.dumps(json_items), code=1)
    assert "entities imported: 2" in said
    assert "item 2 has no id and was skipped" in said
    assert "item 3 (id '2'): name: 'a:b' is not allowed" in said
    assert "item 4 (id '3'): name: it is missing" in said
    assert "item 5 (id '4'): check_contacts" in said
    lines = run("entities", "show").splitlines()
    assert lines[0].split()[:4] == ["entity", "id", "tags", "contacts"]
    assert lines[1].split() == ["ALL", "ALL", "364"]
    assert lines[2].split() == ["clientx-app-01", "10001", "a,", "b", "362,", "363"]
    said = run("entities", "set", "10001", "--name", "web", "--untag", "a", "--no-contact", "362")
    assert said == "saved entity web, id 10001\n"
    (web,) = run.shown("entities", "show", "w*")
    assert web == {
        "id": "10001",
        "name": "web",
        "contacts": ["363"],
        "tags": ["b"],
        "check_contacts": {},
    }
    run("entities", "set", "web", "--id", "7")
    assert [one["id"] for one in run.shown("entities", "show", "/^web$/")] == ["7"]


names = st.from_regex(r"[A-Za-z][\w .é*-]{0,8}", fullmatch=True)
media = st.dictionaries(
    st.sampled_from(["sms", "jabber", "pagerduty", "sms_twilio"]),
    st.builds(
        Medium, address=names, interval=st.integers(1, 10**6), rollup_threshold=st.integers(0, 99)
    ),
)
people = st.builds(
    Contact,
    id=names,
    first_name=names,
    last_name=st.just("") | names,
    email=st.just("") | names,
    timezone=st.sampled_from(["", "Europe/Rome", "UTC"]),
    tags=st.lists(names, unique=True, max_size=3).map(lambda tags: tuple(sorted(tags))),
    media=media,
    pagerduty=st.dictionaries(st.sampled_from(validation.PAGERDUTY), names),
    rules=st.lists(some_rules, max_size=3, unique_by=lambda rule: rule.id).map(
        lambda several: tuple(sorted(several, key=lambda rule: rule.id.encode()))
    ),
)
things = st.builds(
    Entity,
    id=names,
    name=names.map(str.lower),
    contacts=st.lists(names, unique=True, max_size=3).map(lambda told: tuple(sorted(told))),
    tags=st.lists(names, unique=True, max_size=3).map(lambda tags: tuple(sorted(tags))),
    check_contacts=st.dictionaries(
        names, st.lists(names, unique=True, min_size=1, max_size=2).map(lambda t: tuple(sorted(t)))
    ),
)


def owned(contact: Contact) -> Contact:
    def mine(rule: Rule) -> Rule:
        entities_ = tuple(name.lower() for name in rule.entities)
        return replace(rule, contact_id=contact.id, entities=entities_)

    return replace(contact, rules=tuple(map(mine, contact.rules)))


def no_new_id() -> str:
    raise AssertionError("every rule has an id")


@settings(deadline=None, max_examples=60)
@given(person=people.map(owned), thing=things)
def test_what_is_exported_is_the_same_data_when_imported(
    server: servers.Single, person: Contact, thing: Entity
) -> None:
    async def there_and_back() -> None:
        async with Store(store_url.parse(server.url)) as store:
            await emptied(store)
            for _ in range(2):
                await contacts.save(store, person, with_rules=True, tags_before=())
                await entities.save(store, thing, with_checks=True)
                (found,) = await contacts.everybody(store)
                (known,) = await entities.find(store)
                item = json.loads(msgspec.json.encode(json_items.of_contact(found)))
                row = json.loads(msgspec.json.encode(known))
                assert json_items.contact(item, no_new_id) == found == person
                assert json_items.entity(row) == known == thing
            assert await families.strays(store) == []
            await emptied(store)

    asyncio.run(there_and_back())


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "id",
                        "first_name",
                        "media",
                        "tags",
                        "email",
                        "address",
                        "notification_rules",
                        "entities",
                        "name",
                    ]
                ),
                inner,
            )
        ),
    )
)
def test_whatever_an_item_is_it_is_read_or_refused(value: Any) -> None:
    item = {"id": "1", "first_name": "A", "name": "a"} | (value if isinstance(value, dict) else {})
    for read in (
        lambda: validation.checked_contact(json_items.contact(item, lambda: "r")),
        lambda: json_items.entity(item),
    ):
        with suppress(Refused):
            read()
