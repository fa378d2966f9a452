"""`watchbell archive`: crawls are added, listed, followed, changed and ended."""

import asyncio
import hashlib
import json
import subprocess
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import click
import pytest

from tests import servers
from tests.archive.crawling import OWN, PIPELINE, append, taken
from tests.archive.exchanges import exchange, http
from tests.archive.test_pipelines import ROOM, record
from tests.cli.commands import printed, ran
from tests.conftest import bare_environment, watchbell
from watchbell.archive import crawls, finishing, history, idents, pipelines
from watchbell.archive.model import Crawl, Ending, FinishedFile, Ownership
from watchbell.archive.options import OPTIONS
from watchbell.archive.pipelines import Capacity, UploadProgress
from watchbell.archive.warc.writer import WarcWriter
from watchbell.cli.archive.adding import add
from watchbell.cli.archive.progress import Progress
from watchbell.clock import SYSTEM
from watchbell.store import url as store_url
from watchbell.store.client import Store

T = TypeVar("T")
URL = "https://example.com/"
IDENT = idents.ident_of(URL)


class Archive:
    """The commands on one store and data folder."""

    def __init__(self, url: str, data: Path) -> None:
        self.url, self.data = url, data
        self.options = ("--store", url, "--data", str(data))

    def __call__(self, *words: str, code: int = 0) -> str:
        done = ran("archive", *words, *self.options)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *words: str) -> Any:
        return printed("archive", *words, *self.options)

    def do(self, work: Callable[[Store], Awaitable[T]]) -> T:
        async def run() -> T:
            async with Store(store_url.parse(self.url)) as store:
                return await work(store)

        return asyncio.run(run())

    def owned(self) -> Ownership:
        found = self.do(taken)
        assert found is not None
        return found

    def finish(self, owned: Ownership, *files: FinishedFile, **how: Any) -> None:
        ending = Ending(finished_at=SYSTEM.now(), files=files, **how)
        self.do(lambda store: finishing.finish(store, owned, ending))


@pytest.fixture
def archive(server: servers.Single, tmp_path: Path) -> Iterator[Archive]:
    server.server.call("FLUSHALL")
    yield Archive(server.url, tmp_path / "data")
    server.server.call("FLUSHALL")


def test_a_crawl_is_added_with_all_options(archive: Archive) -> None:
    words = ["--ignore-sets=forums", "--no-offsite", "--user-agent", "firefox", "--pipeline", "eu"]
    words += ["--explain", "it's closing", "--delay", "500", "--concurrent", "2", "--robots"]
    words += ["--max-size", "2 GiB", "--no-cookies", "--offsite-depth=0", "--wacz"]
    said = archive("add", URL, *words)
    assert said == f"Queued {URL} as {IDENT} in pending:eu, next in line.\n"
    crawl = archive.do(lambda store: crawls.get(store, IDENT))
    assert crawl is not None
    assert (crawl.note, crawl.settings.delay_min, crawl.settings.concurrency) == (
        "it's closing",
        500,
        2,
    )
    assert (crawl.no_offsite_links, crawl.started_in) == (True, "command line")
    assert "Firefox" in crawl.user_agent
    assert crawl.options.obeys_robots
    assert crawl.options.most_bytes == 2 << 30
    assert not crawl.options.has_cookies


def test_a_password_in_a_url_is_not_shown(archive: Archive) -> None:
    url, shown = "https://alice:s3cret@example.com/", "https://***@example.com/"
    ident = archive("add", url).split()[3]
    said = [archive("list"), archive("pending"), archive("show", url), archive("status", url)]
    assert all(shown in text for text in said)
    found = archive.json("show", ident)
    assert found["crawl"]["url"] == shown
    said += [archive("add", url, code=1), archive("abort", url), str(found)]
    audit = ran("audit", "list", *archive.options).stdout
    assert audit.count(shown) == 2
    assert not [text for text in [*said, audit] if "s3cret" in text]


