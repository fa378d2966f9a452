"""A client of the app API, which checks that answers have the documented form."""

from typing import Any

from tests.web.site import Answer, Visitor
from watchbell.web.app_api.table import HANDLERS


class AppClient:
    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.answered: set[str] = set()
        """The handlers that have answered without an error."""

    async def ask(self, name: str, **parameters: Any) -> Answer:
        return await self.visitor.post(f"/api/app/{name}/v1", json=parameters)

    async def ok(self, name: str, **parameters: Any) -> Any:
        answer = await self.ask(name, **parameters)
        assert answer.status == 200, answer.text
        found = answer.json()
        assert found["code"] == 0
        assert set(found) == {"code", *HANDLERS[name].gives}, name
        self.answered.add(name)
        return found

    async def refused(self, name: str, code: str, status: int, **parameters: Any) -> str:
        """Returns the description."""
        answer = await self.ask(name, **parameters)
        found: dict[str, str] = answer.json()
        assert (found["code"], answer.status) == (code, status), answer.text
        assert set(found) == {"code", "description"}
        return found["description"]
