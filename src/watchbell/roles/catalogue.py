"""All roles, in the order in which the board shows them."""

from watchbell.roles import lookout
from watchbell.roles.role import Role

ROLES: list[Role] = [
    lookout.ROLE,
]