def test_every_option_of_crawls_has_a_help_text() -> None:
    shown = {name for option in add.params for name in option.opts}
    assert {option.name for option in OPTIONS} <= shown
    context = click.Context(add)
    text = add.get_help(context)
    for option in OPTIONS:
        is_shown = f"{option.name} " in text
        assert is_shown == (option.field != "wants_video"), option.name
        assert not any(f"{spelling} " in text for spelling in option.spellings)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add"], "URL is missing"),
        (["add", "no url"], "URL: 'no url' is no URL. Expected one such as https://example.com/"),
        (["add", "gopher://example.com/"], "URL: gopher:// can't be archived"),
        (["add", URL, "--delay", "x"], "--delay: expected a number from 0 to"),
        (["add", URL, "--concurrency", "0"], "--concurrency: expected a number from 1 to 99"),
        (["add", URL, "--user-agent", "nobody"], "'nobody' is no alias of a user agent"),
        (["add", URL, "--max-size", "much"], "--max-size"),
        (["add", URL, "--large", "--only"], "--large is for sites"),
        (["add", URL, "--youtube-dl"], "--youtube-dl is not supported"),
        (["add", URL, "--list", "https://example.com/list"], "either URL or"),
        (["add", "--list", "/nonexistent/list"], "--list: can't read /nonexistent/list"),
        (["delay", URL, "5", "3"], "MAX"),
        (["delay", URL, "x"], "MIN"),
        (["concurrency", URL, "100"], "N"),
        (["reports", URL, "maybe"], "on|off"),
        (["check", "/nonexistent"], "FILE"),
        (["log", URL, "-n", "0"], "--lines"),
    ],
)
def test_wrong_usage_is_named(archive: Archive, words: list[str], said: str) -> None:
    assert said in archive(*words, code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "not an ident"], "IDENT: expected an ident or a URL"),
        (["show", URL], "there is no crawl"),
        (["abort", "abc"], "there is no crawl 'abc'"),
        (["log", URL], "there is no crawl"),
        (["stop", "nobody"], "there is no pipeline nobody"),
        (["sets", "nothing"], "there is no ignore set"),
        (["replay", URL], "there is no crawl"),
    ],
)
def test_what_is_not_there_is_named(archive: Archive, words: list[str], said: str) -> None:
    assert said in archive(*words, code=1)


def test_a_url_is_archived_once(archive: Archive) -> None:
    archive("add", URL)
    assert f"There is a crawl of {URL} already: {IDENT}" in archive("add", URL, "--only", code=1)


def test_a_list_of_this_machine_is_uploaded(archive: Archive, tmp_path: Path) -> None:
    path = tmp_path / "urls.txt"
    path.write_text("nothing\nhttps://a.example.com/1\nhttps://b.example.com/2\n")
    made = archive.json("add", "--list", str(path), "--only")
    assert made["ident"] == idents.ident_of("https://a.example.com/1")
    assert made["queue"] == "pending-ao"
    (stored,) = (archive.data / "files" / "archive" / "lists").iterdir()
    assert stored.read_bytes() == path.read_bytes()
    crawl = archive.do(lambda store: crawls.get(store, made["ident"]))
    assert crawl is not None
    assert crawl.options.list_name == f"archive/lists/{stored.name}"
    archive("add", "https://a.example.com/1", "--list", str(path), code=1)
    assert [one.name for one in stored.parent.iterdir()] == [stored.name]
    path.write_text("no URL at all")
    assert "has no URL" in archive("add", "--list", str(path), code=2)


def test_a_list_of_a_server(archive: Archive) -> None:
    url = "https://example.com/list.txt"
    made = archive.json("add", "--list", url)
    crawl = archive.do(lambda store: crawls.get(store, made["ident"]))
    assert crawl is not None
    assert (crawl.url, crawl.url_file, crawl.options.list_name) == (url, url, "")


def test_crawls_are_listed(archive: Archive) -> None:
    assert archive("list") == "There are no crawls.\n"
    assert archive("pending") == "No crawls are waiting.\n"
    archive("add", URL)
    archive("add", "https://example.org/", "--only")
    owned = archive.owned()
    archive.do(lambda store: append(store, owned, 1, 200, 404))
    lines = archive("list").splitlines()
    assert lines[0].split()[:4] == ["crawl", "URL", "state", "pipeline"]
    assert lines[1].split()[:3] == [IDENT, URL, "running"]
    assert "queued" in lines[2]
    assert [row["state"] for row in archive.json("list", "--state", "queued")] == ["queued"]
    assert "No crawls match." in archive("list", "--text", "nothing")
    assert [one["url"] for one in archive.json("pending")["pending-ao"]] == ["https://example.org/"]
    assert "pending-ao" in archive("pending")
    counts = archive.json("status")
    assert (counts["working"], counts["pending_ao"]) == (1, 1)
    assert "In progress. Downloaded 200 B" in archive("status", URL)
    assert archive.json("status", IDENT)["state"] == "running"
    archive.finish(owned)
    assert "It can be archived again in" in archive("status", URL)
    assert [row["state"] for row in archive.json("list", "--past")] == ["completed"]
    assert archive("expire", URL).startswith("Expired")
    assert IDENT not in archive("list")
    assert IDENT in archive("list", "--past")


