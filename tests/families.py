"""The key families of the tests' own data, and the watch over what a test leaves in a store."""

from watchbell.cli.keys import KEYSPACES
from watchbell.store import key_counts
from watchbell.store.client import Store
from watchbell.store.families import Family, Hash, Keyspace, List, Set, SortedSet, String


class Test(Keyspace, document="tests"):
    __test__ = False

    text = String("test:text:NAME")
    brief = String("test:brief:NAME", expires=True)
    lock = String("test:lock:NAME", expires=True)
    table = Hash("test:table:NAME")
    queue = List("test:queue:NAME")
    order = List("{test:queue:QUEUE}:order:NAME")
    applied = Hash("{test:queue:QUEUE}:applied")
    members = Set("test:members:NAME")
    ranked = SortedSet("test:ranked:NAME")


keys = Test()
_SPACES: list[type[Keyspace]] = [*KEYSPACES, Test]
FAMILIES: list[Family] = [family for space in _SPACES for family in space.families()]


async def strays(store: Store) -> list[str]:
    """What is wrong with the keys in the store: of no family, of the wrong type, a wrong expiry."""
    wrong = []
    async for _, seen in key_counts.look(store, FAMILIES):
        if seen.family is None:
            named = [f for f in FAMILIES if f.matches(seen.key.removeprefix(store.prefix))]
            wrong.append(
                f"{seen.key} is a {seen.kind}, but {named[0]!r}"
                if named
                else f"{seen.key} ({seen.kind}) is of no family"
            )
        elif seen.family.expires is True and not seen.expires:
            wrong.append(f"{seen.key} has no expiry, against {seen.family!r}")
        elif seen.family.expires is False and seen.expires:
            wrong.append(f"{seen.key} expires, against {seen.family!r}")
    return wrong
