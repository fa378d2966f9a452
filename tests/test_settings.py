"""The settings: who wins, what is refused and in which words, and what is never shown."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from watchbell import settings
from watchbell.errors import BadSettings
from watchbell.settings import Loaded, Secret, redacted

HOME = {"HOME": "/home/alice"}
PASSWORD = "hunter2-geheim"

# Every setting with a value that is not its default, as text, and as it is shown.
OTHER: dict[str, tuple[str, str | int]] = {
    "data": ("/srv/bell", "/srv/bell"),
    "store.url": ("redis://db.example.com", "redis://db.example.com"),
    "store.port": ("7000", 7000),
    "store.password": (PASSWORD, "***"),
    "store.appendfsync": ("always", "always"),
    "store.max_memory": ("512", 512),
    "log.level": ("debug", "debug"),
    "log.format": ("json", "json"),
    "alerting.initial_failure_delay": ("31", 31),
    "alerting.repeat_failure_delay": ("61", 61),
    "alerting.initial_recovery_delay": ("5", 5),
    "alerting.new_check_maintenance": ("600", 600),
    "alerting.new_check_ignore_tags": ("shop, lab", "shop, lab"),
    "alerting.timezone": ("Europe/Vienna", "Europe/Vienna"),
    "alerting.archive": ("false", False),
    "alerting.archive_seconds": ("60", 60),
    "alerting.rejected_days": ("2", 2),
    "alerting.history_days": ("30", 30),
    "alerting.history_changes": ("50", 50),
    "alerting.alert_days": ("7", 7),
    "alerting.records": ("true", True),
    "delivery.give_up_hours": ("6", 6),
    "delivery.failed_days": ("3", 3),
    "delivery.templates": ("/srv/words", "/srv/words"),
    "delivery.link_url": ("https://w.example.com", "https://w.example.com"),
    "delivery.link_port": ("8080", 8080),
    "oobetet.check": ("a:b", "a:b"),
    "oobetet.max_latency": ("60", 60),
    "oobetet.medium": ("chat", "chat"),
    "oobetet.room": ("r@c.example.com", "r@c.example.com"),
    "oobetet.listen": ("0.0.0.0", "0.0.0.0"),
    "oobetet.port": ("8090", 8090),
    "oobetet.secret": (PASSWORD, "***"),
    "oobetet.alarm_medium": ("sms", "sms"),
    "oobetet.alarm_address": ("+1", "+1"),
    "cron.capacity": ("7", 7),
    "cron.tags": ("gpu, eu", "gpu, eu"),
    "cron.job_shell": ("/bin/sh", "/bin/sh"),
    "cron.timezone": ("Europe/Rome", "Europe/Rome"),
    "cron.missed_grace": ("5", 5),
    "cron.kill_after": ("3", 3),
    "cron.stop_wait": ("30", 30),
    "cron.orphans": ("adopt", "adopt"),
    "cron.heartbeat": ("10", 10),
    "cron.output_limit": ("1", 1),
    "cron.last_lines": ("20", 20),
    "cron.results": ("100", 100),
    "cron.job_results": ("50", 50),
    "cron.most_skipped": ("5", 5),
    "cron.overdue_after": ("60", 60),
    "cron.most_events": ("1000", 1000),
    "cron.upstream_data": ("true", True),
    "cron.upstream_weekdays": ("true", True),
    "jobs.timezone": ("Europe/Rome", "Europe/Rome"),
    "jobs.lost_after": ("120", 120),
    "jobs.down_after": ("30", 30),
    "jobs.heartbeat": ("10", 10),
    "jobs.kill_after": ("30", 30),
    "jobs.catchup_most": ("50", 50),
    "jobs.max_jobs_per_workflow": ("50", 50),
    "jobs.finished": ("500", 500),
    "jobs.finished_days": ("30", 30),
    "jobs.log_limit": ("64", 64),
    "jobs.file_limit": ("64", 64),
    "jobs.most_snapshots": ("500", 500),
    "jobs.keep_snapshots": ("14", 14),
    "jobs.most_events": ("1000", 1000),
    "jobs.private_hooks": ("true", True),
    "agent.hostname": ("db-1", "db-1"),
    "agent.slots": ("4", 4),
    "agent.users": ("backup, web", "backup, web"),
    "archive.nickname": ("example", "example"),
    "archive.concurrent": ("40", 40),
    "archive.only_pages": ("true", True),
    "archive.large": ("true", True),
    "archive.allow_private": ("true", True),
    "archive.browser": ("example", "example"),
    "archive.finished": ("example", "example"),
    "archive.part_size": ("40", 40),
    "archive.reserve": ("40", 40),
    "archive.lease": ("40", 40),
    "archive.return_after": ("40", 40),
    "archive.host_urls": ("40", 40),
    "archive.most_size": ("40", 40),
    "archive.history_days": ("40", 40),
    "archive.upload.url": ("example", "example"),
    "archive.upload.keep": ("false", False),
    "archive.upload.endpoint": ("example", "example"),
    "archive.upload.region": ("example", "example"),
    "archive.upload.access_key_id": ("example", "example"),
    "archive.upload.secret": ("hush", "***"),
    "archive.upload.metadata": ("a: b, c: d", "a: b, c: d"),
    "archive.upload.allow_local": ("true", True),
    "archive.irc.server": ("example", "example"),
    "archive.irc.tls": ("false", False),
    "archive.irc.ca_file": ("example", "example"),
    "archive.irc.nick": ("example", "example"),
    "archive.irc.password": ("hush", "***"),
    "archive.irc.channels": ("#one, #two", "#one, #two"),
    "archive.dashboard.host": ("example", "example"),
    "archive.dashboard.port": ("40", 40),
    "archive.dashboard.stream_port": ("40", 40),
    "archive.dashboard.origins": ("http://one, http://two", "http://one, http://two"),
    "web.host": ("0.0.0.0", "0.0.0.0"),
    "web.port": ("8443", 8443),
    "web.url": ("https://w.example.com", "https://w.example.com"),
    "web.tls_cert": ("/srv/cert.pem", "/srv/cert.pem"),
    "web.tls_key": ("/srv/key.pem", "/srv/key.pem"),
    "web.trusted_proxies": ("10.0.0.1, 10.1.0.0/16", "10.0.0.1, 10.1.0.0/16"),
    "web.connections_per_address": ("9", 9),
    "web.session_idle_hours": ("1", 1),
    "web.session_days": ("30", 30),
    "web.intake_rate": ("100", 100),
    "web.sns_topics": ("arn:aws:sns:*:1:a, arn:b", "arn:aws:sns:*:1:a, arn:b"),
    "web.sns_hosts": ("localhost:4566", "localhost:4566"),
    "flapjack_api.port": ("3081", 3081),
    "flapjack_api.listen": ("0.0.0.0", "0.0.0.0"),
    "flapjack_api.allow_loopback": ("true", True),
    "files.url": ("s3://bucket/folder", "s3://bucket/folder"),
    "files.endpoint": ("http://localhost:9000", "http://localhost:9000"),
    "files.region": ("eu-south-1", "eu-south-1"),
    "files.access_key_id": ("key", "key"),
    "files.secret_access_key": (PASSWORD, "***"),
    "fault": ("queue.taken:3", "queue.taken:3"),
}
TABLES = ["gateways", "job_defaults"]
LISTS = (
    *("alerting.new_check_ignore_tags", "agent.users", "cron.tags", "web.trusted_proxies"),
    *("web.sns_topics", "web.sns_hosts", "archive.irc.channels", "archive.dashboard.origins"),
    "archive.upload.metadata",
)


def loaded(
    toml: str = "",
    environ: Mapping[str, str] = HOME,
    options: Mapping[str, str | None] | None = None,
    *,
    folder: Path,
) -> Loaded:
    file = folder / "watchbell.toml"
    file.write_text(toml)
    return settings.load(file, environ, options or {})


def refusal(toml: str = "", environ: Mapping[str, str] = HOME, *, folder: Path) -> str:
    with pytest.raises(BadSettings) as caught:
        loaded(toml, environ, folder=folder)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_the_later_source_wins_and_is_named(tmp_path: Path) -> None:
    file = tmp_path / "watchbell.toml"
    toml = "# the port\n\n[store]\nport = 7001\n"
    environ = {**HOME, "WATCHBELL_STORE_PORT": "7002"}

    default = settings.load(None, HOME, {})
    assert default.settings.store.port == 6380
    assert default.origins["store.port"] == "default"

    by_file = loaded(toml, folder=tmp_path)
    assert by_file.settings.store.port == 7001
    assert by_file.origins["store.port"] == f"{file}, line 4"

    by_variable = loaded(toml, environ, folder=tmp_path)
    assert by_variable.settings.store.port == 7002
    assert by_variable.origins["store.port"] == "environment, WATCHBELL_STORE_PORT"

    by_option = loaded(toml, environ, {"store.port": "7003"}, folder=tmp_path)
    assert by_option.settings.store.port == 7003
    assert by_option.origins["store.port"] == "option --port"


def test_an_option_that_was_not_given_changes_nothing(tmp_path: Path) -> None:
    kept = loaded("[store]\nport = 7001\n", HOME, {"store.port": None}, folder=tmp_path)
    assert kept.settings.store.port == 7001


def test_the_store_option_is_named_as_users_type_it() -> None:
    given = settings.load(None, HOME, {"store.url": "redis://h", "data": "/d"})
    assert given.origins["store.url"] == "option --store"
    assert given.origins["data"] == "option --data"


def test_a_wrong_option_is_told_by_its_name() -> None:
    with pytest.raises(BadSettings, match=r'^option --port: store.port is "x"; expected a whole'):
        settings.load(None, HOME, {"store.port": "x"})


def test_the_table_of_this_test_knows_every_setting() -> None:
    known = list(settings.load(None, HOME, {}).origins)
    assert list(OTHER) == [name for name in known if name not in TABLES]


@pytest.mark.parametrize("name", OTHER)
def test_every_setting_has_a_variable(name: str) -> None:
    text, shown = OTHER[name]
    variable = "WATCHBELL_" + name.replace(".", "_").upper()
    given = settings.load(None, {**HOME, variable: text}, {})
    assert given.shown()[name] == shown != settings.load(None, HOME, {}).shown()[name]
    assert given.origins[name] == f"environment, {variable}"


@pytest.mark.parametrize("name", OTHER)
def test_every_setting_can_be_in_the_file(name: str, tmp_path: Path) -> None:
    text, shown = OTHER[name]
    value = text if isinstance(shown, int) else f'"{text}"'
    if name in LISTS:
        value = str(text.split(", "))
    assert loaded(f"{name} = {value}\n", folder=tmp_path).shown()[name] == shown


@pytest.mark.parametrize(
    ("toml", "line", "says"),
    [
        ("[store]\nprot = 1", 2, "there is no setting store.prot; did you mean store.port?"),
        ("[store] # ours\nprot = 1", 2, "there is no setting store.prot; did you mean store.port?"),
        ("[ store ]\n'prot' = 1", 2, "there is no setting store.prot; did you mean store.port?"),
        ("[log]\nlevl = 1\n[store]\nport = 1", 2, "no setting log.levl; did you mean log.level?"),
        ("\n\nstore.prot = 1", 3, "there is no setting store.prot; did you mean store.port?"),
        ("\nstore = {prot = 1}", 2, "there is no setting store.prot; did you mean store.port?"),
        ("[stroe]\nport = 1", 2, "there is no setting stroe.port; did you mean store.port?"),
        ("datta = '/x'", 1, "there is no setting datta; did you mean data?"),
        ("[nothing]", 1, "there is no setting nothing"),
        ("[wholly.other]\nx = 1", 2, "there is no setting wholly.other.x"),
        ("\nstore = 5", 2, "store is a section; write [store] above its settings"),
        ("[[store]]\nport = 1", 1, "store is a section; write [store] above its settings"),
        ("[store]\nport = 'x'", 2, 'store.port is "x"; expected a whole number from 0 to 65535'),
        ("[store]\nport = 70000", 2, "store.port is 70000; expected a whole number from 0 to"),
        ("[store]\nport = -1", 2, "store.port is -1; expected a whole number from 0 to 65535"),
        ("[store]\nport = true", 2, "store.port is true; expected a whole number"),
        ("[store]\nport = 1.5", 2, 'store.port is "1.5"; expected a whole number'),
        ("[store]\nport = 1979-05-27", 2, "expected a whole number"),
        ("[store]\nmax_memory = -1", 2, "store.max_memory is -1; expected a whole number from 0"),
        (f"[store]\nmax_memory = {'9' * 30}", 2, "expected a whole number from 0 to"),
        ("[store]\nappendfsync = 'no'", 2, 'is "no"; expected one of everysec, always'),
        ("[log]\n\nlevel = 'loud'", 3, "expected one of debug, info, warning, error"),
        ("[log.level]\nx = 1", 1, "log.level is \"{'x': 1}\"; expected one of debug"),
        ("[store]\nurl = 5", 2, 'store.url is "5"; expected text'),
        ("[store]\npassword = 5", 2, 'store.password is "***"; expected text, file:PATH or'),
        ("data = 5", 1, "data is 5; expected a path"),
        ("data = ''", 1, 'data is ""; expected a path'),
        ('data = "a\\u0000b"', 1, "expected a path"),
        ("data = '~nobody-of-that-name/x'", 1, "there is no such home folder"),
        ("fault = 'point:0'", 1, 'fault is "point:0"; expected NAME or NAME:N'),
        ("fault = 'point:x'", 1, "expected NAME or NAME:N"),
        ('[store]\nurl = """\nport = 5\n"""\nport = "x"', 5, 'store.port is "x"'),
        ('[store]\nport = """\n# no\n\n"""', 2, "expected a whole number"),
    ],
)
def test_a_wrong_file_is_told_by_line_and_key(
    toml: str, line: int, says: str, tmp_path: Path
) -> None:
    said = refusal(toml, folder=tmp_path)
    assert said.startswith(f"{tmp_path}/watchbell.toml, line {line}: "), said
    assert says in said


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[store\n", r"is not valid TOML: .*line 1"),
        ("a = 1\na = 2\n", r"is not valid TOML: .*line 2"),
        ("port 5\n", r"is not valid TOML: .*line 1"),
        (f"a = {'[' * 5000}", "is not valid TOML"),
        (f"a = {'1' * 5000}", "is not valid TOML"),
    ],
)
def test_what_is_not_toml_is_told(toml: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=says):
        loaded(toml, folder=tmp_path)


