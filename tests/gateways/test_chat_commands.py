"""What people say becomes a command, or a hint at what they meant."""

from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchbell.alerting import patterns
from watchbell.errors import Refused
from watchbell.gateways.commands import (
    FORMS,
    Acknowledge,
    AcknowledgeMany,
    Command,
    FindChecks,
    FindEntities,
    Help,
    Hint,
    Identify,
    Maintain,
    ShowStatus,
    TellAbout,
    TryNotifications,
    Which,
    addressed,
    parse,
)

NOW = 1_700_000_000  # Tuesday 2023-11-14 22:13:20 UTC
UTC = ZoneInfo("UTC")
HOUR = 3600


def understood(line: str, zone: ZoneInfo = UTC) -> Command:
    return parse(line, NOW, zone)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("ACKID 0a1b2c3d on it", Acknowledge("0a1b2c3d", "on it", 4 * HOUR)),
        ("ackid 0A1B2C3D, on it", Acknowledge("0a1b2c3d", "on it", 4 * HOUR)),
        ("ack 0a1b2c3d on it", Acknowledge("0a1b2c3d", "on it", 4 * HOUR)),
        ("ACKID 0a1b2c3d on it duration: 2 hours", Acknowledge("0a1b2c3d", "on it", 2 * HOUR)),
        ("ACKID 0a1b2c3d on it, Duration:90 min", Acknowledge("0a1b2c3d", "on it", 5400)),
        ("ACKID 0a1b2c3d duration: 1h", None),
        ("ACKID 0a1b2c3d", None),
        ("ACKID nonsense on it", None),
        ("ack entities /^web/", AcknowledgeMany(Which("/^web/"), "", HOUR)),
        ("ack entities web-*", AcknowledgeMany(Which("web-*"), "", HOUR)),
        (
            "ack entities /web|db/ new disks duration: 1 day",
            AcknowledgeMany(Which("/web|db/"), "new disks", 24 * HOUR),
        ),
        ("ack entities /web", None),
        ("ack entities //", None),
        ("ack entities /web/ start-in: 1h", None),
        ("ack checks /HTTP/ on /web/", AcknowledgeMany(Which("/web/", "/HTTP/"), "", HOUR)),
        (
            "ack checks /Disk \\/ Util/ on web-1 full",
            AcknowledgeMany(Which("web-1", "/Disk \\x2f Util/"), "full", HOUR),
        ),
        ("ack checks /HTTP/", None),
        ("maint entities /db/", Maintain(Which("/db/"), NOW, "", HOUR)),
        (
            "maint entities /db/ new disks start-in: 2 hours duration: 30 min",
            Maintain(Which("/db/"), NOW + 2 * HOUR, "new disks", 1800),
        ),
        (
            "maint entities /db/ new disks duration: 3h start-at: tomorrow 08:00",
            Maintain(Which("/db/"), NOW - 22 * HOUR - 800 + 32 * HOUR, "new disks", 3 * HOUR),
        ),
        (
            "maintenance checks /MySQL/ on /db/ move",
            Maintain(Which("/db/", "/MySQL/"), NOW, "move", HOUR),
        ),
        ("maint entities /db/ start-in: 1h start-at: 08:00", None),
        ("maint entities /db/ duration: 1h duration: 2h", None),
        ("maint entities /db/ duration: soon", None),
        ("maint entities /db/ duration: 0", None),
        ("maint entities /db/ start-at: whenever", None),
        ("status entities /web/", ShowStatus(Which("/web/"))),
        ("status entities matching /web/", ShowStatus(Which("/web/"))),
        ("status checks HTTP on web-1", ShowStatus(Which("web-1", "HTTP"))),
        ("find entities matching /^a/", FindEntities("/^a/")),
        ("find entities /a:b\\/:c/", FindEntities("/a:b\\x2f:c/")),
        ("find checks on web-1", FindChecks(Which("web-1"))),
        ("find checks matching /H/ on web-1", FindChecks(Which("web-1", "/H/"))),
        ("find checks on entities matching /web/", FindChecks(Which("/web/"))),
        (
            "find checks matching /H/ on entities matching /web/",
            FindChecks(Which("/web/", "/H/")),
        ),
        ("test notifications for Web-1", TryNotifications("web-1", "test")),
        ("test notifications for web-1:Disk / Util", TryNotifications("web-1", "Disk / Util")),
        ("test notifications for web-1:a:b", TryNotifications("web-1", "a:b")),
        ("test notifications for", None),
        ("tell me about web-1", TellAbout("web-1")),
        ("Tell me about web-1:HTTP?", TellAbout("web-1", "HTTP")),
        ("identify", Identify()),
        ("  HELP!  ", Help()),
        ("?", Help()),
        ("help\nme", None),
        ("", None),
    ],
)
def test_what_is_said_is_understood(line: str, command: Command | None) -> None:
    found = understood(line)
    assert isinstance(found, Hint) if command is None else found == command