def test_a_crawl_is_found_and_explained(archive: Archive) -> None:
    archive("add", URL)
    assert f"{IDENT} waits in pending, 0 ahead of it." in archive("whereis", URL)
    assert archive.json("whereis", URL) == {"queue": "pending", "ahead": 0}
    assert "pipeline" in archive("explain", URL)
    archive.do(lambda store: pipelines.report(store, record(), ROOM))
    archive.owned()
    assert f"{IDENT} is on alice ({PIPELINE})." in archive("whereis", IDENT)
    assert archive.json("whereis", IDENT)["nickname"] == "alice"
    shown = archive("show", URL)
    assert "running" in shown
    assert "pipeline     alice\n" in shown
    assert "250 to 375 ms" in shown
    assert archive.json("show", URL)["state"] == "running"


def test_a_crawl_is_changed(archive: Archive) -> None:
    archive("add", URL)
    assert "added 1 pattern" in archive("ignore", URL, "/calendar/")
    assert "PATTERN" in archive("ignore", URL, "(", code=1)
    assert "removed 1 pattern" in archive("unignore", URL, "/calendar/")
    assert "no such ignore pattern" in archive("unignore", URL, "/calendar/", code=1)
    assert "no ignore set" in archive("ignore-set", URL, "none", code=1)
    assert "of forums to" in archive("ignore-set", URL, "forums")
    assert "waits 100 to 200 ms" in archive("delay", URL, "100", "200")
    assert "waits 50 to 50 ms" in archive("delay", URL, "50")
    assert "uses 5 downloaders" in archive("concurrency", URL, "5")
    archive("note", URL, "for  Alice")
    archive("reports", URL, "on")
    archive("pause", URL)
    crawl = archive.do(lambda store: crawls.get(store, IDENT))
    assert crawl is not None
    assert crawl.note == "for Alice"
    assert crawl.settings.is_paused
    assert not crawl.settings.suppress_ignore_reports
    assert archive.json("show", URL)["state"] == "paused"
    archive("resume", URL)
    assert f"Aborted {IDENT}." in archive("abort", URL)
    assert "has ended" in archive("pause", URL, code=1)


def test_a_log_is_printed_and_followed(archive: Archive) -> None:
    archive("add", URL)
    owned = archive.owned()
    archive.do(lambda store: append(store, owned, 1, 200, 404))
    assert archive("log", URL).splitlines() == [f"200 {URL}", f"404 {URL}"]
    assert archive("log", URL, "-n", "1", "--times").endswith(f" 404 {URL}\n")
    command = watchbell("archive", "log", URL, "-f", *archive.options)
    with subprocess.Popen(
        command, env=bare_environment(), stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        assert follower.stdout.readline() == f"200 {URL}\n"
        archive.do(lambda store: append(store, owned, 2, 503))
        assert follower.stdout.readline() == f"404 {URL}\n"
        assert follower.stdout.readline() == f"503 {URL}\n"
        archive.finish(owned)
        assert follower.wait(120) == 0


@pytest.mark.parametrize(
    ("how", "code"), [({}, 0), ({"failure": "no disk"}, 1), ({"is_aborted": True}, 143)]
)
def test_waiting_ends_with_the_crawl(archive: Archive, how: dict[str, Any], code: int) -> None:
    finished = archive.data / "archive" / "finished"
    finished.mkdir(parents=True)
    (finished / "a-00000.warc.gz").write_bytes(b"1234")
    command = watchbell("archive", "add", URL, "--wait", *archive.options)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=bare_environment(), stdout=pipe, stderr=pipe, text=True
    ) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith(f"Queued {URL}")
        assert waiting.stderr.readline()  # why it waits
        owned = archive.owned()
        archive.do(lambda store: append(store, owned, 1, 200, 404))
        archive.finish(owned, FinishedFile("a-00000.warc.gz", 4), FinishedFile("b.json", 2), **how)
        out, err = waiting.communicate(timeout=120)
    assert waiting.returncode == code, err
    assert out.splitlines()[-2:] == [str(finished / "a-00000.warc.gz"), "b.json on alice"]
    assert f"200 {URL}" in out or how
    assert IDENT in err.splitlines()[-1]


def test_waiting_reports_a_crawl_that_nobody_has_answered(archive: Archive) -> None:
    command = watchbell("archive", "add", URL, "--wait", *archive.options)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=bare_environment(), stderr=pipe, text=True) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith("Queued")
        owned = archive.owned()
        archive.do(lambda store: append(store, owned, 1, 0, 0))
        archive.finish(owned)
        _, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 1
    assert err.splitlines()[-1] == (
        f"{IDENT} completed, but no server has answered. 0 responses, 0 errors,"
        " 2 attempts without a response, 200 B."
    )


def test_why_a_crawl_does_not_run_is_shown_once_it_should(
    capsys: pytest.CaptureFixture[str],
) -> None:
    crawl = Crawl(ident=IDENT, url=URL)
    progress = Progress(is_quiet=False)
    for now in (100, 104.9):
        progress.show(crawl, now, "No pipeline is running.")
    assert capsys.readouterr().err == ""
    for now in (105, 106):
        progress.show(crawl, now, "No pipeline is running.")
    assert capsys.readouterr().err == "No pipeline is running.\n"


