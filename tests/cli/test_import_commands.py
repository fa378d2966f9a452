"""`watchbell import flapjack`, from one Redis into another, and from Flapjack's settings."""

import asyncio
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import servers
from tests.alerting.test_flapjack_import import everything
from tests.cli.commands import printed, ran
from tests.conftest import emptied
from watchbell.store import url as store_url
from watchbell.store.client import Store

YAML = """
production:
  processor:
    enabled: yes
    new_check_scheduled_maintenance_duration: 100 years
  gateways:
    pagerduty: {enabled: yes}
    hipchat: {enabled: yes}
"""


@pytest.fixture
def source(server: servers.Single) -> Iterator[str]:
    """The URL of a store that a Flapjack has used; ours is the same server, under a prefix."""
    asyncio.run(_filled(server.url))
    yield server.url
    asyncio.run(_emptied(server.url))


async def _filled(url: str) -> None:
    async with Store(store_url.parse(url)) as store:
        await emptied(store)
        await everything(store)


async def _emptied(url: str) -> None:
    async with Store(store_url.parse(url)) as store:
        await emptied(store)


def test_a_dry_run_a_copy_and_another_copy(source: str) -> None:
    words = ["import", "flapjack", "--from", source, "--store", f"{source}?prefix=wb:"]
    copied = "1 contact, 1 rule, 1 entity, 1 check, 2 state changes, 2 maintenance windows."
    dry = ran(*words, "--dry-run")
    assert (dry.returncode, dry.stdout.splitlines()[0]) == (0, f"Would copy {copied}")
    done = ran(*words)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"Copied {copied}")
    assert "New checks alert at once here" in done.stdout
    again = ran(*words)
    assert "3 more exist here already and stay as they are." in again.stdout
    shown = printed("status", "web-1:HTTP", "--store", f"{source}?prefix=wb:")
    assert shown[0]["state"] == "critical"
    audit = ran("audit", "list", "--store", f"{source}?prefix=wb:").stdout
    assert "flapjack.import" in audit


def test_settings_are_printed_as_toml_and_the_rest_is_named(tmp_path: Path) -> None:
    file = tmp_path / "flapjack_config.yaml"
    file.write_text(YAML)
    done = ran("import", "flapjack", "--yaml", str(file))
    assert tomllib.loads(done.stdout) == {
        "alerting": {"new_check_maintenance": 100 * 365 * 86_400},
        "gateways": {"pagerduty": {}},
    }
    assert done.stderr.startswith("Not translated: gateways.hipchat: the service ended")
    [left] = printed("import", "flapjack", "--yaml", str(file))["not_translated"]
    assert left.startswith("gateways.hipchat: the service ended")


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        ([], 2, "give --from URL, --yaml FILE, or both"),
        (["--from", "redis://127.0.0.1:1"], 4, "127.0.0.1:1"),
        (["--from", "nonsense"], 3, "nonsense"),
    ],
)
def test_wrong_use_is_explained(
    server: servers.Single, words: list[str], code: int, expected: str
) -> None:
    done = ran("import", "flapjack", *words, "--store", server.url)
    assert done.returncode == code, done.stderr
    assert expected in done.stderr


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("a: [b")
    done = ran("import", "flapjack", "--yaml", str(file))
    assert done.returncode == 1
    assert "broken.yaml is no YAML: while parsing a flow sequence" in done.stderr


def test_a_source_that_is_none_is_said_to_be_none(source: str) -> None:
    ours = ["--store", f"{source}?prefix=wb:"]
    wrong = ran("import", "flapjack", "--from", "nonsense", *ours)
    assert wrong.stderr.startswith("watchbell: --from: the scheme is not known")
    same = ran("import", "flapjack", "--from", f"{source}?prefix=wb:", *ours)
    assert (same.returncode, same.stderr) == (
        1,
        "watchbell: --from is the store of Watchbell itself: there is nothing to copy\n",
    )
    empty = ran("import", "flapjack", "--from", f"{source}?prefix=other:", *ours)
    assert "There is nothing of a Flapjack; is it the right database" in empty.stdout
