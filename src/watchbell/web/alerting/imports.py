"""Importing items of a file: each by itself, and one line in the audit log for all."""

from collections.abc import Awaitable, Callable

from watchbell.alerting import json_items
from watchbell.alerting.json_items import Item, Taken
from watchbell.web.services import Asked, audited, services_of


async def import_items(
    request: Asked,
    items: list[Item],
    kind: type[json_items.ContactItem | json_items.EntityItem],
    save: Callable[[Item], Awaitable[None]],
    action: str,
) -> list[Taken]:
    try:
        taken = [done async for done in json_items.each_taken(items, kind, save)]
    finally:
        services_of(request).directory_cache.forget()
    done = sum(each.status == "imported" for each in taken)
    await audited(request, action, details=f"{done:,} of {len(items):,} items")
    return taken
