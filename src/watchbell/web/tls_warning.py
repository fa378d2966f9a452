"""Whether requests can be read on the network."""

from ipaddress import ip_address

from watchbell.settings import Web

EXPOSED = "other machines can reach the web server, and passwords travel unencrypted"
ADVICE = "set web.tls_cert and web.tls_key, or web.host to 127.0.0.1 behind a proxy that speaks TLS"
WARNING = f"{EXPOSED}; {ADVICE}"


def is_exposed(settings: Web) -> bool:
    if settings.tls_cert or not settings.port:
        return False
    try:
        return not ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host != "localhost"
