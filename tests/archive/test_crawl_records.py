"""Records that anybody may have written are read without an error."""

from datetime import UTC, datetime

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from watchbell.archive.crawl_records import crawl_of, settings_of, state_of
from watchbell.archive.model import Crawl
from watchbell.archive.pipelines import record_of

NAMES = [*Crawl.__struct_fields__, "settings_age", "delay_min", "delay_max", "concurrency"]
TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["inf", "-inf", "+inf", "nan", "1e999", "1e300", "-1", "0x10", "1_000", "true", "٣", ""]
    ),
    st.integers().map(str),
    st.floats().map(str),
)
FIELDS = st.dictionaries(st.sampled_from(NAMES), TEXTS)
OWN = st.dictionaries(st.sampled_from(["options", "paused", "queue", "reason"]), TEXTS)


@given(FIELDS, OWN)
def test_any_record_is_read(job: dict[str, str], own: dict[str, str]) -> None:
    found = crawl_of("x", job, own)
    assert (found is None) is (not job.get("url"))
    if found is not None:
        assert state_of(found) in ("queued", "running", "paused", "completed", "aborted", "failed")
        msgspec.json.encode(found)
        for at in (found.queued_at, found.started_at, found.finished_at, found.ts):
            datetime.fromtimestamp(at or 0, UTC)
        assert min(found.r2xx, found.log_score, found.last_trimmed_log_entry) >= 0


@given(FIELDS)
def test_any_settings_can_be_used(job: dict[str, str]) -> None:
    found = settings_of(job, {}, frozenset())
    assert 0 <= found.delay_min <= found.delay_max <= 9_999_999
    assert 1 <= found.concurrency <= 99


@given(st.dictionaries(st.sampled_from(["pid", "ts", "disk_available", "nickname"]), TEXTS))
def test_any_pipeline_is_read(fields: dict[str, str]) -> None:
    found = record_of("pipeline:1", fields)
    assert (found is None) is (not fields)
    msgspec.json.encode(found)
