"""Parameters of plugins: types, defaults, locks and secrets."""

from contextlib import suppress
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchbell.errors import Refused
from watchbell.jobs import parameters
from watchbell.jobs.model import Parameter, Plugin


def plugin(*params: Parameter) -> Plugin:
    return Plugin(id="p", title="P", command="sh", params=params)


def complete(parameter: Parameter, **given: Any) -> Any:
    return parameters.complete(plugin(parameter), given, is_admin=True).get(parameter.id)


def test_missing_parameters_get_their_defaults() -> None:
    every = plugin(
        Parameter(id="text", type="text", value="a"),
        Parameter(id="area", type="textarea"),
        Parameter(id="box", type="checkbox", value=True),
        Parameter(id="menu", type="select", value="First [1], Second [2]"),
        Parameter(id="tree", type="json", value={"a": 1}),
    )
    assert parameters.complete(every, {"extra": 5}, is_admin=False) == {
        "text": "a",
        "area": "",
        "box": True,
        "menu": "1",
        "tree": {"a": 1},
        "extra": 5,
    }


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        ("text", 5, "5"),
        ("text", 0.5, "0.5"),
        ("checkbox", "true", True),
        ("checkbox", 0, False),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("json", {"a": 1}, {"a": 1}),
        ("select", "two", "two"),
        ("select", "Third thing", "three"),
    ],
)
def test_values_are_read_by_their_type(kind: Any, given: Any, expected: Any) -> None:
    parameter = Parameter(id="x", type=kind, value="one, two, Third thing [three]")
    assert complete(parameter, x=given) == expected


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        ("text", []),
        ("checkbox", "maybe"),
        ("checkbox", 2),
        ("json", "{"),
        ("json", "[" * 50 + "]" * 50),
        ("select", "four"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(kind: Any, given: Any) -> None:
    with pytest.raises(Refused) as refused:
        complete(Parameter(id="x", type=kind, value="one, two"), x=given)
    assert refused.value.field == "params.x"


def test_a_value_must_match_the_expression() -> None:
    parameter = Parameter(id="x", type="text", regex=r"^\d+$")
    assert complete(parameter, x="12") == "12"
    with pytest.raises(Refused):
        complete(parameter, x="1a")


def test_a_required_parameter_must_be_given_unless_it_has_a_default() -> None:
    with pytest.raises(Refused):
        complete(Parameter(id="x", type="text", required=True))
    with pytest.raises(Refused):
        complete(Parameter(id="x", type="text", required=True, value="a"), x="")
    assert complete(Parameter(id="x", type="text", required=True, value="a")) == "a"


def test_only_administrators_change_a_locked_parameter() -> None:
    locked = plugin(Parameter(id="x", type="text", value="default", locked=True))
    given, stored = {"x": "mine"}, {"x": "stored"}
    complete = parameters.complete
    assert complete(locked, given, is_admin=True, stored=stored) == {"x": "mine"}
    assert complete(locked, given, is_admin=False, stored=stored) == {"x": "stored"}
    assert complete(locked, given, is_admin=False) == {"x": "default"}


def test_a_secret_is_masked_and_its_mask_changes_nothing() -> None:
    secret = plugin(Parameter(id="x", type="text", secret=True), Parameter(id="y", type="text"))
    shown = parameters.masked(secret, {"x": "key", "y": "open"})
    assert shown == {"x": parameters.MASK, "y": "open"}
    back = parameters.complete(secret, shown, is_admin=True, stored={"x": "key", "y": "old"})
    assert back == {"x": "key", "y": "open"}


def test_without_its_plugin_every_parameter_is_masked() -> None:
    assert parameters.masked(None, {"x": "key"}) == {"x": parameters.MASK}


def test_a_mask_without_a_stored_value_is_dropped() -> None:
    assert parameters.unmasked({"x": parameters.MASK, "y": 1}, {}) == {"y": 1}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(
    kind=st.sampled_from(get_args(Parameter.__annotations__["type"])),
    default=JSON,
    value=JSON,
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_no_value_of_a_parameter_raises_anything_but_refused(
    kind: Any, default: Any, value: Any, flags: tuple[bool, bool, bool]
) -> None:
    required, locked, is_admin = flags
    parameter = Parameter(
        id="x", type=kind, value=default, required=required, locked=locked, regex="a|^$"
    )
    with suppress(Refused):
        made = parameters.complete(plugin(parameter), {"x": value}, is_admin=is_admin)
        assert msgspec.json.encode(made)