def test_an_empty_section_and_an_empty_file_are_fine(tmp_path: Path) -> None:
    for toml in ("", "# nothing\n", "[store]\n", "store = {}\n", "[store]\n[log]\n"):
        assert loaded(toml, folder=tmp_path).settings.store.port == 6380


@pytest.mark.parametrize("kind", ["missing", "folder", "binary"])
def test_a_file_that_cannot_be_read_is_told_by_its_path(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "watchbell.toml"
    if kind == "folder":
        file.mkdir()
    elif kind == "binary":
        file.write_bytes(b"data = '\xff'")
    for environ, named in [(HOME, file), ({**HOME, "WATCHBELL_CONFIG": str(file)}, None)]:
        with pytest.raises(BadSettings, match=f"the settings file {file} can't be read: "):
            settings.load(named, environ, {})


def test_a_file_of_the_usual_place_is_used_and_the_named_one_comes_before_it(
    tmp_path: Path,
) -> None:
    usual = tmp_path / ".config" / "watchbell" / "watchbell.toml"
    usual.parent.mkdir(parents=True)
    usual.write_text("store.port = 1")
    moved = tmp_path / "etc" / "watchbell" / "watchbell.toml"
    moved.parent.mkdir(parents=True)
    moved.write_text("store.port = 2")
    named = tmp_path / "named.toml"
    named.write_text("store.port = 3")
    environ = {"HOME": str(tmp_path)}
    assert settings.load(None, environ, {}).settings.store.port == 1
    environ["XDG_CONFIG_HOME"] = str(tmp_path / "etc")
    assert settings.load(None, environ, {}).settings.store.port == 2
    environ["WATCHBELL_CONFIG"] = str(named)
    assert settings.load(None, environ, {}).settings.store.port == 3
    assert settings.load(usual, environ, {}).settings.store.port == 1


def test_a_home_that_cannot_be_looked_into_has_no_settings_file() -> None:
    assert settings.load(None, {"HOME": "/" + "a" * 300}, {"data": "/d"}).settings.data == Path(
        "/d"
    )


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("WATCHBELL_STORE_PROT", "1", "no such setting; did you mean WATCHBELL_STORE_PORT?"),
        ("WATCHBELL_CONFG", "x", "there is no such setting; did you mean WATCHBELL_CONFIG?"),
        ("WATCHBELL_", "x", "there is no such setting"),
        ("WATCHBELL_store_port", "1", "there is no such setting"),
        ("WATCHBELL_STORE", "redis://h", "there is no such setting; did you mean"),
        ("WATCHBELL_STORE_PORT", "x", 'store.port is "x"; expected a whole number from 0 to 65535'),
        ("WATCHBELL_STORE_PORT", "", 'store.port is ""; expected a whole number'),
        ("WATCHBELL_STORE_PORT", "-1", "store.port is"),
        ("WATCHBELL_STORE_PORT", "true", "expected a whole number"),
        ("WATCHBELL_LOG_LEVEL", "INFO", 'log.level is "INFO"; expected one of debug, info'),
        ("WATCHBELL_DATA", "", 'data is ""; expected a path'),
        ("WATCHBELL_FAULT", "a:b", 'fault is "a:b"; expected NAME or NAME:N'),
    ],
)
def test_a_wrong_variable_is_told_by_its_name(
    variable: str, value: str, says: str, tmp_path: Path
) -> None:
    said = refusal("", {**HOME, variable: value}, folder=tmp_path)
    assert said.startswith(f"environment, {variable}: "), said
    assert says in said


