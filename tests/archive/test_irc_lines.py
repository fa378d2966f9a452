"""Lines of IRC: what servers send is read, and what we send fits and is clean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.irc import lines
from watchbell.archive.irc.lines import Line


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"PING :irc.example.com\r\n", Line("PING", ("irc.example.com",))),
        (
            b":alice!a@host PRIVMSG #archive :!status  now \r\n",
            Line("PRIVMSG", ("#archive", "!status  now "), "alice!a@host"),
        ),
        (b":s 353 me = #a :@alice +bob\n", Line("353", ("me", "=", "#a", "@alice +bob"), "s")),
        (b"@time=2026 :s  MODE   #a +o bob", Line("MODE", ("#a", "+o", "bob"), "s")),
        (b"join #a", Line("JOIN", ("#a",))),
        (b":alice!a@host QUIT :", Line("QUIT", ("",), "alice!a@host")),
        (b"TOPIC #a :a :b", Line("TOPIC", ("#a", "a :b"))),
        (b"PRIVMSG #a :\xff", Line("PRIVMSG", ("#a", "\ufffd"))),
        *((raw, None) for raw in (b"", b"\r\n", b":", b":source", b"12 x", b"@tags", b"   ", b"?")),
    ],
)
def test_a_line_is_read(raw: bytes, line: Line | None) -> None:
    assert lines.read(raw) == line


def test_a_missing_word_is_empty() -> None:
    assert (Line("MODE").word(0), Line("X", source="alice!a@host").nick) == ("", "alice")


@given(st.binary(max_size=600))
def test_whatever_a_server_sends_is_a_line_or_none(raw: bytes) -> None:
    line = lines.read(raw)
    assert line is None or line.command == line.command.upper()


def test_commands_are_written() -> None:
    assert lines.command("NICK", "alice") == b"NICK alice\r\n"
    assert lines.command("USER", "a b", "0", "*", "Alice A") == b"USER ab 0 * :Alice A\r\n"
    assert lines.command("QUIT", "") == b"QUIT :\r\n"
    assert lines.command("PASS", ":x") == b"PASS ::x\r\n"


@given(st.text(max_size=2_000), st.text(max_size=30))
def test_no_text_breaks_a_line(text: str, to: str) -> None:
    for line in (*lines.messages(to, text), lines.command("JOIN", to, text)):
        assert len(line) <= lines.LONGEST
        assert line.endswith(b"\r\n")
        written = line[:-2].decode()  # whole characters only
        assert all(c.isprintable() for c in written)


@given(st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=1_500))
def test_a_text_in_several_lines_is_whole(text: str) -> None:
    found = lines.messages("#archive", text, most=100)
    assert "".join(line.decode()[: -len("\r\n")].partition(":")[2] for line in found) == text


def test_a_text_is_divided_at_blanks_and_limited() -> None:
    found = lines.messages("#a", "word " * 300, prefix=30, most=2)
    assert len(found) == 2
    for line in found:
        assert 400 < len(line) + 30 + 2 <= lines.LONGEST
        assert line.endswith(b"word\r\n")
    assert lines.messages("#a", " \r\n ") == []


def test_formats_of_a_text_are_removed() -> None:
    assert lines.without_formats("\x02!\x02\x0304,12sta\x03tus\x0f") == "!status"


def test_names_are_compared_as_servers_do() -> None:
    assert lines.folded("[Alice]\\~") == lines.folded("{aLICE}|^")


@pytest.mark.parametrize("name", ["#archive", "&local", "#a"])
def test_channels(name: str) -> None:
    assert lines.is_channel(name)


@pytest.mark.parametrize(
    "name", ["", "archive", "#", "#a b", "#a,#b", "#" + "a" * 60, "#a\r\nQUIT"]
)
def test_no_channels(name: str) -> None:
    assert not lines.is_channel(name)


def test_nicks() -> None:
    assert lines.is_nick("watch-bell[1]")
    for name in ("", "1st", "a b", "-a", "a\r", "a" * 40):
        assert not lines.is_nick(name)