def test_waiting_gives_json(archive: Archive) -> None:
    command = watchbell("archive", "add", URL, "--wait", "--json", *archive.options)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=bare_environment(), stdout=pipe, stderr=pipe, text=True
    ) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith("Queued")
        archive.finish(archive.owned(), FinishedFile("a.warc.gz", 4))
        out, _ = waiting.communicate(timeout=120)
    found = json.loads(out)
    assert (found["state"], found["files"][0]["name"]) == ("completed", "a.warc.gz")


def test_pipelines_are_listed_and_stopped(archive: Archive) -> None:
    assert "No pipeline is running." in archive("pipelines")
    archive.do(lambda store: pipelines.report(store, record(), ROOM))
    lines = archive("pipelines").splitlines()
    assert lines[1].split()[:4] == ["alice", "h1", "running", "3"]
    assert archive("stop", "alice") == "alice stops after the crawls that it runs\n"
    assert archive.json("pipelines")[0]["should_stop"] is True
    archive.do(lambda store: store.call("ZADD", OWN.pipelines_seen(), 5, PIPELINE))
    words = "alice gives no sign of life; it stops as soon as it is back\n"
    assert archive("stop", "alice") == words


def test_the_list_of_pipelines_has_what_is_left_to_upload(archive: Archive) -> None:
    waiting = UploadProgress(files=3, size=4 << 20, sent=1 << 20, problem="it is down")
    room = Capacity(concurrent=2, running=0, uploads=waiting)
    archive.do(lambda store: pipelines.report(store, record(), room))
    assert "3 files, 3.0 MiB left: it is down" in archive("pipelines")
    assert archive.json("pipelines")[0]["capacity"]["uploads"]["size"] == 4 << 20


def test_ignore_sets_are_listed(archive: Archive) -> None:
    assert "global" in archive("sets")
    assert "global" in archive.json("sets")
    assert len(archive("sets", "global").splitlines()) == len(archive.json("sets", "global"))


def warc(folder: Path) -> Path:
    writer = WarcWriter(folder, "site", info={"software": "test"}, part_size=1 << 30)
    writer.write_exchange(exchange("", http(b"<html>a page</html>"), url=URL))
    (path,) = writer.finish()
    return path


def test_warc_files_are_checked(tmp_path: Path) -> None:
    path = warc(tmp_path)
    done = ran("archive", "check", str(path))
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("no faults\n")
    assert printed("archive", "check", str(path))["fault_count"] == 0
    path.write_bytes(path.read_bytes()[:-10])
    done = ran("archive", "check", str(path))
    assert done.returncode == 1
    assert str(path) in done.stdout


def test_archived_pages_are_replayed(archive: Archive) -> None:
    finished = archive.data / "archive" / "finished"
    finished.mkdir(parents=True)
    path = warc(finished)
    archive("add", URL)
    archive.finish(archive.owned(), FinishedFile(path.name, path.stat().st_size))
    for name in (URL, str(path)):
        assert b"a page" in replayed(archive, name)


def replayed(archive: Archive, name: str) -> bytes:
    """The archived page."""
    command = watchbell("archive", "replay", name, *archive.options)
    with subprocess.Popen(
        command, env=bare_environment(), stdout=subprocess.PIPE, text=True
    ) as served:
        try:
            assert served.stdout is not None
            address = served.stdout.readline().split()[0]
            with urllib.request.urlopen(f"{address}2026/{URL}", timeout=60) as page:
                content: bytes = page.read()
                return content
        finally:
            served.terminate()


def test_files_that_were_uploaded_are_fetched_for_replay_and_check(archive: Archive) -> None:
    uploaded = archive.data / "files" / "archive"
    uploaded.mkdir(parents=True)
    path = warc(uploaded)
    size, digest = path.stat().st_size, hashlib.sha256(path.read_bytes()).hexdigest()
    archive("add", URL)
    archive.finish(archive.owned(), FinishedFile(path.name, size))
    said = archive("check", URL, code=1)
    assert "is not on this machine; it is where the pipeline ran" in said
    place = FinishedFile(path.name, size, f"files:archive/{path.name}", digest)
    crawl = archive.do(lambda store: crawls.get(store, IDENT))
    assert crawl
    assert crawl.queued_at
    at = crawl.queued_at
    assert archive.do(lambda store: history.set_places(store, IDENT, at, [place]))
    said = archive("check", URL)
    assert "Fetching 1 file," in said
    assert "no faults\n" in said
    assert f"archive/{path.name} in files" in archive("show", URL)
    assert b"a page" in replayed(archive, URL)
