"""All roles, in the order in which the board shows them."""

from watchbell.roles import alerting, lookout, purger
from watchbell.roles.role import Role

ROLES: list[Role] = [
    alerting.PROCESSOR,
    alerting.NOTIFIER,
    alerting.SILENCE,
    purger.ROLE,
    lookout.ROLE,
]
