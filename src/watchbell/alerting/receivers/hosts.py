"""How host names of other programs become names of entities."""


def entity_of(host: str) -> str:
    """An entity's name has no colons, so those of an IPv6 address become hyphens: `[fe80::1]` is
    `fe80--1`, whichever program reports it."""
    return host.strip().removeprefix("[").removesuffix("]").replace(":", "-")
