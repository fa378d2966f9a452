"""Logs: JSON lines for programs, text for people, secrets for nobody."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from watchbell import logs

SECRET = 'hunter2"\\\ngeheim-ü'


@pytest.fixture(autouse=True)
def own_logs() -> Iterator[None]:
    """What a test sets here ends with it."""
    before = logs._output
    hidden = set(logs._hidden)
    yield
    logs._output = before
    logs._hidden.clear()
    logs._hidden.update(hidden)


def written(stream: io.StringIO) -> list[dict[str, Any]]:
    *lines, rest = stream.getvalue().split("\n")
    assert rest == ""
    return [json.loads(line) for line in lines]


def to_json(level: str = "info") -> io.StringIO:
    stream = io.StringIO()
    logs.configure(level, "auto", stream)
    return stream


def raise_with(text: str) -> None:
    raise ValueError(text)


def test_what_is_no_terminal_gets_one_json_object_a_line() -> None:
    stream = to_json()
    logs.get(role="lookout").info("two\nlines", text="a\r\nb\u2028", number=5, none=None, yes=True)
    logs.get().warning("again")
    first, second = written(stream)
    stamp = first.pop("timestamp")
    assert stamp.endswith("Z")
    assert first == {
        "role": "lookout",
        "event": "two\nlines",
        "text": "a\r\nb\u2028",
        "number": 5,
        "none": None,
        "yes": True,
        "level": "info",
    }
    assert (second["event"], second["level"]) == ("again", "warning")


@settings(max_examples=40)
@given(
    st.dictionaries(
        st.from_regex(r"x_[a-z]{1,5}", fullmatch=True),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text() | st.binary(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.sets(st.text()),
            max_leaves=4,
        ),
        max_size=3,
    ),
    st.text(),
)
@example({"x_a": b"\xff\n"}, "\udcff\n")
def test_any_fields_are_a_line_that_can_be_read_back(fields: dict[str, Any], event: str) -> None:
    stream = to_json()
    logs.get().info(event, **fields)
    (line,) = written(stream)
    assert set(fields) <= set(line)
    stream.getvalue().encode()


def test_objects_are_written_as_their_text() -> None:
    stream = to_json()
    logs.get().info("a", error=ValueError("wrong"), path=os.PathLike, raw=b"\xffx")
    (line,) = written(stream)
    assert line["error"] == "wrong"
    assert line["raw"] == "\ufffdx"


def test_a_traceback_is_a_field_of_its_line() -> None:
    stream = to_json()
    try:
        raise_with("wrong")
    except ValueError:
        logs.get().exception("failed")
    (line,) = written(stream)
    assert line["level"] == "error"
    assert "raise_with" in line["exception"]
    assert line["exception"].endswith("ValueError: wrong")


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("debug", ["debug", "info", "warning", "error"]),
        ("info", ["info", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_a_level_shows_itself_and_what_is_worse(level: str, shown: list[str]) -> None:
    stream = to_json(level)
    log = logs.get()
    for one in ("debug", "info", "warning", "error"):
        getattr(log, one)("a")
    assert [line["level"] for line in written(stream)] == shown


def on_terminal(form: Any, *, secret: str = "") -> str:
    """What a terminal gets of one line and one traceback."""
    reader, writer = os.openpty()
    try:
        with os.fdopen(writer, "w", encoding="utf-8") as stream:
            logs.configure("info", form, stream)
            logs.get(role="lookout").info("well again", subject=f"memory {secret}")
            try:
                raise_with(secret)
            except ValueError:
                logs.get().exception(f"failed {secret}")
        return b"".join(pieces(reader)).decode()
    finally:
        os.close(reader)


def pieces(reader: int) -> Iterator[bytes]:
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(reader, 100_000):
            yield piece


def test_a_terminal_gets_text() -> None:
    said = on_terminal("auto")
    assert "well again" in said
    assert "lookout" in said
    assert "raise_with" in said
    assert "\x1b[" in said
    assert not said.startswith("{")


def test_a_terminal_gets_json_where_that_was_asked_for() -> None:
    first, second = on_terminal("json").splitlines()
    assert json.loads(first)["event"] == "well again"
    assert json.loads(second)["level"] == "error"


def test_a_file_gets_text_without_colours_where_that_was_asked_for() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    logs.get().info("well again", subject="memory")
    assert "well again" in stream.getvalue()
    assert "subject=memory" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


# However it is written by Python, by JSON or in a URL, these letters are always in it.
PIECES = ["hunter2", "geheim"]


@pytest.mark.parametrize("form", ["auto", "text", "json"])
def test_a_terminal_never_gets_a_hidden_value(form: str) -> None:
    logs.hide(SECRET)
    said = on_terminal(form, secret=SECRET)
    assert "***" in said
    assert [piece for piece in PIECES if piece in said] == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_hidden_value_is_nowhere_in_a_line(form: Any) -> None:
    logs.hide(SECRET)
    stream = io.StringIO()
    logs.configure("info", form, stream)
    log, event = logs.get(bound=SECRET), f"event {SECRET}"
    log.info(
        event,
        text=SECRET,
        written=repr(SECRET),
        in_json=json.dumps({"password": SECRET}),
        in_url=quote(SECRET, safe=""),
        raw=SECRET.encode(),
        nested={"a": [SECRET, {SECRET: (SECRET, {SECRET})}]},
        error=ValueError(SECRET),
    )
    try:
        try:
            raise_with(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError:
        log.exception("failed", extra=SECRET)
    assert "***" in stream.getvalue()
    assert [piece for piece in PIECES if piece in stream.getvalue()] == []


def test_a_traceback_shows_no_variables() -> None:
    stream = io.StringIO()
    logs.configure("info", "text", stream)
    try:
        raise_with("wrong")
    except ValueError:
        somewhere_near = PIECES
        logs.get().exception("failed")
        assert somewhere_near[0] not in stream.getvalue()


def test_a_number_that_is_a_secret_is_hidden_and_others_stay_numbers() -> None:
    logs.hide("123456")
    stream = to_json()
    logs.get().info("a", pin=123456, port=6380)
    (line,) = written(stream)
    assert (line["pin"], line["port"]) == ("***", 6380)


def test_of_two_secrets_one_within_the_other_nothing_is_left() -> None:
    for secret in ("geheim", "geheimnis", "geheimniskram"):
        logs.hide(secret)
    assert logs.redact("geheimniskram geheim geheimnis") == "*** *** ***"


def test_an_empty_secret_hides_nothing() -> None:
    logs.hide("")
    assert logs.redact("all well") == "all well"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at redis://alice:pw@h:1/0 now", "at redis://alice:***@h:1/0 now"),
        ("at redis://:pw@h", "at redis://:***@h"),
        ("at redis://alice:p@w@h", "at redis://alice:***@h"),
        ("at redis://alice:p/w@h", "at redis://alice:***@h"),
        ("at redis://alice:p?w@h", "at redis://alice:***@h"),
        ("'redis://alice:p%40w@h' and more", "'redis://alice:***@h' and more"),
        ("redis://a:b@c and redis://d:e@f", "redis://a:***@c and redis://d:***@f"),
        ("redis+sentinel://h/s?sentinel_password=pw", "redis+sentinel://h/s?sentinel_password=***"),
        (
            "redis+sentinel://h/s?sentinel_password=pw&prefix=a",
            "redis+sentinel://h/s?sentinel_password=***&prefix=a",
        ),
        ("redis://alice@h:1/0", "redis://alice@h:1/0"),
        ("http://example.com:80/path", "http://example.com:80/path"),
        ("write to alice@example.com", "write to alice@example.com"),
    ],
)
def test_the_password_of_any_url_is_hidden(text: str, shown: str) -> None:
    assert logs.redact(text) == shown
    stream = to_json()
    logs.get().info(text, at=text)
    (line,) = written(stream)
    assert (line["event"], line["at"]) == (shown, shown)


@given(st.text(min_size=4), st.text(), st.text())
def test_whatever_the_secret_a_line_can_be_read_and_does_not_have_it(
    secret: str, before: str, after: str
) -> None:
    logs._hidden.clear()
    logs.hide(secret)
    stream = to_json()
    logs.get().info("a", text=before + secret + after)
    (line,) = written(stream)
    assert secret not in line["text"] or "***" in secret
