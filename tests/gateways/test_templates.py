"""People's templates: what they can do, and that nothing in them loses an alert."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import ran
from watchbell import logs
from watchbell.alerting.model import Alert
from watchbell.cli.gateways import preview
from watchbell.clock import SetClock
from watchbell.errors import NotFound, Refused
from watchbell.gateways.message_texts import KINDS, PARTS, Texts, filters, names, open_texts
from watchbell.gateways.samples import SAMPLES, sample
from watchbell.gateways.templates import BUILT_IN, STYLES, Templates, built_in_files
from watchbell.process import procfs

ROOT = Path(__file__).parents[2]
PROBLEM = SAMPLES["problem"]
NOW = 1_772_716_329


class Own:
    """A folder of templates, and what was told of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []

    def write(self, name: str, source: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        return path

    def words(self, medium: str = "email", style: str = "mail") -> Texts:
        return open_texts(medium, style, str(self.folder), link, self.told.append, SetClock(NOW))


def link(alert: Alert) -> str:
    return "https://watchbell.example.com/ack/x" if alert.state == "critical" else ""


@pytest.fixture
def own(tmp_path: Path) -> Own:
    return Own(tmp_path)


@pytest.fixture(scope="module")
def built_in() -> Callable[..., str]:
    return open_texts("email", "mail", "", link, pytest.fail, SetClock(NOW))


def test_a_file_takes_the_place_of_one_part_and_leaves_the_others(
    own: Own, built_in: Callable[..., str]
) -> None:
    path = own.write("email/problem.text.j2", "{{ check }} is down, {{ contact_first_name }}!")
    words = own.words()
    assert words("text", PROBLEM) == "HTTP is down, Alice!"
    assert words.rendered("text", PROBLEM).file == path
    assert words("html", PROBLEM) == built_in("html", PROBLEM)
    assert words("text", SAMPLES["recovery"]) == built_in("text", SAMPLES["recovery"])
    assert words.rendered("html", PROBLEM).file is None
    assert own.words("jabber")("text", PROBLEM) == built_in("text", PROBLEM)
    assert own.told == []


def test_a_killed_process_is_replaced_and_the_template_is_used_again(own: Own) -> None:
    own.write("email/problem.text.j2", "{{ check }} is down")
    before = set(procfs.children())
    words = own.words()
    (child,) = set(procfs.children()) - before
    os.kill(child, signal.SIGKILL)
    assert words("text", PROBLEM) == "HTTP is down"
    assert own.told == []


def test_the_process_inherits_no_secret(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHBELL_STORE_PASSWORD", "swordfish")
    monkeypatch.setenv("SMTP_PASSWORD", "swordfish")
    own.write("email/problem.text.j2", "{{ check }} is down")
    before = set(procfs.children())
    words = own.words()
    (child,) = set(procfs.children()) - before
    assert words("text", PROBLEM) == "HTTP is down"
    assert b"swordfish" not in Path(f"/proc/{child}/environ").read_bytes()


def test_a_frame_of_ones_own_goes_around_the_built_in_texts(own: Own) -> None:
    own.write("email/layout.text.j2", "Example Inc.\n{% block body %}{% endblock %}")
    text = own.words()("text", PROBLEM)
    assert text.startswith("Example Inc.\n")
    assert "Summary:           connection refused\n" in text
    assert "Watchbell" not in text
    assert own.told == []


def test_only_html_is_escaped(own: Own) -> None:
    for part in PARTS:
        own.write(f"email/problem.{part}.j2", "{{ summary }}")
    alert = sample("problem", summary="<b>")
    texts = [own.words()(part, alert) for part in PARTS]
    assert texts == ["<b>", "<b>", "&lt;b&gt;"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for t in tags %}{{ loop.index }}{{ t }} {% endfor %}", "1web-1 2example.com 3http"),
        ("{% for t in tags if 'x' in t %}{{ t | upper }}{% endfor %}", "EXAMPLE.COM"),
        ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(check) }}{{ m(state) }}", "<HTTP><Critical>"),
        ("{{ tags | join(', ') }}", "web-1, example.com, http"),
        ("{{ tags | map('title') | first }}", "Web-1"),
        ("{{ 'a' * 3 ~ 2 ** 10 ~ 7 % 4 ~ '%02d' | format(5) }}", "aaa1024305"),
        ("{{ '%s is %s' % (check, state) }}", "HTTP is Critical"),
        ("{{ summary.title().split() | last }}", "Refused"),
        ("{{ summary | replace('refused', 'lost') }}", "connection lost"),
        ("{{ {'a': [1, (2, 3)]}['a'][1][0] }}", "2"),
        (
            (
                "{% set ns = namespace(n=0) %}{% for i in range(5) %}{% set ns.n = ns.n + i %}"
                "{% endfor %}{{ ns.n }}"
            ),
            "10",
        ),
        (
            (
                "{% for i in [[1, [2]], 3] recursive %}{% if i is sequence %}({{ loop(i) }})"
                "{% else %}{{ i }}{% endif %}{% endfor %}"
            ),
            "(1(2))3",
        ),
        ("{% filter upper %}{{ check }}d{% endfilter %}", "HTTPD"),
        ("{% set x %}{{ check }}{% endset %}{{ x }}{{ x | length }}", "HTTP4"),
        ("{{ missing is defined }} {{ missing | default('-') }}", "False -"),
        ("{{ time | time }}", "2026-03-05 13:07:09 UTC"),
        ("{{ time | time('Europe/Rome') }}", "2026-03-05 14:07:09 CET"),
        ("{{ time | time('Asia/Tokyo', '%H:%M') }}", "22:07"),
        ("{{ time | ago }}", "5 minutes ago"),
        ("{{ state_duration | duration }}", "3 minutes, 20 seconds"),
        ("{{ 'one two three' | cut(10) }}", "one two..."),
        ("{{ ack_url }} {{ ack_id }}", "https://watchbell.example.com/ack/x 0b5d1d55"),
        ("a\x07b\r\nc\x00d", "ab\ncd"),
        ("{{ 'a\\x07b' }}", "ab"),
    ],
)
def test_what_a_template_can_do(own: Own, source: str, expected: str) -> None:
    own.write("email/problem.text.j2", source)
    assert own.words()("text", PROBLEM) == expected
    assert own.told == []


