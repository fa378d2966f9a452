"""FTP: files and listings from real servers on loopback, good and bad."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.archive.ftp_server import FtpServer, serving_ftp
from tests.servers import HOST
from tests.waiting import eventually
from watchbell.archive.fetching.fetcher import Fetcher
from watchbell.archive.fetching.ftp_listing import links
from watchbell.archive.fetching.model import Fetched, Limits, Request, networks


@pytest.fixture
async def site() -> AsyncIterator[FtpServer]:
    async with serving_ftp() as one:
        yield one


async def fetched(folder: Path, url: str, *, allow_private: bool = True, **limits: Any) -> Fetched:
    fetcher = Fetcher(networks(allow_private=allow_private), folder, Limits(**limits))
    try:
        return await fetcher.fetch(Request(url=url))
    finally:
        fetcher.close()


async def test_a_file_is_fetched(site: FtpServer, folder: Path) -> None:
    site.files["pub/a b.txt"] = b"x" * 2_000_000
    one = await fetched(folder, site.url("pub/a%20b.txt;type=i"))
    assert (one.error, one.status, one.ip, one.links) == ("", 226, HOST, ())
    assert one.response.read() == site.files["pub/a b.txt"]
    one.response.close()
    assert one.transcript.splitlines() == [
        "< 220-Welcome",
        "< 220-to the tests",
        "< 220 Ready",
        "> USER anonymous",
        "< 331 USER",
        "> PASS ****",
        "< 230 PASS",
        "> TYPE I",
        "< 200 TYPE",
        "> EPSV",
        one.transcript.splitlines()[10],
        "> RETR pub/a b.txt",
        "< 150 Here it comes",
        "< 226 Done",
    ]


MLSD = b"type=cdir; .\r\nmodify=2026;type=dir; sub\r\ntype=file;size=9; b c.txt\r\n"
UNIX = (
    b"total 3\r\n"
    b"drwxr-xr-x   2 alice users     4096 Nov  6 08:49 sub\r\n"
    b"-rw-r--r--   1 alice users        9 Nov  6  2025 b c.txt\r\n"
    b"lrwxrwxrwx   1 alice users        9 Nov  6 08:49 latest -> sub/new\r\n"
)
DOS = b"11-06-26  08:49AM       <DIR>          sub\r\n11-06-2026  08:49    1,234 b c.txt\r\n"


@pytest.mark.parametrize("path", ["pub/", "pub"])
@pytest.mark.parametrize(
    ("command", "listing", "more"),
    [("MLSD", MLSD, []), ("LIST", UNIX, ["latest"]), ("LIST", DOS, [])],
    ids=["MLSD", "Unix", "Windows"],
)
async def test_a_folder_is_listed(
    site: FtpServer, folder: Path, command: str, listing: bytes, more: list[str], path: str
) -> None:
    site.listings["pub"] = {command: listing}
    one = await fetched(folder, site.url(path))
    assert (one.error, one.status, one.response.read()) == ("", 226, listing)
    names = ["sub/", "b%20c.txt", *more]
    assert list(one.links) == [site.url(f"pub/{name}") for name in names]


async def test_the_folder_of_a_user_is_listed(site: FtpServer, folder: Path) -> None:
    site.listings[""] = {"LIST": UNIX}
    url = site.url("").replace("://", "://alice:s%20cret@")
    one = await fetched(folder, url)
    assert one.error == ""
    assert site.commands[:3] == ["USER alice", "PASS s cret", "TYPE I"]
    assert "s cret" not in one.transcript


async def test_only_the_port_of_a_passive_reply_is_used(site: FtpServer, folder: Path) -> None:
    """Its address leads to another server."""
    site.replies["EPSV"] = "500 What?"
    site.files["a"] = b"hello"
    one = await fetched(folder, site.url("a"))
    assert (one.error, one.response.read()) == ("", b"hello")


REFUSED = [
    ({"USER": "530 Too many users"}, "FTP: 530 Too many users", 530, False),
    ({"PASS": "421 Come back later"}, "FTP: 421 Come back later", 421, True),
    ({"EPSV": "500 No", "PASV": "500 No"}, "FTP: 500 No", 500, False),
    ({"EPSV": "500 No", "PASV": "227 Yes"}, "FTP: 227 Yes", 227, False),
    ({"RETR": "450 Busy"}, "FTP: 450 Busy", 450, True),
    ({"RETR": "226 Done already"}, "FTP: unexpected reply 226 Done already", 226, False),
    ({"TYPE": "200-a\r\n" * 300}, "FTP: a reply without an end", 230, False),
    ({"TYPE": "200 " + "x" * 200_000}, "FTP: a line without an end", 230, False),
    ({}, "FTP: 550 No such folder", 550, False),
]


@pytest.mark.parametrize(("replies", "error", "status", "again"), REFUSED)
async def test_a_refusal_is_an_error(
    site: FtpServer,
    folder: Path,
    replies: dict[str, str],
    error: str,
    status: int,
    again: bool,
) -> None:
    site.replies.update(replies)
    one = await fetched(folder, site.url("missing"))
    assert (one.error, one.is_retryable) == (error, again)
    assert one.status == status
    assert one.transcript
    await eventually(lambda: site.open == 0)


async def drip(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.01)


SLOW = [
    ({"stall": 0.2}, "fewer than 1,024 bytes within 0.2 s", True),
    ({"total": 1}, "not complete after 1 s", False),
]


@pytest.mark.parametrize(("limits", "error", "again"), SLOW)
async def test_a_slow_server_frees_its_slot(
    site: FtpServer, folder: Path, limits: dict[str, Any], error: str, again: bool
) -> None:
    site.files["a"] = b"hello"
    site.send = drip
    one = await fetched(folder, site.url("a"), **limits)
    assert (one.error, one.is_retryable, one.truncated) == (error, again, "time")
    assert one.response.read().startswith(b".")
    await eventually(lambda: site.open == 0)


async def test_a_file_beyond_the_size_is_cut(site: FtpServer, folder: Path) -> None:
    site.files["a"] = b"x" * 500_000
    site.end = "426 You left"
    one = await fetched(folder, site.url("a"), size=1_000)
    assert (one.error, one.truncated, one.response.size) == ("", "length", 1_000)


async def test_a_failure_after_the_data_is_an_error(site: FtpServer, folder: Path) -> None:
    site.files["a"] = b"half of it"
    site.end = "426 Transfer aborted"
    one = await fetched(folder, site.url("a"))
    assert (one.error, one.truncated) == ("FTP: 426 Transfer aborted", "disconnect")
    assert one.is_retryable


async def test_a_server_that_hangs_up_is_an_error(site: FtpServer, folder: Path) -> None:
    async def hang_up(writer: asyncio.StreamWriter) -> None:
        writer.close()
        raise ConnectionResetError

    site.files["a"] = b"hello"
    site.send = hang_up
    one = await fetched(folder, site.url("a"))
    assert one.error == "FTP: connection lost: closed by the server"
    assert one.is_retryable


async def test_private_servers_are_refused(site: FtpServer, folder: Path) -> None:
    one = await fetched(folder, site.url("a"), allow_private=False)
    assert "is not on the public Internet" in one.error
    assert site.commands == []


async def test_a_command_can_not_be_smuggled_in(site: FtpServer, folder: Path) -> None:
    one = await fetched(folder, site.url("a%0D%0ADELE%20b"))
    assert one.error == "the URL has a line break"
    assert not any("DELE" in command for command in site.commands)


def test_odd_lines_of_listings_are_left_out() -> None:
    listing = b"type=file; ../../etc/passwd\ntype=file; ..\nnonsense\n" + b"d" * 9_999
    assert links(listing, "ftp://example.com/a") == []


@given(st.binary(max_size=200), st.sampled_from([b"drwxr-xr-x ", b"type=dir; ", b"11-06-26 "]))
def test_any_listing_is_read(raw: bytes, start: bytes) -> None:
    for url in links(start + raw, "ftp://example.com/a"):
        assert url.startswith("ftp://example.com/a/")
