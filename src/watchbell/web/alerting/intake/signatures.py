"""RSA signatures (PKCS #1, version 1.5) by the key of a certificate: checked, never made.

What is checked is public, so nothing here has to take the same time for all.
"""

import binascii
import hashlib
import hmac

from msgspec import Struct

_BEGIN, _END = "-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"
_RSA = bytes.fromhex("06092a864886f70d010101")
_SEQUENCE, _INTEGER, _BITS, _VERSION = 0x30, 0x02, 0x03, 0xA0
_LEAST_BITS, _MOST_BITS = 2_048, 16_384
# What stands before a digest of each kind in what is signed.
_PREFIXES = {
    "sha1": bytes.fromhex("3021300906052b0e03021a05000414"),
    "sha256": bytes.fromhex("3031300d060960864801650304020105000420"),
}


class Key(Struct, frozen=True):
    modulus: int
    exponent: int


class NoCertificate(ValueError):
    """Its text says what was expected."""


def key_of(pem: str) -> Key:
    """The RSA key that a certificate is for. Who issued it is not looked at: it is as good as the
    place that it comes from."""
    begin, end = pem.find(_BEGIN), pem.find(_END)
    if begin < 0 or end < begin:
        raise NoCertificate("expected a certificate in PEM")
    try:
        der = binascii.a2b_base64("".join(pem[begin + len(_BEGIN) : end].split()))
    except (binascii.Error, ValueError):
        raise NoCertificate("expected a certificate in PEM") from None
    whole, _ = _taken(der, _SEQUENCE)
    body, _ = _taken(whole, _SEQUENCE)
    if body[:1] == bytes([_VERSION]):
        _, body = _taken(body, _VERSION)
    _, body = _taken(body, _INTEGER)
    for _ in ("algorithm", "issuer", "validity", "subject"):
        _, body = _taken(body, _SEQUENCE)
    info, _ = _taken(body, _SEQUENCE)
    algorithm, info = _taken(info, _SEQUENCE)
    if not algorithm.startswith(_RSA):
        raise NoCertificate("expected a certificate of an RSA key")
    bits, _ = _taken(info, _BITS)
    numbers, _ = _taken(bits[1:], _SEQUENCE)
    modulus, numbers = _taken(numbers, _INTEGER)
    exponent, _ = _taken(numbers, _INTEGER)
    key = Key(int.from_bytes(modulus), int.from_bytes(exponent))
    if not _LEAST_BITS <= key.modulus.bit_length() <= _MOST_BITS or not 3 <= key.exponent < 1 << 33:
        raise NoCertificate(f"expected an RSA key of at least {_LEAST_BITS:,} bits")
    return key


def fits(key: Key, kind: str, text: bytes, signature: bytes) -> bool:
    """Whether the signature is one of this text. What ought to have been signed is made and
    compared as a whole: to take it apart would let through what only looks like it."""
    size = (key.modulus.bit_length() + 7) // 8
    if len(signature) != size:
        return False
    signed = pow(int.from_bytes(signature), key.exponent, key.modulus).to_bytes(size)
    digest = _PREFIXES[kind] + hashlib.new(kind, text, usedforsecurity=False).digest()
    padding = b"\xff" * (size - len(digest) - 3)
    return hmac.compare_digest(signed, b"\x00\x01" + padding + b"\x00" + digest)


def _taken(der: bytes, tag: int) -> tuple[bytes, bytes]:
    """The content of the value that comes first, which has to be of this tag, and the rest."""
    if len(der) < 2 or der[0] != tag:
        raise NoCertificate("expected a certificate as X.509 has them")
    size, begin = der[1], 2
    if size & 0x80:
        begin += size & 0x7F
        size = int.from_bytes(der[2:begin])
    if len(der) < begin + size:
        raise NoCertificate("expected a whole certificate")
    return der[begin : begin + size], der[begin + size :]
