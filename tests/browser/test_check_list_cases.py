"""The list of checks is filtered and sorted by the page and by the server: both give the same."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec

from tests.browser.visits import Visits
from tests.web.site import Site
from watchbell.alerting.model import split_id
from watchbell.web.alerting.check_columns import columns
from watchbell.web.alerting.check_filter import KEYS, CheckFilter, matching
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow
from watchbell.web.assets import files

CASES = Path(__file__).parents[1] / "web" / "alerting" / "check_list_cases.json"
SHOWN = """async ([table, filter, columns, queries]) => {
  const [{ CheckTable }, { asked, wanted }] = [await import(table), await import(filter)];
  return queries.map((text) => {
    const by = wanted(new URLSearchParams(text));
    const shown = new CheckTable(columns, by).shown.map((row) => row.id);
    return [shown, asked(by, { withStates: true }), by.sort];
  });
}"""
"""For each query of the page: the rows it shows, and the filter and order for the API."""


def row(fields: dict[str, Any]) -> CheckRow:
    entity, check = split_id(fields["id"])
    return msgspec.convert({**fields, "entity": entity, "check": check}, CheckRow)


def listed(rows: list[CheckRow], asked: CheckFilter, sort: str, query: str) -> list[str]:
    """As the API lists them."""
    test = matching(asked.normal())
    is_reversed = parse_qs(query).get("reverse") == ["true"]
    found = sorted(filter(test, rows), key=KEYS[sort], reverse=is_reversed)
    return [one.id for one in found]


async def test_page_and_server_list_the_same_checks_in_the_same_order(
    site: Site, visit: Visits
) -> None:
    cases = msgspec.json.decode(CASES.read_bytes())
    rows = [row(fields) for fields in cases["rows"]]
    queries = [case["query"] for case in cases["cases"]]
    page = await visit(site, "viewer", "/account")
    sent = msgspec.to_builtins(columns(rows, CheckCounts(), "", 1_000), str_keys=True)
    modules = [files().url(f"app/pages/checks/{name}.js") for name in ("check_table", "filter")]
    found = await page.evaluate(SHOWN, [*modules, sent, queries])
    for case, (shown, asked, sort) in zip(cases["cases"], found, strict=True):
        by = msgspec.convert(asked, CheckFilter)
        served = listed(rows, by, sort, case["query"])
        assert shown == case["shows"], f"the page, for {case['query']!r}"
        assert served == case["shows"], f"the server, for {case['query']!r}"
