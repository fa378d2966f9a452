"""Finished files are uploaded, verified, recorded, and only then removed."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.archive.crawling import OWN, SITE, ident_of
from tests.archive.upload_servers import (
    BUCKET,
    get_object,
    item_server,
    object_headers,
    output_of,
    put_object,
    rsync_daemon,
    s3_server,
    to_items,
    to_s3,
)
from tests.archive.uploaded import (
    BASE,
    CONTENTS,
    LARGE,
    ended,
    places,
    uploading,
)
from tests.logged import logged
from tests.waiting import eventually
from watchbell.archive import history
from watchbell.archive.uploading.digests import digests_of
from watchbell.archive.uploading.pending_uploads import PendingUploads
from watchbell.files.objects import opened, part_size
from watchbell.settings import ArchiveUpload, Secret
from watchbell.settings import Files as FilesSettings
from watchbell.store.client import Store

OTHER = ident_of(2)
FIRST = f"{BASE}-00000.warc.gz"
LEFT = {f"{BASE}.cdxj", f"{BASE}.json"}
ITEM = f"bell_{SITE}.example.com_20260921"


async def test_files_are_copied_to_files_and_stay_here(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    async with uploading(store, here, ArchiveUpload(url="files")) as one:
        await eventually(lambda: not here.pending())
        await eventually(lambda: one.is_idle)
        assert one.progress().files == 0
    copied = {path.name: path.read_bytes() for path in (tmp_path / "files/archive").iterdir()}
    assert copied == CONTENTS
    assert here.local() == set(CONTENTS)
    assert await places(store) == {name: f"files:archive/{name}" for name in CONTENTS}


async def test_large_files_are_removed_after_their_upload(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    async with uploading(store, here, ArchiveUpload(url="files", keep=False)):
        await eventually(lambda: not here.pending())
    assert here.local() == LEFT


async def test_a_bucket_has_the_files_with_metadata(store: Store, tmp_path: Path) -> None:
    contents = {**CONTENTS, f"{BASE}-00002.warc.gz": LARGE}
    here = await ended(store, tmp_path, contents)
    with s3_server() as address:
        chosen = to_s3(address, keep=False, metadata=("collection: bell",))
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())
        headers = object_headers(address, f"{BASE}-00002.warc.gz")
    (found,) = await history.of_ident(store, SITE)
    by_name = {file.name: file for file in found.files}
    assert by_name[FIRST].place == f"s3://{BUCKET}/warcs/{FIRST}"
    assert headers["x-amz-meta-sha256"] == by_name[f"{BASE}-00002.warc.gz"].sha256
    assert headers["x-amz-meta-originalurl"] == f"https://{SITE}.example.com/"
    assert headers["x-amz-meta-collection"] == "bell"
    assert int(headers["content-length"]) == len(LARGE)
    assert here.local() == LEFT


async def test_the_digest_of_parts_is_what_a_server_computes(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(LARGE)
    with s3_server() as address:
        chosen = to_s3(address)
        files = opened(
            FilesSettings(
                url=chosen.url,
                endpoint=address,
                region="us-east-1",
                access_key_id="key",
                secret_access_key=Secret("s3cret"),
            ),
            tmp_path,
        )
        await files.put("large", path, part=part_size(len(LARGE)))
        stored = await files.find("large")
    assert stored
    assert stored.etag.strip('"') == digests_of(path).etag


@pytest.mark.parametrize("kind", ["files", "s3", "rsync"])
async def test_another_file_with_the_name_is_never_replaced(
    store: Store, tmp_path: Path, kind: str
) -> None:
    here = await ended(store, tmp_path)
    theirs = b"x" * len(CONTENTS[FIRST])  # as long as ours
    with s3_server() as address, rsync_daemon(tmp_path) as daemon, logged("error") as lines:
        chosen = {
            "files": ArchiveUpload(url="files", keep=False),
            "s3": to_s3(address, keep=False),
            "rsync": ArchiveUpload(url=daemon.url, allow_local=True, keep=False),
        }[kind]
        folder = tmp_path / "files" / "archive" if kind == "files" else daemon.module / "warcs"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FIRST).write_bytes(theirs)
        put_object(address, FIRST, theirs)
        async with uploading(store, here, chosen) as one:
            await eventually(lambda: one.progress().files == 1 and one.progress().problem)
            await ended(store, tmp_path, {"other-00000.warc.gz": b"other"}, OTHER, here)
            one.look_again()
            await eventually(lambda: _is_placed(store, OTHER), why="others go on")
            problem = one.progress().problem
        assert (folder / FIRST).read_bytes() == theirs
        assert get_object(address, FIRST) == theirs
    assert FIRST in problem
    assert "is not replaced" in problem
    assert set(CONTENTS) <= here.local(), "nothing is removed before all are uploaded"
    assert lines.events("error") == ["can't upload a file"]
    assert set((await places(store)).values()) == {""}


async def _is_placed(store: Store, ident: str) -> bool:
    return all((await places(store, ident)).values())


async def test_rsync_has_the_files_and_no_secret_is_in_a_command_line(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    with rsync_daemon(tmp_path, password="s3cret") as daemon:
        chosen = ArchiveUpload(
            url=daemon.url, allow_local=True, keep=False, secret=Secret("s3cret")
        )
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())
        arrived = {path.name: path.read_bytes() for path in (daemon.module / "warcs").iterdir()}
        listing = await output_of("ps", "-eo", "args")
    assert arrived == CONTENTS
    assert here.local() == LEFT
    assert "s3cret" not in listing
    assert (await places(store))[FIRST] == f"{daemon.url}{FIRST}"


async def test_rsync_makes_the_folder_and_compares_what_is_there(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    with rsync_daemon(tmp_path) as daemon, logged("error") as lines:
        (daemon.module / "warcs").rmdir()
        chosen = ArchiveUpload(url=daemon.url, allow_local=True)
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())
        arrived = {path.name: path.read_bytes() for path in (daemon.module / "warcs").iterdir()}
    assert arrived == CONTENTS
    assert lines.events() == []


async def test_rsync_goes_over_ssh(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a command in place of ssh that runs the other side here."""
    here = await ended(store, tmp_path)
    programs = tmp_path / "programs"
    programs.mkdir()
    shell = programs / "ssh"
    shell.write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/asked\nenv >>{tmp_path}/asked\n'
        'while [ "$1" != rsync ]; do shift; done\nexec "$@"\n'
    )
    shell.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setenv("TOKEN", "not for others")
    (tmp_path / "there").mkdir()
    chosen = ArchiveUpload(url=f"alice@a.example.com:{tmp_path}/there/", keep=False)
    async with uploading(store, here, chosen):
        await eventually(lambda: not here.pending())
    arrived = {path.name: path.read_bytes() for path in (tmp_path / "there").iterdir()}
    assert arrived == CONTENTS
    asked = (tmp_path / "asked").read_text()
    assert "BatchMode=yes" in asked
    assert "-l alice a.example.com rsync --server" in asked
    assert "not for others" not in asked