def test_a_summary_has_its_checks(own: Own) -> None:
    rows = "{% for row in rollup[:2] %}{{ row.check }} {{ row.duration | duration }};{% endfor %}"
    own.write(
        "email/rollup_problem.text.j2", rows + "{{ rollup | length }} {{ rollup | detail(1) }}"
    )
    text = own.words()("text", SAMPLES["rollup_problem"])
    assert text == (
        "HTTP 3 minutes, 5 seconds;HTTP 3 minutes, 20 seconds;5 "
        "Critical: web-2.example.com:HTTP, ...; Warning: db-1.example.com:Replication, ...; "
        "Unknown: backup.example.com:Nightly backup"
    )


MISTAKES = [
    ("{{ summry }}", "line 1: 'summry' is undefined"),
    ("one\n{% if %}", "line 2: Expected an expression"),
    ("{% for tag in tags %}", "line 1: Unexpected end of template"),
    ("{{ details | nonsense }}", "line 1: No filter named 'nonsense'"),
    ("{{ 1 / 0 }}", "line 1: ZeroDivisionError"),
    ("{{ summary.nothing }}", "has no attribute 'nothing'"),
    ("{{ nothing() }}", "'nothing' is undefined"),
    ("{% include 'other.j2' %}", "line 1: there is no template 'other.j2' here"),
    ("{% include '../../etc/passwd' %}", "there is no template"),
    ("{% include '/etc/passwd' %}", "there is no template"),
    ("  \n", "it writes nothing"),
    ("{{ time | time('Europe/Nowhere') }}", "ZoneInfoNotFoundError"),
    ("{{ time | time('../../etc/passwd') }}", "ValueError"),
    ("{{ ''.__class__.__mro__ }}", "unsafe"),
    ("{{ ''['__class__'] }}", "unsafe"),
    ("{{ '{0.__class__}'.format(summary) }}", "unsafe"),
    ("{{ tags.append('x') }}", "unsafe"),
    ("{{ self.__init__.__globals__ }}", "unsafe"),
    ("{{ rollup._entries }}", "unsafe"),
    ("{% import 'problem.text.j2' as p %}x", "it calls itself without end"),
]


