"""Lengths of time and sizes, as people write them, wherever a command or a setting takes one."""

from pathlib import Path

import click
import pytest

from watchbell import settings, units
from watchbell.cli import arguments
from watchbell.cli.cron.definition import length_or_forever
from watchbell.errors import BadSettings, Refused

LENGTHS = {
    "600": 600,
    "10 min": 600,
    "10min": 600,
    "10 Minutes": 600,
    "1 h 30 min": 5_400,
    "1h30m": 5_400,
    "an hour and a half": 5_400,
    "90 s": 90,
    "2 days": 172_800,
    "1 week": 604_800,
}
SIZES = {
    "5": 5,
    "5 B": 5,
    "5 bytes": 5,
    "1 KiB": 1_024,
    "1k": 1_024,
    "1.5 kB": 1_536,
    "512 MiB": 512 << 20,
    "2G": 2 << 30,
    "1 TiB": 1 << 40,
}


@pytest.mark.parametrize(("text", "seconds"), LENGTHS.items())
def test_every_option_for_a_length_takes_every_spelling(text: str, seconds: int) -> None:
    for read in (
        arguments.length,
        arguments.length_or_zero,
        arguments.length_or_none,
        arguments.fine_length,
        length_or_forever,
    ):
        assert read(text) == seconds


@pytest.mark.parametrize(("text", "seconds"), LENGTHS.items())
@pytest.mark.parametrize(
    "name", ["alerting.archive_seconds", "alerting.repeat_failure_delay", "cron.overdue_after"]
)
def test_every_setting_in_seconds_takes_every_spelling(
    name: str, text: str, seconds: int, tmp_path: Path
) -> None:
    section, field = name.split(".")
    file = tmp_path / "watchbell.toml"
    file.write_text(f'[{section}]\n{field} = "{text}"\n')
    variable = {f"WATCHBELL_{section}_{field}".upper(): text}
    for loaded in (settings.load(file, {}, {}), settings.load(Path("/dev/null"), variable, {})):
        assert loaded.shown()[name] == seconds


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("alerting.history_days", "90", 90),
        ("alerting.history_days", "2 weeks", 14),
        ("alerting.history_days", "1 year", 365),
        ("delivery.give_up_hours", "12", 12),
        ("delivery.give_up_hours", "2 days", 48),
        ("web.session_days", "1 week", 7),
        ("store.max_memory", "512", 512),
        ("store.max_memory", "2 GiB", 2_048),
        ("cron.output_limit", "1 GiB", 1_024),
        ("cron.kill_after", "1 min", 60),
    ],
)
def test_a_number_alone_is_in_the_unit_of_its_setting(name: str, text: str, value: int) -> None:
    variable = {f"WATCHBELL_{name.replace('.', '_')}".upper(): text}
    assert settings.load(Path("/dev/null"), variable, {}).shown()[name] == value


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("alerting.history_days", "90 min", "from 1 to 36500, in days, or words such as '2 weeks'"),
        ("alerting.history_days", "soon", 'alerting.history_days is "soon"; expected a whole'),
        ("cron.kill_after", "2 hours", "from 0 to 3600, in seconds, or words such as '10 min'"),
        ("store.max_memory", "1 KiB", "in MiB, or words such as '512 MiB'"),
    ],
)
def test_a_setting_says_which_lengths_it_takes(name: str, text: str, says: str) -> None:
    variable = {f"WATCHBELL_{name.replace('.', '_')}".upper(): text}
    with pytest.raises(BadSettings) as raised:
        settings.load(Path("/dev/null"), variable, {})
    assert says in str(raised.value)


@pytest.mark.parametrize(
    ("text", "days"), [("1", 1), ("90", 90), ("1 day", 1), ("48 hours", 2), ("3 months", 90)]
)
def test_an_option_for_days_takes_other_units(text: str, days: int) -> None:
    assert arguments.days(text) == days


@pytest.mark.parametrize("text", ["0", "36501", "36 hours", "soon", ""])
def test_an_option_for_days_refuses_what_is_not_whole_days(text: str) -> None:
    with pytest.raises(click.BadParameter):
        arguments.days(text)


@pytest.mark.parametrize(("text", "size"), SIZES.items())
def test_a_size_is_read_in_every_spelling(text: str, size: int) -> None:
    assert units.size(text) == size
    assert units.size(text.upper().replace("BYTES", "bytes")) == size


@pytest.mark.parametrize("text", ["", "MiB", "5 apples", "-1", "1 MiB more", "٣ MiB", "9" * 100])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="was not understood as a size"):
        units.size(text)


def test_mebibytes_are_whole() -> None:
    assert [arguments.mebibytes(text) for text in ("100", "2 GiB")] == [100, 2_048]
    with pytest.raises(click.BadParameter, match="whole number of MiB"):
        arguments.mebibytes("1 KiB")