def test_a_time_is_that_of_the_zone_of_whoever_says_it() -> None:
    sydney = understood(
        "maint entities db start-at: 2023-11-20 08:00", ZoneInfo("Australia/Sydney")
    )
    utc = understood("maint entities db start-at: 2023-11-20 08:00")
    assert isinstance(sydney, Maintain)
    assert isinstance(utc, Maintain)
    assert utc.start - sydney.start == 11 * HOUR  # as summer has it there


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("hlp", "help"),
        ("ackid 0a1b2c3d", "the comment is missing"),
        ("ack entitys /web/", "ack entities /<expression>/"),
        ("find cheks on web-1", "find checks"),
        ("status check HTTP on web", "status checks"),
        ("tell me abut web-1", "tell me about"),
        ("maint entities /db/ duration: soon", "'soon' was not understood"),
    ],
)
def test_what_is_nearly_right_gets_the_nearest_command(line: str, words: str) -> None:
    found = understood(line)
    assert isinstance(found, Hint)
    assert words in found.text


def test_what_is_far_from_everything_gets_no_guess() -> None:
    assert understood("what a day") == Hint(
        'I don\'t understand that. Say "help" to see what I understand.'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("watchbell: help", "help"),
        ("Watchbell , help", "help"),
        ("@watchbell help", "help"),
        ("@watchbell: help", "help"),
        ("@wb", ""),
        ("wb:", ""),
        ("  wb: ack: x", "ack: x"),
        ("watchbell help", None),
        ("watchbells: help", None),
        ("watchbell-2: help", None),
        ("@watchbellhelp", None),
        ("I asked watchbell: help", None),
        ("", None),
        ("@", None),
    ],
)
def test_we_are_addressed_by_name(text: str, said: str | None) -> None:
    assert addressed(text, ("watchbell", "wb", "")) == said


LEADS = st.sampled_from([form.usage.partition("/")[0].partition("<")[0] for form in FORMS])
LINES = st.one_of(
    st.text(),
    st.tuples(LEADS, st.text()).map("".join),
    st.tuples(LEADS, st.text("/\\ x*[](){}:.+?^$|on", max_size=40)).map("".join),
    st.tuples(LEADS, st.just("/x/ "), st.text("duratinse-:0123 hmdy", max_size=40)).map("".join),
)


@given(LINES)
@settings(deadline=None)
def test_any_line_is_a_command_or_a_hint(line: str) -> None:
    found = understood(line)
    assert isinstance(found, Command)
    if isinstance(found, Hint):
        assert 0 < len(found.text) < 10_000


@given(st.text("/\\ax:[]^-", min_size=1, max_size=12))
@settings(deadline=None)
def test_an_expression_means_the_same_inside_a_pattern(inner: str) -> None:
    """However many slashes, escaped ones, colons and brackets it has."""
    found = understood(f"status checks /{inner}/ on /./")
    if not isinstance(found, ShowStatus):
        return
    try:
        alone = patterns.compiled(f"x:{found.which.check}").matches
        together = patterns.compiled(found.which.pattern).matches
    except Refused:
        return
    for name in ("a", "/", "x/a", "a:x", "^-", "]", "\\"):
        assert alone("x", name) == together("x", name)


@given(st.text(), st.lists(st.text(max_size=5), max_size=3))
@settings(deadline=None)
def test_any_text_is_said_to_us_or_not(text: str, names: list[str]) -> None:
    said = addressed(text, names)
    assert said is None or said in text


def test_a_line_as_long_as_it_likes_is_read_in_no_time() -> None:
    for line in ("ack entities /" + "\\/" * 500_000, "find checks " + "on " * 300_000, "x" * 10**6):
        assert isinstance(understood(line), Command)