def test_other_programs_variables_are_not_ours() -> None:
    settings.load(None, {**HOME, "WATCHBELLS": "1", "MY_WATCHBELL_X": "1", "WATCHBELL": "1"}, {})


def test_text_that_looks_like_something_else_stays_text() -> None:
    for text in ("null", "true", "5", "[]", " "):
        given = settings.load(None, {**HOME, "WATCHBELL_STORE_URL": text}, {})
        assert given.settings.store.url == text
        given = settings.load(None, {**HOME, "WATCHBELL_STORE_PASSWORD": text}, {})
        assert given.settings.store.password.reveal() == text


@pytest.mark.parametrize(
    ("environ", "data"),
    [
        ({"HOME": "/home/alice"}, "/home/alice/.local/share/watchbell"),
        ({"HOME": "/home/alice", "XDG_DATA_HOME": "/big"}, "/big/watchbell"),
        ({"HOME": "/home/alice", "XDG_DATA_HOME": ""}, "/home/alice/.local/share/watchbell"),
        ({"HOME": "/home/alice", "WATCHBELL_DATA": "/srv/b"}, "/srv/b"),
        ({"HOME": "/home/alice", "WATCHBELL_DATA": "here"}, str(Path.cwd() / "here")),
    ],
)
@pytest.mark.skipif(sys.platform == "darwin", reason="has other folders")
def test_the_data_folder(environ: dict[str, str], data: str) -> None:
    assert str(settings.load(None, environ, {}).settings.data) == data


