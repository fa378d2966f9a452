"""Records before they have a place: digested, but without the id of their part's warcinfo."""

import uuid
from base64 import b64encode
from collections.abc import Callable, Mapping
from textwrap import wrap

from msgspec import Struct

import watchbell
from watchbell.archive.urls import netloc_of
from watchbell.archive.warc.members import Digests, most_bytes, size
from watchbell.archive.warc.records import (
    CONFORMS_TO,
    Body,
    Exchange,
    Original,
    RecordType,
    digest_text,
    http_head,
    record_head,
    revisit_fields,
    tls_fields,
    uri,
    urn,
    warc_fields,
)

SMALLEST_REVISIT = 256
"""Bytes of payload below which a revisit record would save nothing."""
PEM = "application/pem-certificate-chain"
_HEAD_AT_MOST = 1 << 18
_FIXED_FIELDS = 512


class Draft(Struct, frozen=True, kw_only=True):
    type: RecordType
    id: str
    url: str = ""
    at: float
    content_type: str
    block: bytes | Body
    block_digest: bytes
    fields: Mapping[str, str]
    status: int = 0
    media_type: str = ""
    digest: str = ""
    payload_size: int = 0

    def head(self, warcinfo: str) -> bytes:
        return record_head(
            self.type,
            record_id=self.id,
            at=self.at,
            content_type=self.content_type,
            length=size(self.block),
            block_digest=self.block_digest,
            fields={**self.fields, "WARC-Warcinfo-ID": urn(warcinfo)},
        )

    def most_bytes(self) -> int:
        """Its member is never larger."""
        fields = sum(len(name) + len(value.encode()) + 4 for name, value in self.fields.items())
        return most_bytes(_FIXED_FIELDS + fields + len(self.content_type) * 4 + size(self.block))


def warcinfo(filename: str, at: float, info: Mapping[str, str]) -> Draft:
    block = warc_fields(
        {
            "software": f"Watchbell/{watchbell.__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": CONFORMS_TO,
            **info,
        }
    )
    return Draft(
        type="warcinfo",
        id=str(uuid.uuid4()),
        at=at,
        content_type="application/warc-fields",
        block=block,
        block_digest=Digests(block, None).block,
        fields={"WARC-Filename": filename},
    )


def request(exchange: Exchange) -> Draft:
    return Draft(
        type="request",
        id=str(uuid.uuid4()),
        url=exchange.url,
        at=exchange.at,
        content_type="application/http; msgtype=request",
        block=exchange.request,
        block_digest=Digests(exchange.request, None).block,
        fields={
            "WARC-Target-URI": uri(exchange.url),
            "WARC-IP-Address": exchange.ip,
            **tls_fields(exchange.tls),
        },
    )


def response(
    exchange: Exchange, request_id: str, original_of: Callable[[str], Original | None]
) -> Draft:
    """The response, or a revisit record without payload if `original_of` knows its digest."""
    block = exchange.response
    first = block if isinstance(block, bytes) else block.read(0, _HEAD_AT_MOST)
    head = http_head(first, exchange.head_size)
    digests = Digests(block, head.size or None)
    digest = digest_text(digests.payload)
    payload_size = size(block) - head.size if head.size else 0
    fields = {
        "WARC-Target-URI": uri(exchange.url),
        "WARC-Concurrent-To": urn(request_id),
        "WARC-IP-Address": exchange.ip,
        "WARC-Payload-Digest": f"sha1:{digest}" if digest else "",
        "WARC-Truncated": exchange.truncated,
        **tls_fields(exchange.tls),
    }
    kind: RecordType = "response"
    block_digest = digests.block
    if exchange.may_be_revisit and not exchange.truncated and payload_size >= SMALLEST_REVISIT:
        original = original_of(digest)
        if original:
            kind, block = "revisit", first[: head.size]
            fields |= revisit_fields(original)
            block_digest = Digests(block, None).block
    return Draft(
        type=kind,
        id=str(uuid.uuid4()),
        url=exchange.url,
        at=exchange.at,
        content_type="application/http; msgtype=response",
        block=block,
        block_digest=block_digest,
        fields=fields,
        status=head.status,
        media_type=head.media_type,
        digest=digest,
        payload_size=payload_size,
    )


def resource(
    url: str, at: float, block: bytes | Body, content_type: str, ip: str, concurrent_to: str
) -> Draft:
    """Its block is its payload, so one digest says everything."""
    digest = Digests(block, None).block
    return Draft(
        type="resource",
        id=str(uuid.uuid4()),
        url=url,
        at=at,
        content_type=content_type,
        block=block,
        block_digest=digest,
        fields={
            "WARC-Target-URI": uri(url),
            "WARC-Concurrent-To": urn(concurrent_to),
            "WARC-IP-Address": ip,
        },
        media_type=content_type.partition(";")[0].strip(),
        digest=digest_text(digest),
        payload_size=size(block),
    )


def certificates(exchange: Exchange, request_id: str) -> list[Draft]:
    """What a server proved its name with, if it is to be recorded."""
    if exchange.tls is None or not exchange.tls.certificates:
        return []
    text = "".join(map(_pem, exchange.tls.certificates)).encode()
    # Under the URL of the page, programs that replay it would show its certificate.
    url = f"urn:X-watchbell:certificate:{netloc_of(exchange.url)}"
    return [metadata(url, exchange.at, text, PEM, request_id)]


def _pem(der: bytes) -> str:
    lines = "\n".join(wrap(b64encode(der).decode(), 64))
    return f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----\n"


def metadata(
    url: str, at: float, block: bytes | Body, content_type: str, concurrent_to: str
) -> Draft:
    return Draft(
        type="metadata",
        id=str(uuid.uuid4()),
        url=url,
        at=at,
        content_type=content_type,
        block=block,
        block_digest=Digests(block, None).block,
        fields={"WARC-Target-URI": uri(url), "WARC-Concurrent-To": urn(concurrent_to)},
    )
