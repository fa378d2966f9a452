"""RSA signatures (PKCS #1, version 1.5) by the key of a certificate: verified, never made."""

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

_LEAST_BITS, _MOST_BITS = 2_048, 16_384
_DIGESTS: dict[str, hashes.HashAlgorithm] = {"sha1": hashes.SHA1(), "sha256": hashes.SHA256()}  # noqa: S303 of SNS, version 1


class NoCertificate(ValueError):
    """Its text says what was expected."""


def key_of(pem: str) -> RSAPublicKey:
    """The RSA key that a certificate is for. Its issuer is not verified: the certificate is as
    trustworthy as the place that it was fetched from."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode(errors="replace"))
        key = certificate.public_key()
    except (ValueError, UnsupportedAlgorithm):
        raise NoCertificate("expected a certificate in PEM") from None
    if not isinstance(key, RSAPublicKey):
        raise NoCertificate("expected a certificate of an RSA key")
    if not _LEAST_BITS <= key.key_size <= _MOST_BITS:
        raise NoCertificate(f"expected an RSA key of at least {_LEAST_BITS:,} bits")
    return key


def fits(key: RSAPublicKey, digest: str, text: bytes, signature: bytes) -> bool:
    """Whether the signature is one of this text."""
    try:
        key.verify(signature, text, PKCS1v15(), _DIGESTS[digest])
    except InvalidSignature:
        return False
    return True