@pytest.mark.parametrize(("source", "says"), MISTAKES)
def test_a_mistake_is_told_once_and_the_built_in_text_is_sent(
    own: Own, built_in: Callable[..., str], source: str, says: str
) -> None:
    own.write("email/problem.text.j2", source)
    words = own.words()
    for number in range(3):
        alert = sample("problem", id=f"a{number}", summary=f"try {number}")
        assert words("text", alert) == built_in("text", alert)
    assert len(own.told) == 1
    assert own.told[0].startswith("template email/problem.text.j2")
    assert own.told[0].endswith("; the built-in text is sent instead")
    assert says in own.told[0]


BOMBS = [
    "{% for a in range(99999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}" + "x" * 90_000 + "{% endfor %}",
    "{% for a in range(99999) %}{{ details }}{% endfor %}",
    "{{ range(10 ** 12) | list }}",
    "{{ 9 ** (9 ** (9 ** 9)) }}",
    "{% set ns = namespace(n=9) %}{% for a in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "{{ 'x' * 10 ** 9 }}",
    "{{ ['x'] * 10 ** 9 }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ 'x' | center(10 ** 9) }}",
    "{{ ('x' * 100000) | replace('', 'x' * 100000) }}",
    (
        "{% for a in ['x' * 200000, 1] %}{{ ([loop] * 9999) | join(attribute='previtem') }}"
        "{% endfor %}"
    ),
    "{{ [1, [2]] | tojson(indent=10 ** 9) }}",
    "{{ ('a.com ' * 20000) | urlize(extra_schemes=['x:'] * 9999) }}",
    "{{ ('.' * 900 + 'a. ') * 200 }}{{ (('.' * 900 + 'a. ') * 200) | urlize }}",
    "{% set x = 'x' * 250000 %}{{ " + "~".join(["x"] * 20_000) + " }}",
    "{% set x = 'x' * 250000 %}{% for a in range(99999) %}"
    + "{% if 'y' in x %}{% endif %}" * 99
    + "{% endfor %}",
    "{% set x = ('1' * 250000) | int(base=32) %}{% for a in range(999) %}"
    + "{% set y = x // (x - 1) %}" * 99
    + "{% endfor %}",
    "{% set n = namespace(x=[1]) %}{% for a in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    (
        "{% set n = namespace(x=1) %}{% for a in range(99) %}{% set n.x = [n.x, n.x] %}{% endfor %}"
        "{{ n.x }}"
    ),
    (
        "{% set n = namespace(x='xx') %}{% for a in range(99) %}"
        "{% set n.x %}{{ n.x }}{{ n.x }}{% endset %}{% endfor %}"
    ),
    "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(99) }}",
    "{% include 'problem.text.j2' %}{% include 'problem.text.j2' %}",
    "{% extends 'problem.text.j2' %}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "-" * 20_000 + "1 }}",
    "{% for a in range(2) %}" * 50 + "x" + "{% endfor %}" * 50,
    "x" * 200_000,
]


@pytest.mark.parametrize("source", BOMBS, ids=lambda source: source[:60])
def test_what_would_never_end_ends_and_the_built_in_text_is_sent(
    own: Own, built_in: Callable[..., str], source: str
) -> None:
    own.write("email/problem.text.j2", source)
    alert = sample("problem", details="many words " * 900)
    began = time.process_time()
    words = own.words()
    assert words("text", alert) == built_in("text", alert)
    assert words("text", alert) == built_in("text", alert)
    assert time.process_time() - began < 5
    [told] = own.told
    assert not re.search("undefined|writes nothing", told)  # it was stopped, not mistaken


