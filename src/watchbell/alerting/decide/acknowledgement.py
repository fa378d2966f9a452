"""Whether the failure of a check can be acknowledged, and why not."""

from enum import Enum

from watchbell.actors import Actor
from watchbell.alerting.decide.maintenance import Maintenance
from watchbell.alerting.model import FAILING


class Refusal(Enum):
    """Why a failure can't be acknowledged; people read the values."""

    NOT_FAILING = "it is not failing; there is nothing to acknowledge"
    SCHEDULED = "it is in scheduled maintenance, in which nobody is notified anyway"


def refusal(state: str | None, maintenance: Maintenance | None) -> Refusal | None:
    if state not in FAILING:
        return Refusal.NOT_FAILING
    return Refusal.SCHEDULED if maintenance is Maintenance.SCHEDULED else None


def summary(actor: Actor, comment: str) -> str:
    """The text of an acknowledgement: who made it, and the comment."""
    name = actor.display_name
    return f"{name}: {comment}" if comment else f"Acknowledged by {name}"
