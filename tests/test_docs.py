"""The pages tell the truth: what they list is there, and what is there is listed."""

import re
from pathlib import Path

import pytest

from watchbell import settings
from watchbell.cli.main import COMMANDS
from watchbell.web.system import setting_descriptions

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_every_command_is_on_its_page_and_no_other() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    listed = re.findall(r"^\| `watchbell ([\w-]+)", page, re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


def test_every_setting_is_on_its_page_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| `(\w+)` \| `?([^`|]+?)`? \|", page, re.MULTILINE)
    listed = {name: (variable, default) for name, variable, default in rows}
    shown = settings.load(Path("/dev/null"), {"HOME": "~"}, {}).shown()
    expected = {
        name: (
            "WATCHBELL_" + name.replace(".", "_").upper(),
            (str(value).lower() if isinstance(value, bool) else str(value)) or "empty",
        )
        for name, value in shown.items()
    }
    del expected["gateways"], expected["job_defaults"]  # tables have no variable
    expected["data"] = (expected["data"][0], "~/.local/share/watchbell")
    assert listed == expected


def test_the_page_of_settings_has_their_descriptions() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \|.*\| (.+) \|$", page, re.MULTILINE)
    assert dict(rows) == setting_descriptions.descriptions()


def test_every_file_on_a_walk_through_the_code_exists() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    walked = re.findall(r"^\| \d+ \| `([\w/.]+)` \|", page, re.MULTILINE)
    named = re.findall(r"`([a-z_]+/[\w/]+\.py)`", page)
    assert len(walked) > 40
    assert [one for one in {*walked, *named} if not (ROOT / "src/watchbell" / one).exists()] == []