def test_without_HOME_the_folder_is_in_the_users_home() -> None:  # noqa: N802
    home = Path("~").expanduser()
    for environ in ({}, {"HOME": ""}):
        assert settings.load(None, environ, {}).settings.data.is_relative_to(home)


def test_a_user_without_a_home_is_asked_for_a_folder() -> None:
    homeless = {"HOME": "~nobody-of-that-name"}
    with pytest.raises(BadSettings, match=r"default: .* name a folder with --data"):
        settings.load(None, homeless, {})
    assert settings.load(None, homeless, {"data": "/d"}).settings.data == Path("/d")


def test_a_secret_is_read_from_a_file_without_its_newline(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{PASSWORD}\n")
    reference = f"file:{tmp_path}/secret"
    given = loaded(f'store.password = "{reference}"', folder=tmp_path)
    assert given.settings.store.password.reveal() == PASSWORD
    assert given.shown()["store.password"] == reference
    assert PASSWORD not in repr(given)


def test_a_secret_is_read_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    given = settings.load(None, {**HOME, "WATCHBELL_STORE_PASSWORD": "env:DB_PASSWORD"}, {})
    assert given.settings.store.password.reveal() == PASSWORD
    assert given.shown()["store.password"] == "env:DB_PASSWORD"
    assert PASSWORD not in repr(given)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("file:/nowhere/secret", "file:/nowhere/secret can't be read: .*No such file"),
        ("file:/", "file:/ can't be read: .*directory"),
        ("file:", "file: can't be read"),
        ("file:~nobody-of-that-name/x", ".* can't be read"),
        ("file:a\0b", ".* can't be read"),
        ("file:/dev/null", "file:/dev/null is empty"),
        ("env:NO_SUCH_VARIABLE", "env:NO_SUCH_VARIABLE names a variable that is not set"),
        ("env:", "env: names a variable that is not set"),
        ("env:EMPTY_VARIABLE", "env:EMPTY_VARIABLE is empty"),
    ],
)
def test_a_secret_that_is_missing_stops_the_start(
    reference: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY_VARIABLE", "")
    with pytest.raises(BadSettings, match=f"the secret {says}"):
        settings.load(None, {**HOME, "WATCHBELL_STORE_PASSWORD": reference}, {})


def test_a_secret_that_is_not_text_is_told_without_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(PASSWORD.encode() + b"\xff")
    with pytest.raises(BadSettings, match="is not UTF-8 text") as caught:
        settings.load(None, {**HOME, "WATCHBELL_STORE_PASSWORD": f"file:{tmp_path}/secret"}, {})
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    "toml",
    [
        f'[store]\npassword = ["{PASSWORD}"]',
        f'[store.password]\nvalue = "{PASSWORD}"',
        f'[store]\npasswort = "{PASSWORD}"',
        f'[store]\nurl = ["redis://alice:{PASSWORD}@h"]',
        f'[store.url]\nx = "redis://alice:{PASSWORD}@h"',
        f'[store]\nurl = "redis://alice:{PASSWORD}@h"\nport = "x"',
        f'store = "redis://alice:{PASSWORD}@h"',
        f'[store]\npassword = "{PASSWORD}\n',
    ],
)
def test_an_error_never_shows_a_secret(toml: str, tmp_path: Path) -> None:
    assert PASSWORD not in refusal(toml, folder=tmp_path)


