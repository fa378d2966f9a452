from typing import Any

import pytest
from msgspec.structs import replace

from tests.web.site import chosen
from watchbell.errors import BadSettings
from watchbell.jobs import job_defaults
from watchbell.jobs.model import Action, Limit
from watchbell.settings import Settings, Tables


def given(**tables: Any) -> Settings:
    return replace(chosen(), job_defaults=Tables(tables))


def test_settings_add_variables_limits_and_actions_to_all_jobs() -> None:
    found = job_defaults.of(
        given(
            env={"LANG": "C.UTF-8"},
            longest={"type": "time", "duration": 3_600},
            mail={"trigger": "error", "type": "email", "email": "alice@example.com"},
        )
    )
    assert found.env == {"LANG": "C.UTF-8"}
    assert found.limits == (Limit(type="time", duration=3_600),)
    assert found.actions == (Action(trigger="error", type="email", email="alice@example.com"),)


@pytest.mark.parametrize(
    ("tables", "named"),
    [
        ({"env": {"LANG": 5}}, "job_defaults.env.LANG"),
        ({"env": {"A=B": "x"}}, "job_defaults.env.A=B"),
        ({"longest": {"type": "time", "duration": "soon"}}, "job_defaults.longest.duration"),
        ({"longest": {"type": "forever"}}, "job_defaults.longest.type"),
        ({"longest": {"type": "time", "duration": 5, "tpye": 1}}, "job_defaults.longest.tpye"),
        ({"mail": {"trigger": "never", "type": "email"}}, "job_defaults.mail.trigger"),
    ],
)
def test_a_wrong_default_is_named(tables: dict[str, Any], named: str) -> None:
    with pytest.raises(BadSettings) as caught:
        job_defaults.of(given(**tables))
    assert str(caught.value).startswith(named)
