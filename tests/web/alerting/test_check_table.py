"""The live table of checks: filters, orders and views, and that views follow what changes."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from watchbell.alerting.model import SEVERITY
from watchbell.web.alerting.check_filter import KEYS, CheckFilter, matching
from watchbell.web.alerting.check_rows import CheckCounts, CheckRow
from watchbell.web.alerting.check_table import RULES
from watchbell.web.live.cursors import cursor_of, key_of
from watchbell.web.live.row_store import RowStore
from watchbell.web.live.views import View, Watch

TIMES = st.one_of(st.none(), st.integers(0, 5))
FLAGS = st.one_of(st.none(), st.booleans())


@st.composite
def rows(draw: st.DrawFn) -> CheckRow:
    entity, check = draw(st.sampled_from("abc")), draw(st.sampled_from("xyz"))
    return CheckRow(
        id=f"{entity}:{check}",
        entity=entity,
        check=check,
        state=draw(st.sampled_from(sorted(SEVERITY))),
        summary=draw(st.sampled_from(["", "Slow", "A b"])),
        since=draw(TIMES),
        last_update=draw(TIMES),
        acknowledged=draw(st.booleans()),
        scheduled_until=draw(TIMES),
        enabled=draw(st.booleans()),
        tags=draw(st.sampled_from([(), ("eu",), ("eu", "shop")])),
    )


FILTERS = st.builds(
    CheckFilter,
    text=st.sampled_from(["", "a", "slow", "b a"]),
    state=st.lists(st.sampled_from(sorted(SEVERITY)), max_size=2).map(tuple),
    failing=FLAGS,
    tag=st.sampled_from([(), ("eu",), ("shop", "eu")]),
    entity=st.sampled_from([(), ("a",), ("A", "b")]),
    acknowledged=FLAGS,
    maintenance=FLAGS,
    enabled=st.sampled_from(["yes", "no", "any"]),
)
SORTS = st.sampled_from(sorted(KEYS))


@given(
    st.lists(rows(), max_size=20),
    FILTERS,
    SORTS,
    st.lists(st.one_of(rows(), st.sampled_from(["a:x", "b:y"])), max_size=30),
)
def test_a_view_that_follows_is_as_one_made_anew(
    first: list[CheckRow], wanted: CheckFilter, sort: str, changes: list[CheckRow | str]
) -> None:
    """Whether the changes come before or after it was made of what there was."""
    store, early, late = RowStore(RULES), *(View(RULES, wanted.normal(), sort) for _ in range(2))
    store.rows = {row.id: row for row in first}
    store._views = {"early": early, "late": late}  # type: ignore[assignment]
    before = list(store.rows.values())
    early.begin(*early.sifted(before))
    watch = Watch()
    early.watches.add(watch)
    for change in changes:
        name = change if isinstance(change, str) else change.id
        old, new = store.rows.get(name), None if isinstance(change, str) else change
        if old != new:
            store.write([(old, new)])
    late.begin(*late.sifted(before))
    anew = View(RULES, wanted.normal(), sort)
    anew.begin(*anew.sifted(store.rows.values()))
    assert early.order == late.order == anew.order
    assert early.counts == late.counts == anew.counts
    assert anew.counts.total == len(anew.order)
    taken = watch.take()
    assert taken is not None
    was, now = {row.id: row for row in before}, {row.id: row for row in anew.order}
    matches = matching(wanted.normal())
    for name in {*was, *now}:
        seen = was.get(name) if name in was and matches(was[name]) else None
        if seen != now.get(name):
            assert name in taken[0] or name in taken[1]


@given(st.lists(rows(), max_size=9), SORTS, st.integers(1, 4), st.booleans())
def test_pages_are_all_rows_once_in_order(
    found: list[CheckRow], sort: str, limit: int, is_reversed: bool
) -> None:
    view = View(RULES, CheckFilter(enabled="any"), sort)
    view.begin(*view.sifted({row.id: row for row in found}.values()))
    seen: list[CheckRow] = []
    after = None
    while True:
        page, after = view.page(after, limit, is_reversed=is_reversed)
        seen += page
        if after is None:
            break
        assert key_of(cursor_of(after)) == after
    assert seen == (view.order[::-1] if is_reversed else view.order)


@given(FILTERS)
def test_filters_that_mean_the_same_are_one(wanted: CheckFilter) -> None:
    other = replace(
        wanted,
        text=" ".join(reversed(wanted.text.upper().split())),
        state=(*reversed(wanted.state), *wanted.state),
        entity=tuple(reversed(wanted.entity)),
    )
    assert other.normal() == wanted.normal() == wanted.normal().normal()
    assert hash(other.normal()) == hash(wanted.normal())


def test_what_was_missed_is_known_for_a_while() -> None:
    store = RowStore(RULES)
    row = CheckRow(id="a:x", entity="a", check="x", state="ok")
    begun = store.moment
    assert store.missed(begun) == []
    store.write([(None, row), (row, replace(row, state="critical"))])
    middle = store.moment
    store.write([(None, replace(row, id="b:y"))])
    assert store.missed(begun) == ["a:x", "b:y"]
    assert store.missed(middle) == ["b:y"]
    assert store.missed(store.moment) == []
    store._recent.popleft()
    assert store.missed(begun) is None
    for strange in ("", "x", "x.1", f"{begun[:-1]}99", f"{begun[:-1]}²", RowStore(RULES).moment):
        assert store.missed(strange) is None


def test_what_a_check_says_changes_no_moment() -> None:
    store = RowStore(RULES)
    row = CheckRow(id="a:x", entity="a", check="x", state="ok")
    store.write([(None, row)])
    moment = store.moment
    store.write([(row, replace(row, summary="well", last_update=7))])
    assert store.moment == moment
    assert store.rows["a:x"].summary == "well"


def test_counts_add_up() -> None:
    counts = CheckCounts(ok=1, critical=2)
    counts.add(CheckRow(id="a:x", entity="a", check="x", state="critical", acknowledged=True), 1)
    assert (counts.total, counts.critical, counts.acknowledged) == (4, 3, 1)
