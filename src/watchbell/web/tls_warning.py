"""Whether others on the network can read what they should not."""

from ipaddress import ip_address

from watchbell.settings import Web

EXPOSED = "other machines can reach the web server, and passwords travel unencrypted"
ADVICE = "set web.tls_cert and web.tls_key, or web.host to 127.0.0.1 behind a proxy that speaks TLS"
WARNING = f"{EXPOSED}; {ADVICE}"
NO_SIGN_IN = (
    "other machines can reach the dashboard of the archive, and read the logs of all crawls "
    "without signing in"
)
NO_SIGN_IN_ADVICE = "set archive.dashboard.host to 127.0.0.1, unless that is what you want"


def is_exposed(settings: Web) -> bool:
    return bool(settings.port) and not settings.tls_cert and not is_local(settings.host)


def is_local(host: str) -> bool:
    """Whether only programs on this machine reach it."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
