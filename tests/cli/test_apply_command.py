"""`watchbell apply`: a file of definitions becomes what is stored."""

import os
import subprocess
from pathlib import Path
from typing import IO

import pytest
import yaml  # type: ignore[import-untyped]

from tests import servers
from tests.cli.test_events_commands import address, event, place, ran
from tests.conftest import bare_environment, watchbell
from watchbell.cli.apply import DIFFERENT

__all__ = ["place"]

FILE = """\
events:
  - id: build
    title: Build
    params:
      script: |
        #!/bin/sh
        echo one
        echo two
  - id: release
    title: Release
    type: workflow
    timings:
      - {type: schedule, id: nightly, hours: [2], minutes: [30]}
    workflow:
      nodes:
        - {id: nightly, type: trigger}
        - {id: one, type: event, data: {event: build}, x: 100, y: 20.5}
        - id: two
          type: job
          data:
            plugin: shellplug
            params: {script: "#!/bin/sh\\nexit 0\\n"}
      connections:
        - {source: nightly, dest: one}
        - {source: one, dest: two, condition: complete}
"""


HOOK = """\
plugins:
  - id: hook
    title: Hook
    command: "true"
    env: {KEY: deep}
    params:
      - {id: token, type: text, secret: true}
events:
  - id: call
    title: Call
    plugin: hook
    params: {token: sesame}
"""


def applied(place: servers.Single, text: str, *words: str, code: int = 0) -> str:
    return ran(place, "apply", "-f", "-", *words, given=text, code=code)


def test_a_file_is_applied_after_its_differences_were_shown(place: servers.Single) -> None:
    said = applied(place, FILE, "--dry-run", code=DIFFERENT)
    assert "+    echo one" in said
    assert "2 definitions would be changed" in said
    assert "There are no events" in ran(place, "events", "list")
    assert "add --yes" in applied(place, FILE, code=1)
    assert "changed 2 definitions" in applied(place, FILE, "--yes")
    assert "nothing to change" in applied(place, FILE, code=0)
    said = applied(place, FILE.replace("echo two", "echo 2"), "--dry-run", code=DIFFERENT)
    assert [
        line for line in said.splitlines() if line[:1] in "+-" and line[:3] not in "+++---"
    ] == [
        "-    echo two",
        "+    echo 2",
    ]
    assert event(place, "release")["plugin"] == "_workflow"


def test_what_is_exported_can_be_read_and_applied_again(
    place: servers.Single, tmp_path: Path
) -> None:
    applied(place, FILE, "--yes")
    text = ran(place, "events", "export")
    assert "      script: |\n        #!/bin/sh\n        echo one\n        echo two\n" in text
    assert not {"modified", "created", "revision", "username"} & set(text.replace(":", "").split())
    assert [one["id"] for one in yaml.safe_load(text)["events"]] == ["build", "release"]
    file = tmp_path / "all.yaml"
    file.write_text(text)
    assert "nothing to change" in ran(place, "apply", "-f", str(file))
    ran(place, "events", "remove", "release", "--yes")
    assert "changed 1 definition" in ran(place, "apply", "-f", str(file), "--yes")
    assert ran(place, "events", "export") == text


def test_a_secret_that_is_masked_in_the_file_stays(place: servers.Single) -> None:
    applied(place, HOOK, "--yes")
    text = ran(place, "events", "export")
    assert "sesame" not in text
    assert "deep" not in text
    assert "sesame" in ran(place, "events", "export", "--secrets")
    changed = text.replace("title: Call", "title: Call home")
    said = applied(place, changed, "--yes")
    assert "+title: Call home" in said
    assert event(place, "call")["params"] == {"token": "sesame"}
    assert "deep" in ran(place, "events", "export", "--secrets")


def test_what_was_changed_since_the_differences_were_shown_is_not_overwritten(
    place: servers.Single, tmp_path: Path
) -> None:
    applied(place, FILE, "--yes")
    file = tmp_path / "new.yaml"
    file.write_text(FILE.replace("echo two", "echo 2"))
    terminal, end = os.openpty()
    with subprocess.Popen(
        watchbell("apply", "-f", str(file), "--store", address(place)),
        env=bare_environment(),
        stdin=end,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "Apply this?" in read_until(process.stdout, "?")
        applied(place, FILE.replace("echo one", "echo 1"), "--yes")
        os.write(terminal, b"y\n")
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
    os.close(terminal)
    os.close(end)
    assert "definitions were changed meanwhile" in said
    assert "echo 1\necho two" in event(place, "build")["params"]["script"]


def read_until(stream: IO[str], end: str) -> str:
    text = ""
    while not text.endswith(end):
        letter = stream.read(1)
        assert letter, text
        text += letter
    return text


def test_all_that_is_wrong_with_a_definition_is_shown(place: servers.Single) -> None:
    unreadable = FILE.replace("hours: [2]", "hours: [99]").replace("x: 100", "x: far")
    assert [line.split(": expected")[0] for line in wrong(place, unreadable)] == [
        "event 'Release': timings[0].hours",
        "event 'Release': workflow.nodes[1].x",
    ]
    wires = "        - {source: one, dest: two}\n        - {source: two, dest: three}\n"
    assert [line.partition(";")[0] for line in wrong(place, FILE + wires)] == [
        "event 'Release': workflow.connections[2]: there are two wires from 'one' to 'two'",
        "event 'Release': workflow.connections[3].dest: there is no node 'three'",
    ]
    absent = FILE.replace("event: build}", "event: gone}").replace(": shellplug", ": nothing")
    assert wrong(place, absent.replace("id: build", "id: bui ld")) == [
        "event 'Build': id: expected an id: 1 to 64 letters, digits and _, not 'bui ld'",
        "event 'Release': workflow.nodes[1].data.event: there is no event 'gone'",
        "event 'Release': workflow.nodes[2].data.plugin: there is no plugin 'nothing'",
    ]


def wrong(place: servers.Single, text: str) -> list[str]:
    first, *found = applied(place, text, code=1).splitlines()
    assert first == "watchbell: nothing was changed:"
    return [line.strip() for line in found]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "events:\n  - id: a\n   title: b",
            "no valid YAML: line 3, column 4: expected <block end>",
        ),
        ("events: [{id: x, title: X, title: Y}]", "line 1, column 28: 'title' is there twice"),
        ("events: [{id: x, title: X}, {id: x}]", "events[1]: 'x' is defined by events[0] already"),
        ("[]", "expected lists named"),
        ("odd: []", "'odd' is no list of definitions"),
        ("events: {}", "events: expected a list"),
        ("events: [7]", "events[0]: expected an object with an id"),
        ("events: [&a {id: x}, *a]", "line 1, column 22: aliases are not supported"),
        ("events: [{id: x, title: X, colour: red}]", "colour: there is no such property"),
        (FILE.replace("dest: two", "dest: three"), "there is no node 'three'"),
        ("events: [!!python/object:os.system {}]", "could not determine a constructor"),
    ],
)
def test_a_file_that_is_wrong_changes_nothing(
    place: servers.Single, text: str, reason: str
) -> None:
    assert reason in applied(place, text, "--yes", code=1)
    assert "There are no events" in ran(place, "events", "list")
