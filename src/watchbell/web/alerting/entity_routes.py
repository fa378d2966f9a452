"""Endpoints for entities: what is watched, with tags and contacts."""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import JSONBody, QueryParameter
from msgspec.structs import replace

from watchbell import ids
from watchbell.alerting import entities, json_items
from watchbell.alerting.entities import Entity
from watchbell.alerting.json_items import Taken
from watchbell.alerting.keys import ALL
from watchbell.errors import NotFound
from watchbell.web.access import needs
from watchbell.web.alerting.check_filter import CheckFilter
from watchbell.web.alerting.contact_routes import Rows
from watchbell.web.alerting.entity_shapes import EntityBody, EntityView
from watchbell.web.alerting.imports import import_items
from watchbell.web.listing import Limit, Page, paged
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, audited, services_of
from watchbell.web.versions import STALE, IfMatch, fits, version

Named = Annotated[
    str, QueryParameter(min_length=1, max_length=500, description="An entity's name, or `ALL`.")
]
Text = Annotated[str, QueryParameter(max_length=200, description="Part of a name or a tag.")]
Tagged = Annotated[str, QueryParameter(max_length=200, description="Only entities with this tag.")]
Of = Annotated[
    str,
    QueryParameter(max_length=500, description="Only entities that this contact is alerted about."),
]
Failing = Annotated[bool, QueryParameter(description="Only entities with a failing check.")]
Cursor = Annotated[
    str, QueryParameter(max_length=1_000, description="`next` of the previous page.")
]


@get("/entities", opt=needs("read"))
async def all_entities(
    request: Asked,
    text: Text = "",
    tag: Tagged = "",
    contact: Of = "",
    failing: Failing = False,
    cursor: Cursor = "",
    limit: Limit = 100,
) -> Page[EntityView]:
    """List entities by name.

    The contacts of `ALL` are alerted about every entity. Changes by other programs appear
    within seconds.
    """
    seen = await services_of(request).directory_cache.current()
    failures = await _failures(request)
    chosen = [
        one
        for one in seen.entities
        if _has(one, text.lower())
        and (not tag or tag in one.tags)
        and (not contact or entities.links([one], contact))
        and (not failing or failures[one.name])
    ]
    page = paged(sorted(chosen, key=_order), _order, cursor, limit)
    return Page(await _views(request, page.items, failures), page.next)


async def _failures(request: Asked) -> Counter[str]:
    """How many checks of each entity fail now."""
    _, failing = await services_of(request).check_table.view(CheckFilter(failing=True), "severity")
    return Counter(row.entity for row in failing.order)


def _order(entity: Entity) -> str:
    """By name, then by id, because other programs may write two ids with one name."""
    return f"{entity.name}\t{entity.id}"


def _has(entity: Entity, text: str) -> bool:
    return any(text in one.lower() for one in (entity.name, *entity.tags))


@get("/entity", opt=needs("read"))
async def one_entity(request: Asked, name: Named) -> EntityView:
    """Get an entity."""
    return await _one(request, name)


@post("/entities", opt=needs("write"))
async def add_entity(request: Asked, data: JSONBody[EntityBody]) -> EntityView:
    """Add an entity before anything reports about it."""
    entity = _entity(Entity(id=ids.token(), name=""), data)
    entities.checked(entity)
    if any(
        one.name == entity.name
        for one in (await services_of(request).directory_cache.current()).entities
    ):
        raise HttpProblem(422, f"entity {entity.name} already exists", field="name")
    await _save(request, entity)
    await audited(request, "entity.add", entity.name)
    return await _one(request, entity.name)


@put("/entity", opt=needs("write"), responses=STALE)
async def change_entity(
    request: Asked, name: Named, data: JSONBody[EntityBody], if_match: IfMatch = ""
) -> EntityView:
    """Change the name, tags and contacts of an entity.

    Earlier reports and the contacts of single checks stay under the old name.
    """
    before = await _known(request, name)
    fits(if_match, version(before))
    if before.id == ALL and (data.name != ALL or data.tags):
        raise HttpProblem(
            422, "ALL stands for every entity and can have contacts only", field="name"
        )
    after = _entity(before, data)
    entities.checked(after)
    await _save(request, after)
    renamed = f"renamed to {after.name}" if after.name != before.name else ""
    await audited(request, "entity.change", name, renamed)
    return await _one(request, after.name)


@delete("/entity", opt=needs("write"))
async def remove_entity(request: Asked, name: Named) -> None:
    """Delete the id, tags and contacts of an entity.

    The reports of its checks stay, and the next report creates it again.
    """
    entity = await _known(request, name)
    await entities.remove(services_of(request).store, entity.id)
    services_of(request).directory_cache.forget()
    await audited(request, "entity.remove", name)


@get("/entities/export", opt=needs("read"))
async def export_entities(request: Asked) -> list[dict[str, Any]]:
    """Export all entities.

    The answer can be imported again.
    """
    found = await entities.find(services_of(request).store)
    return [msgspec.to_builtins(one) for one in found]


@post("/entities/import", status_code=200, opt=needs("write"))
async def import_entities(request: Asked, data: JSONBody[Rows]) -> list[Taken]:
    """Import entities.

    An item replaces the entity with its id, and can change its name. Invalid items are
    reported, and the others are imported.
    """
    services = services_of(request)
    survey = await entities.survey(services.store)

    async def one(item: json_items.Item) -> None:
        with_checks = item.get("check_contacts") is not None
        entity = json_items.entity(item)
        await entities.save(services.store, entity, with_checks=with_checks, seen=survey)

    return await import_items(request, data, json_items.EntityItem, one, "entities.import")


async def _one(request: Asked, name: str) -> EntityView:
    found = [await _known(request, name)]
    [view] = await _views(request, found, await _failures(request))
    return view


async def _known(request: Asked, name: str) -> Entity:
    wanted = name if name == ALL else name.lower()
    for one in (await services_of(request).directory_cache.current()).entities:
        if one.name == wanted:
            return one
    raise NotFound(f"there is no entity {name[:80]}")


def _entity(before: Entity, data: EntityBody) -> Entity:
    return replace(
        before,
        name=data.name if before.id == ALL else entities.named(data.name),
        tags=tuple(dict.fromkeys(data.tags)),
        contacts=tuple(dict.fromkeys(data.contacts)),
    )


async def _save(request: Asked, entity: Entity) -> None:
    services = services_of(request)
    try:
        await entities.save(services.store, entity)
    finally:
        services.directory_cache.forget()


async def _views(
    request: Asked, found: list[Entity], failures: Mapping[str, int]
) -> list[EntityView]:
    counts = await entities.check_counts(services_of(request).store, [one.name for one in found])
    return [
        EntityView(
            name=one.name,
            id=one.id,
            tags=list(one.tags),
            contacts=list(one.contacts),
            check_contacts={check: list(ids) for check, ids in one.check_contacts.items()},
            checks=count,
            failing=failures.get(one.name, 0),
            version=version(one),
        )
        for one, count in zip(found, counts, strict=True)
    ]


ROUTES = Router(
    "/",
    tags=["Entities"],
    route_handlers=[
        *(all_entities, one_entity, add_entity, change_entity, remove_entity),
        *(export_entities, import_entities),
    ],
)
