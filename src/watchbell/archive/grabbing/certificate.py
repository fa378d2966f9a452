"""The certificate that the recording proxy shows to the browser.

One for all hosts, made in memory when a pipeline begins. The browser is told its key, and accepts
what is signed with it; nothing is installed on the system.
"""

import ssl
import tempfile
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from msgspec import Struct

_DAYS = 365


class ProxyCertificate(Struct, frozen=True):
    tls: ssl.SSLContext
    key_digest: str
    """Of the public key, as Chromium's `--ignore-certificate-errors-spki-list` has it."""


def made(folder: Path, now: float) -> ProxyCertificate:
    """`folder` has it for a moment, as the TLS library reads files only."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Watchbell recording proxy")])
    begin = datetime.fromtimestamp(now, UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=_DAYS))
        .sign(key, SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.set_alpn_protocols(["http/1.1"])
    with tempfile.NamedTemporaryFile(dir=folder, prefix="proxy-") as file:
        file.write(pem + certificate.public_bytes(Encoding.PEM))
        file.flush()
        tls.load_cert_chain(file.name)
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return ProxyCertificate(tls, b64encode(sha256(public).digest()).decode())