def test_a_secret_never_shows_itself() -> None:
    assert repr(Secret(PASSWORD)) == "Secret('***')"
    assert PASSWORD not in f"{Secret(PASSWORD)} {Secret(PASSWORD)!r}"
    assert repr(Secret()) == "Secret('')"
    given = settings.load(
        None,
        {
            **HOME,
            "WATCHBELL_STORE_PASSWORD": PASSWORD,
            "WATCHBELL_STORE_URL": f"redis+sentinel://a:{PASSWORD}@h/s?sentinel_password={PASSWORD}",
        },
        {},
    )
    assert PASSWORD not in repr(given)
    assert PASSWORD not in repr(given.settings)
    assert PASSWORD not in str(given.shown())


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("redis://h:1/0?prefix=wb:", "redis://h:1/0?prefix=wb:"),
        ("unix:///run/store.sock", "unix:///run/store.sock"),
        ("redis://alice@h", "redis://alice@h"),
        ("redis://alice:geheim@h:1", "redis://alice:***@h:1"),
        ("redis://:geheim@[::1]:1", "redis://:***@[::1]:1"),
        ("redis://alice:ge@he:im/!@h", "redis://alice:***@h"),
        ("redis://alice:ge?heim@h", "redis://***"),
        ("redis://alice:g@e?heim@h", "redis://***"),
        ("redis://alice:ge://heim@h", "redis://alice:***@h"),
        ("alice:geheim@h", "alice:***@h"),
        ("alice:ge://heim@h", "alice:***@h"),
        ("redis:/alice:geheim@h", "redis:***@h"),
        ("redis+sentinel://h/s?sentinel_password=x", "redis+sentinel://h/s?sentinel_password=***"),
        ("redis+sentinel://h/s?sentinel%5Fp%61ssword=x&prefix=p", None),
        ("redis+sentinel://h/s?sentinel_password=ge@heim", "redis+sentinel://***"),
    ],
)
def test_a_url_is_shown_without_its_passwords(url: str, shown: str | None) -> None:
    expected = "redis+sentinel://h/s?sentinel%5Fp%61ssword=***&prefix=p" if shown is None else shown
    assert redacted(url) == expected


