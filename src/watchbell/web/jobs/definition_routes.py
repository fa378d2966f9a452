"""Endpoints for categories, plugins, monitors and other definitions. They are alike, so they are
made alike."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from litestar import Router, delete, get, post, put
from litestar.handlers import HTTPRouteHandler
from litestar.params import JSONBody, PathParameter

from watchbell.actors import ANYTHING, Kind, Privilege, Subject, may, privilege_to
from watchbell.errors import Changed
from watchbell.jobs import definition_removal, definitions, parameters, permissions, revisions
from watchbell.jobs.model import Category, Plugin
from watchbell.jobs.validation import Record
from watchbell.web.access import needs
from watchbell.web.jobs import revision_view
from watchbell.web.jobs.definition_shapes import DefinitionRow, DefinitionShown, SavedDefinition
from watchbell.web.jobs.event_shapes import RevisionShown
from watchbell.web.problems import HttpProblem
from watchbell.web.services import Asked, actor_of, audited, services_of
from watchbell.web.versions import STALE, IfMatch, revision_of

NOTHING: Mapping[str, Any] = {}
_PATHS: dict[Kind, str] = {
    "category": "categories",
    "plugin": "plugins",
    "channel": "channels",
    "tag": "tags",
    "monitor": "monitors",
    "alert": "alert-definitions",
    "dashboard": "dashboards",
}

Id = Annotated[str, PathParameter(min_length=1, max_length=100, description="Its id.")]
Number = Annotated[int, PathParameter(ge=1, le=1 << 40, description="The number of a revision.")]


def _whole(record: Record, *, masked: bool) -> dict[str, Any]:
    if masked and isinstance(record, Plugin):
        record = parameters.without_secrets(record)
    if masked and isinstance(record, Category):
        record = parameters.masked_category(record)
    return msgspec.structs.asdict(record)


async def _saved(request: Asked, kind: Kind, record: Record, verb: str) -> SavedDefinition:
    await services_of(request).definitions.changed(kind, record.id)
    await audited(request, f"{_PATHS[kind]}.{verb}", record.id, record.title)
    return SavedDefinition(record.id, record.revision)


async def _check(
    request: Asked,
    kind: Kind,
    privilege: Privilege,
    id: str,  # noqa: A002
    values: Mapping[str, Any] = NOTHING,
) -> None:
    """Whoever is limited to categories may change those alone, and adds no action that runs what
    they may not run."""
    about = Subject(id) if kind == "category" else ANYTHING
    permissions.check(actor_of(request), privilege, about)
    store = services_of(request).store
    await permissions.check_runs(store, actor_of(request), values)
    if kind == "plugin":
        await permissions.check_monitor(store, actor_of(request), privilege, id, values)
    if kind == "alert":
        await permissions.check_alert(store, actor_of(request), privilege, id, values)


def _handlers(kind: Kind) -> list[HTTPRouteHandler]:  # noqa: C901 one closure for each endpoint
    path = f"/{_PATHS[kind]}"
    create, edit, remove = (privilege_to(verb, kind) for verb in ("create", "edit", "delete"))

    def is_masked(request: Asked) -> bool:
        return not may(actor_of(request), edit)

    @get(path, opt=needs("read"), name=f"list_{kind}", description=f"List {_PATHS[kind]}.")
    async def list_all(request: Asked) -> list[DefinitionRow]:
        catalogue = await services_of(request).definitions.catalogue()
        masked, used = is_masked(request), _uses(catalogue.events.values(), kind)
        found = sorted(catalogue.of(kind).values(), key=_order)
        rows = [DefinitionRow(_whole(one, masked=masked), used.get(one.id, 0)) for one in found]
        spoiled = [
            DefinitionRow({"id": name, "title": name}, 0, reason)
            for (one_kind, name), reason in sorted(catalogue.invalid.items())
            if one_kind == kind
        ]
        return rows + spoiled

    @post(path, opt=needs(create), name=f"create_{kind}", description=f"Add a {kind}.")
    async def add(request: Asked, data: JSONBody[dict[str, Any]]) -> SavedDefinition:
        services = services_of(request)
        await _check(request, kind, create, str(data.get("id", "")), data)
        record = await definitions.create(
            services.store, kind, data, actor_of(request), services.clock.now()
        )
        return await _saved(request, kind, record, "create")

    @get(f"{path}/{{id:str}}", opt=needs("read"), name=f"get_{kind}", description=f"Get a {kind}.")
    async def one(request: Asked, id: Id) -> DefinitionShown:  # noqa: A002
        masked = is_masked(request)
        record = await definitions.get(services_of(request).store, kind, id)
        return DefinitionShown(_whole(record, masked=masked), masked, record.revision)

    @put(
        f"{path}/{{id:str}}",
        opt=needs(edit),
        responses=STALE,
        name=f"change_{kind}",
        description=f"Change properties of a {kind}.",
    )
    async def change(
        request: Asked,
        id: Id,  # noqa: A002
        data: JSONBody[dict[str, Any]],
        if_match: IfMatch = "",
    ) -> SavedDefinition:
        services, now = services_of(request), services_of(request).clock.now()
        await _check(request, kind, edit, id, data)
        revision = revision_of(if_match)
        try:
            record = await definitions.update(
                services.store, kind, id, data, actor_of(request), now, revision
            )
        except Changed as error:
            raise HttpProblem(412, str(error)) from None
        return await _saved(request, kind, record, "update")

    @delete(
        f"{path}/{{id:str}}",
        opt=needs(remove),
        name=f"delete_{kind}",
        description=f"Delete a {kind}.",
    )
    async def drop(request: Asked, id: Id) -> None:  # noqa: A002
        services = services_of(request)
        await _check(request, kind, remove, id)
        await definition_removal.remove(
            services.store, kind, id, actor_of(request), services.clock.now()
        )
        await services.definitions.changed(kind, id)
        await audited(request, f"{_PATHS[kind]}.delete", id)

    @get(
        f"{path}/{{id:str}}/revisions",
        opt=needs("read"),
        name=f"list_revisions_of_{kind}",
        description=f"List the revisions of a {kind}, newest first.",
    )
    async def history(request: Asked, id: Id) -> list[RevisionShown]:  # noqa: A002
        found = await revisions.of(services_of(request).store, kind, id)
        return revision_view.shown(
            found, hidden=("env", "params", "actions") if is_masked(request) else ()
        )

    @post(
        f"{path}/{{id:str}}/revisions/{{number:int}}/restore",
        status_code=200,
        opt=needs(edit),
        name=f"restore_{kind}",
        description=f"Make a new revision of a {kind} like an earlier one.",
    )
    async def restore(request: Asked, id: Id, number: Number) -> SavedDefinition:  # noqa: A002
        services = services_of(request)
        for one in await revisions.of(services.store, kind, id):
            if one.revision == number:
                await _check(request, kind, edit, id, one.record or NOTHING)
        record = await revisions.restore(
            services.store, kind, id, number, actor_of(request), services.clock.now()
        )
        return await _saved(request, kind, record, "restore")

    return [list_all, add, one, change, drop, history, restore]


def _order(record: Any) -> tuple[int, str]:
    return getattr(record, "sort_order", 0), record.title.casefold()


def _uses(events: Any, kind: Kind) -> dict[str, int]:
    """How many events use each record."""
    found: dict[str, int] = {}
    for event in events:
        if kind in ("monitor", "alert", "dashboard"):
            used = set()
        elif kind == "tag":
            used = set(event.tags)
        elif kind == "channel":
            used = {action.channel_id for action in event.actions if action.channel_id}
        else:
            used = {event.category if kind == "category" else event.plugin}
        for id in used:  # noqa: A001
            found[id] = found.get(id, 0) + 1
    return found


ROUTES = Router(
    "/",
    tags=["Definitions"],
    route_handlers=[handler for kind in _PATHS for handler in _handlers(kind)],
)
