"""Uploads to items of the Internet Archive, by its variant of S3."""

import base64
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from html import unescape
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from watchbell.archive.uploading.target import Found, Outgoing, Progress, UploadFailed
from watchbell.archive.urls import host_of
from watchbell.http.client import AGENT
from watchbell.settings import Secret

ENDPOINT = "https://s3.us.archive.org"
DOWNLOADS = "https://archive.org/download"
_LONGEST_ITEM = 100
_CONNECT, _SILENCE = 60, 900
"""Seconds; it may take minutes to answer."""
_MESSAGE = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_CODE = re.compile(r"<Code>(.*?)</Code>")
_LOST_CAUSES = (400, 403, 404, 409, 411, 413)
"""Answers that concern a file or its item, unless it is about our keys."""
_BAD_KEYS = ("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidSecurity")


class InternetArchive:
    patience = 86_400.0
    """Its items change by tasks, which wait for each other."""

    def __init__(
        self,
        prefix: str,
        endpoint: str,
        key: str,
        secret: Secret,
        metadata: Sequence[tuple[str, str]],
    ) -> None:
        self._prefix, self._key, self._secret = prefix, key, secret
        self._endpoint = (endpoint or ENDPOINT).rstrip("/")
        self._downloads = self._endpoint if endpoint else DOWNLOADS
        self._metadata = metadata
        self._session: aiohttp.ClientSession | None = None
        self.shown = f"the Internet Archive ({self._endpoint})"

    async def look(self, file: Outgoing) -> Found:
        async with self._asked("HEAD", self._address(file)) as answer:
            if answer.status in (403, 404):  # why it is forbidden, only an attempt to send tells
                return Found.MISSING
            await self._check(answer)
            etag = answer.headers.get("ETag", "").strip('"')
            is_same = (etag, answer.content_length) == (file.digests.md5, file.size)
            return Found.SAME if is_same else Found.OTHER

    async def send(self, file: Outgoing, progress: Progress) -> None:
        await self._check_limit(file)
        md5 = base64.b64encode(bytes.fromhex(file.digests.md5)).decode()
        headers = {
            **item_headers(file, self._metadata),
            "Content-MD5": md5,
            "Content-Length": str(file.size),
        }
        pieces = file.pieces(progress)
        async with self._asked("PUT", self._address(file), headers, pieces) as answer:
            await self._check(answer)

    async def _check_limit(self, file: Outgoing) -> None:
        """It asks uploaders to look first whether it has too much to do."""
        asked = {"check_limit": "1", "accesskey": self._key, "bucket": self._item(file)}
        async with self._asked("GET", f"{self._endpoint}/", params=asked) as answer:
            await self._check(answer)
            body = await answer.content.read(1 << 16)
        try:
            limit = msgspec.json.decode(body, type=dict[str, object]).get("over_limit")
        except msgspec.MsgspecError:
            raise UploadFailed(f"{self.shown} gave no answer about its limits") from None
        if limit:
            raise UploadFailed(f"{self.shown} has too much to do now and asks to wait")

    def place(self, file: Outgoing) -> str:
        return f"{self._downloads}/{self._item(file)}/{quote(file.name)}"

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _item(self, file: Outgoing) -> str:
        return item_of(self._prefix, file.url, file.started_at)

    def _address(self, file: Outgoing) -> str:
        return f"{self._endpoint}/{self._item(file)}/{quote(file.name)}"

    @asynccontextmanager
    async def _asked(
        self,
        method: str,
        address: str,
        headers: Mapping[str, str] | None = None,
        body: AsyncIterator[bytes] | None = None,
        params: Mapping[str, str] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT, sock_read=_SILENCE)
            self._session = aiohttp.ClientSession(timeout=timeout, headers={"User-Agent": AGENT})
        login = {"Authorization": f"LOW {self._key}:{self._secret.reveal()}"}
        try:
            async with self._session.request(
                method,
                URL(address, encoded=True).with_query(params)
                if params
                else URL(address, encoded=True),
                headers={**login, **(headers or {})},
                data=body,
                allow_redirects=False,
            ) as answer:
                yield answer
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = str(error) or type(error).__name__
            raise UploadFailed(f"{self.shown} can't be used: {reason}") from error

    async def _check(self, answer: aiohttp.ClientResponse) -> None:
        if answer.status in (200, 204):
            return
        text = (await answer.content.read(1 << 16)).decode(errors="replace")
        message = _MESSAGE.search(text)
        words = " ".join(unescape(message[1]).split())[:300] if message else answer.reason or ""
        reason = f"{self.shown} answered {answer.status}: {words}"
        code = _CODE.search(text)
        is_outage = answer.status not in _LOST_CAUSES or (code is not None and code[1] in _BAD_KEYS)
        raise UploadFailed(reason, is_outage=is_outage)


def item_of(prefix: str, url: str, started_at: float) -> str:
    """`PREFIX_HOST_DATE`: all crawls of a host on one day share an item."""
    date = f"{datetime.fromtimestamp(started_at, UTC):%Y%m%d}"
    host = re.sub(r"[^a-z0-9.-]", "-", host_of(url).lower()) or "unknown"
    room = _LONGEST_ITEM - len(prefix) - len(date) - 2
    return f"{prefix}_{host[:room]}_{date}"


def item_headers(file: Outgoing, metadata: Sequence[tuple[str, str]]) -> dict[str, str]:
    """What makes an item and describes it. Settings replace what we would say."""
    date = f"{datetime.fromtimestamp(file.started_at, UTC):%Y-%m-%d}"
    said = {
        "mediatype": ["web"],
        "title": [f"{host_of(file.url)}, archived {date}"],
        "date": [date],
        "originalurl": [file.url],
        "subject": ["web archive"],
    }
    given: dict[str, list[str]] = {}
    for name, value in metadata:
        given.setdefault(name, []).append(value)
    headers = {
        "x-amz-auto-make-bucket": "1",
        "x-archive-size-hint": str(file.total),
        "x-archive-queue-derive": "1" if file.is_last else "0",
        "x-archive-keep-old-version": "1",
    }
    for name, values in {**said, **given}.items():
        for number, value in enumerate(values, 1):
            index = f"{number:02d}" if len(values) > 1 else ""
            headers[f"x-archive-meta{index}-{name.replace('_', '--')}"] = _value(value)
    return headers


def _value(text: str) -> str:
    is_plain = text.isascii() and text.isprintable() and not text.startswith("uri(")
    return text if is_plain else f"uri({quote(text, safe='')})"
