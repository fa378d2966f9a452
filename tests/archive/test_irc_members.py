"""Who is operator or has voice in the channels of an IRC server."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.commands import Rank
from watchbell.archive.irc import lines
from watchbell.archive.irc.members import Members

NAMES = [":s 353 me = #a :@Alice +bob", ":s 353 me = #a :charlie", ":s 366 me #a :End"]


def members(*after: str) -> Members:
    known = Members()
    for text in (*NAMES, *after):
        line = lines.read(text.encode())
        assert line is not None
        known.note(line)
    return known


def ranks(*after: str) -> str:
    known = members(*after)
    return " ".join(
        f"{known.rank('#A', nick).name}" if known.has("#a", nick) else "-"
        for nick in ("alice", "bob", "charlie")
    )


@pytest.mark.parametrize(
    ("after", "found"),
    [
        ([], "OP VOICE ALL"),
        ([":s MODE #a +v charlie"], "OP VOICE VOICE"),
        ([":s MODE #a +o-v charlie bob"], "OP ALL OP"),
        ([":s MODE #a -o ALICE"], "ALL VOICE ALL"),
        ([":s MODE #a +klo key 5 bob"], "OP OP ALL"),
        ([":s MODE #a -l+o bob"], "OP OP ALL"),
        ([":s MODE #a +b-v *!*@host bob"], "OP ALL ALL"),
        ([":s MODE #a +o"], "OP VOICE ALL"),
        ([":s MODE #a +o nobody"], "OP VOICE ALL"),
        ([":s MODE #other +o bob"], "OP VOICE ALL"),
        ([":alice!a@h NICK Alicia"], "- VOICE ALL"),
        ([":alice!a@h NICK Alicia", ":alicia!a@h NICK charlie"], "- VOICE OP"),
        ([":alice!a@h PART #a :bye"], "- VOICE ALL"),
        ([":alice!a@h PART #a :bye", ":alice!a@h JOIN :#a"], "ALL VOICE ALL"),
        ([":alice!a@h QUIT :bye"], "- VOICE ALL"),
        ([":alice!a@h KICK #a bob :out"], "OP - ALL"),
        ([":s 005 me PREFIX=(qov)~@+ :are", ":s 353 me = #a :~bob", NAMES[2]], "- OP -"),
        ([":s 005 me PREFIX=(ohv)@%+ :are", ":s 353 me = #a :@%+bob", NAMES[2]], "- OP -"),
        ([":s 005 me CHANMODES=b,k,l,x :are", ":s MODE #a +xo bob"], "OP OP ALL"),
    ],
)
def test_ranks_follow_what_the_server_says(after: list[str], found: str) -> None:
    assert ranks(*after) == found


def test_who_loses_a_mode_may_have_another() -> None:
    known = members()
    line = lines.read(b":s MODE #a -o alice")
    assert line is not None
    assert known.note(line) == "#a"


def test_who_comes_back_has_no_rank_of_before() -> None:
    known = members()
    known.leave("#A")
    assert not known.has("#a", "alice")


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_no_line_is_too_strange(sent: list[bytes]) -> None:
    known = Members()
    words = [b"005", b"353", b"366", b"JOIN", b"PART", b"KICK", b"QUIT", b"NICK", b"MODE"]
    for number, rest in enumerate(sent):
        line = lines.read(b":a!b@c " + words[number % len(words)] + b" " + rest)
        if line is not None:
            known.note(line)
    assert known.rank("#a", "alice") in Rank
