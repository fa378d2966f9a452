"""The key families of the gateways: what is on its way, what was given up, status."""

from watchbell.store.families import Hash, Keyspace, List, SortedSet, String


class Gateways(Keyspace, document="watchbell"):
    """A lane holds what waits for one address; LANE is a digest of the address, and CHECK one of
    both address and check, within which alerts stay in their order."""

    outbox = Hash("gateway:MEDIA:outbox")
    alerts = List("gateway:MEDIA:alerts:LANE_CHECK")
    checks = SortedSet("gateway:MEDIA:checks:LANE")
    lane = List("gateway:MEDIA:lane:LANE")
    lanes = SortedSet("gateway:MEDIA:lanes")
    claims = Hash("gateway:MEDIA:claims")
    failed = SortedSet("gateway:MEDIA:failed")
    failures = Hash("gateway:MEDIA:failures")
    status = Hash("gateway:MEDIA:status")
    heard = String("gateway:MEDIA:heard:MESSAGE", expires=True)
    link_secret = String("gateway_link_secret")
