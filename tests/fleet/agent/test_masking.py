"""Secrets are masked however they are written."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from watchbell.fleet.agent.masking import Masker

SECRET = 'pass wörd/"+&'


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, ""),
        quote_plus(SECRET),
    ],
)
def test_a_secret_is_masked_in_every_form(written: str) -> None:
    assert Masker([SECRET]).mask_text(f"a {written} b") == "a *** b"


@pytest.mark.parametrize("before", ["", "u", "us", "usr", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_is_masked_within_base64(before: str, encode: object) -> None:
    assert callable(encode)
    encoded = encode(f"{before}{SECRET}:after".encode())
    masked = Masker([SECRET]).mask(encoded)
    assert b"***" in masked
    assert len(masked) < len(encoded) - len(SECRET)


def test_each_line_of_a_secret_is_masked() -> None:
    masker = Masker(["BEGIN\nabcdefgh\nEND OF IT"])
    assert masker.mask(b"x abcdefgh y END OF IT") == b"x *** y ***"


def test_a_secret_within_another_is_masked_with_it() -> None:
    assert Masker(["hunter", "hunter2"]).mask(b"hunter2 hunter") == b"*** ***"


def test_a_value_that_is_part_of_anything_is_not_masked() -> None:
    assert Masker(["abc", ""]).mask(b"abcd") == b"abcd"


def test_values_are_masked_at_any_depth() -> None:
    masked = Masker(["hunter2"]).mask_values({"hunter2": ["hunter2", 1, {"a": "x hunter2"}]})
    assert masked == {"***": ["***", 1, {"a": "x ***"}]}


def test_the_texts_within_a_secret_object_are_masked_but_not_their_names() -> None:
    masker = Masker(['{"password":"open sesame","pins":[123456],"is_old":true}'])
    assert masker.mask_text("password: open sesame, 123456, true") == "password: ***, ***, true"