@pytest.mark.parametrize("part", ["text", "html"])
def test_a_long_word_is_no_link_and_costs_no_template(own: Own, part: str) -> None:
    """What a check reports can't make `urlize` slow, nor have the template set aside."""
    long = "www." + "<a@a." * 300
    own.write(f"email/problem.{part}.j2", "{{ details | urlize(rel='x') }}")
    alert = sample("problem", details=f"see www.example.com & {long} or a@example.com")
    escaped = long.replace("<", "&lt;")
    assert own.words()(part, alert) == (
        'see <a href="https://www.example.com" rel="noopener x">www.example.com</a> '
        f'&amp; {escaped} or <a href="mailto:a@example.com">a@example.com</a>'
    )
    assert own.told == []


@pytest.mark.parametrize("letters", [".", "<", "(", "@a", "a.", "&", "http://a.", "a@a.", "www.-"])
def test_whatever_a_check_reports_links_are_found_in_few_steps(own: Own, letters: str) -> None:
    own.write("email/problem.text.j2", "{{ details | urlize }}")
    words = own.words()
    for length in (90, 900, 9_000):
        word = letters * (length // len(letters)) + ". "
        words("text", sample("problem", details=word * (10_000 // len(word))))
    assert own.told == []


def test_a_template_that_used_up_its_time_is_not_tried_again(own: Own) -> None:
    source = "{% for a in range(99999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}"
    own.write("email/problem.text.j2", source)
    words = own.words()
    words("text", PROBLEM)
    began = time.process_time()
    for _ in range(10):
        words("text", PROBLEM)
    assert time.process_time() - began < 0.05
    assert words.rendered("text", PROBLEM).wrong is not None


def test_a_template_that_fails_on_one_alert_serves_the_next(own: Own) -> None:
    own.write("email/problem.text.j2", "{{ 10 // event_count }}")
    words = own.words()
    assert "Entity:" in words("text", sample("problem", event_count=0))
    assert words("text", sample("problem", event_count=5)) == "2"


def test_files_that_can_not_be_read_are_told(own: Own, built_in: Callable[..., str]) -> None:
    own.write("email/problem.text.j2", b"\xff\xfe")
    os.mkfifo(own.folder / "email" / "problem.html.j2")
    (own.folder / "email" / "problem.subject.j2").mkdir()
    words = own.words()
    for part in PARTS:
        assert words(part, PROBLEM) == built_in(part, PROBLEM)
        assert (words.rendered(part, PROBLEM).file is None) == (part != "text")
    [told] = own.told
    assert "UnicodeDecodeError" in told


@pytest.mark.parametrize("folder", ["/nowhere", "/dev/null", "a\0b"])
def test_without_the_folder_there_are_the_built_in_texts_and_a_word_about_it(
    built_in: Callable[..., str], folder: str
) -> None:
    told: list[str] = []
    words = open_texts("email", "mail", folder, link, told.append)
    assert words("html", PROBLEM) == built_in("html", PROBLEM)
    assert told == [f"the template folder {folder} does not exist; the built-in texts are sent"]


def test_empty_html_is_a_mail_of_text_alone(own: Own) -> None:
    own.write("email/problem.html.j2", "")
    assert own.words()("html", PROBLEM) == ""
    assert own.told == []


@pytest.mark.parametrize("style", STYLES)
def test_copies_of_the_built_in_templates_say_the_same(own: Own, style: str) -> None:
    for name, source in built_in_files(style).items():
        own.write(f"medium/{name}", source.read_text())
    ours = open_texts("medium", style, "", link, pytest.fail, SetClock(NOW))
    theirs = own.words("medium", style)
    for kind in KINDS:
        for part in PARTS:
            assert theirs(part, SAMPLES[kind]) == ours(part, SAMPLES[kind])
            rendered = theirs.rendered(part, SAMPLES[kind])
            assert bool(rendered.file) == bool(rendered.text)
    assert own.told == []


def test_every_style_has_all_it_needs_in_its_folder() -> None:
    assert sorted(path.name for path in BUILT_IN.iterdir()) == sorted(STYLES)
    for style in STYLES:
        templates = Templates("medium", style, "", SetClock(NOW))
        for alert in SAMPLES.values():
            assert templates.render("subject", alert, "").text
            assert templates.render("text", alert, "").text
            assert bool(templates.render("html", alert, "").text) == (style == "mail")


def test_what_templates_are_given_is_on_its_page() -> None:
    page = (ROOT / "docs" / "templates.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert listed == {*names(PROBLEM, "").keys()}
    offered = set(re.findall(r"^\| `\w+ \\\| (\w+)", page, re.MULTILINE))
    assert offered == set(filters(SetClock(NOW)))


@pytest.fixture
def settings(tmp_path: Path) -> str:
    (tmp_path / "own").mkdir()
    path = tmp_path / "watchbell.toml"
    path.write_text(
        f'[delivery]\ntemplates = "{tmp_path}/own"\n[gateways.email]\n[gateways.ops]\n'
        'kind = "email"\n'
    )
    return str(path)


@pytest.fixture
def logs_as_before() -> Iterator[None]:
    yield
    logs.configure("error", "json")


def previewed(settings: str, *arguments: str) -> Any:
    return ran("gateways", "preview", *arguments, "--config", settings)


def test_a_preview_shows_each_part_and_where_it_comes_from(settings: str, tmp_path: Path) -> None:
    own = Own(tmp_path / "own")
    path = own.write("email/problem.subject.j2", "{{ check }}!")
    done = previewed(settings, "email", "problem", "--html", str(tmp_path / "problem.html"))
    assert done.returncode == 0
    assert f"subject, {path}:\n\n    HTTP!\n" in done.stdout
    assert (
        "text, built in:\n\n    Problem: 'HTTP' on web-1.example.com is Critical\n" in done.stdout
    )
    assert "html, built in: " in done.stdout
    assert "/ack/SAMPLE" in (tmp_path / "problem.html").read_text()


def test_a_preview_says_what_is_wrong(settings: str, tmp_path: Path) -> None:
    Own(tmp_path / "own").write("ops/test.text.j2", "fine\n{{ summry }}")
    done = previewed(settings, "ops", "test", "--json")
    wrong = "template ops/test.text.j2, line 2: 'summry' is undefined"
    assert (done.returncode, done.stderr) == (1, f"watchbell: {wrong}\n")
    parts = {one["part"]: one for one in json.loads(done.stdout)}
    assert [parts[part]["wrong"] for part in PARTS] == ["", wrong, ""]
    assert parts["text"]["file"] == f"{tmp_path}/own/ops/test.text.j2"
    assert "This is a test" in parts["text"]["text"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["fax", "problem"], "there is no medium 'fax'; expected one of "),
        (["sms", "problem", "--html", "{}.html"], "messages of sms have no HTML"),
        (["email", "problem", "--html", "{}/x.html"], "can't be written"),
    ],
)
@pytest.mark.usefixtures("logs_as_before")
def test_a_preview_that_can_not_be_is_refused(
    settings: str, arguments: list[str], says: str
) -> None:
    given = [word.format(settings) for word in arguments]
    with pytest.raises((NotFound, Refused), match=re.escape(says)):
        preview.main([*given, "--config", settings], standalone_mode=False)


def test_the_built_in_templates_are_written_once_and_are_then_ones_own(
    settings: str, tmp_path: Path
) -> None:
    command = ["gateways", "templates", str(tmp_path / "own"), "--config", settings]
    done = ran(*command)
    assert done.returncode == 0
    assert f'delivery.templates = "{tmp_path}/own"' in done.stdout
    assert sorted(path.name for path in (tmp_path / "own").iterdir()) == ["email", "ops"]
    assert (tmp_path / "own" / "email" / "problem.html.j2").exists()
    assert previewed(settings, "ops", "test", "--part", "subject").stdout == (
        "Test: 'HTTP' on web-1.example.com\n"
    )
    again = ran(*command)
    assert again.returncode == 1
    assert "exists already; nothing was written" in again.stderr
