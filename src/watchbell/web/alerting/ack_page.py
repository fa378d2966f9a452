"""The page behind acknowledgement links, as the gateways render it."""

from litestar import MediaType, Response, Router, get, post
from litestar.params import FromPath

from watchbell.gateways.ack_page import BODY_MOST, HEADERS, Page
from watchbell.web.access import PUBLIC
from watchbell.web.services import Asked, address_of, services_of


def _sent(page: Page) -> Response[str]:
    return Response(page.html, status_code=page.status, headers=HEADERS, media_type=MediaType.HTML)


@get("/ack/{token:str}", opt=PUBLIC, include_in_schema=False)
async def ask(request: Asked, token: FromPath[str]) -> Response[str]:
    return _sent(await services_of(request).answers.ask(token))


@post("/ack/{token:str}", opt=PUBLIC, include_in_schema=False, request_max_body_size=BODY_MOST)
async def acknowledge(request: Asked, token: FromPath[str]) -> Response[str]:
    """Public, because the link itself is the permission: it is signed, and for one check."""
    form = {name: str(value) for name, value in (await request.form()).items()}
    answers = services_of(request).answers
    return _sent(await answers.acknowledge(token, form, address_of(request)))


ROUTES = Router("/", route_handlers=[ask, acknowledge])
