"""What each endpoint needs, and who sends a request."""

from msgspec import Struct

from watchbell.actors import Actor, Privilege, Role

SESSION_COOKIES = ("watchbell", "__Host-watchbell")
"""The cookie of a session over HTTP, and over HTTPS."""


class Access(Struct, frozen=True):
    """What an endpoint needs: a privilege, or nothing where it is public."""

    scope: Privilege | None


class AgentAccess(Struct, frozen=True):
    """An endpoint for agents, which send a token of their own."""


class CallAccess(Struct, frozen=True):
    """The app API: keys are also sent as its clients do, and each handler says what it needs."""


PUBLIC = {"access": Access(None)}
CALLS = {"access": CallAccess()}
AGENTS = {"access": AgentAccess()}


def needs(scope: Privilege) -> dict[str, Access]:
    """The `opt` of an endpoint. One without any is refused to everybody."""
    return {"access": Access(scope)}


class Identity(Struct, frozen=True, kw_only=True):
    """Who sends a request, and by which session or key."""

    actor: Actor
    role: Role
    session: str = ""
    """The session's id, where it is one."""
    csrf: str = ""
    may_forget: bool = False
    """Whether a new password may be set without the old one."""

    @property
    def name(self) -> str:
        return self.actor.name