async def test_a_wrong_password_is_an_outage_that_ends(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    secret = tmp_path / "password"
    secret.write_text("wrong")
    with rsync_daemon(tmp_path, password="s3cret") as daemon, logged() as lines:
        chosen = ArchiveUpload(url=daemon.url, allow_local=True, secret=Secret(f"file:{secret}"))
        async with uploading(store, here, chosen) as one:
            problem = await eventually(lambda: one.progress().problem)
            await eventually(lambda: one.is_idle)
            secret.write_text("s3cret")
            await eventually(lambda: not here.pending())
    assert "auth failed" in problem
    assert lines.events("warning") == ["can't upload now; tries again"]
    assert "uploads again" in lines.events("info")


async def test_a_daemon_that_is_down_is_waited_for(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    with rsync_daemon(tmp_path) as daemon, logged() as lines:
        daemon.stop()
        chosen = ArchiveUpload(url=daemon.url, allow_local=True)
        async with uploading(store, here, chosen) as one:
            await eventually(lambda: one.progress().problem)
            assert one.progress().files == len(CONTENTS)
            daemon.start()
            await eventually(lambda: not here.pending())
            assert one.progress().problem == ""
    assert lines.events("warning") == ["can't upload now; tries again"]


async def test_an_item_of_the_internet_archive_is_made_and_described(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    async with item_server() as server:
        chosen = to_items(
            server, keep=False, metadata=("collection: a", "collection: b", "creator: Zoë")
        )
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())
    assert server.items == {ITEM: CONTENTS}
    assert server.limits_asked == len(CONTENTS), "before each file"
    headers = {key.lower(): value for key, value in server.puts[0][1].items()}
    assert {key: value for key, value in headers.items() if key.startswith("x-a")} == {
        "x-amz-auto-make-bucket": "1",
        "x-archive-size-hint": str(sum(map(len, CONTENTS.values()))),
        "x-archive-queue-derive": "0",
        "x-archive-keep-old-version": "1",
        "x-archive-meta-mediatype": "web",
        "x-archive-meta-title": f"{SITE}.example.com, archived 2026-09-21",
        "x-archive-meta-date": "2026-09-21",
        "x-archive-meta-originalurl": f"https://{SITE}.example.com/",
        "x-archive-meta-subject": "web archive",
        "x-archive-meta01-collection": "a",
        "x-archive-meta02-collection": "b",
        "x-archive-meta-creator": "uri(Zo%C3%AB)",
    }
    derived = [headers["x-archive-queue-derive"] for _, headers in server.puts]
    assert derived == ["0", "0", "0", "0", "1"], "once, after the last file"
    assert here.local() == LEFT
    assert (await places(store))[FIRST] == f"{server.address}/{ITEM}/{FIRST}"


async def test_the_internet_archive_is_given_time(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    async with item_server() as server:
        server.over_limit = 1
        chosen = to_items(server, keep=False)
        async with uploading(store, here, chosen) as one:
            await eventually(lambda: "asks to wait" in one.progress().problem)
            assert not server.puts
            server.over_limit, server.is_late = 0, True
            await eventually(lambda: len(server.puts) == len(CONTENTS))
            await eventually(lambda: one.is_idle)
        assert here.local() == set(CONTENTS), "what has not appeared is not removed"
        server.release()
        async with uploading(store, here, chosen):
            await eventually(lambda: not here.pending())
    assert len(server.puts) == len(CONTENTS), "nothing is sent twice"
    assert here.local() == LEFT


async def test_keys_that_the_internet_archive_refuses_are_one_outage(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    secret = tmp_path / "secret"
    secret.write_text("wrong")
    async with item_server() as server:
        chosen = replace(to_items(server), secret=Secret(f"file:{secret}"))
        with logged() as lines:
            async with uploading(store, here, chosen) as one:
                problem = await eventually(lambda: one.progress().problem)
                secret.write_text("s3cret")
                await eventually(lambda: not here.pending())
    assert "403: The key is wrong" in problem
    assert lines.events("warning", "error") == ["can't upload now; tries again"]


async def test_an_item_of_somebody_else_holds_up_only_its_own_files(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    async with item_server() as server:
        server.foreign.add(ITEM)
        async with uploading(store, here, to_items(server)) as one:
            await eventually(lambda: one.is_idle and one.progress().problem)
            await ended(store, tmp_path, {"other-00000.warc.gz": b"other"}, OTHER, here)
            one.look_again()
            await eventually(lambda: _is_placed(store, OTHER))
            assert "not yours" in one.progress().problem
    assert here.local() >= set(CONTENTS)


async def test_a_file_that_is_gone_does_not_hold_up_the_others(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    (here.finished / FIRST).unlink()
    with logged("error") as lines:
        async with uploading(store, here, ArchiveUpload(url="files")):
            await eventually(lambda: not here.pending())
    assert lines.events() == ["a file is gone before its upload"]
    found = await places(store)
    assert [name for name, place in found.items() if not place] == [FIRST]


async def test_a_crawl_without_a_record_is_uploaded_all_the_same(
    store: Store, tmp_path: Path
) -> None:
    here = await ended(store, tmp_path)
    await history.trim(store, 4e9, 1)
    async with uploading(store, here, ArchiveUpload(url="files")):
        await eventually(lambda: not here.pending())
    assert await history.of_ident(store, SITE) == []


async def test_a_record_of_a_wrong_type_holds_up_one_crawl(store: Store, tmp_path: Path) -> None:
    here = await ended(store, tmp_path)
    key = OWN.history()
    await store.call("RENAME", key, "aside")
    await store.call("SET", key, "spoilt")
    with logged("error") as lines:
        async with uploading(store, here, ArchiveUpload(url="files")) as one:
            await eventually(lambda: "an upload failed" in lines.events())
            await eventually(lambda: one.is_idle)
    assert here.pending() == [f"{BASE}.json"]
    await store.call("RENAME", "aside", key)


def test_an_unreadable_upload_is_reported_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("no JSON")
    with logged("error") as lines:
        assert PendingUploads(tmp_path).every() == []
    assert lines.events() == ["can't read what is to be uploaded"]
