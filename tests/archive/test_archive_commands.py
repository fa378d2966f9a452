"""Chat commands of the archive: forms, aliases, who may give them, answers to bad ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.command_forms import FORMS, parse
from watchbell.archive.commands import (
    Abort,
    AddIgnoreSets,
    Archive,
    Cheer,
    Command,
    Expire,
    Explain,
    FindUrl,
    Help,
    Hint,
    Hurry,
    Ignore,
    ListPipelines,
    Locate,
    Pause,
    Rank,
    ReportIgnores,
    Resume,
    SetConcurrency,
    SetDelay,
    SetNote,
    ShowCounts,
    ShowCrawl,
    ShowPending,
    Unignore,
    who_may,
)

_ALL, _VOICE, _OP = Rank.ALL, Rank.VOICE, Rank.OP
_URL = "https://example.com/"


@pytest.mark.parametrize(
    ("line", "command", "who"),
    [
        (f"!a {_URL}", Archive(_URL), _VOICE),
        (f"!archive {_URL}", Archive(_URL), _VOICE),
        (f"  !ARCHIVE   {_URL}  ", Archive(_URL), _VOICE),
        (f"!a {_URL} --large  --delay 5", Archive(_URL, "--large  --delay 5"), _VOICE),
        (f"!a < {_URL}", Archive(_URL, "", "inf", True), _OP),
        (f"!archive <{_URL} --large", Archive(_URL, "--large", "inf", True), _OP),
        (f"!ao {_URL}", Archive(_URL, "", "shallow"), _ALL),
        (f"!archiveonly {_URL}", Archive(_URL, "", "shallow"), _ALL),
        (f"!ao < {_URL}", Archive(_URL, "", "shallow", True), _ALL),
        (f"!archiveonly < {_URL} --x", Archive(_URL, "--x", "shallow", True), _ALL),
        ("!status", ShowCounts(), _ALL),
        ("!status abc123", ShowCrawl("abc123"), _ALL),
        ("!status ABC123", ShowCrawl("abc123"), _ALL),
        (f"!status {_URL}", FindUrl(_URL), _ALL),
        ("!status ftp://example.com/", FindUrl("ftp://example.com/"), _ALL),
        ("!pending", ShowPending(), _ALL),
        ("!w abc", Locate("abc"), _ALL),
        ("!whereis abc", Locate("abc"), _ALL),
        (r"!ig abc /cal/\d+", Ignore("abc", r"/cal/\d+"), _VOICE),
        ("!ignore abc a(?!b)", Ignore("abc", "a(?!b)"), _VOICE),
        ("!ug abc x(", Unignore("abc", "x("), _VOICE),
        ("!unig abc x", Unignore("abc", "x"), _VOICE),
        ("!unignore abc x", Unignore("abc", "x"), _VOICE),
        ("!igset abc blogs", AddIgnoreSets("abc", ("blogs",)), _VOICE),
        ("!ignoreset abc blogs,forums", AddIgnoreSets("abc", ("blogs", "forums")), _VOICE),
        ("!igset abc blogs, forums", AddIgnoreSets("abc", ("blogs", "forums")), _VOICE),
        ("!igon abc", ReportIgnores("abc", True), _ALL),
        ("!igoff abc", ReportIgnores("abc", False), _ALL),
        ("!igrep abc on", ReportIgnores("abc", True), _ALL),
        ("!ignorereports abc OFF", ReportIgnores("abc", False), _ALL),
        ("!d abc 0 100", SetDelay("abc", 0, 100), _VOICE),
        ("!delay abc 9999999 9999999", SetDelay("abc", 9_999_999, 9_999_999), _VOICE),
        ("!con abc 1", SetConcurrency("abc", 1), _VOICE),
        ("!concurrency abc 99", SetConcurrency("abc", 99), _VOICE),
        ("!concurrent abc 4", SetConcurrency("abc", 4), _VOICE),
        ("!yahoo abc", Hurry("abc"), _VOICE),
        ("!ex abc closes in May", SetNote("abc", "closes in May"), _VOICE),
        ("!explain abc  closes  in May", SetNote("abc", "closes in May"), _VOICE),
        ("!reason abc x", SetNote("abc", "x"), _VOICE),
        ("!explain abc", Explain("abc"), _ALL),
        ("!abort abc", Abort("abc"), _VOICE),
        ("!pause abc", Pause("abc"), _VOICE),
        ("!resume abc", Resume("abc"), _VOICE),
        ("!expire abc", Expire("abc"), _OP),
        ("!pipelines", ListPipelines(), _ALL),
        ("!stanbush Alice", Cheer("Alice"), _ALL),
        ("!help", Help(), _ALL),
        ("!help me", Help(), _ALL),
    ],
)
def test_a_line_becomes_a_command(line: str, command: Command, who: Rank) -> None:
    assert parse(line) == command
    assert who_may(command) is who


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("!a", "Expected: !archive < URL [OPTIONS] or !archive URL [OPTIONS]"),
        ("!ao <", "Expected: !archiveonly < URL [OPTIONS] or !archiveonly URL [OPTIONS]"),
        ("!status abc def", "Expected: !status or !status URL or !status IDENT"),
        ("!status a-b", "'a-b' is no ident"),
        ("!pending abc", "Expected: !pending"),
        ("!whereis", "Expected: !whereis IDENT"),
        ("!ig abc", "Expected: !ignore IDENT REGEX"),
        ("!ig abc a b", "Expected: !ignore IDENT REGEX"),
        ("!ig abc x(", "pattern: missing ) at position 2. The command is: !ignore IDENT REGEX"),
        ("!igset abc ,", "Expected: !ignoreset IDENT SET[,SET]"),
        ("!igrep abc maybe", "Expected: !ignorereports IDENT on|off"),
        ("!d abc 100", "Expected: !delay IDENT MIN MAX"),
        ("!d abc 100 50", "the first delay, 100, is longer than the second, 50"),
        ("!d abc 1 10000000", "expected a number from 0 to 9999999, not '10000000'"),
        ("!d abc 1.5 2", "expected a number"),
        ("!con abc 0", "expected a number from 1 to 99, not '0'. The command is: !concurrency"),
        ("!con abc 100", "expected a number from 1 to 99"),
        ("!yahoo", "Expected: !yahoo IDENT"),
        ("!ex", "Expected: !explain IDENT TEXT or !explain IDENT"),
        ("!expire", "Expected: !expire IDENT"),
    ],
)
def test_a_bad_command_is_answered_with_what_was_expected(line: str, text: str) -> None:
    hint = parse(line)
    assert isinstance(hint, Hint)
    assert text in hint.text


@pytest.mark.parametrize(
    "line", ["", "  ", "hello", "a !status", "!", "!weather Berlin", "! status"]
)
def test_talk_and_the_commands_of_other_bots_get_no_answer(line: str) -> None:
    assert parse(line) is None


@given(st.sampled_from([word for form in FORMS for word in form.words]), st.text())
def test_no_line_fails(word: str, rest: str) -> None:
    assert parse(f"{word} {rest}") is not None
