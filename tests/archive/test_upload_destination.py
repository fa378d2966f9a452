"""Where finished files may be uploaded, and what is refused at the start."""

import pytest

from watchbell.archive.uploading.destination import destination, is_local, metadata
from watchbell.errors import BadSettings
from watchbell.settings import ArchiveUpload, Secret

KEYS = {"access_key_id": "key", "secret": Secret("s3cret")}


@pytest.mark.parametrize(
    ("url", "kind", "expected"),
    [
        ("files", "files", ""),
        ("s3://bucket", "objects", "s3://bucket"),
        ("s3://bucket/folder/", "objects", "s3://bucket/folder"),
        ("file:///srv/warcs", "objects", "file:///srv/warcs"),
        ("ia://bell", "internet archive", "bell"),
        ("rsync://a.example.com/in/", "rsync daemon", "rsync://a.example.com/in/"),
        (
            "rsync://al@a.example.com:8730/in/x/",
            "rsync daemon",
            "rsync://al@a.example.com:8730/in/x/",
        ),
        ("alice@a.example.com:/srv/in/", "rsync over ssh", "alice@a.example.com:/srv/in/"),
        ("a.example.com:in/", "rsync over ssh", "a.example.com:in/"),
        ("[2001:db8::1]:in/", "rsync over ssh", "[2001:db8::1]:in/"),
    ],
)
def test_a_destination_is_recognised(url: str, kind: str, expected: str) -> None:
    found = destination(ArchiveUpload(url=url, **KEYS))  # type: ignore[arg-type]
    assert found
    assert (found.kind, found.url) == (kind, expected)


def test_nothing_is_uploaded_by_default() -> None:
    assert destination(ArchiveUpload()) is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("rsync://a.example.com/in", "ends with /"),
        ("alice@a.example.com:in", "ends with /"),
        ("rsync://localhost/in/", "allow_local"),
        ("rsync://127.0.0.2:8730/in/", "allow_local"),
        ("alice@[::1]:in/", "allow_local"),
        ("rsync://alice:s3cret@a.example.com/in/", "archive.upload.secret"),
        ("rsync://a.example.com/", "expected files"),
        ("http://a.example.com/", "expected files"),
        ("file", "expected files"),
        ("-oProxyCommand=x:in/", "expected files"),
        ("s3://", "names no bucket"),
        ("ia://", "prefix"),
        ("ia://a/b", "prefix"),
    ],
)
def test_a_destination_that_can_not_work_is_refused(url: str, reason: str) -> None:
    with pytest.raises(BadSettings) as refused:
        destination(ArchiveUpload(url=url, **KEYS))  # type: ignore[arg-type]
    assert reason in str(refused.value)
    assert "s3cret" not in str(refused.value)


def test_a_tunnel_to_another_machine_may_be_allowed() -> None:
    assert destination(ArchiveUpload(url="rsync://localhost:8730/in/", allow_local=True))


def test_the_internet_archive_needs_keys() -> None:
    with pytest.raises(BadSettings, match="access_key_id and secret"):
        destination(ArchiveUpload(url="ia://bell"))


def test_metadata_is_checked_at_the_start() -> None:
    chosen = ArchiveUpload(metadata=("Collection: opensource", "subject: a: b"))
    assert metadata(chosen) == [("collection", "opensource"), ("subject", "a: b")]
    for bad in ("collection", "a b: c", "x:", "x: a\nb"):
        with pytest.raises(BadSettings, match="NAME: VALUE"):
            destination(ArchiveUpload(metadata=(bad,)))


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST.", True),
        ("x.localhost", True),
        ("127.1.2.3", True),
        ("[::1]", True),
        ("0.0.0.0", True),
        ("10.0.0.1", False),
        ("localhost.example.com", False),
    ],
)
def test_this_machine_is_recognised(host: str, expected: bool) -> None:
    assert is_local(host) is expected
