"""A folder and an S3 server on loopback: whatever stores files is tested on both."""

import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from moto.server import ThreadedMotoServer

from watchbell.files.objects import Files, opened
from watchbell.settings import Files as Settings
from watchbell.settings import Secret

BUCKET = "watchbell-tests"


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The address of an S3 server with an empty bucket."""
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    made = urllib.request.Request(f"{address}/{BUCKET}", method="PUT")
    with urllib.request.urlopen(made) as answer:
        assert answer.status == 200
    yield address
    server.stop()


def s3(endpoint: str, folder: str, secret: str = "secret") -> Settings:
    return Settings(
        url=f"s3://{BUCKET}/{folder}",
        endpoint=endpoint,
        region="us-east-1",
        access_key_id="key",
        secret_access_key=Secret(secret),
    )


@pytest.fixture(params=["folder", "s3"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "folder":
        return opened(Settings(), tmp_path)
    return opened(
        s3(request.getfixturevalue("endpoint"), f"{os.getpid()}-{tmp_path.name}"), tmp_path
    )
