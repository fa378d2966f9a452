"""Settings of Flapjack as its package installs them, in our words."""

import math
import tomllib
from typing import Any

import pytest

from watchbell.errors import Refused
from watchbell.gateways.flapjack_settings import translate

SETTINGS: dict[str, Any] = {
    "pid_dir": "/var/run/flapjack",
    "redis": {"host": "10.0.0.9", "port": 6380, "db": 0},
    "processor": {
        "enabled": True,
        "queue": "events",
        "archive_events": True,
        "events_archive_maxage": 7200,
        "new_check_scheduled_maintenance_duration": "2 hours",
        "new_check_scheduled_maintenance_ignore_tags": ["bypass"],
        "surprise": 1,
    },
    "notifier": {"enabled": True, "default_contact_timezone": "Europe/Rome"},
    "gateways": {
        "email": {
            "enabled": True,
            "queue": "email_notifications",
            "smtp_config": {
                "host": "mail.example.org",
                "port": 587,
                "starttls": True,
                "from": 'Flapjack "FJ" <flapjack@example.org>',
                "auth": {"type": "login", "username": "fj", "password": 'se"cret\n'},
            },
        },
        "sms_twilio": {
            "enabled": True,
            "account_sid": "AC1",
            "auth_token": "token",
            "from": "+15550100",
        },
        "jabber": {
            "enabled": True,
            "server": "jabber.example.org",
            "jabberid": "fj@example.org",
            "password": "hush",
            "rooms": ["a@conference.example.org"],
            "identifiers": ["@fj"],
        },
        "sms": {"enabled": False, "username": "off"},
        "jsonapi": {"enabled": True, "port": 3081},
        "hipchat": {"enabled": True},
    },
    "nagios-receiver": {"fifo": "/var/cache/nagios3/event_stream.fifo"},
}


def test_settings_with_a_counterpart_are_translated() -> None:
    found = translate({"production": SETTINGS}, "production")
    assert tomllib.loads(found.toml()) == {
        "alerting": {
            "archive": True,
            "archive_seconds": 7200,
            "new_check_maintenance": 7200,
            "new_check_ignore_tags": ["bypass"],
            "timezone": "Europe/Rome",
        },
        "gateways": {
            "email": {
                "host": "mail.example.org",
                "port": 587,
                "tls": "starttls",
                "from_address": 'Flapjack "FJ" <flapjack@example.org>',
                "user": "fj",
                "password": 'se"cret\n',
            },
            "sms_twilio": {
                "kind": "twilio",
                "account": "AC1",
                "token": "token",
                "from_number": "+15550100",
            },
            "jabber": {
                "host": "jabber.example.org",
                "jid": "fj@example.org",
                "password": "hush",
                "rooms": ["a@conference.example.org"],
                "identifiers": ["@fj"],
            },
        },
        "flapjack_api": {"port": 3081},
    }


def test_what_has_none_is_listed() -> None:
    left = translate({"production": SETTINGS}, "production").left
    assert {line.partition(":")[0] for line in left} == {
        *("redis", "processor.surprise", "gateways.jsonapi", "gateways.hipchat"),
        "nagios-receiver",
    }


@pytest.mark.parametrize("document", [None, [], "x", {"test": {}}, {"production": 1}])
def test_a_file_without_the_environment_is_refused(document: Any) -> None:
    with pytest.raises(Refused, match="there is no environment 'production'"):
        translate(document, "production")


def test_odd_values_stop_nothing() -> None:
    odd = {"redis": 1, "processor": [], "gateways": {"email": None, "sns": {"enabled": True}}}
    assert translate({"production": odd}, "production").tables == {}


@pytest.mark.parametrize("length", [math.nan, math.inf, -1, 10**30, True, None, "soon"])
def test_what_is_no_length_of_time_is_listed(length: object) -> None:
    given = {"processor": {"events_archive_maxage": length}}
    found = translate({"production": given}, "production")
    assert found.left == [f"processor.events_archive_maxage: {length!r} is no length of time"]
    assert found.tables == {}


def test_queues_with_names_of_their_own_are_listed() -> None:
    given = {
        "processor": {"queue": "my_events", "notifier_queue": "notifications"},
        "notifier": {"queue": "notifications", "email_queue": "mails"},
        "gateways": {"email": {"enabled": True, "queue": "mails"}},
    }
    assert translate({"production": given}, "production").left == [
        "processor.queue: 'my_events'; Watchbell's is 'events'",
        "notifier.email_queue: 'mails'; Watchbell's is 'email_notifications'",
        "gateways.email.queue: 'mails'; Watchbell's is 'email_notifications'",
    ]


def test_ports_may_be_in_quotes() -> None:
    email = {"enabled": True, "smtp_config": {"port": "2525"}}
    jabber = {"enabled": True, "port": "0x1"}
    found = translate(
        {"production": {"gateways": {"email": email, "jabber": jabber}}}, "production"
    )
    assert found.tables["gateways.email"] == {"port": 2525}
    assert found.left == ["gateways.jabber.port: '0x1' is no port"]


def test_what_is_no_table_is_listed() -> None:
    gateways = {"email": 7, "sms": None, "jsonapi": {"enabled": True, "port": "http"}}
    found = translate(
        {"production": {"redis": [1], "processor": "x", "gateways": gateways}}, "production"
    )
    assert found.left == [
        "redis: expected names with values below it",
        "processor: expected names with values below it",
        "gateways.email: expected names with values below it",
        "gateways.jsonapi.port: 'http' is no port",
        "gateways.jsonapi: its clients now need an API key, or allow_loopback",
    ]
