"""Real servers on loopback: one, Debian's, one behind TLS, a Sentinel set and a Cluster."""

from tests.servers.clusters import Cluster, cluster
from tests.servers.process import HOST, Certificates, Server, _spawner, held_port
from tests.servers.sentinels import SentinelSet, sentinel
from tests.servers.singles import DEBIAN, Single, certificates, debian, single, tls

__all__ = [
    "DEBIAN",
    "HOST",
    "Certificates",
    "Cluster",
    "SentinelSet",
    "Server",
    "Single",
    "_spawner",
    "certificates",
    "cluster",
    "debian",
    "held_port",
    "sentinel",
    "single",
    "tls",
]
