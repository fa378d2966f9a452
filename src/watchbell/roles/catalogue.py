"""All roles, in the order in which the board shows them."""

from watchbell.roles import (
    agent,
    alerting,
    archivist,
    broker,
    conductor,
    cron,
    dashboard,
    flapjack_api,
    gateways,
    irc,
    oobetet,
    pipeline,
    purger,
    store_monitor,
    web,
)
from watchbell.roles.role import Role, Several
from watchbell.settings import Settings

ROLES: list[Role | Several] = [
    alerting.PROCESSOR,
    alerting.NOTIFIER,
    alerting.SILENCE,
    broker.ROLE,
    gateways.ROLES,
    gateways.ANSWERS,
    cron.ROLE,
    conductor.ROLE,
    archivist.ROLE,
    irc.ROLES,
    pipeline.ROLE,
    purger.ROLE,
    store_monitor.ROLE,
    web.ROLE,
    flapjack_api.ROLE,
    dashboard.ROLES,
    agent.ROLE,
]

OUTSIDE: list[Role | Several] = [oobetet.ROLES]
"""Roles that run only by name, apart from the others and without a store."""


def chosen(settings: Settings, *names: str) -> list[Role]:
    """The roles with these names, or all that the settings enable."""
    found: list[Role] = []
    for role in [*ROLES, *OUTSIDE] if names else ROLES:
        if not names or role.name in names:
            found += role.roles(settings) if isinstance(role, Several) else [role]
    return found