ENVIRONMENT_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))


@given(ENVIRONMENT_TEXT, st.booleans())
@example("a@b", False)
@example("a?b", False)
@example("a?prefix=b", False)
@example("a@b?c", False)
def test_no_password_of_a_url_is_ever_shown(password: str, encoded: bool) -> None:
    written = quote(password, safe="") if encoded else password
    url = f"redis://alice:{written}@db:1/0"
    given = settings.load(None, {**HOME, "WATCHBELL_STORE_URL": url}, {})
    assert given.shown()["store.url"] in ("redis://alice:***@db:1/0", "redis://***")
    if encoded:
        assert given.shown()["store.url"] == "redis://alice:***@db:1/0"


@given(ENVIRONMENT_TEXT)
def test_no_password_of_the_sentinels_is_ever_shown(password: str) -> None:
    url = f"redis+sentinel://h/s?sentinel_password={quote(password, safe='')}&prefix=a"
    assert redacted(url) == "redis+sentinel://h/s?sentinel_password=***&prefix=a"


@given(ENVIRONMENT_TEXT.filter(bool))
def test_no_password_is_ever_shown(password: str) -> None:
    plain = not password.startswith(("file:", "env:"))
    assert Secret(password).shown() == ("***" if plain else password)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_settings_or_is_refused_in_one_kind_of_error(toml: str) -> None:
    # A path that is no file but reads as one: hypothesis and tmp_path don't go together.
    reader, writer = os.pipe()
    try:
        os.write(writer, toml.encode()[:4096])
    finally:
        os.close(writer)
    try:
        settings.load(Path(f"/proc/self/fd/{reader}"), HOME, {})
    except BadSettings:
        pass
    finally:
        os.close(reader)


