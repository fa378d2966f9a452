"""Redirects lead to paths of this server only."""

import re

_LOCAL = re.compile(r"/(?![/\\])[A-Za-z0-9_.~!$&'()*+,;=:@%/?-]*")


def local(path: str, otherwise: str = "/") -> str:
    """The path, if it is on this server."""
    return path if len(path) <= 2_000 and _LOCAL.fullmatch(path) else otherwise