def test_tables_are_kept_for_those_who_know_their_fields(tmp_path: Path) -> None:
    given = loaded('[gateways.email]\npassword = "hunter2"\n[gateways.sms]\n', folder=tmp_path)
    assert given.settings.gateways.content == {"email": {"password": "hunter2"}, "sms": {}}
    assert given.shown()["gateways"] == "email, sms"
    assert given.origins["gateways"].endswith("line 1")
    assert "hunter2" not in repr(given.settings)


@pytest.mark.parametrize(
    "toml", ["gateways = 1", "[gateways]\nemail = 'hunter2'", "[gateways.'E mail']\nx = 'hunter2'"]
)
def test_what_is_no_table_is_refused_without_being_shown(toml: str, tmp_path: Path) -> None:
    said = refusal(toml, folder=tmp_path)
    assert "gateways is" in said
    assert "expected tables" in said
    assert "hunter2" not in said


def test_variables_that_settings_refer_to_are_kept_from_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", PASSWORD)
    toml = '[gateways.sms]\nurl = "https://sms.example.com"\nheaders = [{token = "env:TOKEN"}]\n'
    given = loaded(toml + "[oobetet]\nsecret = 'env:HOOK'\n", folder=tmp_path)
    secrets = settings.secret_variables(given.settings)
    assert secrets == {"TOKEN", "HOOK"}
    inherited = {"TOKEN": "1", "HOOK": "2", "WATCHBELL_STORE_PASSWORD": "3", "TOKENS": "4"}
    assert settings.for_children(inherited, secrets) == {"TOKENS": "4"}
